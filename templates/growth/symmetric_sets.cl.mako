## symmetric_sets: splits by sets of levels that all nodes of a level of a symmetric tree share
## uses: portable_math structs gain category_order
##
##   order_levels of `category_split` puts the levels of a feature in order, by the sums of the tree's root
##
##   in order    c  a  e  b  d     open_borders      which borders a tree may split at, once for a tree
##   a node      2  0  5  1  3     add_up_sets       sums of the levels behind each border, in every node
##   left of     9  9  4  3  0 |2                    the rest is missing values, and levels not in order
##   `find` of `symmetric` reads these cells as those of a numeric feature
##                                 write_level_sets  the levels up to the border, as bits
##
##   border_sums    |left of border 0|left of 1|..|rest|    of every histogram's slot and feature
##   border_flags   |1: rest may go right, 2: left|..|number of borders|    of every tree and feature
##   ordered_bits   a bit for each level that is in order
##
## params: wg_size; n_facts, of a tree's feature, see `category_split`; led, trees of several outputs split alike, and
##         `leads` has the tree in whose order each one has a feature's levels; picked, nodes of every tree that
##         split, rather than those of a level
<%page args="wg_size, n_facts, led, picked"/>
<% leads = " GLOBAL const u32* RESTRICT leads," if led else "" %>
<%namespace name="group" file="group.cl.mako"/>
<%namespace name="places" file="level_places.cl.mako"/>
<%namespace name="scores" file="scores_of_places.cl.mako"/>
## each is called once, so that PoCL inlines it: a function of its own would share arrays between threads
${group.exclusive_scans("cell_scan", "i64", wg_size, 4)}
${group.exclusive_scans("run_scan", "i64", wg_size, 2)}
${group.exclusive_scans("border_scan", "i64", wg_size, 2)}

${places.functions(wg_size)}
/* set_features: (feature, first entry, whether one level goes right, first cell of its borders) */
KERNEL(${wg_size}) open_borders(
        const u32 n_codes, const u32 n_order, const u32 n_cells, const u32 n_words, const u32 all_rows,
        const u32 smooth_rows, const u32 group_rows, const u32 most, GLOBAL const u32x4* RESTRICT set_features,
        GLOBAL const node_t* RESTRICT nodes, GLOBAL const i64x2* RESTRICT node_sums,
        GLOBAL const u32* RESTRICT feature_offset, GLOBAL const u32* RESTRICT feature_bins,
        GLOBAL const u32* RESTRICT fullest, GLOBAL const i64* RESTRICT pool,
        GLOBAL const u64* RESTRICT order, GLOBAL const i64* RESTRICT facts,
        GLOBAL u32* RESTRICT ordered_bits, GLOBAL u32* RESTRICT border_flags) {
    LOCAL_ARRAY(i64, shared, ${2 * wg_size});
    const u32 tree = GROUP_ID_Y; /* and its root */
    const u32x4 own = set_features[GROUP_ID];
    const u32 feature = own.x, one_hot = own.z, n_levels = feature_bins[feature];
    GLOBAL const i64* fact = facts + ${n_facts} * ((u64)tree * N_GROUPS + GROUP_ID);
    level_sums_t sums;
    sums.cells = pool + 2 * ((u64)nodes[tree].slot * n_codes + feature_offset[feature]);
    sums.full = fullest[feature];
    sums.full_g = fact[3];
    sums.full_h = fact[4];
    const i64 node_h = node_sums[tree].y, rest_h = node_h - fact[2];
    const i64 few = one_hot ? 0 : hessian_of_rows(smooth_rows, all_rows, node_h);
    GLOBAL u32* bits = ordered_bits + (u64)tree * n_words + own.y / 32 + GROUP_ID;
    for (u32 word = LOCAL_ID; 32 * word < n_levels; word += ${wg_size}) {
        u32 found = 0;
        for (u32 code = 32 * word; code < n_levels && code < 32 * word + 32; code++)
            found |= (u32)(sums_of_level(sums, code).y >= (few > 1 ? few : 1)) << (code & 31);
        bits[word] = found;
    }
    const places_t places = places_of(order + (u64)tree * n_order + own.y, fact, most, one_hot);
    const i64 group_h = one_hot ? 0 : hessian_of_rows(group_rows, all_rows, node_h);
    GLOBAL u32* flags = border_flags + (u64)tree * n_cells + own.w;
    const run_t own_sums = own_run(places, sums);
    i64 before_g, before_h, all_g, all_h;
    run_scan(own_sums.before_g, own_sums.before_h, shared, &before_g, &all_g, &before_h, &all_h);
    const run_t run = placed_run(places, own_sums, before_g, before_h, fact[1] - all_g, fact[2] - all_h);
    i64 sum_h = run.before_h;
    for (u32 j = run.begin; j < run.end; j++) {
        const i64 own_h = sums_of_level(sums, code_of(places, j)).y;
        sum_h += own_h + (j == places.n_low ? run.middle_h : 0);
        const i64 right_h = one_hot ? own_h : sum_h;
        const u32 usual = one_hot || 2 * (u64)(place_of(places, places.n, j) + 1) <= places.n;
        u32 found = 0;
        for (u32 direction = 0; direction < 2; direction++) {
            const i64 here = right_h + (direction ? 0 : rest_h);
            if (are_heavy(here, node_h - here, group_h) && (rest_h > 0 || direction == usual)) found |= 1u << direction;
        }
        flags[j] = is_within_light(places, j) ? 0 : found;
    }
    if (LOCAL_ID == 0) flags[capacity_of(n_levels, most, one_hot)] = places.n_visited;
}

