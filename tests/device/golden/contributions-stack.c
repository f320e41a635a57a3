
#undef BARRIER
#define BARRIER() ((void)0)









#define GONE 2u
#define NOT_BEFORE 0xFFFFFFu /* no node above has the same feature */

/* Round to the nearest integer, ties to even; from 2^23 on, floats are integers. */
FN i64 round_to_i64(const f32 x) {
    const f32 a = as_f32(as_u32(x) & 0x7FFFFFFFu);
    const f32 up = a + 8388608.0f;
    const f32 rounded = up - 8388608.0f;
    const i64 n = (i64)(a < 8388608.0f ? rounded : a);
    return x < 0.0f ? -n : n;
}

KERNEL(1) lay_rows(
        const u64 n_rows, const u32 n_features, const u32 n_used, const u32 n_blocks,
        GLOBAL const u32* RESTRICT columns, GLOBAL const f32* RESTRICT values, GLOBAL f32* RESTRICT laid) {
    for (u64 block = GROUP_ID; block < n_blocks; block += N_GROUPS) {
        GLOBAL f32* own = laid + block * n_used * 16 + LOCAL_ID;
        for (u32 item = 0; item < 16; item++) {
            const u64 row = block * 16 + item * 1 + LOCAL_ID;
            for (u32 place = 0; place < n_used; place++)
                own[(u64)place * 16 + item * 1] =
                    row < n_rows ? values[row * n_features + columns[place]] : 0.0f;
        }
    }
}

