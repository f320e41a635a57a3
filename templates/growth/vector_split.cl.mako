## vector_split: the split of every node of trees whose leaves are vectors: that with the highest sum of gains
## uses: portable_math structs gain
## uses if not counted: children
## uses if counted: counted_children
## uses: growth tables
##
##   A tree of n outputs grows as n trees, one for each output, whose nodes at a place have the same rows. A level
##   has the nodes of the first tree, then those of the second, and so on:
##
##       nodes        |tree 0: 0 1 2 3|tree 1: 0 1 2 3|       4 places, 2 outputs
##       gain of 1            .               .               added up over the outputs, in their order
##
##   With symmetric trees a place has `width` neighbouring nodes of each output, those of a tree's level.
##
##   add_up   sums up to every border, in place; of two siblings, one is parent minus sibling
##   find     one work-group a (feature, place): the border with the highest sum of gains; a rough sum in one
##            float tells which borders are worth an exact one, in two floats
##   share    the best feature of a place, if it gains enough; what its split gives to each output's node
##
##   Outputs have scales of their own, so gains are added up in real units. In an output where a side is lighter
##   than min_child_weight, a split gains nothing, and both children keep the node's weight.
##   Order of splits: gain, then lowest feature, then lowest bin, then missing to the right.
##
## params: wg_size; run, borders of a work-item at a time; masked, nodes have features of their own; shrunk, gradients are;
##         counted as in `split`
<%page args="wg_size, run, masked, shrunk, counted"/>
<%namespace name="candidates" file="candidates.cl.mako"/>
<%namespace name="group" file="group.cl.mako"/>
<%namespace name="border_sums" file="border_sums.cl.mako"/>
${group.exclusive_scans("group_scan", "i64", wg_size, 2)}
${group.largest("group_max", "f32", wg_size) if not shrunk else ""}
${candidates.group_best(wg_size)}
${border_sums.functions(wg_size)}
#define NO_KEY 0xFFFFFFFFu
#define RUN ${run}
#define MOST_GAIN 1.2980742e33f /* 2^110: the sum of 2^16 of them is finite */

${border_sums.add_up(wg_size, False)}
/* A gain in real units. */
FN df real_gain(const df gain, const i32 power) {
    const f32 hi = finite(scale_by(gain.hi, power)), lo = not_tiny(scale_by(gain.lo, power));
    if (hi > MOST_GAIN) return df_make(MOST_GAIN, 0.0f);
    if (hi < -MOST_GAIN) return df_make(-MOST_GAIN, 0.0f);
    return df_make(hi, lo);
}

/* The nodes of a place, and one of its features. */
typedef struct {
    GLOBAL const node_t* nodes;  /* of the level */
    GLOBAL const i64x2* sums;    /* of nodes */
    GLOBAL const scale_t* scale;
    GLOBAL const i64* pool;      /* the feature's cells in slot 0 */
    u64 slot_cells;
    u32 n_bins, n_borders;       /* borders of both directions, or 0 if the place may not split on the feature */
    u32 first, width, n_own;     /* of an output: the place's first node and number of nodes; nodes of the level */
    u32 n_nodes;                 /* of the place */
    f32 lambda, alpha, max_delta, min_child_weight;
} place_t;

/* A node of a place, and what its borders are scored with. */
typedef struct { i64x2 sums; rule_t rule; least_t least; GLOBAL const i64* cells; } part_t;

FN part_t part_of(const place_t* place, const u32 i) {
    const u32 index = i / place->width * place->n_own + place->first + i % place->width;
    GLOBAL const scale_t* own_scale = place->scale + place->nodes[index].tree;
    part_t part;
    part.sums = place->sums[index];
    part.rule = make_rule(own_scale, place->lambda, place->alpha, place->max_delta);
    part.least = least_child(place->min_child_weight, own_scale);
    part.cells = place->pool + (u64)place->nodes[index].slot * place->slot_cells;
    return part;
}

/* Sums of a part's left side at a border; behind `n_bins` borders are those with missing values to the left. */
FN i64x2 left_of(const part_t* part, const u32 n_bins, const u32 at) {
    const u32 left = at >= n_bins, bin = at - left * n_bins;
    return MAKE_I64X2(part->cells[2 * bin] + (left ? part->cells[2 * n_bins] : 0),
                      part->cells[2 * bin + 1] + (left ? part->cells[2 * n_bins + 1] : 0));
}

