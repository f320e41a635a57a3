## sortable: map keys to unsigned numbers in the same order
##
##   u32, u64    unchanged
##   i32, i64    sign bit flipped
##   f32, f64    negative: all bits flipped; positive: sign bit set; both zeros give the same number
##               and every NaN gives the largest one, in descending order too
##
## Keys are moved as raw bits and mapped whenever they are compared, so -0.0 and the payloads of NaNs
## are not changed.

<%def name="operation(key, descending)">
<%
    bits = int(key[1:])
    top = f"((u{bits})1 << {bits - 1})"
    infinity = "0x7f800000u" if bits == 32 else "((u64)0x7ff00000u << 32)"
%>
typedef u${bits} bits_t;

FN bits_t sortable(const bits_t bits) {
% if key.startswith("f"):
    const bits_t magnitude = bits & (${top} - 1);
    bits_t number = bits ^ ((bits_t)((i${bits})bits >> ${bits - 1}) | ${top});
    number = magnitude == 0 ? ${top} : number;
% if descending:
    number = ~number;
% endif
    return magnitude > ${infinity} ? ~(bits_t)0 : number;
% else:
    return ${"~" if descending else ""}(bits${f" ^ {top}" if key.startswith("i") else ""});
% endif
}
</%def>
