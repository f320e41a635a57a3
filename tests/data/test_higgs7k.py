"""The data set that ships with the package."""

from importlib.resources import files

import numpy as np

from pyopencl_gbdt.data import load_higgs7k


def test_shapes_and_values():
    X_train, y_train, X_test, y_test = load_higgs7k()
    assert [a.shape for a in (X_train, y_train)] == [(7000, 28), (7000,)]
    assert [a.shape for a in (X_test, y_test)] == [(500, 28), (500,)]
    for array in (X_train, y_train, X_test, y_test):
        assert array.dtype == np.float32
        assert array.flags.c_contiguous
        assert np.isfinite(array).all()
    assert set(np.unique(y_train)) == set(np.unique(y_test)) == {0, 1}
    np.testing.assert_array_equal(X_train[0, :3], np.float32([0.869, -0.635, 0.226]))


def test_files_stay_small_and_say_their_licence():
    folder = files("pyopencl_gbdt.data")
    sizes = [len(entry.read_bytes()) for entry in folder.iterdir() if entry.name.endswith(".gz")]
    assert len(sizes) == 2
    assert sum(sizes) < 500_000
    readme = folder.joinpath("README.md").read_text()
    for words in ("CC BY 4.0", "10.24432/C5V312", "MIT"):
        assert words in readme
