/* entries: the present values of a node's rows, sorted by column and bin, and cut into pieces for work-groups.

   An entry has a row, a place (the index of its bin among the bins of all features) and the low words of its
   row's quanta. Rows and places of all entries are in the data's own list, which roots share; entries of
   deeper nodes are in two lists that take turns, by the node's depth. The even list has the roots' quanta.

   node's entries   |f0 f0 f0 f2|f2 f2 f2 f2|f2 f5 f5|     pieces of `chunk` entries, and a shorter one
   positions         begin                           end */

/* Kernels over many entries run in several launches, so that none takes long. All of them together have `n_groups`
   work-groups, which share the tasks; `first_group` is the number of a launch's first one. */

typedef struct {
    GLOBAL const u32* rows;
    GLOBAL const u32* places;
    GLOBAL const i32x2* quanta;
} entries_t;

/* A piece has `size` entries; those of its node behind it are `behind`. Index 0 of `entries` is its first. */
typedef struct {
    entries_t entries;
    u32 size, behind, begin;
} piece_t;

/* A node's entries from a position on; positions of a root count from its tree's first entry. */
FN entries_t entries_at(GLOBAL const node_t* node, const u32 position, const u32 n_entries,
                        const entries_t every, const entries_t even, const entries_t odd) {
    const u32 root = node->depth == 0, is_odd = node->depth % 2;
    const u32 at = root ? position - node->tree * n_entries : position;
    entries_t found;
    found.rows = (root ? every.rows : is_odd ? odd.rows : even.rows) + at;
    found.places = (root ? every.places : is_odd ? odd.places : even.places) + at;
    found.quanta = (root ? every.quanta : is_odd ? odd.quanta : even.quanta) + position;
    return found;
}

FN entries_t entry_list(GLOBAL const u32* rows, GLOBAL const u32* places, GLOBAL const i32x2* quanta) {
    entries_t list;
    list.rows = rows;
    list.places = places;
    list.quanta = quanta;
    return list;
}

/* Number of the first of some sorted places that is not below `least`. */
FN u32 first_place(GLOBAL const u32* places, const u32 n, const u32 least) {
    u32 low = 0, high = n;
    while (low < high) {
        const u32 middle = low + (high - low) / 2;
        if (places[middle] < least) low = middle + 1; else high = middle;
    }
    return low;
}

/* An entry's quanta: the low words, and those of its row's high words if some of its tree need them. */
FN i64x2 quanta_of(const entries_t entries, const u32 i, GLOBAL const i32x2* high, const u32 wide) {
    const i32x2 low = entries.quanta[i];
    i64 g = low.x, h = low.y;
    if (wide) {
        const i32x2 more = high[entries.rows[i]];
        g += (i64)more.x * 4294967296;
        h += (i64)more.y * 4294967296;
    }
    return MAKE_I64X2(g, h);
}
