## reduce: one level of out[0] = values[0] op ... op values[n - 1]: one result for every tile
##
##   tile     row 0:   lane 0 1 2 ... 1023        16 rows of 1024 lanes = 16384 elements
##            row 1:   lane 0 1 2 ... 1023
##   lanes    each lane is summed over the 16 rows, first to last
##   quads    (lane 4 q, 4 q + 1), (4 q + 2, 4 q + 3), then both: 256 quads
##   tile     quads q and q + 128, then q and q + 64, ... q and q + 1
##
## The order depends only on positions, so float sums have the same bits on every device. On a GPU, 256
## work-items read neighbouring vectors of 16 bytes; a CPU's compiler vectorises over lanes. Elements of
## more than 4 bytes are integers, whose order is free: a quad is whatever a work-item reads.
##
## params: wg_size, items (tiles of a work-group), type, op (see tree.cl.mako)
<%page args="wg_size, items, type, op"/>
<%namespace name="tree" file="tree.cl.mako"/>
<%
    per_vector = {"u64": 2, "i64": 2, "i64x2": 1}.get(type, 4)
    vectors = 4 // per_vector  # of a quad
    together = 2 * per_vector  # rows whose loads are under way at once: 8 vectors
%>
${tree.operation(type, op)}
${tree.vectors(type, op)}
#define QUAD(a, b, c, d) combine(combine(a, b), combine(c, d))

KERNEL(${wg_size}) reduce_tiles(
    GLOBAL const stored_t* RESTRICT values, const u64 n, GLOBAL stored_t* RESTRICT out) {
% if wg_size == 1:
    const u64 tiles = n > 0 ? (n + 16383) / 16384 : 1;
    const u64 begin = (u64)GROUP_ID * ${items};
    const u64 end = tiles - begin < ${items} ? tiles : begin + ${items};
    for (u64 tile = begin; tile < end; ++tile) {
        GLOBAL const stored_t* from = values + tile * 16384;
        const u32 count = n - tile * 16384 < 16384 ? (u32)(n - tile * 16384) : 16384;
% if type == "f32" and op == "sum":
        /* Of a whole tile, all rows at once, so that a lane's sum stays in a register. */
        value_t lanes[1024];
        if (count == 16384) {
            for (u32 lane = 0; lane < 1024; ++lane) {
                value_t sum = IDENTITY;
% for row in range(16):
                sum = combine(sum, load(from[${1024 * row} + lane]));
% endfor
                lanes[lane] = sum;
            }
        } else {
            for (u32 lane = 0; lane < 1024; ++lane) lanes[lane] = IDENTITY;
            for (u32 row = 0; row < count; row += 1024) {
                const u32 width = count - row < 1024 ? count - row : 1024;
                for (u32 lane = 0; lane < width; ++lane)
                    lanes[lane] = combine(lanes[lane], load(from[row + lane]));
            }
        }
        value_t quads[256];
        for (u32 q = 0; q < 256; ++q)
            quads[q] = QUAD(lanes[4 * q], lanes[4 * q + 1], lanes[4 * q + 2], lanes[4 * q + 3]);
        for (u32 half_size = 128; half_size > 0; half_size /= 2)
            for (u32 q = 0; q < half_size; ++q) quads[q] = combine(quads[q], quads[q + half_size]);
        out[tile] = store(quads[0]);
% else:
        /* Any order gives the same bits, so the compiler may vectorise. */
        value_t total = IDENTITY;
        for (u32 i = 0; i < count; ++i) total = combine(total, load(from[i]));
        out[tile] = store(total);
% endif
    }
% else:
    LOCAL_ARRAY(value_t, quads, 256);
    for (u64 tile = (u64)GROUP_ID * ${items}; tile < (u64)(GROUP_ID + 1) * ${items}; ++tile) {
        const u64 first = tile * 16384;
        const u32 count = first >= n ? 0 : n - first < 16384 ? (u32)(n - first) : 16384;
        for (u32 q = LOCAL_ID; q < 256; q += ${wg_size}) {
            value_t a = IDENTITY, b = IDENTITY, c = IDENTITY, d = IDENTITY;
            if (count == 16384) {
                GLOBAL const vector_t* from = (GLOBAL const vector_t*)(values + first) + q;
                ${tree.in_order(type, op)}
                for (u32 row = 0; row < 16; row += ${together}, from += ${together * 256 * vectors}) {
% for k in range(together):
% for v in range(vectors):
                    const vector_t v${k}_${v} = from[${(k * vectors + v) * 256}];
% endfor
% endfor
% for k in range(together):
% for lane, name in enumerate("abcd"):
                    ${name} = combine(${name}, load(PART${lane % per_vector}(v${k}_${lane // per_vector})));
% endfor
% endfor
                }
            } else {
                GLOBAL const stored_t* from = values + first;
                ${tree.in_order(type, op)}
                for (u32 i = q * 4; i < count; i += 1024) {
                    a = combine(a, load(from[i]));
                    if (i + 1 < count) b = combine(b, load(from[i + 1]));
                    if (i + 2 < count) c = combine(c, load(from[i + 2]));
                    if (i + 3 < count) d = combine(d, load(from[i + 3]));
                }
            }
            quads[q] = QUAD(a, b, c, d);
        }
        BARRIER();
        for (u32 half_size = 128; half_size > 0; half_size /= 2) {
            for (u32 q = LOCAL_ID; q < half_size; q += ${wg_size})
                quads[q] = combine(quads[q], quads[q + half_size]);
            BARRIER();
        }
        if (LOCAL_ID == 0 && (first < n || tile == 0)) out[tile] = store(quads[0]);
        BARRIER();
    }
% endif
}
