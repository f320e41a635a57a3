## linear_leaves: the linear functions of the leaves of finished trees, by least squares
## uses: portable_math structs gain tasks
##
##   list_features  the numeric features of a leaf's path; none in the first round. Clears what is added up
##   bound_values   the least and the largest value of each of them among the leaf's rows, and how many rows count
##   sum_products   the sums of the leaf's equations, in integers; `products` in the twin shows them
##   solve          the equations' solution, by elimination in pairs of floats: coefficients and intercept
##   list_terms     the terms of all leaves, one after the other, and where the host reads them
##
##   z of a row       | 2^15 | round((x_1 - center_1) * 2^exponent_1) | ..          |z| <= 2^15
##   a leaf's sums    | z_0 h z_0  z_0 h z_1 .. z_0 g | z_1 h z_1 .. z_1 g | ..     n features: (n + 1)(n + 4) / 2
##
##   Rows that miss a feature of the path, or whose Hessian is 0, do not count. No sum overflows: Hessians of a leaf sum
##   up to less than 2^(32 + s), and products have 30 more bits and lose s; gradients sum up to less than 2^61, and
##   products with z have 15 more and lose 14.  Twin: tests/reference/linear_leaves.py.
##
## params: wg_size; most, features of a leaf; chunk, rows of a leaf task
<%page args="wg_size, most, chunk"/>
<%namespace name="group" file="group.cl.mako"/>
<%namespace name="solving" file="linear_solve.cl.mako"/>
<%namespace name="sums" file="ordered_sums.cl.mako"/>
<%
    rows = 32 if wg_size == 1 else 128
    most_sums = (most + 1) * (most + 4) // 2
    own = max(wg_size, most_sums) if wg_size > 1 else most_sums
    most_own = max(wg_size, 2 * most + 1) if wg_size > 1 else 2 * most + 1

    def at(row, k):
        """Where z of a row lies: a core reads a feature of many rows, a GPU many features of a row."""
        return f"({k}) * {rows} + {row}" if wg_size == 1 else f"({row}) * {most + 1} + {k}"
