## point_sums: sums over the points of a quadrature, in their order; a library of `nested_paths` and `stacked_paths`
<%page args=""/>

## Loads `points` numbers from the `first` one on, of vectors at an address: name_0, name_1, ..
<%def name="loaded(name, address, first, points)">\
<%
    vectors = sorted({(first + i) // 4 for i in range(points)})
%>\
% for v in vectors:
                const u32x4 ${name}v_${v} = (${address})[${v}];
% endfor
% for i in range(points):
                const f32 ${name}_${i} = as_f32(${name}v_${(first + i) // 4}.${"xyzw"[(first + i) % 4]});
% endfor
</%def>

## total = name_0 + name_1 + ..
<%def name="total(name, suffix, points)">\
<% text = f"{name}_0{suffix}" %>\
% for i in range(1, points):
                const f32 total_${i} = ${text if i == 1 else f"total_{i - 1}"} + ${name}_${i}${suffix};
% endfor
                const f32 total = ${text if points == 1 else f"total_{points - 1}"};
</%def>

## Adds t_0 + t_1 + .. to the sum of two features.
<%def name="add_pair(one, other, row, block, points)">\
${total("t", "", points)}
                const u64 low = ${one} < ${other} ? ${one} : ${other};
                const u64 high = ${one} < ${other} ? ${other} : ${one};
                sums[(high * (high - 1) / 2 + low) * ${block}${row}] += round_to_i64(total * 0.5f);
</%def>
