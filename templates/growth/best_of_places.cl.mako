## best_of_places: as `best`, where candidates are in another order than that of features
## uses: portable_math structs gain
##
##   candidates   |f5 f1 f2|f5 f1 f2|     of equal scores, that of the lower feature is chosen
##   chosen       |f2      |f1      |
##
## params: wg_size; noisy, features are compared by `noisy_ranks`
<%page args="wg_size, noisy"/>
<%namespace name="candidates" file="candidates.cl.mako"/>
${candidates.group_best(wg_size)}

#define NO_KEY 0xFFFFFFFFu

KERNEL(${wg_size}) best_of_places(
        const u32 depth, const u32 first_place, const u32 end_place, const u32 n_places,
        GLOBAL const level_t* RESTRICT levels,
        GLOBAL const candidate_t* RESTRICT candidates, GLOBAL candidate_t* RESTRICT chosen${", GLOBAL const f32* RESTRICT noisy_ranks" if noisy else ""}) {
${candidates.best_arrays(wg_size)}\
    const u32 index = GROUP_ID;
    if (index >= levels[depth].count) return;
    GLOBAL const candidate_t* mine = candidates + (u64)index * n_places;
    df top = df_make(NO_SCORE, 0.0f);
    u32 top_feature = NO_KEY, top_place = 0;
    for (u32 place = first_place + LOCAL_ID; place < end_place; place += ${wg_size}) {
        const df s = ${"df_make(noisy_ranks[(u64)index * n_places + place], 0.0f)" if noisy else "df_make(mine[place].score_hi, mine[place].score_lo)"};
        if (s.hi > NO_SCORE && ahead(s, mine[place].feature, top, top_feature)) {
            top = s;
            top_feature = mine[place].feature;
            top_place = place;
        }
    }
    const u32 own_feature = top_feature; /* no other work-item has it */
% if wg_size > 1:
    group_best(&top, &top_feature, best_hi, best_lo, best_key);
% endif
    if (top_feature == NO_KEY) {
        if (LOCAL_ID == 0) chosen[index].score_hi = NO_SCORE;
    } else if (own_feature == top_feature) {
        chosen[index] = mine[top_place];
    }
}
