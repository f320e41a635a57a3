## column_draws: draw columns by the smallest keys; `feature_mask` and `drawn_columns` import it
##
##   keys      |   0 .. 0   |    of columns that may be drawn; OUT: others
##   drawn     |k0|k1|OUT|..|    the smallest keys stay
##
##   With few features, each is compared with all others. With many, a radix search finds the largest
##   key to keep.
##
## `weighted`: keys are -ln(u) / weight (Efraimidis & Spirakis 2006, "Weighted random sampling with a reservoir")

<%def name="keys(weighted)">\
#define OUT 0xFFFFFFFFu

FN u32 key_of(const u32 salt, const u32 feature, GLOBAL const f32* weights) {
    const u32 bits = random_bits(salt, feature);
% if weighted:
    const f32 u = unit_number(bits) + 2.98023224e-8f;
    f32 w = weights[feature];
    if (w < 8.6736174e-19f) w = 8.6736174e-19f; /* 2^-60 */
    if (w > 1.1529215e18f) w = 1.1529215e18f; /* 2^60, so that no key is subnormal */
    const f32 wait = -portable_log(u);
    const f32 key = wait * reciprocal(w);
    return as_u32(key > 0.0f ? key : 0.0f); /* -0 has the bits of a large key */
% else:
    (void)weights;
    return bits == OUT ? OUT - 1 : bits;
% endif
}
</%def>
## What `draw` needs: the keys, if `few`; a key, features with it to keep, features with it; a group of several
## work-items also adds up 16 counts each.
<%def name="arrays(wg_size)">\
    LOCAL_ARRAY(u32, counts, 256);
    LOCAL_ARRAY(u32, border, ${3 if wg_size == 1 else 19});
</%def>
## Find the digit that has the last of the `left` smallest keys; before it are as many as `left` loses.
<%def name="find_digit(wg_size)">\
% if wg_size == 1:
            u32 digit = 0, left = border[1];
            while (digit < 255 && counts[digit] < left) left -= counts[digit++];
% else:
            u32 run = 0, left = border[1];
            while (run < 15 && border[3 + run] < left) left -= border[3 + run++];
            u32 digit = 16 * run;
            while (digit < 16 * run + 15 && counts[digit] < left) left -= counts[digit++];
% endif
</%def>
<%def name="by_digits(wanted, wg_size)">
        if (LOCAL_ID == 0) {
            border[0] = 0;
            border[1] = ${wanted};
        }
        BARRIER();
        /* find the largest key to keep, 8 bits at a time */
% for shift in (24, 16, 8, 0):
        for (u32 i = LOCAL_ID; i < 256; i += ${wg_size}) counts[i] = 0;
        BARRIER();
        for (u32 f = LOCAL_ID; f < n_features; f += ${wg_size}) {
            const u32 key = keys[f];
            if (key != OUT${f" && (key ^ border[0]) >> {shift + 8} == 0" if shift < 24 else ""})
                ${f"counts[(key >> {shift}) & 255]++" if wg_size == 1 else f"atomic_add_local_u32(&counts[(key >> {shift}) & 255], 1)"};
        }
        BARRIER();
% if wg_size > 1:
        for (u32 run = LOCAL_ID; run < 16; run += ${wg_size}) {
            border[3 + run] = 0;
            for (u32 i = 16 * run; i < 16 * run + 16; i++) border[3 + run] += counts[i];
        }
        BARRIER();
% endif
        if (LOCAL_ID == 0) {
${find_digit(wg_size)}\
            border[0] |= digit << ${shift};
            border[1] = left;
            border[2] = counts[digit];
        }
        BARRIER();
% endfor
        if (LOCAL_ID == 0 && border[2] > border[1]) { /* of equal keys, keep the first */
            u32 taken = 0;
            for (u32 f = 0; f < n_features; f++)
                if (keys[f] == border[0] && taken++ >= border[1]) keys[f] = OUT;
        }
        BARRIER();
        for (u32 f = LOCAL_ID; f < n_features; f += ${wg_size})
            if (keys[f] > border[0]) keys[f] = OUT;
</%def>
## Keep `wanted` of the features whose keys are not OUT, by the random numbers of a salt.
<%def name="draw(salt, wanted, few, wg_size)">\
        {
            const u32 salt = ${salt};
            for (u32 f = LOCAL_ID; f < n_features; f += ${wg_size}) {
                const u32 key = keys[f] == OUT ? OUT : key_of(salt, f, weights);
                ${"counts" if few else "keys"}[f] = key;
            }
        }
        BARRIER();
% if few:
        for (u32 f = LOCAL_ID; f < n_features; f += ${wg_size}) {
            const u32 mine = counts[f];
            u32 before = 0; /* of equal keys, the first is kept */
            for (u32 other = 0; other < n_features; other++)
                before += (counts[other] < mine) | ((counts[other] == mine) & (other < f));
            keys[f] = before >= ${wanted} ? OUT : mine;
        }
% else:
        ${by_digits(wanted, wg_size)}
% endif
        BARRIER();
</%def>
