## quanta: a row's gradients in fixed point; `gradients` imports it
##
##   row 0      | read | computed, rounded, written |
##   next row          | read |                     | computed ..        several work-items a group read ahead

## A row's gradients, which one work-item a group has of a batch.
<%def name="of_row(wg_size, sampled, margin='margins[row]', label='labels[row]')">\
% if wg_size == 1:
        const f32 gradient_g = gs[row - at], gradient_h = hs[row - at];
% else:
        f32 gradient_g, gradient_h;
        gradient(${margin}, ${label}, output, &gradient_g, &gradient_h);
% if sampled:
        gradient_g = finite(gradient_g * factors[row]);
        gradient_h = finite(gradient_h * factors[row]);
% endif
% endif
</%def>
## Quanta of the rows first .. last - 1.
<%def name="quanta(first, last, wg_size, weighted, sampled, counted, squared)">\
<% counts = " && as_u32(factors[row]) != 0" if sampled else "" %>\
% if not weighted and not counted:
    /* all quanta fit in 31 bits: the product with a power of two is exact, so rounding it is right */
    const u32 narrow_end = wide ? ${first} : ${last};
% if wg_size > 1:
    const u32 begun = ${first} + LOCAL_ID;
    f32 coming_margin = begun < narrow_end ? margins[begun] : 0, coming_label = begun < narrow_end ? labels[begun] : 0;
% endif
    WIDE for (u32 row = ${first} + LOCAL_ID; row < narrow_end; row += ${wg_size}) {
% if wg_size > 1:
        const f32 margin = coming_margin, label = coming_label;
        const u32 next = row + ${wg_size} < narrow_end ? row + ${wg_size} : row;
        coming_margin = margins[next], coming_label = labels[next];
% endif
${of_row(wg_size, sampled, "margin", "label")}\
        const f32 exact_g = gradient_g * unit_g, exact_h = gradient_h * unit_h;
        const i32 own_g = round_to_i32(exact_g);
        i32 own_h = round_to_i32(exact_h);
        if (own_h < 1${counts}) own_h = 1;
% if wg_size > 1:
        ((GLOBAL i32x2*)quanta)[row] = MAKE_I32X2(own_g, own_h);
% else:
        quanta[2 * (u64)row] = own_g;
        quanta[2 * (u64)row + 1] = own_h;
% endif
        sum_g += own_g, sum_h += own_h${", sum_squares += square_of(own_g)" if squared else ""};
    }
    const u32 wide_begin = wide ? ${first} : ${last};
% else:
    const u32 wide_begin = ${first};
% endif
    for (u32 row = wide_begin + LOCAL_ID; row < ${last}; row += ${wg_size}) {
${of_row(wg_size, sampled)}\
        i64 g = to_quanta(gradient_g, scale_g);
        i64 h = to_quanta(gradient_h, scale_h);
        /* the Hessian of a row that counts is at least 1 quantum */
        if (h < 1${counts}) h = 1;
% if weighted:
        const f32 w = weights[row];
        g = weigh(g, w);
        h = weigh(h, w);
        if (h < 1 && as_u32(w) != 0${counts}) h = 1;
% endif
% if counted:
        if (h > 0) { /* the row counts */
            const i64x2 q = counted_quanta(g, h, count_bits, first_id + row);
            g = q.x;
            h = q.y;
        }
% endif
        const i32 low_g = (i32)g, low_h = (i32)h;
        quanta[2 * (u64)row] = low_g, quanta[2 * (u64)row + 1] = low_h;
        if (wide) {
            high[2 * (u64)row] = (i32)((g - low_g) >> 32);
            high[2 * (u64)row + 1] = (i32)((h - low_h) >> 32);
        }
        sum_g += g, sum_h += h${", sum_squares += square_of(g)" if squared else ""};
    }
</%def>
