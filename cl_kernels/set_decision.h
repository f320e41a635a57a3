/* set_decision: whether a row goes left at a split by a set of codes; all kernels use these functions.

       set    |n_levels|bits of codes 0..31|32..63|..     a bit says that the code goes right
                                                          the bit of code n_levels is that of missing values

   `sets` has one set for each pair of children: that of the pair `left`, `left + 1` begins at
   (left / 2) * set_words. Templates use this header where a feature is categorical. */

/* In step_t.place: the split is by a set, and step_t.lefts is where it begins. */
#define BY_SET 0x80000000u

FN u32 goes_right(GLOBAL const u32* set, const u32 code) { return (set[1 + (code >> 5)] >> (code & 31)) & 1; }

/* A split by bins, or by a set. */
typedef struct {
    code_split_t bins;
    GLOBAL const u32* set;
    u32 by_set;
} row_split_t;

FN row_split_t row_split(const code_split_t bins, const u32 by_set, GLOBAL const u32* sets, const u64 begin) {
    row_split_t split;
    split.bins = bins;
    split.set = sets + begin;
    split.by_set = by_set;
    return split;
}

FN u32 row_goes_left(const u32 code, const row_split_t split) {
    return split.by_set ? 1 - goes_right(split.set, code) : code_goes_left(code, split.bins);
}

/* The same for a step_t. */
FN u32 step_goes_left(const u32 code, const u32 place, const u32 lefts, GLOBAL const u32* sets) {
    return place & BY_SET ? 1 - goes_right(sets + lefts, code) : code_goes_left(code, unpacked_split(lefts));
}
