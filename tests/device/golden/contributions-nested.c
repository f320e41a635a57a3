









#define GONE 2u
#define NOT_BEFORE 31u /* no node above has the same feature */

/* Round to the nearest integer, ties to even; from 2^23 on, floats are integers. */
FN i64 round_to_i64(const f32 x) {
    const f32 a = as_f32(as_u32(x) & 0x7FFFFFFFu);
    const f32 up = a + 8388608.0f;
    const f32 rounded = up - 8388608.0f;
    const i64 n = (i64)(a < 8388608.0f ? rounded : a);
    return x < 0.0f ? -n : n;
}

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
            own[j * step] = q;
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

/* A line of a matrix; its diagonal has quanta already. */
KERNEL(128) finish_lines(
        const u64 n_lines, const u32 width, const i32 bits, const u32 n_starts, GLOBAL const u32* RESTRICT shifts,
        GLOBAL i64* RESTRICT found) {
    for (u64 i = GLOBAL_ID; i < n_lines; i += (u64)N_GROUPS * 128) {
        GLOBAL i64* own = found + i * width;
        const u32 shift = shifts[i / width % n_starts];
        const u32 line = (u32)(i % width);
        i64 others = 0; /* a sum: Intel's compiler for CPUs changes the sign of a loop's differences */
        for (u32 j = 0; j < width; j++) {
            if (j == line) continue;
            const i64 q = shifted_quanta(own[j], shift);
            others += q;
            own[j] = float64_bits(q, bits - (i32)shift);
        }
        own[line] = float64_bits(own[line] - others, bits - (i32)shift);
    }
}



/* n_sides is 2: with a constant, compilers would write the nested loops out, 2^levels times.
   steps[inner node, way, side] = factors of the points, then terms; apart[node, stays] = see PathFactors.told_apart */
