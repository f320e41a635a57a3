"""Rank documents of queries, by matrices with qid and by the estimator."""

import numpy as np
import xgboost as xgb
from sklearn.datasets import load_svmlight_file


def load(part):
    X, y = load_svmlight_file(f"rank.{part}.gz", n_features=301)
    sizes = np.loadtxt(f"rank.{part}.query.gz", dtype=int)
    return X, y, np.repeat(np.arange(len(sizes)), sizes)


X_train, y_train, qid_train = load("train")
X_test, y_test, qid_test = load("test")

dtrain = xgb.DMatrix(X_train, y_train, qid=qid_train)
dtest = xgb.DMatrix(X_test, y_test, qid=qid_test)
params = {
    "objective": "rank:ndcg",
    "eval_metric": ["ndcg@3", "ndcg@5"],
    "ndcg_exp_gain": True,
    "eta": 0.1,
    "max_depth": 5,
    "lambdarank_pair_method": "topk",
    "lambdarank_num_pair_per_sample": 8,
}
history = {}
bst = xgb.train(
    params, dtrain, 30, evals=[(dtest, "test")], evals_result=history, verbose_eval=False
)
print("score ndcg", history["test"]["ndcg@5"][-1])

ranker = xgb.XGBRanker(n_estimators=30, learning_rate=0.1, objective="rank:pairwise", max_depth=5)
ranker.fit(X_train, y_train, qid=qid_train, eval_set=[(X_test, y_test)], eval_qid=[qid_test])
scores = ranker.predict(X_test)
best = [y_test[qid_test == q][np.argmax(scores[qid_test == q])] for q in np.unique(qid_test)]
print("score first", np.mean(best), 0.15)
print("same shape", scores.shape, *history["test"])
