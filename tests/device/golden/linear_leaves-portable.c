










/* A sum has two words, the low one first; `old` is the low word before. */
FN u32 high_word(const i64 x, const u32 old) {
    const u32 low = (u32)x;
    return (u32)((u64)x >> 32) + (old + low < old ? 1u : 0u);
}

FN void add_local_sum(LOCAL u32* low, LOCAL u32* high, const i64 x) {
    const u32 more = high_word(x, atomic_add_local_u32(low, (u32)x));
    if (more) atomic_add_local_u32(high, more);
}

FN void add_global_sum(GLOBAL u32* sum, const i64 x) {
    if (x == 0) return;
    const u32 high = high_word(x, atomic_add_global_u32(&sum[0], (u32)x));
    if (high) atomic_add_global_u32(&sum[1], high);
}

/* Add to a leaf's sums: to the group's own ones, if n_nodes of them fit local memory; else it is 0. A work-item has a
   leaf's words beside each other. In a group, each word of all leaves is an array: leaves then lie in all banks. */
FN void add_to_leaf(LOCAL u32* own, GLOBAL u32* sums, const u32 n_nodes, const u32 leaf, const i64 g, const i64 h) {
    if (n_nodes) {
        add_local_sum(&own[0 * n_nodes + leaf], &own[1 * n_nodes + leaf], g);
        add_local_sum(&own[2 * n_nodes + leaf], &own[3 * n_nodes + leaf], h);
    } else {
        add_global_sum(&sums[4 * (u64)leaf], g);
        add_global_sum(&sums[4 * (u64)leaf + 2], h);
    }
}

/* Add a group's own sums to those of all. */
FN void add_own(LOCAL const u32* own, GLOBAL u32* sums, const u32 n_nodes) {
    for (u32 leaf = LOCAL_ID; leaf < n_nodes; leaf += 256) {
        GLOBAL u32* sum = sums + 4 * (u64)leaf;
        add_global_sum(sum, (i64)((u64)own[1 * n_nodes + leaf] << 32 | own[0 * n_nodes + leaf]));
        add_global_sum(sum + 2, (i64)((u64)own[3 * n_nodes + leaf] << 32 | own[2 * n_nodes + leaf]));
    }
}

/* A leaf without rows has weight 0, within its bounds. */
FN f32 weight_of_sums(const i64 g, const i64 h, const rule_t rule) {
    const df none = df_make(0.0f, 0.0f), one = in_units(1);
    const f32 empty = unit_weight(none, one, rule).hi;
    const f32 weight = h == 0 ? empty : weight_in_units(g, h, rule);
    return real_weight(weight, rule);
}




FN void group_scan_of_one(const u32 value0, LOCAL u32* shared, u32* before0, u32* total0) {
    const u32 id = LOCAL_ID;
    shared[0 + id] = value0;
    BARRIER();
    if (id < 16) {
        u32 sum = 0;
        for (u32 i = id * 16; i < (id + 1) * 16; i++) {
            sum += shared[i];
            shared[i] = sum;
        }
    }
    BARRIER();
    {
        u32 before = 0, all = 0;
        for (u32 run_end = 15; run_end < 256; run_end += 16) {
            const u32 sum = shared[0 + run_end];
            if (run_end < id - id % 16) before += sum;
            all += sum;
        }
        *before0 = before + shared[0 + id] - value0;
        *total0 = all;
    }
    BARRIER();
}

FN u32 group_scan(const u32 value, LOCAL u32* shared, u32* total) {
    u32 before;
    group_scan_of_one(value, shared, &before, total);
    return before;
}

#define UNIT 32768
#define G_SHIFT 14

FN u32 sums_of(const u32 n) { return (n + 1) * (n + 4) / 2; }

/* The row j of sum q in the equations of n features; column is set, too. */
FN u32 row_of_sum(const u32 q, const u32 n, u32* column) {
    u32 j = 0, left = q;
    while (left >= n + 2 - j) left -= n + 2 - j++;
    *column = j + left;
    return j;
}

FN u32 path_features(GLOBAL const node_t* nodes, const u32 leaf, GLOBAL u32* found) {
    u32 n = 0;
    for (u32 at = nodes[leaf].parent; at != NO_NODE && n < 6; at = nodes[at].parent) {
        const u32 feature = nodes[at].feature;
        u32 place = 0;
        while (place < n && found[place] < feature) place++;
        if (nodes[at].split_kind || (place < n && found[place] == feature)) continue;
        for (u32 k = n; k > place; k--) found[k] = found[k - 1];
        found[place] = feature;
        n++;
    }
    return n;
}

