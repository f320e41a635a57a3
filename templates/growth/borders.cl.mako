## borders: score the borders behind a work-item's entries; `exact` imports these defs
##
##   entries   f0:3 f0:3 f0:5 f2:1 f2:4      feature:bin, sorted; a work-item has neighbours
##   starts                   |              of a segment, which `base` is the running sum before
##   borders             |    |    |    |    behind the last entry of each bin
##   left      running sum - base            of a border's left child, without missing rows
##   missing   node - (behind - base)        `behind` is the running sum at the segment's end

<%def name="functions(wg_size, items, missing, monotone)">
<%
    n_words = (wg_size + 31) // 32
%>
#define STARTS 1u  /* the entry is its segment's first in the piece, and not the piece's first */
#define BORDER 2u  /* the last of its bin in the node */
#define ALLOWED 4u /* the node may split on its feature */

/* What the borders of a node are scored with. */
typedef struct {
    i64 node_g, node_h;
    i64 least; /* Hessian of a child */
    rule_t rule;
    int exact_only;
} run_t;

/* A work-item's entries in a piece, from index `at` on, and running sums of the piece. */
typedef struct {
    u32 at, n;
    i64 sum_g, sum_h;   /* before its first entry */
    i64 base_g, base_h; /* before the segment of its first entry */
    u32 place[${items}], kind[${items}];
    i64 g[${items}], h[${items}];
% if missing:
    i64 behind_g[${items}], behind_h[${items}]; /* behind the segment of each entry */
% endif
} item_t;

FN run_t run_of(GLOBAL const node_t* node, GLOBAL const scale_t* scale, const f32 reg_lambda,
                const f32 reg_alpha, const f32 max_delta_step, const f32 min_child_weight) {
    run_t run;
    run.node_g = node->sum_g;
    run.node_h = node->sum_h;
    run.least = to_quanta(min_child_weight, scale->h - scale->weight_shift);
    run.rule = make_rule(scale, reg_lambda, reg_alpha, max_delta_step);
% if monotone:
    run.rule = within(run.rule, node->lower, node->upper);
    run.exact_only = 1;
% else:
    run.exact_only = run.rule.alpha != 0.0f;
% endif
    return run;
}

FN void read_item(item_t* item, const piece_t piece, GLOBAL const u32* features,
                  GLOBAL const i32x2* quanta, GLOBAL const i32x2* high, const u32 wide) {
    const u32 at = LOCAL_ID * ${items};
    item->at = at;
    item->n = at >= piece.size ? 0 : (piece.size - at < ${items} ? piece.size - at : ${items});
    item->sum_g = item->sum_h = 0;
    if (item->n == 0) return;
    GLOBAL const u32* places = piece.entries.places + at;
    const u32 rest = piece.size - at + piece.behind; /* of the node, from its first entry on */
    u32 feature = features[at ? piece.entries.places[at - 1] : places[0]];
    for (u32 k = 0; k < ${items}; k++) {
        if (k >= item->n) break;
        const i64x2 q = quanta_of(quanta, high, wide, piece.entries.rows[at + k]);
        const u32 place = places[k], own = features[place];
        item->g[k] = q.x;
        item->h[k] = q.y;
        item->place[k] = place;
        item->kind[k] = (own != feature ? STARTS : 0) | ALLOWED
            | (k + 1 == rest || places[k + 1] != place ? BORDER : 0);
        feature = own;
    }
}

/* Leave out features that are not in the node's mask. */
FN void allow(item_t* item, GLOBAL const u32* features, GLOBAL const u32* mask) {
    for (u32 k = 0; k < ${items}; k++) {
        if (k >= item->n) break;
        const u32 feature = features[item->place[k]];
        if (!((mask[feature / 32] >> feature % 32) & 1)) item->kind[k] &= ~ALLOWED;
    }
}

% if wg_size > 1:
FN u32 lowest_bit(const u32 bits) { return POPCOUNT((bits & (0u - bits)) - 1); }

FN u32 highest_bit(const u32 given) {
    u32 bits = given;
    for (u32 width = 1; width < 32; width *= 2) bits |= bits >> width;
    return POPCOUNT(bits) - 1;
}

/* The last work-item before this one, or the first behind it, in whose entries a segment starts; or
   NO_KEY. `marks` has a bit for each work-item. */
FN u32 start_before(LOCAL const u32* marks) {
    u32 word = LOCAL_ID / 32, bits = marks[word] & ((1u << LOCAL_ID % 32) - 1);
    while (bits == 0 && word > 0) bits = marks[--word];
    return bits ? 32 * word + highest_bit(bits) : NO_KEY;
}

FN u32 start_behind(LOCAL const u32* marks) {
    u32 word = LOCAL_ID / 32, bits = marks[word] & ~((2u << LOCAL_ID % 32) - 1);
    while (bits == 0 && word + 1 < ${n_words}) bits = marks[++word];
    return bits ? 32 * word + lowest_bit(bits) : NO_KEY;
}
% endif

