"""Margins of an ensemble on any device; the fitted model."""
