"""Metrics of evaluation sets on the device."""
