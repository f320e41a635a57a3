"""``Booster``: a model that is trained round by round, with XGBoost's methods."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from pyopencl_gbdt.compat.xgboost import collective
from pyopencl_gbdt.compat.xgboost.booster_files import BoosterFiles
from pyopencl_gbdt.compat.xgboost.linear_ensemble import LinearEnsemble
from pyopencl_gbdt.compat.xgboost.linear_rounds import LinearRounds, linear_parameters
from pyopencl_gbdt.compat.xgboost.matrices import DMatrix
from pyopencl_gbdt.compat.xgboost.metrics import BoosterMetrics, Evals
from pyopencl_gbdt.compat.xgboost.objective import Gradients, OtherSplitsError, called_by
from pyopencl_gbdt.compat.xgboost.rounds import Plan, Rounds
from pyopencl_gbdt.compat.xgboost.row_facts import CUT_RULE
from pyopencl_gbdt.compat.xgboost.settings import Given
from pyopencl_gbdt.compat.xgboost.updated_rounds import UpdatedRounds
from pyopencl_gbdt.errors import DataTypeError, ParameterError, RoundIndexError
from pyopencl_gbdt.messages import show
from pyopencl_gbdt.model import Ensemble
from pyopencl_gbdt.model.best_round import BEST_ITERATION, BEST_SCORE
from pyopencl_gbdt.model.ensemble import each
from pyopencl_gbdt.prediction.model import Model

#: Rounds that grow trees, that change trees, and those of a linear model.
AnyRounds = Rounds | UpdatedRounds | LinearRounds


class Booster(BoosterMetrics, BoosterFiles):
    """A model of trees, trained round by round.

    Parameters
    ----------
    params : dict, list of (str, object), or None
    cache : sequence of DMatrix or None
        The first one tells the number of columns before a training.
    model_file : Booster, path, content of a file, or None
        The model to begin with.

    Raises
    ------
    DataTypeError
        If one of ``cache`` is no ``DMatrix``, or ``model_file`` no model.
    """

    def __init__(
        self,
        params: Given = None,
        cache: Sequence[DMatrix] | None = None,
        model_file: Any = None,
    ) -> None:
        super().__init__()
        self._rounds: AnyRounds | None = None
        self._next_plan: dict[str, Any] = {}
        for one in cache or ():
            if not isinstance(one, DMatrix):
                raise DataTypeError(f"Invalid cache item: {type(one).__name__}; give a DMatrix")
            self._take_columns(one)
        if isinstance(model_file, Booster):
            self.__dict__.update(model_file.__getstate__())
        elif model_file is not None:
            self.load_model(model_file)
        self._settings.update(params)

    # -- rounds ---------------------------------------------------------------------------------
    def update(self, dtrain: DMatrix, iteration: int, fobj: Any = None) -> None:
        """Train a round; ``fobj`` gives its gradients instead of the loss.

        Parameters
        ----------
        dtrain : DMatrix
        iteration : int
            The round's number; a user's objective may get it.
        fobj : callable or None
            ``function(margins, dtrain)`` that returns gradients and Hessians.
        """
        if not isinstance(dtrain, DMatrix):
            raise DataTypeError(f"Invalid training matrix: {type(dtrain).__name__}")
        if fobj is not None:
            self.boost(dtrain, iteration, fobj=fobj)
            return
        self._take_columns(dtrain)
        self._rounds_on(dtrain, iteration, given=False).step()

    def boost(
        self,
        dtrain: DMatrix,
        iteration: int,
        *,
        grad: Any = None,
        hess: Any = None,
        fobj: Any = None,
    ) -> None:
        """Train a round by given gradients and Hessians.

        Parameters
        ----------
        dtrain : DMatrix
        iteration : int
        grad, hess : (n_rows,) or (n_rows, n_outputs) array-like, or None
        fobj : callable or None
            A function that gives them.

        Raises
        ------
        ParameterError
            If both or neither are given.
        """
        self._take_columns(dtrain)
        if grad is not None and hess is not None and fobj is not None:
            raise ParameterError(
                "Provide either the objective, or the gradient and hessian, not both.; leave one "
                "out"
            )
        if fobj is not None:
            gradients: Gradients = called_by(fobj, iteration, dtrain)
        elif grad is not None and hess is not None:

            def gradients(margins: Any) -> Any:
                return grad, hess

        else:
            raise ParameterError(
                "Invalid input for the boost function. Either the gradient or the objective should "
                "have a valid value.; give grad= and hess=, or fobj="
            )
        try:
            self._rounds_on(dtrain, iteration, given=True).step(gradients)
        except OtherSplitsError as other:
            if self._settings.is_linear:
                raise ParameterError(
                    "booster='gblinear': expected 'gbtree' for an objective whose split_grad "
                    "returns gradients; leave out booster"
                ) from None
            found = other.found
            self._settled()
            rounds = self._rounds_on(dtrain, iteration, given=True, n_split=other.n_split)
            rounds.step(lambda margins: found)

    def _rounds_on(
        self, matrix: DMatrix, iteration: int, *, given: bool, n_split: int = 0
    ) -> AnyRounds:
        """Return a fit whose next round is the booster's next one.

        ``n_split`` are the gradients that a new fit's rounds are given to search splits by.
        With ``seed_per_iteration``, ``iteration`` is the number by which it draws random numbers.
        """
        seeded = iteration if self._settings.switch("seed_per_iteration") else None
        if self._rounds is not None and self._rounds.suits(matrix, given, seeded):
            return self._rounds
        if collective.joined_ranks() is not None:
            raise ParameterError(
                f"collective.init joined {collective.get_world_size()} ranks: expected one process "
                "in rounds of its own; train by compat.xgboost.train, or after "
                "collective.finalize()"
            )
        before = self._settled()
        self._settings.warn_of_unused()
        plan = self._plan()
        trees = None if before is None else before.ensemble
        if trees is not None and not trees.n_rounds:  # only where to start is known of it
            if plan.score is None and {*each(trees.base_score)} != {0.5}:
                plan.params["base_score"] = trees.base_score
                plan = replace(plan, score=trees.base_score)
            trees = None
        if self._settings.is_linear:
            how = linear_parameters(self._settings.values, self._settings.others)
            self._rounds = LinearRounds(plan, matrix, trees, given, how)
            return self._rounds
        if matrix.dataset().categories and plan.params.get("tree_method") == "approx":
            # whose bins are cut once, not in every round
            plan.params.update(tree_method="hist", cut_rule=CUT_RULE)
        self._check_bins(matrix, plan)
        if isinstance(trees, LinearEnsemble):
            raise ParameterError(
                "booster='gbtree': expected a model of trees to continue, not a linear one; give "
                "booster='gblinear'"
            )
        others = self._settings.others
        if others.get("process_type") == "update" and not given:
            values, updater = str(others.get("refresh_leaf", 1)), others.get("updater", "")
            self._model = None  # its trees move to the new model round by round
            self._rounds = UpdatedRounds(
                plan, matrix, trees, str(updater), values=values.lower() not in ("0", "false")
            )
        else:
            self._rounds = Rounds(plan, matrix, trees, given, seeded, n_split)
        return self._rounds

    def _plan(self) -> Plan:
        p = self._settings.checked()
        return Plan(
            self._settings.trained(),
            self._objective,
            p.starting_scores(self._objective.n_outputs),
            tuple(self._metrics),
            **self._next_plan,
        )

    @staticmethod
    def _check_bins(matrix: DMatrix, plan: Plan) -> None:
        own, asked = getattr(matrix, "max_bin", None), int(plan.params.get("max_bin", 256))
        method = plan.params.get("tree_method", "auto")
        if own is not None and method not in ("auto", "hist"):
            raise ParameterError(
                f"tree_method={show(method)}: Only the `hist` tree method can use the "
                "`QuantileDMatrix`: expected 'hist'; or give a DMatrix"
            )
        if own is not None and own != asked:
            raise ParameterError(
                f"Inconsistent `max_bin`. `max_bin` should be the same across different "
                f"QuantileDMatrix, and consistent with the Booster being trained: expected {own}, "
                f"not max_bin={asked}; give both the same"
            )

    def watch(self, evals: Evals, n_rounds: int, *, collects: bool) -> None:
        """Let the fits to come evaluate these sets after every round, on their device."""
        names = [name for _, name in evals]
        watched = evals if len({*names}) == len(names) else ()
        self._next_plan = {"evals": watched, "n_rounds": n_rounds or None, "collects": collects}

    def _current(self) -> Model | None:
        """Return the model of all rounds so far; None if nothing was trained."""
        if self._rounds is not None and self._rounds.n_done:
            self._model = self._rounds.model(self._names)
        return self._model

    def _settled(self) -> Model | None:
        """Return the model of all rounds so far, and end the fit."""
        found = self._current()
        if self._rounds is not None:
            self._rounds.close()
            self._rounds = None
        return found

    def _ensemble(self) -> Ensemble:
        """Return the trees; before a training, none and the base score."""
        found = self._current()
        if found is not None and found.feature_names == self._names:
            return found.ensemble
        if found is not None:
            return replace(found.ensemble, feature_names=self._names)
        if not self._n_features:
            raise ParameterError(
                "0 feature is supplied. Are you using raw Booster interface?: expected a model or "
                "a DMatrix; train first, load a model, or give cache="
            )
        objective, p = self._objective, self._settings.checked()
        n = objective.n_outputs
        given = p.starting_scores(n)
        score: Any = (0.5 if n == 1 else (0.5,) * n) if given is None else given
        kind: Any = Ensemble
        if self._settings.is_linear:
            kind = partial(LinearEnsemble, weights=np.zeros((self._n_features + 1, n), np.float32))
        empty: Ensemble = kind(
            trees=[], objective=objective.name, n_features=self._n_features, n_outputs=n,
            base_margin=objective.to_margin(score), base_score=score,
            feature_names=self._names, objective_parameters=objective.parameters,
        )  # fmt: skip
        return empty

    def reset(self) -> Booster:
        """Free the memory of the training; the booster goes on as it is."""
        self._settled()
        self._next_plan = {}
        return self

    # -- parameters -----------------------------------------------------------------------------
    def set_param(self, params: Given | str, value: Any = None) -> None:
        """Set one parameter or several.

        The learning rate holds from the next round on; for another parameter, the next round
        begins a new fit that continues the trees.
        """
        if isinstance(params, str):
            params = {} if value is None else {params: value}
        before = self._settings.copy()
        self._settings.update(params)
        rate = self._settings.values.get("learning_rate")
        rest = {**self._settings.values, "learning_rate": None}
        same = rest == {**before.values, "learning_rate": None}
        if self._rounds is None:
            return
        if not same or self._settings.metrics != before.metrics:
            self._settled()
        elif rate is not None and rate != before.values.get("learning_rate"):
            checked = self._settings.checked().learning_rate
            self._rounds.learning_rate = checked

    # -- copies, slices -------------------------------------------------------------------------
    def __getstate__(self) -> dict[str, Any]:
        """Return the state of a copy or a pickle: the trees so far, without the running fit."""
        model = self._current()
        return {
            **self.__dict__,
            "_settings": self._settings.copy(),
            "_model": None if model is None else model.copy(),
            "_rounds": None,
            "_attributes": dict(self._attributes),
            "_names": None if self._names is None else list(self._names),
            "_types": None if self._types is None else list(self._types),
            "_next_plan": {},
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    def __copy__(self) -> Booster:
        return Booster(model_file=self)

    def __deepcopy__(self, memory: Any) -> Booster:
        return Booster(model_file=self)

    def copy(self) -> Booster:
        """Return a booster of its own."""
        return copy.copy(self)

    def __getitem__(self, val: Any) -> Booster:
        """Return a booster of some rounds, without the best round: ``booster[2:5]``."""
        if isinstance(val, tuple):
            raise ParameterError("Only supports slicing through 1 dimension.; give one slice")
        if isinstance(val, (int, np.integer)) and not isinstance(val, bool):
            first = int(val)
            val = slice(first, first + 1)
        if val is Ellipsis:
            val = slice(None)
        if not isinstance(val, slice):
            raise DataTypeError(
                f"Expecting an integer, a slice or an ellipsis. Got {type(val)}; give one"
            )
        ends = [None if end is Ellipsis else end for end in (val.start, val.stop)]
        start, stop = ends[0] or 0, ends[1] or 0
        step = 1 if val.step is None else val.step
        n_rounds = self.num_boosted_rounds()
        if isinstance(self._ensemble(), LinearEnsemble):
            self._ensemble().of_rounds((), {})  # raises
        if stop == 0 and (start <= 0 or ends[1] is None):
            stop = n_rounds
        if start < 0 or step < 1:
            raise ParameterError(f"Invalid slice {val}: expected begin >= 0 and step >= 1")
        if stop < start:
            raise ParameterError(f"Invalid slice {val}: expected begin < end; turn it round")
        if stop > n_rounds:
            raise RoundIndexError(f"Layer index out of range: {show(val)}, of {n_rounds} rounds")
        if stop == start:
            raise ParameterError(f"Empty slice is not allowed: {val}; give begin < end")
        found = Booster()
        found.__dict__.update(self.__getstate__())
        assert found._model is not None
        found._model = found._model[start:stop:step]
        found._attributes = {
            key: value for key, value in self._attributes.items()
            if key not in (BEST_ITERATION, BEST_SCORE)
        }  # fmt: skip
        return found

    def __iter__(self) -> Iterator[Booster]:
        """Yield a booster of each round."""
        return (self[number] for number in range(self.num_boosted_rounds()))

    def __del__(self) -> None:
        rounds = self.__dict__.get("_rounds")
        if rounds is not None:
            rounds.close()
