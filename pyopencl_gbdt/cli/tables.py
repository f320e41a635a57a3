"""Options for the layout of data files, and reading the files."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyopencl_gbdt.cli import side_files
from pyopencl_gbdt.cli.data_path import DataPath, ways_to_read
from pyopencl_gbdt.cli.options import add_options
from pyopencl_gbdt.cli.output import complain
from pyopencl_gbdt.data import TableData, check_target, read_table
from pyopencl_gbdt.data.files.readers import FORMATS
from pyopencl_gbdt.data.files.reading import FIRST
from pyopencl_gbdt.data.names import check_columns
from pyopencl_gbdt.errors import DataError

if TYPE_CHECKING:
    from pyopencl_gbdt.data.dataset import Dataset
    from pyopencl_gbdt.model import Ensemble
from pyopencl_gbdt.data.batches.batched_dataset import read_batches
from pyopencl_gbdt.data.batches.rows import BatchedRows
from pyopencl_gbdt.data.categories.levels import Categories
from pyopencl_gbdt.data.features import recoded


def batched_table(
    file: str,
    layout: dict[str, Any],
    *,
    qid_column: int | str | None,
    categorical_features: Any,
    n_features: int | None = None,
    with_label: bool = True,
    drop_beyond: bool = False,
    levels: Categories | None = None,
) -> TableData:
    """Return a table whose rows are in batches.

    Parameters
    ----------
    file : str
        A file, a folder or a pattern.
    layout : dict of str to object
        ``label_column``, ``file_format``, ``one_based`` and ``header``, as for ``read_table``.
    qid_column, categorical_features, n_features, with_label, levels
        As for ``read_table``.
    drop_beyond : bool
        Has no effect: columns beyond the features are refused.

    Raises
    ------
    DataError, ParameterError
    """
    label = layout["label_column"] if with_label else None
    files = {**layout, "label_column": label, "qid_column": qid_column}
    asked = categorical_features if levels is None else sorted(levels) or None
    given = dict.fromkeys(("label", "weight", "base_margin", "qid"))
    features, sides = read_batches(file, given, files, missing=None, categorical=asked, names=None)
    width = features.values.shape[1]
    if n_features is not None and width != n_features:
        raise DataError(
            f"{file} has {width} feature columns: expected {n_features}; check label_column="
            f"{label!r}, or give files with the features of the training"
        )
    if levels is not None:
        features = recoded(features, levels, file) or features
    if with_label and "label" not in sides:
        raise DataError(f"{file}: no labels: expected one per row; give label_column, or array y")
    assert isinstance(features.values, BatchedRows)
    return TableData(
        features.values,
        sides.get("label"),
        sides.get("weight"),
        features.names,
        sides.get("qid"),
        features.categories,
        features.remarks,
    )


HEADER: dict[str, bool | str] = {"auto": "auto", "yes": True, "no": False}


def add_layout(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    """Add the options for file layouts; return their group."""
    group = parser.add_argument_group("how files are laid out")
    text = """
--label-column N|NAME
    CSV and TSV: the label's column, a number (from 0; -1 is the last) or a name in the header;
    default 0
--qid-column N|NAME
    CSV and TSV: the column of query ids, for ranking; it is not a feature. libsvm has qid:, npz an
    array qid
--header       CSV and TSV: whether the first line holds names; default auto
--format       default auto: by content, and .libsvm, .svm, .svmlight by name
--one-based    libsvm: indices start at 1; default: at 0
--categorical-features NAME,...
    columns whose text or whole numbers are levels: names of the header or numbers of features
    (from 0), or from_dtype for columns with text in one of the first 1000 lines; predict takes
    those of the model
--max-bytes N  main memory that reading a file may take; default 32 MiB plus 32 times the file's
               bytes, and no more than is free
"""
    is_column, choices = {"type": column}, {"choices": list(HEADER)}
    add_options(
        group, text, label_column=is_column, qid_column=is_column, header=choices,
        format={"choices": FORMATS},
    )  # fmt: skip
    group.set_defaults(one_based=None)
    return group


def column(text: str) -> int | str:
    """Return a column's number or name."""
    try:
        return int(text)
    except ValueError:
        return text


