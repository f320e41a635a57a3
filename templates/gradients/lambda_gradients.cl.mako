## lambda_gradients: float32 gradients and Hessians of ranking losses, from margins and labels of queries
## uses: portable_math portable_log
##
##   rows of a query   0  1  2  3        slots   0  1  2  3
##   margin            .2 .9 .1 .5   ->  order   1  3  0  2    rank_documents: a row's rank is the
##   rank              2  0  3  1                              number of rows before it
##
##   topk: pairs (row, partner) k = 2    x x . .    a work-item sums all pairs of its row, in the order
##                                       x x . .    of the partners' ranks; each pair is computed twice,
##                                       x x        once for either row, so no atomics are needed and
##                                       x x        the order of sums is fixed
##
##   mean: the partners that draw_partners drew for a row, then the rows that drew it, in row order
##   unbiased: pairs are weighted by the bias that position_bias estimated in the round before
##
##   Several launches share the rows: their work-groups are numbered from first_group on, of n_groups.
##
## params: wg_size; metric, whose change is a pair's weight: "ndcg", "map" or "pairwise"; mean, whether
##   partners are drawn; unbiased; spread, whether pairs with distant margins weigh less; normed, whether
##   a query's lambdas are divided by their sum
<%page args="wg_size, metric, mean, unbiased, spread, normed"/>
<%
    FAR, TINY = "1099511627776.0f", "7.88860905e-31f"  # 2^40, 2^-100
%>
<%def name="each(name)">
    const u32 group = first_group + GROUP_ID;
    const u32 own_begin = (u32)((u64)n_rows * group / n_groups);
    const u32 own_end = (u32)((u64)n_rows * (group + 1) / n_groups);
    for (u32 ${name} = own_begin + LOCAL_ID; ${name} < own_end; ${name} += ${wg_size}) {
</%def>

/* ranks: each row's rank in its query, ties in row order; order: row numbers by query and rank */
KERNEL(${wg_size}) rank_documents(
        const u32 first_group, const u32 n_groups, const u32 n_rows, GLOBAL const u32* RESTRICT offsets, GLOBAL const u32* RESTRICT query,
        GLOBAL const f32* RESTRICT margins, GLOBAL u32* RESTRICT ranks,
        GLOBAL u32* RESTRICT order) {
${each("row")}
        const u32 begin = offsets[query[row]], end = offsets[query[row] + 1];
        const u32 mine = ordered(margins[row]);
        u32 rank = 0;
        for (u32 other = begin; other < row; other++) rank += ordered(margins[other]) >= mine;
        for (u32 other = row + 1; other < end; other++) rank += ordered(margins[other]) > mine;
        ranks[row] = rank;
        order[begin + rank] = row;
    }
}
% if metric == "map":

/* number of relevant rows up to every slot, and the sum of 1 / (rank + 1) over them */
KERNEL(${wg_size}) sum_precisions(
        const u32 n_queries, GLOBAL const u32* RESTRICT offsets, GLOBAL const u32* RESTRICT order,
        GLOBAL const f32* RESTRICT labels, GLOBAL const f32* RESTRICT discount,
        GLOBAL f32* RESTRICT relevant, GLOBAL f32* RESTRICT precision) {
    for (u32 q = GROUP_ID * ${wg_size} + LOCAL_ID; q < n_queries; q += N_GROUPS * ${wg_size}) {
        const u32 begin = offsets[q], end = offsets[q + 1];
        f32 count = 0.0f, sum = 0.0f;
        IN_ORDER
        for (u32 slot = begin; slot < end; slot++) {
            const f32 label = labels[order[slot]];
            const f32 share = label * discount[slot - begin];
            count = count + label;
            sum = sum + share;
            relevant[slot] = count;
            precision[slot] = sum;
        }
    }
}
% endif

