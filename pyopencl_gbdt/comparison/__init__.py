"""Compare devices and libraries: what to train, and how to measure it."""
