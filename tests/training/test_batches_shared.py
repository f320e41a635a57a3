"""Rows in batches beside several devices, hosts and folds: the bytes are those of arrays."""

import threading

import numpy as np
import pytest

from pyopencl_gbdt import Dataset, cv, train
from pyopencl_gbdt.callbacks import TrainingCheckPoint
from pyopencl_gbdt.data.arrays.tables import ColumnTable
from pyopencl_gbdt.data.batches import passes
from pyopencl_gbdt.data.batches.rows import RowBatch
from pyopencl_gbdt.data.categories.columns import Column
from pyopencl_gbdt.data.dataset_columns import SomeRows
from pyopencl_gbdt.data.features import Features
from pyopencl_gbdt.data.files.batches import dealt, paths_of
from pyopencl_gbdt.data.files.text_batches import read as batch_text_read
from pyopencl_gbdt.errors import DataError, MemoryPlanError, ParameterError
from pyopencl_gbdt.model import to_json
from pyopencl_gbdt.parameters.refusals import OF_CUTS
from pyopencl_gbdt.training.folds import make_folds
from tests.conftest import TEST_DEVICE
from tests.teams import members
from tests.training.test_from_batches import PARAMS, N, cut, rows  # noqa: F401 - a fixture
from tests.training.test_team import TWO, listed

THREE = listed([TEST_DEVICE] * 3, [1, 3, 2])
pytestmark = pytest.mark.usefixtures("devices_named_twice")


def text(params, data, **options):
    given = {**PARAMS, "subsample": 0.7, **params}
    if "tree_method" in params:
        del given["max_bin"]
    model = train(given, data, **options)
    return to_json(model.ensemble), model.history


@pytest.fixture(scope="module")
def alone(rows):  # noqa: F811
    data = Dataset(*rows)
    return text({}, data, evals=[(data, "train")])


@pytest.mark.parametrize("params", [{}, {"page": "streamed"}], ids=["resident", "streamed"])
@pytest.mark.parametrize("devices", [listed(TWO), THREE], ids=["two", "three"])
def test_devices_share_batches(rows, alone, devices, params):  # noqa: F811
    data = Dataset.from_batches(cut(*rows))
    given = {**params, "device": devices}
    assert text(given, data, evals=[(data, "train")]) == alone


def test_a_device_without_memory_in_a_pass(rows, alone, monkeypatch):  # noqa: F811
    """The others end the pass, and then all stream."""
    read, failed = SomeRows.parts, []

    def parts(self):
        for number, part in enumerate(read(self)):
            if number == 1 and threading.current_thread() not in (main, *failed):
                failed.append(threading.current_thread())
                raise MemoryPlanError("out of device memory")
            yield part

    main = threading.current_thread()
    monkeypatch.setattr(SomeRows, "parts", parts)
    data = Dataset.from_batches(cut(*rows))
    given = {"device": listed(TWO)}
    assert text(given, data, evals=[(data, "train")]) == alone
    assert len(failed) == 1


def test_hosts_share_batches(rows, alone, tmp_path):  # noqa: F811
    """Three members: one with an array, one with batches of other sizes, one without rows."""
    bounds = [(0, 400), (400, 400), (400, N)]
    test = Dataset.from_batches(cut(*(part[:90] for part in rows)))
    wanted = text({}, Dataset(*rows), evals=[(Dataset(*(p[:90] for p in rows)), "test")])

    def work(team, rank):
        first, end = bounds[rank]
        own = [part[first:end] for part in rows]
        data = None
        if end > first:
            data = Dataset.from_batches(lambda: [tuple(own)]) if rank else Dataset(*own)
        sets = [(data, "train"), (None if rank else test, "test")]
        saver = [TrainingCheckPoint(tmp_path, interval=2)]
        options = {"evals": sets, "callbacks": saver, "communicator": team}
        return text({"page": "streamed"}, data, **options)

    for model, history in members(3, work):
        assert model == alone[0]
        assert history == {**alone[1], **wanted[1]}


def test_folds_of_batches(rows):  # noqa: F811
    """Also a fold of the user's, whose rows are in no order, and folds on several devices."""
    data, array = Dataset.from_batches(cut(*rows)), Dataset(*rows)
    params = {key: value for key, value in PARAMS.items() if key != "n_estimators"}
    pairs = make_folds(array.label, 2, stratified=True, shuffle=True, seed=3)
    ascending = [tuple(map(np.sort, pair)) for pair in pairs]
    wanted = cv({**params, "subsample": 0.7}, array, 2, folds=ascending, as_pandas=False)
    for device in (TEST_DEVICE, listed(TWO)):
        given = {**params, "subsample": 0.7, "device": device}
        assert cv(given, data, 2, nfold=2, stratified=True, seed=3, as_pandas=False) == wanted
    assert cv(given, data, 2, folds=pairs, as_pandas=False) == wanted
    with pytest.raises(DataError, match="rows: expected ascending numbers without repetition"):
        data.slice([3, 1])
    with pytest.raises(DataError, match=r"^folds: a fold repeats rows"):
        cv(given, data, 2, folds=[([0, 1, 1], [2, 3])])


