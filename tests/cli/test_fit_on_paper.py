"""``cli.fit_on_paper`` prints the classes and arrays of a fit, or what refuses it."""

import pytest

from pyopencl_gbdt.cli.fit_on_paper import built, main
from tests.conftest import TEST_DEVICE

DEVICE = f"device={TEST_DEVICE}"


@pytest.mark.parametrize(
    ("arguments", "classes"),
    [
        (
            ["grow_policy=symmetric", "reg_alpha=1"],
            {"search": "SymmetricSearch", "policy": "Symmetric"},
        ),
        (
            ["tree_method=approx", "objective=rank:ndcg", "n_queries=9"],
            {"search": "ApproximateSearch", "source": "LambdaGradients"},
        ),
        (
            ["boosting_type=ordered", "subsample=0.5"],
            {"leaves": "OrderedLeaves", "sample": "Sample"},
        ),
        (["page=streamed", "max_depth=3"], {"update": "UpdateMargins", "policy": "LevelWise"}),
    ],
)
def test_a_fit_tells_its_classes(arguments, classes):
    fit = built([DEVICE, "n_rows=3000", "n_features=5", *arguments])[1]
    assert classes.items() <= fit.classes.items()
    assert ("pages" in fit.classes) == ("page=streamed" in arguments)


def test_arrays_and_their_bytes_are_printed(capsys):
    arguments = [DEVICE, "n_rows=3000", "n_features=5", "evaluation_rows=100"]
    assert main(arguments) == 0
    lines = capsys.readouterr().out.splitlines()
    fit = built(arguments)[1]
    assert f"{fit.arrays['quanta']:>16,}  quanta" in lines
    assert fit.arrays["quanta"] == 3000 * 8
    assert sum(fit.arrays.values()) < fit.training_bytes
    assert f"{fit.training_bytes:>16,}  bytes in training, codes included" in lines


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["page=streamed", "boosting_type=ordered"], "page='streamed': expected a fit whose pages"),
        (["max_depth=many"], "max_depth='many': expected"),
        (["n_rows=-1"], "n_rows='-1': expected a number of 0 or more"),
        (["--help"], "'--help': expected KEY=VALUE"),
    ],
)
def test_what_refuses_a_fit_is_printed(capsys, arguments, words):
    assert main([DEVICE, *arguments]) == 1
    assert capsys.readouterr().out.startswith(f"refused: {words}")


def test_a_fit_that_is_too_large_is_refused(capsys):
    few = ["device_memory=2000000", "tree_method=exact", "n_rows=100000"]
    assert main([DEVICE, *few]) == 1
    assert "refused: more than the 2,000,000 bytes of" in capsys.readouterr().out