typedef struct {
    GLOBAL const u32* ranks;
% for name in ("margins", "labels", "gain", "discount", "relevant", "precision"):
    GLOBAL const f32* ${name};
% endfor
    GLOBAL const f32* inverse; /* 1 / t+, then 1 / t-, of n_positions each */
    u32 n_positions;
    u32 begin;                 /* first row of the query */
    u32 spread;                /* whether its margins differ */
} query_t;

typedef struct { f32 g; f32 h; f32 size; f32 better; f32 worse; } sums_t;

/* Change of the metric if two rows swap their ranks. */
FN f32 metric_change(const query_t q, const u32 row, const u32 partner) {
% if metric == "pairwise":
    return 1.0f;
% elif metric == "ndcg":
    const f32 gains = q.gain[row] - q.gain[partner];
    const f32 places = q.discount[q.ranks[row]] - q.discount[q.ranks[partner]];
    return (gains < 0.0f ? -gains : gains) * (places < 0.0f ? -places : places);
% else:
    const int row_first = q.ranks[row] < q.ranks[partner];
    const u32 a = q.ranks[row_first ? row : partner], b = q.ranks[row_first ? partner : row];
    const f32 n = q.relevant[q.begin + a], m = q.relevant[q.begin + b];
    const f32 between = q.precision[q.begin + b - 1] - q.precision[q.begin + a];
    const int rises = q.labels[row_first ? row : partner] < 0.5f;
    const f32 at_a = (rises ? n + 1.0f : n) * q.discount[a];
    const f32 at_b = m * q.discount[b];
    const f32 rise = (at_b - at_a) - between;
    const f32 fall = (at_a - at_b) + between;
    const f32 change = rises ? rise : fall;
    return (change < 0.0f ? -change : change) * q.gain[row];
% endif
}

/* Add a pair of rows with different labels to the sums of the first row. */
FN sums_t add_pair(const query_t q, const u32 row, const u32 partner, sums_t sums) {
    const int better = ordered(q.labels[row]) > ordered(q.labels[partner]);
    const f32 apart = q.margins[row] - q.margins[partner];
    const f32 d = better ? apart : -apart; /* margin of the better row minus that of the other */
    f32 size = d < 0.0f ? -d : d;
    if (size > ${FAR}) size = ${FAR};
    const f32 e = portable_exp(-size);
    const f32 r = reciprocal(1.0f + e);
    const f32 er = e * r;
    f32 delta = metric_change(q, row, partner);
% if spread:
    if (q.spread) delta = delta * reciprocal(size + 0.01f);
% endif
    f32 pull = (d < 0.0f ? r : er) * delta;
    f32 slope = er * r;
    if (slope < 1e-16f) slope = 1e-16f;
    f32 curve = slope * delta;
    curve = curve * 2.0f;
% if unbiased:
    const f32 rest = portable_log1p(e);
    f32 cost = (rest + (d > 0.0f ? size : 0.0f)) * delta;
    if (cost < ${TINY}) cost = 0.0f;
    const u32 here = row - q.begin, there = partner - q.begin, n = q.n_positions;
    if (here < n && there < n) {
        const f32 plus = q.inverse[better ? here : there];
        const f32 minus = q.inverse[n + (better ? there : here)];
        if (plus > 0.0f && minus > 0.0f) {
            const f32 weight = plus * minus;
            pull = pull * weight;
            curve = curve * weight;
        }
        const f32 loss = cost * (better ? minus : plus);
        if (better) sums.better = sums.better + loss;
        else sums.worse = sums.worse + loss;
    }
% endif
    if (pull < ${TINY}) pull = 0.0f;
    if (curve < ${TINY}) curve = 0.0f;
    sums.g = better ? sums.g - pull : sums.g + pull;
    sums.h = sums.h + curve;
    sums.size = sums.size + pull;
    return sums;
}