def test_folds_know_their_levels(rows):  # noqa: F811
    X, y, _ = rows
    X = np.column_stack([X[:, :2], np.arange(N) // 30])
    params = {"objective": "binary:logistic", "cat_method": "sets", "max_depth": 3}
    own = {"categorical_features": [2]}
    found = [
        cv(params, data, 2, nfold=2, shuffle=False, as_pandas=False)
        for data in (Dataset(X, y, **own), Dataset.from_batches(cut(X, y), **own))
    ]
    assert found[0] == found[1]


def test_one_device_counts_levels(rows, monkeypatch):  # noqa: F811
    """The rows of a fold are read by one device, and the others get the counts."""
    X, y, _ = rows
    X, own = np.column_stack([X[:, :2], np.arange(N) % 7]), np.flatnonzero(np.arange(N) % 3)
    params = {"objective": "binary:logistic", "cat_method": "sets", "max_depth": 3}
    wanted = train(params, Dataset(X[own], y[own], categorical_features=[2]), 2)
    counted, count = [], SomeRows.level_counts

    def counts(self, feature):
        counted.append(threading.current_thread())
        return count(self, feature)

    monkeypatch.setattr(SomeRows, "level_counts", counts)
    data = Dataset.from_batches(cut(X, y), categorical_features=[2]).slice(own)
    found = train({**params, "device": listed(TWO)}, data, 2)
    assert to_json(found.ensemble) == to_json(wanted.ensemble)
    assert len({*counted}) == 1


def test_exact_search_of_few_values(rows):  # noqa: F811
    X, *sides = rows
    X = np.round(X, 1)
    exact = {"tree_method": "exact"}
    wanted, _ = text(exact, Dataset(X, *sides))
    data = Dataset.from_batches(cut(X, *sides))
    assert text(exact, data)[0] == wanted
    assert text({**exact, "device": listed(TWO)}, data)[0] == wanted


def test_exact_search_of_too_many_values():
    X = np.arange(70_000, dtype=np.float32)[:, None]
    with pytest.raises(ParameterError, match="has 65535 distinct values or more: exp") as error:
        train({"tree_method": "exact"}, Dataset.from_batches([(X, X[:, 0])]), 1)
    assert error.value.refusal == OF_CUTS[0].name


def test_files_are_dealt_in_order(tmp_path):
    """Neighbours, with about as many bytes for each process, and a file or more."""
    sizes = [100, 1, 1, 300, 50, 148]
    for number, size in enumerate(sizes):
        (tmp_path / f"{number}.csv").write_text("1,2\n" * size)
    files = paths_of(tmp_path)
    for size in range(1, 7):
        parts = [dealt(files, rank, size) for rank in range(size)]
        assert [file for part in parts for file in part] == files
        assert all(parts)
    assert [len(dealt(files, rank, 2)) for rank in (0, 1)] == [4, 2]
    with pytest.raises(DataError, match=r"share=\(0, 7\): 6 files for 7 processes: expected a"):
        Dataset.from_batches(tmp_path, share=(0, 7))
    assert Dataset.from_batches(tmp_path, share=(1, 2)).n_rows == 198
    with pytest.raises(ParameterError, match=r"share=\(2, 2\): expected \(rank, size\)"):
        Dataset.from_batches(tmp_path, share=(2, 2))


def test_text_is_parsed_once_where_it_is_small(tmp_path, monkeypatch):
    for number in range(3):
        lines = [f"{i % 2},{i % 7},{'abc'[(i + number) % 3]}" for i in range(40)]
        (tmp_path / f"{number}.csv").write_text("\n".join(lines) + "\n")
    passes = []

    def read(*given):
        passes.append(given)
        return batch_text_read(*given)

    monkeypatch.setattr("pyopencl_gbdt.data.files.text_batches.read", read)
    made, counts = [], []
    for share in (1.0, 0.0):
        monkeypatch.setattr("pyopencl_gbdt.data.batches.passes.SHARE", share)
        made.append(text({"cat_method": "sets"}, Dataset.from_batches(
            tmp_path, categorical_features=[1])))  # fmt: skip
        counts.append(len(passes))
    assert made[0] == made[1]
    assert counts[0] == 3 < counts[1] - 3


def test_text_takes_room_where_it_is_kept(monkeypatch):
    """Sixty distinct strings of 1 KB, and no room for these."""
    levels = np.array([f"{i:01000}" for i in range(60)], object)
    table = ColumnTable(None, [np.zeros(60), Column(levels, np.arange(60), is_text=True)])
    features = Features(np.zeros((60, 2), np.float32), categories={1: None})
    for memory, is_whole in ((16 * 100_000, True), (16 * 50_000, False)):
        monkeypatch.setattr(passes, "available_memory", lambda memory=memory: memory)
        kept = passes.KeptBatches()
        kept.add(RowBatch(table), features)
        assert kept.is_whole == is_whole
