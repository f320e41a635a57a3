/* gain: score and weight of a node from its sums, in pairs of floats. Twin: tests/reference/gain.py.

   Sums are given in quanta. The functions compute in units of 2^24 quanta, so that squares neither
   overflow nor underflow, whatever the target's unit is. `scale` converts results to real units.

       T      = G shrunk towards 0 by alpha
       w      = -T / (H + lambda), clipped to +-max_delta_step if that is not 0
       w is also clipped to the node's lower .. upper, if monotone constraints bound it
       score  = T^2 / (H + lambda)              (unclipped)
              = -w * (2 T + (H + lambda) w)     (clipped)

   Chen & Guestrin 2016, "XGBoost", eq. 5-7. */

typedef struct {
    f32 lambda; f32 alpha; f32 max_delta; f32 lower; f32 upper; i32 bounded;
    i32 weight_power; i32 gain_power;
    f32 limit; /* max_delta_step in real units */
} rule_t;

#define UNBOUNDED 3.40282347e38f
#define LEAST_LIMIT 2.3509887e-38f /* 2^-125: not subnormal */
#define LEAST_STEP 8.6736174e-19f  /* 2^-60 units: products with it are not subnormal */

FN rule_t make_rule(GLOBAL const scale_t* scale,
                    const f32 lambda, const f32 alpha, const f32 max_delta) {
    const i32 scale_g = scale->g - scale->weight_shift, scale_h = scale->h - scale->weight_shift;
    rule_t r;
    r.lambda = not_tiny(scale_by(not_tiny(lambda), scale_h - 24));
    if (r.lambda > 1.2676506e30f) r.lambda = 1.2676506e30f; /* 2^100: weights are 0 far below it */
    r.alpha = not_tiny(scale_by(not_tiny(alpha), scale_g - 24));
    r.weight_power = scale_h - scale_g;
    r.gain_power = 24 - 2 * scale_g + scale_h;
    r.limit = max_delta < LEAST_LIMIT && as_u32(max_delta) ? LEAST_LIMIT : max_delta;
    r.max_delta = scale_by(r.limit, -r.weight_power);
    if (r.limit > 0.0f && r.max_delta < LEAST_STEP) r.max_delta = LEAST_STEP;
    r.lower = -UNBOUNDED;
    r.upper = UNBOUNDED;
    r.bounded = 0;
    return r;
}

/* The rule for a node whose weight is bounded. */
FN rule_t within(const rule_t rule, const bounds_t bounds) {
    rule_t r = rule;
    r.lower = bounds.lower;
    r.upper = bounds.upper;
    r.bounded = r.lower > -UNBOUNDED || r.upper < UNBOUNDED;
    return r;
}

FN bounds_t no_bounds(void) {
    bounds_t bounds;
    bounds.lower = -UNBOUNDED;
    bounds.upper = UNBOUNDED;
    return bounds;
}

FN rule_t node_rule(GLOBAL const scale_t* scale, const f32 lambda, const f32 alpha, const f32 max_delta,
                    const bounds_t bounds) {
    return within(make_rule(scale, lambda, alpha, max_delta), bounds);
}

FN df in_units(const i64 quanta) { return df_scale(df_from_i64(quanta), 5.9604644775390625e-8f); }

FN df shrink(const df g, const f32 alpha) {
    const df a = df_make(alpha, 0.0f);
    if (alpha == 0.0f) return g;
    if (df_less(a, g)) return df_add(g, df_neg(a));
    if (df_less(g, df_neg(a))) return df_add(g, a);
    return df_make(0.0f, 0.0f);
}

FN df unit_weight(const df t, const df denominator, const rule_t rule) {
    df w = df_neg(df_div(t, denominator));
    if (rule.max_delta > 0.0f && w.hi > rule.max_delta) w = df_make(rule.max_delta, 0.0f);
    if (rule.max_delta > 0.0f && w.hi < -rule.max_delta) w = df_make(-rule.max_delta, 0.0f);
    if (rule.bounded && w.hi > rule.upper) return df_make(rule.upper, 0.0f);
    if (rule.bounded && w.hi < rule.lower) return df_make(rule.lower, 0.0f);
    return w;
}

FN df score(const i64 g, const i64 h, const rule_t rule) {
    const df t = shrink(in_units(g), rule.alpha);
    const df d = df_add(in_units(h), df_make(rule.lambda, 0.0f));
    if (rule.max_delta > 0.0f || rule.bounded) {
        const df w = unit_weight(t, d, rule);
        const df twice = df_make(2.0f * t.hi, 2.0f * t.lo);
        return df_neg(df_mul(w, df_add(twice, df_mul(d, w))));
    }
    return df_div(df_mul(t, t), d);
}

/* The weight in units; 0 for a node without rows that count, which sampling can produce. */
FN f32 weight_in_units(const i64 g, const i64 h, const rule_t rule) {
    if (h == 0) return 0.0f;
    const df t = shrink(in_units(g), rule.alpha);
    const df d = df_add(in_units(h), df_make(rule.lambda, 0.0f));
    return unit_weight(t, d, rule).hi;
}

