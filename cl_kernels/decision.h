/* decision: whether a row goes left at a split. All kernels use these functions.

   With quantised data, a row's code decides; otherwise its value (value_decision.h). The code after a
   feature's bins means a missing value.

       code        0 1 .. last   last + 1 .. n_bins - 1   n_bins
       goes        left          right                    left if `also` is n_bins, else right

   Splits of categorical features are by sets of codes: set_decision.h. */

/* Codes that go left: up to `last`, and `also`. */
typedef struct {
    u32 last;
    u32 also;
} code_split_t;

FN code_split_t code_split(const u32 last, const u32 default_left, const u32 n_bins) {
    code_split_t split;
    split.last = last;
    split.also = default_left ? n_bins : last;
    return split;
}

/* The same in one word, step_t.lefts; codes have at most 16 bits. */
FN u32 packed_split(const code_split_t split) { return split.last | split.also << 16; }

FN code_split_t unpacked_split(const u32 lefts) {
    code_split_t split;
    split.last = lefts & 0xFFFFu;
    split.also = lefts >> 16;
    return split;
}

FN u32 code_goes_left(const u32 code, const code_split_t split) {
    return code <= split.last || code == split.also;
}

/* The same as the codes that go right: `n` of them from `first` on, so that one comparison decides. */
typedef struct {
    u32 first;
    u32 n;
} right_codes_t;

FN right_codes_t right_codes(const u32 last, const u32 default_left, const u32 n_bins) {
    right_codes_t right;
    right.first = last + 1;
    right.n = default_left ? n_bins - right.first : 0x80000000u;
    return right;
}

FN u32 code_goes_right(const u32 code, const right_codes_t right) { return code - right.first < right.n; }
