## draw_partners: draw, for every row, rows of its query with other labels (pair method "mean")
## uses: random
##
##   by_label    d b | a c e | f        rows of a query, largest label first; | between labels
##   a draws from d b f: index 0..1 is before the rows with its label, 2 is after them
##
##   A random number is a hash of seed, round, row and pair, so it is the same for any work-group size.
##   Rows count from `first_row`, the number of the member's first row among those of a team.
##
## params: wg_size
<%page args="wg_size"/>
/* partners[pair, row]: a row of another label, or the row itself if there is none */
KERNEL(${wg_size}) draw_partners(
        const u32 n_rows, const u32 first_row, const u32 n_pairs, const u32 seed, GLOBAL const u32* RESTRICT number,
        GLOBAL const u32* RESTRICT offsets, GLOBAL const u32* RESTRICT query,
        GLOBAL const u32* RESTRICT by_label, GLOBAL const u32* RESTRICT bucket_begin,
        GLOBAL const u32* RESTRICT bucket_end, GLOBAL u32* RESTRICT partners) {
    const u32 of_round = mix(mix(seed + 0x9E3779B9u) + number[0]);
    const u32 own_begin = (u32)((u64)n_rows * GROUP_ID / N_GROUPS);
    const u32 own_end = (u32)((u64)n_rows * (GROUP_ID + 1) / N_GROUPS);
    for (u32 row = own_begin + LOCAL_ID; row < own_end; row += ${wg_size}) {
        const u32 first = offsets[query[row]], end = offsets[query[row] + 1];
        const u32 begin = bucket_begin[row], behind = bucket_end[row];
        const u32 others = end - first - (behind - begin);
        const u32 of_row = mix(of_round + first_row + row);
        for (u32 pair = 0; pair < n_pairs; pair++) {
            const u32 place = (u32)(((u64)mix(of_row + pair) * others) >> 32);
            const u32 chosen = place < begin ? place : place - begin + behind;
            partners[(u64)pair * n_rows + row] = others ? first + by_label[first + chosen] : row;
        }
    }
}
