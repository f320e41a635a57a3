## renew_leaves: a leaf's value = leaf_rate * quantile of (label - margin) over the leaf's rows
## uses: portable_math structs gain decision blocks
## uses if finds: tasks
## uses if categories: set_decision
##
##   key of a residual   |digit 0|digit 1|digit 2|digit 3|   8 bits each; keys are ordered as residuals
##
##   find_leaves  on a CPU: every row gets its leaf by the lists of rows of the nodes
##   count_first  every row walks the tree, unless it has its leaf, writes leaf and key, and counts[leaf][digit 0]
##   pick_digit   finds the digit at which the leaf's counts reach the rank, subtracts the counts of lower
##                digits from the rank, and clears the counts
##   count_next   counts[leaf][next digit], for rows whose digits so far are the picked ones; then
##                `pick_digit` again
##   renew        after four digits the key is complete: writes the quantile to nodes, walk and steps
##
##   If weighted, counts are 64-bit sums of integer weights, and the quantile is one residual. Otherwise
##   counts are numbers of rows, and the quantile may be between two neighbouring residuals. Both are
##   searched at once; where their digits differ, the second one has counts of its own.
##
##   a leaf's words of counts:       |256 of the first|256 of the second|    or   |low high|low high|...
##
## params: wg_size; weighted; code, the code's type, or tiled; empty if `row_nodes` tell the leaves of rows;
##         categories, splits may be by sets of codes; n_counts, words of a leaf's counts; finds, by_rows: there is
##         `find_leaves`, for chunk rows a task; alone: there is `select_leaves` in place of all but `renew`; else empty
<%page args="wg_size, weighted, code, categories, n_counts, finds, chunk"/>
<%namespace name="group" file="group.cl.mako"/>
<%namespace name="codes" file="row_codes.cl.mako"/>
<%namespace name="leaf_of_rows" file="leaf_of_rows.cl.mako"/>
<%namespace name="select" file="select_leaves.cl.mako"/>
<%
    sought = 1 if weighted else 2
    per_item = (256 + wg_size - 1) // wg_size
    sums = ", ".join(f"sum{s}" for s in range(sought))
    places = ", ".join(f"&before{s}, &total{s}" for s in range(sought))
%>
${group.exclusive_scans("group_scan", "u64", wg_size, sought)}
% if finds == "by_rows":
${leaf_of_rows.by_rows(
    wg_size, "find_leaves", code, categories, chunk, "=",
    "GLOBAL u32* own = leaves + (u64)node->tree * n_rows;", "GLOBAL u32* RESTRICT leaves")}
% elif code and not finds:
${codes.in_rows(code)}
% endif
FN void count_row(GLOBAL u32* counts, const u32 second, const u32 digit, const u64 weight) {
% if weighted:
    (void)second;
    const u32 low = (u32)weight;
    const u32 old = atomic_add_global_u32(&counts[2 * digit], low);
    const u32 high = (u32)(weight >> 32) + (old + low < old ? 1u : 0u);
    if (high) atomic_add_global_u32(&counts[2 * digit + 1], high);
% else:
    (void)weight;
    atomic_add_global_u32(&counts[256 * second + digit], 1);
% endif
}

FN u64 counted(GLOBAL const u32* counts, const u32 second, const u32 digit) {
% if weighted:
    (void)second;
    return (u64)counts[2 * digit + 1] << 32 | counts[2 * digit];
% else:
    return counts[256 * second + digit];
% endif
}

FN void clear(GLOBAL u32* counts, const u32 digit) {
% for word in (("2 * digit", "2 * digit + 1") if weighted else ("digit", "256 + digit")):
    counts[${word}] = 0;
% endfor
}

FN u32 key_of(const f32 label, const f32 margin) {
    const f32 residual = finite(label - margin);
    return ordered(residual);
}

FN f32 residual_of(const u32 key) {
    return as_f32((key >> 31) ? key ^ 0x80000000u : ~key);
}

