"""Data as codes on a device: cut points, pages of codes, the memory that they take."""