/* The sum over a place's nodes, in their order, of what a border gains in real units. */
FN df exact_gain(const place_t* place, const u32 at) {
    df sum = df_make(0.0f, 0.0f);
    IN_ORDER
    for (u32 i = 0; i < place->n_nodes; i++) {
        const part_t part = part_of(place, i);
        if (part.sums.y <= 0) continue;
        const i64x2 left = left_of(&part, place->n_bins, at);
        if (is_idle(part.sums.x, part.sums.y, left.x, left.y, part.least)) continue;
        sum = df_add(sum, real_gain(gain_in_node(left.x, left.y, part.sums.x, part.sums.y, part.least, part.rule,
                                                 part.rule), part.rule.gain_power));
    }
    return sum;
}

% if not shrunk:
/* Add up the rough scores of a work-item's borders from `begin` on, in one float. */
FN void add_roughly(const place_t* place, const u32 begin, f32* sums) {
    for (u32 k = 0; k < RUN; k++) sums[k] = 0.0f;
    for (u32 i = 0; i < place->n_nodes; i++) {
        const part_t part = part_of(place, i);
        if (part.sums.y <= 0) continue;
        const f32 own = rough_score(part.sums.x, part.sums.y, part.rule);
        for (u32 k = 0; k < RUN; k++) {
            const u32 at = begin + k * ${wg_size};
            if (at >= place->n_borders) break;
            const i64x2 left = left_of(&part, place->n_bins, at);
            const int idle = is_idle(part.sums.x, part.sums.y, left.x, left.y, part.least);
            const f32 s = idle ? own : rough_scores(left.x, left.y, part.sums.x - left.x, part.sums.y - left.y, part.rule);
            sums[k] += scale_by(s, part.rule.gain_power);
        }
    }
}

/* How far a rough sum may be off, as a share of it: 2^-16, and 2^-22 for each node. */
FN f32 rough_error(const place_t* place) { return 1.52587891e-5f + (f32)place->n_nodes * 2.38418579e-7f; }

/* What the best of a work-item's borders scores at least. */
FN f32 least_best(const place_t* place) {
    f32 best = NO_SCORE;
    for (u32 begin = LOCAL_ID; begin < place->n_borders; begin += ${wg_size} * RUN) {
        f32 sums[RUN];
        add_roughly(place, begin, sums);
        for (u32 k = 0; k < RUN; k++) {
            const f32 least = sums[k] - sums[k] * rough_error(place);
            best = begin + k * ${wg_size} < place->n_borders && least > best ? least : best;
        }
    }
    return best;
}