/* sizes: sums of a row's lambdas; losses: sums over pairs in which the row is better, then worse */
KERNEL(${wg_size}) lambdas(
        const u32 first_group, const u32 n_groups, const u32 n_rows, const u32 n_pairs, const u32 n_positions,
        GLOBAL const u32* RESTRICT offsets, GLOBAL const u32* RESTRICT query,
        GLOBAL const f32* RESTRICT margins, GLOBAL const f32* RESTRICT labels,
        GLOBAL const u32* RESTRICT ranks, GLOBAL const u32* RESTRICT order,
        GLOBAL const f32* RESTRICT gain, GLOBAL const f32* RESTRICT discount,
        GLOBAL const f32* RESTRICT relevant, GLOBAL const f32* RESTRICT precision,
        GLOBAL const u32* RESTRICT partners, GLOBAL const f32* RESTRICT inverse,
        GLOBAL f32* RESTRICT g, GLOBAL f32* RESTRICT h, GLOBAL f32* RESTRICT sizes,
        GLOBAL f32* RESTRICT losses) {
${each("slot")}
        const u32 row = order[slot];
        const u32 begin = offsets[query[row]], end = offsets[query[row] + 1];
        query_t q;
% for name in ("margins", "labels", "ranks", "gain", "discount", "relevant", "precision", "inverse"):
        q.${name} = ${name};
% endfor
        q.n_positions = n_positions;
        q.begin = begin;
        q.spread = ordered(margins[order[begin]]) != ordered(margins[order[end - 1]]);
        sums_t sums;
        sums.g = sums.h = sums.size = sums.better = sums.worse = 0.0f;
        const u32 label = ordered(labels[row]);
% if mean:
        IN_ORDER
        for (u32 pair = 0; pair < n_pairs; pair++) {
            const u32 partner = partners[(u64)pair * n_rows + row];
            if (partner != row) sums = add_pair(q, row, partner, sums);
        }
        IN_ORDER
        for (u32 partner = begin; partner < end; partner++) {
            if (ordered(labels[partner]) == label) continue;
        IN_ORDER
            for (u32 pair = 0; pair < n_pairs; pair++)
                if (partners[(u64)pair * n_rows + partner] == row)
                    sums = add_pair(q, row, partner, sums);
        }
% else:
        const u32 best = begin + n_pairs < end ? begin + n_pairs : end;
        const u32 last = slot < best ? end : best;
        IN_ORDER
        for (u32 other = begin; other < last; other++) {
            const u32 partner = order[other];
            if (ordered(labels[partner]) != label) sums = add_pair(q, row, partner, sums);
        }
% endif
        g[row] = sums.g;
        h[row] = sums.h;
        sizes[row] = sums.size;
% if unbiased:
        losses[row] = sums.better;
        losses[(u64)n_rows + row] = sums.worse;
% endif
    }
}

/* Multiply gradients by `factor` and, if normed, by log2(1 + s) / s, s the sum of the query's sizes. */
KERNEL(${wg_size}) scale_lambdas(
        const u32 first_group, const u32 n_groups, const u32 n_rows, const f32 factor, GLOBAL const u32* RESTRICT offsets,
        GLOBAL const u32* RESTRICT query, GLOBAL const f32* RESTRICT sizes,
        GLOBAL f32* RESTRICT g, GLOBAL f32* RESTRICT h, GLOBAL u32* RESTRICT number) {
${each("row")}
        f32 all = factor;
% if normed:
        const u32 begin = offsets[query[row]], end = offsets[query[row] + 1];
        f32 total = 0.0f;
        IN_ORDER
        for (u32 other = begin; other < end; other++) total = total + sizes[other];
        if (total > 0.0f) {
            const f32 logs = portable_log1p(total) * 1.44269502f;
            all = (logs * reciprocal(total)) * factor;
        }
% endif
        g[row] = g[row] * all;
        h[row] = h[row] * all;
    }
    if (group == 0 && LOCAL_ID == 0) number[0]++; /* of the next round */
}
