## ordered_sums: gradients of entries, sums of 64 bits as two words, and leaf weights; `ordered_leaves`
## and `leaves_by_next_order` import these defs
<%namespace name="exponents" file="exponents.cl.mako"/>

## The loop over the gradients g and h of the entries of `share`, from which rows that count are taken: the
## body sees `row`, too.
<%def name="each_gradient(wg_size, weighted, sampled)">
% if wg_size == 1:
    f32 gs[64], hs[64]; /* a batch: the gradients' loop is vectorised, the other one is not */
    for (u32 at = share.begin; at < share.end; at += 64) {
        const u32 n = share.end - at < 64 ? share.end - at : 64;
        for (u32 i = 0; i < n; i++)
            gradient(margins[at + i], labels[at + i], tree + first_tree, &gs[i], &hs[i]);
        for (u32 i = 0; i < n; i++) {
            f32 g = gs[i], h = hs[i];
            const u32 row = rows[at + i];
% else:
    for (u32 entry = share.begin + LOCAL_ID; entry < share.end; entry += ${wg_size}) {
        {
            f32 g, h;
            const u32 row = rows[entry];
            gradient(margins[entry], labels[entry], tree + first_tree, &g, &h);
% endif
            (void)row;
% if weighted:
            if (as_u32(weights[row]) == 0) continue;
% endif
% if sampled:
            const f32 factor = factors[(u64)(tree % n_draws) * n_rows + row];
            if (as_u32(factor) == 0) continue;
            g = finite(g * factor);
            h = finite(h * factor);
% endif
            ${caller.body()}
        }
    }
</%def>

## Choose a tree's scale by its `exponents`, and set the group's `own` sums of nodes to 0.
<%def name="begin(wg_size, n_exponents)">
    for (u32 i = LOCAL_ID; i < ${n_exponents}; i += ${wg_size}) counts[i] = exponents[${n_exponents} * tree + i];
    for (u32 i = LOCAL_ID; i < (fits ? 4 * n_nodes : 0); i += ${wg_size}) own[i] = 0;
    BARRIER();
${exponents.scale_exponents(wg_size, n_exponents)}\
    const f32 unit_g = power_of_two(scale_g), unit_h = power_of_two(scale_h);
    const u32 wide = wides[0] | wides[1];
    if (GROUP_ID == 0 && LOCAL_ID == 0) {
        scale[tree].g = scale_g;
        scale[tree].h = scale_h;
        scale[tree].weight_shift = weight_shift;
    }
</%def>

## What a row with the gradients g and h adds in this scale: quanta_g and quanta_h.
<%def name="quanta(weighted)">
            /* the product with a power of two is exact; wide ones do not fit 31 bits */
            i64 quanta_g = wide ? to_quanta(g, scale_g) : round_to_i32(g * unit_g);
            i64 quanta_h = wide ? to_quanta(h, scale_h) : round_to_i32(h * unit_h);
            if (quanta_h < 1) quanta_h = 1; /* a row that counts has at least 1 quantum */
% if weighted:
            quanta_g = weigh(quanta_g, weights[row]);
            quanta_h = weigh(quanta_h, weights[row]);
            if (quanta_h < 1) quanta_h = 1;
% endif
</%def>

<%def name="words_of_sums(wg_size)">
<% word = lambda k: f"4 * leaf + {k}" if wg_size == 1 else f"{k} * n_nodes + leaf" %>\
/* A sum has two words, the low one first; `old` is the low word before. */
FN u32 high_word(const i64 x, const u32 old) {
    const u32 low = (u32)x;
    return (u32)((u64)x >> 32) + (old + low < old ? 1u : 0u);
}

FN void add_local_sum(LOCAL u32* low, LOCAL u32* high, const i64 x) {
% if wg_size == 1:
    const u32 old = *low;
    *low = old + (u32)x;
    *high += high_word(x, old);
% else:
    const u32 more = high_word(x, atomic_add_local_u32(low, (u32)x));
    if (more) atomic_add_local_u32(high, more);
% endif
}

FN void add_global_sum(GLOBAL u32* sum, const i64 x) {
    if (x == 0) return;
    const u32 high = high_word(x, atomic_add_global_u32(&sum[0], (u32)x));
    if (high) atomic_add_global_u32(&sum[1], high);
}

/* Add to a leaf's sums: to the group's own ones, if n_nodes of them fit local memory; else it is 0. A work-item has a
   leaf's words beside each other. In a group, each word of all leaves is an array: leaves then lie in all banks. */
FN void add_to_leaf(LOCAL u32* own, GLOBAL u32* sums, const u32 n_nodes, const u32 leaf, const i64 g, const i64 h) {
    if (n_nodes) {
        add_local_sum(&own[${word(0)}], &own[${word(1)}], g);
        add_local_sum(&own[${word(2)}], &own[${word(3)}], h);
    } else {
        add_global_sum(&sums[4 * (u64)leaf], g);
        add_global_sum(&sums[4 * (u64)leaf + 2], h);
    }
}

/* Add a group's own sums to those of all. */
FN void add_own(LOCAL const u32* own, GLOBAL u32* sums, const u32 n_nodes) {
    for (u32 leaf = LOCAL_ID; leaf < n_nodes; leaf += ${wg_size}) {
        GLOBAL u32* sum = sums + 4 * (u64)leaf;
        add_global_sum(sum, (i64)((u64)own[${word(1)}] << 32 | own[${word(0)}]));
        add_global_sum(sum + 2, (i64)((u64)own[${word(3)}] << 32 | own[${word(2)}]));
    }
}

/* A leaf without rows has weight 0, within its bounds. */
FN f32 weight_of_sums(const i64 g, const i64 h, const rule_t rule) {
    const df none = df_make(0.0f, 0.0f), one = in_units(1);
    const f32 empty = unit_weight(none, one, rule).hi;
    const f32 weight = h == 0 ? empty : weight_in_units(g, h, rule);
    return real_weight(weight, rule);
}
</%def>

<%def name="functions(wg_size)">
${words_of_sums(wg_size)}
FN void count_one(LOCAL u32* count) {
% if wg_size == 1:
    (*count)++;
% else:
    atomic_add_local_u32(count, 1);
% endif
}

/* Read a sum and set it to 0 for the next tree. */
FN i64 take_sum(GLOBAL u32* sum) {
    const i64 found = (i64)((u64)sum[1] << 32 | sum[0]);
    sum[0] = 0;
    sum[1] = 0;
    return found;
}

FN f32 moved_bound(const f32 bound, const i32 power) {
    const int unbounded = bound >= UNBOUNDED || bound <= -UNBOUNDED;
    return unbounded ? bound : finite(scale_by(bound, power));
}

/* The rule of a leaf whose bounds are in the units of another fixed point. */
FN rule_t ordered_rule(const rule_t rule, GLOBAL const scale_t* theirs, const bounds_t bounds) {
    const i32 power = theirs->h - theirs->g - rule.weight_power;
    bounds_t moved;
    moved.lower = moved_bound(bounds.lower, power);
    moved.upper = moved_bound(bounds.upper, power);
    return within(rule, moved);
}
</%def>
