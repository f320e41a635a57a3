












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
#define MOST_GAIN 1.2980742e33f /* 2^110: the sum of 2^16 of them is finite */


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

/* A gain in real units. */
FN df real_gain(const df gain, const i32 power) {
    const f32 hi = finite(scale_by(gain.hi, power)), lo = not_tiny(scale_by(gain.lo, power));
    if (hi > MOST_GAIN) return df_make(MOST_GAIN, 0.0f);
    if (hi < -MOST_GAIN) return df_make(-MOST_GAIN, 0.0f);
    return df_make(hi, lo);
}

KERNEL(128) find(
        const u32 depth, const u32 n_outputs, const u32 width, const u32 n_features, const u32 n_codes,
        const f32 reg_lambda, const f32 reg_alpha, const f32 max_delta_step, const f32 min_child_weight,
        GLOBAL const u32* RESTRICT allowed, GLOBAL const level_t* RESTRICT levels,
        GLOBAL const node_t* RESTRICT nodes, GLOBAL const i64x2* RESTRICT node_sums,
        GLOBAL const scale_t* RESTRICT scale, GLOBAL const u32* RESTRICT feature_offset,
        GLOBAL const u32* RESTRICT feature_bins, GLOBAL const i64* RESTRICT pool,
        GLOBAL candidate_t* RESTRICT candidates) {

    LOCAL_ARRAY(f32, best_hi, 128);
    LOCAL_ARRAY(f32, best_lo, 128);
    LOCAL_ARRAY(u32, best_key, 128);
    const u32 feature = GROUP_ID, offset = feature_offset[feature], n_bins = feature_bins[feature];
    const u32 directions = feature_offset[feature + 1] - offset > n_bins ? 2 : 1;
    const u32 first = levels[depth].first, n_own = levels[depth].count / n_outputs; /* nodes of an output */
    const u32 n_places = n_own / width;
    for (u32 place = GROUP_ID_Y; place < n_places; place += N_GROUPS_Y) {
        const u32 n_borders = n_bins * directions;
        (void)allowed;
        df top = df_make(NO_SCORE, 0.0f);
        u32 key = NO_KEY;
        IN_ORDER
        for (u32 begin = LOCAL_ID; begin < n_borders; begin += 256) {
            const u32 at_0 = begin + 0;
            const u32 direction_0 = at_0 >= n_bins, bin_0 = at_0 - direction_0 * n_bins;
            df sum_0 = df_make(0.0f, 0.0f);
            const u32 at_1 = begin + 128;
            const u32 direction_1 = at_1 >= n_bins, bin_1 = at_1 - direction_1 * n_bins;
            df sum_1 = df_make(0.0f, 0.0f);
            IN_ORDER
            for (u32 i = 0; i < n_outputs * width; i++) {
                const u32 id = first + i / width * n_own + place * width + i % width;
                const i64x2 sums = node_sums[id];
                if (sums.y <= 0) continue;
                GLOBAL const scale_t* own_scale = scale + nodes[id].tree;
                const rule_t rule = make_rule(own_scale, reg_lambda, reg_alpha, max_delta_step);
                const least_t least = least_child(min_child_weight, own_scale);
                const df before = df_neg(score(sums.x, sums.y, rule));
                GLOBAL const i64* cells = pool + 2 * ((u64)nodes[id].slot * n_codes + offset);
                if (at_0 < n_borders) {
                    const i64 g = cells[2 * bin_0] + (direction_0 ? cells[2 * n_bins] : 0);
                    const i64 h = cells[2 * bin_0 + 1] + (direction_0 ? cells[2 * n_bins + 1] : 0);
                    if (!is_idle(sums.x, sums.y, g, h, least)) {
                        const df both = df_add(score(g, h, rule), score(sums.x - g, sums.y - h, rule));
                        sum_0 = df_add(sum_0, real_gain(df_add(both, before), rule.gain_power));
                    }
                }
                if (at_1 < n_borders) {
                    const i64 g = cells[2 * bin_1] + (direction_1 ? cells[2 * n_bins] : 0);
                    const i64 h = cells[2 * bin_1 + 1] + (direction_1 ? cells[2 * n_bins + 1] : 0);
                    if (!is_idle(sums.x, sums.y, g, h, least)) {
                        const df both = df_add(score(g, h, rule), score(sums.x - g, sums.y - h, rule));
                        sum_1 = df_add(sum_1, real_gain(df_add(both, before), rule.gain_power));
                    }
                }
            }
            if (at_0 < n_borders && ahead(sum_0, 2 * bin_0 + direction_0, top, key)) {
                top = sum_0;
                key = 2 * bin_0 + direction_0;
            }
            if (at_1 < n_borders && ahead(sum_1, 2 * bin_1 + direction_1, top, key)) {
                top = sum_1;
                key = 2 * bin_1 + direction_1;
            }
        }
        group_best(&top, &key, best_hi, best_lo, best_key);
        if (LOCAL_ID == 0) {
            GLOBAL candidate_t* out = &candidates[(u64)place * n_features + feature];
            out->left_g = out->left_h = 0;
            out->score_hi = top.hi;
            out->score_lo = top.lo;
            out->feature = feature;
            out->bin_direction = key;
        }
    }
}

/* The split of a node's place: `chosen` has the node's own sums and gain, or no score. */
KERNEL(128) share(
        const u32 depth, const u32 n_outputs, const u32 width, const u32 n_features, const u32 n_codes, const f32 gamma,
        const f32 reg_lambda, const f32 reg_alpha, const f32 max_delta_step, const f32 min_child_weight,
        GLOBAL const level_t* RESTRICT levels, GLOBAL const node_t* RESTRICT nodes,
        GLOBAL const i64x2* RESTRICT node_sums, GLOBAL const scale_t* RESTRICT scale,
        GLOBAL const u32* RESTRICT feature_offset, GLOBAL const u32* RESTRICT feature_bins,
        GLOBAL const i64* RESTRICT pool, GLOBAL const candidate_t* RESTRICT candidates,
        GLOBAL candidate_t* RESTRICT chosen) {
    const u32 first = levels[depth].first, count = levels[depth].count, n_own = count / n_outputs;
    for (u32 index = GROUP_ID * 128 + LOCAL_ID; index < count; index += N_GROUPS * 128) {
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
