## histogram_banks: as `histogram`, with a bank of local memory for each sum of a block's features
## uses: structs tasks blocks
##
##   local     code 0 |g0 g1 .. g15|h0 h1 .. h15|     32 sums: those of 16 features, or of 8 in two copies
##             code 1 |g0 g1 .. g15|h0 h1 .. h15|     local memory has 32 banks: a column is a bank
##
##   work-item      0    1   ..  15 |  16   17  ..  31       each adds its own row; it begins with the
##   step 0        g0   g1   .. g15 |  h0   h1  .. h15       feature of its number, so that 32
##                 h0   h1   .. h15 |  g0   g1  .. g15       neighbours always add to 32 banks,
##   step 1        g1   g2   ..  g0 |  h1   h2  ..  h0       whatever the codes of their rows are
##
##   So no feature's fullest code is left out: nobody queues up for it.
##   (LightGBM's and CatBoost's kernels deal features out to work-items for the same end.)
##
##   A group has one block, or a pair that lies together: it then reads row ids and quanta once for both.
##
## params: wg_size, a multiple of 32; codes, most codes of a feature; chunk, rows a task;
##         block, codes in a load of 16 bytes (16 of one byte or 8 of two); pair, a group has two blocks;
##         adds, pool slots hold sums of other pages or devices (or 0), to which these are added; copied, each
##         tree has codes of its own, `copy_codes` behind those of the tree before; joint, codes of a byte stand for
##         codes of several features, as in joint_sums.cl.mako; dot, a code's place by one instruction of NVIDIA's
<%page args="wg_size, codes, chunk, block, pair, adds, copied, joint, dot"/>
<%namespace name="pieces" file="pieces.cl.mako"/>
<%namespace name="rows" file="next_rows.cl.mako"/>
<%namespace name="joint_sums" file="joint_sums.cl.mako"/>
<%
    per_word = block // 4
    bits = 32 // per_word
    copies = 16 // block
    units = 8 * block
    ahead = "ids" if pair else "rows" if dot else ""
    batch = 4  # codes that are added before overflows are looked for; H200: 8 are 5 to 10 % slower
    halves = range(2 if pair else 1)
    write, tables = ("write_joint", ", sum_begin, sums_of") if joint else ("write_sums", "")
    of_joint = "GLOBAL const u32* RESTRICT sum_begin, GLOBAL const u32* RESTRICT sums_of, " if joint else ""
