"""Gradients and row sampling on a device."""
