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
