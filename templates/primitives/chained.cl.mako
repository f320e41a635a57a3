## chained: the single-pass scan in scan_lookback and segmented_scan_lookback
## (Merrill & Garland, "Single-pass parallel prefix scan with decoupled look-back", NVR-2016-002)
##
##   tile       0          1          2             one for each work-group
##   row 0      v v v v    v v v v    v v v v       vectors of 16 bytes, one for each work-item
##   row 1      v v v v    v v v v    v v v v       `take` rows
##   total      t          t          t             published; then the tile looks back
##
## Each element is read once and written once. A work-item holds `take` vectors of 16 bytes. They are
## a whole row of the work-group apart, so every access is coalesced without a transposition. The
## work-group scans the totals of the vectors, in their order in memory.
##
## A segmented scan combines (value, head) pairs. If a tile contains a head, the prefix at its end does
## not depend on earlier tiles, so the tile publishes a P at once. The state holds no heads.
## A tile writes its results after its total is published, so `out` may be `values`.
<%namespace name="predecessors" file="predecessors.cl.mako"/>

## One level of the scan within a tile: scan each run of `run` elements, exclusive, and keep its total.
<%def name="level(wg_size, values, heads, n, run, stride, above, above_heads, segmented)">
    for (u32 r = LOCAL_ID; r < ${n // run}; r += ${wg_size}) {
        value_t total = IDENTITY;
% for k in range(run):
        const value_t x${k} = ${values}[r * ${stride} + ${k}];
% endfor
% if segmented:
        u32 any = 0;
% for k in range(run):
        const u32 head${k} = ${heads}[r * ${stride} + ${k}];
% endfor
% endif
% for k in range(run):
        ${values}[r * ${stride} + ${k}] = total;
% if segmented:
        ${heads}[r * ${stride} + ${k}] = any;
        total = follow(total, x${k}, head${k});
        any |= head${k};
% else:
        total = combine(total, x${k});
% endif
% endfor
        ${above}[r] = total;
% if segmented:
        ${above_heads}[r] = any;
% endif
    }
    BARRIER();
</%def>

<%def name="kernels(name, wg_size, take, type, op, spin, window, segmented)">
<%
    per_vector = {"u64": 2, "i64": 2, "i64x2": 1}.get(type, 4)
    n_vectors = wg_size * take
    tile_size = n_vectors * per_vector
    run = next(size for size in (16, 8, 4, 2, 1) if n_vectors % size == 0)
    n_runs = n_vectors // run
    block = 1
    while block * block < n_runs and n_runs % (2 * block) == 0:
        block *= 2
    n_blocks = n_runs // block
    heads_argument = "GLOBAL const u8* RESTRICT heads, " if segmented else ""
    heads_given = "heads, " if segmented else ""
    each, parts = range(take), range(per_vector)
%>
/* A work-item reads runs of vectors; padding avoids bank conflicts. */
#define PADDED(i) ((i) + (i) / ${run})

FN value_t follow(const value_t before, const value_t x, const u32 head) {
    return ${"head ? x : combine(before, x)" if segmented else "combine(before, x)"};
}

/* Totals of a tile's vectors, of runs of vectors and of blocks of runs. */
typedef struct {
    value_t value[${n_vectors + n_vectors // run}], run[${n_runs}], block[${n_blocks}];
% if segmented:
    u32 head[${n_vectors + n_vectors // run}], run_head[${n_runs}], block_head[${n_blocks}];
% endif
} sums_t;

/* Scan the vectors' totals in `sums`; return the tile's total to all work-items. */
FN value_t scan_vectors(LOCAL sums_t* sums, u32* any) {
    BARRIER();
    ${level(wg_size, "sums->value", "sums->head", n_vectors, run, run + 1, "sums->run",
            "sums->run_head", segmented)}
    ${level(wg_size, "sums->run", "sums->run_head", n_runs, block, block, "sums->block",
            "sums->block_head", segmented)}
    value_t total = IDENTITY;
    *any = 0;
    for (u32 b = 0; b < ${n_blocks}; ++b) {
        const u32 head = ${"sums->block_head[b]" if segmented else "0"};
        total = follow(total, sums->block[b], head);
        *any |= head;
    }
    return total;
}

/* The prefix of vector i within its tile, after scan_vectors. */
FN value_t before_vector(LOCAL sums_t* sums, const u32 i, u32* any) {
    value_t before = IDENTITY;
    *any = 0;
    for (u32 b = 0; b < ${n_blocks}; ++b)
        if (b < i / ${run * block}) {
            const u32 head = ${"sums->block_head[b]" if segmented else "0"};
            before = follow(before, sums->block[b], head);
            *any |= head;
        }
    const u32 run_head = ${f"sums->run_head[i / {run}]" if segmented else "0"};
    before = follow(before, sums->run[i / ${run}], run_head);
    const u32 head = ${"sums->head[PADDED(i)]" if segmented else "0"};
    *any |= run_head | head;
    return follow(before, sums->value[PADDED(i)], head);
}

/* The total of a work-item's share of a whole tile, computed from the input. */
FN value_t share_of(
    GLOBAL const stored_t* values, ${heads_argument}const u32 tile, u32* any) {
    const u64 first = (u64)tile * ${tile_size} + LOCAL_ID * ${tile_size // wg_size};
    value_t total = IDENTITY;
    *any = 0;
    for (u32 k = 0; k < ${tile_size // wg_size}; ++k) {
        const u32 head = ${"heads[first + k] != 0" if segmented else "0"};
        total = follow(total, load(values[first + k]), head);
        *any |= head;
    }
    return total;
}

${predecessors.look_back(wg_size, spin, window, heads_argument, heads_given)}
KERNEL(${wg_size}) ${name}_clear(GLOBAL u64* RESTRICT state, const u64 n_words) {
    const u64 i = (u64)GROUP_ID * ${wg_size} + LOCAL_ID;
    if (i < n_words) state[i] = 0;
}

/* out may be values: a work-item writes only elements that it has read itself. */
KERNEL(${wg_size}) ${name}_tiles(
    GLOBAL const stored_t* values, ${heads_argument}const u64 n, const u32 inclusive,
    GLOBAL u64* state, GLOBAL stored_t* out) {
    LOCAL_ARRAY(sums_t, sums, 1);
    LOCAL_ARRAY(past_t, past, 1);
    LOCAL_ARRAY(u32, ticket, 1);
    if (LOCAL_ID == 0) ticket[0] = atomic_add_global_u32((GLOBAL u32*)state, 1u);
    BARRIER();
    const u32 tile = ticket[0];
    const u64 first = (u64)tile * ${tile_size};
    const u32 whole = n - first >= ${tile_size};
% for r in each:
    value_t ${", ".join(f"x{r}_{k} = IDENTITY" for k in parts)};
    u32 ${", ".join(f"h{r}_{k} = 0" for k in parts)};
% endfor
    if (whole) {
        GLOBAL const vector_t* from = (GLOBAL const vector_t*)(values + first) + LOCAL_ID;
% for r in each:
        const vector_t v${r} = from[${r * wg_size}];
% endfor
% if segmented:
<% packed = {4: "u32", 2: "u16", 1: "u8"}[per_vector] %>\
        GLOBAL const ${packed}* flags = (GLOBAL const ${packed}*)(heads + first) + LOCAL_ID;
% for r in each:
        const u32 f${r} = flags[${r * wg_size}];
% endfor
% for r in each:
% for k in parts:
        h${r}_${k} = (f${r} >> ${8 * k} & 255u) != 0;
% endfor
% endfor
% endif
% for r in each:
% for k in parts:
        x${r}_${k} = load(PART${k}(v${r}));
% endfor
% endfor
    } else {
% for r in each:
% for k in parts:
        {
            const u64 at = first + ${r * wg_size * per_vector + k} + LOCAL_ID * ${per_vector};
            if (at < n) {
                x${r}_${k} = load(values[at]);
% if segmented:
                h${r}_${k} = heads[at] != 0;
% endif
            }
        }
% endfor
% endfor
    }
% for r in each:
    {
        value_t sum = x${r}_0;
% for k in parts:
% if k:
        sum = follow(sum, x${r}_${k}, h${r}_${k});
% endif
% endfor
        sums->value[PADDED(${r * wg_size} + LOCAL_ID)] = sum;
% if segmented:
        sums->head[PADDED(${r * wg_size} + LOCAL_ID)] = ${" | ".join(f"h{r}_{k}" for k in parts)};
% endif
    }
% endfor
    u32 any;
    const value_t total = scan_vectors(sums, &any);
    const u32 flag = tile == 0 || any ? PREFIX : TOTAL;
    if (LOCAL_ID == 0) {
        publish(state, tile, total, flag);
        value_t seen; /* read back, so that it is visible before the barriers below */
        if (look_at(state, tile, &seen) == NONE) publish(state, tile, total, flag);
    }
% for r in each:
    u32 any${r};
    const value_t own${r} = before_vector(sums, ${r * wg_size} + LOCAL_ID, &any${r});
% endfor
    BARRIER();
    const value_t before = before_tile(state, tile, values, ${heads_given}past);
    if (LOCAL_ID == 0 && flag == TOTAL) publish(state, tile, combine(before, total), PREFIX);
% for r in each:
    {
        value_t now = ${f"any{r} ? own{r} : combine(before, own{r})" if segmented else f"combine(before, own{r})"};
% for k in parts:
        const value_t with${k} = follow(now, x${r}_${k}, h${r}_${k});
        const stored_t o${k} = store(inclusive ? with${k} : ${f"h{r}_{k} ? IDENTITY : now" if segmented else "now"});
        now = with${k};
% endfor
        if (whole) {
            ((GLOBAL vector_t*)(out + first))[${r * wg_size} + LOCAL_ID] = PACK(${", ".join(f"o{k}" for k in parts)});
        } else {
            const u64 at = first + ${r * wg_size * per_vector} + LOCAL_ID * ${per_vector};
% for k in parts:
            if (at + ${k} < n) out[at + ${k}] = o${k};
% endfor
        }
    }
% endfor
}
</%def>
