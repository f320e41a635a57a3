"""The ranking estimator: queries by ids, sizes and column, evaluation sets, score, mistakes."""

import numpy as np
import pytest

from pyopencl_gbdt import Dataset, GBDTRanker, train
from pyopencl_gbdt.errors import DataError, NotFittedError, ParameterError
from pyopencl_gbdt.metrics import get_metric
from tests.conftest import TEST_DEVICE
from tests.objectives.test_ranking import drawn

X, Y, SIZES = drawn("rank:ndcg", seed=1)
QID = np.repeat(np.arange(SIZES.size) * 3, SIZES)
SMALL = {"n_estimators": 5, "max_depth": 3, "device": TEST_DEVICE}


def wanted(**options):
    params = {"objective": "rank:ndcg", **SMALL, **options}
    return train(params, Dataset(X, Y, group=SIZES))


def test_three_ways_to_say_queries():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X).add_prefix("f")
    ranker = GBDTRanker(**SMALL)
    assert ranker.fit(X, Y, qid=QID).model_.ensemble == wanted().ensemble
    assert ranker.fit(X, Y, group=SIZES).model_.ensemble == wanted().ensemble
    ranker.fit(frame.assign(qid=QID), Y)
    assert list(ranker.feature_names_in_) == list(frame.columns)
    scores = ranker.predict(X)
    np.testing.assert_array_equal(scores, wanted().predict(X, device=TEST_DEVICE))
    np.testing.assert_array_equal(scores, ranker.predict(frame.assign(qid=QID)))
    offsets = Dataset(X, Y, group=SIZES).group_offsets
    value = get_metric("ndcg@32")(Y.astype(np.float32), scores, None, offsets)
    assert ranker.score(frame.assign(qid=QID), Y) == value
    assert ranker.score(X, Y, group=SIZES) == ranker.score(X, Y, qid=QID) == value


def test_score_is_xgboosts():
    pandas = pytest.importorskip("pandas")
    xgboost = pytest.importorskip("xgboost")
    frame = pandas.DataFrame(X).add_prefix("f").assign(qid=QID)
    small = {name: value for name, value in SMALL.items() if name != "device"}
    for own in ({}, {"eval_metric": ["map@2", "ndcg@3"], "objective": "rank:pairwise"}):
        theirs = xgboost.XGBRanker(**small, **{"objective": "rank:ndcg", **own})
        labels = Y if not own else np.minimum(Y, 1)
        score = theirs.fit(frame, labels).score(frame, labels)
        ours = GBDTRanker(**SMALL, **own).fit(frame, labels)
        assert ours.score(frame, labels) == pytest.approx(score, abs=1e-6)


def test_evaluation_sets():
    ranker = GBDTRanker(**SMALL, eval_metric=["map@5", "ndcg@5"], early_stopping_rounds=3)
    y = np.minimum(Y, 1)
    sets = {"eval_set": [(X, y), (X[::-1], y[::-1])]}
    ids = [QID, np.sort(-QID)]
    ranker.fit(X, y, qid=QID, eval_qid=ids, **sets)
    by_sizes = GBDTRanker(**SMALL, eval_metric=["map@5", "ndcg@5"], early_stopping_rounds=3)
    by_sizes.fit(X, y, group=SIZES, eval_group=[SIZES, SIZES[::-1]], **sets)
    result = ranker.evals_result()
    assert result == by_sizes.evals_result()
    assert result["validation_0"]["ndcg@5"] == pytest.approx(result["validation_1"]["ndcg@5"], 0.1)
    assert ranker.best_score == max(result["validation_1"]["ndcg@5"])


def test_parameters_reach_the_loss():
    ranker = GBDTRanker(**SMALL, lambdarank_pair_method="mean", lambdarank_num_pair_per_sample=2,
                        lambdarank_normalization=False, random_state=4)  # fmt: skip
    own = {name: ranker.get_params()[name] for name in ranker.get_params() if "lambdarank" in name}
    given = {name: value for name, value in own.items() if value is not None}
    assert len(given) == 3
    fitted = ranker.fit(X, Y, qid=QID).model_
    assert fitted.ensemble == wanted(**given, random_state=4).ensemble
    assert fitted.objective.metric == "ndcg"
    assert ranker.set_params(random_state=5).fit(X, Y, qid=QID).model_.ensemble != fitted.ensemble


def test_refusals():
    ranker = GBDTRanker(**SMALL)
    with pytest.raises(DataError, match=r"expected qid= or group="):
        ranker.fit(X, Y)
    with pytest.raises(DataError, match="qid is not sorted"):
        ranker.fit(X, Y, qid=QID[::-1])
    with pytest.raises(ParameterError, match="expected rank:ndcg, rank:map or rank:pairwise"):
        GBDTRanker(objective="binary:logistic").fit(X, Y, qid=QID)
    with pytest.raises(ParameterError, match="eval_qid: 2 entries: expected a list"):
        ranker.fit(X, Y, qid=QID, eval_set=[(X, Y)], eval_qid=[QID, QID])
    with pytest.raises(DataError, match=r"expected qid= or group="):
        ranker.fit(X, Y, qid=QID, eval_set=[(X, Y)])
    with pytest.raises(NotFittedError):
        ranker.predict(X)
    assert not hasattr(ranker, "_queries")
    with pytest.raises(DataError, match="score needs the queries"):
        ranker.fit(X, Y, qid=QID).score(X, Y)