/* A weight in real units. */
FN f32 real_weight(const f32 units, const rule_t rule) {
    const f32 weight = finite(scale_by(units, rule.weight_power));
    if (rule.limit > 0.0f && weight > rule.limit) return rule.limit;
    if (rule.limit > 0.0f && weight < -rule.limit) return -rule.limit;
    return weight;
}

/* The Hessian that a child needs, in quanta; at least 1, as a child has rows. */
FN i64 least_hessian(const f32 min_child_weight, GLOBAL const scale_t* scale) {
    const i64 least = to_quanta(min_child_weight, scale->h - scale->weight_shift);
    return least < 1 ? 1 : least;
}

/* Whether both sides of a border have rows, and enough of them by their Hessians. */
FN int are_heavy(const i64 left_h, const i64 right_h, const i64 least) {
    return (left_h >= least) & (right_h >= least);
}

/* Whether any border between a feature's present values may split a node. */
FN int may_have_borders(const i64 present_h, const i64 node_h, const i64 least) {
    return are_heavy(present_h, node_h - least, least);
}

/* Whether weights break a feature's constraint: 1 increasing, 2 decreasing, 0 none. */
FN int breaks_order(const u32 constraint, const f32 left, const f32 right) {
    return constraint == 1 ? left > right : (constraint == 2 ? left < right : 0);
}

/* Whether a split satisfies a feature's constraint. A split with equal weights is refused, as it changes no
   prediction; it occurs where bounds clip both weights. */
FN int keeps_order(
        const u32 constraint, const i64 left_g, const i64 left_h, const i64 right_g,
        const i64 right_h, const rule_t rule) {
    const f32 left = weight_in_units(left_g, left_h, rule);
    const f32 right = weight_in_units(right_g, right_h, rule);
    return left != right && !breaks_order(constraint, left, right);
}

/* Whether (score a, key a) is better than (score b, key b). Of equal scores, the lower key is better. */
FN int ahead(const df a, const u32 key_a, const df b, const u32 key_b) {
    if (df_less(b, a)) return 1;
    if (df_less(a, b)) return 0;
    return key_a < key_b;
}

/* The rough score if weights are clipped, from sums in units; no terms cancel. */
FN f32 rough_clipped(const f32 t, const f32 d, const f32 max_delta) {
    f32 w = t / d;
    if (w > max_delta) w = max_delta;
    if (w < -max_delta) w = -max_delta;
    return w * (2.0f * t - d * w);
}

/* The score in one float, with a relative error below 2^-18. Its bits differ between devices, so it is
   only used to decide which exact scores to compute. Not for alpha or bounds, with which terms cancel. */
FN f32 rough_score(const i64 g, const i64 h, const rule_t rule) {
    const f32 t = (f32)g * 5.9604644775390625e-8f;
    const f32 d = (f32)h * 5.9604644775390625e-8f + rule.lambda;
    return rule.max_delta > 0.0f ? rough_clipped(t, d, rule.max_delta) : t * t / d;
}

/* A lambda above it, in units, is large beside all sums: products of two denominators might overflow. */
#define LARGE_LAMBDA 1.0995116e12f /* 2^40 */

/* Both children's rough scores, with one division where weights are not clipped; the error is that of
   rough_score. Sums stay below 2^61 quanta, so with a lambda up to 2^40 products stay below 2^117. */
FN f32 rough_scores(const i64 g, const i64 h, const i64 other_g, const i64 other_h, const rule_t rule) {
    if (rule.max_delta > 0.0f || rule.lambda > LARGE_LAMBDA)
        return rough_score(g, h, rule) + rough_score(other_g, other_h, rule);
    const f32 t = (f32)g * 5.9604644775390625e-8f, d = (f32)h * 5.9604644775390625e-8f + rule.lambda;
    const f32 other_t = (f32)other_g * 5.9604644775390625e-8f;
    const f32 other_d = (f32)other_h * 5.9604644775390625e-8f + rule.lambda;
    return (t * t * other_d + other_t * other_t * d) / (d * other_d);
}

/* The payload of nodes, by node id. Kernels that read or write none of it do not know it. */
typedef struct {
    GLOBAL i64x2* sums;  /* gradients and Hessians of a node's rows, in quanta of 2^-scale.g and 2^-scale.h */
    GLOBAL f32* weights; /* optimal weights before the learning rate */
    GLOBAL f32* values;  /* numbers that leaves add to margins */
    GLOBAL bounds_t* bounds;
} payload_t;

/* A sum of Hessians in real units. */
FN f32 real_hessian(const i64 h, GLOBAL const scale_t* scale) {
    return finite(scale_by(in_units(h).hi, 24 + scale->weight_shift - scale->h));
}

/* Make a node a leaf (until it splits); `sums` are its sums. */
FN void finish_node(GLOBAL node_t* nodes, const payload_t payload, const u32 id, const i64x2 sums,
                    const rule_t rule, const f32 learning_rate) {
    GLOBAL node_t* node = &nodes[id];
    const f32 weight = real_weight(weight_in_units(sums.x, sums.y, rule), rule);
    payload.weights[id] = weight;
    payload.values[id] = as_margin(weight * learning_rate);
    node->gain = 0.0f;
    node->left = NO_NODE;
    node->feature = 0;
    node->bin = 0;
    node->split_kind = 0;
    node->default_left = 0;
}
