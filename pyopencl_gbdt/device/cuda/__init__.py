"""Devices through CUDA, by CuPy."""
