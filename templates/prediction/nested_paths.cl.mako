## nested_paths: a row walks all paths of a tree, one loop in another for each level; a library of `contributions`
<%page args=""/>
<%namespace name="of" file="point_sums.cl.mako"/>

## A tree of at most `levels` levels. All numbers of a level have its number in their names, so they are in registers.
<%def name="walk(block, points, levels, interactions, sets)">\
            u32 on = 1u << NOT_BEFORE; /* bit of a level: the row goes this way there */
% if interactions:
            u32 hidden = 0; /* bit of a level: a node below has the same feature */
% endif
            const u32 id_0 = 0;
% for i in range(points):
            const f32 p_0_${i} = weights[${i}];
            f32 b_0_${i};
% endfor
${visit(0, block, points, levels, interactions, sets)}
</%def>
<%def name="visit(level, block, points, levels, interactions, sets)">\
<%
    L, M, tab = level, level + 1, "    " * 3
    step_size, apart_size = -(-2 * points // 4), -(-points // 4)  # vectors
%>\
${tab}/* level ${L} */
${tab}const u32 left_${L} = node[id_${L}].x, feature_${L} = node[id_${L}].y, before_${L} = node[id_${L}].z >> 8;
${tab}const u32 way_${L} = (on >> before_${L}) & 1
${tab}    ? goes_right(x[(u64)feature_${L} * ${block}], node + id_${L}${sets}) : GONE;
${tab}GLOBAL const u32x4* step_${L} = step + (u64)((left_${L} - 1) / 2 * 3 + way_${L}) * ${2 * step_size};
% if interactions:
${tab}const u32 hidden_${L} = hidden;
${tab}hidden |= 1u << before_${L};
% endif
% for i in range(points):
${tab}f32 a_${L}_${i} = 0.0f, b_${M}_${i};
% endfor
${tab}for (u32 side_${L} = 0; side_${L} < n_sides; side_${L}++) {
${tab}    on = (on & ~(1u << ${L})) | ((u32)(way_${L} == side_${L}) << ${L});
${tab}    const u32 id_${M} = left_${L} + side_${L};
${of.loaded("m", f"step_{L} + side_{L} * {step_size}", 0, points)}
% for i in range(points):
${tab}    const f32 p_${M}_${i} = p_${L}_${i} * m_${i};
% endfor
${tab}    if (${"node[id_%d].x" % M if M < levels else "0"}) {
% if M < levels:
${visit(M, block, points, levels, interactions, sets)}
% endif
${tab}    } else {
${tab}        const f32 value = as_f32(node[id_${M}].w);
% for i in range(points):
${tab}        b_${M}_${i} = p_${M}_${i} * value;
% endfor
${tab}    }
% for i in range(points):
${tab}    if (!side_${L}) a_${L}_${i} = b_${M}_${i};
% endfor
${tab}}
${tab}{
${of.loaded("c", f"step_{L}", points, points)}
${of.loaded("d", f"step_{L} + {step_size}", points, points)}
% for i in range(points):
${tab}    const f32 l_${i} = c_${i} * a_${L}_${i};
${tab}    const f32 r_${i} = d_${i} * b_${M}_${i};
${tab}    const f32 change_${i} = l_${i} + r_${i};
% endfor
% if interactions:
% for above in reversed(range(L)):
${tab}    if (!((hidden >> ${above}) & 1)) {
${tab}        GLOBAL const u32x4* both = told + (u64)(2 * id_${above + 1} + ((on >> ${above}) & 1)) * ${apart_size};
${of.loaded("e", "both", 0, points)}
% for i in range(points):
                const f32 t_${i} = e_${i} * change_${i};
% endfor
${of.add_pair(f"feature_{above}", f"feature_{L}", "", block, points)}
${tab}    }
% endfor
% endif
${of.total("change", "", points)}
${tab}    sums[(u64)(first_feature + feature_${L}) * ${block}] += round_to_i64(total);
${tab}}
% for i in range(points):
${tab}b_${L}_${i} = a_${L}_${i} + b_${M}_${i};
% endfor
% if interactions:
${tab}hidden = hidden_${L};
% endif
</%def>
