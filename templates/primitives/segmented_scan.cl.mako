## segmented_scan: a scan that starts again at every element with a set head flag
##
##   heads     1 0 0 | 0 1 0 | 0 0 0        tiles of 4096
##   values    3 1 2 | 2 0 1 | 4 1 2
##   totals    6 h   | 1 h   | 7            total from the last head on; h: the tile has a head
##   before    0     | 6     | 1            the same scan of the totals
##   out       0 3 4 | 6 0 0 | 1 5 6        exclusive
##
## Pairs combine as (a, g) op (b, h) = (h ? b : a op b, g | h), associative, in the tree's order.
##
## params: wg_size, type, op (see tree.cl.mako, which also draws the order)
<%page args="wg_size, type, op"/>
<%namespace name="tree" file="tree.cl.mako"/>
${tree.operation(type, op)}

FN value_t follow(const value_t before, const value_t x, const u32 head) {
    return head ? x : combine(before, x);
}

/* The result of an element: `before` is its prefix, `with_it` includes the element.
   mode 0: exclusive; 1: inclusive; 2: exclusive, but the element's own head does not reset it. */
FN value_t result(const value_t before, const value_t with_it, const u32 head, const u32 mode) {
    return mode == 1 ? with_it : (mode == 0 && head) ? IDENTITY : before;
}

% if wg_size > 1:
/* Totals of the 256 runs and 16 rows of a tile. All work-items call it. */
FN void tile_totals(
    GLOBAL const stored_t* values, GLOBAL const u8* heads, const u32 count, LOCAL value_t* runs,
    LOCAL u32* run_heads, LOCAL value_t* rows, LOCAL u32* row_heads) {
    for (u32 r = LOCAL_ID; r < 256; r += ${wg_size}) {
        value_t total = IDENTITY;
        u32 head = 0;
        ${tree.in_order(type, op)}
        for (u32 i = r * 16; i < r * 16 + 16; ++i)
            if (i < count) {
                total = follow(total, load(values[i]), heads[i] != 0);
                head |= heads[i] != 0;
            }
        runs[r] = total;
        run_heads[r] = head;
    }
    BARRIER();
    for (u32 row = LOCAL_ID; row < 16; row += ${wg_size}) {
        value_t total = IDENTITY;
        u32 head = 0;
        ${tree.in_order(type, op)}
        for (u32 r = row * 16; r < row * 16 + 16; ++r) {
            total = follow(total, runs[r], run_heads[r]);
            head |= run_heads[r];
        }
        rows[row] = total;
        row_heads[row] = head;
    }
    BARRIER();
}
% endif

<%def name="walk(body)">
    /* One work-item scans the tile. (rows, rows_head) combines the rows before the current one; (runs,
       runs_head) and (run, run_head) do the same for runs and elements. */
    value_t rows = IDENTITY;
    u32 rows_head = 0;
    ${tree.in_order(type, op)}
    for (u32 i = 0; i < count;) {
        value_t runs = IDENTITY;
        u32 runs_head = 0;
        const u32 row_end = count - i < 256 ? count : i + 256;
        ${tree.in_order(type, op)}
        while (i < row_end) {
            value_t run = IDENTITY;
            u32 run_head = 0;
            const u32 run_end = row_end - i < 16 ? row_end : i + 16;
            ${tree.in_order(type, op)}
            for (; i < run_end; ++i) {
                const u32 head = from_heads[i] != 0;
                const value_t next = follow(run, load(from[i]), head);
${body}
                run = next;
                run_head |= head;
            }
            runs = follow(runs, run, run_head);
            runs_head |= run_head;
        }
        rows = follow(rows, runs, runs_head);
        rows_head |= runs_head;
    }
