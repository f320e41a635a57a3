## sample: draw the rows of every tree, and the factors of their gradients
## uses: portable_math portable_log random
##
##   factors[tree, row]   0: the row is not drawn
##
##   uniform          a row is drawn with probability `rate`, independent of its gradient
##   gradient_based   with probability p = min(1, s / m) and factor 1 / p (Ibragimov & Gusev 2019,
##                    "Minimal Variance Sampling"): s = sqrt(g^2 + lambda h^2), and m is chosen so that
##                    about `rate` of the rows are drawn
##   bayesian         drawn as by uniform, with the factor (-ln u)^rate, u even in 0 .. 1 (Rubin 1981, "The
##                    Bayesian bootstrap", for rate = 1; CatBoost's bagging_temperature)
##   goss             the share `rate` of rows with the largest |g h|, factor 1, and a share `other` of
##                    all rows drawn from the rest, with a factor (Ke et al. 2017, "LightGBM")
##
##   Trees of `n_alike` outputs that split alike draw the same rows: s is then the root of the sum of squares over the
##   outputs, and for goss the sum of |g h|, in their order.
##
##   Only counts are summed over rows, so every device draws the same rows.
##
##   If `listed`, the drawn rows are written to the root's row list. Rows of a tile are in order; the
##   order of tiles depends on timing, as in `partition`.
##
## params: wg_size; method; loss, statements that set g and h; weighted; listed, whether to write the list;
##         n_classes, of importance
<%page args="wg_size, method, loss, weighted, listed, n_classes"/>
<%namespace name="losses" file="loss.cl.mako"/>
<%namespace name="group" file="group.cl.mako"/>
<%namespace name="border" file="sample_border.cl.mako"/>
% if listed and wg_size > 1:
${group.exclusive_scan("group_scan", "u32", wg_size)}
% endif
<%def name="all_rows()">
% if listed and wg_size == 1:
    for (u32 tile = begin; tile < end; tile += 1024) {
        const u32 tile_end = end - tile < 1024 ? end : tile + 1024;
        u32 seen[1024], n_seen = 0;
        for (u32 row = tile; row < tile_end; row++) {
            ${caller.body()}
            factors[row] = factor;
            seen[n_seen] = row;
            n_seen += as_u32(factor) != 0;
        }
        const u32 at = atomic_add_global_u32(drawn, n_seen);
        for (u32 i = 0; i < n_seen; i++) rows[at + i] = seen[i];
    }
% elif listed:
    for (u32 tile = begin; tile < end; tile += ${8 * wg_size}) {
        const u32 first = tile + 8 * LOCAL_ID; /* each work-item has 8 neighbouring rows */
        u32 seen = 0, n_seen = 0, total;
        for (u32 i = 0; i < 8; i++) {
            const u32 row = first + i;
            if (row >= end) break;
            ${caller.body()}
            factors[row] = factor;
            seen |= (u32)(as_u32(factor) != 0) << i;
            n_seen += as_u32(factor) != 0;
        }
        u32 at = group_scan(n_seen, shared, &total);
        if (LOCAL_ID == 0) taken[0] = atomic_add_global_u32(drawn, total);
        BARRIER();
        at += taken[0];
        for (u32 i = 0; i < 8; i++)
            if (seen >> i & 1) rows[at++] = first + i;
        BARRIER();
    }
% else:
    for (u32 row = begin + LOCAL_ID; row < end; row += ${wg_size}) {
        ${caller.body()}
        factors[row] = factor;
    }
% endif
</%def>
<% by_gradient = method in ("gradient_based", "goss") %>\
% if method == "bayesian":
/* (-ln u)^power for an odd multiple u of 2^-24. The logarithm of u is not 0, as u is not 1. */
FN f32 random_weight(const u32 bits, const f32 power) {
    const f32 u = (f32)((bits >> 9 << 1) + 1) * 5.9604644775390625e-8f;
    const f32 exponential = -portable_log(u);
    return portable_exp(power * portable_log(exponential));
}

% endif
% if by_gradient:
${losses.gradient(loss)}
${border.of_importance(method, n_classes)}
/* The importance of a row, from its gradients in `n_alike` outputs. */
FN f32 importance_of_row(
        GLOBAL const f32* margins, GLOBAL const f32* labels,${" GLOBAL const f32* weights," if weighted else ""} const u32 row, const u32 n_rows,
        const u64 label_stride, const u32 output, const u32 n_alike, const f32 root_lambda) {
    f32 sum = 0.0f;
    IN_ORDER
    for (u32 k = 0; k < n_alike; k++) {
        f32 g, h;
        gradient(margins[(u64)k * n_rows + row], labels[k * label_stride + row], output + k, &g, &h);
% if weighted:
        g *= weights[row];
        h *= weights[row];
% endif
        const f32 own = importance(g, h, root_lambda);
        sum = k ? ${"sum + own" if method == "goss" else "importance(sum, own, 1.0f)"} : own;
    }
    return sum;
}

KERNEL(${wg_size}) clear_classes(GLOBAL u32* RESTRICT classes) {
    for (u32 i = LOCAL_ID; i < ${n_classes}; i += ${wg_size}) classes[GROUP_ID * ${n_classes} + i] = 0;
}

