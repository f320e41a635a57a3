## pair_scores: how much the gradients of a sample of rows depend on two categorical columns together
## uses: random
##
##   residuals   gradients of the rows, less what each column's levels explain   `subtract`
##   cells       a 0 0 1 1      rows by both their levels, hashed
##               b 2 2 0 2
##   sums        gradients G, Hessians H and squares Q of each cell              `add_up`
##   score       sum of (G^2 - Q) / (H + ridge): 0 on average where levels tell nothing   `score`
##
## All numbers are integers, so every device finds the same scores. Twin: tests/reference/pair_scores.py.
##
## params: wg_size; alone (a pair's rows are added up by one work-item, without atomics); fine, bits of a residual
##         below those that pairs are scored by; coarse, below those by which a column's means are found
<%page args="wg_size, alone, fine, coarse"/>
<%def name="each(index, n)">PLAIN for (u32 ${index} = GROUP_ID * ${wg_size} + LOCAL_ID; ${index} < ${n}; ${index} += N_GROUPS * ${wg_size})</%def>
<%def name="add(target, value)">${f"{target} += {value};" if alone else f"atomic_add_global_u32(&{target}, {value});"}</%def>

#define FINE ${fine}
#define MOST 127  /* largest gradient and Hessian that pairs are scored by */

FN i32 rounded(const i32 value, const u32 bits) { return (value + (1 << (bits - 1))) >> bits; }

FN i32 limited(const i32 value, const i32 low, const i32 high) {
    return value < low ? low : value > high ? high : value;
}

/* Gradients of the sample's rows, with FINE bits more, and Hessians; `total` adds these up. Of the
   few gradients that have high words, the low ones are taken. */
KERNEL(${wg_size}) begin(
        const u32 n, const u64 first, GLOBAL const u32* RESTRICT order,
        GLOBAL const i32x2* RESTRICT quanta,
        GLOBAL i32* RESTRICT residuals, GLOBAL i32* RESTRICT hessians, GLOBAL u32* total) {
    u32 sum = 0;
    ${each("i", "n")} {
        const i32x2 own = quanta[first + order[i]];
        residuals[i] = limited(own.x >> 9, -(MOST << FINE), MOST << FINE);
        hessians[i] = limited(rounded(own.y >> 1, 16), 0, MOST);
        sum += (u32)hessians[i];
    }
    atomic_add_global_u32(total, sum);
}

/* Levels of the sample's rows in one column. */
KERNEL(${wg_size}) gather(
        const u32 n, const u64 first, GLOBAL const u32* RESTRICT order,
        GLOBAL const u32* RESTRICT levels, GLOBAL u32* RESTRICT sampled) {
    ${each("i", "n")} sampled[first + i] = levels[order[i]];
}

/* A column with itself has a cell for each level, other pairs hashed ones. */
FN u32 cell_of(const u32 one, const u32 other, const int same, const u32 mask) {
    return (same ? one : random_bits(one, other)) & mask;
}

/* sums[pair][cell] = G, H, Q, and a word between cells; Q only where `bits` are FINE.${" Clears them before." if alone else ""} */
<% first, step = ("0", "1") if alone else (f"GROUP_ID * {wg_size} + LOCAL_ID", f"N_GROUPS * {wg_size}") %>
KERNEL(${wg_size}) add_up(
        const u32 n, const u32 mask, const u32 bits, GLOBAL const u32* RESTRICT pairs,
        GLOBAL const u32* RESTRICT missing, GLOBAL const u32* RESTRICT sampled,
        GLOBAL const i32* RESTRICT residuals, GLOBAL const i32* RESTRICT hessians, GLOBAL u32* sums) {
    const u32 pair = ${"GROUP_ID" if alone else "GROUP_ID_Y"};
    const u32 one = pairs[2 * pair], other = pairs[2 * pair + 1];
    const u32 no_one = missing[one], no_other = missing[other];
    GLOBAL u32* own = sums + 4 * (u64)pair * (mask + 1);
% if alone:
    const u32 n_words = 4 * (one == other && no_one <= mask ? no_one : mask + 1);
    for (u32 word = 0; word < n_words; word++) own[word] = 0;
% endif
    PLAIN for (u32 i = ${first}; i < n; i += ${step}) {
        const u32 a = sampled[(u64)one * n + i], b = sampled[(u64)other * n + i];
        if (a < no_one && b < no_other) {
            const i32 g = rounded(residuals[i], bits);
            const u32 cell = 4 * cell_of(a, b, one == other, mask);
            ${add("own[cell]", "(u32)g")}
            ${add("own[cell + 1]", "(u32)hessians[i]")}
            const i32 near = limited(g, -MOST, MOST);
            ${add("own[cell + 2]", "(u32)(near * near)")}
        }
    }
}

/* (a, b > 0): a / b, rounded half away from 0. */
FN i64 quotient(const i64 a, const i64 b) { return (a < 0 ? a - b / 2 : a + b / 2) / b; }

FN i64 ridge_of(GLOBAL const u32* total, const u32 ridge, const u32 n) {
    return 1 + (i64)total[0] * ridge / n;
}

/* Takes the means of a column's levels from the residuals of their rows. */
KERNEL(${wg_size}) subtract(
        const u32 n, const u32 mask, const u32 ridge, const u32 column, GLOBAL const u32* RESTRICT missing,
        GLOBAL const u32* RESTRICT sampled, GLOBAL const i32* RESTRICT hessians,
        GLOBAL const u32* RESTRICT total, GLOBAL const u32* RESTRICT sums, GLOBAL i32* RESTRICT residuals) {
    const i64 more = ridge_of(total, ridge, n);
    ${each("i", "n")} {
        const u32 level = sampled[(u64)column * n + i];
        if (level < missing[column]) {
            const u32 cell = 4 * (level & mask);
            const i64 g = (i64)(i32)sums[cell] * (1 << ${coarse}), h = (i64)sums[cell + 1] + more;
            const i32 rest = residuals[i] - (i32)quotient(hessians[i] * g, h);
            residuals[i] = limited(rest, -(MOST << 2 * FINE), MOST << 2 * FINE);
        }
    }
}

/* partial[pair][item] = the scores of some cells. */
KERNEL(${wg_size}) score(
        const u32 n, const u32 mask, const u32 ridge, GLOBAL const u32* RESTRICT total,
        GLOBAL const u32* RESTRICT sums, GLOBAL i64* RESTRICT partial) {
    const i64 more = ridge_of(total, ridge, n);
    GLOBAL const u32* own = sums + 4 * (u64)GROUP_ID_Y * (mask + 1);
    i64 found = 0;
    ${each("cell", "mask + 1")} {
        const i64 g = (i32)own[4 * cell], q = own[4 * cell + 2];
        const i64 excess = g * g - q;
        if (excess != 0) found += quotient(excess * 64, own[4 * cell + 1] + more);
    }
    partial[(u64)GROUP_ID_Y * N_GROUPS * ${wg_size} + GROUP_ID * ${wg_size} + LOCAL_ID] = found;
}
