/* value_set_decision: as set_decision.h, but for values and trees with thresholds. */

/* In walk_t.default_left: the split is by a set, and the bits of walk_t.number say where it begins. */
#define WALK_BY_SET 2u

/* Codes that have no bit go left, as in XGBoost. */
FN u32 walk_goes_left(const f32 value, GLOBAL const walk_t* at, GLOBAL const u32* sets) {
    const u32 default_left = at->default_left & 1;
    if (!(at->default_left & WALK_BY_SET)) return value_goes_left(value, at->number, default_left);
    if (is_missing(value)) return default_left;
    GLOBAL const u32* set = sets + ((GLOBAL const u32*)&at->number)[0];
    if (!(value >= 0.0f && value < (f32)set[0])) return 1;
    const u32 code = (u32)value;
    return 1 - ((set[1 + (code >> 5)] >> (code & 31)) & 1);
}
