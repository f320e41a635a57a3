## set_borders: score the borders between levels in order; `category_split` imports it, behind `candidates.consider`
##
##   in order    c  a  e  b  d  ..  x  y  z     visited: a border behind each of the first `most` levels, and
##   visited     ^  ^  ^            ^  ^  ^     those that leave at most as many

<%namespace name="group" file="group.cl.mako"/>
<%namespace name="candidates" file="candidates.cl.mako"/>

<%def name="functions(wg_size, monotone, drawn, noisy, smooth, frugal)">
${group.exclusive_scans("border_scan", "i64", wg_size, 2)}
% if not (monotone or frugal):
${group.largest("group_max", "f32", wg_size)}
% endif

/* The borders of a feature in a node. */
typedef struct {
    i64 rest_g, rest_h;      /* missing values, and levels that are not in order */
    i64 ordered_g, ordered_h;
    u32 n, most, one_hot;    /* levels in order, those of the smaller side, whether one goes right alone */
    u32 n_entries;           /* those that are kept: the first and the last in order */
% if drawn:
    u32 only;                /* of the visited borders the one that may be a split */
% endif
} choice_t;

/* A work-item's run of the borders that are scored, and the sums of the levels before. */
typedef struct { u32 begin, end, n_visited, n_low; i64 before_g, before_h, middle_g, middle_h;${" LOCAL i64* middle; LOCAL volatile i64* sums;" if frugal else ""} } run_t;

/* The place of a border among n: the first `most` levels, then those whose borders leave as few. */
FN u32 place_of(const run_t run, const u32 n, const u32 j) {
    return j < run.n_low ? j : n - run.n_visited + j;
}

/* Share the borders among the work-items, and sum up the levels before each run. */
FN run_t run_of(const choice_t choice, const level_sums_t sums, GLOBAL const u64* entries,
                LOCAL i64* shared${", LOCAL i64* middle" if frugal else ""}) {
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
% if frugal:
    run.middle = middle;
    if (LOCAL_ID == 0) {
        middle[0] = run.middle_g;
        middle[1] = run.middle_h;
    }
    BARRIER();
    run.sums = shared;
    shared[LOCAL_ID] = run.before_g;
    shared[LOCAL_ID + ${wg_size}] = run.before_h;
% endif
    return run;
}

/* Whether two entries are of levels that weigh 0: no border lies between them. */
FN int are_light(const u64 one, const u64 other) {
    return (u32)(one >> 32) == KEY_OF_ZERO && (u32)(other >> 32) == KEY_OF_ZERO;
}

## `frugal`: the middle's sums and those of the levels so far stay in local memory, and a loop visits both directions
## of a border. So Ponte Vecchio spills none of 1 to 22 registers. The levels are walked once, as their sums move on.
<% middle_g, middle_h = ("run.middle[0]", "run.middle[1]") if frugal else ("run.middle_g", "run.middle_h") %>\
<%def name="each_border()">
% if frugal:
    for (u32 step = 2 * run.begin; step < 2 * run.end; step++) { /* two directions a border */
        const u32 j = step >> 1, direction = step & 1;
% else:
    i64 sum_g = run.before_g, sum_h = run.before_h;
    for (u32 j = run.begin; j < run.end; j++) {
% endif
        const u32 place = place_of(run, choice.n, j), at = place_of(run, choice.n_entries, j);
        const u32 code = (u32)entries[at];
        const i64x2 own = sums_of_level(sums, code);
% if frugal:
        i64 sum_g = run.sums[LOCAL_ID], sum_h = run.sums[LOCAL_ID + ${wg_size}];
        if (!direction) {
            sum_g += own.x + (j == run.n_low ? ${middle_g} : 0);
            sum_h += own.y + (j == run.n_low ? ${middle_h} : 0);
            run.sums[LOCAL_ID] = sum_g;
            run.sums[LOCAL_ID + ${wg_size}] = sum_h;
        }
% else:
        sum_g += own.x + (j == run.n_low ? ${middle_g} : 0);
        sum_h += own.y + (j == run.n_low ? ${middle_h} : 0);
% endif
        const u32 usual = choice.one_hot || 2 * (u64)(place + 1) <= choice.n;
% if drawn:
        if (j != choice.only) continue;
% endif
        if (!choice.one_hot && at + 1 < choice.n_entries && are_light(entries[at], entries[at + 1])) continue;
        ${"{" if frugal else "for (u32 direction = 0; direction < 2; direction++) {"}
            if (choice.rest_h == 0 && direction != usual) continue;
            const i64 right_g = (choice.one_hot ? own.x : sum_g) + (direction ? 0 : choice.rest_g);
            const i64 right_h = (choice.one_hot ? own.y : sum_h) + (direction ? 0 : choice.rest_h);
            const i64 g = node->g - right_g, h = node->h - right_h;
            if (may_split(g, h, right_g, right_h, node->least)) {
                ${caller.body()}
            }
        }
    }
</%def>
<%
    arguments = "const choice_t choice, const run_t run, const level_sums_t sums, GLOBAL const u64* entries, const parent_t* node"
    at = "2 * code + direction"
%>
${candidates.walk_borders(each_border, arguments, at, constraint="0" if monotone else "", noisy=noisy)}
${candidates.give_sums(each_border, arguments, at) if smooth else ""}
</%def>
