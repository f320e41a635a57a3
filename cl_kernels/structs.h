/* structs: records that kernels and host share. pyopencl_gbdt/dtypes.py holds the same, field by
   field; tests/test_dtypes.py compares offsets on the device. */

/* A node of the tree that is being grown. */
typedef struct {
    i64 sum_g;       /* gradients of its rows, in quanta of 2^-scale.g */
    i64 sum_h;       /* Hessians, in quanta of 2^-scale.h */
    u32 begin;       /* first of its rows in the row list of its depth */
    u32 count;       /* number of its rows */
    u32 parent;      /* node id; NO_NODE for the root */
    u32 left;        /* node id of the left child, the right one is next; NO_NODE in a leaf */
    u32 feature;     /* column of the split */
    u32 bin;         /* last bin that goes left */
    u32 split_kind;  /* 0 numeric, 1 category set (reserved) */
    u32 default_left;
    u32 depth;
    i32 slot;        /* where its histogram lies in the pool */
    i32 sibling_slot; /* histogram to subtract from the parent's, which lies in `slot`; or -1 */
    f32 gain;        /* loss reduction of the split */
    f32 weight;      /* optimal weight before the learning rate */
    f32 value;       /* what a leaf adds to the margin */
    f32 hessian;     /* sum_h in real units */
    u32 tree;        /* which of the trees that are grown at a time */
    u32 path;        /* 1 for the root, 2 * its parent's for a left child, one more for a right one */
    u32 in_order;    /* 1: it is a root, all rows are its own, in order, and no list has them */
    f32 lower;       /* monotone constraints above it bound its weight, in units; see gain.h */
    f32 upper;
} node_t;

/* One level of the tree. */
typedef struct {
    u32 first;       /* id of its first node */
    u32 count;       /* number of nodes */
    u32 row_tasks;   /* chunks of rows of its nodes that split */
    u32 hist_tasks;  /* chunks of rows of its nodes whose histogram is built from rows */
} level_t;

/* Bounded weights may have scores below 0, though none as low as this. */
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

/* Fixed point of one tree: quanta = round(x * 2^exponent) times a weight that was scaled by
   2^-weight_shift; a sum of quanta is worth 2^(weight_shift - exponent) each. */
typedef struct {
    i32 g;
    i32 h;
    u32 wide;        /* some quanta need more than 32 bits: look at the high words */
    i32 weight_shift;
} scale_t;

/* A node as prediction walks it. */
typedef struct {
    u32 left;         /* node id within its tree of the left child, the right one is next; 0: leaf */
    u32 feature;
    u32 default_left;
    f32 number;       /* threshold of an inner node, value of a leaf */
} walk_t;

/* A node as training rows walk it, by their codes. */
typedef struct {
    u32 left;         /* as in walk_t */
    u32 place;        /* where a row has the feature's code */
    u32 lefts;        /* codes that go left: up to the low 16 bits, and the high 16 bits */
    f32 value;        /* of a leaf */
} step_t;

#define NO_NODE 0xFFFFFFFFu
