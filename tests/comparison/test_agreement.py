"""Which models are compared, and what is said of them."""

import pytest

from pyopencl_gbdt.comparison.agreement import compare, overall
from pyopencl_gbdt.comparison.schema import document
from tests.comparison.samples import (
    SHAPE,
    make_document,
    make_failure,
    make_machine,
    make_result,
)


def one(written):
    (compared,) = compare(written)
    return compared


def test_equal_digests():
    compared = one(make_document(make_result("opencl:0:0"), make_result("cuda:0")))
    assert (compared.state, compared.verdict) == ("same", "all 2 models are the same bytes")
    assert overall([compared]) == (True, "same model bytes in every comparison, 1 of 1 shapes.")


@pytest.mark.parametrize("changed", ["model_digest", "prediction_digest"])
def test_different_digests(changed):
    other = make_result("cuda:0", **{changed: "b" * 64})
    compared = one(make_document(make_result("opencl:0:0"), other))
    assert (compared.state, compared.verdict) == ("differ", "THE MODELS DIFFER")
    assert len(compared.kinds) == 2
    assert overall([compared]) == (False, "MODELS DIFFER: small.")


def test_a_device_that_differs_from_itself():
    compared = one(make_document(make_result("cuda:0", repeats_agree=False)))
    assert compared.state == "differ"
    assert "from run to run" in compared.verdict


def test_failures_are_counted_and_nothing_more():
    compared = one(make_document(make_result("a:0"), make_failure("b:0"), make_result("c:0")))
    assert compared.verdict == "all 2 models are the same bytes; 1 failed"
    assert overall([compared])[1].endswith("1 of 1 shapes; 1 of 3 failed.")
    compared = one(make_document(make_failure("a:0")))
    assert (compared.state, compared.verdict) == ("none", "no model; 1 failed")
    assert overall([compared]) == (False, "nothing was measured; 1 of 1 failed.")


def test_a_single_model():
    compared = one(make_document(make_result("a:0")))
    assert (compared.state, compared.verdict) == ("alone", "one model, nothing to compare it with")
    assert overall([compared])[0]


def machines(**second):
    first = make_machine([make_result("a:0")])
    other = make_machine([make_result("a:0", digest="b")], name="another", **second)
    return document([first, other])


def test_machines_are_compared():
    compared = one(machines())
    assert compared.state == "differ"
    assert [row.machine for row in compared.rows] == [0, 1]


def test_other_versions_and_other_data_may_differ():
    for second in ({"library": "9.9"}, {"shapes": [{**SHAPE, "data_digest": "f" * 64}]}):
        compared = one(machines(**second))
        assert compared.state == "alone"
        assert "not comparable; compared within equal library versions" in compared.verdict


def test_another_size_or_seed_is_another_shape():
    assert len(compare(machines(shapes=[{**SHAPE, "n_rows": 7}]))) == 2
    assert len(compare(machines(options={"repeats": 3, "seed": 1, "quick": False}))) == 2
