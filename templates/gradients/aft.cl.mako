## aft: gradients of accelerated failure times, from margins and the logarithms of two bounds
## uses: portable_math portable_log portable_survival
##
##      ln lower       ln upper            z_l, z_u: (bound - margin) / scale
##   ------|==============|--------> ln t  loss: -ln of the probability between the bounds
##                                         (of the density, if both are equal)
##
## params: wg_size; gradient_between, statements that set g and h from margin, lower and upper
<%page args="wg_size, gradient_between"/>

KERNEL(${wg_size}) aft_gradients(
        const u32 n_rows, GLOBAL const f32* RESTRICT lowers, GLOBAL const f32* RESTRICT uppers,
        GLOBAL const f32* RESTRICT margins, GLOBAL f32* RESTRICT gradients,
        GLOBAL f32* RESTRICT hessians) {
    for (u32 i = GROUP_ID * ${wg_size} + LOCAL_ID; i < n_rows; i += N_GROUPS * ${wg_size}) {
        const f32 lower = lowers[i], upper = uppers[i], margin = margins[i];
        f32 g, h;
        ${gradient_between}
        gradients[i] = g;
        hessians[i] = h;
    }
}
