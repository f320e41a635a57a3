"""LightGBM's ``Booster``: a model that can be trained on, round by round."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from pyopencl_gbdt.compat.lightgbm import prediction as rows_to
from pyopencl_gbdt.compat.lightgbm.booster_model import Array, BoosterModel
from pyopencl_gbdt.compat.lightgbm.dataset import Dataset
from pyopencl_gbdt.compat.lightgbm.errors import LightGBMError, log_warning
from pyopencl_gbdt.compat.lightgbm.metrics import EvalResult
from pyopencl_gbdt.compat.lightgbm.names import by_main_names, spellings
from pyopencl_gbdt.compat.lightgbm.objectives import LINKS, link_of_model
from pyopencl_gbdt.compat.lightgbm.rounds import MANY, Rounds
from pyopencl_gbdt.compat.lightgbm.settings import check_columns
from pyopencl_gbdt.compat.lightgbm.task import Task
from pyopencl_gbdt.compat.lightgbm.trees import (
    stored_infos,
    stored_parameters,
    stored_rates,
    with_start,
    without_average,
)
from pyopencl_gbdt.model import Ensemble, read_model
from pyopencl_gbdt.model.ensemble import each
from pyopencl_gbdt.model.formats.lightgbm_reader import OBJECTIVES as IN_FILES


class Booster(BoosterModel):
    """A model, as LightGBM's ``Booster``: trained here, or read from LightGBM's text.

    Parameters
    ----------
    params : dict or None
        LightGBM's parameters, by any of their names.
    train_set : Dataset or None
    model_file : path or None
    model_str : str or None
        LightGBM's text.

    Attributes
    ----------
    best_iteration : int
        Rounds up to the best one after early stopping; predictions use these.
    best_score : dict

    Raises
    ------
    TypeError, LightGBMError
        In LightGBM's words. A parameter without a counterpart here is refused by name.
    """

    def __init__(
        self,
        params: dict[str, Any] | None = None,
        train_set: Dataset | None = None,
        model_file: str | Path | None = None,
        model_str: str | None = None,
    ) -> None:
        super().__init__(params)
        self._train_data_name = "training"
        self.best_score: Mapping[str, Mapping[str, float]] = {}
        self.valid_sets: list[Dataset] = []
        self.name_valid_sets: list[str] = []
        self._rounds: Rounds | None = None
        self._planned = MANY
        self._evaluates_training = self._keeps_predictions = False
        if train_set is not None:
            self._take(_checked(train_set, "Training"))
        elif model_file is not None:
            self._read(Path(model_file))
        elif model_str is not None:
            self.model_from_string(model_str)
            if params:
                log_warning("Ignoring params argument, using parameters from model string.")
        else:
            raise TypeError(
                "Need at least one training dataset or model file or model string to create "
                "Booster instance"
            )

    def _take(self, train_set: Dataset) -> None:
        """Take the training rows, and say what the parameters mean."""
        train_set.update_params(self.params).construct()
        self.train_set = train_set
        self.params = {**train_set.get_params(), **self.params}
        own = {**self.params, **train_set.get_params()}
        own = own | {"objective": "none"} if callable(own.get("objective")) else own
        self._task = Task.of(by_main_names(own))
        check_columns(self._task.params, train_set.rows.n_features)
        self._averages, self._ranges = self._task.boosting == "rf", train_set.ranges
        self._task.check_start(init_score=train_set.init_score)
        self._link = self._task.kind.link
        self._objective_text = self._task.objective
        self.pandas_categorical = train_set.pandas_categorical

    def _read(self, path: Path) -> None:
        if self.params:
            log_warning("Ignoring params argument, using parameters from model file.")
        with path.open(encoding="utf-8", errors="replace") as file:
            text = file.read()
        plain, averages = without_average(text)
        self._take_model(read_model(plain.encode("utf-8") if averages else path), text)

    def _take_model(self, ensemble: Ensemble, text: str) -> None:
        """Take a model, and what its text tells beside."""
        self._close()
        self.params, self._averages = stored_parameters(text), without_average(text)[1]
        self._ranges = stored_infos(text)
        self._ranges = self._ranges if len(self._ranges) == ensemble.n_features else []
        kept = ensemble.with_numbers() if ensemble.tree_outputs > 1 else ensemble
        self._kept, self._shown, self._task = kept, None, None
        self._rates = stored_rates(text, len(kept.trees))
        self._link = link_of_model(ensemble)
        names = {ours: theirs for theirs, ours in reversed(IN_FILES.items())}
        self._objective_text = names.get(ensemble.objective, "")
        if ensemble.n_outputs > 1 and self._objective_text:
            self._objective_text += f" num_class:{ensemble.n_outputs}"
        listed = [ensemble.categories[c].values.tolist() for c in sorted(ensemble.categories)]
        self.pandas_categorical = listed or None

    # --- state ------------------------------------------------------------------------------

    def __copy__(self) -> Booster:
        return self.__deepcopy__(None)

    def __deepcopy__(self, *args: Any, **kwargs: Any) -> Booster:
        found: Booster = Booster.__new__(Booster)
        found.__dict__.update(self.__getstate__())
        return found

    def __getstate__(self) -> dict[str, Any]:
        """Return the state to pickle: the model, without rows."""
        kept = {**self.__dict__, "_kept": self._sum(), "_shown": None, "_rounds": None,
                "_fobj": None, "valid_sets": [], "name_valid_sets": []}  # fmt: skip
        kept.pop("train_set", None)
        kept["params"] = {k: v for k, v in self.params.items() if not callable(v)}
        return deepcopy(kept)

    def __del__(self) -> None:
        rounds = self.__dict__.get("_rounds")
        if rounds is not None:
            rounds.close()

    def free_dataset(self) -> Booster:
        """Drop the rows, and what the device holds."""
        self._close()
        self.__dict__.pop("train_set", None)
        self.valid_sets, self.name_valid_sets = [], []
        return self

    def _close(self) -> None:
        if self._rounds is not None:
            self._kept = self._sum()
            self._rounds.close()
            self._rounds = None

    def _sum(self) -> Ensemble | None:
        """Return the trees so far; those of a forest as a sum."""
        return self._kept if self._rounds is None else self._rounds.ensemble()

    def _model(self) -> Ensemble:
        """Return the model so far, with weights of trees multiplied in."""
        n_rounds = self.current_iteration()
        if self._shown is not None and self._shown[0] == n_rounds:
            return self._shown[1]
        found = self._sum()
        if found is None:
            found = self._empty()
        found = found.folded()
        if self._task is not None:
            found = self._named(with_start(found) if self._averages and n_rounds else found)
        self._shown = n_rounds, found
        return found

    def _named(self, found: Ensemble) -> Ensemble:
        """Return the model with the loss's name, where the host has computed its gradients."""
        assert self._task is not None
        loss = self._task.kind.loss
        if found.objective != "custom" or not loss or self._fobj is not None:
            return found
        margin = np.array(each(found.base_margin), np.float64)
        score = np.atleast_1d(LINKS[self._link](margin)).tolist()
        score = list(margin) if self._link == "softmax" else score
        return replace(found, objective=loss, objective_parameters={},
                       base_score=tuple(score) if len(score) > 1 else score[0])  # fmt: skip

    def _empty(self) -> Ensemble:
        assert self._task is not None
        n, rows = self._task.n_outputs, self.train_set.rows
        zero: Any = (0.0,) * n if n > 1 else 0.0
        return Ensemble([], "custom", rows.n_features, zero, zero, rows.feature_names,
                        n_outputs=n, categories=rows.categories)  # fmt: skip

    # --- training ---------------------------------------------------------------------------

    def set_train_data_name(self, name: str) -> Booster:
        """Set the name by which the training rows are evaluated."""
        self._train_data_name = name
        return self

    def add_valid(self, data: Dataset, name: str) -> Booster:
        """Add an evaluation set."""
        _checked(data, "Validation")
        self._close()
        if data is not self.train_set and data.used_indices is None:
            data.set_reference(self.train_set)
        data.construct()
        self.valid_sets.append(data)
        self.name_valid_sets.append(name)
        return self

    def plan(self, n_rounds: int, *, evaluates_training: bool, keeps_predictions: bool) -> None:
        """Say what a loop of rounds will ask for, so that no round has to be computed twice.

        Parameters
        ----------
        n_rounds : int
            Most rounds to come.
        evaluates_training : bool
            Whether the training rows are evaluated after each round.
        keeps_predictions : bool
            Whether metrics are functions of predictions.
        """
        self._close()
        self._planned = n_rounds
        self._evaluates_training = evaluates_training
        self._keeps_predictions = keeps_predictions

    def begin_with(self, model: Booster) -> None:
        """Take the trees of a model to continue, up to its best round."""
        assert self._task is not None
        found = model._used(None)
        self._task.check_start(init_model=found)
        self._kept, self._shown = found, None
        self._rates = model._shrinkages()[: len(found.trees)]

    def _open(self) -> Rounds:
        if self._rounds is not None:
            return self._rounds
        if self._task is None or "train_set" not in self.__dict__:
            raise LightGBMError(
                "Cannot update: the booster has no training rows: expected one that was made with "
                "train_set=, or by train(keep_training_booster=True); make one"
            )
        sets = [self.train_set] if self._evaluates_training else []
        sets += [one for one in self.valid_sets if not any(one is other for other in sets)]
        most = self._planned
        if self._task.boosting == "dart" and most == MANY:
            most = 100  # whose trees lie on the device, all of them
        self._rounds = Rounds(self._task, self.train_set, sets, self._kept, most, self._fobj,
                              keeps_predictions=self._keeps_predictions)  # fmt: skip
        return self._rounds

    def update(
        self, train_set: Dataset | None = None, fobj: Callable[..., Any] | None = None
    ) -> bool:
        """Train one round; return False, as it can go on.

        Parameters
        ----------
        train_set : Dataset or None
            Other rows for this round and the following ones.
        fobj : callable or None
            ``fobj(margins, train_set)`` returns gradients and Hessians.
        """
        if train_set is not None and train_set is not self.__dict__.get("train_set"):
            _checked(train_set, "Training")
            self._close()
            if train_set.reference is None and train_set.used_indices is None:
                train_set.set_reference(self.train_set)
            self._take(train_set)
        if fobj is not None and fobj is not self._fobj:
            assert self._task is not None
            self._task.check_start(fobj=fobj)
            self._close()
            self._fobj, self._link, self._objective_text = fobj, "identity", ""
        if not self._open().step():  # as many rounds as were planned
            self._close()
            self._planned = MANY
            self._open().step()
        assert self._task is not None
        self._rates += [self._task.rate] * self._task.n_outputs
        return False

    def reset_parameter(self, params: dict[str, Any]) -> Booster:
        """Change parameters of the rounds to come.

        Raises
        ------
        LightGBMError
            For the metric, the number of classes and the kind of boosting, which are fixed.
        """
        for fixed in ("metric", "num_class", "boosting"):
            named = spellings(fixed) & params.keys()
            known = {name: self.params[name] for name in named if name in self.params}
            if self._task is not None and known != {name: params[name] for name in named}:
                raise LightGBMError(f"Cannot change {fixed} during training")
        self.params.update(params)
        if self._task is None:
            return self
        own = by_main_names({k: v for k, v in params.items() if not callable(v)})
        former = self._task
        self._task = Task.of({**former.params, **own})
        if own.keys() == {"learning_rate"} and self._rounds is not None:
            if former.boosting != "rf":
                self._rounds.set_rate(float(own["learning_rate"]))
            return self
        self._close()
        return self

    def model_from_string(self, model_str: str) -> Booster:
        """Take the model of LightGBM's text."""
        plain, _ = without_average(model_str)
        self._take_model(read_model(plain.encode("utf-8")), model_str)
        return self

    def current_iteration(self) -> int:
        """Return the number of rounds."""
        if self._rounds is not None:
            return self._rounds.n_rounds
        return 0 if self._kept is None else self._kept.n_rounds

    # --- evaluation -------------------------------------------------------------------------

    def eval(self, data: Dataset, name: str, feval: Any = None) -> list[EvalResult]:
        """Return the metrics of some rows; rows not evaluated yet become an evaluation set."""
        if not isinstance(data, Dataset):
            raise TypeError("Can only eval for Dataset instance")
        known = [self.train_set, *self.valid_sets]
        if not any(data is one for one in known):
            self.add_valid(data, name)
        return self._evaluated(data, name, feval)

    def eval_train(self, feval: Any = None) -> list[EvalResult]:
        """Return the metrics of the training rows."""
        return self._evaluated(self.train_set, self._train_data_name, feval)

    def eval_valid(self, feval: Any = None) -> list[EvalResult]:
        """Return the metrics of all evaluation sets."""
        pairs = zip(self.valid_sets, self.name_valid_sets, strict=True)
        return [one for data, name in pairs for one in self._evaluated(data, name, feval)]

    def _evaluated(self, data: Dataset, name: str, feval: Any) -> list[EvalResult]:
        assert self._task is not None
        metrics, rounds = self._task.metrics, self._rounds
        functions = [one for one in _listed(feval) if one is not None]
        place = None if rounds is None else rounds.place_of(data)
        predicted: Array | None = None
        if place is not None and rounds is not None and (self._keeps_predictions or not functions):
            values = rounds.values(place)
            predicted = rounds.prediction(place) if functions else None
        else:
            rows = self._task.rows_of(data)
            margins = rows_to.margins(self._model(), rows)
            predicted = self._linked(margins, self.current_iteration())
            values = [
                metric.evaluate(margins if metric.reads_margins else predicted, rows)
                for metric in metrics
            ]
        found = [
            EvalResult(name, metric.name, value, metric.maximize)
            for metric, value in zip(metrics, values, strict=True)
        ]
        for function in functions:
            given = function(predicted, data)
            for one in given if isinstance(given, list) else [given]:
                found.append(EvalResult(name, one[0], one[1], one[2]))
        return found


def _listed(feval: Any) -> Sequence[Any]:
    return [] if feval is None else [feval] if callable(feval) else list(feval)


def _checked(data: Any, what: str) -> Dataset:
    if not isinstance(data, Dataset):
        raise TypeError(f"{what} data should be Dataset instance, met {type(data).__name__}")
    return data
