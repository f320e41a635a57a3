## newton_leaves: further Newton steps of the leaves of finished trees
## uses: portable_math portable_log structs gain tasks decision quantum_scale blocks
## uses if categories: set_decision
##
##   margin of a row   |before the round| + |weight of its leaf|      gradients are taken there
##
##   begin_steps   the weights to begin with: those of the splits; where rows are sampled, 0
##   find_leaves   the leaf of every row
##   count_rows    how many of these gradients have each exponent
##   sum_rows      sums[leaf] += (g, h), in a fixed point of its own for each tree
##   step_leaves   a step of every leaf's weight from these sums; clears sums and counts
##
##   A step goes to the weight w' = -T / (H + lambda), with T = G - H w shrunk by alpha, within the leaf's bounds: the
##   Newton step of the penalised loss, whose minimum all steps seek. A weight below the minimum is a bound for those
##   to come, and so is one above it. A step that leaves these bounds ends in their middle: it cannot run away where
##   Hessians are small.
##
##   The last three run once for every step. Twin: tests/reference/newton_leaves.py.
##
## params: wg_size; loss, as in `gradients`, of a margin to which a number is added; weighted as there; cells, nodes whose sums lie in local memory; code, categories
##         as in `renew_leaves`; chunk as in `update_margins`; n_exponents as in `gradients`; finds, how `find_leaves`
##         finds them: walk, by_rows, by_node; empty if it is not needed
<%page args="wg_size, loss, weighted, cells, code, categories, chunk, n_exponents, finds"/>
<%namespace name="exponents" file="exponents.cl.mako"/>
<%namespace name="leaf_of_rows" file="leaf_of_rows.cl.mako"/>
<%namespace name="losses" file="loss.cl.mako"/>
<%namespace name="sums" file="ordered_sums.cl.mako"/>
${losses.gradient(loss, added=True)}
${sums.functions(wg_size)}
% if finds == "walk":
${leaf_of_rows.walk(wg_size, code, categories)}
% elif finds == "by_rows":
${leaf_of_rows.by_rows(
    wg_size, "find_leaves", code, categories, chunk, "=",
    "GLOBAL u32* own = leaves + (u64)node->tree * n_rows;", "GLOBAL u32* RESTRICT leaves")}
% elif finds:
${leaf_of_rows.by_node(wg_size)}
% endif
## What gradients are taken of.
<%def name="inputs()">
        const u32 n_rows, const u32 first_tree, const u32 n_parallel, const u64 label_stride,
        GLOBAL const u32* RESTRICT leaves, GLOBAL const f32* RESTRICT leaf_weights,
        GLOBAL const f32* RESTRICT margins, GLOBAL const f32* RESTRICT labels,
% if weighted:
        GLOBAL const f32* RESTRICT weights,
% endif
</%def>
<%def name="own_rows()">
    const u32 tree = GROUP_ID_Y, output = (first_tree + tree) / n_parallel;
    const u32 begin = (u32)((u64)n_rows * GROUP_ID / N_GROUPS);
    const u32 end = (u32)((u64)n_rows * (GROUP_ID + 1) / N_GROUPS);
    margins += (u64)output * n_rows;
    labels += output * label_stride;
    leaves += (u64)tree * n_rows;
