/* tables: symmetric trees, whose nodes of a level have one split. Twin: tests/reference/symmetric.py.

   A node's split is idle if a side has no rows, or too few: it gains nothing there, and both
   children keep the node's weight. */

FN int is_idle(const i64 node_g, const i64 node_h, const i64 g, const i64 h, const least_t least) {
    return !may_split(g, h, node_g - g, node_h - h, least);
}

/* The same, by a node's sums and those of a child. */
FN int is_idle_above(const i64x2 node, const i64x2 child, const least_t least) {
    return is_idle(node.x, node.y, child.x, child.y, least);
}

/* What a split gains in one node, in units; the children are scored by a rule of their own. */
FN df gain_in_node(const i64 g, const i64 h, const i64 node_g, const i64 node_h, const least_t least,
                   const rule_t rule, const rule_t sides) {
    const df own = score(node_g, node_h, rule);
    const df both = df_add(score(g, h, sides), score(node_g - g, node_h - h, sides));
    const df gain = df_add(both, df_neg(own));
    const int idle = is_idle(node_g, node_h, g, h, least);
    return df_make(idle ? 0.0f : gain.hi, idle ? 0.0f : gain.lo);
}

/* Whether a split has a node's children in the wrong order. */
FN int breaks_order_in_node(const u32 constraint, const i64 g, const i64 h, const i64 node_g,
                            const i64 node_h, const least_t least, const rule_t rule) {
    if (constraint == 0 || is_idle(node_g, node_h, g, h, least)) return 0;
    const f32 left = weight_in_units(g, h, rule);
    const f32 right = weight_in_units(node_g - g, node_h - h, rule);
    return breaks_order(constraint, left, right);
}

/* As finish_node, for a node below finished ones. */
FN void finish_table_node(GLOBAL node_t* nodes, const payload_t payload, const u32 id, const rule_t rule,
                          const f32 learning_rate, const least_t least) {
    const u32 parent = nodes[id].parent;
    finish_node(nodes, payload, id, payload.sums[id], rule, learning_rate);
    if (parent == NO_NODE || !is_idle_above(payload.sums[parent], payload.sums[id], least)) return;
    const f32 weight = payload.weights[parent];
    payload.weights[id] = weight;
    payload.values[id] = as_margin(weight * learning_rate);
}

/* The children of an idle split have one weight: it is the bound between all nodes below them. */
FN void bound_idle_children(GLOBAL node_t* nodes, const payload_t payload, const u32 id, const rule_t rule,
                            const least_t least, const u32 constraint) {
    const u32 left = nodes[id].left;
    if (!constraint || !is_idle_above(payload.sums[id], payload.sums[left], least)) return;
    const f32 weight = scale_by(payload.weights[id], -rule.weight_power);
    const u32 low = constraint == 1 ? left : left + 1;
    payload.bounds[low].upper = weight;
    payload.bounds[2 * left + 1 - low].lower = weight;
}
