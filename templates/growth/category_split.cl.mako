## category_split: the best split by a set of levels, of every node of a level and categorical feature
## uses: portable_math structs gain category_order
##
##   order_levels   one work-group a (categorical feature, node), behind `find`, which subtracts siblings
##   find_sets      scores the borders between levels in order
##
##   levels      a  b  c  d  e       of one that has rows: (key, code), the key is -G / (H + lambda + smooth)
##   in order    c  a  e  b  d       a radix sort by key: of equal keys the lower code comes first
##   right      |c  a|  left ..      a border behind each level, at most `most` levels on the smaller side
##
##   A CPU keeps the first and the last levels alone, by rough keys, and sorts these.
##   The rest, which is missing values and levels without rows or with too few, goes right or left together.
##   The key of a split is 2 * the border's code + (the rest goes left). With few levels, one of them goes
##   right alone.
##
## params: wg_size; digit, bits of a digit of the sort; monotone, masked as in `split`
<%page args="wg_size, digit, monotone, masked"/>
<%namespace name="candidates" file="candidates.cl.mako"/>
<%namespace name="cells" file="category_cells.cl.mako"/>
<%namespace name="group" file="group.cl.mako"/>
<%
    digits = 1 << digit
%>
## each is called once, so that PoCL inlines it: a function of its own would share arrays between threads
${group.exclusive_scans("level_scan", "i64", wg_size, 2)}
${group.exclusive_scans("border_scan", "i64", wg_size, 2)}
${group.exclusive_scan("count_scan", "u32", wg_size)}
${group.exclusive_scan("digit_scan", "u32", wg_size)}
% if not monotone:
${group.largest("group_max", "f32", wg_size)}
% endif
${cells.read(wg_size)}
${candidates.group_best(wg_size)}
${candidates.consider(monotone)}
#define DIGITS ${digits}
#define FACTS 6 /* of a node's feature: levels in order, their sums, the fullest code's sums, entries kept */
% if wg_size == 1:
#define FEW 32 /* levels that are inserted one by one */
#define MANY 512 /* levels of which the middle is left out; with fewer, counting takes as long as sorting */
% endif

/* What the splits of a feature in a node are scored with. */
typedef struct {
    i64 node_g, node_h;
    i64 rest_g, rest_h;      /* missing values, and levels that are not in order */
    i64 ordered_g, ordered_h;
    i64 least;               /* Hessian of a child */
    rule_t rule;
    u32 n, most, one_hot;    /* levels in order, those of the smaller side, whether one goes right alone */
    u32 n_entries;           /* those that are kept: the first and the last in order */
} choice_t;

/* A work-item's run of the borders that are scored, and the sums of the levels before. */
typedef struct { u32 begin, end, n_visited, n_low; i64 before_g, before_h, middle_g, middle_h; } run_t;

/* List the levels that have rows enough, as key << 32 | code, by ascending codes. */
FN u32 list_levels(const level_sums_t sums, const u32 n_levels, const i64 least, const f32 extra,
                   const u32 one_hot, i64* ordered_g, i64* ordered_h, GLOBAL u64* entries,
                   LOCAL u32* heads, LOCAL i64* shared) {
    const u32 size = (n_levels + ${wg_size - 1}) / ${wg_size};
    const u32 begin = LOCAL_ID * size < n_levels ? LOCAL_ID * size : n_levels;
    const u32 end = begin + size < n_levels ? begin + size : n_levels;
    u32 count = 0, total;
    i64 g = 0, h = 0, before_g, before_h;
    for (u32 code = begin; code < end; code++) {
        const i64x2 sum = sums_of_level(sums, code);
        if (sum.y >= least) {
            g += sum.x;
            h += sum.y;
            count++;
        }
    }
    u32 at = count_scan(count, heads, &total);
    level_scan(g, h, shared, &before_g, ordered_g, &before_h, ordered_h);
    for (u32 code = begin; code < end; code++) {
        const i64x2 sum = sums_of_level(sums, code);
        if (sum.y >= least) {
            const u32 key = one_hot ? 0 : ${"rough_key" if wg_size == 1 else "order_key"}(sum.x, sum.y, extra);
            entries[at++] = (u64)key << 32 | code;
        }
    }
    BARRIER();
    return total;
}

% if wg_size == 1:
/* Leave out entries that are surely not among the first `most` in order, nor the last `most` + 1. Rough keys
   are counted by their first 12 bits; a key may be off by much less than such a class is wide, so the
   classes beside are kept, too. */
