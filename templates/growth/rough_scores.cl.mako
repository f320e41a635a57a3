## rough_scores: a score in one float, for vectors of many borders; `split_cpu` imports it
##
##   careful   gradients are shrunk or weights are bounded: terms cancel, so each score has an error of
##             its own, and each weight too
##   clipped   weights are, by max_delta_step; else a score is T^2 / (H + lambda), as in gain.h

<%def name="rough(careful, clipped)">
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
</%def>
