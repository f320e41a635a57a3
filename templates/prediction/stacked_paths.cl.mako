## stacked_paths: rows walk all paths of a tree of any depth, with a stack in memory; a library of `contributions`
<%page args=""/>
<%namespace name="of" file="point_sums.cl.mako"/>

<%def name="walk(block, wg_size, rows, points, interactions, sets)">\
<%
    each = f"for (u32 r = 0; r < {rows}; r++)"
    step_size, apart_size = -(-2 * points // 4) * 4, -(-points // 4)
    q = range(points)
%>\
            u32 level = 0, side = 0, id = 0, entered = 0, done = 0;
% for i in q:
            f32 b_${i}[${rows}];
            ${each} product[${i * block} + r * ${wg_size}] = weights[${i}];
% endfor
% if interactions:
            for (u32 l = 0; l < n_levels; l++) ids[(3 * l + 2) * ${wg_size}] = 0;
% endif
            for (;;) {
                if (!entered) { /* which way do rows go at node `id`? */
                    const u32 before = node[id].z >> 8;
                    ids[3 * level * ${wg_size}] = id;
                    GLOBAL const f32* value = x + (u64)node[id].y * ${block};
                    GLOBAL u32* own_way = way + (u64)level * ${block};
                    ${each} own_way[r * ${wg_size}] = goes_right(value[r * ${wg_size}], node + id${sets});
                    if (before != NOT_BEFORE) {
                        const u32 side_above = ids[(3 * before + 1) * ${wg_size}];
                        GLOBAL const u32* above = way + (u64)before * ${block};
                        ${each} own_way[r * ${wg_size}] =
                            above[r * ${wg_size}] == side_above ? own_way[r * ${wg_size}] : GONE;
% if interactions:
                        ids[(3 * before + 2) * ${wg_size}]++;
% endif
                    }
                    entered = 1;
                }
                const u32 left = node[id].x;
                GLOBAL const f32* factor = (GLOBAL const f32*)(step + (u64)((left - 1) / 2) * ${6 * step_size // 4});
                GLOBAL const u32* own_way = way + (u64)level * ${block};
                GLOBAL f32* above = product + (u64)level * ${points * block};
                const u32 child = left + side;
                ids[(3 * level + 1) * ${wg_size}] = side;
                const u32 goes_on = node[child].x;
                const f32 value = as_f32(node[child].w);
% for i in q:
                {
                    const f32 m_0 = factor[side * ${step_size} + ${i}];
                    const f32 m_1 = factor[side * ${step_size} + ${2 * step_size + i}];
                    const f32 m_2 = factor[side * ${step_size} + ${4 * step_size + i}];
                    ${each} {
                        const u32 w = own_way[r * ${wg_size}];
                        const f32 m = w == 0 ? m_0 : (w == 1 ? m_1 : m_2);
                        const f32 p = above[${i * block} + r * ${wg_size}] * m;
                        if (goes_on) above[${(points + i) * block} + r * ${wg_size}] = p;
                        b_${i}[r] = p * value;
                    }
                }
% endfor
                if (goes_on) {
                    level++, id = child, side = 0, entered = 0;
                    continue;
                }
                for (;;) { /* a child is finished: b has its sums */
                    GLOBAL f32* a = of_left + (u64)level * ${points * block};
                    if (!side) {
% for i in q:
                        ${each} a[${i * block} + r * ${wg_size}] = b_${i}[r];
% endfor
                        side = 1;
                        break;
                    }
                    const u32 feature = node[id].y;
                    GLOBAL const f32* term = (GLOBAL const f32*)(step + (u64)((node[id].x - 1) / 2) * ${6 * step_size // 4});
                    own_way = way + (u64)level * ${block};
% for i in q:
                    f32 change_${i}[${rows}];
                    {
% for w in range(3):
                        const f32 c_${w} = term[${2 * w * step_size + points + i}], d_${w} = term[${(2 * w + 1) * step_size + points + i}];
% endfor
                        ${each} {
                            const u32 w = own_way[r * ${wg_size}];
                            const f32 l = (w == 0 ? c_0 : (w == 1 ? c_1 : c_2)) * a[${i * block} + r * ${wg_size}];
                            const f32 right = (w == 0 ? d_0 : (w == 1 ? d_1 : d_2)) * b_${i}[r];
                            change_${i}[r] = l + right;
                            b_${i}[r] = a[${i * block} + r * ${wg_size}] + b_${i}[r];
                        }
                    }
% endfor
% if interactions:
                    for (u32 l = level; l > 0; l--) {
                        const u32 other_level = l - 1;
                        if (ids[(3 * other_level + 2) * ${wg_size}]) continue;
                        const u32 other_id = ids[3 * other_level * ${wg_size}], other_side = ids[(3 * other_level + 1) * ${wg_size}];
                        const u32 other = node[other_id].y;
                        GLOBAL const u32* other_way = way + (u64)other_level * ${block};
                        GLOBAL const u32x4* both = told + (u64)(node[other_id].x + other_side) * ${2 * apart_size};
                        ${each} {
                            GLOBAL const f32* e = (GLOBAL const f32*)(both + (other_way[r * ${wg_size}] == other_side) * ${apart_size});
% for i in q:
                            const f32 t_${i} = e[${i}] * change_${i}[r];
% endfor
${of.add_pair("other", "feature", f" + r * {wg_size}", block, points)}
                        }
                    }
                    const u32 before = node[id].z >> 8;
                    if (before != NOT_BEFORE) ids[(3 * before + 2) * ${wg_size}]--;
% endif
                    GLOBAL i64* sum = sums + (u64)(first_feature + feature) * ${block};
                    ${each} {
${of.total("change", "[r]", points)}
                        sum[r * ${wg_size}] += round_to_i64(total);
                    }
                    done = !level;
                    if (done) break;
                    level--;
                    id = ids[3 * level * ${wg_size}];
                    side = ids[(3 * level + 1) * ${wg_size}];
                }
                if (done) break;
            }
</%def>
