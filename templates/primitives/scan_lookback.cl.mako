## scan_lookback: out[i] = values[0] op ... op values[i], in one pass (exclusive: without values[i])
##
## chained.cl.mako draws how the tiles find each other. Not for sums of float32, whose order would
## depend on who comes first.
##
## params: wg_size, take (vectors of 16 bytes that a work-item holds), window (tiles looked back at at
##         once), spin (rounds without news until a tile's total is computed anew; 0: always), type,
##         op (see tree.cl.mako)
<%page args="wg_size, take, window, spin, type, op"/>
<%namespace name="tree" file="tree.cl.mako"/>
<%namespace name="chained" file="chained.cl.mako"/>
<%namespace name="predecessors" file="predecessors.cl.mako"/>
${tree.operation(type, op)}
${tree.vectors(type, op)}
${predecessors.state(type)}
${chained.kernels("scan", wg_size, take, type, op, spin, window, False)}
