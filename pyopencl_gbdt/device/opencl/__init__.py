"""Devices through OpenCL: facts, programs, source, copies, and PoCL's own needs."""