% if led:
${scores.real_gains()}
/* The tree in whose order all outputs' trees have a feature's levels: that whose own best set gains most in its root.
   A work-group for a feature of the outputs' trees at a place in the forest. */
KERNEL(${wg_size}) choose_leads(
        const u32 n_outputs, const u32 n_features, const f32 reg_lambda, const f32 reg_alpha,
        const f32 max_delta_step, GLOBAL const u32x4* RESTRICT set_features, GLOBAL const i64x2* RESTRICT node_sums,
        GLOBAL const scale_t* RESTRICT scale, GLOBAL const candidate_t* RESTRICT root_sets,
        GLOBAL u32* RESTRICT leads) {
    const u32 place = GROUP_ID_Y, n_parallel = N_GROUPS_Y;
    u32 lead = place;
    df most = df_make(NO_SCORE, 0.0f);
    for (u32 output = 0; output < n_outputs; output++) {
        const u32 tree = output * n_parallel + place;
        GLOBAL const candidate_t* own = &root_sets[(u64)tree * n_features + set_features[GROUP_ID].x];
        if (own->score_hi <= NO_SCORE) continue;
        const rule_t rule = make_rule(scale + tree, reg_lambda, reg_alpha, max_delta_step);
        const df before = score(node_sums[tree].x, node_sums[tree].y, rule);
        const df gain = df_add(df_make(own->score_hi, own->score_lo), df_make(-before.hi, -before.lo));
        const df real = real_gain(gain, rule.gain_power);
        if (ahead(real, tree, most, lead)) {
            most = real;
            lead = tree;
        }
    }
    for (u32 output = LOCAL_ID; output < n_outputs; output += ${wg_size})
        leads[(output * n_parallel + place) * N_GROUPS + GROUP_ID] = lead;
}

% endif
${places.sums_in_order(wg_size)}
/* A work-group for a feature of two siblings, or of a root. Nodes without weight are never read. */
KERNEL(${wg_size}) add_up_sets(
        const u32 depth, const u32 n_codes, const u32 n_order, const u32 n_cells, const u32 n_words,
        const u32 most, GLOBAL const u32x4* RESTRICT set_features, GLOBAL const level_t* RESTRICT levels,
        GLOBAL const node_t* RESTRICT nodes, GLOBAL const i64x2* RESTRICT node_sums,
        GLOBAL const u32* RESTRICT feature_offset, GLOBAL const u32* RESTRICT feature_bins,
        GLOBAL const u32* RESTRICT fullest, GLOBAL const i64* RESTRICT pool,
        GLOBAL const u64* RESTRICT order, GLOBAL const i64* RESTRICT facts,
        GLOBAL const u32* RESTRICT ordered_bits,${leads} GLOBAL i64* border_sums) {
    LOCAL_ARRAY(i64, shared, ${4 * wg_size});
    const u32x4 own = set_features[GROUP_ID];
    const u32 feature = own.x, offset = feature_offset[feature], each = depth ? 2 : 1;
    const u32 n_levels = feature_bins[feature], n_own = feature_offset[feature + 1] - offset;
    for (u32 pair = GROUP_ID_Y; pair < levels[depth].count / each; pair += N_GROUPS_Y) {
        const u32 left = levels[depth].first + each * pair;
        const u32 built = depth && nodes[left].sibling_slot >= 0 ? left + 1 : left;
        const u32 other = depth ? 2 * left + 1 - built : built;
        const u32 tree = ${"leads[nodes[built].tree * N_GROUPS + GROUP_ID]" if led else "nodes[built].tree"};
        GLOBAL const node_t* node = &nodes[built];
        const i64x2 all = node_sums[built];
        if (all.y > 0) {
            GLOBAL const u32* bits = ordered_bits + (u64)tree * n_words + own.y / 32 + GROUP_ID;
            i64 in_order_g, in_order_h;
            const level_sums_t sums = read_in_order(
                all, pool + 2 * ((u64)node->slot * n_codes + offset), n_own, n_levels, fullest[feature], bits,
                &in_order_g, &in_order_h, shared);
            GLOBAL const i64* fact = facts + ${n_facts} * ((u64)tree * N_GROUPS + GROUP_ID);
            const places_t places = places_of(order + (u64)tree * n_order + own.y, fact, most, own.z);
            GLOBAL i64* cells = border_sums + 2 * ((u64)node->slot * n_cells + own.w);
            GLOBAL i64* others = border_sums + 2 * ((u64)nodes[other].slot * n_cells + own.w);
            const run_t own_sums = own_run(places, sums);
            i64 before_g, before_h, all_g, all_h;
            border_scan(own_sums.before_g, own_sums.before_h, shared, &before_g, &all_g, &before_h, &all_h);
            const run_t run = placed_run(places, own_sums, before_g, before_h, in_order_g - all_g, in_order_h - all_h);
            i64 sum_g = run.before_g, sum_h = run.before_h;
            for (u32 j = run.begin; j < run.end; j++) {
                const i64x2 sum = sums_of_level(sums, code_of(places, j));
                sum_g += sum.x + (j == places.n_low ? run.middle_g : 0);
                sum_h += sum.y + (j == places.n_low ? run.middle_h : 0);
                set_cell(cells + 2 * j, others + 2 * j, depth, in_order_g - (own.z ? sum.x : sum_g),
                         in_order_h - (own.z ? sum.y : sum_h));
            }
            const u32 rest = 2 * capacity_of(n_levels, most, own.z);
            if (LOCAL_ID == 0)
                set_cell(cells + rest, others + rest, depth, all.x - in_order_g, all.y - in_order_h);
            BARRIER(); /* within the block: PoCL would take a branch at its end for one of the whole group */
        }
    }
}

