/* value_decision: the same as decision.h of values, for trees with thresholds. */

#define ABOVE_ALL 0xFFFFFFFFu     /* a threshold's key: every value is below, to the left */
#define MISSING_RIGHT 0xFFFFFFFEu /* a value's key, above the key of every number */
#define MISSING_LEFT 0u           /* below it */

/* A value's key: keys are ordered as values are. */
FN u32 value_key(const f32 value, const u32 default_left) {
    if (is_missing(value)) return default_left ? MISSING_LEFT : MISSING_RIGHT;
    return ordered(value);
}

FN u32 key_goes_left(const u32 key, const u32 threshold_key) { return key < threshold_key; }

FN u32 value_goes_left(const f32 value, const f32 threshold, const u32 default_left) {
    return key_goes_left(value_key(value, default_left), ordered(threshold));
}
