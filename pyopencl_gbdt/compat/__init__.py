"""Interfaces of other libraries over this one, for scripts that change one import.

Each folder has the names, signatures and defaults of one library: ``from pyopencl_gbdt.compat
import xgboost as xgb``. A folder imports the rooms below it, and no other folder of this room.
"""

from __future__ import annotations

from pyopencl_gbdt.compat.known_to_shap import watch

watch()
