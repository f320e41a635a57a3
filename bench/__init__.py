"""Benchmarks: ``python -m bench <what> --help``; each number is checked and has its yardstick."""
