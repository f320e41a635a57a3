"""Several devices or processes that train one model: messages, sums, connections."""