</%def>
KERNEL(${wg_size}) segmented_totals(
    GLOBAL const stored_t* RESTRICT values, GLOBAL const u8* RESTRICT heads, const u64 n,
    GLOBAL stored_t* RESTRICT totals, GLOBAL u8* RESTRICT total_heads) {
    const u64 first = (u64)GROUP_ID * 4096;
    const u32 count = n - first < 4096 ? (u32)(n - first) : 4096;
    GLOBAL const stored_t* from = values + first;
    GLOBAL const u8* from_heads = heads + first;
% if wg_size == 1 and (type != "f32" or op != "sum"):
    value_t rows = IDENTITY; /* any order gives the same bits */
    u32 rows_head = 0;
    for (u32 i = 0; i < count; ++i) {
        const u32 head = from_heads[i] != 0;
        rows = follow(rows, load(from[i]), head);
        rows_head |= head;
    }
    totals[GROUP_ID] = store(rows);
    total_heads[GROUP_ID] = (u8)rows_head;
% elif wg_size == 1:
${walk("")}
    totals[GROUP_ID] = store(rows);
    total_heads[GROUP_ID] = (u8)rows_head;
% else:
    LOCAL_ARRAY(value_t, runs, 256);
    LOCAL_ARRAY(u32, run_heads, 256);
    LOCAL_ARRAY(value_t, rows, 16);
    LOCAL_ARRAY(u32, row_heads, 16);
    tile_totals(from, from_heads, count, runs, run_heads, rows, row_heads);
    if (LOCAL_ID == 0) {
        value_t total = IDENTITY;
        u32 head = 0;
        ${tree.in_order(type, op)}
        for (u32 row = 0; row < 16; ++row) {
            total = follow(total, rows[row], row_heads[row]);
            head |= row_heads[row];
        }
        totals[GROUP_ID] = store(total);
        total_heads[GROUP_ID] = (u8)head;
    }
% endif
}

/* out may be values: a work-item writes an element after it has read it for the last time. */
KERNEL(${wg_size}) segmented_tiles(
    GLOBAL const stored_t* values, GLOBAL const u8* RESTRICT heads, const u64 n, const u32 mode,
    GLOBAL const stored_t* before, const u32 has_before, GLOBAL stored_t* out) {
    const u64 first = (u64)GROUP_ID * 4096;
    const u32 count = n - first < 4096 ? (u32)(n - first) : 4096;
    const value_t base = has_before ? load(before[GROUP_ID]) : IDENTITY;
    GLOBAL const stored_t* from = values + first;
    GLOBAL const u8* from_heads = heads + first;
    GLOBAL stored_t* to = out + first;
% if wg_size == 1 and (type != "f32" or op != "sum"):
    value_t run = base; /* any order gives the same bits */
    for (u32 i = 0; i < count; ++i) {
        const u32 head = from_heads[i] != 0;
        const value_t next = follow(run, load(from[i]), head);
        to[i] = store(result(run, next, head, mode));
        run = next;
    }
% elif wg_size == 1:
<% emit = """
                const value_t before_row = follow(base, rows, rows_head);
                const value_t before_run = follow(before_row, runs, runs_head);
                to[i] = store(result(
                    follow(before_run, run, run_head), follow(before_run, next, run_head | head),
                    head, mode));""" %>
${walk(emit)}
% else:
    LOCAL_ARRAY(value_t, runs, 256);
    LOCAL_ARRAY(u32, run_heads, 256);
    LOCAL_ARRAY(value_t, rows, 16);
    LOCAL_ARRAY(u32, row_heads, 16);
    tile_totals(from, from_heads, count, runs, run_heads, rows, row_heads);
    for (u32 r = LOCAL_ID; r < 256; r += ${wg_size}) {
        value_t before_row = IDENTITY, before_run = IDENTITY, run = IDENTITY;
        u32 row_head = 0, runs_head = 0, run_head = 0;
        ${tree.in_order(type, op)}
        for (u32 k = 0; k < r / 16; ++k) {
            before_row = follow(before_row, rows[k], row_heads[k]);
            row_head |= row_heads[k];
        }
        ${tree.in_order(type, op)}
        for (u32 k = r / 16 * 16; k < r; ++k) {
            before_run = follow(before_run, runs[k], run_heads[k]);
            runs_head |= run_heads[k];
        }
        before_run = follow(follow(base, before_row, row_head), before_run, runs_head);
        ${tree.in_order(type, op)}
        for (u32 i = r * 16; i < r * 16 + 16; ++i)
            if (i < count) {
                const u32 head = from_heads[i] != 0;
                const value_t next = follow(run, load(from[i]), head);
                to[i] = store(result(
                    follow(before_run, run, run_head), follow(before_run, next, run_head | head),
                    head, mode));
                run = next;
                run_head |= head;
            }
    }
% endif
}
