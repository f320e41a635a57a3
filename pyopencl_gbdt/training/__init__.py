"""The boosting loop, its checks, ``train`` and ``cv``."""
