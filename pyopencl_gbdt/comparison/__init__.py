"""Comparing devices and libraries: what is trained, and how it is measured."""
