## gather_columns: copy the codes of the columns that each tree draws to narrow rows, which histograms read
## uses: blocks
##
##   columns     1 4 5                          as `drawn_columns` lists them
##   by_feature  f0: ..|f1: a0 a1 a2 ..|..      all rows of a feature
##   codes       a0 e0 f0 .. | a1 e1 f1 .. |    blocks of a row, see `BlockOrder` in primitives/packed_codes.py; tree after tree
##
##   A lone work-item writes eight codes at a time, another one a block of a row: neighbours read neighbouring
##   rows of a column. Padding gets the code 0, as in pages. The codes that histograms may leave out are gathered, too.
##
## params: wg_size; code, the codes' type, or joint: place by place; rows, of a work-item in a task, if a group
##         has several work-items
<%page args="wg_size, code, rows"/>
<%namespace name="codes" file="row_codes.cl.mako"/>
<%!
def word(code):
    """The type of a code."""
    return "u8" if code == "joint" else code

def column(k, code):
    """The statements that set the column of the k-th place."""
    at = f"own[{f'place + {k} < last ? place + {k} : last' if k else 'place'}]"
    if code != "joint":
        return f"GLOBAL const {code}* column_{k} = by_feature + (u64){at} * n_rows;"
    own = f"const u32 digit_{k} = digits[2 * {at} + 1];"
    return f"{own} GLOBAL const u8* column_{k} = by_feature + (u64)digits[2 * {at}] * n_rows;"

def code_in(k, code):
    """A row's code in that column."""
    return f"digit_of(column_{k}[row], digit_{k})" if code == "joint" else f"column_{k}[row]"
%>\
<% block = 8 if code == "u16" else 16 %>
% if code == "joint":
${codes.digit()}
% endif
<%def name="rows_alone()">\
<%
    block, bits = (8, 16) if code == "u16" else (16, 8)
    n = 64 // bits  # codes of a word
    run = 256 * wg_size  # rows whose codes stay in a first cache
%>\
    for (u32 begin = GROUP_ID * ${run}; begin < n_rows; begin += N_GROUPS * ${run}) {
        const u32 end = n_rows - begin < ${run} ? n_rows : begin + ${run};
        for (u32 block = 0; block * block_features < n_drawn; block++) {
            GLOBAL ${word(code)}* to = (GLOBAL ${word(code)}*)(
                codes + GROUP_ID_Y * (copy_codes / ${block}) + block_at(block, block_stride, paired, 1));
            for (u32 within = 0; within < block_features; within += ${n}) {
                const u32 place = block * block_features + within;
                if (place > last) break;
                u32 n_own = block_features - within < ${n} ? block_features - within : ${n};
                if (last - place + 1 < n_own) n_own = last - place + 1;
                const u64 keep = ~(u64)0 >> (64 - ${bits} * n_own);
% for k in range(n):
                ${column(k, code)}
% endfor
                for (u32 row = begin + LOCAL_ID; row < end; row += ${wg_size}) {
                    u64 packed = ${code_in(0, code)};
% for k in range(1, n):
                    packed |= (u64)${code_in(k, code)} << ${k * bits};
% endfor
                    *(GLOBAL u64*)(to + (u64)row * row_stride * ${block} + within) = packed & keep;
                }
            }
        }
    }
</%def>
<%def name="rows_together()">\
<%
    block, bits = (8, 16) if code == "u16" else (16, 8)
    task, per_word, one = rows * wg_size, 32 // bits, 2**bits - 1
%>\
    const u32 n_blocks = last / block_features + 1; /* a task is a block of some rows */
    const u32 n_tasks = ((n_rows + ${task - 1}) / ${task}) * n_blocks;
    for (u32 number = GROUP_ID; number < n_tasks; number += N_GROUPS) {
        const u32 block = number % n_blocks, begin = number / n_blocks * ${task};
        const u32 end = n_rows - begin < ${task} ? n_rows : begin + ${task};
        const u32 place = block * block_features;
        const u32 n_own = last - place + 1 < block_features ? last - place + 1 : block_features;
        GLOBAL u32x4* to = codes + GROUP_ID_Y * (copy_codes / ${block}) + block_at(block, block_stride, paired, 1);
% for k in range(block):
        ${column(k, code)}
% endfor
% for number in range(4):
        const u32 keep_${number} = ${" | ".join(f"(n_own > {number * per_word + k} ? {hex(one << k * bits)}u : 0)" for k in range(per_word))};
% endfor
        for (u32 row = begin + LOCAL_ID; row < end; row += ${wg_size}) {
% for number in range(4):
            const u32 word_${number} = ${" | ".join("(u32)" + code_in(number * per_word + k, code) + (f" << {k * bits}" if k else "") for k in range(per_word))};
% endfor
            to[(u64)row * row_stride] = MAKE_U32X4(word_0 & keep_0, word_1 & keep_1, word_2 & keep_2, word_3 & keep_3);
        }
    }
</%def>
/* Strides count blocks. */
KERNEL(${wg_size}) gather_columns(
        const u32 n_rows, const u32 n_drawn, const u64 copy_codes, const u32 block_features, const u32 row_stride,
        const u32 block_stride, const u32 paired, const u32 row_codes, GLOBAL const u32* RESTRICT columns,
        GLOBAL const u32* RESTRICT fullest, GLOBAL const ${word(code)}* RESTRICT by_feature,${' GLOBAL const u32* RESTRICT digits,' if code == 'joint' else ''}
        GLOBAL u32x4* RESTRICT codes, GLOBAL ${word(code)}* RESTRICT drawn_fullest) {
    GLOBAL const u32* own = columns + GROUP_ID_Y * n_drawn; /* of the tree */
    const u32 last = n_drawn - 1;
    if (GROUP_ID == 0)
        for (u32 at = LOCAL_ID; at < row_codes; at += ${wg_size}) {
            const u32 place = at / ${block} * block_features + at % ${block};
            const int padding = at % ${block} >= block_features || place > last;
            drawn_fullest[GROUP_ID_Y * row_codes + at] = (${word(code)})(padding ? 0 : fullest[own[place]]);
        }
${rows_alone() if wg_size == 1 else rows_together()}\
}
