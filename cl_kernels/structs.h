/* structs: records that kernels and host share. pyopencl_gbdt/dtypes.py has the same fields;
   tests/test_dtypes.py compares their offsets on a device. */

/* A node of a tree during its growth: its place in the tree, its rows and its split. What it carries besides lies in
   arrays by node id, see payload_t in gain.h. */
typedef struct {
    u32 begin;       /* index of its first row in the row list of its depth */
    u32 count;       /* number of its rows; below a root of sorted columns, of its entries */
    u32 parent;      /* node id; NO_NODE for the root */
    u32 left;        /* node id of the left child, the right child is next; NO_NODE in a leaf */
    u32 feature;     /* feature of the split */
    u32 bin;         /* last bin that goes left */
    u32 split_kind;  /* 0 numeric, 1 by a set of codes; set_decision.h */
    u32 default_left;
    u32 depth;
    i32 slot;        /* index of its histogram in the pool */
    i32 sibling_slot; /* histogram to subtract from the parent's, which is in `slot`; or -1 */
    f32 gain;        /* loss reduction of the split; while splits are searched, the highest rough score so far */
    u32 tree;        /* index of its tree in the batch */
    u32 path;        /* 1 for the root; 2 * the parent's for a left child, one more for a right child */
    u32 in_order;    /* 1: a root that has all rows in order, without a row list */
} node_t;

/* The bounds of a node's weight, in units, from monotone constraints above; see gain.h. */
typedef struct { f32 lower; f32 upper; } bounds_t;

/* One level of the trees of a batch. */
typedef struct {
    u32 first;       /* id of its first node */
    u32 count;       /* number of nodes */
    u32 row_tasks;   /* number of row chunks of its nodes that split */
    u32 hist_tasks;  /* number of row chunks of its nodes whose histogram is computed from rows */
} level_t;

/* Scores of bounded weights may be negative, but are never as low as this. */
#define NO_SCORE (-3.40282347e38f)

/* The best split of one feature in one node. */
typedef struct {
    i64 left_g;
    i64 left_h;
    f32 score_hi;    /* score(left) + score(right), in two floats; NO_SCORE: no split */
    f32 score_lo;
    u32 feature;
    u32 bin_direction; /* 2 * bin + (missing goes left) */
} candidate_t;

/* Fixed point of one tree. quanta = round(x * 2^exponent) * (weight * 2^-weight_shift), so a sum is its
   quanta times 2^(weight_shift - exponent). */
typedef struct {
    i32 g;
    i32 h;
    u32 wide;        /* some quanta need more than 32 bits: read the high words too */
    i32 weight_shift;
    u32 count_bits;  /* where rows are counted, see counted_children.h: bits of a count in a sum, ... */
    u32 least_rows;  /* ... and the rows that a child needs */
} scale_t;

/* A node in the form in which prediction walks trees. */
typedef struct {
    u32 left;         /* id, within the tree, of the left child; the right child is next; 0: leaf */
    u32 feature;
    u32 default_left;
    f32 number;       /* threshold of an inner node, value of a leaf */
} walk_t;

/* A node in the form in which training rows walk trees by their codes. */
typedef struct {
    u32 left;         /* as in walk_t */
    u32 place;        /* index of the feature's code in a row */
    u32 lefts;        /* codes that go left, see packed_split in decision.h */
    f32 value;        /* value of a leaf */
} step_t;

#define NO_NODE 0xFFFFFFFFu
