## carries: what the first and the last segment of a piece have in other pieces of its node; `exact` imports
##          these defs
##
##   pieces    |f0|f0 f1|f1|f1|f1 f2|     a work-item takes a run of neighbours, then the runs before its own
##   before    0  .     .  .  .           sums of the pieces before in which the first segment goes on
##   after     .  .     .  .  0           the same, mirrored

<%def name="functions(wg_size)">
/* A run of neighbouring pieces of a node, one for each work-item: the sums that its last segment, and its
   first one, have within the run. */
typedef struct { u32 feature, whole; i64 g, h; } run_end_t;

/* Take a piece behind (sums 2, 3; its first feature meets the run) or, mirrored, before the run. */
FN void extend(run_end_t* run, const u32 near, const u32 far, const i64 near_g, const i64 near_h,
               const i64 far_g, const i64 far_h) {
    if (near != run->feature) {
        run->whole = 0;
        run->g = run->h = 0;
    }
    if (near != far) run->whole = 0;
    run->feature = far;
    run->g = near == far ? run->g + near_g : far_g;
    run->h = near == far ? run->h + near_h : far_h;
}

% for name, near, far, sums in (("before", 0, 1, (0, 1, 2, 3)), ("after", 1, 0, (2, 3, 0, 1))):
<%
    back = name == "after"
%>
/* What the segment at a piece's ${"end" if back else "begin"} has in the pieces ${name} it, of one node. */
FN void carry_${name}(const u32 begin, const u32 end, GLOBAL const i64* piece_sums,
                     GLOBAL const u32* piece_ends, GLOBAL i64* carries, LOCAL u32* ends, LOCAL i64* sums) {
    const u32 n = end - begin, per_item = (n + ${wg_size - 1}) / ${wg_size};
    const u32 from = LOCAL_ID * per_item < n ? LOCAL_ID * per_item : n;
    const u32 to = from + per_item < n ? from + per_item : n;
    run_end_t run;
    run.g = run.h = 0;
    run.whole = 1;
    run.feature = 0xFFFFFFFFu;
% for turn in range(2):
    for (u32 i = from; i < to; i++) {
        const u32 task = ${"end - 1 - i" if back else "begin + i"};
        const u32 near = piece_ends[2 * task + ${near}], far = piece_ends[2 * task + ${far}];
        GLOBAL const i64* own = piece_sums + 4 * (u64)task;
% if turn == 0:
        if (i == from) run.feature = near; /* nothing is broken yet */
% else:
        carries[4 * (u64)task + ${2 * back}] = near == run.feature ? run.g : 0;
        carries[4 * (u64)task + ${2 * back + 1}] = near == run.feature ? run.h : 0;
% endif
        extend(&run, near, far, own[${sums[0]}], own[${sums[1]}], own[${sums[2]}], own[${sums[3]}]);
    }
% if turn == 0:
    ends[2 * LOCAL_ID] = run.feature;
    ends[2 * LOCAL_ID + 1] = run.whole;
    sums[2 * LOCAL_ID] = run.g;
    sums[2 * LOCAL_ID + 1] = run.h;
    BARRIER();
    run.g = run.h = 0;
    if (from < to) {
        run.feature = piece_ends[2 * (${"end - 1 - from" if back else "begin + from"}) + ${near}];
        for (u32 other = LOCAL_ID; other > 0; other--) {
            if (ends[2 * other - 2] != run.feature) break;
            run.g += sums[2 * other - 2];
            run.h += sums[2 * other - 1];
            if (!ends[2 * other - 1]) break;
        }
    }
    BARRIER();
% endif
% endfor
}
% endfor
</%def>
