




/* Codes in 16 bytes of a row. */
#define BLOCK 16

KERNEL(256) add_leaves(
        const u32 n_rows, const u64 row_stride, const u64 block_stride,
        GLOBAL const u32x4* RESTRICT steps,
        GLOBAL const u8* RESTRICT codes, GLOBAL f32* RESTRICT margins) {
    for (u32 row = GROUP_ID * 256 + LOCAL_ID; row < n_rows; row += N_GROUPS * 256) {
        GLOBAL const u8* mine = codes + (u64)row * row_stride;
        u32x4 step = steps[0]; /* a step_t */
        while (step.x) {
            const u32 c = mine[step.y / BLOCK * block_stride + step.y % BLOCK];
            const int left = c <= (step.z & 0xFFFFu) || c == step.z >> 16;
            step = steps[left ? step.x : step.x + 1];
        }
        margins[row] += as_f32(step.w);
    }
}
