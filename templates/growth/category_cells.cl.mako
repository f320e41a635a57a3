## category_cells: sums of a categorical feature's levels; `category_split` and `category_sets` import it

<%namespace name="group" file="group.cl.mako"/>

<%def name="read(wg_size)">
${group.exclusive_scans("cell_scan", "i64", wg_size, 2)}
/* Read a node's sums at the levels of a feature: the fullest code has what the others leave. */
FN level_sums_t read_levels(const i64x2 own, GLOBAL const i64* cells, const u32 n_codes,
                            const u32 full, LOCAL i64* shared) {
    i64 g = 0, h = 0, before_g, before_h, all_g, all_h;
    for (u32 code = LOCAL_ID; code < n_codes; code += ${wg_size}) {
        const i64x2 sum = ((GLOBAL const i64x2*)cells)[code];
        g += code == full ? 0 : sum.x;
        h += code == full ? 0 : sum.y;
    }
    cell_scan(g, h, shared, &before_g, &all_g, &before_h, &all_h);
    level_sums_t sums;
    sums.cells = cells;
    sums.full = full;
    sums.full_g = own.x - all_g;
    sums.full_h = own.y - all_h;
    return sums;
}
</%def>