KERNEL(${wg_size}) count_first(
        const u32 n_rows, const u32 first_row, const u32 page_rows, const u32 first_tree, const u32 n_parallel, const u64 label_stride,
% if code and not finds:
        ${codes.row_parameters(code)}, GLOBAL const u32x4* RESTRICT steps,${" GLOBAL const u32* RESTRICT sets," if categories else ""}
% elif not finds:
        GLOBAL const u32* RESTRICT row_nodes,
% endif
        GLOBAL const f32* RESTRICT labels, GLOBAL const f32* RESTRICT margins,
        GLOBAL const i64* RESTRICT weights, GLOBAL u32* RESTRICT leaves, GLOBAL u32* RESTRICT keys,
        GLOBAL u32* counts) {
    const u32 tree = GROUP_ID_Y, output = (first_tree + tree) / n_parallel;
    margins += (u64)output * n_rows;
    labels += output * label_stride;
    weights += output * label_stride;
    leaves += (u64)tree * n_rows;
    keys += (u64)tree * n_rows;
    for (u32 at = GROUP_ID * ${wg_size} + LOCAL_ID; at < page_rows; at += N_GROUPS * ${wg_size}) {
        const u32 row = first_row + at;
% if finds:
        const u32 leaf = leaves[row];
% elif code:
        const row_t mine = row_of(${codes.row(code)}, at);
${codes.walk(categories)}\
% else:
        const u32 leaf = row_nodes[(u64)tree * n_rows + row];
% endif
        const u32 key = key_of(labels[row], margins[row]);
        const u64 weight = ${"(u64)weights[row]" if weighted else "1"};
${"" if finds else "        leaves[row] = leaf;"}
        keys[row] = key;
        if (weight) count_row(counts + (u64)leaf * ${n_counts}, 0, key >> 24, weight);
    }
}

/* `shift` is the digit's lowest bit. */
KERNEL(${wg_size}) count_next(
        const u32 n_rows, const u32 first_tree, const u32 n_parallel, const u64 label_stride,
        const u32 shift, GLOBAL const u32* RESTRICT leaves,
        GLOBAL const u32* RESTRICT keys, GLOBAL const i64* RESTRICT weights,
        GLOBAL const u32* RESTRICT prefixes, GLOBAL u32* counts) {
    const u32 tree = GROUP_ID_Y;
    weights += (first_tree + tree) / n_parallel * label_stride;
    leaves += (u64)tree * n_rows;
    keys += (u64)tree * n_rows;
    for (u32 row = GROUP_ID * ${wg_size} + LOCAL_ID; row < n_rows; row += N_GROUPS * ${wg_size}) {
        const u32 leaf = leaves[row], key = keys[row];
        const u64 weight = ${"(u64)weights[row]" if weighted else "1"};
        const u32 first = ((key ^ prefixes[2 * (u64)leaf]) >> shift >> 8) == 0;
        const u32 second = ((key ^ prefixes[2 * (u64)leaf + 1]) >> shift >> 8) == 0;
        if (weight && (first || second))
            count_row(counts + (u64)leaf * ${n_counts}, !first, (key >> shift) & 255, weight);
    }
}

/* Ranks, from 1 on, of the residuals to find; 0 in a node without rows that count. */
typedef struct { u64 first; u64 second; f32 fraction; } ranks_t;

% if weighted:
/* Round x to 24 bits, ties to even; the rounded number is the result times 2^shift. */
FN u64 of_24_bits(const u64 x, i32* shift) {
    u32 bits = 0;
    for (u64 rest = x; rest; rest >>= 1) bits++;
    *shift = bits > 24 ? (i32)bits - 24 : 0;
    const u64 kept = x >> *shift, below = x & (((u64)1 << *shift) - 1);
    const u64 half_unit = *shift ? (u64)1 << (*shift - 1) : 1;
    return kept + (below > half_unit || (below == half_unit && (kept & 1)) ? 1 : 0);
}
% endif

/* alpha = alpha_mantissa / 2^alpha_shift. */
FN ranks_t ranks_of(const u64 total, const u32 alpha_mantissa, const u32 alpha_shift) {
    ranks_t r;
    r.fraction = 0.0f;
% if weighted:
    i32 shift, more; /* total * alpha; total and the product are rounded as in float32 */
    const u64 mantissa = of_24_bits(total, &shift);
    const u64 product = of_24_bits(mantissa * alpha_mantissa, &more);
    shift += more - (i32)alpha_shift;
    r.first = shift >= 0 ? product << shift : (product + (((u64)1 << -shift) - 1)) >> -shift;
    if (r.first < 1) r.first = 1;
    if (r.first > total) r.first = total;
    r.second = r.first;
% else:
    const u64 place = (total + 1) * alpha_mantissa;
    const u64 below = place & (((u64)1 << alpha_shift) - 1);
    r.first = place >> alpha_shift;
    if (r.first >= 1 && r.first < total) /* the first 24 bits of the fraction, alpha_shift >= 23 */
        r.fraction = (f32)(u32)(below << 1 >> (alpha_shift - 23)) * 5.9604644775390625e-8f;
    if (r.first < 1 && total) r.first = 1;
    if (r.first > total) r.first = total;
    r.second = r.fraction > 0.0f ? r.first + 1 : r.first;
% endif
    return r;
}