/* `leaf_header` counts batches, this one included; those of the first round have leaves that are numbers. */
KERNEL(256) list_features(
        const u32 first_batches, GLOBAL const u32* RESTRICT leaf_header, GLOBAL const node_t* RESTRICT nodes,
        GLOBAL u32* RESTRICT sizes, GLOBAL u32* features, GLOBAL u32* RESTRICT extremes, GLOBAL u32* RESTRICT sums) {
    const u32 n_nodes = leaf_header[0], linear = leaf_header[3] > first_batches;
    for (u32 id = GROUP_ID * 256 + LOCAL_ID; id < n_nodes; id += N_GROUPS * 256) {
        const int leaf = linear && nodes[id].left == NO_NODE;
        const u32 n = leaf ? path_features(nodes, id, features + (u64)id * 6) : 0;
        sizes[id] = n;
        for (u32 k = 0; k < (n ? 2 * n + 1 : 0); k++) extremes[(u64)id * 13 + k] = 0;
        for (u32 k = 0; k < (n ? 2 * sums_of(n) : 0); k++) sums[(u64)id * 70 + k] = 0;
    }
}

/* A leaf's task: `begin` is 0 .. `end` of rows, or of a list of them. */
typedef struct { u32 id; u32 tree; u32 n; u32 begin; u32 end; u32 in_order; u32 base; u32 odd; } leaf_task_t;

FN leaf_task_t leaf_task(const u32 task, const u32 n_nodes, const u32 n_rows, GLOBAL const u32* task_begin,
                         GLOBAL const node_t* nodes, GLOBAL const u32* sizes) {
    leaf_task_t t;
    t.id = find_node(task_begin, n_nodes, task);
    GLOBAL const node_t* node = &nodes[t.id];
    const u32 end = node->begin + node->count;
    t.tree = node->tree, t.n = sizes[t.id], t.in_order = node->in_order, t.odd = node->depth & 1;
    t.base = t.tree * n_rows;
    t.begin = node->begin + (task - task_begin[t.id]) * 2048;
    t.end = t.begin + 2048 < end ? t.begin + 2048 : end;
    return t;
}

/* Whether a row counts. */
FN int row_counts(const leaf_task_t t, const u64 entry, GLOBAL const f32* x, GLOBAL const u32* own, const u32 wide,
                  GLOBAL const i32* quanta, GLOBAL const i32* high) {
    int counts = quanta[2 * entry + 1] != 0 || (wide && high[2 * entry + 1] != 0);
    for (u32 k = 0; k < t.n; k++) counts &= !is_missing(x[own[k]]);
    return counts;
}

FN u32 lanes_of(const u32 n_own) { return n_own < 256 ? 256 / n_own : 1; }




