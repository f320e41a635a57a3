"""Drivers: their faults and remedies, the facts that are measured, and their folders."""
