"""Model files: one module or more for each format."""
