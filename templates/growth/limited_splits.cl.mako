## limited_splits: a level's nodes split in order until their tree has all its leaves; `level` imports it

## Behind the functions `splits` and `finish` of `level`.
<%def name="functions(wg_size, smooth)">
/* Finish a level's nodes; wanted[index] = what a node's split gains, or NO_SCORE if it does not split. */
FN void list_gains(const u32 first, const u32 count, const u32 n_each, const f32 gamma, const f32 reg_lambda,
                   const f32 reg_alpha, const f32 max_delta_step, const f32 min_child_weight, ${"const f32 path_smooth, " if smooth else ""}const f32 rate,
                   GLOBAL node_t* nodes, const payload_t payload, GLOBAL const scale_t* scale,
                   GLOBAL const candidate_t* chosen, GLOBAL f32* wanted) {
    for (u32 index = LOCAL_ID; index < count; index += ${wg_size}) {
        const u32 id = first + index;
        GLOBAL const scale_t* own_scale = scale + nodes[id].tree;
        const rule_t rule = node_rule(own_scale, reg_lambda, reg_alpha, max_delta_step, payload.bounds[id]);
        const i64x2 sums = payload.sums[id];
% if smooth:
        const smoothing_t below = smoothing_below(path_smooth, own_scale, &nodes[id], sums, payload.weights, rule);
% endif
        finish(nodes, payload, id, sums, own_scale, rule, ${"below, " if smooth else ""}rate, min_child_weight);
        GLOBAL const candidate_t* c = chosen + (u64)index * n_each;
        f32 gain;
        wanted[index] = splits(c + best_of(c, n_each), sums, rule, gamma, ${"below, " if smooth else ""}&gain) ? gain : NO_SCORE;
    }
}

/* Nodes split in order, until their tree has all its leaves. */
FN void limit_splits(const u32 first, const u32 count, GLOBAL const node_t* nodes,
                     GLOBAL u32* splits_left, GLOBAL f32* wanted) {
    for (u32 index = 0; index < count; index++) {
        const u32 tree = nodes[first + index].tree;
        if (wanted[index] > NO_SCORE && !splits_left[tree]) wanted[index] = NO_SCORE;
        if (wanted[index] > NO_SCORE) splits_left[tree]--;
    }
}
</%def>
