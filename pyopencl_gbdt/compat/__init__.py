"""Interfaces of other libraries over this one, for scripts that change one import.

Each folder has the names, signatures and defaults of one library: ``from pyopencl_gbdt.compat
import xgboost as xgb``. A folder imports the rooms below it, and no other folder of this room.

The package shap explains models of the interfaces as it explains the originals': a script that
trains by ``compat.xgboost`` calls ``shap.TreeExplainer(model)`` as before. So importing an
interface imports ``explain.shap``: at once if shap is there already, else at the end of shap's own
import.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

_SHAP = "shap"


class _Loader(Loader):
    """Loads shap, then ``explain.shap``."""

    def __init__(self, own: Loader) -> None:
        self._own = own

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._own.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._own.exec_module(module)
        _explain()


class _Finder(MetaPathFinder):
    """Finds shap where the other finders do."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != _SHAP:
            return None
        others = (one for one in sys.meta_path if not isinstance(one, _Finder))
        found = (one.find_spec(fullname, path, target) for one in others)
        spec = next((one for one in found if one is not None), None)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader)
        return spec


def _explain() -> None:
    importlib.import_module("pyopencl_gbdt.explain.shap")


def _watch() -> None:
    """Make shap know the interfaces' models, now or once it is imported."""
    if _SHAP in sys.modules:
        _explain()
    elif not any(isinstance(one, _Finder) for one in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


_watch()