</%def>
## The loop over the gradients g and h of a group's rows that count.
<%def name="each_gradient()">
% if wg_size == 1:
    f32 added[64], gs[64], hs[64]; /* a batch: the gradients' loop is vectorised, the other ones are not */
    for (u32 at = begin; at < end; at += 64) {
        const u32 n = end - at < 64 ? end - at : 64;
        for (u32 i = 0; i < n; i++) added[i] = as_margin(leaf_weights[leaves[at + i]]);
        WIDE for (u32 i = 0; i < n; i++) gradient(margins[at + i], labels[at + i], added[i], output, &gs[i], &hs[i]);
        for (u32 i = 0; i < n; i++) {
            const u32 row = at + i;
            const f32 g = gs[i], h = hs[i];
% else:
    for (u32 row = begin + LOCAL_ID; row < end; row += ${wg_size}) {
        {
            f32 g, h;
            gradient(margins[row], labels[row], as_margin(leaf_weights[leaves[row]]), output, &g, &h);
% endif
            (void)row;
% if weighted:
            if (as_u32(weights[row]) == 0) continue;
% endif
            ${caller.body()}
        }
    }
</%def>

/* `nearest` are the weights nearest to a leaf's minimum, below and above it. The splits' weight tells on which side
   of 0 that is. */
KERNEL(${wg_size}) begin_steps(
        const u32 from_zero, GLOBAL const u32* RESTRICT leaf_header,
        GLOBAL const f32* RESTRICT node_weights, GLOBAL bounds_t* RESTRICT nearest,
        GLOBAL f32* RESTRICT leaf_weights) {
    const u32 n_nodes = leaf_header[0];
    for (u32 id = GROUP_ID * ${wg_size} + LOCAL_ID; id < n_nodes; id += N_GROUPS * ${wg_size}) {
        const f32 weight = from_zero ? 0.0f : node_weights[id];
        bounds_t near = no_bounds();
        if (weight > 0.0f) near.lower = 0.0f;
        if (weight < 0.0f) near.upper = 0.0f;
        nearest[id] = near;
        leaf_weights[id] = weight;
    }
}

/* `exponents` is 0 when a step begins. */
KERNEL(${wg_size}) count_rows(${inputs()}        GLOBAL u32* exponents) {
    LOCAL_ARRAY(u32, counts, ${n_exponents});
${own_rows()}\
    exponents += ${n_exponents} * tree;
    for (u32 i = LOCAL_ID; i < ${n_exponents}; i += ${wg_size}) counts[i] = 0;
    BARRIER();
    <%self:each_gradient>
            count_one(&counts[(as_u32(g) >> 23) & 0xFF]);
            count_one(&counts[${n_exponents // 2} + ((as_u32(h) >> 23) & 0xFF)]);
    </%self:each_gradient>
${exponents.add_counts(wg_size, n_exponents)}\
}

/* `sums` is 0 when a step begins; a sum has two words, the low one first. */
KERNEL(${wg_size}) sum_rows(${inputs()}
        const i32 weight_bits, const i32 weight_shift, GLOBAL const u32* RESTRICT leaf_header,
        GLOBAL const u32* RESTRICT exponents, GLOBAL scale_t* RESTRICT scale, GLOBAL u32* sums) {
    LOCAL_ARRAY(u32, counts, ${n_exponents});
    LOCAL_ARRAY(i32, powers, 2);
    LOCAL_ARRAY(u32, wides, 2);
    LOCAL_ARRAY(u32, own, ${4 * cells});
${own_rows()}\
    const u32 n_nodes = leaf_header[0];
    const int fits = n_nodes <= ${cells};
${sums.begin(wg_size, n_exponents)}\
    <%self:each_gradient>
${sums.quanta(weighted)}\
            add_to_leaf(own, sums, fits ? n_nodes : 0, leaves[row], quanta_g, quanta_h);
    </%self:each_gradient>
    BARRIER();
    add_own(own, sums, fits ? n_nodes : 0);
}

/* The weight that a Newton step leads to. H w is rounded to quanta of g. */
FN f32 next_weight(const i64 g, const i64 h, const f32 weight, const rule_t rule) {
    const f32 units = scale_by(weight, -rule.weight_power);
    const i64 moved = to_quanta(in_units(h).hi * units, 24);
    return real_weight(weight_in_units(g - moved, h, rule), rule);
}

KERNEL(${wg_size}) step_leaves(
        const u32 n_trees, const f32 reg_lambda, const f32 reg_alpha,
        const f32 max_delta_step, GLOBAL const f32* RESTRICT leaf_rate,
        GLOBAL const u32* RESTRICT leaf_header, GLOBAL const node_t* RESTRICT nodes,
        GLOBAL const bounds_t* RESTRICT node_bounds, GLOBAL const scale_t* RESTRICT tree_scale,
        GLOBAL const scale_t* RESTRICT scale, GLOBAL u32* RESTRICT sums,
        GLOBAL u32* RESTRICT exponents, GLOBAL bounds_t* RESTRICT nearest,
        GLOBAL f32* RESTRICT leaf_weights, GLOBAL f32* RESTRICT node_weights,
        GLOBAL f32* RESTRICT node_values,
        GLOBAL walk_t* RESTRICT walk, GLOBAL step_t* RESTRICT steps) {
    const u32 n_nodes = leaf_header[0], at = GROUP_ID * ${wg_size} + LOCAL_ID;
    for (u32 i = at; i < ${n_exponents} * n_trees; i += N_GROUPS * ${wg_size}) exponents[i] = 0;
    for (u32 id = at; id < n_nodes; id += N_GROUPS * ${wg_size}) {
        const u32 tree = nodes[id].tree;
        if (nodes[id].left != NO_NODE) continue; /* its sums are 0 */
        const i64 g = take_sum(&sums[4 * (u64)id]), h = take_sum(&sums[4 * (u64)id + 2]);
        if (h == 0) continue; /* no row counts here */
        const rule_t rule = ordered_rule(
            make_rule(scale + tree, reg_lambda, reg_alpha, max_delta_step), tree_scale + tree,
            node_bounds[id]);
        const f32 weight = leaf_weights[id];
        bounds_t near = nearest[id];
        f32 next = next_weight(g, h, weight, rule);
        if (next < weight) near.upper = weight;
        if (next > weight) near.lower = weight;
        if (next != weight && !(near.lower < next && next < near.upper)) {
            const f32 half_lower = 0.5f * near.lower, half_upper = 0.5f * near.upper;
            next = finite(half_lower + half_upper);
        }
        const f32 value = as_margin(next * leaf_rate[0]);
        nearest[id] = near;
        leaf_weights[id] = next;
        node_weights[id] = next;
        node_values[id] = value;
        walk[id].number = value;
        steps[id].value = value;
    }
}