/* borders: of every feature (1 for sets, 2 for one level, 0 for numbers; first cell of its borders, their
   number, index in set_features) */
KERNEL(${wg_size}) write_level_sets(
        const u32 depth,${" const u32 n_trees, GLOBAL const u32* RESTRICT picked," if picked else ""} const u32 n_order, const u32 n_words, const u32 n_sets, const u32 set_words,
        const u32 most, GLOBAL const u32x4* RESTRICT set_features, GLOBAL const u32x4* RESTRICT borders,
        GLOBAL const level_t* RESTRICT levels, GLOBAL node_t* nodes, GLOBAL const u32* RESTRICT feature_bins,
        GLOBAL const u64* RESTRICT order, GLOBAL const i64* RESTRICT facts,
        GLOBAL const u32* RESTRICT ordered_bits,${leads} GLOBAL u32* RESTRICT sets) {
    for (u32 index = GROUP_ID; index < ${f"n_trees * {picked}" if picked else "levels[depth].count"}; index += N_GROUPS) {
% if picked:
        if (picked[index] == NO_NODE) continue;
        GLOBAL node_t* node = &nodes[picked[index]];
        (void)levels; (void)depth;
% else:
        GLOBAL node_t* node = &nodes[levels[depth].first + index];
% endif
        const u32 number = node->left == NO_NODE ? 0 : node->feature;
        if (node->left != NO_NODE && borders[number].x) {
            const u32 n_levels = feature_bins[number], at = borders[number].w, j = node->bin;
            const u32 tree = ${"leads[node->tree * n_sets + at]" if led else "node->tree"};
            const u32x4 own = set_features[at];
            GLOBAL const i64* fact = facts + ${n_facts} * ((u64)tree * n_sets + at);
            const places_t places = places_of(order + (u64)tree * n_order + own.y, fact, most, own.z);
            GLOBAL const u32* bits = ordered_bits + (u64)tree * n_words + own.y / 32 + at;
            GLOBAL u32* set = sets + (u64)(node->left / 2) * set_words;
            const u32 high = j >= places.n_low; /* then all levels but those behind the border */
            const u32 place = place_of(places, places.n_entries, j);
            const u32 first = own.z ? place : (high ? place + 1 : 0);
            const u32 end = high ? places.n_entries : place + 1;
            for (u32 word = LOCAL_ID; word <= n_levels / 32; word += ${wg_size}) {
                const u32 listed = 32 * word < n_levels ? bits[word] : 0, there = n_levels + 1 - 32 * word;
                const u32 every = there < 32 ? (1u << there) - 1 : 0xFFFFFFFFu;
                u32 found = (high ? listed : 0) | (node->default_left ? 0 : every & ~listed);
% if wg_size > 1:
                for (u32 i = first; i < end; i++) {
                    const u32 code = (u32)places.entries[i];
                    if (code >> 5 == word) found ^= 1u << (code & 31);
                }
% endif
                set[1 + word] = found;
            }
% if wg_size == 1:
            for (u32 i = first; i < end; i++) {
                const u32 code = (u32)places.entries[i];
                set[1 + (code >> 5)] ^= 1u << (code & 31);
            }
% endif
            if (LOCAL_ID == 0) {
                set[0] = n_levels;
                node->split_kind = 1;
            }
        }
    }
}
