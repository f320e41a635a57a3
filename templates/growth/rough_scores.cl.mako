## rough_scores: scores in one float, for vectors of many borders; templates for one work-item a group import it
##
##   careful   gradients are shrunk or weights are bounded: terms cancel, so each score has an error of
##             its own, and each weight too
##   noisy_at  the key of a border, where scores get noise by it
##   clipped   weights are, by max_delta_step; else a score is T^2 / (H + lambda), as in gain.h
##   doubles   scores are computed in these, and rounded to a float: half of the instructions of floats. For neither
##             careful nor clipped ones

<%def name="rough(careful, clipped, doubles=False)">
% if doubles:
/* A sum as a double, from its halves, for which every CPU has vectors: that of whole numbers it has not. */
FN f64 sum_in_f64(const i64 x) {
    const f64 high = as_f64((u64)x >> 32 ^ 0x4530000080000000ul); /* 2^84 + 2^63 + 2^32 * the upper half */
    const f64 low = as_f64((u64)x & 0xffffffffu | 0x4330000000000000ul); /* 2^52 + the lower half */
    return high - as_f64(0x4530000080100000ul) + low;
}

/* Both children's scores in units, from sums in quanta; `lambda` in quanta. */
FN f32 rough_pair(const i64 g, const i64 h, const i64 other_g, const i64 other_h, const f64 lambda) {
    const f64 t = sum_in_f64(g), d = sum_in_f64(h) + lambda;
    const f64 other_t = sum_in_f64(other_g), other_d = sum_in_f64(other_h) + lambda;
    return (f32)((t * t * other_d + other_t * other_t * d) / (d * other_d) * 5.9604644775390625e-8f);
}

/* What a border scores at most in units, if its left side has a sum of gradients, at least a sum of Hessians, and the
   right side at least another one; a bit more, as a score is rounded. */
FN f64 most_of_pair(const f64 t, const f64 other_t, const f64 d, const f64 other_d) {
    return (t * t * other_d + other_t * other_t * d) / (d * other_d) * 5.9604652e-8f;
}
% else:
/* The size of a sum: rough_score by conversions of 32 bits, which every CPU has for vectors. */
FN f32 rough_units(const i64 x) {
    const u64 size = x < 0 ? -(u64)x : (u64)x;
    return (f32)(i32)(size >> 31) * 128.0f + (f32)(i32)(size & 0x7fffffffu) * 5.9604644775390625e-8f;
}
% if careful:
#define SIZE(x) ((x) < 0.0f ? -(x) : (x))
/* Integers that order as the floats with these bits. */
#define SORTABLE(bits) ((bits) ^ (((bits) >> 31) & 0x7fffffff))

/* A side of a split, roughly, how far weight and score may be off, and whether the weight is surely
   at its bound: 1 the upper one, -1 the lower one. */
typedef struct { f32 weight; f32 score; f32 weight_error; f32 score_error; int bound; } side_t;

/* The bounds of a node's weights, from constraints and max_delta_step. */
FN void bounds_of(const rule_t rule, f32* lower, f32* upper) {
    const f32 largest = rule.max_delta > 0.0f ? rule.max_delta : UNBOUNDED;
    *lower = rule.lower > -largest ? (rule.lower < largest ? rule.lower : largest) : -largest;
    *upper = rule.upper < largest ? (rule.upper > -largest ? rule.upper : -largest) : largest;
}

