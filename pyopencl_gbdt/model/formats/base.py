"""What a format of model files is; see ``registry`` for the formats that there are."""

from __future__ import annotations

import json
import math
import re
from abc import ABC, abstractmethod
from typing import Any, ClassVar, Protocol

from pyopencl_gbdt.errors import ModelFormatError
from pyopencl_gbdt.model.best_round import BEST_ITERATION, BEST_SCORE, check_best_round
from pyopencl_gbdt.model.ensemble import Ensemble
from pyopencl_gbdt.model.formats.xgboost_links import LINKS
from pyopencl_gbdt.model.leaf_kinds import NUMBERS, LeafKind

#: Bytes of a file that ``Format.sniff`` is given.
HEAD_SIZE = 4096
#: The attribute of a model that holds the names of its classes, as JSON.
CLASSES = "pyopencl_gbdt.classes"
#: The attribute that holds a classifier's calibration: other libraries would predict without it.
CALIBRATION = "pyopencl_gbdt.calibration"
_FIRST_KEY = re.compile(rb'(?:\xef\xbb\xbf)?[ \t\r\n]*\{[ \t\r\n]*"([^"\\]{0,200})"')

#: Columns without names that get one; names of so many take 0.4 GB.
MOST_UNNAMED = 2**22
#: What a prediction is of margins, by loss. The rest are the margins themselves.
_LINKS = {
    **dict.fromkeys(
        ("reg:gamma", "reg:tweedie", "count:poisson", "survival:cox", "survival:aft"), "exp"
    ),
    **dict.fromkeys(("reg:logistic", "binary:logistic", "cross_entropy"), "sigmoid"),
    "binary:hinge": "positive",
    "multi:softprob": "softmax",
    "multi:softmax": "class",
}


def link_of(ensemble: Ensemble) -> str:
    """Return the expression that makes predictions of margins.

    ``identity``, ``exp``, ``sigmoid``, ``positive`` (1 if the margin is above 0, else 0),
    ``softmax`` or ``class`` (the first class with the largest margin).
    """
    return _LINKS.get(ensemble.objective, "identity")


def of_used_rounds(ensemble: Ensemble) -> Ensemble:
    """Return the model of the rounds that ``predict`` uses: those up to the best one.

    Weights of trees are multiplied into their leaves.
    """
    ensemble.check()
    if BEST_ITERATION not in ensemble.attributes:
        return ensemble.folded()
    best, _ = check_best_round(ensemble.attributes, "model.ensemble.attributes")
    kept = {k: v for k, v in ensemble.attributes.items() if k not in (BEST_ITERATION, BEST_SCORE)}
    return ensemble.of_rounds(range(best + 1), kept).folded()


def bits_of(ensemble: Ensemble, told: str) -> str:
    """Return a program's comment on equal bits; empty if leaves were multiplied by weights."""
    return told if ensemble.tree_weights is None else ""


def too_many_columns(ensemble: Ensemble) -> str:
    """Return what formats lack that write a name for each column; '' if nothing.

    A file of few bytes may claim 2^31 columns without names, for which names would take 100 GB.
    """
    unnamed = ensemble.feature_names is None and ensemble.n_features > MOST_UNNAMED
    return f"more than {MOST_UNNAMED} columns without names" if unnamed else ""


def splits_by_sets(ensemble: Ensemble) -> bool:
    """Tell whether a tree of a model splits by a set of levels."""
    return any(tree.sets.size for tree in ensemble.trees)


def base_of(link: str, margins: tuple[float, ...]) -> tuple[float, ...]:
    """Return the base scores of base margins, on the scale of predictions."""
    if link == "exp":
        return tuple(math.exp(min(margin, 88.0)) for margin in margins)
    if link == "sigmoid":
        return tuple(1.0 / (1.0 + math.exp(-max(margin, -700.0))) for margin in margins)
    return margins


