## closed_features: features that a node and all nodes below cannot split on; `split_cpu` imports these defs
##
##   A feature is closed in a node where the Hessians of its present values sum to 0, or to less than
##   min_child_weight: no border leaves enough for the side without missing rows, nor will one below.
##   Its sums are not brought up to date any more.
##
##   closed[node, feature] is 1 where a feature is closed. Every node writes its own marks and reads its
##   parent's, which an earlier launch wrote.

<%def name="functions()">
FN u8 closed_in_parent(GLOBAL const node_t* node, GLOBAL const u8* closed, const u32 n_features) {
    return node->parent == NO_NODE ? 0 : closed[(u64)node->parent * n_features];
}
</%def>