FN side_t rough(
        const i64 quanta_g, const i64 quanta_h, const rule_t rule, const f32 lower, const f32 upper) {
    const f32 size = rough_units(quanta_g), d = rough_units(quanta_h) + rule.lambda;
    const f32 left = size - rule.alpha, shrunk = left > 0.0f ? left : 0.0f;
    const f32 t = quanta_g < 0 ? -shrunk : shrunk;
    const f32 unbounded = -t / d, far = size / d * 4.76837158e-7f; /* 2^-21 */
    const f32 below = unbounded > upper ? upper : unbounded, w = below < lower ? lower : below;
    const f32 reach = SIZE(w);
    side_t side;
    side.weight = w;
    side.weight_error = far + reach * 4.76837158e-7f;
    side.bound = (unbounded - 2.0f * far > upper) - (unbounded + 2.0f * far < lower);
    side.score = -w * (2.0f * t + d * w);
    side.score_error = (reach + far) * (2.0f * size + d * reach) * 3.81469727e-6f; /* 2^-18 */
    return side;
}
% else:
FN f32 rough(const i64 g, const i64 h, const rule_t rule) {
    const f32 t = rough_units(g), d = rough_units(h) + rule.lambda;
% if clipped:
    return rough_clipped(t, d, rule.max_delta);
% else:
    return t * t / d;
% endif
}
% endif
% endif
</%def>

<%def name="score_run(n, careful, monotone=False, space='', has_rows='own_h[k] != 0', keys='', noisy_at='', doubles=False)">
#define NEVER ${"(-2147483647 - 1)" if careful else "(-1)"} /* the bits of no score, and less than any score's */
<% bounds = "const f32 lower, const f32 upper, " * careful + "const u32 constraint, " * monotone %>
/* Rough scores of ${n} borders as integers that order alike; returns the highest${" that is sure" if careful else ""}. A border of
   which `${has_rows}` does not hold has the same rows on either side as the one before. */
FN i32 score_${n}(${keys}${space}const i64* own_h, ${space}const i64* sum_g, ${space}const i64* sum_h, const i64 more_g,
                const i64 more_h, const parent_t* node, ${bounds}i32* bits) {
    const i64 node_g = node->g, node_h = node->h;
    const least_t least = node->least;
${"    const f64 lambda = (f64)node->rule.lambda * 16777216.0f;" if doubles else "    const rule_t rule = node->rule;"}
    i32 most = NEVER;
% if careful:
    i32 sure[${n}];
% endif
    for (u32 k = 0; k < ${n}; k++) {
        const i64 g = sum_g[k] + more_g, h = sum_h[k] + more_h;
        const int allowed = (${has_rows}) & may_split(g, h, node_g - g, node_h - h, least);
% if careful:
        const side_t l = rough(g, h, rule, lower, upper);
        const side_t r = rough(node_g - g, node_h - h, rule, lower, upper);
        const f32 s = l.score + r.score, error = l.score_error + r.score_error;
% if noisy_at:
        const rough_rank_t high = rough_rank(s + error, node->bits, ${noisy_at}, node->noise);
        const rough_rank_t low = rough_rank(s - error, node->bits, ${noisy_at}, node->noise);
        const i32 highest = (i32)as_u32(high.rank + high.error), lowest = (i32)as_u32(low.rank - low.error);
% else:
        const i32 highest = (i32)as_u32(s + error), lowest = (i32)as_u32(s - error);
% endif
% if monotone:
        const f32 rises = r.weight - l.weight;
        const f32 ordered = constraint == 2 ? -rises : rises;
        const f32 doubt = l.weight_error + r.weight_error;
        const int differ = (l.bound == 0) | (l.bound != r.bound);
        const int may = allowed & differ & ((constraint == 0) | (ordered >= -doubt));
        const f32 apart = constraint == 0 && rises < 0.0f ? -rises : ordered;
        const int does = allowed & (apart > doubt);
% else:
        const int may = allowed, does = allowed;
% endif
        bits[k] = may ? SORTABLE(highest) : NEVER;
        sure[k] = does ? SORTABLE(lowest) : NEVER;
    }
    for (u32 k = 0; k < ${n}; k++) most = sure[k] > most ? sure[k] : most;
% else:
        const f32 s = ${"rough_pair(g, h, node_g - g, node_h - h, lambda)" if doubles else "rough(g, h, rule) + rough(node_g - g, node_h - h, rule)"};
        const i32 own = allowed ? (i32)as_u32(s) : NEVER;
        bits[k] = own;
        most = own > most ? own : most;
    }
% endif
    return most;
}
</%def>