/* extremes[leaf] = for each feature the largest ~key and the largest key of its values, then the rows that count. */
KERNEL(256) bound_values(
        const u32 n_rows, const u32 n_features, GLOBAL const u32* RESTRICT leaf_header, GLOBAL const u32* RESTRICT task_begin, GLOBAL const node_t* RESTRICT nodes,
        GLOBAL const u32* RESTRICT even_rows, GLOBAL const u32* RESTRICT odd_rows, GLOBAL const scale_t* RESTRICT scale,
        GLOBAL const i32* RESTRICT quanta, GLOBAL const i32* RESTRICT high, GLOBAL const f32* RESTRICT values,
        GLOBAL const u32* RESTRICT sizes, GLOBAL const u32* RESTRICT features, GLOBAL u32* extremes) {
    LOCAL_ARRAY(u32, keys, 896);
    LOCAL_ARRAY(u32, own, 256);
    const u32 n_nodes = leaf_header[0], n_tasks = leaf_header[1];
    for (u32 task = GROUP_ID; task < n_tasks; task += N_GROUPS) {

        const leaf_task_t t = leaf_task(task, n_nodes, n_rows, task_begin, nodes, sizes);
        if (t.n == 0) continue;
        GLOBAL const u32* listed = t.odd ? odd_rows : even_rows;
        GLOBAL const u32* leaf_features = features + (u64)t.id * 6;
        const u32 n_own = 2 * t.n + 1, lanes = lanes_of(n_own);
        for (u32 q = LOCAL_ID; q < n_own * lanes; q += 256) own[q] = 0;
        for (u32 first = t.begin; first < t.end; first += 128) {
            BARRIER();
            for (u32 r = LOCAL_ID; r < 128; r += 256) {
                int counts = 0;
                if (first + r < t.end) {

                const u32 row = t.in_order ? first + r - t.base : listed[first + r];
                const u64 entry = (u64)t.base + row;
                GLOBAL const f32* x = values + (u64)row * n_features;
                counts = row_counts(t, entry, x, leaf_features, scale[t.tree].wide, quanta, high);
                    for (u32 k = 0; k < t.n; k++) keys[(r) * 7 + k] = counts ? ordered(x[leaf_features[k]]) : 0;
                }
                keys[(r) * 7 + t.n] = (u32)counts;
            }
            BARRIER();
            for (u32 q = LOCAL_ID; q < n_own * lanes; q += 256) {
                const u32 which = q / lanes, k = which / 2, low = !(which & 1);
                u32 most = own[q];
                for (u32 r = q % lanes; r < 128; r += lanes) {
                    const u32 counts = keys[(r) * 7 + t.n];
                    const u32 key = counts ? keys[(r) * 7 + k] : 0, found = counts && low ? ~key : key;
                    if (k == t.n) most += counts; else most = found > most ? found : most;
                }
                own[q] = most;
            }
        }
        for (u32 q = LOCAL_ID; q < n_own * lanes; q += 256) {
            GLOBAL u32* known = extremes + (u64)t.id * 13 + q / lanes;
            if (q / lanes == 2 * t.n) atomic_add_global_u32(known, own[q]);
            else if (own[q]) atomic_max_global_u32(known, own[q]);
        }
        BARRIER();
    }
}

FN f32 value_of_key(const u32 key) { return not_tiny(as_f32((key >> 31) ? key ^ 0x80000000u : ~key)); }

/* The quanta of a feature in a leaf; the exponent is set, too. */
FN f32 center_of(GLOBAL const u32* extremes, const u32 k, i32* exponent) {
    const f32 low = value_of_key(~extremes[2 * k]), high = value_of_key(extremes[2 * k + 1]);
    const f32 half_low = 0.5f * low, half_high = 0.5f * high;
    const f32 center = not_tiny(half_low + half_high);
    const f32 above = high - center, below = center - low;
    const i32 bits = (i32)(as_u32(not_tiny(above > below ? above : below)) >> 23);
    *exponent = bits > 27 ? 141 - bits : 0; /* values within 2^-100 are a constant */
    return center;
}

FN i64 times(const i64 a, const i64 b, const u32 shift) {
    const i64 mask = ((i64)1 << shift) - 1, half_unit = ((i64)1 << shift) >> 1;
    return (a >> shift) * b + (((a & mask) * b + half_unit) >> shift);
}

/* How many bits products with Hessians lose, if those of the leaf sum up to `total`. */
FN u32 h_shift(const i64 total) {
    u32 bits = 0;
    for (u64 rest = (u64)total; rest; rest >>= 1) bits++;
    return bits > 32 ? bits - 32 : 0;
}