KERNEL(${wg_size}) count_classes(
        const u32 n_rows, const u32 first_tree, const u32 n_parallel, const u32 n_alike, const u64 label_stride,
        const f32 root_lambda, GLOBAL const f32* RESTRICT margins,
        GLOBAL const f32* RESTRICT labels,
% if weighted:
        GLOBAL const f32* RESTRICT weights,
% endif
        GLOBAL u32* classes) {
    LOCAL_ARRAY(u32, counts, ${n_classes});
    const u32 output = (first_tree + GROUP_ID_Y) / n_parallel;
    margins += (u64)output * n_rows;
    labels += output * label_stride;
    for (u32 i = LOCAL_ID; i < ${n_classes}; i += ${wg_size}) counts[i] = 0;
    BARRIER();
    const u32 begin = (u32)((u64)n_rows * GROUP_ID / N_GROUPS);
    const u32 end = (u32)((u64)n_rows * (GROUP_ID + 1) / N_GROUPS);
    for (u32 row = begin + LOCAL_ID; row < end; row += ${wg_size}) {
% if weighted:
        if (as_u32(weights[row]) == 0) continue;
% endif
        const u32 mine = class_of(importance_of_row(
            margins, labels, ${"weights, " if weighted else ""}row, n_rows, label_stride, output, n_alike, root_lambda));
% if wg_size == 1:
        counts[mine]++;
% else:
        atomic_add_local_u32(&counts[mine], 1);
% endif
    }
    BARRIER();
    for (u32 i = LOCAL_ID; i < ${n_classes}; i += ${wg_size})
        if (counts[i]) atomic_add_global_u32(&classes[GROUP_ID_Y * ${n_classes} + i], counts[i]);
}

% endif

/* Draw the rows of one page. `header[3]` is the number of batches of trees so far; a round has
   `n_batches`. Row 0 of this device is row `first_id` of the data set. Trees whose numbers are equal modulo
   `n_streams` draw the same rows. */
KERNEL(${wg_size}) draw(
        const u32 n_rows, const u32 first_row, const u32 page_rows, const u32 first_id, const u32 first_tree, const u32 n_parallel, const u32 n_alike, const u64 label_stride,
        const u32 seed, const u32 n_streams, const u32 n_batches, const u32 all_before, const u32 keep,
        const f32 rate, const f32 other, const f32 root_lambda,
        GLOBAL const u32* RESTRICT header, GLOBAL const f32* RESTRICT margins,
        GLOBAL const f32* RESTRICT labels,
% if weighted:
        GLOBAL const f32* RESTRICT weights,
% endif
        GLOBAL const u32* RESTRICT classes, GLOBAL f32* RESTRICT factors${", GLOBAL u32* drawn, GLOBAL u32* RESTRICT even_rows" if listed else ""}) {
% if listed and wg_size > 1:
    LOCAL_ARRAY(u32, shared, ${wg_size});
    LOCAL_ARRAY(u32, taken, 1);
% endif
    const u32 tree = GROUP_ID_Y, round = header[3] / n_batches;
    const u32 key = stream(seed, round, (first_tree + tree) % n_streams);
    const u32 begin = first_row + (u32)((u64)page_rows * GROUP_ID / N_GROUPS);
    const u32 end = first_row + (u32)((u64)page_rows * (GROUP_ID + 1) / N_GROUPS);
    factors += (u64)tree * n_rows;
% if listed:
    GLOBAL u32* rows = even_rows + (u64)tree * n_rows + first_row;
    drawn += tree;
% endif
% if not by_gradient:
    (void)all_before; (void)other;${" (void)rate;" if method == "uniform" else ""} (void)root_lambda; (void)label_stride;
    (void)n_parallel; (void)n_alike; (void)margins; (void)labels; (void)classes;${" (void)weights;" if weighted else ""}
    <%self:all_rows>
% if method == "uniform":
        const f32 factor = random_bits(key, first_id + row) < keep ? 1.0f : 0.0f;
% else:
        const u32 bits = random_bits(key, first_id + row); /* `keep` of 2^32 - 1 is all rows */
        const f32 factor = bits <= keep ? random_weight(mix(bits), rate) : 0.0f;
% endif
    </%self:all_rows>
% else:
    (void)keep;
    LOCAL_ARRAY(f32, limit, 1);
    LOCAL_ARRAY(i32, where, 1);
    const u32 output = (first_tree + tree) / n_parallel;
    margins += (u64)output * n_rows;
    labels += output * label_stride;
    classes += tree * ${n_classes};
    if (LOCAL_ID == 0) {
% if method == "goss":
        f32 share;
        where[0] = (i32)border(classes, rate, &share);
        limit[0] = share;
% else:
        i32 power;
        limit[0] = border(classes, rate, &power);
        where[0] = power;
% endif
    }
    BARRIER();
    const int all = round < all_before;
    <%self:all_rows>
        const f32 s = importance_of_row(
            margins, labels, ${"weights, " if weighted else ""}row, n_rows, label_stride, output, n_alike, root_lambda);
        const u32 bits = random_bits(key, first_id + row);
        f32 factor = 1.0f;
% if method == "goss":
        const u32 mine = class_of(s);
        const int top = mine > (u32)where[0]
            || (mine == (u32)where[0] && unit_number(mix(bits)) < limit[0]);
        const f32 rest = 1.0f - rate;
        if (!top) factor = unit_number(bits) * rest < other ? rest * reciprocal(other) : 0.0f;
% else:
        (void)other;
        const f32 scaled = scale_by(s, -where[0]);
        if (scaled < limit[0]) {
            const int seen = scaled > NEAR && unit_number(bits) * limit[0] < scaled;
            factor = seen ? limit[0] * reciprocal(scaled) : 0.0f;
        }
% endif
        if (all) factor = 1.0f;
    </%self:all_rows>
% endif
}
