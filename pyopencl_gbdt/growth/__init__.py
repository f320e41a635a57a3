"""One tree: histograms, splits, decisions, partition, leaves."""
