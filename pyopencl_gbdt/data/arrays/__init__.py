"""Arrays, tables and sparse matrices: what users give, as checked float32 values."""
