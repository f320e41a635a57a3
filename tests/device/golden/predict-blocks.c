
#undef BARRIER
#define BARRIER() ((void)0)






KERNEL(1) predict(
        const u64 n_rows, const u64 first_row, const u32 n_features, const u32 first_output, const u32 first_tree,
        const u32 n_trees, const u32 longest, GLOBAL const f32* RESTRICT values,
        GLOBAL const walk_t* RESTRICT nodes,
        GLOBAL const u32* RESTRICT tree_begin, GLOBAL f32* RESTRICT margins) {
    const u32 begin = first_tree + GROUP_ID_Y * n_trees; /* all outputs have the same number of trees */
    margins += (first_output + GROUP_ID_Y) * n_rows;
    for (u32 item = 0; item < 64; item++) {
        const u64 row = first_row + ((u64)GROUP_ID * 64 + item) * 1 + LOCAL_ID;
        if (row >= n_rows) return;
        GLOBAL const f32* x = values + row * n_features;
        f32 margin = margins[row];
        IN_ORDER
        for (u32 tree = begin; tree < begin + n_trees; tree++) {
            GLOBAL const walk_t* node = nodes + tree_begin[tree];
            GLOBAL const walk_t* at = node;
            for (u32 step_count = 0; at->left && step_count < longest; step_count++) {
                const u32 left = value_goes_left(x[at->feature], at->number, at->default_left);
                at = node + at->left + 1 - left;
            }
            margin += at->number;
        }
        margins[row] = margin;
    }
}

/* shapes[tree] = (first place, levels, behind)
   tops[place] = (the column's offset in a block, key)
   ends[place] = bits of a leaf's value, or the node from which the walk goes on
   ways[node] = (left child, the column's offset in a block, key, bits of the value), only for trees
   with behind > 0 */
KERNEL(1) lay_out(
        const u32 n_trees, GLOBAL const walk_t* RESTRICT nodes,
        GLOBAL const u32* RESTRICT tree_begin, GLOBAL const u32* RESTRICT shapes,
        GLOBAL const u32* RESTRICT column_of, GLOBAL u32* RESTRICT tops, GLOBAL u32* RESTRICT ends,
        GLOBAL u32* RESTRICT ways) {
    const u64 tree = GLOBAL_ID;
    if (tree >= n_trees) return;
    GLOBAL const walk_t* node = nodes + tree_begin[tree];
    GLOBAL u32* top = tops + 2 * (u64)shapes[3 * tree];
    GLOBAL u32* end = ends + shapes[3 * tree];
    const u32 n_ends = 1u << shapes[3 * tree + 1];
    const u32 behind = shapes[3 * tree + 2];
    top[5] = 0; /* until a node is visited, its id is stored instead of its key */
    for (u64 place = 2; place <= n_ends; place++) {
        const u32 id = top[2 * place + 1];
        const u32 left = node[id].left;
        top[2 * place] = left ? column_of[2 * node[id].feature + node[id].default_left] * 128
                              : 0;
        top[2 * place + 1] = left ? ordered(node[id].number) : ABOVE_ALL;
        for (u32 side = 0; side < 2; side++) {
            const u64 child = 2 * place - 1 + side;
            const u32 child_id = left ? left + side : id;
            if (child <= n_ends) top[2 * child + 1] = child_id;
            else end[child - n_ends - 1] = behind ? child_id : as_u32(node[child_id].number);
        }
    }
    if (!behind) return;
    GLOBAL u32* way = ways + 4 * (u64)tree_begin[tree];
    const u32 n_nodes = tree_begin[tree + 1] - tree_begin[tree];
    for (u32 id = 0; id < n_nodes; id++) {
        const u32 left = node[id].left;
        way[4 * (u64)id] = left ? left : id;
        const u32 column = 2 * node[id].feature + node[id].default_left;
        way[4 * (u64)id + 1] = left ? column_of[column] * 128 : 0;
        way[4 * (u64)id + 2] = left ? ordered(node[id].number) : ABOVE_ALL;
        way[4 * (u64)id + 3] = as_u32(node[id].number);
    }
}

