













FN void group_scan(const i64 value0, const i64 value1, LOCAL i64* shared, i64* before0, i64* total0, i64* before1, i64* total1) {
    const u32 id = LOCAL_ID;
    shared[0 + id] = value0;
    shared[128 + id] = value1;
    BARRIER();
    if (id < 16) {
        i64 sum = 0;
        for (u32 i = id * 16; i < (id + 1) * 16; i++) {
            sum += shared[i];
            shared[i] = sum;
        }
    }
    BARRIER();
    {
        i64 before = 0, all = 0;
        for (u32 run_end = 15; run_end < 128; run_end += 16) {
            const i64 sum = shared[0 + run_end];
            if (run_end < id - id % 16) before += sum;
            all += sum;
        }
        *before0 = before + shared[0 + id] - value0;
        *total0 = all;
    }
    {
        i64 before = 0, all = 0;
        for (u32 run_end = 15; run_end < 128; run_end += 16) {
            const i64 sum = shared[128 + run_end];
            if (run_end < id - id % 16) before += sum;
            all += sum;
        }
        *before1 = before + shared[128 + id] - value1;
        *total1 = all;
    }
    BARRIER();
}



FN f32 group_max(const f32 value, LOCAL f32* shared) {
    const u32 id = LOCAL_ID;
    shared[id] = value;
    BARRIER();
    f32 most = shared[id - id % 16];
    for (u32 i = 1; i < 16; i++) {
        const f32 other = shared[id - id % 16 + i];
        most = other > most ? other : most;
    }
    BARRIER();
    if (id % 16 == 0) shared[id] = most;
    BARRIER();
    for (u32 i = 0; i < 128; i += 16) most = shared[i] > most ? shared[i] : most;
    BARRIER();
    return most;
}



/* Give the group's best (score, key) to every work-item. */
FN void group_best(df* best, u32* key, LOCAL f32* hi, LOCAL f32* lo, LOCAL u32* keys) {
    const u32 id = LOCAL_ID;
    hi[id] = best->hi;
    lo[id] = best->lo;
    keys[id] = *key;
    BARRIER();

    if (id < 8) { /* the best of 16 */
        const u32 mine = id * 16;
        for (u32 other = mine + 1; other < mine + 16; other += 1) {
            if (ahead(df_make(hi[other], lo[other]), keys[other], df_make(hi[mine], lo[mine]), keys[mine])) {
                hi[mine] = hi[other];
                lo[mine] = lo[other];
                keys[mine] = keys[other];
            }
        }
    }
    BARRIER();

    if (id < 1) { /* the best of 8 */
        const u32 mine = id * 128;
        for (u32 other = mine + 16; other < mine + 128; other += 16) {
            if (ahead(df_make(hi[other], lo[other]), keys[other], df_make(hi[mine], lo[mine]), keys[mine])) {
                hi[mine] = hi[other];
                lo[mine] = lo[other];
                keys[mine] = keys[other];
            }
        }
    }
    BARRIER();
    *best = df_make(hi[0], lo[0]);
    *key = keys[0];
    BARRIER();
}


/* Cells of a node's feature: the bins' sums become sums up to each border. The fullest code's sums may
   be missing: they are what the others leave of the node's. `other` are the parent's cells, and become
   the sibling's. */