/* Find the running sums before an item's entries, and before and behind their segments. */
FN void place_item(item_t* item, const run_t* run, GLOBAL const i64* carries, LOCAL i64* shared,
                   LOCAL i64* starts, LOCAL u32* marks) {
    i64 g = 0, h = 0, total_g, total_h;
    for (u32 k = 0; k < ${items}; k++) {
        if (k >= item->n) break;
        g += item->g[k];
        h += item->h[k];
    }
    group_scan(g, h, shared, &item->sum_g, &total_g, &item->sum_h, &total_h);
    item->base_g = -carries[0];
    item->base_h = -carries[1];
    i64 end_g = 0, end_h = 0;
% if missing:
    end_g = total_g + carries[2];
    end_h = total_h + carries[3];
% endif
% if wg_size > 1:
    if (LOCAL_ID < ${n_words}) marks[LOCAL_ID] = 0;
    BARRIER();
    g = item->sum_g;
    h = item->sum_h;
    int any = 0;
    for (u32 k = 0; k < ${items}; k++) {
        if (k >= item->n) break;
        if (item->kind[k] & STARTS) {
            if (!any) {
                starts[4 * LOCAL_ID] = g;
                starts[4 * LOCAL_ID + 1] = h;
            }
            starts[4 * LOCAL_ID + 2] = g;
            starts[4 * LOCAL_ID + 3] = h;
            any = 1;
        }
        g += item->g[k];
        h += item->h[k];
    }
    if (any) atomic_add_local_u32(&marks[LOCAL_ID / 32], 1u << LOCAL_ID % 32);
    BARRIER();
    const u32 before = start_before(marks);
    if (before != NO_KEY) {
        item->base_g = starts[4 * before + 2];
        item->base_h = starts[4 * before + 3];
    }
% if missing:
    const u32 behind = start_behind(marks);
    if (behind != NO_KEY) {
        end_g = starts[4 * behind];
        end_h = starts[4 * behind + 1];
    }
% endif
% else:
    (void)starts; (void)marks;
    g = item->sum_g + g;
    h = item->sum_h + h;
% endif
    (void)run; (void)end_g; (void)end_h;
% if missing:
    for (u32 back = 0; back < ${items}; back++) {
        const u32 k = ${items} - 1 - back;
        if (k >= item->n) continue;
        item->behind_g[k] = end_g;
        item->behind_h[k] = end_h;
        g -= item->g[k];
        h -= item->h[k];
        if (item->kind[k] & STARTS) {
            end_g = g;
            end_h = h;
        }
    }
% endif
}

/* Whether both children of a split would have rows, and enough of them. */
FN int has_children(const run_t* run, const i64 left_h) {
    const i64 right_h = run->node_h - left_h;
    return right_h > 0 && left_h >= run->least && right_h >= run->least;
}

FN f32 rough_split(const run_t* run, const i64 g, const i64 h) {
    return rough_score(g, h, run->rule) + rough_score(run->node_g - g, run->node_h - h, run->rule);
}

<%def name="each_border()">
    i64 at_g = item->sum_g, at_h = item->sum_h, base_g = item->base_g, base_h = item->base_h;
    for (u32 k = 0; k < ${items}; k++) {
        if (k >= item->n) break;
        if (item->kind[k] & STARTS) {
            base_g = at_g;
            base_h = at_h;
        }
        at_g += item->g[k];
        at_h += item->h[k];
        const i64 left_g = at_g - base_g, left_h = at_h - base_h;
        if ((item->kind[k] & (BORDER | ALLOWED)) != (BORDER | ALLOWED) || left_h == 0) continue;
% if missing:
        const i64 missing_g = run->node_g - (item->behind_g[k] - base_g);
        const i64 missing_h = run->node_h - (item->behind_h[k] - base_h);
        for (u32 direction = 0; direction < (missing_h > 0 ? 2u : 1u); direction++) {
            const i64 g = left_g + (direction ? missing_g : 0), h = left_h + (direction ? missing_h : 0);
% else:
        {
            const u32 direction = 0;
            const i64 g = left_g, h = left_h;
            (void)direction;
% endif
            if (has_children(run, h)) {
                ${caller.body()}
            }
        }
    }
</%def>

/* The highest rough score of the borders; -1 if there is none. */
FN f32 best_rough(const item_t* item, const run_t* run) {
    f32 most = -1.0f;
    if (run->exact_only) return most;
<%call expr="each_border()">
                const f32 rough = rough_split(run, g, h);
                most = rough > most ? rough : most;
</%call>
    return most;
}

/* The best of the borders whose rough score is at least `least_score`; its key is that of its place. */
FN best_t best_exact(const item_t* item, const run_t* run, const f32 least_score,
                     GLOBAL const u32* features, GLOBAL const u32* constraints) {
    best_t best = no_split();
    (void)features; (void)constraints;
<%call expr="each_border()">
                if (!run->exact_only) {
                    const f32 rough = rough_split(run, g, h);
                    if (rough < least_score || rough * MORE < best.score.hi) continue;
                }
                consider(&best, g, h, 2 * item->place[k] + direction, run->node_g, run->node_h,
                         run->rule${", constraints[features[item->place[k]]]" if monotone else ""});
</%call>
    return best;
}
</%def>
