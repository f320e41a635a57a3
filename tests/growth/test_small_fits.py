"""Small fits on GPUs have kernels of other sizes, and the same trees."""

import warnings
from dataclasses import replace

import pytest

from pyopencl_gbdt import train
from pyopencl_gbdt.device import open_device
from pyopencl_gbdt.device.capabilities import CARD
from pyopencl_gbdt.device.program import bound_kernel
from pyopencl_gbdt.device.switches import JOINT_CODES, SMALL_FITS
from pyopencl_gbdt.device.variants import choosing
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.fit.ways import variant_of
from pyopencl_gbdt.model import to_xgboost_json
from pyopencl_gbdt.objectives import get_objective
from pyopencl_gbdt.parameters.facts import FitFacts, LossFacts, PageFacts
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.training.fit import Fit
from tests.conftest import TEST_DEVICE
from tests.device.fakes import make_caps
from tests.growth.test_launching import CASES, _gpu

NVIDIA = make_caps(
    kind="gpu", **CARD, warp_words=True, local_bytes=49152, max_work_group=1024, compute_units=132
)
OTHER_GPU = replace(NVIDIA, warp_words=False)
#: A histogram's rows a task, and codes a group; work-items of what plans a level.
LARGE, SMALL, DEEP = (2048, 368, 256), (256, 512, 64), (256, 512, 256)
pytestmark = pytest.mark.usefixtures(_gpu.__name__)


def facts(n_rows, n_features=20, n_outputs=1, pages=None, **params):
    own = PageFacts(n_features=n_features, most_codes=256, **(pages or {}))
    return FitFacts(
        Parameters.from_dict(params), LossFacts(n_outputs=n_outputs), n_rows=n_rows, pages=own
    )


def sizes(known, caps=NVIDIA):
    histogram, plan = (variant_of(kernel, known, caps) for kernel in ("histogram", "plan"))
    return histogram.params["chunk"], histogram.params["codes"], plan.params["wg_size"]


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        (facts(10_000), SMALL),
        (facts(32_768), SMALL),
        (facts(32_769), LARGE),
        (facts(32_768, 21), LARGE),
        (facts(3_000, 200), SMALL),
        (facts(100, 201), LARGE),
        (facts(10_000, n_outputs=3), (*SMALL[:2], 256)),
        (facts(10_000, n_outputs=4), LARGE),
        (facts(10_000, num_parallel_tree=4), LARGE),
        (facts(10_000, grow_policy="lossguide", max_leaves=31), LARGE),
        (facts(10_000, max_depth=7), SMALL),
        (facts(10_000, max_depth=8), DEEP),
        (facts(10_000, pages={"adds_histograms": True}), LARGE),
        (facts(10_000, pages={"stores_joint": True}), LARGE),
        (facts(10_000, histogram="own_banks"), LARGE),
    ],
)
def test_sizes_follow_rows_columns_and_trees(known, expected, monkeypatch):
    monkeypatch.setenv(SMALL_FITS, "auto")
    assert sizes(known) == expected
    assert sizes(known, OTHER_GPU) == LARGE


def test_a_word_takes_the_place_of_the_rule(monkeypatch):
    monkeypatch.setenv(SMALL_FITS, "off")
    assert sizes(facts(10_000)) == LARGE
    monkeypatch.setenv(SMALL_FITS, "on")
    assert sizes(facts(10**7)) == sizes(facts(10**7), OTHER_GPU) == SMALL
    assert variant_of("histogram", facts(10_000), make_caps(kind="cpu")).name == "cpu"
    joined = facts(10_000, pages={"n_joined": 4})
    assert sizes(joined) == SMALL
    monkeypatch.setenv(JOINT_CODES, "on")
    assert sizes(joined) == LARGE
    monkeypatch.setenv(SMALL_FITS, "yes")
    with pytest.raises(ParameterError, match=f"{SMALL_FITS}='yes': expected 'on', 'off' or 'auto'"):
        sizes(facts(10))


def test_one_work_item_searches_alone():
    """The search by groups needs two work-items."""
    one = facts(10_000, work_group_size=1)
    for caps in (NVIDIA, OTHER_GPU, make_caps(kind="cpu")):
        assert variant_of("split", one, caps).name == "sequential"
    assert variant_of("split", facts(10_000, work_group_size=8), OTHER_GPU).name == "portable"


@pytest.mark.thorough
@pytest.mark.usefixtures("nothing_refused")
def test_work_groups_of_one_leave_all_variants_to_later_fits(monkeypatch):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        trained("logistic", "off", monkeypatch, work_group_size=1)
    assert not choosing.REFUSED


@pytest.mark.usefixtures("nothing_refused")
def test_a_driver_that_does_not_build_it_gets_the_large_one(monkeypatch):
    monkeypatch.setenv(SMALL_FITS, "on")
    small = variant_of("histogram", facts(10_000), NVIDIA)
    monkeypatch.setattr(choosing, "REFUSED", {choosing.refusal(small, NVIDIA)})
    assert variant_of("histogram", facts(10_000), NVIDIA).name == "own_banks"


def trained(case, word, monkeypatch, **more):
    data, params = CASES[case]
    monkeypatch.setenv(SMALL_FITS, word)
    model = train({"device": TEST_DEVICE, "max_depth": 3, **params, **more}, data, 4)
    return to_xgboost_json(model.ensemble), model.variants["histogram"]


@pytest.mark.few(2)
@pytest.mark.parametrize("case", CASES)
def test_the_model_is_that_of_other_sizes(case, monkeypatch):
    large, name = trained(case, "off", monkeypatch)
    assert name == "own_banks"
    assert trained(case, "on", monkeypatch) == (large, "local_atomic")


def test_groups_of_a_small_fit(monkeypatch):
    """700 rows are three tasks; those of the next level are of 350 rows, and of a node."""
    monkeypatch.setenv(SMALL_FITS, "on")
    data, params = CASES["logistic"]
    found = Parameters.from_dict({"max_depth": 2, "max_bin": 255, **params})
    device = open_device(TEST_DEVICE)
    monkeypatch.setattr(device, "caps", replace(device.caps, compute_units=8))
    fit = Fit(device, found, get_objective(found.objective, found), data, 0.0)
    (actions,) = fit.kernels.batches(joined=False)
    grids = [(one.name, bound_kernel(one).grid[:2]) for one in actions]
    assert [grid for name, grid in grids if name == "histogram"] == [(3, 3), (3, 2)]  # 2 columns
    (moving,) = (grid for name, grid in grids if name.startswith("move"))
    assert moving == (32, 1)  # pieces of the root's smaller child; they are cleared side by side
    few = fit.kernels.grower.partition
    assert few._groups(0, 0) == 2
    assert few._groups(1, 1) == 64
    assert few._groups(9, 1) == 16 * 8
