## loss: gradients of one row, for those templates that compute them

<%def name="gradient(loss)">
FN void gradient(
        const f32 margin, const f32 label, const u32 output, f32* gradient, f32* hessian) {
    f32 g, h;
    (void)output;
    ${loss}
    *gradient = finite(g); /* a difference may overflow: the conversion to quanta is of numbers */
    *hessian = finite(h);
}
</%def>
