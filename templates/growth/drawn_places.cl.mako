## drawn_places: joint codes of the features that a tree has drawn, made anew for each tree
##
##   order        f7 f2 f5 f0 f1 ..                 all features, those of most codes first
##   drawn        f2 f5 f1                          of 200, 5 and 3 codes
##   places      |f2|f5 and f1|                     a feature joins the last place where it has room
##   codes        row 0: c0 c1 ..|row 1: c0 c1 ..   by blocks of so many places; (code of f5) * 3 + code of f1
##
##   list_places   what is at the places of a tree, as `JointCodes` tells it of all features
##   join_drawn    codes of a chunk of rows, place after place, so that a compiler makes vectors of them
##
## params: wg_size (1); places of a block, 4 in a word; chunk, rows that are joined at a time
<%page args="wg_size, places, chunk"/>
/* A work-group lists the places of one tree. */
KERNEL(${wg_size}) list_places(
        const u32 n_features, const u32 n_drawn, GLOBAL const u32* RESTRICT feature_offset,
        GLOBAL const u32* RESTRICT join_order, GLOBAL const u32* RESTRICT drawn_columns, GLOBAL u8* is_drawn,
        GLOBAL u32* RESTRICT drawn_places, GLOBAL u32* RESTRICT members, GLOBAL u32* RESTRICT digit_begin,
        GLOBAL u32* RESTRICT digit_cells, GLOBAL u32* RESTRICT place_cells) {
    const u32 tree = GROUP_ID;
    GLOBAL u8* own = is_drawn + (u64)tree * n_features;
    for (u32 feature = 0; feature < n_features; feature++) own[feature] = 0;
    for (u32 i = 0; i < n_drawn; i++) own[drawn_columns[tree * n_drawn + i]] = 1;
    digit_begin += tree * (n_drawn + 1);
    place_cells += tree * n_drawn;
    u32 n = 0, n_places = 0, cells = 256;
    for (u32 at = 0; at < n_features; at++) {
        const u32 feature = join_order[at];
        if (!own[feature]) continue;
        const u32 size = feature_offset[feature + 1] - feature_offset[feature];
        if (cells * size > 256) {
            digit_begin[n_places++] = n;
            cells = 1;
        }
        cells *= size;
        place_cells[n_places - 1] = cells;
        members[tree * n_drawn + n] = feature;
        digit_cells[tree * n_drawn + n++] = size;
    }
    digit_begin[n_places] = n;
    drawn_places[tree] = n_places;
}

KERNEL(${wg_size}) join_drawn(
        const u32 n_rows, const u32 n_drawn, GLOBAL const u8* RESTRICT by_feature,
        GLOBAL const u32* RESTRICT drawn_places, GLOBAL const u32* RESTRICT members,
        GLOBAL const u32* RESTRICT digit_begin, GLOBAL const u32* RESTRICT digit_cells, const u64 tree_codes,
        GLOBAL u8* RESTRICT place_codes) {
    u32 words[${chunk}];
    u8 joined[${chunk}];
    const u32 tree = GROUP_ID_Y, n_places = drawn_places[tree];
    members += tree * n_drawn;
    digit_begin += tree * (n_drawn + 1);
    digit_cells += tree * n_drawn;
    GLOBAL u32* codes = (GLOBAL u32*)(place_codes + tree * tree_codes);
    for (u32 begin = GROUP_ID * ${chunk}; begin < n_rows; begin += N_GROUPS * ${chunk}) {
        const u32 n = n_rows - begin < ${chunk} ? n_rows - begin : ${chunk};
        for (u32 first = 0; first < n_places; first += ${places}) {
            for (u32 i = 0; i < n; i++) words[i] = 0;
            for (u32 place = first; place < first + ${places} && place < n_places; place++) {
                const u32 shift = 8 * (place - first);
                for (u32 member = digit_begin[place]; member < digit_begin[place + 1]; member++) {
                    GLOBAL const u8* RESTRICT column = by_feature + (u64)members[member] * n_rows + begin;
                    const u8 size = (u8)digit_cells[member];
                    if (member == digit_begin[place]) for (u32 i = 0; i < n; i++) joined[i] = column[i];
                    else for (u32 i = 0; i < n; i++) joined[i] = (u8)(joined[i] * size + column[i]);
                }
                for (u32 i = 0; i < n; i++) words[i] |= (u32)joined[i] << shift;
            }
            GLOBAL u32* RESTRICT block = codes + (u64)(first / ${places}) * n_rows + begin;
            for (u32 i = 0; i < n; i++) block[i] = words[i];
        }
    }
}
