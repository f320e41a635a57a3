## level_scores: what a feature's borders gain in all nodes of a tree's level; `symmetric` and `whole_symmetric` import it
##
##   rough_sums     sums over nodes in one float, and what the exact ones are at most and at least
##   best_borders   exact sums of the borders that may be the best
##   shares         what the level's split gives to each node
##
##   The importing template has `level_borders`.

<%def name="rough_sums(careful, categories, noisy)">
<% sides = "sides" if categories else "rule" %>
/* Add the rough scores of `n` borders in one node to their sums; the missing rows go left if `direction`. */
FN void add_roughly(const level_borders_t* level, const u32 i, const u32 begin, const u32 n,
                    const u32 direction, f32* sums, f32* errors) {
    const i64 node_g = level->sums[i].x, node_h = level->sums[i].y;
    const least_t least = level->least;
    if (node_h <= 0) return;
    GLOBAL const i64* cells = level->pool + first_cell(level, i);
    const i64 more_g = direction ? cells[2 * level->n_bins] : 0;
    const i64 more_h = direction ? cells[2 * level->n_bins + 1] : 0;
    const rule_t rule = rule_of(level, i);
% if categories:
    const rule_t sides = sides_of(level, i);
% endif
    GLOBAL const i64* here = cells + 2 * (u64)begin; /* indices below RUN do not wrap: PoCL vectorises */
% if careful:
    f32 lower, upper;
    bounds_of(rule, &lower, &upper);
    const f32 unsure = (f32)level->n_nodes * 2.38418579e-7f; /* 2^-22, for the sum */
    const side_t own = rough(node_g, node_h, rule, lower, upper);
    for (u32 k = 0; k < n; k++) {
        const i64 g = here[2 * k] + more_g, h = here[2 * k + 1] + more_h;
        const side_t l = rough(g, h, ${sides}, lower, upper);
        const side_t r = rough(node_g - g, node_h - h, ${sides}, lower, upper);
        const int idle = is_idle(node_g, node_h, g, h, least);
        const f32 s = idle ? own.score : l.score + r.score;
        sums[k] += s;
        errors[k] += (idle ? own.score_error : l.score_error + r.score_error) * 2.0f + unsure * SIZE(s);
    }
% else:
    (void)errors;
    const f32 own = rough(node_g, node_h, rule);
    for (u32 k = 0; k < n; k++) {
        const i64 g = here[2 * k] + more_g, h = here[2 * k + 1] + more_h;
        const f32 s = rough(g, h, ${sides}) + rough(node_g - g, node_h - h, ${sides});
        sums[k] += is_idle(node_g, node_h, g, h, least) ? own : s;
    }
% endif
}

/* Write what each of `n` borders' sum of scores is at most; returns what the best is at least, `so_far` included. Sums
   become what they are at least. */
FN f32 bound_sums(const level_borders_t* level, const u32 begin, const u32 n, const u32 direction,
                  f32* sums, const f32* errors, GLOBAL f32* most, const f32 so_far) {
    const f32 error = 1.52587891e-5f + (f32)level->n_nodes * 2.38418579e-7f; /* 2^-16, 2^-22 */
    GLOBAL f32* own = most + direction * level->n_bins + begin;
% if noisy:
    const u32 bits = level->bits, first = 2 * begin + direction;
    const f32 noise = level->noise;
% endif
    f32 best = so_far;
    for (u32 k = 0; k < n; k++) {
        const f32 off = ${"errors[k]" if careful else "sums[k] * error"};
% if noisy:
        const rough_rank_t high = rough_rank(sums[k] + off, bits, first + 2 * k, noise);
        const rough_rank_t low = rough_rank(sums[k] - off, bits, first + 2 * k, noise);
        own[k] = high.rank + high.error;
        sums[k] = low.rank - low.error;
% else:
        own[k] = sums[k] + off;
        sums[k] = sums[k] - off;
% endif
    }
    for (u32 k = 0; k < n; k++)
        best = sums[k] > best${" && is_open(level, begin + k, direction)" if categories else ""} ? sums[k] : best;
    (void)error; (void)errors;
    return best;
}
</%def>

<%def name="best_borders(monotone, categories, drawn, noisy)">
<%
    order = " && keeps_level_order(level, bin, direction)" if monotone else ""
    order += " && is_open(level, bin, direction)" if categories else ""
%>
/* A border: what ranks it, its key, and what it gains. */
typedef struct { df rank; u32 key; df gain; } border_t;

/* The best of a feature's borders ${"that was drawn" if drawn else "that may gain `least`"}, of which this work-item looks at each `stride`-th. */
FN border_t best_border(const level_borders_t* level, ${"" if drawn else "GLOBAL const f32* most, const f32 least, "}const u32 first,
                        const u32 stride) {
    border_t best;
    best.rank = best.gain = df_make(NO_SCORE, 0.0f);
    best.key = NO_KEY;
% if noisy:
    const f32 own = level->n_searched ? own_scores(level) : 0.0f;
% endif
    for (u32 at = first; at < level->n_searched * level->directions; at += stride) {
        const u32 direction = at >= level->n_searched, bin = at - direction * level->n_searched;
        if (${"bin == level->only" if drawn else "most[direction * level->n_bins + bin] >= least"}${order}) {
            const df sum = exact_gain(level, bin, direction);
% if noisy:
            const df rank = df_make(noisy_rank(own + sum.hi, level->bits, 2 * bin + direction, level->noise), 0.0f);
% else:
            const df rank = sum;
% endif
            if (ahead(rank, 2 * bin + direction, best.rank, best.key)) {
                best.rank = rank;
                best.gain = sum;
                best.key = 2 * bin + direction;
            }
        }
    }
    return best;
}
</%def>

<%def name="shares()">
/* A level's split for a node, if it gains enough; else no score. */
FN candidate_t level_split(GLOBAL const candidate_t* best, const rule_t rule, const f32 gamma) {
    const f32 gain = best->score_hi > NO_SCORE ? finite(scale_by(best->score_hi, rule.gain_power)) : 0.0f;
    candidate_t own;
    own.left_g = own.left_h = 0;
    own.score_hi = gain > 1e-6f && gain >= gamma ? 0.0f : NO_SCORE;
    own.score_lo = 0.0f;
    own.feature = best->feature;
    own.bin_direction = best->bin_direction;
    return own;
}

/* What a level's split gives to one of its nodes: its left child's sums, and what it gains. */
FN void take_share(candidate_t* own, GLOBAL const i64* cells, const u32 missing, const i64x2 sums, const least_t least,
                   const rule_t rule, const rule_t sides) {
    const u32 bin = own->bin_direction >> 1;
    own->left_g = cells[2 * bin];
    own->left_h = cells[2 * bin + 1];
    if (own->bin_direction & 1) {
        own->left_g += cells[2 * missing];
        own->left_h += cells[2 * missing + 1];
    }
    const df gained = gain_in_node(own->left_g, own->left_h, sums.x, sums.y, least, rule, sides);
    own->score_hi = gained.hi;
    own->score_lo = gained.lo;
}
</%def>
