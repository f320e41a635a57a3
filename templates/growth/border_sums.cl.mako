## border_sums: bins' sums of all nodes of a level become sums up to borders; `symmetric` and `vector_split` import it
##
##   cells of a node   |sums up to border 0|up to 1| .. |missing|      in place of the sums of bins
##
##   The importing template has `group_scan` for two i64.

<%def name="functions(wg_size)">
/* Cells of a node's feature: the bins' sums become sums up to each border. The fullest code's sums may
   be missing: they are what the others leave of the node's. `other` are the parent's cells, and become
   the sibling's. */
FN void add_up_node(GLOBAL i64* cells, GLOBAL i64* other, const int subtract, const u32 n_codes,
                    const u32 n_bins, const u32 full, const i64x2 sums, LOCAL i64* shared) {
    const u32 size = (n_codes + ${wg_size - 1}) / ${wg_size};
    const u32 begin = LOCAL_ID * size < n_codes ? LOCAL_ID * size : n_codes;
    const u32 end = begin + size < n_codes ? begin + size : n_codes;
    i64 g = 0, h = 0, all_g, all_h;
    for (u32 code = begin; code < end; code++) {
        g += code == full ? 0 : cells[2 * code];
        h += code == full ? 0 : cells[2 * code + 1];
    }
    group_scan(g, h, shared, &g, &all_g, &h, &all_h);
    const i64 full_g = sums.x - all_g, full_h = sums.y - all_h;
    if (begin > full) {
        g += full_g;
        h += full_h;
    }
    for (u32 code = begin; code < end; code++) {
        const i64 own_g = code == full ? full_g : cells[2 * code];
        const i64 own_h = code == full ? full_h : cells[2 * code + 1];
        g += own_g;
        h += own_h;
        cells[2 * code] = code == n_bins ? own_g : g;
        cells[2 * code + 1] = code == n_bins ? own_h : h;
        if (subtract) {
            other[2 * code] -= cells[2 * code];
            other[2 * code + 1] -= cells[2 * code + 1];
        }
    }
}
</%def>

<%def name="add_up(wg_size, categories)">
/* A work-group for a feature of two siblings, or of a root. Nodes without weight are never read. */
KERNEL(${wg_size}) add_up(
        const u32 depth, const u32 n_codes, GLOBAL const level_t* RESTRICT levels,
        GLOBAL const node_t* RESTRICT nodes, GLOBAL const i64x2* RESTRICT node_sums,
        GLOBAL const u32* RESTRICT feature_offset, GLOBAL const u32* RESTRICT feature_bins,
        GLOBAL const u32* RESTRICT fullest,
        ${"GLOBAL const u32x4* RESTRICT borders, " if categories else ""}GLOBAL i64* pool) {
    LOCAL_ARRAY(i64, shared, ${2 * wg_size});
    const u32 feature = GROUP_ID, offset = feature_offset[feature], each = depth ? 2 : 1;
    const u32 n_own = feature_offset[feature + 1] - offset;
% if categories:
    const u32 n_pairs = borders[feature].x ? 0 : levels[depth].count / each; /* add_up_sets does others */
% else:
    const u32 n_pairs = levels[depth].count / each;
% endif
    for (u32 pair = GROUP_ID_Y; pair < n_pairs; pair += N_GROUPS_Y) {
        const u32 left = levels[depth].first + each * pair;
        const u32 built = depth && nodes[left].sibling_slot >= 0 ? left + 1 : left;
        const u32 other = depth ? 2 * left + 1 - built : built;
        add_up_node(pool + 2 * ((u64)nodes[built].slot * n_codes + offset),
                    pool + 2 * ((u64)nodes[other].slot * n_codes + offset), depth > 0,
                    node_sums[built].y > 0 ? n_own : 0, feature_bins[feature], fullest[feature],
                    node_sums[built], shared);
    }
}
</%def>