FN void add_up_node(GLOBAL i64* cells, GLOBAL i64* other, const int subtract, const u32 n_codes,
                    const u32 n_bins, const u32 full, const i64x2 sums, LOCAL i64* shared) {
    const u32 size = (n_codes + 127) / 128;
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

#define NO_KEY 0xFFFFFFFFu
#define RUN 2


/* A work-group for a feature of two siblings, or of a root. Nodes without weight are never read. */
KERNEL(128) add_up(
        const u32 depth, const u32 n_codes, GLOBAL const level_t* RESTRICT levels,
        GLOBAL const node_t* RESTRICT nodes, GLOBAL const i64x2* RESTRICT node_sums,
        GLOBAL const u32* RESTRICT feature_offset, GLOBAL const u32* RESTRICT feature_bins,
        GLOBAL const u32* RESTRICT fullest,
        GLOBAL i64* pool) {
    LOCAL_ARRAY(i64, shared, 256);
    const u32 feature = GROUP_ID, offset = feature_offset[feature], each = depth ? 2 : 1;
    const u32 n_own = feature_offset[feature + 1] - offset;
    const u32 n_pairs = levels[depth].count / each;
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




#define MOST_GAIN 1.2980742e33f /* 2^110: the sum of 2^16 of them is finite */

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

/* Whether a place may split at a border, as `left_of` has it. */
FN int is_open(const place_t* place, const u32 at) {
    (void)place; (void)at;
    return 1;
}


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

/* The rough score of a border in a node, in real units; where the split is idle, the node's `own`. */
FN f32 rough_part(const part_t* part, const f32 own, const i64 g, const i64 h) {
    const int idle = is_idle(part->sums.x, part->sums.y, g, h, part->least);
    const f32 both = rough_scores(g, h, part->sums.x - g, part->sums.y - h, part->rule);
    return scale_by(idle ? own : both, part->rule.gain_power);
}

/* Add up the rough scores of a work-item's borders from the bin `begin` on, in one float; behind RUN of them are
   those with missing values to the left. */
FN void add_roughly(const place_t* place, const u32 begin, f32* sums) {
    const u32 n_bins = place->n_borders ? place->n_bins : 0, missing = place->n_bins;
    const u32 left = begin < n_bins ? (n_bins - begin + 127) / 128 : 0, n_own = left < RUN ? left : RUN;
    const int both = place->n_borders > place->n_bins;
    for (u32 k = 0; k < 2 * RUN; k++) sums[k] = 0.0f;
    for (u32 i = 0; i < place->n_nodes; i++) {
        const part_t part = part_of(place, i);
        if (part.sums.y <= 0) continue;
        const f32 own = rough_score(part.sums.x, part.sums.y, part.rule);
        const i64 more_g = both ? part.cells[2 * missing] : 0, more_h = both ? part.cells[2 * missing + 1] : 0;
        for (u32 k = 0; k < n_own; k++) {
            const u32 bin = begin + k * 128;
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
    const u32 bin = begin + k % RUN * 128, at = k / RUN * place->n_bins + bin;
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


/* What the best of a work-item's borders scores at least; `sums` are those of its last ones. */
FN f32 best_roughly(const place_t* place, f32* sums) {
    f32 most = NO_SCORE;
    for (u32 base = 0; base < place->n_bins; base += 128 * RUN) {
        add_roughly(place, base + LOCAL_ID, sums);
        const f32 own = least_best(place, base + LOCAL_ID, sums);
        most = own > most ? own : most;
    }
    return most;
}

/* The best rough score of a place so far: that in the record of its first node, or `most`. */
FN f32 best_so_far(GLOBAL node_t* node, const f32 most) {
    const f32 before = as_f32(atomic_max_global_u32(&node->gain, most > 0.0f ? as_u32(most) : 0u));
    return before > most ? before : most;
}

/* Compare a border with the best so far, by its exact gain. */
FN void consider(const place_t* place, const u32 at, df* top, u32* key) {
    const df sum = exact_gain(place, at);
    const u32 left = at >= place->n_bins, own = 2 * (at - left * place->n_bins) + left;
    if (!ahead(sum, own, *top, *key)) return;
    *top = sum;
    *key = own;
}

FN void write_candidate(GLOBAL candidate_t* out, const df score, const u32 feature, const u32 key) {
    out->left_g = out->left_h = 0;
    out->score_hi = score.hi;
    out->score_lo = score.lo;
    out->feature = feature;
    out->bin_direction = key;
}

KERNEL(128) find(
        const u32 depth, const u32 n_outputs, const u32 width, const u32 n_features, const u32 n_codes,
        const f32 reg_lambda, const f32 reg_alpha, const f32 max_delta_step, const f32 min_child_weight,
        GLOBAL const level_t* RESTRICT levels,
        GLOBAL node_t* nodes, GLOBAL const i64x2* RESTRICT node_sums,
        GLOBAL const scale_t* RESTRICT scale, GLOBAL const u32* RESTRICT feature_offset,
        GLOBAL const u32* RESTRICT feature_bins, GLOBAL const i64* RESTRICT pool,
        GLOBAL candidate_t* RESTRICT candidates) {
    LOCAL_ARRAY(f32, best_hi, 128);
    LOCAL_ARRAY(f32, known, 1);
    LOCAL_ARRAY(f32, best_lo, 128);
    LOCAL_ARRAY(u32, best_key, 128);
    const u32 feature = GROUP_ID, offset = feature_offset[feature], first = levels[depth].first;
    place_t place;
    place.nodes = nodes + first, place.sums = node_sums + first, place.scale = scale;
    
    place.pool = pool + 2 * (u64)offset, place.slot_cells = 2 * (u64)n_codes;
    place.n_bins = feature_bins[feature];
    place.n_borders = place.n_bins * (feature_offset[feature + 1] - offset > place.n_bins ? 2 : 1);
    place.width = width, place.n_nodes = n_outputs * width, place.n_own = levels[depth].count / n_outputs;
    place.lambda = reg_lambda, place.alpha = reg_alpha;
    place.max_delta = max_delta_step, place.min_child_weight = min_child_weight;
    const u32 every = place.n_borders;
    (void)every;
    for (u32 number = GROUP_ID_Y; number < place.n_own / width; number += N_GROUPS_Y) {
        place.first = number * width;
        u32 key = NO_KEY;
        df top = df_make(NO_SCORE, 0.0f);
        f32 sums[2 * RUN];
        const f32 most = group_max(best_roughly(&place, sums), best_hi);
        if (LOCAL_ID == 0) known[0] = best_so_far(&nodes[first + place.first], most);
        BARRIER();
        const f32 least = known[0];
        for (u32 base = 0; base < place.n_bins; base += 128 * RUN) {
            if (place.n_bins > 128 * RUN) add_roughly(&place, base + LOCAL_ID, sums);
            for (u32 k = 0; k < 2 * RUN; k++) {
                const u32 at = border_of(&place, base + LOCAL_ID, k);
                if (at == NO_BORDER || sums[k] + sums[k] * rough_error(&place) < least) continue;
                consider(&place, at, &top, &key);
            }
        }
        group_best(&top, &key, best_hi, best_lo, best_key);
        if (LOCAL_ID == 0) write_candidate(&candidates[(u64)number * n_features + feature], top, feature, key);
    }
}

/* The split of a node's place: `chosen` has the node's own sums and gain, or no score. */
KERNEL(128) share(
        const u32 depth, const u32 n_outputs, const u32 width, const u32 n_features, const u32 n_codes, const f32 gamma,
        const f32 reg_lambda, const f32 reg_alpha, const f32 max_delta_step, const f32 min_child_weight,
        GLOBAL const level_t* RESTRICT levels, GLOBAL const node_t* RESTRICT nodes,
        GLOBAL const i64x2* RESTRICT node_sums, GLOBAL const scale_t* RESTRICT scale,
        GLOBAL const u32* RESTRICT feature_offset, GLOBAL const u32* RESTRICT feature_bins,
        GLOBAL const i64* RESTRICT pool,
        GLOBAL const candidate_t* RESTRICT candidates,
        GLOBAL candidate_t* RESTRICT chosen) {

    LOCAL_ARRAY(f32, best_hi, 128);
    LOCAL_ARRAY(f32, best_lo, 128);
    LOCAL_ARRAY(u32, best_key, 128);
    LOCAL_ARRAY(candidate_t, best, 1);
    const u32 first = levels[depth].first, n_own = levels[depth].count / n_outputs;
    for (u32 place = GROUP_ID; place < n_own / width; place += N_GROUPS) {
        GLOBAL const candidate_t* every = candidates + (u64)place * n_features;
        df top = df_make(NO_SCORE, 0.0f);
        u32 feature = NO_KEY;
        for (u32 i = LOCAL_ID; i < n_features; i += 128) {
            const df score = df_make(every[i].score_hi, every[i].score_lo);
            if (!ahead(score, i, top, feature)) continue;
            top = score;
            feature = i;
        }
        BARRIER();
        group_best(&top, &feature, best_hi, best_lo, best_key);
        if (LOCAL_ID == 0) best[0] = every[feature];
        BARRIER();
        for (u32 i = LOCAL_ID; i < n_outputs * width; i += 128) {
            const u32 index = i / width * n_own + place * width + i % width;
            GLOBAL const node_t* node = &nodes[first + index];
            candidate_t own = best[0];
            own.left_g = own.left_h = 0;
            own.score_hi = own.score_hi > 1e-6f && own.score_hi >= gamma ? 0.0f : NO_SCORE;
            own.score_lo = 0.0f;
            const i64x2 sums = node_sums[first + index];
            if (own.score_hi > NO_SCORE && sums.y > 0) {
                GLOBAL const scale_t* own_scale = scale + node->tree;
                const rule_t unbounded = make_rule(own_scale, reg_lambda, reg_alpha, max_delta_step);
                const rule_t rule = unbounded;
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
        BARRIER();
    }
}