/* columns[column] = 2 * feature + (missing goes left); keys[work-item, column, row of its block] */
KERNEL(1) predict_blocks(
        const u64 n_rows, const u32 n_features, const u32 n_columns, const u32 first_tree,
        const u32 n_trees, GLOBAL const f32* RESTRICT values, GLOBAL const u32* RESTRICT columns,
        GLOBAL const u32* RESTRICT tree_begin, GLOBAL const u32* RESTRICT shapes,
        GLOBAL const u32* RESTRICT tops, GLOBAL const u32* RESTRICT ends,
        GLOBAL const u32* RESTRICT ways,
        GLOBAL u32* RESTRICT keys, GLOBAL f32* RESTRICT margins) {
    GLOBAL u32* x = keys + GLOBAL_ID * n_columns * 128;
    u32 at[128];
    f32 sum[128];
    for (u64 first = GLOBAL_ID * 128; first < n_rows;
         first += (u64)N_GROUPS * 128) {
        const u32 here = n_rows - first < 128 ? (u32)(n_rows - first) : 128;
        for (u32 column = 0; column < n_columns; column++) {
            const u32 default_left = columns[column] & 1;
            GLOBAL u32* key = x + (u64)column * 128;
            GLOBAL const f32* value = values + first * n_features + (columns[column] >> 1);
            for (u32 row = 0; row < here; row++)
                key[row] = value_key(value[(u64)row * n_features], default_left);
            for (u32 row = here; row < 128; row++) key[row] = 0;
        }
        for (u32 row = 0; row < 128; row++) sum[row] = 0.0f;
        for (u32 row = 0; row < here; row++) sum[row] = margins[first + row];
        for (u32 tree = first_tree; tree < first_tree + n_trees; tree++) {
            const u64 first_place = shapes[3 * (u64)tree];
            const u32 levels = shapes[3 * (u64)tree + 1];
            const u32 behind = shapes[3 * (u64)tree + 2];
            GLOBAL const u32* top = tops + 2 * first_place;
            /* the first two levels together, vectorised: all rows read the same three nodes */
            GLOBAL const u32* x_2 = x + top[4];
            GLOBAL const u32* x_3 = x + top[6];
            GLOBAL const u32* x_4 = x + top[8];
            const u32 key_2 = top[5], key_3 = top[7], key_4 = top[9];
            for (u32 row = 0; row < 128; row++) {
                const u32 left = key_goes_left(x_2[row], key_2);
                const u32 left_3 = key_goes_left(x_3[row], key_3);
                const u32 left_4 = key_goes_left(x_4[row], key_4);
                at[row] = 8 - 2 * left - (left ? left_3 : left_4);
            }
            /* several rows in turn, so that their loads overlap; 64-bit places need no sign extension */
            const u64 first_end = first_place - ((u64)1 << levels) - 1;
            for (u32 row = 0; row < 128; row += 8) {
                GLOBAL const u32* x_row = x + row;
                u32* at_row = at + row;
                u64 at_0 = at_row[0];
                u64 at_1 = at_row[1];
                u64 at_2 = at_row[2];
                u64 at_3 = at_row[3];
                u64 at_4 = at_row[4];
                u64 at_5 = at_row[5];
                u64 at_6 = at_row[6];
                u64 at_7 = at_row[7];
                for (u32 level = 2; level < levels; level++) {
                    const u64 column_0 = top[2 * at_0];
                    at_0 = 2 * at_0
                        - (u64)key_goes_left(x_row[column_0 + 0], top[2 * at_0 + 1]);
                    const u64 column_1 = top[2 * at_1];
                    at_1 = 2 * at_1
                        - (u64)key_goes_left(x_row[column_1 + 1], top[2 * at_1 + 1]);
                    const u64 column_2 = top[2 * at_2];
                    at_2 = 2 * at_2
                        - (u64)key_goes_left(x_row[column_2 + 2], top[2 * at_2 + 1]);
                    const u64 column_3 = top[2 * at_3];
                    at_3 = 2 * at_3
                        - (u64)key_goes_left(x_row[column_3 + 3], top[2 * at_3 + 1]);
                    const u64 column_4 = top[2 * at_4];
                    at_4 = 2 * at_4
                        - (u64)key_goes_left(x_row[column_4 + 4], top[2 * at_4 + 1]);
                    const u64 column_5 = top[2 * at_5];
                    at_5 = 2 * at_5
                        - (u64)key_goes_left(x_row[column_5 + 5], top[2 * at_5 + 1]);
                    const u64 column_6 = top[2 * at_6];
                    at_6 = 2 * at_6
                        - (u64)key_goes_left(x_row[column_6 + 6], top[2 * at_6 + 1]);
                    const u64 column_7 = top[2 * at_7];
                    at_7 = 2 * at_7
                        - (u64)key_goes_left(x_row[column_7 + 7], top[2 * at_7 + 1]);
                }
                at_row[0] = ends[first_end + at_0];
                at_row[1] = ends[first_end + at_1];
                at_row[2] = ends[first_end + at_2];
                at_row[3] = ends[first_end + at_3];
                at_row[4] = ends[first_end + at_4];
                at_row[5] = ends[first_end + at_5];
                at_row[6] = ends[first_end + at_6];
                at_row[7] = ends[first_end + at_7];
            }
            if (behind) {
                GLOBAL const u32* way = ways + 4 * (u64)tree_begin[tree];
                for (u32 row = 0; row < 128; row += 8) {
                    GLOBAL const u32* x_row = x + row;
                u32* at_row = at + row;
                    u64 at_0 = at_row[0];
                    u64 at_1 = at_row[1];
                    u64 at_2 = at_row[2];
                    u64 at_3 = at_row[3];
                    u64 at_4 = at_row[4];
                    u64 at_5 = at_row[5];
                    u64 at_6 = at_row[6];
                    u64 at_7 = at_row[7];
                    u64 moved = 1;
                    for (u32 step_count = 0; moved && step_count < behind; step_count++) {
                        moved = 0;
                        const u64 column_0 = way[4 * at_0 + 1];
                        const u64 to_0 = (u64)way[4 * at_0] + 1
                            - (u64)key_goes_left(x_row[column_0 + 0], way[4 * at_0 + 2]);
                        moved |= to_0 ^ at_0;
                        at_0 = to_0;
                        const u64 column_1 = way[4 * at_1 + 1];
                        const u64 to_1 = (u64)way[4 * at_1] + 1
                            - (u64)key_goes_left(x_row[column_1 + 1], way[4 * at_1 + 2]);
                        moved |= to_1 ^ at_1;
                        at_1 = to_1;
                        const u64 column_2 = way[4 * at_2 + 1];
                        const u64 to_2 = (u64)way[4 * at_2] + 1
                            - (u64)key_goes_left(x_row[column_2 + 2], way[4 * at_2 + 2]);
                        moved |= to_2 ^ at_2;
                        at_2 = to_2;
                        const u64 column_3 = way[4 * at_3 + 1];
                        const u64 to_3 = (u64)way[4 * at_3] + 1
                            - (u64)key_goes_left(x_row[column_3 + 3], way[4 * at_3 + 2]);
                        moved |= to_3 ^ at_3;
                        at_3 = to_3;
                        const u64 column_4 = way[4 * at_4 + 1];
                        const u64 to_4 = (u64)way[4 * at_4] + 1
                            - (u64)key_goes_left(x_row[column_4 + 4], way[4 * at_4 + 2]);
                        moved |= to_4 ^ at_4;
                        at_4 = to_4;
                        const u64 column_5 = way[4 * at_5 + 1];
                        const u64 to_5 = (u64)way[4 * at_5] + 1
                            - (u64)key_goes_left(x_row[column_5 + 5], way[4 * at_5 + 2]);
                        moved |= to_5 ^ at_5;
                        at_5 = to_5;
                        const u64 column_6 = way[4 * at_6 + 1];
                        const u64 to_6 = (u64)way[4 * at_6] + 1
                            - (u64)key_goes_left(x_row[column_6 + 6], way[4 * at_6 + 2]);
                        moved |= to_6 ^ at_6;
                        at_6 = to_6;
                        const u64 column_7 = way[4 * at_7 + 1];
                        const u64 to_7 = (u64)way[4 * at_7] + 1
                            - (u64)key_goes_left(x_row[column_7 + 7], way[4 * at_7 + 2]);
                        moved |= to_7 ^ at_7;
                        at_7 = to_7;
                    }
                    at_row[0] = way[4 * at_0 + 3];
                    at_row[1] = way[4 * at_1 + 3];
                    at_row[2] = way[4 * at_2 + 3];
                    at_row[3] = way[4 * at_3 + 3];
                    at_row[4] = way[4 * at_4 + 3];
                    at_row[5] = way[4 * at_5 + 3];
                    at_row[6] = way[4 * at_6 + 3];
                    at_row[7] = way[4 * at_7 + 3];
                }
            }
            for (u32 row = 0; row < 128; row++) sum[row] += as_f32(at[row]);
        }
        for (u32 row = 0; row < here; row++) margins[first + row] = sum[row];
    }
}
