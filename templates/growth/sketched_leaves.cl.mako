## sketched_leaves: trees of all outputs that split as the trees of sketches did, with leaf values of their own
## uses: portable_math structs steps gain decision blocks
## uses if categories: set_decision
## uses if loss: portable_log quantum_scale
##
##   nodes of 2 sketches    |s0: 0|s1: 1|s0: 2 3|s1: 4 5|        levels have the nodes of one tree, then the next
##   nodes of 3 outputs     |o0: 0|o1: 1|o2: 2|o0: 3 4|o1: 5 6|o2: 7 8|
##   places                 |0|1 2|                              numbers of nodes in one output's tree
##
##   Leaf by leaf, a level is what a step makes: the children of one leaf of every tree.
##
##   expand        nodes and levels of all outputs' trees, and their sets of codes
##   find_places   every row walks the first output's trees: leaf_places[tree, row] = place
##   sum_places    place_sums[output, place] += (g, h) in quanta, of leaves
##   value_places  sums of inner nodes from their children; then weights, values and gains of all nodes, from the
##                 root down
##   read_values   the values of places anew, where leaves have taken others: quantiles, or further steps
##   add_leaves    margin[row] += value of the row's place
##
##   `n_alike` outputs have trees that split alike. Twin: tests/reference/sketch.py.
##
## params: wg_size; cells, places whose sums lie in local memory; code as in `renew_leaves`; n_exponents as in
##         `gradients`; monotone, whether features have constraints; categories as in `renew_leaves`; loss, weighted
##         as in `gradients`, where `sum_places` computes quanta again; else loss is empty
<%page args="wg_size, cells, code, n_exponents, monotone, categories, loss, weighted"/>
<%namespace name="losses" file="loss.cl.mako"/>
<%namespace name="payload" file="payload.cl.mako"/>
<%namespace name="codes" file="row_codes.cl.mako"/>
<%namespace name="sums" file="ordered_sums.cl.mako"/>
<%namespace name="outputs" file="outputs.cl.mako"/>
${sums.words_of_sums(wg_size)}
${codes.in_rows(code)}
/* The node of an output's tree that splits as a node of the first sketch. */
FN u32 node_of(GLOBAL const level_t* levels, const u32 n_levels, const u32 n_sketches, const u32 n_alike,
               const u32 output, const u32 id) {
    const level_t made = levels[step_of(levels, n_levels, id)];
    return made.first / n_sketches * n_alike + output * (made.count / n_sketches) + (id - made.first);
}