FN u32 keep_ends(GLOBAL u64* entries, const u32 n, const u32 most, LOCAL u32* classes) {
    if (n < MANY || n / 4 < most) return n;
    for (u32 k = 0; k < 4096; k++) classes[k] = 0;
    for (u32 i = 0; i < n; i++) classes[entries[i] >> 52]++;
    u32 low = 0, high = 4095;
    for (u32 sum = classes[0]; sum < most; sum += classes[low]) low++;
    for (u32 sum = classes[4095]; sum < most + 1; sum += classes[high]) high--;
    u32 kept = 0;
    for (u32 i = 0; i < n; i++) {
        const u32 own = (u32)(entries[i] >> 52);
        entries[kept] = entries[i];
        kept += own <= low + 1 || own + 1 >= high;
    }
    return kept;
}

% endif
/* Sort entries by one digit of their keys; entries with equal digits keep their order.
   counts[digit, work-item] are of the work-items' runs. */
FN void sort_digit(GLOBAL const u64* from, GLOBAL u64* to, const u32 n, const u32 shift,
                   LOCAL u32* counts, LOCAL u32* heads) {
    const u32 size = (n + ${wg_size - 1}) / ${wg_size};
    const u32 begin = LOCAL_ID * size < n ? LOCAL_ID * size : n;
    const u32 end = begin + size < n ? begin + size : n;
    for (u32 d = 0; d < DIGITS; d++) counts[d * ${wg_size} + LOCAL_ID] = 0;
    for (u32 i = begin; i < end; i++)
        counts[((u32)(from[i] >> shift) & (DIGITS - 1)) * ${wg_size} + LOCAL_ID]++;
    BARRIER();
    u32 mine = 0, total;
    for (u32 k = 0; k < DIGITS; k++) mine += counts[LOCAL_ID * DIGITS + k];
    u32 before = digit_scan(mine, heads, &total);
    for (u32 k = 0; k < DIGITS; k++) {
        const u32 count = counts[LOCAL_ID * DIGITS + k];
        counts[LOCAL_ID * DIGITS + k] = before;
        before += count;
    }
    BARRIER();
    for (u32 i = begin; i < end; i++)
        to[counts[((u32)(from[i] >> shift) & (DIGITS - 1)) * ${wg_size} + LOCAL_ID]++] = from[i];
    BARRIER();
}

