"""Arithmetic that production code and the reference twins share: same bits on every machine.

This room imports only NumPy, ``errors`` and ``dtypes``. Its tests compare with exact fractions.
"""
