"""What runs by default, what is thorough, and what is exhaustive."""

import itertools
from pathlib import Path
from types import SimpleNamespace

from tests.chosen_cases import mark_cases

HERE = Path(__file__).parent


class Case:
    """A collected case of a test whose cases are combinations of parameters."""

    module = SimpleNamespace(ONCE_EACH=True)
    originalname = "test_sum"
    path = HERE / "numerics" / "test_sum.py"

    def __init__(self, *values, names="abc"):
        self.callspec = SimpleNamespace(params=dict(zip(names, values, strict=False)))
        self.nodeid = f"tests/primitives/test_sum.py::test_sum[{values}]"
        self.marks = {}

    def get_closest_marker(self, name):
        return SimpleNamespace(name=name, args=self.marks[name]) if name in self.marks else None

    def add_marker(self, name):
        self.marks[name] = ()


class Alone(Case):
    """A case of a test whose cases are not combinations."""

    module = SimpleNamespace()


class OfKernels(Case):
    """A case of a test in a folder whose tests run kernels."""

    path = HERE / "primitives" / "test_sum.py"


def pairs(cases):
    values = [sorted(case.callspec.params.items()) for case in cases]
    return {pair for own in values for pair in itertools.combinations(own, 2)}


def test_each_value_by_default_and_each_pair_of_values_thorough():
    cases = [Case(*values) for values in itertools.product(range(3), range(4), range(5))]
    mark_cases(cases)
    usual = [case for case in cases if "thorough" not in case.marks]
    both = [case for case in cases if "exhaustive" not in case.marks]
    values = {value for case in cases for value in case.callspec.params.items()}
    assert {value for case in usual for value in case.callspec.params.items()} == values
    assert pairs(both) == pairs(cases)
    assert len(usual) < 12
    assert len(usual) < len(both) < 25 < len(cases)


def test_combinations_of_two_parameters_are_all_thorough():
    cases = [Case(*values) for values in itertools.product(range(3), range(4))]
    mark_cases(cases)
    assert all("exhaustive" not in case.marks for case in cases)
    assert sum("thorough" in case.marks for case in cases) == 12 - 6


def test_more_of_the_thorough_cases_and_each_variant():
    cases = [Alone(k, "plain" if k < 20 else "rare", names=("case", "variant")) for k in range(21)]
    for case in cases:
        case.marks |= {"few": (3,), "more": (6,)}
    mark_cases(cases)
    usual = [case for case in cases if "thorough" not in case.marks]
    both = [case for case in cases if "exhaustive" not in case.marks]
    assert len(usual) == 3
    assert len(both) in (9, 10)
    assert cases[-1] in both
    assert set(usual) <= set(both)


def test_tests_of_kernels_run_one_case_by_default_and_no_fewer_in_all():
    every = list(itertools.product(range(3), range(4), range(5)))
    elsewhere, cases = [Case(*values) for values in every], [OfKernels(*values) for values in every]
    mark_cases(elsewhere)
    mark_cases(cases)
    assert sum("thorough" not in case.marks for case in cases) == 1
    for one, other in zip(elsewhere, cases, strict=True):
        assert ("exhaustive" in one.marks) == ("exhaustive" in other.marks)


def test_the_case_by_default_has_another_place_in_another_test():
    places = set()
    for name in range(9):
        cases = [OfKernels(k) for k in range(5)]
        for case in cases:
            case.nodeid = case.nodeid.replace("test_sum[", f"test_sum_{name}[")
        mark_cases(cases)
        places |= {place for place, case in enumerate(cases) if not case.marks}
    assert len(places) > 2