KERNEL(256) sum_products(
        const u32 n_rows, const u32 n_features, GLOBAL const u32* RESTRICT leaf_header, GLOBAL const u32* RESTRICT task_begin, GLOBAL const node_t* RESTRICT nodes,
        GLOBAL const u32* RESTRICT even_rows, GLOBAL const u32* RESTRICT odd_rows, GLOBAL const scale_t* RESTRICT scale,
        GLOBAL const i32* RESTRICT quanta, GLOBAL const i32* RESTRICT high, GLOBAL const f32* RESTRICT values,
        GLOBAL const u32* RESTRICT sizes, GLOBAL const u32* RESTRICT features,
        GLOBAL const i64x2* RESTRICT node_sums, GLOBAL const u32* RESTRICT extremes, GLOBAL u32* sums) {
    LOCAL_ARRAY(i32, z, 896);
    LOCAL_ARRAY(i64, g, 128);
    LOCAL_ARRAY(i64, h, 128);
    LOCAL_ARRAY(i64, own, 256);
    const u32 n_nodes = leaf_header[0], n_tasks = leaf_header[1];
    for (u32 task = GROUP_ID; task < n_tasks; task += N_GROUPS) {

        const leaf_task_t t = leaf_task(task, n_nodes, n_rows, task_begin, nodes, sizes);
        if (t.n == 0) continue;
        GLOBAL const u32* listed = t.odd ? odd_rows : even_rows;
        GLOBAL const u32* leaf_features = features + (u64)t.id * 6;
        const u32 n_own = sums_of(t.n), lanes = lanes_of(n_own), shift = h_shift(node_sums[t.id].y);
        for (u32 q = LOCAL_ID; q < n_own * lanes; q += 256) own[q] = 0;
        for (u32 first = t.begin; first < t.end; first += 128) {
            BARRIER();
            for (u32 r = LOCAL_ID; r < 128; r += 256) {
                int counts = 0;
                if (first + r < t.end) {

                const u32 row = t.in_order ? first + r - t.base : listed[first + r];
                const u64 entry = (u64)t.base + row;
                GLOBAL const f32* x = values + (u64)row * n_features;
                counts = row_counts(t, entry, x, leaf_features, scale[t.tree].wide, quanta, high);
                    for (u32 k = 0; k < t.n; k++) {
                        i32 exponent;
                        const f32 center = center_of(extremes + (u64)t.id * 13, k, &exponent);
                        const f32 moved = not_tiny(x[leaf_features[k]]) - center;
                        z[(r) * 7 + k + 1] = counts ? round_to_i32(scale_by(moved, exponent)) : 0;
                    }
                    g[r] = (i64)quanta[2 * entry], h[r] = (i64)quanta[2 * entry + 1];
                    if (scale[t.tree].wide) {
                        g[r] += (i64)high[2 * entry] * 4294967296;
                        h[r] += (i64)high[2 * entry + 1] * 4294967296;
                    }
                }
                z[(r) * 7 + 0] = counts ? UNIT : 0;
            }
            BARRIER();
            const u32 here = t.end - first < 128 ? t.end - first : 128;
            for (u32 q = LOCAL_ID; q < n_own * lanes; q += 256) {
                u32 k;
                const u32 j = row_of_sum(q / lanes, t.n, &k);
                i64 sum = own[q];
                if (k > t.n) {
                    for (u32 r = q % lanes; r < here; r += lanes) sum += times(g[r], z[(r) * 7 + j], G_SHIFT);
                } else {
                    for (u32 r = q % lanes; r < here; r += lanes)
                        sum += times(h[r], (i64)z[(r) * 7 + j] * z[(r) * 7 + k], shift);
                }
                own[q] = sum;
            }
        }
        for (u32 q = LOCAL_ID; q < n_own * lanes; q += 256)
            add_global_sum(sums + (u64)t.id * 70 + 2 * (q / lanes), own[q]);
        BARRIER();
    }
}

/* x without what no result needs, so that no device meets a subnormal number. */
FN df tidy(const df x) {
    const f32 hi = x.hi < 9.5367432e-7f && x.hi > -9.5367432e-7f ? 0.0f : x.hi; /* 2^-20 */
    const int none = as_u32(hi) << 1 == 0 || (x.lo < 8.4703295e-22f && x.lo > -8.4703295e-22f); /* 2^-70 */
    return df_make(hi, none ? 0.0f : x.lo);
}

/* a / b for b > 0; 0 below 2^-40. */
FN df ratio(const df a, const df b) {
    const f32 size = a.hi < 0.0f ? -a.hi : a.hi;
    const f32 least = b.hi * 9.0949470e-13f;
    return size < least ? df_make(0.0f, 0.0f) : tidy(df_div(a, b));
}

FN f32 ridge_of(const f32 linear_lambda, const i32 power) {
    const f32 scaled = scale_by(not_tiny(linear_lambda), power);
    return scaled > 1.2676506e30f ? 1.2676506e30f : scaled; /* 2^100 */
}

FN int is_finite(const f32 x) { return (as_u32(x) & 0x7F800000u) != 0x7F800000u; }

/* The unknown i of the equations of n features, of which those behind it are known. Those of the equations lie in hi
   and lo, n + 2 in a row. */
