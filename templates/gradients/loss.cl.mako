## loss: the function that computes the gradient of one row; other templates import it. With `added`, a number of that
## name is added to the margin

<%def name="gradient(loss, added='')">
FN void gradient(
        const f32 margin, const f32 given, ${"const f32 added, " if added else ""}const u32 output, f32* gradient, f32* hessian) {
    const f32 label = as_u32(given) & 0x7F800000u ? given : 0.0f; /* some devices flush subnormals */
    f32 g, h;
    (void)output;
    ${loss}
    *gradient = finite(g); /* a difference may overflow, and the conversion to quanta needs finite numbers */
    *hessian = finite(h);
}
</%def>

## The quanta g and h of a row, as `quantize_gradients` of `gradients` has them.
<%def name="quanta(weighted, margin='margins[row]', label='labels[row]')">\
        f32 own_g, own_h;
        gradient(${margin}, ${label}, output, &own_g, &own_h);
% if weighted:
        const f32 weight = weights[row];
        i64 g = to_quanta(own_g, scale_g), h = to_quanta(own_h, scale_h);
        h = h < 1 ? 1 : h;
        g = weigh(g, weight), h = weigh(h, weight);
        if (h < 1 && as_u32(weight) != 0) h = 1;
% else:
        i64 g, h;
        if (wide) {
            g = to_quanta(own_g, scale_g), h = to_quanta(own_h, scale_h);
        } else { /* they fit in 31 bits */
            const f32 exact_g = own_g * power_of_two(scale_g), exact_h = own_h * power_of_two(scale_h);
            g = round_to_i32(exact_g), h = round_to_i32(exact_h);
        }
        h = h < 1 ? 1 : h;
% endif
</%def>

## The loop over a group's rows begin .. end - 1 with their quanta g and h. Several rows are read before the first one is
## used: the body does not wait for the memory of each. It sees what is `kept` of a row, as element k.
<%def name="quanta_of_rows(wg_size, weighted, kept, value)">\
<% together, name = 4 if wg_size > 1 else 1, kept.split()[-1] %>\
    for (u32 at = begin + LOCAL_ID; at < end; at += ${together * wg_size}) {
        f32 own_margins[${together}], own_labels[${together}];
        ${kept}[${together}];
        for (u32 k = 0; k < ${together}; k++) {
            const u32 row = at + k * ${wg_size} < end ? at + k * ${wg_size} : at;
            own_margins[k] = margins[row], own_labels[k] = labels[row], ${name}[k] = ${value};
        }
        for (u32 k = 0; k < ${together}; k++) {
            const u32 row = at + k * ${wg_size};
            if (row >= end) continue;
${quanta(weighted, "own_margins[k]", "own_labels[k]")}\
${caller.body()}\
        }
    }
</%def>
