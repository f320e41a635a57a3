














/* Codes in 16 bytes of a row. */
#define BLOCK 16

typedef struct {
    GLOBAL const u8* codes;
    u64 block_stride;
    u32 paired;
} row_t;

FN row_t row_of(GLOBAL const u8* codes, const u64 row_stride, const u64 block_stride, const u32 paired,
                const u32 row) {
    row_t found;
    found.codes = codes + (u64)row * row_stride;
    found.block_stride = block_stride;
    found.paired = paired;
    return found;
}

FN u32 code_at(const row_t row, const u32 place) {
    return row.codes[block_at(place / BLOCK, row.block_stride, row.paired, BLOCK) + place % BLOCK];
}

KERNEL(256) add_leaves(
        const u32 n_rows, const u32 first_row, const u32 page_rows, const u32 first_tree,
        const u32 n_trees, const u32 n_parallel,
        const u64 row_stride, const u64 block_stride, const u32 paired, GLOBAL const u8* RESTRICT codes,
        GLOBAL const u32x4* RESTRICT steps, 
        GLOBAL f32* RESTRICT margins) {

    const u32 output = first_tree / n_parallel + GROUP_ID_Y;
    const u32 begin = output * n_parallel < first_tree ? 0 : output * n_parallel - first_tree;
    const u32 own_end = (output + 1) * n_parallel - first_tree;
    const u32 end = own_end < n_trees ? own_end : n_trees;
    margins += (u64)output * n_rows;
    margins += first_row;
    
    for (u32 row = GROUP_ID * 256 + LOCAL_ID; row < page_rows; row += N_GROUPS * 256) {
        f32 margin = margins[row];
        
        const row_t mine = row_of(codes, row_stride, block_stride, paired, row);
        IN_ORDER
        for (u32 tree = begin; tree < end; tree++) {
            u32 leaf = tree; /* the root */
            u32x4 step = steps[leaf];
            while (step.x) {
                const u32 left = code_goes_left(code_at(mine, step.y), unpacked_split(step.z));
                leaf = tree + (left ? step.x : step.x + 1);
                step = steps[leaf];
            }
            margin += as_f32(step.w);
        }
        margins[row] = margin;
    }
}
