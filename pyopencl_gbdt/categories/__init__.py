"""Numeric features made of categorical columns."""