/* Sort entries by their keys, in `entries`. */
FN void sort_entries(GLOBAL u64* entries, GLOBAL u64* spare, const u32 n, LOCAL u32* counts,
                     LOCAL u32* heads) {
% if wg_size == 1:
    if (n <= FEW) {
        for (u32 i = 1; i < n; i++) {
            const u64 entry = entries[i];
            u32 at = i;
            for (; at > 0 && entries[at - 1] > entry; at--) entries[at] = entries[at - 1];
            entries[at] = entry;
        }
        return;
    }
% endif
    for (u32 pass = 0; pass < ${32 // digit}; pass++) /* an even number: the last one is to `entries` */
        sort_digit(pass % 2 ? spare : entries, pass % 2 ? entries : spare, n, 32 + pass * ${digit}, counts, heads);
}

/* The place of a border among n: the first `most` levels, then those whose borders leave as few. */
FN u32 place_of(const run_t run, const u32 n, const u32 j) {
    return j < run.n_low ? j : n - run.n_visited + j;
}

/* Share the borders among the work-items, and sum up the levels before each run. */
FN run_t run_of(const choice_t choice, const level_sums_t sums, GLOBAL const u64* entries,
                LOCAL i64* shared) {
    const u32 n = choice.n;
    run_t run;
    run.n_low = choice.one_hot || choice.most > n ? n : choice.most;
    run.n_visited = n - run.n_low > run.n_low + 1 ? 2 * run.n_low + 1 : n;
    const u32 size = (run.n_visited + ${wg_size - 1}) / ${wg_size};
    run.begin = LOCAL_ID * size < run.n_visited ? LOCAL_ID * size : run.n_visited;
    run.end = run.begin + size < run.n_visited ? run.begin + size : run.n_visited;
    i64 g = 0, h = 0, all_g, all_h;
    for (u32 j = run.begin; j < run.end; j++) {
        const i64x2 sum = sums_of_level(sums, (u32)entries[place_of(run, choice.n_entries, j)]);
        g += sum.x;
        h += sum.y;
    }
    border_scan(g, h, shared, &run.before_g, &all_g, &run.before_h, &all_h);
    run.middle_g = choice.ordered_g - all_g;
    run.middle_h = choice.ordered_h - all_h;
    if (run.begin > run.n_low) { /* the others meet the middle on their way */
        run.before_g += run.middle_g;
        run.before_h += run.middle_h;
    }
    return run;
}

<%def name="each_border()">
    i64 sum_g = run.before_g, sum_h = run.before_h;
    for (u32 j = run.begin; j < run.end; j++) {
        const u32 place = place_of(run, choice.n, j), code = (u32)entries[place_of(run, choice.n_entries, j)];
        const i64x2 own = sums_of_level(sums, code);
        sum_g += own.x + (j == run.n_low ? run.middle_g : 0);
        sum_h += own.y + (j == run.n_low ? run.middle_h : 0);
        const u32 usual = choice.one_hot || 2 * (u64)(place + 1) <= choice.n;
        for (u32 direction = 0; direction < 2; direction++) {
            if (choice.rest_h == 0 && direction != usual) continue;
            const i64 right_g = (choice.one_hot ? own.x : sum_g) + (direction ? 0 : choice.rest_g);
            const i64 right_h = (choice.one_hot ? own.y : sum_h) + (direction ? 0 : choice.rest_h);
            const i64 left_g = choice.node_g - right_g, left_h = choice.node_h - right_h;
            if (left_h < choice.least || right_h < choice.least) continue;
% if not monotone:
            const f32 rough = exact_only ? 0.0f
                : rough_score(left_g, left_h, choice.rule) + rough_score(right_g, right_h, choice.rule);
% endif
            ${caller.body()}
        }
    }
</%def>

% if not monotone:
/* The highest rough score of the run's borders; -1 if there is none. */
FN f32 best_rough(const choice_t choice, const run_t run, const level_sums_t sums,
                  GLOBAL const u64* entries, const int exact_only) {
    f32 most = -1.0f;
<%call expr="each_border()">
            most = rough > most ? rough : most;
            (void)code;
</%call>
    return most;
}
% endif

/* The best of the run's borders whose rough score is at least `least_score`. */
FN best_t best_exact(const choice_t choice, const run_t run, const level_sums_t sums,
                     GLOBAL const u64* entries, const int exact_only, const f32 least_score) {
    best_t best = no_split();
    (void)exact_only; (void)least_score;
<%call expr="each_border()">
% if not monotone:
            if (!exact_only && (rough < least_score || rough * MORE < best.score.hi)) continue;
% endif
            consider(&best, left_g, left_h, 2 * code + direction, choice.node_g, choice.node_h,
                     choice.rule${", 0" if monotone else ""});
</%call>
    return best;
}

KERNEL(${wg_size}) order_levels(
        const u32 depth, const u32 n_features, const u32 n_codes, const u32 n_order, const u32 all_rows,
        const u32 smooth_rows, const u32 most, const f32 order_lambda, GLOBAL const u32x4* RESTRICT set_features,
        GLOBAL const u32* RESTRICT allowed,
        GLOBAL const level_t* RESTRICT levels, GLOBAL const node_t* RESTRICT nodes,
        GLOBAL const scale_t* RESTRICT scale, GLOBAL const u32* RESTRICT feature_offset,
        GLOBAL const u32* RESTRICT feature_bins, GLOBAL const u32* RESTRICT fullest,
        GLOBAL const i64* RESTRICT pool, GLOBAL u64* order, GLOBAL u64* spare, GLOBAL i64* RESTRICT facts) {
    LOCAL_ARRAY(i64, shared, ${2 * wg_size});
    LOCAL_ARRAY(u32, counts, ${digits * wg_size});
    LOCAL_ARRAY(u32, heads, ${wg_size});
% if wg_size == 1:
    LOCAL_ARRAY(u32, classes, 4096);
% endif
    const u32x4 own = set_features[GROUP_ID]; /* feature, begin of its entries, one-hot */
    const u32 feature = own.x, offset = feature_offset[feature];
    const u32 first = levels[depth].first, count = levels[depth].count;
    for (u32 index = GROUP_ID_Y; index < count; index += N_GROUPS_Y) {
        GLOBAL const node_t* node = &nodes[first + index];
        GLOBAL u64* entries = order + (u64)index * n_order + own.y;
        const f32 extra = make_rule(scale + node->tree, order_lambda, 0.0f, 0.0f).lambda;
        const i64 few = own.z ? 0 : hessian_of_rows(smooth_rows, all_rows, nodes[node->tree].sum_h);
        const level_sums_t sums = read_levels(
            node, pool + 2 * ((u64)node->slot * n_codes + offset), feature_offset[feature + 1] - offset,
            fullest[feature], shared);
% if masked:
        const u32 searched = (allowed[(u64)index * ((n_features + 31) / 32) + feature / 32] >> feature % 32) & 1;
        const u32 n_listed = searched ? feature_bins[feature] : 0;
% else:
        (void)allowed; (void)n_features;
        const u32 n_listed = feature_bins[feature];
% endif
        i64 ordered_g, ordered_h;
        const u32 n = list_levels(
            sums, n_listed, few > 1 ? few : 1, extra, own.z, &ordered_g, &ordered_h, entries, heads, shared);
% if wg_size == 1:
        const u32 kept = own.z ? n : keep_ends(entries, n, most, classes);
        for (u32 i = 0; !own.z && i < kept; i++) {
            const i64x2 sum = sums_of_level(sums, (u32)entries[i]);
            entries[i] = (u64)order_key(sum.x, sum.y, extra) << 32 | (u32)entries[i];
        }
% else:
        const u32 kept = n;
        (void)most;
% endif
        sort_entries(entries, spare + (u64)index * n_order + own.y, own.z ? 0 : kept, counts, heads);
        if (LOCAL_ID == 0) {
            GLOBAL i64* fact = facts + FACTS * ((u64)index * N_GROUPS + GROUP_ID);
            fact[0] = n;
            fact[1] = ordered_g;
            fact[2] = ordered_h;
            fact[3] = sums.full_g;
            fact[4] = sums.full_h;
            fact[5] = kept;
        }
    }
}

KERNEL(${wg_size}) find_sets(
        const u32 depth, const u32 n_features, const u32 n_codes, const u32 n_order, const u32 all_rows,
        const u32 group_rows, const u32 most, const f32 set_lambda, const f32 reg_lambda,
        const f32 reg_alpha, const f32 max_delta_step, const f32 min_child_weight,
        GLOBAL const u32x4* RESTRICT set_features, GLOBAL const level_t* RESTRICT levels,
        GLOBAL const node_t* RESTRICT nodes, GLOBAL const scale_t* RESTRICT scale,
        GLOBAL const u32* RESTRICT feature_offset, GLOBAL const u32* RESTRICT fullest,
        GLOBAL const i64* RESTRICT pool, GLOBAL const u64* RESTRICT order,
        GLOBAL const i64* RESTRICT facts, GLOBAL candidate_t* RESTRICT candidates) {
    LOCAL_ARRAY(i64, shared, ${2 * wg_size});
    LOCAL_ARRAY(f32, best_hi, ${wg_size});
    LOCAL_ARRAY(f32, best_lo, ${wg_size});
    LOCAL_ARRAY(u32, best_key, ${wg_size});
    const u32x4 own = set_features[GROUP_ID]; /* feature, begin of its entries, one-hot */
    const u32 feature = own.x;
    const u32 first = levels[depth].first, count = levels[depth].count;
    for (u32 index = GROUP_ID_Y; index < count; index += N_GROUPS_Y) {
        GLOBAL const node_t* node = &nodes[first + index];
        GLOBAL const scale_t* own_scale = scale + node->tree;
        GLOBAL const u64* entries = order + (u64)index * n_order + own.y;
        GLOBAL const i64* fact = facts + FACTS * ((u64)index * N_GROUPS + GROUP_ID);
        level_sums_t sums;
        sums.cells = pool + 2 * ((u64)node->slot * n_codes + feature_offset[feature]);
        sums.full = fullest[feature];
        sums.full_g = fact[3];
        sums.full_h = fact[4];
        choice_t choice;
        choice.node_g = node->sum_g;
        choice.node_h = node->sum_h;
        choice.n = (u32)fact[0];
        choice.n_entries = (u32)fact[5];
        choice.ordered_g = fact[1];
        choice.ordered_h = fact[2];
        choice.rest_g = choice.node_g - choice.ordered_g;
        choice.rest_h = choice.node_h - choice.ordered_h;
        choice.most = most;
        choice.one_hot = own.z;
        choice.rule = make_rule(own_scale, own.z ? reg_lambda : set_lambda, reg_alpha, max_delta_step);
        const i64 group_h = own.z ? 0 : hessian_of_rows(group_rows, all_rows, nodes[node->tree].sum_h);
        const i64 least = to_quanta(min_child_weight, own_scale->h - own_scale->weight_shift);
        choice.least = group_h > least ? group_h : least;
        if (choice.least < 1) choice.least = 1;
% if monotone:
        choice.rule = within(choice.rule, node->lower, node->upper);
        const int exact_only = 1;
% else:
        const int exact_only = choice.rule.alpha != 0.0f;
% endif
        const run_t run = run_of(choice, sums, entries, shared);
% if monotone:
        const f32 least_score = -1.0f;
% else:
        const f32 rough = best_rough(choice, run, sums, entries, exact_only);
        const f32 least_rough = group_max(rough, best_hi) * 0.999969482421875f; /* as in `find` */
        const f32 least_score = exact_only ? -1.0f : least_rough;
% endif
        best_t best = best_exact(choice, run, sums, entries, exact_only, least_score);
        const u32 mine = best.at;
% if wg_size > 1:
        group_best(&best.score, &best.at, best_hi, best_lo, best_key);
% endif
        if (best.at == NO_KEY ? LOCAL_ID == 0 : mine == best.at)
            write_candidate(&candidates[(u64)index * n_features + feature], feature, best);
    }
}