def _read(
    path: str,
    args: argparse.Namespace,
    share: tuple[int, int] | None = None,
    label_column: int = 0,
    **options: Any,
) -> TableData:
    """Read a file; options that are None were not given, and suffixes of the path replace them.

    ``share`` deals the files of a folder or a pattern to processes; see ``Reading``.
    ``label_column`` is the column of the label if no option names one.
    """
    where = DataPath.parse(path)
    layout = {
        "label_column": label_column if args.label_column is None else args.label_column,
        "file_format": args.format or "auto",
        "one_based": bool(args.one_based),
    }
    if where.in_batches:
        return batched_table(
            where.file,
            {**layout, **where.options, "header": HEADER[args.header or "auto"], "share": share},
            qid_column=args.qid_column,
            categorical_features=args.categorical_features,
            **options,
        )
    return read_table(
        where.file,
        qid_column=args.qid_column,
        header=HEADER[args.header or "auto"],
        max_bytes=args.max_bytes,
        categorical_features=args.categorical_features,
        **{**layout, **where.options},
        **options,
    )


def read_labelled(
    path: str,
    args: argparse.Namespace,
    objective: str,
    like: TableData | None = None,
    share: tuple[int, int] | None = None,
) -> TableData:
    """Read rows with labels that suit an objective.

    Parameters
    ----------
    args : argparse.Namespace
        The options of `add_layout`, and ``n_features``.
    like : TableData or None
        Training data; the file must have the same columns.
    share : (int, int) or None
        Deals files to processes; see ``Reading``.

    Raises
    ------
    DataError
        The file cannot be used; the message names it.
    """
    n_features = args.n_features if like is None else like.X.shape[1]
    drop_beyond = like is not None
    levels = None if like is None else like.categories
    options: dict[str, Any] = {"n_features": n_features, "drop_beyond": drop_beyond}
    table = _read(path, args, share, FIRST, levels=levels, **options)
    try:
        check_target(table.y, len(table.X), objective=objective)
    except DataError as error:
        raise DataError(f"{path}: {error}") from error
    if like is not None:
        check_columns(table.feature_names, like.feature_names, path)
    return table


def read_unlabelled(path: str, args: argparse.Namespace, like: Ensemble) -> TableData:
    """Read rows to predict by a model, with or without a label; a label is ignored.

    Unless an option tells, the columns that the model does not have are those of label and queries.
    If columns have no names, a file that cannot be read with a label is read without one. Since the
    number of features is known, only one of the two can succeed for delimited text. Indices of
    libsvm text beyond the features are left out, with a warning.
    """
    same: dict[str, Any] = {"n_features": like.n_features, "drop_beyond": True}
    same["levels"] = like.categories
    if args.no_label:
        return _read(path, args, **same, with_label=False)
    *earlier, last = ways_to_read(path, args, HEADER[args.header or "auto"], like.feature_names)
    for options in earlier:
        with contextlib.suppress(DataError):
            return _read(path, options, **same)
    try:
        return _read(path, last, **same)
    except DataError as error:
        if last.label_column is not None:
            raise
        try:
            table = _read(path, args, **same, with_label=False)
        except DataError as other:
            alike = str(other) == str(error)
            raise DataError(
                str(error) if alike else f"{error}\nRead without a label: {other}"
            ) from None
    complain(f"note: {path} has no labels, features only")
    return table


def read_labelled_for(path: str, args: argparse.Namespace, like: Ensemble) -> Dataset:
    """Read rows with labels that suit a model, with its columns and levels.

    A model that an estimator saved knows the classes of its labels.
    """
    from pyopencl_gbdt.data import encode_known_labels
    from pyopencl_gbdt.estimators.fitted import read_classes
    from pyopencl_gbdt.model.formats.base import CLASSES

    known: dict[str, Any] = {"n_features": like.n_features, "drop_beyond": True}
    table = _read(path, args, None, FIRST, levels=like.categories, **known)
    check_columns(table.feature_names, like.feature_names, path)
    try:
        labels = table.y
        if CLASSES in like.attributes:
            labels = encode_known_labels(labels, read_classes(like, path), "the label")
        check_target(labels, len(table.X), objective=like.objective)
    except DataError as error:
        raise DataError(f"{path}: {error}") from error
    return _dataset(path, replace(table, y=labels), like.objective, beside=False)


