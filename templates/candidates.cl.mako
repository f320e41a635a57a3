## candidates: how the work-items of a group compare splits; `split` imports it
##
##   item      0      1      2      3         score (in two floats) and key of each one's best
##   runs    |  the best of a run  |  ..      each run by a work-item, then the runs by one
##   all                                      the group's best, the lower key if scores are equal

<%def name="group_best(wg_size)">
<%
    run = 1
    while run * run < wg_size:
        run *= 2
%>
% if wg_size > 1:
/* Bring the best (score, key) of the group to every work-item. */
FN void group_best(df* best, u32* key, LOCAL f32* hi, LOCAL f32* lo, LOCAL u32* keys) {
    const u32 id = LOCAL_ID;
    hi[id] = best->hi;
    lo[id] = best->lo;
    keys[id] = *key;
    BARRIER();
% for width in ([run, wg_size // run] if wg_size > run else [wg_size]):
<%
    step = 1 if loop.first else run
%>
    if (id < ${wg_size // (step * width)}) { /* the best of ${width} */
        const u32 mine = id * ${step * width};
        for (u32 other = mine + ${step}; other < mine + ${step * width}; other += ${step}) {
            if (ahead(df_make(hi[other], lo[other]), keys[other], df_make(hi[mine], lo[mine]), keys[mine])) {
                hi[mine] = hi[other];
                lo[mine] = lo[other];
                keys[mine] = keys[other];
            }
        }
    }
    BARRIER();
% endfor
    *best = df_make(hi[0], lo[0]);
    *key = keys[0];
    BARRIER();
}
% endif
</%def>