/* Also clears the sketches' `exponents` for the next trees. */
KERNEL(${wg_size}) expand(
        const u32 n_levels, const u32 n_rows, const u32 n_sketches, const u32 n_alike, const u32 n_parallel,
        GLOBAL const level_t* RESTRICT searched_levels, GLOBAL const node_t* RESTRICT searched_nodes,
% if categories:
        const u32 set_words, GLOBAL const u32* RESTRICT searched_sets, GLOBAL u32* RESTRICT sets,
% endif
        GLOBAL level_t* RESTRICT levels, GLOBAL node_t* RESTRICT nodes, GLOBAL i64x2* RESTRICT node_sums,
        GLOBAL bounds_t* RESTRICT node_bounds, GLOBAL u32* RESTRICT node_places, GLOBAL u32* RESTRICT exponents) {
    const u32 me = GROUP_ID * ${wg_size} + LOCAL_ID, step = N_GROUPS * ${wg_size};
    const u32 n_places = (searched_levels[n_levels].first + searched_levels[n_levels].count) / n_sketches;
    for (u32 i = me; i < ${n_exponents} * n_sketches * n_parallel; i += step) exponents[i] = 0;
    for (u32 i = me; i <= n_levels; i += step) {
        levels[i].first = searched_levels[i].first / n_sketches * n_alike;
        levels[i].count = searched_levels[i].count / n_sketches * n_alike;
        levels[i].row_tasks = levels[i].hist_tasks = 0;
    }
    for (u32 i = me; i < n_places * n_alike; i += step) {
        const u32 output = i / n_places, place = i % n_places;
        const u32 made = step_of(searched_levels, n_levels, place * n_sketches);
        const u32 first = searched_levels[made].first, searched = first + (place - first / n_sketches);
        const u32 id = node_of(searched_levels, n_levels, n_sketches, n_alike, output, searched);
        node_t node = searched_nodes[searched];
        if (node.in_order) node.begin += output * n_parallel * n_rows;
        node.tree += output * n_parallel;
        if (made) node.parent = node_of(searched_levels, n_levels, n_sketches, n_alike, output, node.parent);
        if (made == n_levels) node.left = NO_NODE;
        if (node.left != NO_NODE)
            node.left = node_of(searched_levels, n_levels, n_sketches, n_alike, output, node.left);
% if categories:
        if (node.left != NO_NODE && node.split_kind) {
            GLOBAL const u32* found = searched_sets + (u64)(searched_nodes[searched].left / 2) * set_words;
            for (u32 word = 0; word < set_words; word++) sets[(u64)(node.left / 2) * set_words + word] = found[word];
        }
% endif
        node.gain = 0.0f;
        nodes[id] = node;
        node_sums[id] = MAKE_I64X2(0, 0);
        node_bounds[id] = no_bounds();
        if (output == 0) node_places[id] = place;
    }
}

KERNEL(${wg_size}) find_places(
        const u32 n_rows, const u32 first_row, const u32 page_rows, ${codes.row_parameters(code)},
        GLOBAL const u32x4* RESTRICT steps, ${"GLOBAL const u32* RESTRICT sets, " if categories else ""}GLOBAL const u32* RESTRICT node_places,
        GLOBAL u32* RESTRICT leaf_places) {
    const u32 tree = GROUP_ID_Y;
    leaf_places += (u64)tree * n_rows + first_row;
    for (u32 at = GROUP_ID * ${wg_size} + LOCAL_ID; at < page_rows; at += N_GROUPS * ${wg_size}) {
        const row_t mine = row_of(${codes.row(code)}, at);
${codes.walk(categories)}\
        leaf_places[at] = node_places[leaf];
    }
}

% if loss:
${losses.gradient(loss)}
% endif
/* `place_sums` is 0 when a tree begins; a sum has two words, the low one first. */
KERNEL(${wg_size}) sum_places(
        const u32 n_rows, const u32 n_levels, const u32 n_alike, const u32 n_parallel, const u32 most_places,
        GLOBAL const level_t* RESTRICT levels, GLOBAL const scale_t* RESTRICT scale,
% if loss:
        const u32 first_tree, const u64 label_stride,
        GLOBAL const f32* RESTRICT margins, GLOBAL const f32* RESTRICT labels,
% if weighted:
        GLOBAL const f32* RESTRICT weights,
% endif
% else:
        GLOBAL const i32x2* RESTRICT quanta, GLOBAL const i32x2* RESTRICT high,
% endif
        GLOBAL const u32* RESTRICT leaf_places, GLOBAL u32* place_sums) {
    LOCAL_ARRAY(u32, own, ${4 * cells});
    const u32 tree = GROUP_ID_Y, wide = scale[tree].wide;
    const u32 n_places = (levels[n_levels].first + levels[n_levels].count) / n_alike;
    const int fits = n_places <= ${cells};
    place_sums += 4 * (u64)(tree / n_parallel) * most_places;
    leaf_places += (u64)(tree % n_parallel) * n_rows;
% if loss:
    const u32 output = (first_tree + tree) / n_parallel;
    const i32 scale_g = scale[tree].g, scale_h = scale[tree].h;
    margins += (u64)output * n_rows, labels += output * label_stride;
% else:
    quanta += (u64)tree * n_rows, high += wide ? (u64)tree * n_rows : 0;
% endif
    for (u32 i = LOCAL_ID; i < (fits ? 4 * n_places : 0); i += ${wg_size}) own[i] = 0;
    BARRIER();
    const u32 begin = (u32)((u64)n_rows * GROUP_ID / N_GROUPS);
    const u32 end = (u32)((u64)n_rows * (GROUP_ID + 1) / N_GROUPS);
% if loss:
<%losses:quanta_of_rows wg_size="${wg_size}" weighted="${weighted}" kept="u32 places" value="leaf_places[row]">
            if (h != 0) add_to_leaf(own, place_sums, fits ? n_places : 0, places[k], g, h); /* others do not count */
</%losses:quanta_of_rows>\
% else:
    for (u32 row = begin + LOCAL_ID; row < end; row += ${wg_size}) {
        const i32x2 low = quanta[row];
        i64 g = low.x, h = low.y;
        if (wide) {
            const i32x2 more = high[row];
            g += (i64)more.x * 4294967296, h += (i64)more.y * 4294967296;
        }
        if (h != 0) add_to_leaf(own, place_sums, fits ? n_places : 0, leaf_places[row], g, h);
    }
% endif
    BARRIER();
    add_own(own, place_sums, fits ? n_places : 0);
}

