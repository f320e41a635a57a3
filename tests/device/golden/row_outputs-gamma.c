






KERNEL(64) row_outputs(
        const u32 n_rows, GLOBAL const f32* RESTRICT margins, GLOBAL const f32* RESTRICT labels,
        GLOBAL f32* RESTRICT gradients, GLOBAL f32* RESTRICT hessians) {
    for (u32 row = GROUP_ID * 64 + LOCAL_ID; row < n_rows; row += N_GROUPS * 64) {
        const f32 margin0 = margins[0 * (u64)n_rows + row];
        const f32 margin1 = margins[1 * (u64)n_rows + row];
        const f32 given = labels[row];
        const f32 label = as_u32(given) & 0x7F800000u ? given : 0.0f; /* some devices flush subnormals */
        f32 g0, h0, g1, h1;
        const f32 v1 = margin0 > 60.0f ? 60.0f : margin0;
    const f32 v2 = v1 < -60.0f ? -60.0f : v1;
    const f32 v3 = portable_exp(v2);
    const f32 v4 = margin1 > 15.0f ? 15.0f : margin1;
    const f32 v5 = v4 < -10.0f ? -10.0f : v4;
    const f32 v6 = portable_exp(v5);
    const f32 v7 = reciprocal(v3);
    const f32 v8 = label * v7;
    const f32 v9 = v8 > as_f32(0x7149F2CAu) ? as_f32(0x7149F2CAu) : v8;
    const f32 v10 = v9 - 1.0f;
    const f32 v11 = portable_log(v9);
    const f32 v12 = v10 - v11;
    const f32 v13 = v9 - 1.0f;
    const f32 v14 = minus_log1p(v13);
    const f32 v15 = v9 < 0.5f ? v12 : v14;
    const f32 v16 = v6 * v15;
    const f32 v17 = v16 > as_f32(0x7149F2CAu) ? as_f32(0x7149F2CAu) : v16;
    const f32 v18 = digamma_rest(v6);
    const f32 v19 = v17 - v18;
    const f32 v20 = 1.0f - v9;
    const f32 v21 = 0.5f * v9;
    const f32 v22 = 0.5f + v21;
    const f32 v23 = 0.5f * v19;
    const f32 v24 = trigamma_rest(v6);
    const f32 v25 = v23 + v24;
    g0 = v20;
    h0 = v22;
    g1 = v19;
    h1 = v25;
        gradients[0 * (u64)n_rows + row] = g0;
        hessians[0 * (u64)n_rows + row] = h0;
        gradients[1 * (u64)n_rows + row] = g1;
        hessians[1 * (u64)n_rows + row] = h1;
    }
}
