














FN i32x2 way_of(const u32x4 step) {
    const code_split_t split = unpacked_split(step.z);
    const u32 n = (split.also > split.last ? split.also : 256) - split.last - 1;
    const u32 place = step.y / 4 * 8192 + step.y % 4 * 8;
    if (!step.x) return MAKE_I32X2(0, (i32)step.w);
    return MAKE_I32X2((i32)(split.last << 24 | 1u << 23 | place), (i32)(n << 24 | step.x));
}

KERNEL(256) add_leaves(
        const u32 n_rows, const u32 first_row, const u32 page_rows, const u32 first_tree,
        const u32 n_trees, const u32 n_parallel,
        const u32 n_nodes, GLOBAL const u32x4* RESTRICT codes,
        GLOBAL const u32x4* RESTRICT steps, 
        GLOBAL f32* RESTRICT margins) {

    const u32 output = first_tree / n_parallel + GROUP_ID_Y;
    const u32 begin = output * n_parallel < first_tree ? 0 : output * n_parallel - first_tree;
    const u32 own_end = (output + 1) * n_parallel - first_tree;
    const u32 end = own_end < n_trees ? own_end : n_trees;
    margins += (u64)output * n_rows;
    margins += first_row;
    LOCAL_ARRAY(i32x2, ways, 128);
    LOCAL_ARRAY(u32, staged, 2048);
    for (u32 id = LOCAL_ID; id < n_nodes; id += 256) ways[id] = way_of(steps[id]);
    BARRIER();
    for (u32 row = GROUP_ID * 256 + LOCAL_ID; row < page_rows; row += N_GROUPS * 256) {
        f32 margin = margins[row];
        
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
    }
}
