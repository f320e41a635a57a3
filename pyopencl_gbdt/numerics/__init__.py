"""Arithmetic that production code and its twins share: the same bits on every machine.

It imports NumPy, ``errors`` and ``dtypes`` alone, and its tests compare it with exact fractions.
"""
