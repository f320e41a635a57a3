







KERNEL(128) lay_rows(
        const u64 n_rows, const u32 n_features, const u32 n_used, const u32 n_blocks,
        GLOBAL const u32* RESTRICT columns, GLOBAL const f32* RESTRICT values, GLOBAL f32* RESTRICT laid) {
    for (u64 block = GROUP_ID; block < n_blocks; block += N_GROUPS) {
        GLOBAL f32* own = laid + block * n_used * 128 + LOCAL_ID;
        for (u32 item = 0; item < 1; item++) {
            const u64 row = block * 128 + item * 128 + LOCAL_ID;
            for (u32 place = 0; place < n_used; place++)
                own[(u64)place * 128 + item * 128] =
                    row < n_rows ? values[row * n_features + columns[place]] : 0.0f;
        }
    }
}

/* found[row, output, i] = the sum at told[i], 0 for NO_PLACE; quanta[chunk, block, place, row of the block] */
#define NO_PLACE 0xFFFFFFFFu
KERNEL(128) told_sums(
        const u64 n_rows, const u32 n_blocks, const u32 n_places, const u32 n_chunks, const u32 n_told,
        const u32 output, const u32 n_outputs, GLOBAL const u32* RESTRICT told, GLOBAL const i64* RESTRICT quanta,
        GLOBAL i64* RESTRICT found) {
    const u64 n = (u64)n_blocks * n_places * 128;
    for (u64 row = GROUP_ID; row < n_rows; row += N_GROUPS) {
        GLOBAL const i64* own = quanta + row / 128 * n_places * 128 + row % 128;
        GLOBAL i64* line = found + (row * n_outputs + output) * n_told;
        for (u32 i = LOCAL_ID; i < n_told; i += 128) {
            i64 sum = 0;
            if (told[i] != NO_PLACE)
                for (u32 chunk = 0; chunk < n_chunks; chunk++) sum += own[chunk * n + (u64)told[i] * 128];
            line[i] = sum;
        }
    }
}

/* nodes[i] = (left, feature, default_left and more, number): walk_t. Of default_left, the bits from the 8th on are the
   level of the last node above with the same feature. */
FN u32 goes_right(const f32 value, GLOBAL const u32x4* at) {
    return 1 - value_goes_left(value, as_f32(at->w), at->z & 1);
}

/* q / 2^shift, rounded to the nearest, ties to even. */
FN i64 shifted_quanta(const i64 q, const u32 shift) {
    if (!shift) return q;
    const u32 few = shift < 62 ? shift : 62;
    const i64 down = q >> few;
    const i64 rest = q - (i64)((u64)down << few);
    const i64 middle = (i64)1 << (few - 1);
    return down + (rest > middle || (rest == middle && (down & 1)));
}

/* The bits of q * 2^-bits as float64, rounded to the nearest, ties to even. */
FN i64 float64_bits(const i64 q, const i32 bits) {
    const u64 a = q < 0 ? 0 - (u64)q : (u64)q;
    if (!a) return 0;
    u32 top = 0; /* place of the highest bit */
    if (a >> top >> 32) top += 32;
    if (a >> top >> 16) top += 16;
    if (a >> top >> 8) top += 8;
    if (a >> top >> 4) top += 4;
    if (a >> top >> 2) top += 2;
    if (a >> top >> 1) top += 1;
    u64 digits = a << (top < 52 ? 52 - top : 0);
    if (top > 52) {
        const u32 few = top - 52;
        const u64 rest = a & (((u64)1 << few) - 1);
        const u64 middle = (u64)1 << (few - 1);
        digits = a >> few;
        digits += rest > middle || (rest == middle && (digits & 1));
    }
    const u64 exponent = (u64)(u32)(1022 + (i32)top - bits); /* the highest digit adds 1 */
    return (i64)((q < 0 ? (u64)1 << 63 : (u64)0) + (exponent << 52) + digits);
}

/* Row i has n_told numbers; of columns, those at multiples of `step`. starts[i % n_starts]: quanta of the base.
   totals[i] = (sum of the columns and the base, the largest contribution, its column); the base if all are 0. */
KERNEL(128) finish_rows(
        const u64 n, const u32 width, const u32 n_told, const u32 step, const i32 bits, const u32 n_starts,
        GLOBAL const i64* RESTRICT starts, GLOBAL const u32* RESTRICT shifts, GLOBAL i64* RESTRICT found,
        GLOBAL i64* RESTRICT totals) {
    for (u64 i = GLOBAL_ID; i < n; i += (u64)N_GROUPS * 128) {
        GLOBAL i64* own = found + i * n_told;
        const u32 shift = shifts[i % n_starts];
        const i64 base = starts[i % n_starts];
        i64 sum = base, largest = base;
        u64 most = 0;
        u32 column = width - 1;
        for (u32 j = 0; j < width; j++) {
            const i64 q = j < width - 1 ? shifted_quanta(own[j * step], shift) : base;
            own[j * step] = float64_bits(q, bits - (i32)shift);
            if (j == width - 1) break;
            sum += q;
            const u64 a = q < 0 ? 0 - (u64)q : (u64)q;
            if (a > most) most = a, largest = q, column = j;
        }
        totals[3 * i] = sum;
        totals[3 * i + 1] = largest;
        totals[3 * i + 2] = column;
    }
}

/* shapes[tree] = (first split, number of splits, first of its features, number of its features);
   splits[i] = (0, feature, default_left, border): walk_t; features: of each tree, by their places */
KERNEL(128) contribution_tables(
        const u32 n_blocks, const u32 n_used, const u32 first_tree, const u32 n_trees, const u32 trees_each,
        GLOBAL const u32x4* RESTRICT shapes, GLOBAL const u32x4* RESTRICT splits,
        GLOBAL const u32* RESTRICT features, GLOBAL const u64* RESTRICT first_sums,
        GLOBAL const i64* RESTRICT tables, GLOBAL const f32* RESTRICT laid, GLOBAL i64* RESTRICT quanta) {
    const u32 first_here = first_tree + GROUP_ID_Y * trees_each;
    const u32 end_all = first_tree + n_trees;
    const u32 end_here = first_here + trees_each < end_all ? first_here + trees_each : end_all;
    for (u64 block = GROUP_ID; block < n_blocks; block += N_GROUPS) {
        GLOBAL const f32* x = laid + block * n_used * 128 + LOCAL_ID;
        GLOBAL i64* sums = quanta + ((u64)GROUP_ID_Y * n_blocks + block) * n_used * 128 + LOCAL_ID;
        for (u32 tree = first_here; tree < end_here; tree++) {
            const u32x4 shape = shapes[tree];
            GLOBAL const i64* table = tables + first_sums[tree];
            u32 pattern[1];
            for (u32 r = 0; r < 1; r++) pattern[r] = 0;
            for (u32 level = 0; level < shape.y; level++) {
                GLOBAL const u32x4* split = splits + shape.x + level;
                GLOBAL const f32* value = x + (u64)split->y * 128;
                for (u32 r = 0; r < 1; r++) pattern[r] = 2 * pattern[r] + goes_right(value[r * 128], split);
            }
            for (u32 i = 0; i < shape.w; i++) {
                GLOBAL i64* sum = sums + (u64)features[shape.z + i] * 128;
                for (u32 r = 0; r < 1; r++) sum[r * 128] += table[(i << shape.y) + pattern[r]];
            }
        }
    }
}
