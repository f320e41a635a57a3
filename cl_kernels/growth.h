/* growth: split a node. Twin: Grower of tests/reference/grow.py. */

/* Index of the best of a node's candidates; it is invalid if all are. Eight are read together: one after the other,
   each would wait for memory. */
FN u32 best_of(GLOBAL const candidate_t* mine, const u32 n) {
    u32 best = 0;
    df top = df_make(mine[0].score_hi, mine[0].score_lo);
    for (u32 base = 1; base < n; base += 8) {
        df own[8];
        for (u32 k = 0; k < 8; k++) {
            GLOBAL const candidate_t* one = &mine[base + k < n ? base + k : 0];
            own[k] = df_make(one->score_hi, one->score_lo);
        }
        for (u32 k = 0; k < 8; k++) {
            if (!df_less(top, own[k])) continue;
            top = own[k];
            best = base + k;
        }
    }
    return best;
}

FN f32 gain_of(GLOBAL const candidate_t* c, const i64x2 sums, const rule_t rule) {
    const df own = score(sums.x, sums.y, rule);
    const df loss = df_add(df_make(c->score_hi, c->score_lo), df_neg(own));
    return finite(scale_by(loss.hi, rule.gain_power));
}

/* What the best split of a leaf gains; -1 if it may not split. */
FN f32 leaf_gain(GLOBAL const candidate_t* best, const u32 depth, const i64x2 sums, const rule_t rule,
                 const u32 max_depth, const f32 gamma) {
    if (!(best->score_hi > NO_SCORE && depth < max_depth)) return -1.0f;
    const f32 gain = gain_of(best, sums, rule);
    return gain > 1e-6f && gain >= gamma ? gain : -1.0f;
}

/* Split a node; its children are nodes `left` and `left + 1`. */
FN void split_node(
        GLOBAL node_t* nodes, const payload_t payload, const u32 id, const u32 left,
        GLOBAL const candidate_t* c, const f32 gain) {
    GLOBAL node_t* node = &nodes[id];
    const i64x2 own = MAKE_I64X2(c->left_g, c->left_h), rest = SUB_I64X2(payload.sums[id], own);
    payload.values[id] = 0.0f;
    payload.sums[left] = own;
    payload.sums[left + 1] = rest;
    payload.bounds[left] = payload.bounds[left + 1] = payload.bounds[id];
    node->gain = gain;
    node->left = left;
    node->feature = c->feature;
    node->bin = c->bin_direction >> 1;
    node->default_left = c->bin_direction & 1;
    for (u32 side = 0; side < 2; side++) {
        nodes[left + side].parent = id;
        nodes[left + side].depth = node->depth + 1;
        nodes[left + side].tree = node->tree;
        nodes[left + side].path = 2 * node->path + side;
        nodes[left + side].count = 0; /* `partition` counts */
        nodes[left + side].in_order = 0;
        nodes[left + side].gain = 0.0f;
    }
}

/* The bounds of a split node's children under a monotone constraint: all nodes below stay on their side of the middle.
   Kernels do this in a loop of its own: with what they keep over their scans it takes registers that spill. */
FN void bound_children(const payload_t payload, const u32 left, const rule_t rule, const u32 constraint) {
    if (!constraint) return;
    const i64x2 own = payload.sums[left], rest = payload.sums[left + 1];
    const f32 one = weight_in_units(own.x, own.y, rule);
    const f32 other = weight_in_units(rest.x, rest.y, rule);
    const f32 half_one = 0.5f * one, half_other = 0.5f * other;
    const f32 middle = half_one + half_other;
    const u32 low = constraint == 1 ? left : left + 1;
    payload.bounds[low].upper = middle;
    payload.bounds[2 * left + 1 - low].lower = middle;
}
