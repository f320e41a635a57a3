## level_searches: features of a symmetric tree's level, searched by one work-item; `whole_symmetric` imports it
##
##   bins      |of the smaller child's rows|   in a work-group's own memory, for a few features at a time
##   smaller   |sums up to borders|            added up from these
##   parent    |sums up to borders|            becomes the larger child's, as its own minus the smaller one's
##   borders   |. . . .|                       what they gain roughly, added up over nodes while their sums are in the cache
##
##   The importing template has `pairs_of_nodes`, `level_borders` and `level_scores`.

<%def name="functions(at_once, noisy)">
/* The best splits of a level so far, by tree and feature. */
typedef struct {
    GLOBAL f32* rough_sums;
    GLOBAL f32* rough_best;
% if noisy:
    GLOBAL f32* noisy_ranks;
% endif
    GLOBAL candidate_t* candidates;
} found_t;

/* Add up a node's bins to sums up to every border. They are taken from `other`'s, which are its parent's until now. */
FN void add_up_pair(GLOBAL const i64x2* bins, GLOBAL i64x2* cells, GLOBAL i64x2* other, const u32 n_bins, const u32 n_codes,
                    const u32 subtract) {
    i64x2 sum = MAKE_I64X2(0, 0);
    for (u32 code = 0; code < n_codes; code++) {
        sum = code < n_bins ? ADD_I64X2(sum, bins[code]) : bins[code];
        cells[code] = sum;
        if (subtract) other[code] = SUB_I64X2(other[code], sum);
    }
}

/* Find what the borders of a tree's features begin .. end - 1 gain roughly, in all nodes of a level. */
FN void search_roughly(const data_t* data, const u32 depth, const u32 last, const u32 tree, const u32 begin, const u32 end,
                       const level_borders_t* levels, GLOBAL const u32* rows, GLOBAL const scale_t* scale,
                       GLOBAL i64x2* pool, GLOBAL i64x2* scratch, const found_t found) {
    f32 sums[${at_once}][2][MOST_BINS];
    const level_borders_t* first = &levels[0];
    const u32 stride = depth ? 2 : 1, n_own = end - begin;
    for (u32 k = 0; k < n_own; k++)
        for (u32 border = 0; border < levels[k].n_searched; border++) sums[k][0][border] = sums[k][1][border] = 0.0f;
    for (u32 node = 0; node < first->n_nodes; node += stride) {
        const u32 built = node + (depth && first->nodes[node].sibling_slot >= 0), other = 2 * node + stride - 1 - built;
        GLOBAL i64x2* cells = pool + (u64)first->nodes[built].slot * data->n_codes;
        GLOBAL i64x2* parent = pool + (u64)first->nodes[other].slot * data->n_codes;
        if (first->sums[built].y > 0) { /* nodes without weight are never read */
            u32 n = 1;
            for (u32 k = 0; k < n_own; k += n) {
                n = n_own - k >= ${at_once} ? ${at_once} : (n_own - k >= 2 ? 2 : 1);
                u32 searched = 0;
                for (u32 i = k; i < k + n; i++) searched |= levels[i].n_searched;
                if (last && !searched) continue; /* no level below needs them */
                column_t own[${at_once}];
                for (u32 i = 0; i < n; i++) own[i] = column_of(data, begin + k + i, scratch + i * (MOST_BINS + 1));
                if (n == ${at_once}) build_${at_once}(data, own, first->nodes + built, rows, scale->wide);
                else if (n == 2) build_2(data, own, first->nodes + built, rows, scale->wide);
                else build_1(data, own, first->nodes + built, rows, scale->wide);
                for (u32 i = 0; i < n; i++) {
                    const u32 offset = data->feature_offset[begin + k + i];
                    add_up_pair(own[i].cells, cells + offset, parent + offset, data->feature_bins[begin + k + i],
                                data->feature_offset[begin + k + i + 1] - offset, depth > 0);
                }
            }
        }
        for (u32 k = 0; k < n_own; k++)
            for (u32 direction = 0; direction < levels[k].directions; direction++)
                for (u32 i = node; i < node + stride; i++)
                    add_roughly(&levels[k], i, 0, levels[k].n_searched, direction, sums[k][direction], sums[k][direction]);
    }
    for (u32 k = 0; k < n_own; k++) {
        f32 best = NO_SCORE;
        GLOBAL f32* most = found.rough_sums + 2 * ((u64)tree * data->n_codes + data->feature_offset[begin + k]);
        for (u32 direction = 0; direction < levels[k].directions; direction++)
            best = bound_sums(&levels[k], 0, levels[k].n_searched, direction, sums[k][direction], sums[k][direction], most,
                              best);
        found.rough_best[(u64)tree * data->n_places + begin + k] = best;
    }
}

/* Find the best border of a feature that may be the best of all. */
FN void compare(const data_t* data, const u32 tree, const u32 feature, const level_borders_t* level, const found_t found) {
    const u64 first = (u64)tree * data->n_places;
    f32 least = NO_SCORE;
    for (u32 i = 0; i < data->n_places; i++)
        least = found.rough_best[first + i] > least ? found.rough_best[first + i] : least;
    GLOBAL const f32* most = found.rough_sums + 2 * ((u64)tree * data->n_codes + data->feature_offset[feature]);
    const border_t best = best_border(level, most, least, 0, 1);
% if noisy:
    found.noisy_ranks[first + feature] = best.rank.hi;
% endif
    GLOBAL candidate_t* out = &found.candidates[first + feature];
    out->left_g = out->left_h = 0;
    out->score_hi = best.gain.hi;
    out->score_lo = best.gain.lo;
    out->feature = feature;
    out->bin_direction = best.key;
}
</%def>