% endif
KERNEL(${wg_size}) find(
        const u32 depth, const u32 n_outputs, const u32 width, const u32 n_features, const u32 n_codes,
        const f32 reg_lambda, const f32 reg_alpha, const f32 max_delta_step, const f32 min_child_weight,
        GLOBAL const u32* RESTRICT allowed, GLOBAL const level_t* RESTRICT levels,
        GLOBAL const node_t* RESTRICT nodes, GLOBAL const i64x2* RESTRICT node_sums,
        GLOBAL const scale_t* RESTRICT scale, GLOBAL const u32* RESTRICT feature_offset,
        GLOBAL const u32* RESTRICT feature_bins, GLOBAL const i64* RESTRICT pool,
        GLOBAL candidate_t* RESTRICT candidates) {
    LOCAL_ARRAY(f32, best_hi, ${wg_size});
% if wg_size > 1:
    LOCAL_ARRAY(f32, best_lo, ${wg_size});
    LOCAL_ARRAY(u32, best_key, ${wg_size});
% endif
    const u32 feature = GROUP_ID, offset = feature_offset[feature], first = levels[depth].first;
    place_t place;
    place.nodes = nodes + first;
    place.sums = node_sums + first;
    place.scale = scale;
    place.pool = pool + 2 * (u64)offset;
    place.slot_cells = 2 * (u64)n_codes;
    place.n_bins = feature_bins[feature];
    place.n_borders = place.n_bins * (feature_offset[feature + 1] - offset > place.n_bins ? 2 : 1);
    place.width = width, place.n_nodes = n_outputs * width;
    place.n_own = levels[depth].count / n_outputs;
    place.lambda = reg_lambda, place.alpha = reg_alpha;
    place.max_delta = max_delta_step, place.min_child_weight = min_child_weight;
    const u32 every = place.n_borders;
    (void)every; (void)allowed;
    for (u32 number = GROUP_ID_Y; number < place.n_own / width; number += N_GROUPS_Y) {
        place.first = number * width;
% if masked:
        const u32 word = allowed[(u64)place.first * ((n_features + 31) / 32) + feature / 32];
        place.n_borders = (word >> feature % 32) & 1 ? every : 0;
% endif
        df top = df_make(NO_SCORE, 0.0f);
        u32 key = NO_KEY;
% if shrunk:
        (void)best_hi; /* terms of rough scores would cancel */
        for (u32 at = LOCAL_ID; at < place.n_borders; at += ${wg_size}) {
% else:
        const f32 least = group_max(least_best(&place), best_hi);
        for (u32 begin = LOCAL_ID; begin < place.n_borders; begin += ${wg_size} * RUN) {
            f32 sums[RUN];
            add_roughly(&place, begin, sums);
            for (u32 k = 0; k < RUN; k++) {
                const u32 at = begin + k * ${wg_size};
                const int may_be_best = at < place.n_borders && sums[k] + sums[k] * rough_error(&place) >= least;
                if (!may_be_best) continue;
% endif
                const df sum = exact_gain(&place, at);
                const u32 left = at >= place.n_bins, own = 2 * (at - left * place.n_bins) + left;
                if (ahead(sum, own, top, key)) {
                    top = sum;
                    key = own;
                }
% if not shrunk:
            }
% endif
        }
% if wg_size > 1:
        group_best(&top, &key, best_hi, best_lo, best_key);
% endif
        if (LOCAL_ID == 0) {
            GLOBAL candidate_t* out = &candidates[(u64)number * n_features + feature];
            out->left_g = out->left_h = 0;
            out->score_hi = top.hi;
            out->score_lo = top.lo;
            out->feature = feature;
            out->bin_direction = key;
        }
    }
}

/* The split of a node's place: `chosen` has the node's own sums and gain, or no score. */
KERNEL(${wg_size}) share(
        const u32 depth, const u32 n_outputs, const u32 width, const u32 n_features, const u32 n_codes, const f32 gamma,
        const f32 reg_lambda, const f32 reg_alpha, const f32 max_delta_step, const f32 min_child_weight,
        GLOBAL const level_t* RESTRICT levels, GLOBAL const node_t* RESTRICT nodes,
        GLOBAL const i64x2* RESTRICT node_sums, GLOBAL const scale_t* RESTRICT scale,
        GLOBAL const u32* RESTRICT feature_offset, GLOBAL const u32* RESTRICT feature_bins,
        GLOBAL const i64* RESTRICT pool, GLOBAL const candidate_t* RESTRICT candidates,
        GLOBAL candidate_t* RESTRICT chosen) {
    const u32 first = levels[depth].first, count = levels[depth].count, n_own = count / n_outputs;
    for (u32 index = GROUP_ID * ${wg_size} + LOCAL_ID; index < count; index += N_GROUPS * ${wg_size}) {
        GLOBAL const node_t* node = &nodes[first + index];
        GLOBAL const candidate_t* best = candidates + (u64)(index % n_own / width) * n_features;
        best += best_of(best, n_features);
        candidate_t own;
        own.left_g = own.left_h = 0;
        own.score_hi = best->score_hi > 1e-6f && best->score_hi >= gamma ? 0.0f : NO_SCORE;
        own.score_lo = 0.0f;
        own.feature = best->feature;
        own.bin_direction = best->bin_direction;
        const i64x2 sums = node_sums[first + index];
        if (own.score_hi > NO_SCORE && sums.y > 0) {
            GLOBAL const scale_t* own_scale = scale + node->tree;
            const rule_t rule = make_rule(own_scale, reg_lambda, reg_alpha, max_delta_step);
            GLOBAL const i64* cells = pool + 2 * ((u64)node->slot * n_codes + feature_offset[own.feature]);
            const u32 bin = own.bin_direction >> 1, missing = feature_bins[own.feature];
            own.left_g = cells[2 * bin] + (own.bin_direction & 1 ? cells[2 * missing] : 0);
            own.left_h = cells[2 * bin + 1] + (own.bin_direction & 1 ? cells[2 * missing + 1] : 0);
            const df gained = gain_in_node(own.left_g, own.left_h, sums.x, sums.y,
                                           least_child(min_child_weight, own_scale), rule, rule);
            own.score_hi = gained.hi;
            own.score_lo = gained.lo;
        }
        chosen[index] = own;
    }
}
