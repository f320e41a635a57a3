/* set_keys: as value_set_decision.h, for values that become keys once, before rows meet many sets.

       bits of a set   |0|1|code 0|code 1|..     key 0 goes left, key 1 right, key 2 + code as its bit says */

/* In a column's offset within a block: the split is by a set, and its key says where the set begins. */
#define COLUMN_OF_SETS 0x80000000u

/* The key of a value; codes from `n_codes` on have no bit in any set, and go left. */
FN u32 set_key(const f32 value, const u32 default_left, const u32 n_codes) {
    if (is_missing(value)) return 1 - default_left;
    return value >= 0.0f && value < (f32)n_codes ? 2 + (u32)value : 0;
}

FN u32 key_goes_right(GLOBAL const u32* bits, const u32 key) { return (bits[key >> 5] >> (key & 31)) & 1; }

/* Whether a key goes left at a split by a number or by a set; there is no branch, as rows take turns. */
FN u32 goes_left_by(const u32 key, const u64 column, const u32 border, GLOBAL const u32* sets) {
    const u32 by_set = (u32)column >> 31;
    const u32 right = key_goes_right(sets + (by_set ? border : 0), by_set ? key : 0);
    return by_set ? 1 - right : (u32)(key < border);
}
