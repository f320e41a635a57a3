## exponents: counts of gradients by their exponents, half of them of g, half of h; `gradients`, `ordered_leaves`
## and `update_margins` import it

## Count a row's g and h.
<%def name="count(n_exponents)">\
        atomic_add_local_u32(&counts[(as_u32(g) >> 23) & 0xFF], 1);
        atomic_add_local_u32(&counts[${n_exponents // 2} + ((as_u32(h) >> 23) & 0xFF)], 1);
</%def>

## Add a group's `counts` to `exponents`.
<%def name="add_counts(wg_size, n_exponents)">
    BARRIER();
    for (u32 i = LOCAL_ID; i < ${n_exponents}; i += ${wg_size})
        if (counts[i]) atomic_add_global_u32(&exponents[i], counts[i]);
</%def>

## Of `counts`, choose the exponents of a tree's scale: scale_g and scale_h; `wides` tells whether high words are needed.
<%def name="scale_exponents(wg_size, n_exponents)">
    for (u32 part = 0; part < 2; part++) {
        if (LOCAL_ID == part * ${wg_size // 2}) {
            u32 wide_part = 0;
            powers[part] = scale_exponent(counts + ${n_exponents // 2} * part, weight_bits, &wide_part);
            wides[part] = wide_part;
        }
    }
    BARRIER();
    const i32 scale_g = powers[0], scale_h = powers[1];
</%def>
