

















FN i32x2 way_of(const u32x4 step) {
    const code_split_t split = unpacked_split(step.z);
    const u32 n = (split.also > split.last ? split.also : 256) - split.last - 1;
    const u32 place = step.y / 4 * 8192 + step.y % 4 * 8;
    if (!step.x) return MAKE_I32X2(0, (i32)step.w);
    return MAKE_I32X2((i32)(split.last << 24 | 1u << 23 | place), (i32)(n << 24 | step.x));
}


FN void gradient(
        const f32 margin, const f32 given, const u32 output, f32* gradient, f32* hessian) {
    const f32 label = as_u32(given) & 0x7F800000u ? given : 0.0f; /* some devices flush subnormals */
    f32 g, h;
    (void)output;
    g = margin - label; h = 1.0f;
    *gradient = finite(g); /* a difference may overflow, and the conversion to quanta needs finite numbers */
    *hessian = finite(h);
}



FN i64 group_sum(const i64 value, LOCAL i64* shared) {
    const u32 id = LOCAL_ID;
    shared[id] = value;
    BARRIER();
    for (u32 half_size = 128; half_size > 0; half_size /= 2) {
        if (id < half_size) shared[id] += shared[id + half_size];
        BARRIER();
    }
    const i64 total = shared[0];
    BARRIER();
    return total;
}


KERNEL(256) add_leaves(
        const u32 n_rows, const u32 first_row, const u32 page_rows, const u32 first_tree,
        const u32 n_trees, const u32 n_parallel,
        const u32 n_nodes, GLOBAL const u32x4* RESTRICT codes,
        GLOBAL const u32x4* RESTRICT steps, 
        const u64 label_stride, GLOBAL const f32* RESTRICT labels, GLOBAL u32* exponents,
        GLOBAL const scale_t* RESTRICT scale, GLOBAL i32x2* RESTRICT scale_ahead,
        GLOBAL i32x2* RESTRICT quanta, const u32 n_sums, GLOBAL i64* RESTRICT sums,
        GLOBAL f32* RESTRICT margins) {
    LOCAL_ARRAY(u32, counts, 512);

    const u32 output = first_tree / n_parallel + GROUP_ID_Y;
    const u32 begin = output * n_parallel < first_tree ? 0 : output * n_parallel - first_tree;
    const u32 own_end = (output + 1) * n_parallel - first_tree;
    const u32 end = own_end < n_trees ? own_end : n_trees;
    margins += (u64)output * n_rows;
    margins += first_row;
    labels += output * label_stride + first_row;
    exponents += 512 * GROUP_ID_Y;
    for (u32 i = LOCAL_ID; i < 512; i += 256) counts[i] = 0;
    LOCAL_ARRAY(i64, shared, 256);
    scale += GROUP_ID_Y;
    quanta += (u64)GROUP_ID_Y * n_rows;
    sums += 2 * (u64)GROUP_ID_Y * n_sums;
    if (GROUP_ID == 0) {
        for (u32 i = 2 * N_GROUPS + LOCAL_ID; i < 2 * n_sums; i += 256) sums[i] = 0;
        if (LOCAL_ID == 0) scale_ahead[GROUP_ID_Y] = MAKE_I32X2(scale->wide ? NO_SCALE : scale->g, scale->h);
    }
    const f32 unit_g = power_of_two(scale->g), unit_h = power_of_two(scale->h);
    i64 sum_g = 0, sum_h = 0;
    LOCAL_ARRAY(i32x2, ways, 128);
    LOCAL_ARRAY(u32, staged, 2048);
    for (u32 id = LOCAL_ID; id < n_nodes; id += 256) ways[id] = way_of(steps[id]);
    BARRIER();
    for (u32 row = GROUP_ID * 256 + LOCAL_ID; row < page_rows; row += N_GROUPS * 256) {
        f32 margin = margins[row];
        const f32 label = labels[row];
        const u32x4 block_0 = codes[(u64)row * 2 + 0];
        const u32x4 block_1 = codes[(u64)row * 2 + 1];
        staged[0 + LOCAL_ID] = block_0.x;
        staged[256 + LOCAL_ID] = block_0.y;
        staged[512 + LOCAL_ID] = block_0.z;
        staged[768 + LOCAL_ID] = block_0.w;
        staged[1024 + LOCAL_ID] = block_1.x;
        staged[1280 + LOCAL_ID] = block_1.y;
        staged[1536 + LOCAL_ID] = block_1.z;
        staged[1792 + LOCAL_ID] = block_1.w;
        IN_ORDER
        for (u32 tree = begin; tree < end; tree++) {
            i32x2 way = ways[tree];
            while (way.x) {
                const u32 bit = (u32)way.x & 0x7FFFFF, code = staged[bit / 32 + LOCAL_ID] >> bit % 32;
                const u32 right = (code << 24) - (u32)way.x < (u32)way.y;
                way = ways[tree + (way.y & 0xFFFFFF) + right];
            }
            margin += as_f32((u32)way.y);
        }
        margins[row] = margin;
        f32 g, h;
        gradient(margin, label, output, &g, &h);
        atomic_add_local_u32(&counts[(as_u32(g) >> 23) & 0xFF], 1);
        atomic_add_local_u32(&counts[256 + ((as_u32(h) >> 23) & 0xFF)], 1);
        const i32 own_g = round_to_i32(g * unit_g), rounded_h = round_to_i32(h * unit_h);
        const i32 own_h = rounded_h < 1 ? 1 : rounded_h;
        quanta[row] = MAKE_I32X2(own_g, own_h);
        sum_g += own_g, sum_h += own_h;
    }

    BARRIER();
    for (u32 i = LOCAL_ID; i < 512; i += 256)
        if (counts[i]) atomic_add_global_u32(&exponents[i], counts[i]);
    sum_g = group_sum(sum_g, shared);
    sum_h = group_sum(sum_h, shared);
    if (LOCAL_ID == 0) sums[2 * GROUP_ID] = sum_g, sums[2 * GROUP_ID + 1] = sum_h;
}
