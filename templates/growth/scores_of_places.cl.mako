## scores_of_places: what the borders of a feature gain in all outputs' nodes at a place; `vector_split` imports it
##
##   cells of a node   |sums up to border 0|up to 1| .. |missing|      as `border_sums` leaves them
##
##   add_roughly   in one float
##   exact_gain    in two floats
##
##   The importing template has RUN, borders of a work-item at a time.

<%def name="real_gains()">
#define MOST_GAIN 1.2980742e33f /* 2^110: the sum of 2^16 of them is finite */

/* A gain in real units. */
FN df real_gain(const df gain, const i32 power) {
    const f32 hi = finite(scale_by(gain.hi, power)), lo = not_tiny(scale_by(gain.lo, power));
    if (hi > MOST_GAIN) return df_make(MOST_GAIN, 0.0f);
    if (hi < -MOST_GAIN) return df_make(-MOST_GAIN, 0.0f);
    return df_make(hi, lo);
}
</%def>
<%def name="functions(wg_size, rough, monotone, categories)">
<%
    sides = "sides_of(&part)" if categories else "part.rule"
    looked_at = "(place->by_set ? place->flags[place->n_bins] : place->n_bins)" if categories else "place->n_bins"
%>
${real_gains()}
/* The nodes of a place, and one of its features. */
typedef struct {
    GLOBAL const node_t* nodes;  /* of the level */
    GLOBAL const i64x2* sums;    /* of nodes */
    GLOBAL const scale_t* scale;
% if monotone:
    GLOBAL const bounds_t* bounds; /* of nodes */
    u32 constraint;                /* of the feature */
% endif
    GLOBAL const i64* pool;      /* the feature's cells in slot 0 */
    u64 slot_cells;
    u32 n_bins, n_borders;       /* borders of both directions, or 0 if the place may not split on the feature */
    u32 first, width, n_own;     /* of an output: the place's first node and number of nodes; nodes of the level */
    u32 n_nodes;                 /* of the place */
    f32 lambda, alpha, max_delta, min_child_weight;
% if categories:
    u32 by_set;                  /* as in `borders`; cells of sets are as those of a feature with missing values */
    f32 set_lambda;
    GLOBAL const u32* flags;     /* of borders between levels, see `symmetric_sets` */
% endif
} place_t;

/* A node of a place, and what its borders are scored with. */
typedef struct { i64x2 sums; rule_t rule; least_t least; GLOBAL const i64* cells;${" f32 lambda;" if categories else ""} } part_t;

/* Whether a place may split at a border, as `left_of` has it. */
FN int is_open(const place_t* place, const u32 at) {
% if categories:
    const u32 left = at >= place->n_bins, bin = at - left * place->n_bins;
    return !place->by_set || (bin < place->flags[place->n_bins] && ((place->flags[bin] >> left) & 1));
% else:
    (void)place; (void)at;
    return 1;
% endif
}

% if categories:
/* Let the borders of a feature be those between levels, if it has some: `of_set` is its entry in `borders`. */
FN void take_sets(place_t* place, const u32x4 of_set, GLOBAL const i64* border_sums, const u32 n_cells,
                  const f32 set_lambda) {
    place->by_set = of_set.x;
    place->set_lambda = of_set.x == 1 ? set_lambda : place->lambda;
    if (of_set.x) {
        place->pool = border_sums + 2 * (u64)of_set.y;
        place->slot_cells = 2 * (u64)n_cells;
        place->n_bins = of_set.z;
        place->n_borders = 2 * of_set.z;
    }
}

/* The rule for the children of a node. */
FN rule_t sides_of(const part_t* part) {
    rule_t sides = part->rule;
    sides.lambda = part->lambda;
    return sides;
}

% endif

FN part_t part_of(const place_t* place, const u32 i) {
    const u32 index = i / place->width * place->n_own + place->first + i % place->width;
    GLOBAL const scale_t* own_scale = place->scale + place->nodes[index].tree;
    part_t part;
    part.sums = place->sums[index];
    part.rule = make_rule(own_scale, place->lambda, place->alpha, place->max_delta);
% if monotone:
    part.rule = within(part.rule, place->bounds[index]);
% endif
    part.least = least_child(place->min_child_weight, own_scale);
    part.cells = place->pool + (u64)place->nodes[index].slot * place->slot_cells;
% if categories:
    part.lambda = make_rule(own_scale, place->set_lambda, place->alpha, place->max_delta).lambda;
% endif
    return part;
}

