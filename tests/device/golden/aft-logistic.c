





KERNEL(64) aft_gradients(
        const u32 n_rows, GLOBAL const f32* RESTRICT lowers, GLOBAL const f32* RESTRICT uppers,
        GLOBAL const f32* RESTRICT margins, GLOBAL f32* RESTRICT gradients,
        GLOBAL f32* RESTRICT hessians) {
    for (u32 i = GROUP_ID * 64 + LOCAL_ID; i < n_rows; i += N_GROUPS * 64) {
        const f32 lower = lowers[i], upper = uppers[i], margin = margins[i];
        f32 g, h;
        const f32 v1 = lower - margin;
    const f32 v2 = v1 > as_f32(0x799A130Cu) ? as_f32(0x799A130Cu) : v1;
    const f32 v3 = v2 < as_f32(0xF99A130Cu) ? as_f32(0xF99A130Cu) : v2;
    const f32 v4 = v3 * 2.0f;
    const f32 v5 = v4 > 50.0f ? 50.0f : v4;
    const f32 v6 = v5 < -50.0f ? -50.0f : v5;
    const f32 v7 = upper - margin;
    const f32 v8 = v7 > as_f32(0x799A130Cu) ? as_f32(0x799A130Cu) : v7;
    const f32 v9 = v8 < as_f32(0xF99A130Cu) ? as_f32(0xF99A130Cu) : v8;
    const f32 v10 = v9 * 2.0f;
    const f32 v11 = v10 > 50.0f ? 50.0f : v10;
    const f32 v12 = v11 < -50.0f ? -50.0f : v11;
    const f32 v13 = portable_sigmoid(v6);
    const f32 v14 = -v6;
    const f32 v15 = portable_sigmoid(v14);
    const f32 v16 = portable_sigmoid(v12);
    const f32 v17 = -v12;
    const f32 v18 = portable_sigmoid(v17);
    const f32 v19 = v15 - v16;
    const f32 v20 = v13 * v15;
    const f32 v21 = v16 * v18;
    const f32 v22 = v20 + v21;
    const f32 v23 = v19 * 2.0f;
    const f32 v24 = v23 > 15.0f ? 15.0f : v23;
    const f32 v25 = v24 < -15.0f ? -15.0f : v24;
    const f32 v26 = v22 * 4.0f;
    const f32 v27 = v26 > 15.0f ? 15.0f : v26;
    const f32 v28 = v27 < as_f32(0x24E69595u) ? as_f32(0x24E69595u) : v27;
    g = v25;
    h = v28;
        gradients[i] = g;
        hessians[i] = h;
    }
}