% if finds == "alone":
${select.kernel(code, categories)}
% endif
/* `alphas` has mantissa and shift of every output; `leaf_header` begins with the number of nodes. Inner
   nodes have no counts, so their rank is 0. */
KERNEL(${wg_size}) pick_digit(
        const u32 shift, const u32 first_tree, const u32 n_parallel,
        GLOBAL const u32* RESTRICT alphas, GLOBAL const node_t* RESTRICT nodes,
        GLOBAL const u32* RESTRICT leaf_header, GLOBAL u32* prefixes, GLOBAL i64* ranks,
        GLOBAL f32* RESTRICT fractions, GLOBAL u32* counts) {
    LOCAL_ARRAY(u64, shared, ${sought * wg_size});
    const u32 n_nodes = leaf_header[0];
    const u32 begin = LOCAL_ID * ${per_item} < 256 ? LOCAL_ID * ${per_item} : 256;
    const u32 end = begin < 256 ? begin + ${per_item} : 256;
    for (u32 id = GROUP_ID; id < n_nodes; id += N_GROUPS) {
        GLOBAL u32* mine = counts + (u64)id * ${n_counts};
        GLOBAL u32* prefix = prefixes + 2 * (u64)id;
        const int is_first = shift == 24;
        const u32 prefix0 = is_first ? 0 : prefix[0], prefix1 = is_first ? 0 : prefix[1];
        ranks_t r;
        r.first = is_first ? 0 : (u64)ranks[2 * (u64)id];
        r.second = is_first ? 0 : (u64)ranks[2 * (u64)id + 1];
        r.fraction = 0.0f;
% for s in range(sought):
        const u32 counts${s} = ${"prefix1 != prefix0" if s else "0"};
        u64 sum${s} = 0, before${s}, total${s};
        for (u32 digit = begin; digit < end; digit++) sum${s} += counted(mine, counts${s}, digit);
% endfor
        group_scan(${sums}, shared, ${places});
        const u32 output = (first_tree + nodes[id].tree) / n_parallel;
        if (is_first) r = ranks_of(total0, alphas[2 * output], alphas[2 * output + 1]);
% for s, rank in enumerate(("r.first", "r.second")[:sought]):
        if (before${s} < ${rank} && ${rank} <= before${s} + sum${s}) { /* true for one work-item */
            u32 digit = begin;
            u64 below = before${s}, here = counted(mine, counts${s}, digit);
            while (below + here < ${rank}) {
                below += here;
                here = counted(mine, counts${s}, ++digit);
            }
% for k in (0, 1) if weighted else (s,):
            prefix[${k}] = prefix${k} | digit << shift;
            ranks[2 * (u64)id + ${k}] = (i64)(${rank} - below);
% endfor
        }
% endfor
        for (u32 digit = begin; digit < end; digit++) clear(mine, digit); /* no other work-item reads them */
        if (is_first && LOCAL_ID == 0) {
            fractions[id] = r.fraction;
            if (r.first == 0) ranks[2 * (u64)id] = 0;
        }
    }
}

KERNEL(${wg_size}) renew(
        GLOBAL const f32* RESTRICT leaf_rate, GLOBAL const u32* RESTRICT leaf_header,
        GLOBAL const u32* RESTRICT prefixes, GLOBAL const i64* RESTRICT ranks,
        GLOBAL const f32* RESTRICT fractions, GLOBAL f32* RESTRICT node_values,
        GLOBAL walk_t* RESTRICT walk, GLOBAL step_t* RESTRICT steps) {
    const u32 n_nodes = leaf_header[0];
    for (u32 id = GROUP_ID * ${wg_size} + LOCAL_ID; id < n_nodes; id += N_GROUPS * ${wg_size}) {
        if (ranks[2 * (u64)id] == 0) continue;
        const f32 low = residual_of(prefixes[2 * (u64)id]);
        const f32 high = residual_of(prefixes[2 * (u64)id + 1]);
        f32 quantile = low;
        if (fractions[id] > 0.0f) {
            const f32 gap = finite(high - low);
            const f32 part = not_tiny(fractions[id] * gap);
            quantile = finite(low + part);
        }
        const f32 value = as_margin(quantile * leaf_rate[0]);
        node_values[id] = value;
        walk[id].number = value;
        steps[id].value = value;
    }
}