FN df unknown(const u32 i, const u32 n, LOCAL const f32* hi, LOCAL const f32* lo, LOCAL const f32* known_hi,
              LOCAL const f32* known_lo) {
    const u32 row = i * (n + 2);
    df rest = df_make(hi[row + n + 1], lo[row + n + 1]);
    IN_ORDER
    for (u32 k = i + 1; k <= n; k++) {
        if (as_u32(known_hi[k]) << 1 == 0) continue;
        const df taken = df_mul(df_make(hi[row + k], lo[row + k]), df_make(known_hi[k], known_lo[k]));
        rest = tidy(df_add(rest, df_neg(taken)));
    }
    return ratio(rest, df_make(hi[row + i], lo[row + i]));
}

/* Take pivot i from the rows behind it; a pivot that is not kept takes nothing. */
FN void eliminate(const u32 i, const u32 n, const int kept, LOCAL f32* hi, LOCAL f32* lo, LOCAL f32* factor_hi,
                  LOCAL f32* factor_lo) {
    const u32 width = n + 2, n_sums = sums_of(n);
    const df pivot = df_make(hi[i * width + i], lo[i * width + i]);
    for (u32 j = i + 1 + LOCAL_ID; j < (kept ? n + 1 : 0); j += 256) {
        const df factor = ratio(df_make(hi[i * width + j], lo[i * width + j]), pivot);
        factor_hi[j] = factor.hi, factor_lo[j] = factor.lo;
    }
    BARRIER();
    for (u32 q = LOCAL_ID; q < (kept ? n_sums : 0); q += 256) {
        u32 k;
        const u32 j = row_of_sum(q, n, &k);
        if (j <= i) continue;
        const df above = df_make(hi[i * width + k], lo[i * width + k]);
        const df taken = df_mul(df_make(factor_hi[j], factor_lo[j]), above);
        const df rest = tidy(df_add(df_make(hi[j * width + k], lo[j * width + k]), df_neg(taken)));
        hi[j * width + k] = rest.hi, lo[j * width + k] = rest.lo;
    }
    BARRIER();
}

/* Write a leaf's function in the units of features and margins; return its terms, 0 if a number is not finite. */
FN u32 write_terms(const u32 n, const i32 power, const f32 rate, LOCAL const f32* found_hi, LOCAL const f32* found_lo,
                   GLOBAL const u32* extremes, GLOBAL u32* features, GLOBAL f32* coefficients, GLOBAL f32* intercept) {
    df at_zero = df_make(found_hi[0] * 32768.0f, found_lo[0] * 32768.0f);
    u32 n_terms = 0;
    int all_finite = 1;
    IN_ORDER
    for (u32 k = 1; k <= n; k++) {
        i32 exponent;
        const f32 center = center_of(extremes, k - 1, &exponent);
        const f32 slope = -not_tiny(scale_by(found_hi[k], exponent + power));
        const f32 shrunk = finite(slope * rate);
        all_finite &= is_finite(slope);
        if (as_u32(found_hi[k]) << 1) {
            const df moved = df_make(not_tiny(scale_by(center, exponent)), 0.0f);
            const df taken = df_mul(df_make(found_hi[k], found_lo[k]), moved);
            at_zero = tidy(df_add(at_zero, df_neg(taken)));
        }
        if (as_u32(shrunk) << 1 == 0) continue;
        features[n_terms] = features[k - 1];
        coefficients[n_terms++] = shrunk;
    }
    const f32 real = -not_tiny(scale_by(at_zero.hi, power));
    *intercept = as_margin(real * rate);
    return all_finite && is_finite(real) ? n_terms : 0;
}

