"""Slow, simple NumPy twins of every primitive and step; tests compare kernels with them."""