KERNEL(128) contributions(
        const u32 n_blocks, const u32 n_used, const u32 n_places, const u32 first_tree, const u32 n_trees,
        const u32 trees_each, const u32 n_sides, GLOBAL const u32x4* RESTRICT nodes,
        GLOBAL const u32* RESTRICT tree_begin, GLOBAL const f32* RESTRICT weights,
        GLOBAL const u32x4* RESTRICT steps, GLOBAL const u32x4* RESTRICT apart, GLOBAL const f32* RESTRICT laid,
        GLOBAL i64* RESTRICT quanta) {
    const u32 first_here = first_tree + GROUP_ID_Y * trees_each;
    const u32 end_all = first_tree + n_trees;
    const u32 end_here = first_here + trees_each < end_all ? first_here + trees_each : end_all;
    const u32 first_feature = n_places - n_used;
    for (u64 block = GROUP_ID; block < n_blocks; block += N_GROUPS) {
        GLOBAL const f32* x = laid + block * n_used * 128 + LOCAL_ID;
        GLOBAL i64* sums = quanta + ((u64)GROUP_ID_Y * n_blocks + block) * n_places * 128 + LOCAL_ID;
        for (u32 tree = first_here; tree < end_here; tree++) {
            const u64 begin = tree_begin[tree];
            GLOBAL const u32x4* node = nodes + begin;
            GLOBAL const u32x4* step = steps + (begin - tree) / 2 * 12;
            GLOBAL const u32x4* told = apart + begin * 2;
            if (!node->x) continue;
            u32 on = 1u << NOT_BEFORE; /* bit of a level: the row goes this way there */
            u32 hidden = 0; /* bit of a level: a node below has the same feature */
            const u32 id_0 = 0;
            const f32 p_0_0 = weights[0];
            f32 b_0_0;
            const f32 p_0_1 = weights[1];
            f32 b_0_1;
            const f32 p_0_2 = weights[2];
            f32 b_0_2;
            /* level 0 */
            const u32 left_0 = node[id_0].x, feature_0 = node[id_0].y, before_0 = node[id_0].z >> 8;
            const u32 way_0 = (on >> before_0) & 1
                ? goes_right(x[(u64)feature_0 * 128], node + id_0) : GONE;
            GLOBAL const u32x4* step_0 = step + (u64)((left_0 - 1) / 2 * 3 + way_0) * 4;
            const u32 hidden_0 = hidden;
            hidden |= 1u << before_0;
            f32 a_0_0 = 0.0f, b_1_0;
            f32 a_0_1 = 0.0f, b_1_1;
            f32 a_0_2 = 0.0f, b_1_2;
            for (u32 side_0 = 0; side_0 < n_sides; side_0++) {
                on = (on & ~(1u << 0)) | ((u32)(way_0 == side_0) << 0);
                const u32 id_1 = left_0 + side_0;
                const u32x4 mv_0 = (step_0 + side_0 * 2)[0];
                const f32 m_0 = as_f32(mv_0.x);
                const f32 m_1 = as_f32(mv_0.y);
                const f32 m_2 = as_f32(mv_0.z);

                const f32 p_1_0 = p_0_0 * m_0;
                const f32 p_1_1 = p_0_1 * m_1;
                const f32 p_1_2 = p_0_2 * m_2;
                if (node[id_1].x) {
            /* level 1 */
            const u32 left_1 = node[id_1].x, feature_1 = node[id_1].y, before_1 = node[id_1].z >> 8;
            const u32 way_1 = (on >> before_1) & 1
                ? goes_right(x[(u64)feature_1 * 128], node + id_1) : GONE;
            GLOBAL const u32x4* step_1 = step + (u64)((left_1 - 1) / 2 * 3 + way_1) * 4;
            const u32 hidden_1 = hidden;
            hidden |= 1u << before_1;
            f32 a_1_0 = 0.0f, b_2_0;
            f32 a_1_1 = 0.0f, b_2_1;
            f32 a_1_2 = 0.0f, b_2_2;
            for (u32 side_1 = 0; side_1 < n_sides; side_1++) {
                on = (on & ~(1u << 1)) | ((u32)(way_1 == side_1) << 1);
                const u32 id_2 = left_1 + side_1;
                const u32x4 mv_0 = (step_1 + side_1 * 2)[0];
                const f32 m_0 = as_f32(mv_0.x);
                const f32 m_1 = as_f32(mv_0.y);
                const f32 m_2 = as_f32(mv_0.z);

                const f32 p_2_0 = p_1_0 * m_0;
                const f32 p_2_1 = p_1_1 * m_1;
                const f32 p_2_2 = p_1_2 * m_2;
                if (0) {
                } else {
                    const f32 value = as_f32(node[id_2].w);
                    b_2_0 = p_2_0 * value;
                    b_2_1 = p_2_1 * value;
                    b_2_2 = p_2_2 * value;
                }
                if (!side_1) a_1_0 = b_2_0;
                if (!side_1) a_1_1 = b_2_1;
                if (!side_1) a_1_2 = b_2_2;
            }
            {
                const u32x4 cv_0 = (step_1)[0];
                const u32x4 cv_1 = (step_1)[1];
                const f32 c_0 = as_f32(cv_0.w);
                const f32 c_1 = as_f32(cv_1.x);
                const f32 c_2 = as_f32(cv_1.y);

                const u32x4 dv_0 = (step_1 + 2)[0];
                const u32x4 dv_1 = (step_1 + 2)[1];
                const f32 d_0 = as_f32(dv_0.w);
                const f32 d_1 = as_f32(dv_1.x);
                const f32 d_2 = as_f32(dv_1.y);

                const f32 l_0 = c_0 * a_1_0;
                const f32 r_0 = d_0 * b_2_0;
                const f32 change_0 = l_0 + r_0;
                const f32 l_1 = c_1 * a_1_1;
                const f32 r_1 = d_1 * b_2_1;
                const f32 change_1 = l_1 + r_1;
                const f32 l_2 = c_2 * a_1_2;
                const f32 r_2 = d_2 * b_2_2;
                const f32 change_2 = l_2 + r_2;
                if (!((hidden >> 0) & 1)) {
                    GLOBAL const u32x4* both = told + (u64)(2 * id_1 + ((on >> 0) & 1)) * 1;
                const u32x4 ev_0 = (both)[0];
                const f32 e_0 = as_f32(ev_0.x);
                const f32 e_1 = as_f32(ev_0.y);
                const f32 e_2 = as_f32(ev_0.z);

                const f32 t_0 = e_0 * change_0;
                const f32 t_1 = e_1 * change_1;
                const f32 t_2 = e_2 * change_2;
                const f32 total_1 = t_0 + t_1;
                const f32 total_2 = total_1 + t_2;
                const f32 total = total_2;

                const u64 low = feature_0 < feature_1 ? feature_0 : feature_1;
                const u64 high = feature_0 < feature_1 ? feature_1 : feature_0;
                sums[(high * (high - 1) / 2 + low) * 128] += round_to_i64(total * 0.5f);

                }
                const f32 total_1 = change_0 + change_1;
                const f32 total_2 = total_1 + change_2;
                const f32 total = total_2;

                sums[(u64)(first_feature + feature_1) * 128] += round_to_i64(total);
            }
            b_1_0 = a_1_0 + b_2_0;
            b_1_1 = a_1_1 + b_2_1;
            b_1_2 = a_1_2 + b_2_2;
            hidden = hidden_1;

                } else {
                    const f32 value = as_f32(node[id_1].w);
                    b_1_0 = p_1_0 * value;
                    b_1_1 = p_1_1 * value;
                    b_1_2 = p_1_2 * value;
                }
                if (!side_0) a_0_0 = b_1_0;
                if (!side_0) a_0_1 = b_1_1;
                if (!side_0) a_0_2 = b_1_2;
            }
            {
                const u32x4 cv_0 = (step_0)[0];
                const u32x4 cv_1 = (step_0)[1];
                const f32 c_0 = as_f32(cv_0.w);
                const f32 c_1 = as_f32(cv_1.x);
                const f32 c_2 = as_f32(cv_1.y);

                const u32x4 dv_0 = (step_0 + 2)[0];
                const u32x4 dv_1 = (step_0 + 2)[1];
                const f32 d_0 = as_f32(dv_0.w);
                const f32 d_1 = as_f32(dv_1.x);
                const f32 d_2 = as_f32(dv_1.y);

                const f32 l_0 = c_0 * a_0_0;
                const f32 r_0 = d_0 * b_1_0;
                const f32 change_0 = l_0 + r_0;
                const f32 l_1 = c_1 * a_0_1;
                const f32 r_1 = d_1 * b_1_1;
                const f32 change_1 = l_1 + r_1;
                const f32 l_2 = c_2 * a_0_2;
                const f32 r_2 = d_2 * b_1_2;
                const f32 change_2 = l_2 + r_2;
                const f32 total_1 = change_0 + change_1;
                const f32 total_2 = total_1 + change_2;
                const f32 total = total_2;

                sums[(u64)(first_feature + feature_0) * 128] += round_to_i64(total);
            }
            b_0_0 = a_0_0 + b_1_0;
            b_0_1 = a_0_1 + b_1_1;
            b_0_2 = a_0_2 + b_1_2;
            hidden = hidden_0;


        }
    }
}