/* A leaf without terms stays a number. */
KERNEL(256) solve(
        const f32 linear_lambda, GLOBAL const u32* RESTRICT leaf_header, GLOBAL const f32* RESTRICT leaf_rate,
        GLOBAL const node_t* RESTRICT nodes, GLOBAL const i64x2* RESTRICT node_sums,
        GLOBAL const scale_t* RESTRICT scale, GLOBAL const u32* RESTRICT extremes, GLOBAL const u32* RESTRICT sums,
        GLOBAL u32* sizes, GLOBAL u32* features, GLOBAL f32* RESTRICT coefficients, GLOBAL f32* RESTRICT intercepts) {
    LOCAL_ARRAY(f32, hi, 56);
    LOCAL_ARRAY(f32, lo, 56);
    LOCAL_ARRAY(f32, factor_hi, 7);
    LOCAL_ARRAY(f32, factor_lo, 7);
    const u32 n_nodes = leaf_header[0];
    IN_ORDER
    for (u32 id = GROUP_ID; id < n_nodes; id += N_GROUPS) {
        const u32 n = sizes[id];
        if (n == 0) continue;
        GLOBAL const u32* own_extremes = extremes + (u64)id * 13;
        GLOBAL const u32* own_sums = sums + (u64)id * 70;
        GLOBAL const scale_t* own_scale = scale + nodes[id].tree;
        const i32 h_power = own_scale->h - own_scale->weight_shift - (i32)h_shift(node_sums[id].y);
        for (u32 q = LOCAL_ID; q < sums_of(n); q += 256) {
            u32 k;
            const u32 j = row_of_sum(q, n, &k);
            df sum = df_from_i64((i64)((u64)own_sums[2 * q + 1] << 32 | own_sums[2 * q]));
            if (k > n) sum = df_scale(sum, 1.0995116e12f); /* 2^40 */
            if (j == k && j) {
                i32 exponent;
                center_of(own_extremes, j - 1, &exponent);
                sum = df_add(sum, df_make(ridge_of(linear_lambda, 2 * exponent + h_power), 0.0f));
            }
            sum = tidy(sum);
            hi[j * (n + 2) + k] = sum.hi, lo[j * (n + 2) + k] = sum.lo;
        }
        BARRIER();
        const f32 least = hi[0] * 1.4901161e-8f; /* 2^-26: 4 quanta beside 2^15 */
        IN_ORDER
        for (u32 i = 0; i <= n; i++)
            eliminate(i, n, hi[i * (n + 3)] > (i ? least : 0.0f), hi, lo, factor_hi, factor_lo);
        if (LOCAL_ID == 0) {
            IN_ORDER
            for (u32 next = n + 1; next > 0; next--) { /* the unknowns take the place of factors */
                const u32 i = next - 1;
                const int kept = hi[i * (n + 3)] > (i ? least : 0.0f);
                const df x = kept ? unknown(i, n, hi, lo, factor_hi, factor_lo) : df_make(0.0f, 0.0f);
                factor_hi[i] = x.hi, factor_lo[i] = x.lo;
            }
            const i32 power = G_SHIFT - 40 - (own_scale->g - own_scale->weight_shift) + h_power;
            const u32 n_terms = write_terms(
                n, power, leaf_rate[0], factor_hi, factor_lo, own_extremes, features + (u64)id * 6,
                coefficients + (u64)id * 6, intercepts + id);
            sizes[id] = hi[0] > 0.0f && own_extremes[2 * n] > n ? n_terms : 0;
        }
        BARRIER();
    }
}


/* forest[place] = for each node: size, intercept, features, coefficients; a field of all nodes after the other. */
BRIEF
KERNEL(256) list_terms(
        const u32 most_nodes, GLOBAL const u32* RESTRICT leaf_header, GLOBAL const u32* RESTRICT sizes,
        GLOBAL const u32* RESTRICT features, GLOBAL const f32* RESTRICT coefficients,
        GLOBAL f32* RESTRICT intercepts, GLOBAL u32* RESTRICT term_begin, GLOBAL u32* RESTRICT term_features,
        GLOBAL f32* RESTRICT term_coefficients, GLOBAL u32* RESTRICT forest) {
    LOCAL_ARRAY(u32, shared, 256);
    const u32 n_nodes = leaf_header[0];
    forest += (u64)leaf_header[2] * 14 * most_nodes;
    u32 n_terms = 0, more;
    for (u32 base = 0; base < n_nodes; base += 256) {
        const u32 id = base + LOCAL_ID, n = id < n_nodes ? sizes[id] : 0;
        const u32 begin = n_terms + group_scan(n, shared, &more);
        n_terms += more;
        if (id >= n_nodes) continue;
        const f32 intercept = n ? intercepts[id] : 0.0f;
        intercepts[id] = intercept;
        term_begin[id] = begin;
        forest[id] = n;
        forest[(u64)most_nodes + id] = as_u32(intercept);
        for (u32 k = 0; k < n; k++) {
            const u32 feature = features[(u64)id * 6 + k];
            const f32 coefficient = coefficients[(u64)id * 6 + k];
            term_features[begin + k] = feature, term_coefficients[begin + k] = coefficient;
            forest[(u64)(2 + k) * most_nodes + id] = feature;
            forest[(u64)(8 + k) * most_nodes + id] = as_u32(coefficient);
        }
    }
    if (LOCAL_ID == 0) term_begin[n_nodes] = n_terms;
}