%>
## The place of the sum that a work-item adds to first, for code 0 of its k-th feature.
<%def name="place(k)">(place_${k % per_word} ^ ${k // per_word * per_word} * LOCAL_STEP)</%def>
## The place of the sum of a row's k-th code.
<%def name="place_of(half, k)">\
<% word = f"own_{half}.{'xyzw'[k // per_word]}" %>\
% if bits == 8 and dot:
BYTE_TIMES(${word}, ${k % per_word}, 32 * LOCAL_STEP, ${place(k)})\
% elif bits == 8:
BYTE_OF(${word}, ${k % per_word}) * (32 * LOCAL_STEP) + ${place(k)}\
% else:
(${word} >> ${k % per_word * bits} & ${2**bits - 1}) * (32 * LOCAL_STEP) + ${place(k)}\
% endif
</%def>
## The codes of a row's block, some at a time.
<%def name="add_block(half)">
% for begin in range(0, block, batch):
            {
% for k in range(begin, begin + batch):
                const u32 cell_${k} = ${place_of(half, k)};
                const i32 old_one_${k} = atomic_add_local_at(sums, cell_${k}, HALF_${half}, one);
                const i32 old_two_${k} = atomic_add_local_at(sums, cell_${k} + other, HALF_${half}, two);
% endfor
                i32 wide = wide_sign;
% for k in range(begin, begin + batch):
                wide |= OVERFLOW(old_one_${k}, one) | OVERFLOW(old_two_${k}, two);
% endfor
                if (wide < 0) {
                    i32x2 high = MAKE_I32X2(0, 0);
                    if (wide_sign) high = high_words[base + row];
% for k in range(begin, begin + batch):
                    CARRY(${half}, (cell_${k} - start) / LOCAL_STEP, old_one_${k}, old_two_${k})
% endfor
                }
            }
% endfor
</%def>
${pieces.pieces(chunk)}

/* Hessians are seldom below 0, so their sums begin near the least number: they have twice the room. */
#define FIRST_HESSIAN (-0x7c000000)
#define PLUS(a, b) ((i32)((u32)(a) + (u32)(b)))
/* A bit pattern whose sign bit is set where old + value leaves the range of 32 bits. */
#define OVERFLOW(old, value) (((old) ^ PLUS(old, value)) & ((value) ^ PLUS(old, value)))

/* What overflowed, with the quanta's own high word. */
FN i32 carried(const i32 old, const i32 value, const i32 high) {
    return high + (OVERFLOW(old, value) < 0 ? (value < 0 ? -1 : 1) : 0);
}

% if not joint:
/* What overflowed goes to the high words of the sums. */
FN void carry(GLOBAL i64* cell, const i32 old, const i32 value, const i32 high) {
    const i32 all = carried(old, value, high);
    if (all) atomic_add_global_i64(cell, (i64)all << 32);
}

#define CARRY(number, cell, old_one, old_two) \
    if ((cell) % ${block} < block_##number.n_places) { \
        GLOBAL i64* to = target + 2 * (block_##number.offset[(cell) % ${block}] + (cell) / 32); \
        carry(to + (swapped ? 1 : 0), old_one, one, swapped ? high.y : high.x); \
        carry(to + (swapped ? 0 : 1), old_two, two, swapped ? high.x : high.y); \
    }

% endif
#define TURNED(word) ((u32)((((u64)(word) << 32) | (word)) >> shift))

/* Put the code of the work-item's first feature first: swap words, and turn each of them. */
FN u32x4 turn(u32x4 b, const u32 lane) {
    const u32 word = lane / ${per_word};
    if (word & 2) b = MAKE_U32X4(b.z, b.w, b.x, b.y);
    if (word & 1) b = MAKE_U32X4(b.y, b.x, b.w, b.z);
    const u32 shift = lane % ${per_word} * ${bits};
    return MAKE_U32X4(TURNED(b.x), TURNED(b.y), TURNED(b.z), TURNED(b.w));
}

/* A block's features and codes, as `ranges` has them. */
typedef struct { GLOBAL const u32* offset; u32 first, n_places, code_begin, code_end; } block_t;

FN block_t block_of(GLOBAL const u32* ranges, GLOBAL const u32* place_offset) {
    block_t block;
    block.first = ranges[0] / ${block};
    block.offset = place_offset + ranges[0];
    block.n_places = ranges[1] - ranges[0];
    block.code_begin = ranges[2];
    block.code_end = ranges[3];
    return block;
}

/* The most codes of a feature of the block. */
FN u32 most_codes(const block_t block) {
    u32 most = block.code_end - block.offset[block.n_places - 1];
    for (u32 place = 1; place < block.n_places; place++) {
        const u32 own = block.offset[place] - block.offset[place - 1];
        most = own > most ? own : most;
    }
    return most;
}

FN void clear_sums(LOCAL i32* sums, const u32 codes) {
    for (u32 c = LOCAL_ID; c < codes * 32; c += ${wg_size}) {
        const i32 first = c & 16 ? FIRST_HESSIAN : 0;
% for half in halves:
        sums[c + ${half * 32 * codes}] = first;
% endfor
    }
}

% if joint:
${joint_sums.functions(wg_size)}
% else:
/* Write the sums of a block's features; alone: no other group adds to them. A work-item has a feature's
   gradients or Hessians, so that neighbours write both sums of four codes, and read four banks. */
FN void write_sums(GLOBAL i64* target, LOCAL const i32* sums, const block_t block, const int alone) {
    for (u32 unit = LOCAL_ID; unit < ${max(units, wg_size)}; unit += ${wg_size}) {
        const u32 part = unit & 1, place = unit >> 3 & ${block - 1};
        const i64 begun = part ? (i64)${copies} * FIRST_HESSIAN : 0;
        const u32 begin = place < block.n_places ? block.offset[place] : 0;
        const u32 end = place >= block.n_places ? 0
            : place + 1 < block.n_places ? block.offset[place + 1] : block.code_end;
        const u32 first = unit / ${units} * 4 + (unit >> 1 & 3);
        for (u32 code = first; code < end - begin; code += ${4 * max(1, wg_size // units)}) {
            i64 sum = sums[code * 32 + part * 16 + place];
% for copy in range(1, copies):
            sum += sums[code * 32 + part * 16 + place + ${copy * block}];
% endfor
            sum -= begun;
            GLOBAL i64* to = &target[2 * (begin + code) + part];
            if (alone) *to += sum;
            else if (sum) atomic_add_global_i64(to, sum);
        }
    }
}
% endif

/* From the sums of a pair's first block to those of its second one. */
#define HALF_0 0
#define HALF_1 (${32 * codes} * LOCAL_STEP)
${rows.functions()}
/* two groups of 512 have the registers of a multiprocessor; with more for each, only one would run */
#undef GROUPS_OF_A_UNIT
#define GROUPS_OF_A_UNIT ${max(1, 1024 // wg_size)}
KERNEL(${wg_size}) histogram(
${pieces.arguments(dense=True, more="const u32 n_ranges, " + ("const u64 copy_codes, " if copied else "") + of_joint)}) {
    ${"LOCAL_LARGE" if pair else "LOCAL_LINES"}(i32, sums, ${32 * codes * len(halves)});
    (void)fullest;
    (void)partial;
${pieces.own_tasks()}\
    const block_t block_0 = block_of(ranges + ${4 * len(halves)} * GROUP_ID, place_offset);
    const u64 ${"first_copy" if copied else "own_block"} = block_at(block_0.first, block_stride, paired, 1);
% if pair:
    const int has_both = 2 * GROUP_ID + 1 < n_ranges; /* the last block may be alone */
    const block_t block_1 = block_of(ranges + 8 * GROUP_ID + (has_both ? 4 : 0), place_offset);
    const u32 most_0 = most_codes(block_0), most_1 = most_codes(block_1);
    const u32 most = most_0 > most_1 ? most_0 : most_1;
% else:
    const u32 most = most_codes(block_0);
    (void)n_ranges;
% endif
% if not joint:
    const u32 code_begin = block_0.code_begin, code_end = block_${halves[-1]}.code_end;
% endif
    const u32 swapped = LOCAL_ID & 16; /* adds Hessians first */
    /* from the place of a feature's one sum to that of the other */
    const i32 other = KEPT(swapped ? -16 * LOCAL_STEP : 16 * LOCAL_STEP);
    const u32 start = KEPT(LOCAL_START(sums)), lane = KEPT(LOCAL_ID % 32);
% for k in range(per_word):
    const u32 bank_${k} = LOCAL_ID % 32 / ${per_word} * ${per_word} + (LOCAL_ID + ${k}) % ${per_word};
    const u32 place_${k} = KEPT(start + bank_${k} * LOCAL_STEP);
% endfor

<%call expr="pieces.each_piece('i64', False, adds)">
        const i32 wide_sign = wide ? -1 : 0;
% if copied:
        const u64 own_block = first_copy + node->tree * (copy_codes / ${block});
% endif
% if joint:
    % for half in halves:
        if (clears${" && has_both" * half}) clear_joint(target, block_${half}, sum_begin, sums_of);
    % endfor
% else:
        const u32 clear_end = clears ? 2 * code_end : 2 * code_begin;
        for (u32 c = 2 * code_begin + LOCAL_ID; c < clear_end; c += ${wg_size}) target[c] = 0;
% endif
        clear_sums(sums, most);
        BARRIER();
        const u32 base = KEPT(piece.base);
${rows.begin(wg_size, ahead)}\
        for (u32 position = piece.begin + LOCAL_ID; position < piece.end; position += ${wg_size}) {
${rows.take(wg_size, pair, ahead)}\
            const i32 one = swapped ? low.y : low.x, two = swapped ? low.x : low.y;
            const u32x4 own_0 = turn(front, lane);
${add_block(0)}\
% if pair:
            if (!has_both) continue;
            const u32x4 own_1 = turn(behind, lane);
${add_block(1)}\
% endif
        }
        BARRIER();
        ${write}(target, sums, block_0, alone${tables});
        ${f"if (has_both) {write}(target, sums + {32 * codes}, block_1, alone{tables});" if pair else ""}
        BARRIER();
</%call>
}
