/* children: whether a border may split a node, by the sums of its children. Each has to have rows and the least
   Hessian; `counted_children` has the same functions where each has to have a number of rows, too. */

typedef struct { i64 h; } least_t; /* of a child */

FN least_t least_child(const f32 min_child_weight, GLOBAL const scale_t* scale) {
    least_t least;
    least.h = least_hessian(min_child_weight, scale);
    return least;
}

FN int may_split(const i64 left_g, const i64 left_h, const i64 right_g, const i64 right_h, const least_t least) {
    (void)left_g; (void)right_g;
    return are_heavy(left_h, right_h, least.h);
}
