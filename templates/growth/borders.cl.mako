## borders: score the borders behind a work-item's entries; `exact` imports these defs, behind `entry_items`
##
##   left      running sum - base            of a border's left child, without missing rows
##   missing   node - (behind - base)        what the segment leaves of the node's sums
##
##   Keys of splits are those of their places, which tell the features.

<%namespace name="candidates" file="candidates.cl.mako"/>
<%def name="functions(items, missing, monotone)">
<%
    item_and_node = "const item_t* item, const parent_t* node"
    known = "GLOBAL const u32* features, GLOBAL const u32* constraints, "
    at = "2 * item->place[k] + direction"
    constraint = "constraints[features[({}) / 2]]" if monotone else ""
%>
<%def name="each_border()">
    i64 at_g = item->sum_g, at_h = item->sum_h, base_g = item->base_g, base_h = item->base_h;
    EACH_ENTRY(item, k) {
        if (IS(item, starts, k)) {
            base_g = at_g;
            base_h = at_h;
        }
        const i64x2 q = sums_of(item, k);
        at_g += q.x;
        at_h += q.y;
        const i64 left_g = at_g - base_g, left_h = at_h - base_h;
        if (!IS(item, border, k) || left_h == 0) continue;
% if missing:
        const i64 missing_g = node->g - (item->behind_g[k] - base_g);
        const i64 missing_h = node->h - (item->behind_h[k] - base_h);
% endif
% for side in range(2 if missing else 1):
        {
            const i64 g = left_g${" + missing_g" if side else ""}, h = left_h${" + missing_h" if side else ""};
            const u32 direction = ${side};
            if (may_split(g, h, node->g - g, node->h - h, node->least)${" && missing_h > 0" if side else ""}) {
                ${caller.body()}
            }
        }
% endfor
    }
</%def>

${candidates.best_rough(each_border, item_and_node)}
% if items <= 32:
## Of few entries and with missing rows, the second loop spills registers on Intel's bmg; of more, the first one does on AMD's chips.
/* Sums of a border's left child; by loops of constant length, so that entries stay in registers. */
FN best_t border_at(${item_and_node}, const u32 wanted, const u32 side) {
    best_t border = no_split();
% if missing and items <= 4:
    i64 at_g = item->sum_g, at_h = item->sum_h, base_g = item->base_g, base_h = item->base_h;
    EACH_ENTRY(item, k) {
        if (IS(item, starts, k)) {
            base_g = at_g;
            base_h = at_h;
        }
        const i64x2 q = sums_of(item, k);
        at_g += q.x;
        at_h += q.y;
        if (k == wanted) { /* with the missing rows: all that the segment has not behind the border */
            border.at = ${at.replace("direction", "side")};
            border.g = side ? at_g + node->g - item->behind_g[k] : at_g - base_g;
            border.h = side ? at_h + node->h - item->behind_h[k] : at_h - base_h;
        }
    }
% else:
<%call expr="each_border()">
                if (k == wanted && direction == side) {
                    border.at = ${at};
                    border.g = g;
                    border.h = h;
                }
</%call>
% endif
    return border;
}

/* The best of the borders whose rough score is at least `least_score`. */
FN best_t best_exact(${item_and_node}, ${known}const int exact_only, const f32 least_score) {
    best_t best = no_split();
    u32 near[2]; /* a bit for each border, with missing rows on the right, and on the left */
    near[0] = near[1] = 0;
<%call expr="each_border()">
                if (exact_only || rough_scores(g, h, node->g - g, node->h - h, node->rule) >= least_score)
                    near[direction] |= 1u << k;
</%call>
    for (u32 side = 0; side < ${2 if missing else 1}; side++) {
        for (u32 left = near[side]; left; left &= left - 1) {
            const best_t border = border_at(item, node, POPCOUNT((left & (0u - left)) - 1), side);
            consider(&best, border.g, border.h, border.at, node${", " + constraint.format("border.at") if monotone else ""});
        }
    }
    return best;
}
% else:
${candidates.best_exact(each_border, item_and_node, at, known, constraint.format(at))}
% endif
</%def>
