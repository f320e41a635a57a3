"""C shared by every kernel; shipped as package data."""