def more_than_trees(model: Ensemble) -> str:
    """Return what predictions depend on that only this library's formats hold; '' if nothing."""
    if CALIBRATION in model.attributes:
        return "calibrated probabilities"
    distribution = LINKS[model.objective].n_outputs if model.objective in LINKS else 0
    return "outputs that are parameters of one distribution" if distribution else ""


def class_names(model: Ensemble, n_classes: int) -> list[Any]:
    """Return the names of classes, all strings or integers: 0, 1, 2, ... if none are stored."""
    try:
        names = json.loads(model.attributes.get(CLASSES, "null"))
    except ValueError:
        names = None
    known = type(names) is list and len(names) == n_classes
    kinds = {type(name) for name in names} if known else set()
    return names if kinds in ({str}, {int}) else list(range(n_classes))


def _steps(model: Ensemble) -> str:
    steps = model.n_outputs > 1 and model.objective in LINKS and LINKS[model.objective].steps
    return "outputs that are steps above one another" if steps else ""


class Format(Protocol):
    """One format of model files.

    Attributes
    ----------
    name : str
        What a sentence calls it: ``XGBoost's JSON``.
    reads, writes : bool
        What the format is for. The methods of a direction that it lacks are never called.
    """

    name: str
    reads: bool
    writes: bool

    @property
    def suffixes(self) -> tuple[str, ...]:
        """Endings of file names, in lower case, such as ``.json``; a class attribute will do.

        Messages and pages name the first. An ending may have several dots; of all that fit a name,
        the longest counts. Several formats may have the same ending: the first of them that can
        hold a model writes it.
        """

    def sniff(self, head: bytes) -> bool:
        """Tell from a file's first ``HEAD_SIZE`` bytes whether it has this format."""

    def lacks(self, model: Ensemble) -> str:
        """Return what the format lacks to hold a model, such as ``sets of levels``; '' if nothing.

        This is quick. The message around it names the formats that can hold the model.
        """

    def read(self, data: bytes, source: str) -> Ensemble:
        """Return the model that a file holds.

        Nothing in ``data`` is trusted. No code of it runs, and no more than a stated multiple of
        its size is allocated.

        Raises
        ------
        ModelFormatError
            About whatever is wrong in ``data``; the message begins with ``source``, the file's
            name.
        """

    def write(self, model: Ensemble) -> bytes:
        """Return a model that the format can hold as the content of a file.

        Equal models give equal bytes.

        Raises
        ------
        ModelFormatError
            If a value of the model cannot be written.
        """


class OneOutputTrees(ABC):
    """Part of a format whose trees add to one output each; vectors become a tree for each output.

    Attributes
    ----------
    holds : tuple of LeafKind
        The kinds of leaves that are written as they are. Others are written as numbers.
    """

    holds: ClassVar[tuple[LeafKind, ...]] = (NUMBERS,)

    def lacks(self, model: Ensemble) -> str:
        """Return what ``Format.lacks`` does."""
        if more := more_than_trees(model) or _steps(model):
            return more
        try:
            own = self._held(model)
        except ModelFormatError:
            return f"leaves that are {model.leaves.name}"
        if model.statistics is not None:
            return "statistics of categories"
        return self._lacks(own) or too_many_columns(model)

    def write(self, model: Ensemble) -> bytes:
        """Return what ``Format.write`` does."""
        return self._write(self._held(model))

    def _held(self, model: Ensemble) -> Ensemble:
        return model if model.leaves in self.holds else model.with_numbers()

    def _lacks(self, model: Ensemble) -> str:
        """Return what the format lacks for a model; it can hold the kind of the model's leaves."""
        return ""

    @abstractmethod
    def _write(self, model: Ensemble) -> bytes:
        """Return a model as the content of a file; the format can hold the kind of its leaves."""


def first_key(head: bytes) -> str:
    """Return the name of the first member of a JSON object; '' if the bytes begin otherwise."""
    found = _FIRST_KEY.match(head)
    return "" if found is None else found[1].decode("utf-8", "replace")
