## closed_features: features that a node and all nodes below cannot split on; `split_cpu` imports these defs
##
##   A feature is closed in a node where the Hessians of its present values sum to 0, or to less than
##   min_child_weight: no border leaves enough for the side without missing rows, nor will one below.
##   Its sums are not brought up to date any more.
##
##   closed[slot of the histogram, feature] is 0, or 1 more than the step in which the feature was closed:
##
##   step 1    parent, slot 3           |.. 2 ..|
##   step 2    larger child, slot 3     |.. 2 ..|    smaller child, slot 8   |.. 3 ..|
##
##   The larger child has its parent's slot. So where a feature is closed in it first, the smaller child finds
##   this very step, which says nothing of the parent.

<%def name="functions()">
FN int closed_in_parent(GLOBAL const node_t* nodes, GLOBAL const node_t* node, GLOBAL const u32* closed,
                        const u32 n_features, const u32 step) {
    if (node->parent == NO_NODE) return 0;
    const u32 mark = closed[(u64)nodes[node->parent].slot * n_features];
    return mark != 0 && mark <= step;
}

/* Whether neither child of any border would have enough rows. */
FN int can_close(const i64 present_h, const i64 least) { return present_h == 0 || present_h < least; }
</%def>
