/* double_scores: scores of splits in double precision, for devices that have it. They only tell which exact
   scores are worth computing: no bit of a model depends on them. */
/* 1 + 2^-36: exact scores have errors below 2^-40. */
#define MORE_F64 ((f64)1.0f + (f64)1.4551915228366852e-11f)

/* The score of a side whose gradients are not shrunk and whose weight has no bounds, as `score` of gain.h. */
FN f64 score_in_f64(const i64 g, const i64 h, const rule_t rule) {
    const f64 t = (f64)g * 5.9604644775390625e-8f;
    return t * t / ((f64)h * 5.9604644775390625e-8f + rule.lambda);
}
