## entry_items: read a work-item's entries, and find the running sums around them; `exact` imports these defs
##
##   entries   f0:3 f0:3 f0:5 f2:1 f2:4      feature:bin, sorted; a work-item has neighbours
##   starts                   |              of a segment, which `base` is the running sum before
##   borders             |    |    |    |    behind the last entry of each bin
##   behind                   ^         ^    the running sum at the segment's end

<%def name="functions(wg_size, items, missing, bins, interleaved, masked)">
<%
    ends_argument = {"values": "", "tree": ", GLOBAL const u32* ends", "node": ", GLOBAL const u8* ends"}[bins]
    bin_at = "ends[places[{}]]" if bins == "tree" else "places[{}]"
    n_words = (wg_size + 31) // 32
    staged = "LOCAL const u32*" if wg_size > 1 else "const u32*"
    piece_type = "staged_piece_t" if interleaved else "piece_t"
    in_words = items <= 32
%>
% if in_words:
/* All of a work-item's loops have the same length, so that compilers keep its entries in registers. */
#define EACH_ENTRY(item, k) for (u32 k = 0; k < ${items}; k++) if (k < (item)->n)
#define SET(item, kind, k) (item)->kind |= 1u << (k)
#define UNSET(item, kind, k) (item)->kind &= ~(1u << (k))
#define IS(item, kind, k) (((item)->kind >> (k)) & 1)
% else:
#define EACH_ENTRY(item, k) for (u32 k = 0; k < (item)->n; k++)
#define SET(item, kind, k) (item)->kind[k] = 1
#define UNSET(item, kind, k) (item)->kind[k] = 0
#define IS(item, kind, k) (item)->kind[k]
% endif

/* A work-item's entries in a piece, from index `at` on, and running sums of the piece. */
typedef struct {
    u32 at, n;
    i64 sum_g, sum_h;   /* before its first entry */
    i64 base_g, base_h; /* before the segment of its first entry */
    u32 place[${items}];
    i32 g[${items}], h[${items}]; /* low words */
    /* whether an entry is its segment's first in the piece (but not the piece's first), and whether it is
       the last of its bin in the node and the node may split on its feature */
% if in_words:
    u32 starts, border;
% else:
    u8 starts[${items}], border[${items}];
% endif
% if interleaved:
    ${staged} rows;
    u32 reaches; /* whether the piece's last entry is of the stretch's last feature */
% else:
    GLOBAL const u32* rows;
% endif
    u32 wide;
    GLOBAL const i32x2* high;
% if missing:
    i64 behind_g[${items}], behind_h[${items}]; /* behind the segment of each entry */
% endif
} item_t;

FN i64x2 sums_of(const item_t* item, const u32 k) {
    i64 g = item->g[k], h = item->h[k];
    if (item->wide) {
        const i32x2 more = item->high[item->rows[k]];
        g += (i64)more.x * 4294967296;
        h += (i64)more.y * 4294967296;
    }
    return MAKE_I64X2(g, h);
}

FN void read_item(item_t* item, const ${piece_type} piece, GLOBAL const u32* features,
                  GLOBAL const i32x2* high, const u32 wide${ends_argument}${', GLOBAL const u32* mask' if masked else ''}) {
    const u32 each = ${f"(piece.size + {wg_size - 1}) / {wg_size}" if interleaved else items};
    const u32 at = LOCAL_ID * each;
    item->at = at;
    item->n = at >= piece.size ? 0 : (piece.size - at < each ? piece.size - at : each);
    item->sum_g = item->sum_h = 0;
    item->wide = wide;
    item->high = high;
    item->rows = piece.entries.rows + at;
% if in_words:
    item->starts = item->border = 0;
% endif
% if interleaved:
    item->reaches = 0;
    if (item->n == 0) return;
    ${staged} places = piece.entries.places + at;
    const u32 rest = piece.size - at, first = piece.first, behind = piece.next;
    const int one = first == piece.last; /* the stretch is of a feature */
    item->reaches = one || features[piece.entries.places[piece.size - 1]] == piece.last;
% else:
    if (item->n == 0) return;
    GLOBAL const u32* places = piece.entries.places + at;
    const u32 rest = piece.size - at + piece.behind, behind = NO_KEY; /* of the node, from its first entry on */
    const u32 first = features[piece.entries.places[0]];
    const int one = first == features[piece.entries.places[piece.size - 1]]; /* the piece is of a feature */
% endif
    u32 feature = at == 0 || one ? first : features[piece.entries.places[at - 1]];
    u32 place = ${bin_at.format("0")};
    EACH_ENTRY(item, k) {
        const i32x2 q = piece.entries.quanta[at + k];
        const u32 own = one ? first : features[place];
        const u32 next = k + 1 < rest ? ${bin_at.format("k + 1")} : behind;
        item->g[k] = q.x;
        item->h[k] = q.y;
        item->place[k] = place;
% if not in_words:
        item->starts[k] = item->border[k] = 0;
% endif
        if (own != feature) SET(item, starts, k);
        if (${"ends[at + k]" if bins == "node" else "next != place"}${" && (mask[own / 32] >> own % 32) & 1" if masked else ""}) SET(item, border, k);
        feature = own;
        place = next;
    }
}

