## border_draws: random bits for every feature of every node of a level, or of every tree's level
## uses: structs random
## uses if noisy: portable_math portable_log noise
##
##   nodes   |0 1 2 3|4 5 6 7|      `width` neighbouring nodes share their bits: 1, or a symmetric tree's level
##   draws   |f0 f1 ..|f0 f1 ..|    bits for each feature, by the seed, the tree, and the path of the first node
##
##   noise   one number a tree: the standard deviation of its gradients, times `strength`, times a share that falls with
##           the sum s of the learning rates so far as n / (n + e^s), for n rows; as in CatBoost
##
## params: wg_size; noisy, scores get noise
<%page args="wg_size, noisy"/>
KERNEL(${wg_size}) draw_borders(
        const u32 depth, const u32 width, const u32 n_features, const u32 seed, const u32 n_batches,
        const u32 first_tree, GLOBAL const u32* RESTRICT header, GLOBAL const level_t* RESTRICT levels,
        GLOBAL const node_t* RESTRICT nodes, GLOBAL u32* RESTRICT draws) {
    const u32 first = levels[depth].first, count = levels[depth].count / width;
    const u32 round = header[3] / n_batches;
    for (u32 place = GROUP_ID; place < count; place += N_GROUPS) {
        GLOBAL const node_t* node = &nodes[first + place * width];
        const u32 tree = stream(seed, round, first_tree + node->tree);
        const u32 key = stream(tree, 4, node->path);
        for (u32 feature = LOCAL_ID; feature < n_features; feature += ${wg_size})
            draws[(u64)place * n_features + feature] = random_bits(key, feature);
    }
}
% if noisy:

KERNEL(${wg_size}) scale_noise(
        const u32 n_groups, const u32 n_batches, const f32 strength, const f32 learning_rate, const f32 log_rows,
        GLOBAL const u32* RESTRICT header, GLOBAL const i64* RESTRICT squares, GLOBAL const i64x2* RESTRICT node_sums,
        GLOBAL f32* RESTRICT noise) {
    if (LOCAL_ID != 0) return;
    i64 sum = 0;
    for (u32 i = 0; i < n_groups; i++) sum += squares[GROUP_ID * n_groups + i];
    const f32 far = (f32)(header[3] / n_batches) * learning_rate;
    noise[GROUP_ID] = noise_size(sum, node_sums[GROUP_ID].y, strength, far, log_rows);
}
% endif
