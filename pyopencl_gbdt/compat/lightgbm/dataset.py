"""LightGBM's ``Dataset``: built from a user's rows when it is first needed."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.arguments import like
from pyopencl_gbdt.compat.lightgbm.dataset_parts import FIELDS, Columns, column_ranges
from pyopencl_gbdt.compat.lightgbm.errors import LightGBMError
from pyopencl_gbdt.compat.lightgbm.names import by_main_names, spellings
from pyopencl_gbdt.compat.lightgbm.tables import read_rows, whole_levels
from pyopencl_gbdt.data import dataset as own
from pyopencl_gbdt.data.arrays.matrix import column_names, has_text_names

Array = npt.NDArray[Any]
#: LightGBM refuses names with these characters.
_SPECIAL = frozenset('",:[]{}')


class Dataset(Columns):
    """Rows, labels and weights to train on or to evaluate, as LightGBM's ``Dataset``.

    Parameters
    ----------
    data : array-like, DataFrame, sparse matrix, list of arrays, Sequence, or path
        What a sparse matrix has no entry for is 0, unless ``zero_as_missing`` is given; the matrix
        is made dense then. A path is a file that ``save_binary`` wrote, or text whose first column
        is the label.
    label, weight, group, init_score : array-like or None
        ``group`` has the number of rows of each query; ``init_score`` the margin that each row
        starts from, (n_rows,), or (n_rows, n_classes).
    reference : Dataset or None
        The training rows, whose categories an evaluation set takes.
    feature_name : list of str or "auto"
    categorical_feature : list of str or int, or "auto"
    params : dict or None
    free_raw_data : bool, default True
        Whether ``data`` is dropped when the data set is built.
    position : None
        Positions of documents are refused.

    Raises
    ------
    TypeError, ValueError, LightGBMError
        In LightGBM's words, when the data set is built.
    """

    def __init__(
        self,
        data: Any,
        label: Any = None,
        reference: Dataset | None = None,
        weight: Any = None,
        group: Any = None,
        init_score: Any = None,
        feature_name: Any = "auto",
        categorical_feature: Any = "auto",
        params: dict[str, Any] | None = None,
        free_raw_data: bool = True,
        position: Any = None,
    ) -> None:
        self.data, self.label, self.reference = data, label, reference
        self.weight, self.group, self.init_score = weight, group, init_score
        self.feature_name, self.categorical_feature = feature_name, categorical_feature
        self.params = deepcopy(params)
        self.free_raw_data = free_raw_data
        self.used_indices: list[int] | None = None
        self.pandas_categorical: list[list[Any]] | None = None
        self.version = 0
        self.ranges: list[str] = []
        self._rows: own.Dataset | None = None
        self._bins: dict[int, npt.NDArray[np.float32]] | None = None
        self._trained: tuple[tuple[int, bool], own.Dataset] | None = None
        self._names_given = False
        self.position = None
        self.set_position(position)

    def construct(self) -> Dataset:
        """Build the data set, unless it is built already."""
        if self._rows is not None:
            return self
        if self.used_indices is not None:
            self._take_part()
        else:
            self._build()
        if self.free_raw_data:
            self.data = None
        self.feature_name = self.get_feature_name()
        return self

    def _build(self) -> None:
        reference = self.reference
        if reference is not None and not isinstance(reference, Dataset):
            raise TypeError("Reference dataset should be None or dataset instance")
        if reference is not None:
            reference.construct()
            if self.params is None:
                self.params = deepcopy(reference.params)
        if self.data is None:
            raise LightGBMError("Cannot construct Dataset since raw data was freed: give data")
        if isinstance(self.data, (str, os.PathLike)):
            self._read(Path(self.data))
        data = read_rows(self.data, self._settings())
        names = self._names_of(data)
        chosen = self._categories_of(data, names)
        data = whole_levels(data, chosen if isinstance(chosen, list) else None)
        self._bins = None
        self._rows = own.Dataset(data, feature_names=names, categorical_features=chosen,
                                 missing=0.0 if self._zero_missing(data) else None)  # fmt: skip
        n_features = None if reference is None else reference.num_feature()
        if n_features not in (None, self._rows.n_features):
            raise LightGBMError(
                f"Cannot add validation data, since it has different bin mappers with training "
                f"data: expected {n_features} columns, got {self._rows.n_features}"
            )
        self.ranges = column_ranges(data, self._rows)
        levels = self._rows.categories
        self.pandas_categorical = [levels[c].values.tolist() for c in sorted(levels)] or None
        for name in ("label", "weight", "group", "init_score"):
            value = getattr(self, name)
            setattr(self, name, None)
            if value is not None:
                self.set_field(name, value)
        if self.label is None:
            raise ValueError("Label should not be None")

    def _read(self, path: Path) -> None:
        """Take the rows of a file."""
        with path.open("rb") as file:
            head = file.read(1)
        if head == b"P":
            self._read_stored(path)
            return
        separator = "," if b"," in path.read_bytes()[:4096] else None
        skip = int(bool(self._settings().get("header", False)))
        table = np.loadtxt(path, delimiter=separator, skiprows=skip, ndmin=2)
        self.data = table[:, 1:]
        self.label = table[:, 0] if self.label is None else self.label

    def _read_stored(self, path: Path) -> None:
        """Take what ``save_binary`` wrote."""
        with np.load(path, allow_pickle=False) as stored:
            found = {name: stored[name] for name in stored.files}
        self.data = found["data"]
        self.feature_name = [str(one) for one in found["feature_name"]]
        self.categorical_feature = [int(one) for one in found["categorical_feature"]]
        for name in FIELDS:
            if getattr(self, name) is None and name in found:
                setattr(self, name, found[name])

    def _settings(self) -> dict[str, Any]:
        known = spellings(
            "zero_as_missing", "use_missing", "header", "categorical_feature", "verbosity"
        )
        given = self.params or {}
        return by_main_names({name: one for name, one in given.items() if name in known})

    def _zero_missing(self, data: Any) -> bool:
        return bool(self._settings().get("zero_as_missing", False)) and not hasattr(data, "tocsr")

    def _names_of(self, data: Any) -> list[str] | None:
        given = self.feature_name
        auto = given is None or (isinstance(given, str) and given == "auto")
        found = column_names(data) if auto else list(given)
        self._names_given = found is not None
        if found is None:
            return None
        names = [re.sub(r"\s", "_", str(one)) for one in found]
        if len(names) != data.shape[1]:
            raise ValueError(
                f"Length of feature_name({len(names)}) and num_feature({data.shape[1]}) don't match"
            )
        if len(set(names)) < len(names):
            raise LightGBMError(f"Feature ({_twice(names)}) appears more than one time.")
        if any(_SPECIAL.intersection(name) for name in names):
            raise LightGBMError("Do not support special JSON characters in feature name.")
        return names

    def _categories_of(self, data: Any, names: list[str] | None) -> Any:
        given = self.categorical_feature
        if self.reference is not None:
            return list(self.reference.rows.categories) or None
        asked = self._settings().get("categorical_feature")
        if isinstance(given, str) and given == "auto":
            given = asked if asked not in (None, "") else given
        if isinstance(given, str) and given != "auto":
            text = given.removeprefix("name:")
            given = [one if text != given else int(one) for one in text.split(",")]
        given = [int(given)] if isinstance(given, (int, np.integer)) else given
        if given is None or (isinstance(given, str) and given == "auto"):
            return "from_dtype" if has_text_names(data) else None
        found = set()
        for one in given:
            if isinstance(one, str) and names is not None and one in names:
                found.add(names.index(one))
            elif isinstance(one, (int, np.integer)):
                found.add(int(one))
            else:
                raise TypeError(
                    f"Wrong type({type(one).__name__}) or unknown name({one}) in "
                    "categorical_feature"
                )
        by_dtype = own.Dataset(data).categories if has_text_names(data) else {}
        return sorted(found | set(by_dtype)) or None

    def _take_part(self) -> None:
        """Build a subset of the reference's rows."""
        whole = self.reference
        assert whole is not None
        whole.construct()
        chosen = np.asarray(self.used_indices, np.intp)
        group = whole.get_group()
        self._rows, self.ranges = whole.rows.slice(chosen), whole.ranges
        self.pandas_categorical, self._names_given = whole.pandas_categorical, whole._names_given
        for name in ("label", "weight"):
            value = getattr(whole, name)
            setattr(self, name, None if value is None else value[chosen])
        if whole.init_score is not None:
            parts = whole.init_score.reshape(-1, whole.num_data())
            self.init_score = np.ascontiguousarray(parts[:, chosen]).reshape(-1)
        if group is not None:
            of_row = np.repeat(np.arange(len(group)), group)[chosen]
            self.group = np.unique(of_row, return_counts=True)[1].astype(np.int32)
        if not self.free_raw_data and whole.data is not None and hasattr(whole.data, "shape"):
            data = whole.data
            self.data = data.iloc[chosen] if hasattr(data, "iloc") else data[chosen]

    @property
    def rows(self) -> own.Dataset:
        """The rows of this library; builds the data set."""
        self.construct()
        assert self._rows is not None
        return self._rows

    @property
    def weighs_rows_of_queries(self) -> bool:
        """Whether rows of one query have several weights."""
        if self.weight is None or self.group is None:
            return False
        means = np.repeat(self._means_of_queries(), self.group)
        return not np.allclose(means, self.weight, rtol=1e-6)

    def _means_of_queries(self) -> Array:
        ends = np.cumsum(self.group)
        sums = np.add.reduceat(self.weight.astype(np.float64), np.append(0, ends[:-1]))
        means: Array = sums / self.group
        return means

    def trained_rows(self, n_outputs: int, *, two_classes: bool = False) -> own.Dataset:
        """Return this library's data set with labels, weights, groups and starting margins.

        Parameters
        ----------
        n_outputs : int
        two_classes : bool
            Whether labels above 0 are the class 1, and others the class 0.
        """
        key = self.version, two_classes
        if self._trained is not None and self._trained[0] == key:
            return self._trained[1]
        rows, start = self.rows, self.init_score
        if start is not None and start.size != rows.n_rows:
            start = start.reshape(-1, rows.n_rows).T
        elif start is not None and n_outputs > 1:
            start = np.repeat(start[:, None], n_outputs, axis=1)
        label = self.label > 0 if two_classes else self.label
        weight = self.weight
        if self.weighs_rows_of_queries:  # LightGBM's metrics weigh queries by their means
            weight = np.repeat(self._means_of_queries(), self.group)
        found = own.Dataset(
            rows.checked, label, weight, rows.feature_names, start, group=self.group
        )
        found.cut_points = self.cut_points()
        self._trained = key, found
        return found

    def set_reference(self, reference: Dataset) -> Dataset:
        """Set the training rows, whose categories an evaluation set takes."""
        if self.reference is reference or reference is self:
            return self
        if self.data is None and self._rows is not None:
            if self.reference is None or self.used_indices is None:
                self.reference = reference
            return self
        self.reference, self._rows = reference, None
        return self

    @like(
        __init__, without=("reference", "feature_name", "categorical_feature", "free_raw_data")
    )  # fmt: skip
    def create_valid(self, data: Any, **given: Any) -> Dataset:
        """Return an evaluation set for these training rows."""
        return Dataset(data, reference=self, free_raw_data=self.free_raw_data, **given)

    def subset(self, used_indices: Sequence[int], params: dict[str, Any] | None = None) -> Dataset:
        """Return a data set of some rows, in ascending order."""
        found = Dataset(
            None, reference=self, feature_name=self.feature_name,
            categorical_feature=self.categorical_feature,
            params=self.params if params is None else params, free_raw_data=self.free_raw_data,
        )  # fmt: skip
        found.used_indices = sorted(used_indices)
        return found

    def get_ref_chain(self, ref_limit: int = 100) -> set[Dataset]:
        """Return this data set, its reference, the reference of that, and so on."""
        found: list[Dataset] = []
        head: Dataset | None = self
        while head is not None and head not in found and len(found) < ref_limit:
            found.append(head)
            head = head.reference if isinstance(head.reference, Dataset) else None
        return set(found)

    def add_features_from(self, other: Dataset) -> Dataset:
        """Append the columns of another data set of as many rows, which has to be built, too."""
        if self._rows is None or other._rows is None:
            raise ValueError(
                "Both source and target Datasets must be constructed before adding features"
            )
        both = self.num_data(), other.num_data()
        if both[0] != both[1]:
            raise LightGBMError(
                f"Cannot add features from other Dataset with a different number of rows: {both}"
            )
        mine, theirs = self._rows, other._rows
        names = _joined_names(self.get_feature_name(), other.get_feature_name())
        shift = mine.n_features
        chosen = [*mine.categories, *(c + shift for c in theirs.categories)]
        values = np.hstack([mine.values, theirs.values])
        self._rows = own.Dataset(values, feature_names=names, categorical_features=chosen or None)
        if self.data is not None and other.data is not None:
            self.data = np.hstack([np.asarray(self.data), np.asarray(other.data)])
        else:
            self.data = None
        self.feature_name, self._bins = names, None
        self.version += 1
        return self

    def save_binary(self, filename: str | Path) -> Dataset:
        """Write the data set into a file, from which ``Dataset(path)`` reads it again."""
        rows = self.rows
        fields = {name: self.get_field(name) for name in ("label", "weight", "init_score")}
        kept = {
            name: one for name, one in (fields | {"group": self.group}).items() if one is not None
        }
        with Path(filename).open("wb") as file:
            np.savez(
                file, data=rows.values, feature_name=np.array(self.get_feature_name()),
                categorical_feature=np.array(list(rows.categories), np.int64), **kept,
            )  # fmt: skip
        return self


def _twice(names: list[str]) -> str:
    return next(name for name in names if names.count(name) > 1)


def _joined_names(first: list[str], second: list[str]) -> list[str]:
    """Return the names of both; a name that is taken gets a prefix, as in LightGBM."""
    taken = set(first)
    return [*first, *(f"D2_{name}" if name in taken else name for name in second)]
