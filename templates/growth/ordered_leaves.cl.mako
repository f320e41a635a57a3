## ordered_leaves: what a finished tree adds to each model of ordered boosting
## uses: portable_math portable_log structs gain tasks decision quantum_scale blocks
## uses if categories: set_decision
##
##   an order of the rows   |. . . .|. . . .|. . . . . . . .|. . .
##   model 0                |learns | knows |
##   model 1                |    learns     |     knows     |
##   entries                |model 0's rows |model 1's rows                 |..|all rows|
##
##   An entry is a row's margin under one model. A model learns from a prefix of an order and is applied
##   to as many rows after it, too. The last model learns from all rows: its leaves are the tree's.
##
##   take_margins   every row's margin by the largest model that has not learnt from it; splits are found
##                  by gradients of these
##   find_leaves    the leaf of every row
##   count_entries  how many gradients of the entries to learn from have each exponent
##   sum_entries    sums[model][leaf] += (g, h), in one fixed point for all models of a tree
##   value_leaves   values[model][leaf] from these sums; clears sums and counts
##   set_leaves     the tree's leaves take the values of the last model
##   add_entries    every entry's margin += the value of its leaf
##
##   Work-group i takes a share of the entries of model i % n_models. Twin: tests/reference/ordered_leaves.py.
##
## params: wg_size; loss, weighted, sampled as in `gradients`; cells, nodes whose sums lie in local memory;
##         code, categories as in `renew_leaves`; walk, chunk as in `update_margins`;
##         n_exponents as in `gradients`
<%page args="wg_size, loss, weighted, sampled, cells, code, categories, walk, chunk, n_exponents"/>
<%namespace name="exponents" file="exponents.cl.mako"/>
<%namespace name="leaf_of_rows" file="leaf_of_rows.cl.mako"/>
<%namespace name="losses" file="loss.cl.mako"/>
<%namespace name="sums" file="ordered_sums.cl.mako"/>
${losses.gradient(loss)}
${sums.functions(wg_size)}
/* The part of a model's entries that a work-group takes. */
typedef struct { u32 model; u32 begin; u32 end; } share_t;

/* Of those to learn from, or of all; `table` has first entry, entries to learn from, all entries. */
FN share_t share_of(GLOBAL const u32* table, const u32 n_models, const u32 all) {
    share_t s;
    s.model = GROUP_ID % n_models;
    const u32 part = GROUP_ID / n_models, n_parts = N_GROUPS / n_models;
    const u32 n = table[3 * s.model + 1 + all];
    s.begin = table[3 * s.model] + (u32)((u64)n * part / n_parts);
    s.end = table[3 * s.model] + (u32)((u64)n * (part + 1) / n_parts);
    return s;
}

KERNEL(${wg_size}) take_margins(
        const u32 n_rows, const u32 n_entries, const u32 order, GLOBAL const u32* RESTRICT entry_of,
        GLOBAL const f32* RESTRICT entry_margins, GLOBAL f32* RESTRICT margins) {
    entry_of += (u64)order * n_rows;
    entry_margins += (u64)GROUP_ID_Y * n_entries;
    margins += (u64)GROUP_ID_Y * n_rows;
    for (u32 row = GROUP_ID * ${wg_size} + LOCAL_ID; row < n_rows; row += N_GROUPS * ${wg_size})
        margins[row] = entry_margins[entry_of[row]];
}

% if not code:
${leaf_of_rows.by_node(wg_size)}
% elif walk:
${leaf_of_rows.walk(wg_size, code, categories)}
% else:
${leaf_of_rows.by_rows(
    wg_size, "find_leaves", code, categories, chunk, "=",
    "GLOBAL u32* own = leaves + (u64)node->tree * n_rows;", "GLOBAL u32* RESTRICT leaves")}