/* What a node's split gives to it and to its children. Where a side has no rows that count, or weights break the
   order, the split gains nothing, and both children keep the node's weight: it then bounds all nodes below. */
FN void value_split(GLOBAL node_t* nodes, const payload_t payload, const u32 id, const rule_t unbounded,
                    const u32 constraint) {
    const u32 left = nodes[id].left;
    const rule_t rule = within(unbounded, payload.bounds[id]);
    const i64x2 own = payload.sums[left], rest = payload.sums[left + 1];
    const f32 one = weight_in_units(own.x, own.y, rule), other = weight_in_units(rest.x, rest.y, rule);
    const int idle = own.y == 0 || rest.y == 0 || breaks_order(constraint, one, other);
    nodes[id].gain = idle ? 0.0f : 1.0f; /* `split_gain` follows: at once, it takes registers that spill */
    payload.bounds[left] = payload.bounds[left + 1] = payload.bounds[id];
% if monotone:
    const f32 half_one = 0.5f * one, half_other = 0.5f * other;
    const f32 middle = idle ? scale_by(payload.weights[id], -rule.weight_power) : half_one + half_other;
    if (constraint) {
        const u32 low = constraint == 1 ? left : left + 1;
        payload.bounds[low].upper = middle;
        payload.bounds[2 * left + 1 - low].lower = middle;
    }
% endif
    for (u32 child = left; child < left + 2; child++) {
        const rule_t bounded = within(unbounded, payload.bounds[child]);
        const i64x2 sums = payload.sums[child];
        const f32 weight = real_weight(weight_in_units(sums.x, sums.y, bounded), bounded);
        payload.weights[child] = idle ? payload.weights[id] : weight;
    }
}

/* What a split that is not idle gains. */
FN f32 split_gain(const i64x2 node, const i64x2 left, const i64x2 right, const rule_t rule) {
    const df both = df_add(score(left.x, left.y, rule), score(right.x, right.y, rule));
    return finite(scale_by(df_add(both, df_neg(score(node.x, node.y, rule))).hi, rule.gain_power));
}

