## best: find the best feature of every node of a level among the candidates that `split` found
## uses: portable_math structs gain
##
##   candidates   |f0 f1 f2 ..|f0 f1 f2 ..|     one work-group for each node
##   chosen       |f2         |f0         |
##
##   Features from `first_feature` to `end_feature` are compared: all, or a team's member's own.
##   If there are few candidates, `decide` compares them itself and this kernel is not launched.
##
## params: wg_size; noisy, features are compared by `noisy_ranks`
<%page args="wg_size, noisy"/>
<%namespace name="candidates" file="candidates.cl.mako"/>
${candidates.group_best(wg_size)}

#define NO_KEY 0xFFFFFFFFu

KERNEL(${wg_size}) best(
        const u32 depth, const u32 first_feature, const u32 end_feature, const u32 n_features,
        GLOBAL const level_t* RESTRICT levels,
        GLOBAL const candidate_t* RESTRICT candidates, GLOBAL candidate_t* RESTRICT chosen${", GLOBAL const f32* RESTRICT noisy_ranks" if noisy else ""}) {
${candidates.best_arrays(wg_size)}\
    const u32 index = GROUP_ID;
    if (index >= levels[depth].count) return;
    GLOBAL const candidate_t* mine = candidates + (u64)index * n_features;
    df top = df_make(NO_SCORE, 0.0f);
    u32 top_feature = NO_KEY;
    for (u32 feature = first_feature + LOCAL_ID; feature < end_feature; feature += ${wg_size}) {
        const df s = ${"df_make(noisy_ranks[(u64)index * n_features + feature], 0.0f)" if noisy else "df_make(mine[feature].score_hi, mine[feature].score_lo)"};
        if (s.hi > NO_SCORE && ahead(s, feature, top, top_feature)) {
            top = s;
            top_feature = feature;
        }
    }
% if wg_size > 1:
    group_best(&top, &top_feature, best_hi, best_lo, best_key);
% endif
    if (LOCAL_ID == 0) {
        if (top_feature != NO_KEY) chosen[index] = mine[top_feature];
        else chosen[index].score_hi = NO_SCORE;
    }
}
