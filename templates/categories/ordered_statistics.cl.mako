## ordered_statistics: for every row, how often the target was hit in earlier rows of its level
## uses: portable_math random
##
##   rows     |7 2 9|0 4|...      sorted by level; within a level in the order of a permutation
##   keys      0 0 0 1 1          their levels
##   begins    0     3            the first row of each level
##   flags     1 1 0 1 1          plane 0: 1 for rows that count; others: 1 where their target is hit
##   running   0 1 2 2 3          sums of the flags before; minus that of `begins`: of the same level
##
##   Where a work-group has one work-item, `walk_codes` does all that without a sort: it walks along an order, adds up
##   each level's rows as it comes to them, and writes codes in place of means.
##
## A Python class sorts between these kernels, and scans. Twin: tests/reference/ordered_statistics.py.
##
## params: wg_size
<%page args="wg_size"/>
<%def name="each(index, n)">PLAIN for (u32 ${index} = GROUP_ID * ${wg_size} + LOCAL_ID; ${index} < ${n}; ${index} += N_GROUPS * ${wg_size})</%def>

#define ORDERS 0x5EEDu /* number of the random stream of permutations */

/* Random keys, all different; sorting by them gives an order of the rows. */
KERNEL(${wg_size}) draw_keys(
        const u32 n, const u32 seed, const u32 permutation, GLOBAL u32* RESTRICT keys,
        GLOBAL u32* RESTRICT rows) {
    const u32 key = stream(seed, permutation, ORDERS);
    ${each("i", "n")} {
        keys[i] = random_bits(key, i);
        rows[i] = i;
    }
}

/* keys[i] = level of the i-th row of the order. */
KERNEL(${wg_size}) gather_levels(
        const u32 n, GLOBAL const u32* RESTRICT order, GLOBAL const u32* RESTRICT levels,
        GLOBAL u32* RESTRICT keys, GLOBAL u32* RESTRICT rows) {
    ${each("i", "n")} {
        const u32 row = order[i];
        rows[i] = row;
        keys[i] = levels[row];
    }
}

/* Flags of all planes in sorted order, and the first place of each level. */
KERNEL(${wg_size}) mark(
        const u32 n, const u32 n_planes, GLOBAL const u32* RESTRICT keys,
        GLOBAL const u32* RESTRICT rows, GLOBAL const u8* RESTRICT planes,
        GLOBAL u32* RESTRICT flags, GLOBAL u32* RESTRICT begins) {
    ${each("i", "n")} {
        const u32 level = keys[i];
        const u64 row = rows[i];
        if (i == 0 || keys[i - 1] != level) begins[level] = i;
        for (u32 plane = 0; plane < n_planes; plane++)
            flags[(u64)plane * n + i] = planes[(u64)plane * n + row];
    }
}

/* (sum + prior) / (count + weight), as model/statistics.py; the prior times its weight. */
FN f32 shrunken_mean(const u32 sum, const u32 count, const f32 prior, const u32 weight) {
    const df total = df_add(df_from_i64((i64)sum), df_make(prior, 0.0f));
    return df_div(total, df_from_i64((i64)count + weight)).hi;
}

/* Mean m of a row, one a plane and prior, is out[first + m * mean_step + row * row_step]; NaN for
   rows of level `missing`. */
KERNEL(${wg_size}) write_means(
        const u32 n, const u32 n_planes, const u32 n_priors, const u32 weight, const u32 missing, const u64 first,
        const u64 mean_step, const u64 row_step,
        GLOBAL const u32* RESTRICT keys, GLOBAL const u32* RESTRICT rows,
        GLOBAL const u32* RESTRICT begins, GLOBAL const u32* RESTRICT running,
        GLOBAL const f32* RESTRICT priors, GLOBAL f32* RESTRICT out) {
    ${each("i", "n")} {
        const u32 level = keys[i], begin = begins[level];
        const u64 row = rows[i];
        const u32 count = running[i] - running[begin];
        for (u32 plane = 1; plane < n_planes; plane++) {
            const u64 at = (u64)plane * n;
            const u32 sum = running[at + i] - running[at + begin];
            for (u32 p = 0; p < n_priors; p++) {
                const f32 mean = shrunken_mean(sum, count, priors[(plane - 1) * n_priors + p], weight);
                const u64 place = first + ((u64)(plane - 1) * n_priors + p) * mean_step;
                out[place + row * row_step] = level == missing ? as_f32(0x7FC00000u) : mean;
            }
        }
    }
}

/* Means of rows that no statistic was computed from, at out[first + m + row * row_step]: of their
   key's level, by its totals; a key that is not found has none. NaN if the key is `no_key`. Where keys
   are `direct`, they are the levels themselves, and `found` is not read. */