def read_weights(path: str, n_lines: int, option: str, what: str) -> Any:
    """Read a file with one number per line, (n_lines,) float32, a line per ``what``."""
    numbers = side_files.read_numbers(path, option)
    if numbers.shape != (n_lines, 1):
        lines, columns = numbers.shape
        raise DataError(
            f"{option} {path}: {lines} lines of {columns} numbers: expected {n_lines} lines of one "
            f"number, a line per {what} of the training data"
        )
    return numbers[:, 0]


def read_training(
    args: argparse.Namespace,
    objective: str,
    *,
    names: Sequence[str] | None = None,
    beside: bool = False,
    share: tuple[int, int] | None = None,
    like_all: Callable[[TableData], TableData] = lambda table: table,
) -> tuple[Dataset, list[tuple[Dataset, str]]]:
    """Read the training rows, and the evaluation rows with their names.

    Parameters
    ----------
    names : sequence of str or None
        Names of the evaluation sets; None takes those of their files.
    beside : bool
        Whether to read files with weights, query sizes and base margins beside data files.
    share : (int, int) or None
        Deals the files of the training rows to processes; see ``Reading``.
    like_all : callable
        Returns the training rows with the columns and levels that those of all processes have, as
        evaluation rows are read by these.
    """
    table = like_all(read_labelled(args.data, args, objective, share=share))
    given: dict[str, Any] = {}
    if args.weight is not None:
        option = "weight" if beside else "--weight"
        given["weight"] = read_weights(args.weight, len(table.X), option, "row")
    columns = args.feature_weights
    if columns is not None:
        option = "feature_weights" if beside else "--feature-weights"
        columns = read_weights(columns, table.X.shape[1], option, "feature")
    given |= {"feature_names": table.feature_names, "feature_weights": columns}
    evals = []
    named = file_names(args.eval) if names is None else names
    for path, name in zip(args.eval, named, strict=True):
        rows = read_labelled(path, args, objective, like=table)
        evals.append((_dataset(path, rows, objective, beside), name))
    return _dataset(args.data, table, objective, beside, **given), evals


def _dataset(path: str, table: TableData, objective: str, beside: bool, **given: Any) -> Dataset:
    """Return a file's rows with what is known of them; ``given`` replaces what files say."""
    from pyopencl_gbdt.data.dataset import Dataset

    ranks = objective.startswith("rank:")
    parts: dict[str, Any] = {"weight": table.weight, "qid": _queries(path, table, objective)}
    if not beside:
        return Dataset(table.features, table.y, **{**parts, **given})
    file = DataPath.parse(path).file
    sides = side_files.read(file, table.X.shape[0], ranks=ranks)
    if "group" in sides and parts["qid"] is not None:
        raise DataError(f"{path}: it has query ids, and there is a file of query sizes; remove one")
    try:
        return Dataset(table.features, table.y, **{**parts, **sides, **given})
    except DataError as error:
        raise DataError(f"{path}: {error}") from error


def _queries(path: str, table: TableData, objective: str) -> Any:
    """Return a file's query ids if the objective ranks; else print a note."""
    if table.qid is None or objective.startswith("rank:"):
        return table.qid
    complain(f"note: {path}: query ids (qid) are ignored by objective {objective}")
    return None


def file_names(paths: Sequence[str]) -> list[str]:
    """Name evaluation sets by their files, without folder and ending; make names unique."""
    names: list[str] = []
    for path in paths:
        name = Path(DataPath.parse(path).file).name.lstrip(".").split(".")[0] or "eval"
        names.append(name if name not in names else f"{name}#{len(names) + 1}")
    return names
