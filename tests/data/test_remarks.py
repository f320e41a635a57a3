"""Warnings about data that can be used, but perhaps not as they were meant."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pyopencl_gbdt import Dataset, GBDTRegressor, Model, train
from pyopencl_gbdt.cli import main
from pyopencl_gbdt.data import read_table
from pyopencl_gbdt.errors import DataWarning
from tests.conftest import TEST_DEVICE

pd = pytest.importorskip("pandas")
RNG = np.random.default_rng(3)
FRAME = pd.DataFrame({"age": RNG.normal(size=60), "sex": ["male", "female"] * 30})
Y = np.arange(60.0) % 7
SMALL = {"n_estimators": 1, "max_depth": 2, "device": TEST_DEVICE}
LARGE = 2**24


def said(action: Callable[[], object]) -> list[warnings.WarningMessage]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        action()
    return [one for one in caught if one.category is DataWarning]


@pytest.fixture(scope="module")
def model() -> Model:
    return train(SMALL, Dataset(FRAME, Y))


def polars(frame: Any) -> Any:
    return pytest.importorskip("polars").from_pandas(frame)


def arrow(frame: Any) -> Any:
    return pytest.importorskip("pyarrow").Table.from_pandas(frame)


GIVEN: dict[str, Callable[[Any], Any]] = {
    "pandas": lambda frame: frame,
    "categories": lambda frame: frame.astype({"sex": "category"}),
    "polars": polars,
    "arrow": arrow,
    "objects": lambda frame: frame.to_numpy(object),
    "dataset": Dataset,
    "batches": lambda frame: lambda: iter([frame[:20], frame[20:]]),
    "dataset of batches": lambda frame: Dataset.from_batches([frame[:20], frame[20:]]),
}


@pytest.mark.parametrize("kind", GIVEN)
def test_unknown_levels_are_told_once_at_predict(model: Model, kind: str) -> None:
    wrong = FRAME.assign(sex=FRAME["sex"] + " ")
    (one,) = said(lambda: model.predict(GIVEN[kind](wrong), device=TEST_DEVICE))
    assert "column 1 ('sex'): the model knows no level of these rows" in str(one.message)
    both = {"'male '", "'female '"}
    assert all(level in str(one.message) for level in both)
    assert one.filename == __file__
    for fine in (FRAME, FRAME.assign(sex=["male", "male "] * 30)):
        assert not said(lambda rows=fine: model.predict(GIVEN[kind](rows), device=TEST_DEVICE))


def test_what_is_missing_is_not_unknown(model: Model) -> None:
    missing = FRAME.assign(sex=pd.Series([None] * 60, dtype=object))
    assert not said(lambda: model.predict(missing, device=TEST_DEVICE))
    parts = [FRAME[:20].assign(sex="m"), FRAME[20:]]
    assert not said(lambda: model.predict(lambda: iter(parts), device=TEST_DEVICE))


def test_unknown_levels_of_a_file(
    model: Model, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    FRAME.assign(sex="man").to_csv(tmp_path / "rows.csv", index=False)
    model.save_model(tmp_path / "m.json")
    words = ["predict", str(tmp_path / "rows.csv"), "--model", str(tmp_path / "m.json")]
    words += ["--no-label", "--device", TEST_DEVICE, "--out", str(tmp_path / "out.txt")]
    assert main(words) == 0
    assert "warning: X: column 1 ('sex'): the model knows no level of these rows, 'man' for" in (
        capsys.readouterr().err
    )
    path = tmp_path / "rows.csv"
    assert len(said(lambda: model.predict(str(path), device=TEST_DEVICE))) == 1


def sparse(layout: str, frame: Any) -> Any:
    return pytest.importorskip("scipy.sparse").coo_matrix(frame.to_numpy()).asformat(layout)


def ids(frame: Any) -> Any:
    return frame.drop(columns="sex").assign(id=LARGE + np.arange(60))


BLURRED: dict[str, Callable[[], Any]] = {
    "int64": ids(FRAME)[["id", "id"]].to_numpy,
    "uint32": lambda: ids(FRAME)[["id", "id"]].to_numpy().astype(np.uint32),
    "doubles": lambda: ids(FRAME).to_numpy(),
    "pandas": lambda: ids(FRAME),
    "pandas with NaN": lambda: ids(FRAME).mask(RNG.random((60, 2)) < 0.1),
    "pandas of one dtype": lambda: ids(FRAME)[["id"]],
    "pandas with NA": lambda: ids(FRAME).astype({"id": "Int64"}).mask(RNG.random((60, 2)) < 0.1),
    "pandas with categories": lambda: ids(FRAME).assign(sex=FRAME["sex"]),
    "polars": lambda: polars(ids(FRAME)),
    "polars with nulls": lambda: polars(ids(FRAME).astype({"id": "Int64"}).replace(LARGE, pd.NA)),
    "csr": lambda: sparse("csr", ids(FRAME)),
    "csc": lambda: sparse("csc", ids(FRAME)),
    "coo of int64": lambda: sparse("coo", ids(FRAME)[["id"]]),
    "arrow with nulls": lambda: arrow(ids(FRAME).astype({"id": "Int64"}).replace(LARGE, pd.NA)),
}


@pytest.mark.parametrize("kind", BLURRED)
def test_integers_that_float32_cannot_tell_apart(kind: str) -> None:
    X = BLURRED[kind]()
    (one,) = said(lambda: GBDTRegressor(**SMALL).fit(X, Y))
    assert "are one number in float32" in str(one.message)
    assert str(LARGE)[:5] in str(one.message)
    assert one.filename == __file__
    assert not said(lambda: Dataset(X))


def test_integers_without_narwhals(monkeypatch: pytest.MonkeyPatch) -> None:
    table = arrow(ids(FRAME).astype({"id": "Int64"}).replace(LARGE, pd.NA))
    monkeypatch.setitem(sys.modules, "narwhals", None)
    assert len(said(lambda: GBDTRegressor(**SMALL).fit(table, Y))) == 1


@pytest.mark.parametrize("kind", ["arrays", "frames", "sparse", "data sets"])
def test_integers_that_are_equal_to_those_of_another_batch(kind: str) -> None:
    make: dict[str, Callable[[Any, Any], Any]] = {
        "arrays": lambda X, y: (X, y),
        "frames": lambda X, y: (pd.DataFrame({"id": X[:, 0]}), y),
        "sparse": lambda X, y: (sparse("csr", pd.DataFrame(X)), y),
        "data sets": Dataset,
    }
    X = LARGE + np.arange(60).reshape(-1, 1)
    parts = [make[kind](X[k::3], Y[k::3]) for k in (0, 1, 2)]  # 3 apart in each
    (one,) = said(lambda: train(SMALL, Dataset.from_batches(parts)))
    assert f": {LARGE} and {LARGE + 1} are one number in float32" in str(one.message)
    assert not said(lambda: train(SMALL, Dataset.from_batches(parts[:1])))


def write_csv(path: Path, X: Any) -> None:
    pd.DataFrame({"y": Y[: len(X)], "a": 0.5, "id": X}).to_csv(path, index=False)


def write_text(path: Path, X: Any) -> None:
    path.write_text("".join(f"{row % 7} 1:{x}\n" for row, x in enumerate(X)))


def write_numpy(path: Path, X: Any) -> None:
    np.savez(path, X=np.stack([np.arange(len(X)), X], 1), y=Y[: len(X)])


def write_parquet(path: Path, X: Any) -> None:
    pytest.importorskip("pyarrow")
    pd.DataFrame({"y": Y[: len(X)], "id": X}).to_parquet(path)


WRITTEN = {
    "rows.csv": write_csv, "rows.libsvm": write_text, "rows.npz": write_numpy,
    "rows.parquet": write_parquet,
}  # fmt: skip


@pytest.mark.parametrize("name", WRITTEN)
def test_integers_of_a_file(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ids = 10**17 + np.arange(60)
    WRITTEN[name](tmp_path / name, ids)
    fit = {} if name == "rows.npz" else {"label_column": 0}
    (one,) = said(lambda: GBDTRegressor(**SMALL).fit(str(tmp_path / name), **fit))
    column = {"rows.csv": "1 ('id')", "rows.parquet": "0 ('id')"}.get(name, "1")
    wanted = f"X: column {column}: {ids[0]} and {ids[1]} are one number in float32"
    assert wanted in str(one.message)
    assert one.filename == __file__
    words = [
        "train",
        str(tmp_path / name),
        "--model",
        str(tmp_path / "m.json"),
        "--device",
        TEST_DEVICE,
    ]
    assert main([*words, "--objective", "reg:squarederror", "--num-boost-round", "1"]) == 0
    assert f"warning: {wanted}" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["rows.csv", "rows.libsvm"])
def test_integers_that_are_equal_to_those_of_another_file(name: str, tmp_path: Path) -> None:
    ids = LARGE + np.arange(60)
    for k in (0, 1, 2):
        WRITTEN[name](tmp_path / f"{k}{name}", ids[k::3])
    files = [str(tmp_path / f"{k}{name}") for k in (0, 1, 2)]
    rows = Dataset.from_batches(files)
    assert len(said(lambda: train(SMALL, rows))) == 1
    assert not said(lambda: train(SMALL, Dataset.from_batches(files[:1])))
    if name == "rows.csv":
        levels = Dataset.from_batches(files, categorical_features=["id"])
        assert not levels.checked.remarks.blurred.pairs


@pytest.mark.parametrize("name", ["rows.csv", "rows.libsvm"])
def test_a_mark_of_missing_values_is_no_integer(name: str, tmp_path: Path) -> None:
    WRITTEN[name](tmp_path / name, [LARGE, LARGE + 1, 3, 2**60, 2**60 + 1])
    path = str(tmp_path / name)
    marked = Dataset.from_batches(path, missing=float(LARGE))
    (one,) = said(lambda: train(SMALL, marked))
    assert f"{2**60} and {2**60 + 1}" in str(one.message)
    (one,) = said(lambda: train(SMALL, Dataset.from_batches(path, missing=2.0**60)))
    assert f"{LARGE} and {LARGE + 1}" in str(one.message)


@pytest.mark.parametrize("fast", [True, False])
def test_integers_beside_text(fast: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if fast:
        pytest.importorskip("pyarrow.csv")
    else:
        monkeypatch.setattr("pyopencl_gbdt.data.files.delimited.optional_module", lambda name: None)
    rows = "".join(f"0,a{n},{10**17 + n}\n" for n in range(20))
    (tmp_path / "rows.csv").write_text(f"y,word,id\n{rows}")
    for own, wanted in ((["word"], {1: f"{10**17} and {10**17 + 1}"}), (["word", "id"], {})):
        table = read_table(tmp_path / "rows.csv", categorical_features=own)
        assert table.remarks.blurred.pairs == wanted


def test_levels_of_an_archive_are_exact(tmp_path: Path) -> None:
    write_numpy(tmp_path / "rows.npz", LARGE + np.arange(60))
    table = read_table(tmp_path / "rows.npz", categorical_features=[1])
    assert table.categories[1].n_levels == 60
    assert not table.remarks.blurred.pairs


@pytest.mark.parametrize(
    "X",
    [
        LARGE + 2 * np.arange(60).reshape(-1, 1),
        LARGE - np.arange(60).reshape(-1, 1),
        np.full((60, 1), LARGE + 1),
        (LARGE + np.arange(60.0) / 4).reshape(-1, 1),
        1e20 * (1 + np.arange(60.0) / 2**30).reshape(-1, 1),
        np.full((60, 1), np.nan),
    ],
    ids=["even", "small", "equal", "fractions", "huge", "missing"],
)
def test_numbers_that_stay_apart(X: np.ndarray) -> None:
    assert not said(lambda: train(SMALL, Dataset(X, Y)))


def test_levels_are_no_numbers() -> None:
    own = {"categorical_features": ["id"]}
    assert not said(lambda: train(SMALL, Dataset(ids(FRAME), Y, **own)))
