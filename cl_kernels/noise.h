/* noise: scores of splits with noise, by which splits are ranked; see `border_draws`. Needs portable_log and random.
   Twin: tests/reference/border_draws.py. */

/* How large noise is in a tree's scores: see `border_draws`. `squares` is the sum of the squares of its root's gradients,
   2^18 quanta^2 a unit; their mean is that of a gradient without weight, the expected gain of a split of noise. */
FN f32 noise_size(const i64 squares, const i64 root_h, const f32 strength, const f32 rates_so_far, const f32 log_rows) {
    const f32 ratio = df_div(df_from_i64(squares), df_from_i64(root_h < 1 ? 1 : root_h)).hi;
    const f32 variance = ratio * 0.015625f; /* in units of 2^24 quanta */
    const f32 share = portable_sigmoid(log_rows - rates_so_far);
    const f32 deviation = variance < 1e-30f ? 0.0f : variance * portable_rsqrt(variance);
    return strength * share * deviation;
}

/* Noise of a border: about normal, the sum of four random bytes. `unit` is that of a standard deviation of 1. */
FN f32 noise_of(const u32 bits, const u32 at, const f32 unit) {
    const u32 drawn = random_bits(bits, at);
    const u32 sum = (drawn & 255u) + (drawn >> 8 & 255u) + (drawn >> 16 & 255u) + (drawn >> 24);
    return (f32)((i32)sum - 510) * unit;
}

/* The root of a score, in 0 .. 2^50; without branches, for vectors. */
FN f32 root_of(const f32 score) {
    const f32 least = score < 1e-30f ? 1e-30f : score, inside = least > 1e30f ? 1e30f : least;
    const f32 root = inside * portable_rsqrt(inside);
    return score < 1e-30f ? 0.0f : (score > 1e30f ? 1e15f : root);
}

/* What ranks a split: the root of its score, and noise. */
FN f32 noisy_rank(const f32 score, const u32 bits, const u32 at, const f32 unit) {
    return root_of(score) + noise_of(bits, at, unit);
}

/* The same by a rough score, whose relative error is below 2^-15, and how far it may be off. */
typedef struct { f32 rank; f32 error; } rough_rank_t;

FN rough_rank_t rough_rank(const f32 score, const u32 bits, const u32 at, const f32 unit) {
    const f32 root = root_of(score), noise = noise_of(bits, at, unit);
    rough_rank_t found;
    found.rank = root + noise;
    found.error = root * 3.05175781e-5f + (noise < 0.0f ? -noise : noise) * 9.53674316e-7f + 4e-15f;
    return found;
}