/* found[row, output, i] = the sum at told[i], 0 for NO_PLACE; quanta[chunk, block, place, row of the block] */
#define NO_PLACE 0xFFFFFFFFu
KERNEL(1) told_sums(
        const u64 n_rows, const u32 n_blocks, const u32 n_places, const u32 n_chunks, const u32 n_told,
        const u32 output, const u32 n_outputs, GLOBAL const u32* RESTRICT told, GLOBAL const i64* RESTRICT quanta,
        GLOBAL i64* RESTRICT found) {
    const u64 n = (u64)n_blocks * n_places * 16;
    for (u64 row = GROUP_ID; row < n_rows; row += N_GROUPS) {
        GLOBAL const i64* own = quanta + row / 16 * n_places * 16 + row % 16;
        GLOBAL i64* line = found + (row * n_outputs + output) * n_told;
        for (u32 i = LOCAL_ID; i < n_told; i += 1) {
            i64 sum = 0;
            if (told[i] != NO_PLACE)
                for (u32 chunk = 0; chunk < n_chunks; chunk++) sum += own[chunk * n + (u64)told[i] * 16];
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
KERNEL(1) finish_rows(
        const u64 n, const u32 width, const u32 n_told, const u32 step, const i32 bits, const u32 n_starts,
        GLOBAL const i64* RESTRICT starts, GLOBAL const u32* RESTRICT shifts, GLOBAL i64* RESTRICT found,
        GLOBAL i64* RESTRICT totals) {
    for (u64 i = GLOBAL_ID; i < n; i += (u64)N_GROUPS * 1) {
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



/* changes[i] is the mean of node i less its parent's. */
KERNEL(1) follow_paths(
        const u32 n_blocks, const u32 n_used, const u32 first_tree, const u32 n_trees, const u32 trees_each,
        const u32 n_levels, GLOBAL const u32x4* RESTRICT nodes, GLOBAL const u32* RESTRICT tree_begin,
        GLOBAL const i64* RESTRICT changes, GLOBAL const f32* RESTRICT laid, GLOBAL i64* RESTRICT quanta) {
    const u32 first_here = first_tree + GROUP_ID_Y * trees_each;
    const u32 end_all = first_tree + n_trees;
    const u32 end_here = first_here + trees_each < end_all ? first_here + trees_each : end_all;
    GLOBAL i64* sums = quanta + (u64)GROUP_ID_Y * n_blocks * n_used * 16;
    for (u64 block = GROUP_ID; block < n_blocks; block += N_GROUPS) {
        for (u32 item = 0; item < 16; item++) {
            const u64 first = block * n_used * 16 + item * 1 + LOCAL_ID;
            for (u32 tree = first_here; tree < end_here; tree++) {
                GLOBAL const u32x4* node = nodes + tree_begin[tree];
                GLOBAL const i64* change = changes + tree_begin[tree];
                u32 id = 0;
                for (u32 level = 0; level < n_levels && node[id].x; level++) {
                    const u64 place = first + (u64)node[id].y * 16;
                    id = node[id].x + goes_right(laid[place], node + id);
                    sums[place] += change[id];
                }
            }
        }
    }
}

/* n_sides is 2: with a constant, compilers would write the nested loops out, 2^levels times.
   steps[inner node, way, side] = factors of the points, then terms; apart[node, stays] = see PathFactors.told_apart */
KERNEL(1) contributions(
        const u32 n_blocks, const u32 n_used, const u32 n_places, const u32 first_tree, const u32 n_trees,
        const u32 trees_each, const u32 n_levels, GLOBAL const u32x4* RESTRICT nodes,
        GLOBAL const u32* RESTRICT tree_begin, GLOBAL const f32* RESTRICT weights,
        GLOBAL const u32x4* RESTRICT steps, GLOBAL const f32* RESTRICT laid,
        GLOBAL f32* RESTRICT products, GLOBAL f32* RESTRICT lefts, GLOBAL u32* RESTRICT ways, GLOBAL u32* RESTRICT path,
        GLOBAL i64* RESTRICT quanta) {
    const u32 first_here = first_tree + GROUP_ID_Y * trees_each;
    const u32 end_all = first_tree + n_trees;
    const u32 end_here = first_here + trees_each < end_all ? first_here + trees_each : end_all;
    const u32 first_feature = n_places - n_used;
    const u64 own = (u64)GROUP_ID_Y * N_GROUPS + GROUP_ID;
    GLOBAL f32* product = products + own * n_levels * 48 + LOCAL_ID;
    GLOBAL f32* of_left = lefts + own * n_levels * 48 + LOCAL_ID;
    GLOBAL u32* way = ways + own * n_levels * 16 + LOCAL_ID;
    GLOBAL u32* ids = path + own * n_levels * 3 + LOCAL_ID; /* of each level: node, side, hidden */
    for (u64 block = GROUP_ID; block < n_blocks; block += N_GROUPS) {
        GLOBAL const f32* x = laid + block * n_used * 16 + LOCAL_ID;
        GLOBAL i64* sums = quanta + ((u64)GROUP_ID_Y * n_blocks + block) * n_places * 16 + LOCAL_ID;
        for (u32 tree = first_here; tree < end_here; tree++) {
            const u64 begin = tree_begin[tree];
            GLOBAL const u32x4* node = nodes + begin;
            GLOBAL const u32x4* step = steps + (begin - tree) / 2 * 12;
            if (!node->x) continue;
            u32 level = 0, side = 0, id = 0, entered = 0, done = 0;
            f32 b_0[16];
            for (u32 r = 0; r < 16; r++) product[0 + r * 1] = weights[0];
            f32 b_1[16];
            for (u32 r = 0; r < 16; r++) product[16 + r * 1] = weights[1];
            f32 b_2[16];
            for (u32 r = 0; r < 16; r++) product[32 + r * 1] = weights[2];
            for (;;) {
                if (!entered) { /* which way do rows go at node `id`? */
                    const u32 before = node[id].z >> 8;
                    ids[3 * level * 1] = id;
                    GLOBAL const f32* value = x + (u64)node[id].y * 16;
                    GLOBAL u32* own_way = way + (u64)level * 16;
                    for (u32 r = 0; r < 16; r++) own_way[r * 1] = goes_right(value[r * 1], node + id);
                    if (before != NOT_BEFORE) {
                        const u32 side_above = ids[(3 * before + 1) * 1];
                        GLOBAL const u32* above = way + (u64)before * 16;
                        for (u32 r = 0; r < 16; r++) own_way[r * 1] =
                            above[r * 1] == side_above ? own_way[r * 1] : GONE;
                    }
                    entered = 1;
                }
                const u32 left = node[id].x;
                GLOBAL const f32* factor = (GLOBAL const f32*)(step + (u64)((left - 1) / 2) * 12);
                GLOBAL const u32* own_way = way + (u64)level * 16;
                GLOBAL f32* above = product + (u64)level * 48;
                const u32 child = left + side;
                ids[(3 * level + 1) * 1] = side;
                const u32 goes_on = node[child].x;
                const f32 value = as_f32(node[child].w);
                {
                    const f32 m_0 = factor[side * 8 + 0];
                    const f32 m_1 = factor[side * 8 + 16];
                    const f32 m_2 = factor[side * 8 + 32];
                    for (u32 r = 0; r < 16; r++) {
                        const u32 w = own_way[r * 1];
                        const f32 m = w == 0 ? m_0 : (w == 1 ? m_1 : m_2);
                        const f32 p = above[0 + r * 1] * m;
                        if (goes_on) above[48 + r * 1] = p;
                        b_0[r] = p * value;
                    }
                }
                {
                    const f32 m_0 = factor[side * 8 + 1];
                    const f32 m_1 = factor[side * 8 + 17];
                    const f32 m_2 = factor[side * 8 + 33];
                    for (u32 r = 0; r < 16; r++) {
                        const u32 w = own_way[r * 1];
                        const f32 m = w == 0 ? m_0 : (w == 1 ? m_1 : m_2);
                        const f32 p = above[16 + r * 1] * m;
                        if (goes_on) above[64 + r * 1] = p;
                        b_1[r] = p * value;
                    }
                }
                {
                    const f32 m_0 = factor[side * 8 + 2];
                    const f32 m_1 = factor[side * 8 + 18];
                    const f32 m_2 = factor[side * 8 + 34];
                    for (u32 r = 0; r < 16; r++) {
                        const u32 w = own_way[r * 1];
                        const f32 m = w == 0 ? m_0 : (w == 1 ? m_1 : m_2);
                        const f32 p = above[32 + r * 1] * m;
                        if (goes_on) above[80 + r * 1] = p;
                        b_2[r] = p * value;
                    }
                }
                if (goes_on) {
                    level++, id = child, side = 0, entered = 0;
                    continue;
                }
                for (;;) { /* a child is finished: b has its sums */
                    GLOBAL f32* a = of_left + (u64)level * 48;
                    if (!side) {
                        for (u32 r = 0; r < 16; r++) a[0 + r * 1] = b_0[r];
                        for (u32 r = 0; r < 16; r++) a[16 + r * 1] = b_1[r];
                        for (u32 r = 0; r < 16; r++) a[32 + r * 1] = b_2[r];
                        side = 1;
                        break;
                    }
                    const u32 feature = node[id].y;
                    GLOBAL const f32* term = (GLOBAL const f32*)(step + (u64)((node[id].x - 1) / 2) * 12);
                    own_way = way + (u64)level * 16;
                    f32 change_0[16];
                    {
                        const f32 c_0 = term[3], d_0 = term[11];
                        const f32 c_1 = term[19], d_1 = term[27];
                        const f32 c_2 = term[35], d_2 = term[43];
                        for (u32 r = 0; r < 16; r++) {
                            const u32 w = own_way[r * 1];
                            const f32 l = (w == 0 ? c_0 : (w == 1 ? c_1 : c_2)) * a[0 + r * 1];
                            const f32 right = (w == 0 ? d_0 : (w == 1 ? d_1 : d_2)) * b_0[r];
                            change_0[r] = l + right;
                            b_0[r] = a[0 + r * 1] + b_0[r];
                        }
                    }
                    f32 change_1[16];
                    {
                        const f32 c_0 = term[4], d_0 = term[12];
                        const f32 c_1 = term[20], d_1 = term[28];
                        const f32 c_2 = term[36], d_2 = term[44];
                        for (u32 r = 0; r < 16; r++) {
                            const u32 w = own_way[r * 1];
                            const f32 l = (w == 0 ? c_0 : (w == 1 ? c_1 : c_2)) * a[16 + r * 1];
                            const f32 right = (w == 0 ? d_0 : (w == 1 ? d_1 : d_2)) * b_1[r];
                            change_1[r] = l + right;
                            b_1[r] = a[16 + r * 1] + b_1[r];
                        }
                    }
                    f32 change_2[16];
                    {
                        const f32 c_0 = term[5], d_0 = term[13];
                        const f32 c_1 = term[21], d_1 = term[29];
                        const f32 c_2 = term[37], d_2 = term[45];
                        for (u32 r = 0; r < 16; r++) {
                            const u32 w = own_way[r * 1];
                            const f32 l = (w == 0 ? c_0 : (w == 1 ? c_1 : c_2)) * a[32 + r * 1];
                            const f32 right = (w == 0 ? d_0 : (w == 1 ? d_1 : d_2)) * b_2[r];
                            change_2[r] = l + right;
                            b_2[r] = a[32 + r * 1] + b_2[r];
                        }
                    }
                    GLOBAL i64* sum = sums + (u64)(first_feature + feature) * 16;
                    for (u32 r = 0; r < 16; r++) {
                const f32 total_1 = change_0[r] + change_1[r];
                const f32 total_2 = total_1 + change_2[r];
                const f32 total = total_2;

                        sum[r * 1] += round_to_i64(total);
                    }
                    done = !level;
                    if (done) break;
                    level--;
                    id = ids[3 * level * 1];
                    side = ids[(3 * level + 1) * 1];
                }
                if (done) break;
            }

        }
    }
}
