"""Quantised data on a device: cut points, pages of codes, and the memory that they need."""
