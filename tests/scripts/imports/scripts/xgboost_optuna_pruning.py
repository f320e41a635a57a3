"""Optuna searches parameters, and prunes trials by a callback of XGBoost."""

import optuna
import xgboost as xgb
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

optuna.logging.set_verbosity(optuna.logging.WARNING)
X, y = load_breast_cancer(return_X_y=True)
X_train, X_valid, y_train, y_valid = train_test_split(X, y, random_state=3)
dtrain, dvalid = xgb.DMatrix(X_train, y_train), xgb.DMatrix(X_valid, y_valid)


class Pruning(xgb.callback.TrainingCallback):
    def __init__(self, trial):
        self.trial = trial

    def after_iteration(self, model, epoch, evals_log):
        self.trial.report(evals_log["validation"]["logloss"][-1], step=epoch)
        if self.trial.should_prune():
            raise optuna.TrialPruned
        return False


def objective(trial):
    params = {
        "objective": "binary:logistic",
        "eval_metric": "logloss",
        "max_depth": trial.suggest_int("max_depth", 2, 6),
        "eta": trial.suggest_float("eta", 0.02, 0.4, log=True),
        "lambda": trial.suggest_float("lambda", 1e-3, 10.0, log=True),
    }
    evals, seen = [(dvalid, "validation")], {}
    xgb.train(params, dtrain, 30, evals=evals, evals_result=seen, verbose_eval=False,
              callbacks=[Pruning(trial)])  # fmt: skip
    return seen["validation"]["logloss"][-1]


pruner = optuna.pruners.MedianPruner(n_startup_trials=3, n_warmup_steps=5)
study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0), pruner=pruner)
study.optimize(objective, n_trials=8)
states = [trial.state.name for trial in study.trials]
print("score best", study.best_value, 0.15)
print("same trials", len(states), "PRUNED" in states)
