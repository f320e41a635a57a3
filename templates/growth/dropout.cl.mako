## dropout: trees with weights are taken out of rows' sums, and put back with other weights
## uses: structs steps decision blocks
## uses if categories: set_decision
##
##   A row's sum of an output is the sum of round(weight * leaf * 2^32) over the trees, in 64 bits.
##
##   keep_trees   copies finished trees behind those of earlier rounds
##   change       training rows find their leaves of the listed trees; each tree leaves a sum with one weight, and
##                comes back with another one. Where there is room, a new tree's leaf of each row is kept in
##                `row_leaves`, counted from the root: a round that drops the tree reads it in place of a walk
##   add_values   the same for one tree and rows whose leaf values are there; clears these
##   show         margin = start + sum
##
##   Trees of outputs that split alike are walked once for `together` outputs: in `kept_steps` the place of a leaf
##   tells how many nodes further the next output's one lies.
##
##   listed       first the round of this fit that the list begins with. Then, for each of some rounds, and in it for
##                each output, or those that are walked together, (begin, end, first tree whose leaves are kept) of the
##                trees that the round drops, and the same of its new trees. Behind them the trees: (root, place in
##                `row_leaves`, or EARLIER for one of a model that is continued, bits of both weights)
##
## params: wg_size; code, the code's type, or tiled; parts, whether several launches of `change` may share a page:
##   they have n_groups work-groups together, first_group of them in earlier launches; together; categories,
##   whether splits may be by sets of codes: those of a batch are kept with its trees; leaves, the type of
##   `row_leaves`, or "" where rows walk all trees
<%page args="wg_size, code, parts, together, categories, leaves"/>
<%namespace name="codes" file="row_codes.cl.mako"/>
${codes.in_rows(code)}
#define EARLIER 0xFFFFFFFFu

/* What a leaf adds to a sum: to_quanta(weight * leaf, 32), by fewer instructions. Sums stay below 2^62, and float32
   from 2^23 on are integers. */
FN i64 units_of(const f32 weight, const f32 leaf) {
    const f32 product = weight * leaf;
    const f32 size = as_f32(as_u32(product) & 0x7FFFFFFFu) * 4294967296.0f;
    const f32 up = size + 8388608.0f;
    const f32 rounded = up - 8388608.0f;
    const i64 units = (i64)(size < 8388608.0f ? rounded : size);
    return product < 0.0f ? -units : units;
}

/* start + sum, whose absolute value is taken apart into 3 x 21 bits, as `margins_of` does it. */
FN f32 margin_of(const f32 start, const i64 sum) {
    const u64 size = (u64)(sum < 0 ? -sum : sum);
    const f32 top = (f32)(u32)(size >> 42) * 1024.0f;
    const f32 middle = (f32)(u32)((size >> 21) & 0x1FFFFF) * 4.8828125e-4f;
    const f32 bottom = (f32)(u32)(size & 0x1FFFFF) * 2.3283064365386963e-10f;
    const f32 trees = top + (middle + bottom);
    return start + (sum < 0 ? -trees : trees);
}

/* leaf_header[3] counts the batches of trees so far, `first` of which were grown before this fit. */
KERNEL(${wg_size}) keep_trees(
        const u32 most_nodes, const u32 first, GLOBAL const u32* RESTRICT leaf_header,
% if together > 1:
        const u32 n_levels, const u32 n_alike, GLOBAL const level_t* RESTRICT levels,
% endif
        GLOBAL const u32x4* RESTRICT walk, GLOBAL const u32x4* RESTRICT steps,
% if categories:
        const u32 most_words, const u32 set_words, GLOBAL const u32* RESTRICT sets, GLOBAL u32* RESTRICT kept_sets,
% endif
        GLOBAL u32x4* RESTRICT kept_walk, GLOBAL u32x4* RESTRICT kept_steps) {
    const u32 n_nodes = leaf_header[0];
    const u64 begin = (u64)(leaf_header[3] - 1 - first) * most_nodes;
% if categories:
    const u32 first_word = (leaf_header[3] - 1 - first) * most_words; /* of the batch's sets */
    for (u32 i = GROUP_ID * ${wg_size} + LOCAL_ID; i < (n_nodes / 2 + 1) * set_words; i += N_GROUPS * ${wg_size})
        kept_sets[first_word + i] = sets[i];
% endif
    for (u32 id = GROUP_ID * ${wg_size} + LOCAL_ID; id < n_nodes; id += N_GROUPS * ${wg_size}) {
        u32x4 step = steps[id];
% if categories:
        u32x4 node = walk[id];
        if (step.x && step.y & BY_SET) {
            node.w += first_word;
            step.z += first_word;
        }
        kept_walk[begin + id] = node;
% else:
        kept_walk[begin + id] = walk[id];
% endif
% if together > 1:
        if (step.x == 0) step.y = levels[step_of(levels, n_levels, id)].count / n_alike;
% endif
        kept_steps[begin + id] = step;
    }
}

