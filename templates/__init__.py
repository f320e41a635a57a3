"""Mako kernel templates; shipped as package data."""
