## leaves_by_next_order: leaf values from the rows that other codes than the splits' own bring to a leaf
## uses: portable_math structs gain decision blocks
## uses if categories: set_decision
##
##   sum_leaves    every row walks the finished tree by its codes: leaves[tree, row] = node, and
##                 sums[node] += (g, h) in quanta
##   value_leaves  weight and value of every leaf from these sums, within its bounds; clears the sums
##   add_leaves    margin[row] += value of leaves[tree, row]
##
##   Twin: tests/reference/leaves_by_next_order.py.
##
## params: wg_size; cells, nodes whose sums lie in local memory; code, categories as in `renew_leaves`
<%page args="wg_size, cells, code, categories"/>
<%namespace name="codes" file="row_codes.cl.mako"/>
<%namespace name="sums" file="ordered_sums.cl.mako"/>
<%namespace name="outputs" file="outputs.cl.mako"/>
${sums.words_of_sums(wg_size)}
${codes.in_rows(code)}

/* `sums` is 0 when a tree begins; a sum has two words, the low one first. */
KERNEL(${wg_size}) sum_leaves(
        const u32 n_rows, const u32 first_row, const u32 page_rows, ${codes.row_parameters(code)},
        GLOBAL const u32x4* RESTRICT steps, ${"GLOBAL const u32* RESTRICT sets, " if categories else ""}GLOBAL const u32* RESTRICT leaf_header,
        GLOBAL const scale_t* RESTRICT scale, GLOBAL const i32* RESTRICT quanta,
        GLOBAL const i32* RESTRICT high, GLOBAL u32* RESTRICT leaves, GLOBAL u32* sums) {
    LOCAL_ARRAY(u32, own, ${4 * cells});
    const u32 tree = GROUP_ID_Y, n_nodes = leaf_header[0];
    const u32 wide = scale[tree].wide;
    const int fits = n_nodes <= ${cells};
    const u64 first = (u64)tree * n_rows + first_row;
    for (u32 i = LOCAL_ID; i < (fits ? 4 * n_nodes : 0); i += ${wg_size}) own[i] = 0;
    BARRIER();
    for (u32 at = GROUP_ID * ${wg_size} + LOCAL_ID; at < page_rows; at += N_GROUPS * ${wg_size}) {
        const row_t mine = row_of(${codes.row(code)}, at);
        const u64 row = first + at;
${codes.walk(categories)}\
        leaves[row] = leaf;
        i64 g = quanta[2 * row], h = quanta[2 * row + 1];
        if (wide) {
            g += (i64)high[2 * row] * 4294967296;
            h += (i64)high[2 * row + 1] * 4294967296;
        }
        if (h != 0) add_to_leaf(own, sums, fits ? n_nodes : 0, leaf, g, h); /* others do not count */
    }
    BARRIER();
    add_own(own, sums, fits ? n_nodes : 0);
}

KERNEL(${wg_size}) value_leaves(
        const f32 reg_lambda, const f32 reg_alpha, const f32 max_delta_step,
        GLOBAL const f32* RESTRICT leaf_rate, GLOBAL const u32* RESTRICT leaf_header,
        GLOBAL const scale_t* RESTRICT scale, GLOBAL u32* RESTRICT sums,
        GLOBAL const node_t* RESTRICT nodes, GLOBAL f32* RESTRICT node_weights,
        GLOBAL f32* RESTRICT node_values, GLOBAL const bounds_t* RESTRICT node_bounds, GLOBAL walk_t* RESTRICT walk,
        GLOBAL step_t* RESTRICT steps) {
    const u32 n_nodes = leaf_header[0];
    for (u32 id = GROUP_ID * ${wg_size} + LOCAL_ID; id < n_nodes; id += N_GROUPS * ${wg_size}) {
        if (nodes[id].left != NO_NODE) continue; /* its sums are 0 */
        const rule_t rule =
            node_rule(scale + nodes[id].tree, reg_lambda, reg_alpha, max_delta_step, node_bounds[id]);
        GLOBAL u32* sum = sums + 4 * (u64)id;
        const i64 g = (i64)((u64)sum[1] << 32 | sum[0]), h = (i64)((u64)sum[3] << 32 | sum[2]);
        const f32 weight = weight_of_sums(g, h, rule), value = as_margin(weight * leaf_rate[0]);
        node_weights[id] = weight;
        node_values[id] = value;
        walk[id].number = value;
        steps[id].value = value;
        for (u32 word = 0; word < 4; word++) sum[word] = 0;
    }
}

${outputs.add_leaves(
    wg_size, "GLOBAL const u32* RESTRICT leaves, GLOBAL const step_t* RESTRICT steps",
    "steps[leaves[(u64)tree * n_rows + row]].value")}
