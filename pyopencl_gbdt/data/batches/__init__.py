"""Rows that are read batch by batch."""