KERNEL(${wg_size}) look_up(
        const u32 n, const u32 n_found, const u32 direct, const u32 n_planes, const u32 n_priors, const u32 weight, const u64 no_key,
        const u32 first, const u32 row_step, GLOBAL const u64* RESTRICT keys,
        GLOBAL const u64* RESTRICT found, GLOBAL const u32* RESTRICT totals,
        GLOBAL const f32* RESTRICT priors, GLOBAL f32* RESTRICT out) {
    ${each("i", "n")} {
        const u64 key = keys[i];
        u32 low = direct ? (key < n_found ? (u32)key : n_found) : 0;
        u32 count = direct ? 0 : n_found; /* the first found key that is not below is in low..low + count */
        while (count) {
            const u32 step = count / 2;
            const int below = found[low + step] < key;
            low = below ? low + step + 1 : low;
            count = below ? count - step - 1 : step;
        }
        const int there = low < n_found && (direct || found[low] == key);
        for (u32 plane = 1; plane < n_planes; plane++)
            for (u32 p = 0; p < n_priors; p++) {
                const u32 rows = there ? totals[low] : 0;
                const u32 sum = there ? totals[(u64)plane * n_found + low] : 0;
                const f32 mean = shrunken_mean(sum, rows, priors[(plane - 1) * n_priors + p], weight);
                const u64 place = (u64)i * row_step + first + (plane - 1) * n_priors + p;
                out[place] = key == no_key ? as_f32(0x7FC00000u) : mean;
            }
    }
}

/* Adds to totals[plane][level] what the planes of its rows hold; no row has level `missing`. */
KERNEL(${wg_size}) add_totals(
        const u32 n, const u32 n_planes, const u32 missing, GLOBAL const u32* RESTRICT levels,
        GLOBAL const u8* RESTRICT planes, GLOBAL u32* totals) {
    ${each("i", "n")} {
        const u32 level = levels[i];
        for (u32 plane = 0; plane < n_planes; plane++)
            if (level < missing && planes[(u64)plane * n + i]) {
% if wg_size == 1:
                if (N_GROUPS == 1) totals[(u64)plane * missing + level] += 1; else
% endif
                atomic_add_global_u32(&totals[(u64)plane * missing + level], 1u);
            }
    }
}
% if wg_size == 1:

/* Code of a mean among n_bins bins of equal widths, a power of 2 of them. A mean whose sum of rounding errors, far
   below NEAR, cannot bring it to another bin need not be exact. */
#define NEAR 0.0009765625f
FN u32 code_of_mean(const u32 sum, const u32 count, const f32 prior, const u32 weight, const u32 n_bins) {
    const f32 about = ((f32)sum + prior) * reciprocal((f32)(count + weight)) * (f32)n_bins;
    if (about > NEAR && about < (f32)n_bins) {
        const u32 code = (u32)about;
        const f32 rest = about - (f32)code;
        if (rest > NEAR && rest < 1.0f - NEAR) return code;
    }
    const f32 mean = shrunken_mean(sum, count, prior, weight) * (f32)n_bins;
    return mean < (f32)n_bins ? (mean > 0.0f ? (u32)mean : 0) : n_bins - 1;
}

/* Codes of means in each order, a work-group's own; n_bins is that of rows of level n, which is missing. */
KERNEL(1) walk_codes(
        const u32 n, const u32 n_planes, const u32 n_priors, const u32 weight, const u32 n_bins, const u64 first,
        const u64 order_step, GLOBAL const u32* RESTRICT orders, GLOBAL const u32* RESTRICT levels,
        GLOBAL const u8* RESTRICT planes, GLOBAL const f32* RESTRICT priors, GLOBAL u32* RESTRICT counters,
        GLOBAL u8* RESTRICT codes) {
    GLOBAL const u32* order = orders + (u64)GROUP_ID * n;
    GLOBAL u32* counts = counters + (u64)GROUP_ID * n * n_planes;
    GLOBAL u8* own_codes = codes + first + GROUP_ID * order_step;
    for (u64 i = 0; i < (u64)n * n_planes; i++) counts[i] = 0;
    PLAIN for (u32 i = 0; i < n; i++) {
        const u32 row = order[i], level = levels[row];
        GLOBAL u32* own = counts + (u64)level * n_planes;
        for (u32 plane = 1; plane < n_planes; plane++)
            for (u32 p = 0; p < n_priors; p++) {
                const u32 mean = (plane - 1) * n_priors + p;
                own_codes[(u64)mean * n + row] =
                    (u8)(level < n ? code_of_mean(own[plane], own[0], priors[mean], weight, n_bins) : n_bins);
            }
        for (u32 plane = 0; plane < n_planes; plane++)
            if (level < n) own[plane] += planes[(u64)plane * n + row];
    }
}
% endif