/* Margins get the sums without the trees that the round drops, or with its new trees (`after`). */
KERNEL(${wg_size}) change(
        const u32 n_rows, const u32 first_row, const u32 page_rows, const u32 after,
% if parts:
        const u32 first_group, const u32 n_groups,
% endif
% if together > 1:
        const u32 n_outputs,
% endif
        const u32 first_batches, const u32 n_batches, GLOBAL const u32* RESTRICT leaf_header,
        ${codes.row_parameters(code)}, GLOBAL const u32x4* RESTRICT listed,
        GLOBAL const u32x4* RESTRICT kept_steps, GLOBAL const u32x4* RESTRICT earlier_steps,
% if categories:
        GLOBAL const u32* RESTRICT kept_sets, GLOBAL const u32* RESTRICT earlier_sets,
% endif
% if leaves:
        GLOBAL ${leaves}* RESTRICT row_leaves,
% endif
        GLOBAL const f32* RESTRICT start, GLOBAL i64* RESTRICT tree_sums, GLOBAL f32* RESTRICT margins) {
    const u32 round = (leaf_header[3] - first_batches - after) / n_batches - listed[0].x;
    const u32x4 head = listed[1 + (2 * round + after) * N_GROUPS_Y + GROUP_ID_Y];
    const u64 place = (u64)(GROUP_ID_Y * ${together}) * n_rows + first_row;
<%
    group, groups = ("(first_group + GROUP_ID)", "n_groups") if parts else ("GROUP_ID", "N_GROUPS")
    every = range(together)
    there = [f"if (GROUP_ID_Y * {together} + {k} < n_outputs) " if k else "" for k in every]
    at = [f"place + {k} * (u64)n_rows + row" if k else "place + row" for k in every]
%>\
<%def name="moved()">\
% for k in every:
            ${there[k]}{
                const f32 value = as_f32(${f"steps[leaf + {k} * step.y].w" if k else "step.w"});
                without${k} -= units_of(as_f32(entry.z), value);
                sum${k} += units_of(as_f32(entry.w), value);
            }
% endfor
</%def>\
    for (u32 row = ${group} * ${wg_size} + LOCAL_ID; row < page_rows; row += ${groups} * ${wg_size}) {
        const row_t mine = row_of(${codes.row(code)}, row);
% for k in every:
        i64 without${k} = 0, sum${k} = 0;
        ${there[k]}without${k} = tree_sums[${at[k]}];
% endfor
        for (u32 number = head.x; number < ${"head.z" if leaves else "head.y"}; number++) {
            const u32x4 entry = listed[number];
            const u32 tree = entry.x;
            GLOBAL const u32x4* steps = entry.y == EARLIER ? earlier_steps : kept_steps;
% if categories:
            GLOBAL const u32* sets = entry.y == EARLIER ? earlier_sets : kept_sets;
% endif
${codes.walk(categories)}\
% if leaves:
            if (after) row_leaves[(u64)entry.y * n_rows + first_row + row] = (${leaves})(leaf - tree);
% endif
${moved()}\
        }
% if leaves:
        for (u32 number = head.z; number < head.y; number++) {
            const u32x4 entry = listed[number];
            GLOBAL const u32x4* steps = kept_steps;
            const u32 leaf = entry.x + row_leaves[(u64)entry.y * n_rows + first_row + row];
            const u32x4 step = steps[leaf];
${moved()}\
        }
% endif
% for k in every:
        ${there[k]}{
            tree_sums[${at[k]}] = without${k} + sum${k};
            margins[${at[k]}] = margin_of(start[${at[k]}], after ? without${k} + sum${k} : without${k});
        }
% endfor
    }
}

KERNEL(${wg_size}) add_values(
        const u32 n_rows, const u64 first, const f32 before, const f32 after, GLOBAL f32* RESTRICT values,
        GLOBAL i64* RESTRICT tree_sums) {
    for (u32 row = GROUP_ID * ${wg_size} + LOCAL_ID; row < n_rows; row += N_GROUPS * ${wg_size}) {
        tree_sums[first + row] += units_of(after, values[row]) - units_of(before, values[row]);
        values[row] = 0.0f;
    }
}

KERNEL(${wg_size}) show(
        const u64 n, GLOBAL const f32* RESTRICT start, GLOBAL const i64* RESTRICT tree_sums,
        GLOBAL f32* RESTRICT margins) {
    for (u64 i = (u64)GROUP_ID * ${wg_size} + LOCAL_ID; i < n; i += (u64)N_GROUPS * ${wg_size})
        margins[i] = margin_of(start[i], tree_sums[i]);
}