%>
${sums.words_of_sums(wg_size)}
${group.exclusive_scan("group_scan", "u32", wg_size)}
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
    for (u32 at = nodes[leaf].parent; at != NO_NODE && n < ${most}; at = nodes[at].parent) {
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
KERNEL(${wg_size}) list_features(
        const u32 first_batches, GLOBAL const u32* RESTRICT leaf_header, GLOBAL const node_t* RESTRICT nodes,
        GLOBAL u32* RESTRICT sizes, GLOBAL u32* features, GLOBAL u32* RESTRICT extremes, GLOBAL u32* RESTRICT sums) {
    const u32 n_nodes = leaf_header[0], linear = leaf_header[3] > first_batches;
    for (u32 id = GROUP_ID * ${wg_size} + LOCAL_ID; id < n_nodes; id += N_GROUPS * ${wg_size}) {
        const int leaf = linear && nodes[id].left == NO_NODE;
        const u32 n = leaf ? path_features(nodes, id, features + (u64)id * ${most}) : 0;
        sizes[id] = n;
        for (u32 k = 0; k < (n ? 2 * n + 1 : 0); k++) extremes[(u64)id * ${2 * most + 1} + k] = 0;
        for (u32 k = 0; k < (n ? 2 * sums_of(n) : 0); k++) sums[(u64)id * ${2 * most_sums} + k] = 0;
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
    t.begin = node->begin + (task - task_begin[t.id]) * ${chunk};
    t.end = t.begin + ${chunk} < end ? t.begin + ${chunk} : end;
    return t;
}

/* Whether a row counts. */
FN int row_counts(const leaf_task_t t, const u64 entry, GLOBAL const f32* x, GLOBAL const u32* own, const u32 wide,
                  GLOBAL const i32* quanta, GLOBAL const i32* high) {
    int counts = quanta[2 * entry + 1] != 0 || (wide && high[2 * entry + 1] != 0);
    for (u32 k = 0; k < t.n; k++) counts &= !is_missing(x[own[k]]);
    return counts;
}

FN u32 lanes_of(const u32 n_own) { return n_own < ${wg_size} ? ${wg_size} / n_own : 1; }

<%def name="rows_of_task()">
        const leaf_task_t t = leaf_task(task, n_nodes, n_rows, task_begin, nodes, sizes);
        if (t.n == 0) continue;
        GLOBAL const u32* listed = t.odd ? odd_rows : even_rows;
        GLOBAL const u32* leaf_features = features + (u64)t.id * ${most};
</%def>
<%def name="row_at(place)">
                const u32 row = t.in_order ? ${place} - t.base : listed[${place}];
                const u64 entry = (u64)t.base + row;
                GLOBAL const f32* x = values + (u64)row * n_features;
                counts = row_counts(t, entry, x, leaf_features, scale[t.tree].wide, quanta, high);
</%def>
<%def name="arrays_of_rows()">\
GLOBAL const u32* RESTRICT leaf_header, GLOBAL const u32* RESTRICT task_begin, GLOBAL const node_t* RESTRICT nodes,
        GLOBAL const u32* RESTRICT even_rows, GLOBAL const u32* RESTRICT odd_rows, GLOBAL const scale_t* RESTRICT scale,
        GLOBAL const i32* RESTRICT quanta, GLOBAL const i32* RESTRICT high, GLOBAL const f32* RESTRICT values,
        GLOBAL const u32* RESTRICT sizes, GLOBAL const u32* RESTRICT features\
</%def>
/* extremes[leaf] = for each feature the largest ~key and the largest key of its values, then the rows that count. */
KERNEL(${wg_size}) bound_values(
        const u32 n_rows, const u32 n_features, ${arrays_of_rows()}, GLOBAL u32* extremes) {
    LOCAL_ARRAY(u32, keys, ${rows * (most + 1)});
    LOCAL_ARRAY(u32, own, ${most_own});
    const u32 n_nodes = leaf_header[0], n_tasks = leaf_header[1];
    for (u32 task = GROUP_ID; task < n_tasks; task += N_GROUPS) {
${rows_of_task()}\
        const u32 n_own = 2 * t.n + 1, lanes = lanes_of(n_own);
        for (u32 q = LOCAL_ID; q < n_own * lanes; q += ${wg_size}) own[q] = 0;
        for (u32 first = t.begin; first < t.end; first += ${rows}) {
            BARRIER();
            for (u32 r = LOCAL_ID; r < ${rows}; r += ${wg_size}) {
                int counts = 0;
                if (first + r < t.end) {
${row_at("first + r")}\
                    for (u32 k = 0; k < t.n; k++) keys[${at("r", "k")}] = counts ? ordered(x[leaf_features[k]]) : 0;
                }
                keys[${at("r", "t.n")}] = (u32)counts;
            }
            BARRIER();
            for (u32 q = LOCAL_ID; q < n_own * lanes; q += ${wg_size}) {
                const u32 which = q / lanes, k = which / 2, low = !(which & 1);
                u32 most = own[q];
                for (u32 r = q % lanes; r < ${rows}; r += lanes) {
                    const u32 counts = keys[${at("r", "t.n")}];
                    const u32 key = counts ? keys[${at("r", "k")}] : 0, found = counts && low ? ~key : key;
                    if (k == t.n) most += counts; else most = found > most ? found : most;
                }
                own[q] = most;
            }
        }
        for (u32 q = LOCAL_ID; q < n_own * lanes; q += ${wg_size}) {
            GLOBAL u32* known = extremes + (u64)t.id * ${2 * most + 1} + q / lanes;
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

KERNEL(${wg_size}) sum_products(
        const u32 n_rows, const u32 n_features, ${arrays_of_rows()},
        GLOBAL const i64x2* RESTRICT node_sums, GLOBAL const u32* RESTRICT extremes, GLOBAL u32* sums) {
    LOCAL_ARRAY(i32, z, ${rows * (most + 1)});
    LOCAL_ARRAY(i64, g, ${rows});
    LOCAL_ARRAY(i64, h, ${rows});
    LOCAL_ARRAY(i64, own, ${own});
    const u32 n_nodes = leaf_header[0], n_tasks = leaf_header[1];
    for (u32 task = GROUP_ID; task < n_tasks; task += N_GROUPS) {
${rows_of_task()}\
        const u32 n_own = sums_of(t.n), lanes = lanes_of(n_own), shift = h_shift(node_sums[t.id].y);
        for (u32 q = LOCAL_ID; q < n_own * lanes; q += ${wg_size}) own[q] = 0;
        for (u32 first = t.begin; first < t.end; first += ${rows}) {
            BARRIER();
            for (u32 r = LOCAL_ID; r < ${rows}; r += ${wg_size}) {
                int counts = 0;
                if (first + r < t.end) {
${row_at("first + r")}\
                    for (u32 k = 0; k < t.n; k++) {
                        i32 exponent;
                        const f32 center = center_of(extremes + (u64)t.id * ${2 * most + 1}, k, &exponent);
                        const f32 moved = not_tiny(x[leaf_features[k]]) - center;
                        z[${at("r", "k + 1")}] = counts ? round_to_i32(scale_by(moved, exponent)) : 0;
                    }
                    g[r] = (i64)quanta[2 * entry], h[r] = (i64)quanta[2 * entry + 1];
                    if (scale[t.tree].wide) {
                        g[r] += (i64)high[2 * entry] * 4294967296;
                        h[r] += (i64)high[2 * entry + 1] * 4294967296;
                    }
                }
                z[${at("r", "0")}] = counts ? UNIT : 0;
            }
            BARRIER();
            const u32 here = t.end - first < ${rows} ? t.end - first : ${rows};
            for (u32 q = LOCAL_ID; q < n_own * lanes; q += ${wg_size}) {
                u32 k;
                const u32 j = row_of_sum(q / lanes, t.n, &k);
                i64 sum = own[q];
                if (k > t.n) {
                    for (u32 r = q % lanes; r < here; r += lanes) sum += times(g[r], z[${at("r", "j")}], G_SHIFT);
                } else {
                    for (u32 r = q % lanes; r < here; r += lanes)
                        sum += times(h[r], (i64)z[${at("r", "j")}] * z[${at("r", "k")}], shift);
                }
                own[q] = sum;
            }
        }
        for (u32 q = LOCAL_ID; q < n_own * lanes; q += ${wg_size})
            add_global_sum(sums + (u64)t.id * ${2 * most_sums} + 2 * (q / lanes), own[q]);
        BARRIER();
    }
}
${solving.solve(wg_size, most, most_sums)}
${solving.list_terms(wg_size, most)}
