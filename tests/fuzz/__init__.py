"""Mutated files, read in a process apart: no crash, no hang, bounded memory, errors of our own.

``python -m tests.fuzz`` reads as many mutations of every format as it asks for; the tests read a
seeded sample. To add a format, write a module here with a list ``FORMATS`` of
`tests.fuzz.formats.Format`: it is found by itself.
"""