% if wg_size > 1:
FN u32 lowest_bit(const u32 bits) { return POPCOUNT((bits & (0u - bits)) - 1); }

FN u32 highest_bit(const u32 given) {
    u32 bits = given;
    for (u32 width = 1; width < 32; width *= 2) bits |= bits >> width;
    return POPCOUNT(bits) - 1;
}

/* The last work-item before this one, or the first behind it, in whose entries a segment starts; or
   NO_KEY. `marks` has a bit for each work-item. */
FN u32 start_before(LOCAL const u32* marks) {
    u32 word = LOCAL_ID / 32, bits = marks[word] & ((1u << LOCAL_ID % 32) - 1);
    while (bits == 0 && word > 0) bits = marks[--word];
    return bits ? 32 * word + highest_bit(bits) : NO_KEY;
}

FN u32 start_behind(LOCAL const u32* marks) {
    u32 word = LOCAL_ID / 32, bits = marks[word] & ~((2u << LOCAL_ID % 32) - 1);
    while (bits == 0 && word + 1 < ${n_words}) bits = marks[++word];
    return bits ? 32 * word + lowest_bit(bits) : NO_KEY;
}
% endif

% if missing:
/* Keep the running sum behind an entry's segment; (g, h) is the running sum behind the entry. */
FN void step_back(item_t* item, const u32 k, i64* g, i64* h, i64* end_g, i64* end_h) {
    if (k >= item->n) return;
    item->behind_g[k] = *end_g;
    item->behind_h[k] = *end_h;
    const i64x2 q = sums_of(item, k);
    *g -= q.x;
    *h -= q.y;
    if (IS(item, starts, k)) {
        *end_g = *g;
        *end_h = *h;
    }
}
% endif

/* Find the running sums before an item's entries, and before and behind their segments. */
FN void place_item(item_t* item, GLOBAL const i64* carries, LOCAL i64* shared,
                   LOCAL i64* starts, LOCAL u32* marks) {
    i64 g = 0, h = 0, total_g, total_h;
    EACH_ENTRY(item, k) {
        const i64x2 q = sums_of(item, k);
        g += q.x;
        h += q.y;
    }
    group_scan(g, h, shared, &item->sum_g, &total_g, &item->sum_h, &total_h);
    item->base_g = -carries[0];
    item->base_h = -carries[1];
    i64 end_g = 0, end_h = 0;
% if missing:
% if interleaved:
    end_g = total_g + (item->reaches ? carries[2] : 0);
    end_h = total_h + (item->reaches ? carries[3] : 0);
% else:
    end_g = total_g + carries[2];
    end_h = total_h + carries[3];
% endif
% endif
% if wg_size > 1:
    if (LOCAL_ID < ${n_words}) marks[LOCAL_ID] = 0;
    BARRIER();
    g = item->sum_g;
    h = item->sum_h;
    int any = 0;
    EACH_ENTRY(item, k) {
        if (IS(item, starts, k)) {
            if (!any) {
                starts[4 * LOCAL_ID] = g;
                starts[4 * LOCAL_ID + 1] = h;
            }
            starts[4 * LOCAL_ID + 2] = g;
            starts[4 * LOCAL_ID + 3] = h;
            any = 1;
        }
        const i64x2 q = sums_of(item, k);
        g += q.x;
        h += q.y;
    }
    if (any) atomic_add_local_u32(&marks[LOCAL_ID / 32], 1u << LOCAL_ID % 32);
    BARRIER();
    const u32 before = start_before(marks);
    if (before != NO_KEY) {
        item->base_g = starts[4 * before + 2];
        item->base_h = starts[4 * before + 3];
    }
% if missing:
    const u32 behind = start_behind(marks);
    if (behind != NO_KEY) {
        end_g = starts[4 * behind];
        end_h = starts[4 * behind + 1];
    }
% endif
% else:
    (void)starts; (void)marks;
    g = item->sum_g + g;
    h = item->sum_h + h;
% endif
    (void)end_g; (void)end_h;
% if missing:
% if in_words:
% for k in reversed(range(items)):
    step_back(item, ${k}, &g, &h, &end_g, &end_h);
% endfor
% else:
    for (u32 k = ${items}; k-- > 0;) step_back(item, k, &g, &h, &end_g, &end_h);
% endif
% endif
}
</%def>
