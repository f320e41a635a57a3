"""Compute the metrics of evaluation sets on the device."""
