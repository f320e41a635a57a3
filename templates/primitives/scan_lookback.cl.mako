## scan_lookback: out[i] = values[0] op ... op values[i], in one pass (exclusive: without values[i])
##
## chained.cl.mako has a picture. Not for sums of float32: their order would depend on timing.
##
## params: wg_size, take (vectors of 16 bytes of a work-item), window (earlier tiles that are read at a
##         time), spin (rounds to wait for a tile's state before its total is computed from the input; 0:
##         always), type, op (see tree.cl.mako)
<%page args="wg_size, take, window, spin, type, op"/>
<%namespace name="tree" file="tree.cl.mako"/>
<%namespace name="chained" file="chained.cl.mako"/>
<%namespace name="predecessors" file="predecessors.cl.mako"/>
${tree.operation(type, op)}
${tree.vectors(type, op)}
${predecessors.state(type)}
${chained.kernels("scan", wg_size, take, type, op, spin, window, False)}