% endif
/* `exponents` is 0 when a tree begins. */
KERNEL(${wg_size}) count_entries(
        const u32 n_rows, const u32 n_entries, const u32 n_models, const u32 first_tree,
        const u64 label_stride, GLOBAL const u32* RESTRICT table, GLOBAL const u32* RESTRICT rows,
        GLOBAL const f32* RESTRICT margins, GLOBAL const f32* RESTRICT labels,
% if weighted:
        GLOBAL const f32* RESTRICT weights,
% endif
% if sampled:
        const u32 n_draws, GLOBAL const f32* RESTRICT factors,
% endif
        GLOBAL u32* exponents) {
    LOCAL_ARRAY(u32, counts, ${n_exponents});
    const u32 tree = GROUP_ID_Y;
    const share_t share = share_of(table, n_models, 0);
    margins += (u64)(first_tree + tree) * n_entries;
    labels += (first_tree + tree) * label_stride;
    exponents += ${n_exponents} * tree;
    (void)n_rows;
    for (u32 i = LOCAL_ID; i < ${n_exponents}; i += ${wg_size}) counts[i] = 0;
    BARRIER();
    <%sums:each_gradient wg_size="${wg_size}" weighted="${weighted}" sampled="${sampled}">
        count_one(&counts[(as_u32(g) >> 23) & 0xFF]);
        count_one(&counts[${n_exponents // 2} + ((as_u32(h) >> 23) & 0xFF)]);
    </%sums:each_gradient>
${exponents.add_counts(wg_size, n_exponents)}\
}

/* `sums` is 0 when a tree begins; a sum has two words, the low one first. */
KERNEL(${wg_size}) sum_entries(
        const u32 n_rows, const u32 n_entries, const u32 n_models, const u32 first_tree,
        const u64 label_stride, const u32 most_nodes, const i32 weight_bits, const i32 weight_shift,
        GLOBAL const u32* RESTRICT leaf_header, GLOBAL const u32* RESTRICT table,
        GLOBAL const u32* RESTRICT rows, GLOBAL const u32* RESTRICT leaves,
        GLOBAL const f32* RESTRICT margins, GLOBAL const f32* RESTRICT labels,
% if weighted:
        GLOBAL const f32* RESTRICT weights,
% endif
% if sampled:
        const u32 n_draws, GLOBAL const f32* RESTRICT factors,
% endif
        GLOBAL const u32* RESTRICT exponents, GLOBAL scale_t* RESTRICT scale, GLOBAL u32* sums) {
    LOCAL_ARRAY(u32, counts, ${n_exponents});
    LOCAL_ARRAY(i32, powers, 2);
    LOCAL_ARRAY(u32, wides, 2);
    LOCAL_ARRAY(u32, own, ${4 * cells});
    const u32 tree = GROUP_ID_Y, n_nodes = leaf_header[0];
    const int fits = n_nodes <= ${cells};
    const share_t share = share_of(table, n_models, 0);
    margins += (u64)(first_tree + tree) * n_entries;
    labels += (first_tree + tree) * label_stride;
    leaves += (u64)tree * n_rows;
    sums += 4 * (u64)share.model * most_nodes;
${sums.begin(wg_size, n_exponents)}\
    <%sums:each_gradient wg_size="${wg_size}" weighted="${weighted}" sampled="${sampled}">
${sums.quanta(weighted)}\
        const u32 leaf = leaves[row];
        add_to_leaf(own, sums, fits ? n_nodes : 0, leaf, quanta_g, quanta_h);
    </%sums:each_gradient>
    BARRIER();
    add_own(own, sums, fits ? n_nodes : 0);
}

KERNEL(${wg_size}) value_leaves(
        const u32 n_models, const u32 n_trees, const u32 most_nodes, const f32 reg_lambda,
        const f32 reg_alpha, const f32 max_delta_step, GLOBAL const f32* RESTRICT leaf_rate,
        GLOBAL const u32* RESTRICT leaf_header, GLOBAL const node_t* RESTRICT nodes,
        GLOBAL const bounds_t* RESTRICT node_bounds, GLOBAL const scale_t* RESTRICT tree_scale,
        GLOBAL const scale_t* RESTRICT scale,
        GLOBAL u32* RESTRICT sums, GLOBAL f32* RESTRICT values, GLOBAL u32* RESTRICT exponents) {
    const u32 n_nodes = leaf_header[0], at = GROUP_ID * ${wg_size} + LOCAL_ID;
    for (u32 i = at; i < ${n_exponents} * n_trees; i += N_GROUPS * ${wg_size}) exponents[i] = 0;
    for (u32 i = at; i < n_models * n_nodes; i += N_GROUPS * ${wg_size}) {
        const u32 id = i % n_nodes, tree = nodes[id].tree;
        const u64 place = (u64)(i / n_nodes) * most_nodes + id;
        if (nodes[id].left != NO_NODE) continue; /* its sums are 0 */
        const rule_t rule = ordered_rule(
            make_rule(scale + tree, reg_lambda, reg_alpha, max_delta_step), tree_scale + tree,
            node_bounds[id]);
        const i64 g = take_sum(&sums[4 * place]), h = take_sum(&sums[4 * place + 2]);
        values[place] = as_margin(weight_of_sums(g, h, rule) * leaf_rate[0]);
    }
}

/* `values` are those of the last model. */
KERNEL(${wg_size}) set_leaves(
        const u64 first_value, GLOBAL const u32* RESTRICT leaf_header,
        GLOBAL const f32* RESTRICT values, GLOBAL const node_t* RESTRICT nodes, GLOBAL f32* RESTRICT node_values,
        GLOBAL walk_t* RESTRICT walk, GLOBAL step_t* RESTRICT steps) {
    const u32 n_nodes = leaf_header[0];
    for (u32 id = GROUP_ID * ${wg_size} + LOCAL_ID; id < n_nodes; id += N_GROUPS * ${wg_size}) {
        if (nodes[id].left != NO_NODE) continue;
        const f32 value = values[first_value + id];
        node_values[id] = value;
        walk[id].number = value;
        steps[id].value = value;
    }
}

KERNEL(${wg_size}) add_entries(
        const u32 n_rows, const u32 n_entries, const u32 n_models, const u32 first_tree,
        const u32 most_nodes, GLOBAL const u32* RESTRICT table, GLOBAL const u32* RESTRICT rows,
        GLOBAL const u32* RESTRICT leaves, GLOBAL const f32* RESTRICT values,
        GLOBAL f32* RESTRICT margins) {
    const share_t share = share_of(table, n_models, 1);
    margins += (u64)(first_tree + GROUP_ID_Y) * n_entries;
    leaves += (u64)GROUP_ID_Y * n_rows;
    values += (u64)share.model * most_nodes;
    for (u32 entry = share.begin + LOCAL_ID; entry < share.end; entry += ${wg_size})
        margins[entry] += values[leaves[rows[entry]]];
}
