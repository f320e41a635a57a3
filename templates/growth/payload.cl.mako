## payload: the parameters of kernels that make leaves and split nodes, for what nodes carry; see payload_t in gain.h

<%def name="parameters()">
        GLOBAL i64x2* node_sums, GLOBAL f32* node_weights, GLOBAL f32* node_values, GLOBAL bounds_t* node_bounds
</%def>

<%def name="read()">
    payload_t payload;
    payload.sums = node_sums;
    payload.weights = node_weights;
    payload.values = node_values;
    payload.bounds = node_bounds;
</%def>
