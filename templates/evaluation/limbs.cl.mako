## limbs: sums of wide integers as 32-bit words, each summed in int64, for up to 2^31 rows; an import
##
##   word     3 2 1 0         of a product of two 64-bit factors
##   sums     i64 each        sums of a work-group; then one work-group adds those of all groups
##
## Needs group.sum as group_sum of i64.

<%def name="keep(wg_size)">
/* Write a work-group's sums of its work-items' limbs. */
FN void keep_limbs(const i64 limb0, const i64 limb1, const i64 limb2, const i64 limb3,
                   LOCAL i64* shared, GLOBAL i64* sums) {
% for k in range(4):
    const i64 total${k} = group_sum(limb${k}, shared);
% endfor
    if (LOCAL_ID == 0) {
% for k in range(4):
        sums[4 * (u64)GROUP_ID + ${k}] = total${k};
% endfor
    }
}
</%def>

<%def name="products()">
/* Products of a float32 and a weight, as integers of 96 bits, scaled by the largest key. A key is the sum
   of both exponents. Products that are not finite have these keys. */
#define INFINITE 1000u
#define UNDEFINED 2000u

/* The key of a product; 0 if the product is 0. */
FN u32 key_of(const u32 loss, const u32 weight) {
    const u32 e = (loss >> 23) & 0xFF, f = (weight >> 23) & 0xFF;
    const u32 far = (loss & 0x7FFFFF) ? UNDEFINED : INFINITE;
    return e == 0 || f == 0 ? 0 : (e == 255 ? far : e + f);
}

typedef struct { i64 limb0; i64 limb1; i64 limb2; } limbs_t;

FN void add_product(const u32 loss, const u32 weight, const u32 most, limbs_t* sum) {
    const u32 key = key_of(loss, weight);
    const u32 shift = key == 0 || most - key > 96 ? 96 : most - key;
    const u64 mantissa = key == 0 ? 0 : (loss & 0x7FFFFF) | 0x800000;
    const u64 product = mantissa * ((weight & 0x7FFFFF) | 0x800000);
    const u32 near = shift < 48 ? shift : 48;
    const u64 high = product >> near;
    const u64 rest = product & (((u64)1 << near) - 1);
    const u64 low = (rest << (48 - near)) >> (shift - near);
    const i64 part0 = (i64)(low & 0xFFFFFFFFu);
    const i64 part1 = (i64)((low >> 32) | ((high & 0xFFFF) << 16));
    const i64 part2 = (i64)(high >> 16);
    const i64 minus = -(i64)(loss >> 31); /* two's complement: -x = ~x + 1 */
    sum->limb0 += (part0 ^ minus) - minus;
    sum->limb1 += (part1 ^ minus) - minus;
    sum->limb2 += (part2 ^ minus) - minus;
}
</%def>

<%def name="total(name, wg_size)">
/* One work-group writes a metric's results[first .. first + 3], the sums over work-groups. */
KERNEL(${wg_size}) ${name}(
        const u32 n_groups, const u32 first, GLOBAL const i64* RESTRICT sums,
        GLOBAL i64* RESTRICT results) {
    LOCAL_ARRAY(i64, shared, ${wg_size});
% for k in range(4):
    i64 limb${k} = 0;
% endfor
    for (u32 group = LOCAL_ID; group < n_groups; group += ${wg_size}) {
% for k in range(4):
        limb${k} += sums[4 * (u64)group + ${k}];
% endfor
    }
% for k in range(4):
    const i64 total${k} = group_sum(limb${k}, shared);
% endfor
    if (LOCAL_ID == 0) {
% for k in range(4):
        results[first + ${k}] = total${k};
% endfor
    }
}
</%def>
