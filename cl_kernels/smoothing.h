/* smoothing: weights that are moved towards those of nodes' parents. Twin: smoothed in tests/reference/gain.py.

       w = (n * raw + s * above) / (n + s)      n rows of a node, raw its weight in gain.h, above its parent's,
                                                s path_smooth; the root's weight is not moved
       score  = -w * (2 T + (H + lambda) w)     as that of clipped weights in gain.h

   What a split gains is told by the children's scores less the node's own, all with the node's weight as `above`, as in
   LightGBM. Numbers of rows come from sums, see `counted_children`. */

typedef struct { f32 strength; f32 above; u32 bits; } smoothing_t;

/* 0 in place of weights below 2^-60 units: products with others are not subnormal. */
FN df not_small(const df w) {
    return w.hi < LEAST_STEP && w.hi > -LEAST_STEP ? df_make(0.0f, 0.0f) : w;
}

FN df smoothed(const df raw, const i64 g, const i64 h, const smoothing_t smoothing) {
    const df n = df_from_i64(number_of_rows(g, h, smoothing.bits)), s = df_make(smoothing.strength, 0.0f);
    const df moved = df_add(df_mul(n, not_small(raw)), df_mul(s, df_make(smoothing.above, 0.0f)));
    return not_small(df_div(moved, df_add(n, s)));
}

FN df smoothed_score(const i64 g, const i64 h, const rule_t rule, const smoothing_t smoothing) {
    const df t = shrink(in_units(g), rule.alpha);
    const df d = df_add(in_units(h), df_make(rule.lambda, 0.0f));
    const df w = smoothed(unit_weight(t, d, rule), g, h, smoothing);
    const df twice = df_make(2.0f * t.hi, 2.0f * t.lo);
    return df_neg(df_mul(w, df_add(twice, df_mul(d, w))));
}

/* How the children of a node are smoothed: with the node's own weight above them. */
FN smoothing_t smoothing_below(const f32 strength, GLOBAL const scale_t* scale, GLOBAL const node_t* node,
                               const i64x2 sums, GLOBAL const f32* weights, const rule_t rule) {
    smoothing_t own;
    own.strength = strength;
    own.bits = scale->count_bits;
    df w = df_make(weight_in_units(sums.x, sums.y, rule), 0.0f);
    if (node->parent != NO_NODE) {
        const df t = shrink(in_units(sums.x), rule.alpha);
        const df d = df_add(in_units(sums.y), df_make(rule.lambda, 0.0f));
        own.above = not_small(df_make(scale_by(weights[node->parent], -rule.weight_power), 0.0f)).hi;
        w = smoothed(unit_weight(t, d, rule), sums.x, sums.y, own);
    }
    own.above = not_small(df_make(scale_by(real_weight(w.hi, rule), -rule.weight_power), 0.0f)).hi;
    return own;
}

/* As finish_node; `below` is how its children are smoothed. */
FN void finish_smoothed(GLOBAL node_t* nodes, const payload_t payload, const u32 id, const i64x2 sums,
                        const rule_t rule, const smoothing_t below, const f32 learning_rate) {
    finish_node(nodes, payload, id, sums, rule, learning_rate);
    const f32 weight = real_weight(below.above, rule);
    payload.weights[id] = weight;
    payload.values[id] = as_margin(weight * learning_rate);
}

FN f32 smoothed_gain(GLOBAL const candidate_t* c, const i64x2 sums, const rule_t rule, const smoothing_t below) {
    const df own = smoothed_score(sums.x, sums.y, rule, below);
    const df loss = df_add(df_make(c->score_hi, c->score_lo), df_neg(own));
    return finite(scale_by(loss.hi, rule.gain_power));
}

/* As leaf_gain in growth.h. */
FN f32 smoothed_leaf_gain(GLOBAL const candidate_t* best, const u32 depth, const i64x2 sums, const rule_t rule,
                          const smoothing_t below, const u32 max_depth, const f32 gamma) {
    if (!(best->score_hi > NO_SCORE && depth < max_depth)) return -1.0f;
    const f32 gain = smoothed_gain(best, sums, rule, below);
    return gain > 1e-6f && gain >= gamma ? gain : -1.0f;
}
