"""Gradients, Hessians and row sampling on a device."""
