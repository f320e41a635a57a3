## device_facts: small kernels that show what a device and its compiler really do
##
## Each is a program of its own, so that one that a compiler crashes on does not hide the others.
##
##   subnormals      values near 2^-126 -> products, sums and comparisons of them
##   int64_atomics   sums[0] += all values; sums[1 + value % 7] += the value, in a loop of varying length
##   skipped_loads   sum of values that two lists lead to; where one of them has NO_NODE, nothing may be loaded
##   int64_cost      the same arithmetic on 32 bits (narrow) and on 64 (wide)
##   compute_units   arithmetic that keeps one compute unit busy, for a time that grows with `rounds`
##   wave_width      two loops; work-items i with an odd i / width run the second one
##
## params: wg_size, fact (one of the above)
<%page args="wg_size, fact"/>
% if fact == "subnormals":
KERNEL(${wg_size}) subnormals(const u32 n, GLOBAL const f32* RESTRICT values, GLOBAL f32* RESTRICT out) {
    const u32 i = (u32)GLOBAL_ID;
    if (i >= n) return;
    const f32 x = values[i], least = values[0]; /* values[0] is 2^-126 */
    out[4 * i] = x * 0.25f;
    out[4 * i + 1] = x * 4.0f;
    out[4 * i + 2] = x - least;
    out[4 * i + 3] = x > 0.0f ? 1.0f : 0.0f;
}
% elif fact == "int64_atomics":
KERNEL(${wg_size}) int64_atomics(const u32 n, GLOBAL const u32* RESTRICT values, GLOBAL i64* RESTRICT sums) {
    const u32 i = (u32)GLOBAL_ID;
    if (i >= n) return;
    const u32 value = values[i];
    atomic_add_global_i64(&sums[0], (i64)value << 24);
    for (u32 turn = 0; turn <= (value & 3); turn++)
        if ((value + turn) % 3 != 0) atomic_add_global_i64(&sums[1 + value % 7], -(i64)value << 8);
}
% elif fact == "skipped_loads":
KERNEL(${wg_size}) skipped_loads(
        const u32 n, GLOBAL const u32* RESTRICT picks, GLOBAL const u32* RESTRICT nodes,
        GLOBAL const u32* RESTRICT values, GLOBAL u32* RESTRICT out) {
    u32 sum = 0;
    for (u32 k = GROUP_ID; k < n; k += N_GROUPS) {
        const u32 id = picks[k];
        if (id == 0xFFFFFFFFu) continue;
        const u32 next = nodes[24 * (u64)id]; /* as far apart as records of nodes */
        if (next == 0xFFFFFFFFu) continue;
        sum += values[next];
    }
    if (LOCAL_ID == 0) out[GROUP_ID] = sum;
}
% elif fact == "int64_cost":
% for name, kind in (("narrow", "u32"), ("wide", "u64")):
KERNEL(${wg_size}) ${name}(const u32 rounds, GLOBAL u32* RESTRICT out) {
    ${kind} a = LOCAL_ID + 1u, b = LOCAL_ID + 7u, c = 0;
    for (u32 turn = 0; turn < rounds; turn++) {
        a += b;
        b += a ^ c;
        c += b > a ? 1u : 3u;
    }
    out[GLOBAL_ID] = (u32)(a ^ b ^ c);
}
% endfor
% elif fact == "compute_units":
KERNEL(${wg_size}) compute_units(const u32 rounds, GLOBAL u32* RESTRICT out) {
    u32 state[8];
    for (u32 k = 0; k < 8; k++) state[k] = LOCAL_ID + k;
    for (u32 turn = 0; turn < rounds; turn++)
        for (u32 k = 0; k < 8; k++) state[k] = state[k] * 1664525u + 1013904223u;
    u32 sum = 0;
    for (u32 k = 0; k < 8; k++) sum ^= state[k];
    out[GLOBAL_ID] = sum;
}
% else:
KERNEL(${wg_size}) wave_width(const u32 rounds, const u32 width, GLOBAL u32* RESTRICT out) {
    u32 state = LOCAL_ID;
    if (LOCAL_ID / width & 1) {
        for (u32 turn = 0; turn < rounds; turn++) state = (state ^ state << 7) * 22695477u + 1u;
    } else {
        for (u32 turn = 0; turn < rounds; turn++) state = (state ^ state >> 5) * 1664525u + 3u;
    }
    out[GLOBAL_ID] = state;
}
% endif
