## predecessors: decoupled look-back: a tile's prefix from the states that earlier tiles publish
##
##   tile       0   1   2   3   4   5 ...       in the order of tickets
##   state      P   P   T   T   -   T           T: the tile's total; P: the total of all tiles up to it
##                  ^---+---+                   tile 4 adds earlier tiles, nearest first, up to a P
##
## A state word has a flag and 32 bits of the value, and is read as a whole. A wider value is accepted
## when the flags of all its words agree. If a state is not published within `spin` rounds, its tile's
## total is computed from the input. So no work-group waits for one that may not be running.
##
## Templates that import it define value_t, combine and share_of.

<%def name="state(type)">
#define NONE 0u
#define TOTAL 1u
#define PREFIX 2u
<%
    n_words = {"u64": 2, "i64": 2, "i64x2": 4}.get(type, 1)
    if type == "i64x2":
        parts = [f"(u32)((u64)value.{half} >> {shift})" for half in "xy" for shift in (0, 32)]
    elif n_words == 2:
        parts = ["(u32)(u64)value", "(u32)((u64)value >> 32)"]
    else:
        parts = ["(u32)value"]
%>
/* state[0] counts tickets; then come ${n_words} words for each tile. */
FN void publish(GLOBAL u64* state, const u32 tile, const value_t value, const u32 flag) {
    GLOBAL u64* word = state + 1 + (u64)tile * ${n_words};
% for k, part in enumerate(parts):
    WRITE_SHARED_U64(word + ${k}, (u64)flag << 32 | ${part});
% endfor
}

FN u32 look_at(GLOBAL u64* state, const u32 tile, value_t* value) {
    GLOBAL u64* word = state + 1 + (u64)tile * ${n_words};
% for k in range(n_words):
    const u64 w${k} = READ_SHARED_U64(word + ${k});
% endfor
% if type == "i64x2":
    *value = MAKE_I64X2((i64)(w1 << 32 | (u32)w0), (i64)(w3 << 32 | (u32)w2));
% elif n_words == 2:
    *value = (value_t)(w1 << 32 | (u32)w0);
% else:
    *value = (value_t)(u32)w0;
% endif
    const u32 flag = (u32)(w0 >> 32);
    return ${" && ".join([f"flag == (u32)(w{k} >> 32)" for k in range(1, n_words)] or ["1"])} ? flag : NONE;
}
</%def>

<%def name="look_back(wg_size, spin, window, heads_argument, heads_given)">
<%
    window_run = 1
    while window_run * window_run < window:
        window_run *= 2
    window_runs = window // window_run
%>
/* Local memory of before_tile. */
typedef struct {
    value_t value[${window}], run[${window_runs}], share[${wg_size}];
    u32 flag[${window}], run_flag[${window_runs}], run_seen[${window_runs}], share_head[${wg_size}];
} past_t;

/* Combine the tiles before this one. All work-items call it and get the result. */
FN value_t before_tile(
    GLOBAL u64* state, const u32 tile, GLOBAL const stored_t* values, ${heads_argument}LOCAL past_t* past) {
    value_t before = IDENTITY;
    u32 next = tile - 1, stalled = 0, done = tile == 0;
    while (!done) { /* `done` is the same for the whole group */
        for (u32 lane = LOCAL_ID; lane < ${window}; lane += ${wg_size}) {
            value_t value = IDENTITY;
            u32 flag = lane > next ? PREFIX : NONE; /* no tile is before tile 0 */
% if spin > 0:
            if (lane <= next) flag = look_at(state, next - lane, &value);
% endif
            past->value[lane] = value;
            past->flag[lane] = flag;
        }
        BARRIER();
        for (u32 r = LOCAL_ID; r < ${window_runs}; r += ${wg_size}) {
            value_t sum = IDENTITY;
            u32 flag = TOTAL, seen = 0;
            for (u32 k = r * ${window_run}; k < (r + 1) * ${window_run} && flag == TOTAL; ++k) {
                flag = past->flag[k];
                if (flag != NONE) {
                    sum = combine(past->value[k], sum);
                    ++seen;
                }
            }
            past->run[r] = sum;
            past->run_flag[r] = flag;
            past->run_seen[r] = seen;
        }
        BARRIER();
        u32 flag = TOTAL, seen = 0;
        for (u32 r = 0; r < ${window_runs} && flag == TOTAL; ++r) {
            before = combine(past->run[r], before);
            seen += past->run_seen[r];
            flag = past->run_flag[r];
        }
        done = flag == PREFIX;
        next -= seen;
        stalled = seen > 0 ? 0 : stalled + 1;
        if (!done && stalled >= ${max(1, spin)}) {
            u32 head;
            past->share[LOCAL_ID] = share_of(values, ${heads_given}next, &head);
            past->share_head[LOCAL_ID] = head;
            BARRIER();
            if (LOCAL_ID == 0) {
                value_t total = IDENTITY;
                flag = TOTAL;
                for (u32 k = 0; k < ${wg_size}; ++k) {
                    total = past->share_head[k] ? past->share[k] : combine(total, past->share[k]);
                    if (past->share_head[k]) flag = PREFIX;
                }
% if spin > 0:
                /* If the state was published meanwhile, the tile's results may have replaced its input. */
                value_t value;
                const u32 now = look_at(state, next, &value);
                if (now != NONE) total = value;
                if (now != NONE) flag = now;
% endif
                past->run[0] = total;
                past->run_flag[0] = flag;
            }
            BARRIER();
            before = combine(past->run[0], before);
            done = past->run_flag[0] == PREFIX || next == 0;
            --next;
            stalled = 0;
        }
    }
    return before;
}
</%def>
