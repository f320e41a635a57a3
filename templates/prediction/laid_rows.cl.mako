## laid_rows: what the kernels of contributions share; a library of `contributions` and `contribution_tables`
##
##   lay_rows    values of a block of wg_size * rows rows, one column after the other
##   told_sums   each row's sums, one after the other, added up over the work-groups that share trees
##
<%page args=""/>
<%def name="kernels(wg_size, rows, categories)">\
<% block = wg_size * rows %>\
KERNEL(${wg_size}) lay_rows(
        const u64 n_rows, const u32 n_features, const u32 n_used, const u32 n_blocks,
        GLOBAL const u32* RESTRICT columns, GLOBAL const f32* RESTRICT values, GLOBAL f32* RESTRICT laid) {
    for (u64 block = GROUP_ID; block < n_blocks; block += N_GROUPS) {
        GLOBAL f32* own = laid + block * n_used * ${block} + LOCAL_ID;
        for (u32 item = 0; item < ${rows}; item++) {
            const u64 row = block * ${block} + item * ${wg_size} + LOCAL_ID;
            for (u32 place = 0; place < n_used; place++)
                own[(u64)place * ${block} + item * ${wg_size}] =
                    row < n_rows ? values[row * n_features + columns[place]] : 0.0f;
        }
    }
}

/* found[row, output, i] = the sum at told[i], 0 for NO_PLACE; quanta[chunk, block, place, row of the block] */
#define NO_PLACE 0xFFFFFFFFu
KERNEL(${wg_size}) told_sums(
        const u64 n_rows, const u32 n_blocks, const u32 n_places, const u32 n_chunks, const u32 n_told,
        const u32 output, const u32 n_outputs, GLOBAL const u32* RESTRICT told, GLOBAL const i64* RESTRICT quanta,
        GLOBAL i64* RESTRICT found) {
    const u64 n = (u64)n_blocks * n_places * ${block};
    for (u64 row = GROUP_ID; row < n_rows; row += N_GROUPS) {
        GLOBAL const i64* own = quanta + row / ${block} * n_places * ${block} + row % ${block};
        GLOBAL i64* line = found + (row * n_outputs + output) * n_told;
        for (u32 i = LOCAL_ID; i < n_told; i += ${wg_size}) {
            i64 sum = 0;
            if (told[i] != NO_PLACE)
                for (u32 chunk = 0; chunk < n_chunks; chunk++) sum += own[chunk * n + (u64)told[i] * ${block}];
            line[i] = sum;
        }
    }
}

/* nodes[i] = (left, feature, default_left and more, number): walk_t. Of default_left, the bits from the 8th on are the
   level of the last node above with the same feature. */
FN u32 goes_right(const f32 value, GLOBAL const u32x4* at${", GLOBAL const u32* sets" if categories else ""}) {
% if categories:
    GLOBAL const walk_t* node = (GLOBAL const walk_t*)at;
    return 1 - walk_goes_left(value, node, sets);
% else:
    return 1 - value_goes_left(value, as_f32(at->w), at->z & 1);
% endif
}
</%def>
