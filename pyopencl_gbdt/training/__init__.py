"""``train`` and ``cv``: checks, and the boosting loop."""
