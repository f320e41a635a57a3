/* value_decision: as decision.h, but for values and trees with thresholds. */

#define ABOVE_ALL 0xFFFFFFFFu     /* key of a threshold above all values: all rows go left */
#define MISSING_RIGHT 0xFFFFFFFEu /* key of a missing value, above the keys of all numbers */
#define MISSING_LEFT 0u           /* key of a missing value, below the keys of all numbers */

/* A value's key; keys have the order of values. */
FN u32 value_key(const f32 value, const u32 default_left) {
    if (is_missing(value)) return default_left ? MISSING_LEFT : MISSING_RIGHT;
    return ordered(value);
}

FN u32 key_goes_left(const u32 key, const u32 threshold_key) { return key < threshold_key; }

FN u32 value_goes_left(const f32 value, const f32 threshold, const u32 default_left) {
    return key_goes_left(value_key(value, default_left), ordered(threshold));
}
