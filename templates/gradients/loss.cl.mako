## loss: the function that computes the gradient of one row; other templates import it

<%def name="gradient(loss)">
FN void gradient(
        const f32 margin, const f32 given, const u32 output, f32* gradient, f32* hessian) {
    const f32 label = as_u32(given) & 0x7F800000u ? given : 0.0f; /* some devices flush subnormals */
    f32 g, h;
    (void)output;
    ${loss}
    *gradient = finite(g); /* a difference may overflow, and the conversion to quanta needs finite numbers */
    *hessian = finite(h);
}
</%def>