/* Sums of a part's left side at a border; behind `n_bins` borders are those with missing values to the left. */
FN i64x2 left_of(const part_t* part, const u32 n_bins, const u32 at) {
    const u32 left = at >= n_bins, bin = at - left * n_bins;
    return MAKE_I64X2(part->cells[2 * bin] + (left ? part->cells[2 * n_bins] : 0),
                      part->cells[2 * bin + 1] + (left ? part->cells[2 * n_bins + 1] : 0));
}

/* The sum over a place's nodes, in their order, of what a border gains in real units${"; NO_SCORE if it has some" if monotone else ""}${"""
   node's children in the wrong order""" if monotone else ""}. */
FN df exact_gain(const place_t* place, const u32 at) {
    df sum = df_make(0.0f, 0.0f);
    IN_ORDER
    for (u32 i = 0; i < place->n_nodes; i++) {
        const part_t part = part_of(place, i);
        if (part.sums.y <= 0) continue;
        const i64x2 left = left_of(&part, place->n_bins, at);
        if (is_idle(part.sums.x, part.sums.y, left.x, left.y, part.least)) continue;
% if monotone:
        if (breaks_order_in_node(place->constraint, left.x, left.y, part.sums.x, part.sums.y, part.least, part.rule))
            return df_make(NO_SCORE, 0.0f);
% endif
        sum = df_add(sum, real_gain(gain_in_node(left.x, left.y, part.sums.x, part.sums.y, part.least, part.rule,
                                                 ${sides}), part.rule.gain_power));
    }
    return sum;
}

% if rough:
/* The rough score of a border in a node, in real units; where the split is idle, the node's `own`. */
FN f32 rough_part(const part_t* part, const f32 own, const i64 g, const i64 h) {
    const int idle = is_idle(part->sums.x, part->sums.y, g, h, part->least);
    const f32 both = rough_scores(g, h, part->sums.x - g, part->sums.y - h, ${"sides_of(part)" if categories else "part->rule"});
    return scale_by(idle ? own : both, part->rule.gain_power);
}

/* Add up the rough scores of a work-item's borders from the bin `begin` on, in one float; behind RUN of them are
   those with missing values to the left. */
FN void add_roughly(const place_t* place, const u32 begin, f32* sums) {
    const u32 n_bins = place->n_borders ? ${looked_at} : 0, missing = place->n_bins;
    const u32 left = begin < n_bins ? (n_bins - begin + ${wg_size - 1}) / ${wg_size} : 0, n_own = left < RUN ? left : RUN;
    const int both = place->n_borders > place->n_bins;
    for (u32 k = 0; k < 2 * RUN; k++) sums[k] = 0.0f;
    for (u32 i = 0; i < place->n_nodes; i++) {
        const part_t part = part_of(place, i);
        if (part.sums.y <= 0) continue;
        const f32 own = rough_score(part.sums.x, part.sums.y, part.rule);
        const i64 more_g = both ? part.cells[2 * missing] : 0, more_h = both ? part.cells[2 * missing + 1] : 0;
        for (u32 k = 0; k < n_own; k++) {
            const u32 bin = begin + k * ${wg_size};
            const i64 g = part.cells[2 * bin], h = part.cells[2 * bin + 1];
            sums[k] += rough_part(&part, own, g, h);
            if (both) sums[RUN + k] += rough_part(&part, own, g + more_g, h + more_h);
        }
    }
}

/* How far a rough sum may be off, as a share of it: 2^-16, and 2^-22 for each node. */
FN f32 rough_error(const place_t* place) { return 1.52587891e-5f + (f32)place->n_nodes * 2.38418579e-7f; }

#define NO_BORDER 0xFFFFFFFFu

/* The border of which `sums[k]` tells, of those of a work-item from `begin` on; NO_BORDER if there is none. */
FN u32 border_of(const place_t* place, const u32 begin, const u32 k) {
    const u32 bin = begin + k % RUN * ${wg_size}, at = k / RUN * place->n_bins + bin;
    return bin < place->n_bins && at < place->n_borders && is_open(place, at) ? at : NO_BORDER;
}

/* What the best of a work-item's borders from `begin` on scores at least. */
FN f32 least_best(const place_t* place, const u32 begin, const f32* sums) {
    f32 best = NO_SCORE;
    for (u32 k = 0; k < 2 * RUN; k++) {
        const f32 least = sums[k] - sums[k] * rough_error(place);
        best = border_of(place, begin, k) != NO_BORDER && least > best ? least : best;
    }
    return best;
}

% endif
</%def>
