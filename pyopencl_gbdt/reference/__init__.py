"""Slow, obvious NumPy twins of every primitive and step."""