/* Work-group k makes the nodes of output k. */
KERNEL(${wg_size}) value_places(
        const u32 n_levels, const u32 n_alike, const u32 most_places, const f32 reg_lambda, const f32 reg_alpha,
        const f32 max_delta_step, ${"GLOBAL const u32* RESTRICT monotone, " if monotone else ""}\
GLOBAL const f32* RESTRICT leaf_rate, GLOBAL const level_t* RESTRICT levels,
        GLOBAL const scale_t* RESTRICT scale, GLOBAL u32* RESTRICT place_sums, GLOBAL f32* RESTRICT place_values,
        GLOBAL node_t* nodes, ${payload.parameters()}, GLOBAL walk_t* RESTRICT walk, GLOBAL step_t* RESTRICT steps) {
${payload.read()}\
    const u32 output = GROUP_ID;
    place_sums += 4 * (u64)output * most_places;
    place_values += (u64)output * most_places;
    for (u32 depth = n_levels + 1; depth-- > 0;) {
        const u32 n_own = levels[depth].count / n_alike, first = levels[depth].first + output * n_own;
        for (u32 i = LOCAL_ID; i < n_own; i += ${wg_size}) {
            const u32 left = nodes[first + i].left;
            i64x2 sum;
            if (left != NO_NODE) {
                const i64x2 one = node_sums[left], other = node_sums[left + 1];
                sum = MAKE_I64X2(one.x + other.x, one.y + other.y);
            } else {
                GLOBAL u32* words = place_sums + 4 * (u64)(levels[depth].first / n_alike + i);
                sum = MAKE_I64X2((i64)((u64)words[1] << 32 | words[0]), (i64)((u64)words[3] << 32 | words[2]));
                for (u32 word = 0; word < 4; word++) words[word] = 0;
            }
            node_sums[first + i] = sum;
        }
        BARRIER();
    }
    for (u32 depth = 0; depth <= n_levels; depth++) {
        const u32 n_own = levels[depth].count / n_alike, first = levels[depth].first + output * n_own;
        for (u32 i = LOCAL_ID; i < n_own; i += ${wg_size}) {
            const u32 id = first + i, left = nodes[id].left;
            const i64x2 sum = node_sums[id];
            const rule_t rule = make_rule(scale + nodes[id].tree, reg_lambda, reg_alpha, max_delta_step);
            if (depth == 0) node_weights[id] = real_weight(weight_in_units(sum.x, sum.y, rule), rule);
            if (left != NO_NODE)
                value_split(nodes, payload, id, rule, ${"monotone[nodes[id].feature]" if monotone else "0"});
            const f32 value = left == NO_NODE ? as_margin(node_weights[id] * leaf_rate[0]) : 0.0f;
            node_values[id] = steps[id].value = value;
            if (left == NO_NODE) walk[id].number = value;
            place_values[levels[depth].first / n_alike + i] = value;
        }
        for (u32 id = first + LOCAL_ID; id < first + n_own; id += ${wg_size}) {
            const u32 left = nodes[id].left;
            if (left == NO_NODE || nodes[id].gain == 0.0f) continue;
            GLOBAL const scale_t* own_scale = scale + nodes[id].tree;
            const rule_t rule = node_rule(own_scale, reg_lambda, reg_alpha, max_delta_step, node_bounds[id]);
            nodes[id].gain = split_gain(node_sums[id], node_sums[left], node_sums[left + 1], rule);
        }
        BARRIER();
    }
}

KERNEL(${wg_size}) read_values(
        const u32 n_levels, const u32 n_alike, const u32 most_places, GLOBAL const level_t* RESTRICT levels,
        GLOBAL const f32* RESTRICT node_values, GLOBAL f32* RESTRICT place_values) {
    const u32 output = GROUP_ID;
    place_values += (u64)output * most_places;
    for (u32 depth = 0; depth <= n_levels; depth++) {
        const u32 n_own = levels[depth].count / n_alike, first = levels[depth].first / n_alike;
        for (u32 i = LOCAL_ID; i < n_own; i += ${wg_size})
            place_values[first + i] = node_values[first * n_alike + output * n_own + i];
    }
}

${outputs.add_leaves(
    wg_size, rows=4 if wg_size > 1 else 1, arrays="const u32 most_places, GLOBAL const u32* RESTRICT leaf_places, GLOBAL const f32* RESTRICT place_values",
    value="place_values[(u64)(tree / n_parallel) * most_places + leaf_places[(u64)(tree % n_parallel) * n_rows + row]]")}
