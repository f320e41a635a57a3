## aft: gradients of accelerated failure times, from margins and the logarithms of two bounds
## uses: portable_math portable_log portable_survival
##
##      ln lower       ln upper            z_l, z_u: (bound - margin) / scale
##   ------|==============|--------> ln t  loss: -ln of the probability between the bounds
##                                         (of the density, if both are equal)
##
##   A missing bound is 1e35 away: its z is clamped, so the formulas need no special cases.
##   normal    by Mills' ratio; signs are chosen so that the nearer bound comes first (a <= b)
##   logistic  p = probability below a bound, q = 1 - p: gradient 1 - p_u - p_l, Hessian p_u q_u + p_l q_l
##   extreme   w = e^z, d = w_u - w_l, q = d / (e^d - 1): gradient q - w_l, Hessian q (q + d - 1) + w_l
##
## params: wg_size; distribution; inverse, inverse_square: 1 / scale and 1 / scale^2
<%page args="wg_size, distribution, inverse, inverse_square"/>
<%
# Gauss and Legendre's rule of five points on 0..1; its weights sum to 1 exactly, in this order
NODES = ("0.0469100773f", "0.230765343f", "0.5f", "0.769234657f", "0.953089952f")
WEIGHTS = ("0.118463442f", "0.239314333f", "0.284444451f", "0.239314333f", "0.118463442f")
LIMIT = {"normal": ("-30000.0f", "30000.0f"), "logistic": ("-50.0f", "50.0f"),
         "extreme": ("-60.0f", "23.0f")}[distribution]
%>
FN f32 clamped(const f32 x, const f32 low, const f32 high) {
    return x < low ? low : (x > high ? high : x);
}

/* (bound - margin) / scale. The difference is clamped before the multiplication too: otherwise Intel's
   CPU compiler fuses both into one operation, although contraction is off. */
FN f32 z_of(const f32 bound, const f32 margin) {
    const f32 difference = clamped(bound - margin, -1e35f, 1e35f);
    return clamped(difference * ${inverse}, ${LIMIT[0]}, ${LIMIT[1]});
}

/* Gradient and Hessian with respect to z. */
FN void by_distance(const f32 lower, const f32 upper, f32* gradient, f32* hessian) {
% if distribution == "logistic":
    const f32 p_l = portable_sigmoid(lower), q_l = portable_sigmoid(-lower);
    const f32 p_u = portable_sigmoid(upper), q_u = portable_sigmoid(-upper);
    const f32 h_l = p_l * q_l;
    const f32 h_u = p_u * q_u;
    *gradient = q_l - p_u;
    *hessian = h_l + h_u;
% elif distribution == "extreme":
    const f32 w_l = portable_exp(lower);
    const f32 d = portable_exp(upper) - w_l;
    const f32 q = bernoulli(d);
    const f32 inner = q * bernoulli_rest(d, q);
    *gradient = q - w_l;
    *hessian = inner + w_l;
% else:
    const f32 sum = lower + upper;
    const int turned = sum < 0.0f;
    const f32 a = turned ? -upper : lower;
    const f32 b = turned ? -lower : upper;
    const f32 width = b - a;
    const f32 middle = 0.5f * (turned ? -sum : sum);
    const f32 y = middle * width;
    const f32 t = portable_exp(-y); /* phi(b) / phi(a) */
    const int near = width < 1.0f && y < 1.0f;
    /* Near: the mean of phi(x) / phi(a) between a and b by quadrature; a difference would cancel. */
    const f32 span = near ? width : 0.0f;
    const f32 half_span = 0.5f * span;
    f32 mean = 0.0f;
% for node, weight in zip(NODES, WEIGHTS):
    {
        const f32 x = span * ${node};
        const f32 bend = half_span * ${node};
        const f32 slope = a + bend;
        const f32 value = portable_exp(-(x * slope));
        const f32 part = ${weight} * value;
        mean = mean + part;
    }
% endfor
    const f32 inverse_mean = reciprocal(near ? mean : 1.0f);
    const f32 share = t * reciprocal(near ? bernoulli(y) : 1.0f); /* (1 - t) / y */
    const f32 slowed = share * inverse_mean;
    const f32 near_g = -(middle * slowed);
    const f32 left = 1.0f - slowed;
    const f32 drift = middle * left;
    const f32 half_width = 0.5f * width;
    const f32 near_excess = drift - half_width; /* gradient + a */
    const f32 near_rest = t * inverse_mean;
    /* Far: tail probabilities by Mills' ratios. */
    const f32 mills_a = mills_ratio(a);
    const f32 mills_b = mills_ratio(b);
    const f32 less = t * mills_b;
    const f32 inverse_far = reciprocal(near ? 1.0f : mills_a - less);
    const f32 far_g = -((1.0f - t) * inverse_far);
    const f32 wide = width * mills_b;
    const f32 rest_b = t * (mills_rest(b, mills_b) + wide);
    const f32 far_excess = (rest_b - mills_rest(a, mills_a)) * inverse_far;
    const f32 share_t = width * t;
    const f32 far_rest = share_t * inverse_far;
    const f32 g = near ? near_g : far_g;
    const f32 inner = g * (near ? near_excess : far_excess);
    *gradient = turned ? -g : g;
    *hessian = inner + (near ? near_rest : far_rest);
% endif
}

KERNEL(${wg_size}) aft_gradients(
        const u32 n_rows, GLOBAL const f32* RESTRICT lowers, GLOBAL const f32* RESTRICT uppers,
        GLOBAL const f32* RESTRICT margins, GLOBAL f32* RESTRICT gradients,
        GLOBAL f32* RESTRICT hessians) {
    for (u32 i = GROUP_ID * ${wg_size} + LOCAL_ID; i < n_rows; i += N_GROUPS * ${wg_size}) {
        const f32 lower = z_of(lowers[i], margins[i]);
        const f32 upper = z_of(uppers[i], margins[i]);
        f32 g, h;
        by_distance(lower, upper, &g, &h);
        gradients[i] = clamped(g * ${inverse}, -15.0f, 15.0f);
        hessians[i] = clamped(h * ${inverse_square}, 1e-16f, 15.0f);
    }
}
