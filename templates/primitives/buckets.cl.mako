## buckets: each work-group's sums by bucket, the first step of multi_reduce and multi_scan
##
##   bucket    0 2 0 1 | 2 2 0 1       every group has `chunk` consecutive values
##   value     5 1 2 3 | 4 1 1 1
##   sums      bucket 0:  7 | 1        sums[bucket, field, group]
##             bucket 1:  3 | 1
##             bucket 2:  1 | 5
##
## A value consists of `numbers` consecutive numbers. Sums wrap, so any order gives the same bits.
## Values whose bucket is n_buckets or more are not summed.

<%def name="sums(name, wg_size, type, numbers, bucket)">
KERNEL(${wg_size}) ${name}(
    GLOBAL const ${type}* values, GLOBAL const ${bucket}* RESTRICT buckets,
    const u32 n_buckets, const u32 n, const u32 chunk, GLOBAL ${type}* RESTRICT sums) {
    const u64 begin = (u64)GROUP_ID * chunk;
    const u32 count = n - begin < chunk ? (u32)(n - begin) : chunk;
    GLOBAL const ${type}* mine = values + begin * ${numbers};
    GLOBAL const ${bucket}* own = buckets + begin;
% if wg_size == 1:
    /* Four accumulators for each sum, so that neighbouring values of a bucket do not wait for each
       other. Values without a bucket are added to a spare accumulator. */
    ${type} cells[${65 * numbers * 4}];
    for (u32 c = 0; c < ${65 * numbers * 4}; ++c) cells[c] = 0;
    for (u32 i = 0; i < count; ++i) {
        const u32 b = own[i] < n_buckets ? own[i] : 64;
% for f in range(numbers):
        cells[(b * ${numbers} + ${f}) * 4 + (i & 3u)] += mine[(u64)i * ${numbers} + ${f}];
% endfor
    }
    for (u32 c = 0; c < n_buckets * ${numbers}; ++c)
        sums[(u64)c * N_GROUPS + GROUP_ID] =
            cells[4 * c] + cells[4 * c + 1] + cells[4 * c + 2] + cells[4 * c + 3];
% else:
<%
    copies = 16 if type == "u64" and numbers == 2 else 32
    n_cells = 64 * numbers * copies
%>
    /* ${copies} accumulators for each sum, so that neighbouring work-items use different ones. Local
       atomics have 32 bits: a 64-bit sum is two words, and carries go from the low to the high one. */
    LOCAL_ARRAY(u32, low, ${n_cells});
% if type == "u64":
    LOCAL_ARRAY(u32, high, ${n_cells});
% endif
    for (u32 c = LOCAL_ID; c < ${n_cells}; c += ${wg_size}) {
        low[c] = 0;
% if type == "u64":
        high[c] = 0;
% endif
    }
    BARRIER();
    for (u32 i = LOCAL_ID; i < count; i += ${wg_size}) {
        const u32 b = own[i];
        if (b < n_buckets) {
            u32 c = b * ${numbers * copies} + (LOCAL_ID & ${copies - 1}u);
% for f in range(numbers):
            {
                const ${type} value = mine[(u64)i * ${numbers} + ${f}];
% if type == "u64":
                const u32 word = (u32)value;
                const u32 carry = atomic_add_local_u32(&low[c], word) > ~word;
                const u32 rest = (u32)(value >> 32) + carry;
                if (rest) atomic_add_local_u32(&high[c], rest);
% else:
                atomic_add_local_u32(&low[c], value);
% endif
                c += ${copies};
            }
% endfor
        }
    }
    BARRIER();
    for (u32 c = LOCAL_ID; c < n_buckets * ${numbers}; c += ${wg_size}) {
        ${type} sum = 0;
        for (u32 k = 0; k < ${copies}; ++k) {
            const u32 cell = c * ${copies} + ((k + LOCAL_ID) & ${copies - 1}u); /* no bank conflicts */
            sum += low[cell];
% if type == "u64":
            sum += (u64)high[cell] << 32;
% endif
        }
        sums[(u64)c * N_GROUPS + GROUP_ID] = sum;
    }
% endif
}
</%def>
