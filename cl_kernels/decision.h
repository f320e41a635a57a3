/* decision: which way a row goes at a split. No kernel says it in another way.

   A row is asked by its code where the data are quantised, by its value where they are not, and by
   a key of its value where many trees ask for the same value. The code behind a feature's bins
   stands for a missing value.

       code        0 1 .. last   last + 1 .. n_bins - 1   n_bins
       goes        left          right                    left if `also` is n_bins, else right

   All splits are numeric. Sets of categories have room: node_t.split_kind says the kind,
   walk_t.default_left and step_t.place use their lowest bits alone. */

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

/* The same in a word, step_t.lefts; codes have 16 bits at most. */
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
