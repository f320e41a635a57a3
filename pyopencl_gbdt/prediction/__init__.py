"""Predict on any device; the fitted model."""
