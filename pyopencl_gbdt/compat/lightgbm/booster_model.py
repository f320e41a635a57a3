"""The part of a ``Booster`` that predicts, and shows and changes its trees."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.compat.lightgbm import prediction as rows_to
from pyopencl_gbdt.compat.lightgbm.dataset import Dataset
from pyopencl_gbdt.compat.lightgbm.errors import LightGBMError
from pyopencl_gbdt.compat.lightgbm.names import by_main_names, spellings
from pyopencl_gbdt.compat.lightgbm.objectives import LINKS
from pyopencl_gbdt.compat.lightgbm.task import Task, refitted
from pyopencl_gbdt.compat.lightgbm.trees import (
    base_of,
    dumped,
    importances,
    leaf_places,
    node_table,
    shrinkages,
    split_values,
    stored_infos,
    with_average,
    with_parameters,
    with_ranges,
)
from pyopencl_gbdt.model import Ensemble
from pyopencl_gbdt.model.ensemble import each
from pyopencl_gbdt.model.formats.lightgbm_text import to_lightgbm_text
from pyopencl_gbdt.prediction.model import Model

Array = npt.NDArray[Any]
_Own = TypeVar("_Own", bound="BoosterModel")


class BoosterModel:
    """The part of a ``Booster`` that has its trees; the other part trains."""

    train_set: Dataset

    def __init__(self, params: dict[str, Any] | None) -> None:
        self.params = {} if params is None else deepcopy(params)
        self.best_iteration = -1
        self.pandas_categorical: Any = None
        self._kept: Ensemble | None = None  # of a forest: a sum of trees
        self._shown: tuple[int, Ensemble] | None = None
        self._link, self._objective_text, self._averages = "identity", "", False
        self._ranges, self._rates = list[str](), list[float]()
        self._task: Task | None = None
        self._fobj: Callable[..., Any] | None = None

    def _model(self) -> Ensemble:
        raise NotImplementedError

    def _sum(self) -> Ensemble | None:
        raise NotImplementedError

    def _close(self) -> None:
        raise NotImplementedError

    def _shrinkages(self, start: int = 0) -> list[float]:
        """Return LightGBM's shrinkage of each tree from a round on."""
        found, model = self._sum(), self._model()
        weights = None if found is None else found.tree_weights
        return shrinkages(model, self._rates, weights)[max(start, 0) * model.round_trees :]

    def _take_rounds(self, model: Ensemble, rounds: Sequence[int]) -> None:
        """Keep some rounds of a model, in this order."""
        n = model.round_trees
        self._rates = [one for i in rounds for one in self._rates[i * n : (i + 1) * n]]
        self._kept, self._shown = model.of_rounds(rounds, model.attributes), None

    def rollback_one_iter(self: _Own) -> _Own:
        """Drop the last round."""
        self._close()
        if self._kept is not None and self._kept.n_rounds:
            self._take_rounds(self._kept, range(self._kept.n_rounds - 1))
        return self

    def _as_model(self) -> Model:
        """Return the rounds up to the best one; ``explain.shap`` asks for it."""
        return Model(rows_to.rounds_of(self._model(), 0, self.best_iteration))

    def current_iteration(self) -> int:
        """Return the number of rounds."""
        raise NotImplementedError

    def drop_stumps(self, first: int) -> None:
        """Drop the rounds whose trees have no split, as LightGBM does; round 0 stays.

        Beside starting scores of rows it adds nothing then.

        Parameters
        ----------
        first : int
            Rounds of a continued model, which stay, too.
        """
        self._close()
        kept = self._kept
        if kept is None:
            return
        n = kept.n_outputs
        split = [any(t.is_leaf.size > 1 for t in kept.trees[i : i + n])
                 for i in range(0, len(kept.trees), n)]  # fmt: skip
        rounds = [i for i, one in enumerate(split) if one or i < max(first, 1)]
        if len(kept.trees) == n * kept.n_rounds and len(rounds) < kept.n_rounds:
            self._take_rounds(kept, rounds)
            kept = self._kept or kept
        data = self.__dict__.get("train_set")
        given = data is not None and data.init_score is not None
        if given and first == 0 and not any(split[:1]) and not self._averages:
            alone = [one.with_values(np.zeros_like(one.value)) for one in kept.trees[:n]]
            self._kept = replace(kept, trees=[*alone, *kept.trees[n:]])
            self._shown = None

    def predict(
        self,
        data: Any,
        start_iteration: int = 0,
        num_iteration: int | None = None,
        raw_score: bool = False,
        pred_leaf: bool = False,
        pred_contrib: bool = False,
        data_has_header: bool = False,
        validate_features: bool = False,
        **kwargs: Any,
    ) -> Any:
        """Return predictions, margins, numbers of leaves or contributions of columns.

        Parameters
        ----------
        data : array-like, DataFrame or sparse matrix
        start_iteration : int
            The first round to use.
        num_iteration : int or None
            Number of rounds. None: those up to the best one; 0 or less: all.
        raw_score, pred_leaf, pred_contrib : bool
            What to return.
        data_has_header : bool
            No effect: files are read by ``Dataset``.
        validate_features : bool
            Whether the names of a table have to be those of training.
        **kwargs
            Parameters of predictions, such as those of ``pred_early_stop``.

        Returns
        -------
        float64 array, (n_rows,) or (n_rows, n_classes); int32 (n_rows, n_trees) for leaves; float64
        (n_rows, (n_features + 1) * n_classes) for contributions, a sparse matrix for sparse rows.
        """
        if isinstance(data, Dataset):
            raise TypeError(
                "Cannot use Dataset instance for prediction, please use raw data instead"
            )
        known = {**self.params, **kwargs}
        settings = by_main_names({k: v for k, v in known.items() if k in _READING})
        if num_iteration is None:
            num_iteration = self.best_iteration if start_iteration <= 0 else -1
        whole = self._model()
        part = rows_to.rounds_of(whole, start_iteration, num_iteration)
        rows = rows_to.checked_rows(whole, data, settings, validates=validate_features)
        if pred_leaf:
            return rows_to.leaves(part, rows)
        if pred_contrib:
            found = rows_to.contributions(part, rows)
            return rows_to.as_sparse(found, data, whole.n_outputs)
        text = self._objective_text.split(" ")[0]
        if settings.get("pred_early_stop") and text in rows_to.STOPS and not self._averages:
            margins = rows_to.margins_that_stop(part, rows, settings)
        else:
            margins = rows_to.margins(part, rows)
        return margins if raw_score else self._linked(margins, part.n_rounds)

    def _linked(self, margins: Array, n_rounds: int) -> Array:
        """Return the predictions of margins: those of a forest are means of its trees."""
        mean = margins / n_rounds if self._averages and n_rounds else margins
        return mean if self._link == "identity" else LINKS[self._link](mean)

    def refit(
        self: _Own,
        data: Any,
        label: Any,
        decay_rate: float = 0.9,
        reference: Dataset | None = None,
        weight: Any = None,
        group: Any = None,
        init_score: Any = None,
        feature_name: Any = "auto",
        categorical_feature: Any = "auto",
        dataset_params: dict[str, Any] | None = None,
        free_raw_data: bool = True,
        validate_features: bool = False,
        **kwargs: Any,
    ) -> _Own:
        """Return a model of the same splits, whose leaves are mixed with those of other rows.

        A leaf's value becomes ``decay_rate`` times the old one, and the rest from the new rows.
        """
        if self._fobj is not None or not self._objective_text:
            raise LightGBMError("Cannot refit due to null objective function.")
        whole = self._model()
        settings = by_main_names({k: v for k, v in self.params.items() if not callable(v)})
        rows = rows_to.checked_rows(whole, data, settings, validates=validate_features)
        given = Dataset(
            data, label=label, reference=reference, weight=weight, group=group,
            init_score=init_score, feature_name=whole.feature_names or feature_name,
            categorical_feature=list(whole.categories) or categorical_feature,
            params=dataset_params, free_raw_data=free_raw_data,
        )  # fmt: skip
        name, _, _ = self._objective_text.partition(" ")
        task = self._task or Task.of(
            {"objective": name, **({"num_class": whole.n_outputs} if whole.n_outputs > 1 else {})}
        )
        given.construct()
        leaves = rows_to.leaves(whole, rows)
        found = deepcopy(self)
        found._rates = self._shrinkages()
        found._kept = refitted(whole, leaves, given, task, decay_rate, found._rates, settings,
                               is_forest=self._averages)  # fmt: skip
        found._shown, found.params = None, {**found.params, "refit_decay_rate": decay_rate}
        found.train_set = given
        return found

    def num_model_per_iteration(self) -> int:
        """Return the number of trees of a round."""
        return self._task.n_outputs if self._task is not None else self._model().n_outputs

    def num_trees(self) -> int:
        """Return the number of trees."""
        return self.current_iteration() * self.num_model_per_iteration()

    def num_feature(self) -> int:
        """Return the number of columns."""
        return self._model().n_features

    def feature_name(self) -> list[str]:
        """Return the names of the columns; ``Column_0``, ... if they have none."""
        model = self._model()
        numbered = [f"Column_{i}" for i in range(model.n_features)]
        return numbered if model.feature_names is None else list(model.feature_names)

    def _used(self, num_iteration: int | None, start_iteration: int = 0) -> Ensemble:
        count = self.best_iteration if num_iteration is None else num_iteration
        return rows_to.rounds_of(self._model(), start_iteration, count)

    def save_model(
        self: _Own,
        filename: str | Path,
        num_iteration: int | None = None,
        start_iteration: int = 0,
        importance_type: str = "split",
    ) -> _Own:
        """Write the model as LightGBM's text."""
        text = self.model_to_string(num_iteration, start_iteration, importance_type)
        Path(filename).write_text(text, encoding="utf-8")
        return self

    def model_to_string(
        self,
        num_iteration: int | None = None,
        start_iteration: int = 0,
        importance_type: str = "split",
    ) -> str:
        """Return the model as LightGBM's text."""
        importances(self._model(), importance_type)  # raises for an unknown kind
        used, rates = self._used(num_iteration, start_iteration), self._shrinkages(start_iteration)
        text = to_lightgbm_text(used, rates)
        text = with_ranges(with_average(text) if self._averages else text, self._ranges)
        return with_parameters(text, self.params)

    def dump_model(
        self,
        num_iteration: int | None = None,
        start_iteration: int = 0,
        importance_type: str = "split",
        object_hook: Callable[[dict[str, Any]], dict[str, Any]] | None = None,
    ) -> dict[str, Any]:
        """Return the model as a dictionary of plain values, as LightGBM's JSON."""
        model = self._used(num_iteration, start_iteration)
        infos = stored_infos(with_ranges(to_lightgbm_text(model), self._ranges))
        found = dumped(model, self._objective_text, importance_type, self.feature_name(), infos,
                       self._shrinkages(start_iteration), averages=self._averages)  # fmt: skip
        if object_hook is not None:
            found = _hooked(found, object_hook)
        found["pandas_categorical"] = self.pandas_categorical
        return found

    def trees_to_dataframe(self) -> Any:
        """Return all nodes as a pandas table."""
        return node_table(self.dump_model())

    def feature_importance(
        self, importance_type: str = "split", iteration: int | None = None
    ) -> Array:
        """Return the number of splits of each column, or the sum of their gains (``"gain"``)."""
        found = importances(self._used(iteration), importance_type)
        return found.astype(np.int32) if importance_type == "split" else found

    def get_split_value_histogram(
        self, feature: int | str, bins: int | str | None = None, xgboost_style: bool = False
    ) -> Any:
        """Return how often thresholds of a column occur: counts and edges, or a table of both."""
        values = split_values(self.dump_model(), feature)
        if bins is None or (isinstance(bins, int) and xgboost_style):
            distinct = len(np.unique(values))
            bins = max(min(distinct, bins) if isinstance(bins, int) else distinct, 1)
        counts, edges = np.histogram(values, bins=bins)
        if not xgboost_style:
            return counts, edges
        import pandas as pd

        table = np.column_stack((edges[1:], counts))
        return pd.DataFrame(table[table[:, 1] > 0], columns=["SplitValue", "Count"])

    def get_leaf_output(self, tree_id: int, leaf_id: int) -> float:
        """Return the value of a leaf; the first trees' leaves have the starting margin in them."""
        model = self._model()
        tree = model.trees[tree_id]
        return float(tree.value[leaf_places(tree)[leaf_id], 0]) + base_of(model, tree_id)

    def set_leaf_output(self: _Own, tree_id: int, leaf_id: int, value: float) -> _Own:
        """Set the value of a leaf."""
        self._close()
        model, self._rates = self._model(), self._shrinkages()
        trees = list(model.trees)
        values = trees[tree_id].value.copy()
        values[leaf_places(trees[tree_id])[leaf_id], 0] = value - base_of(model, tree_id)
        trees[tree_id] = trees[tree_id].with_values(values)
        self._kept, self._shown = replace(model, trees=trees), None
        return self

    def shuffle_models(self: _Own, start_iteration: int = 0, end_iteration: int = -1) -> _Own:
        """Put rounds in a random order."""
        self._close()
        model, self._rates = self._model(), self._shrinkages()
        end = model.n_rounds if end_iteration <= 0 else min(end_iteration, model.n_rounds)
        order = np.arange(model.n_rounds)
        order[start_iteration:end] = np.random.permutation(order[start_iteration:end])
        self._take_rounds(model, order.tolist())
        return self

    def upper_bound(self) -> float:
        """Return an upper bound of all margins."""
        return self._bound(np.max)

    def lower_bound(self) -> float:
        """Return a lower bound of all margins."""
        return self._bound(np.min)

    def _bound(self, of: Callable[[Array], Any]) -> float:
        model = self._model()
        ends = [float(of(tree.value[tree.is_leaf, 0])) for tree in model.trees]
        return float(sum(ends) + sum(each(model.base_margin)))

    def set_network(
        self: _Own,
        machines: Any,
        local_listen_port: int = 12400,
        listen_time_out: int = 120,
        num_machines: int = 1,
    ) -> _Own:
        """Refuse several machines."""
        raise LightGBMError(
            f"machines={machines!r}: several hosts train by pyopencl_gbdt.train(communicator=...); "
            "see docs/large-data.md"
        )

    def free_network(self: _Own) -> _Own:
        """Do nothing: there is no network."""
        return self


#: Parameters that say how rows are read.
_READING = spellings(
    "zero_as_missing", "use_missing", "predict_disable_shape_check", "pred_early_stop",
    "pred_early_stop_freq", "pred_early_stop_margin",
)  # fmt: skip


def _hooked(value: Any, hook: Callable[[dict[str, Any]], dict[str, Any]]) -> Any:
    if isinstance(value, list):
        return [_hooked(one, hook) for one in value]
    if not isinstance(value, dict):
        return value
    return hook({key: _hooked(one, hook) for key, one in value.items()})
