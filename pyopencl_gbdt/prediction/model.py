"""``Model``: the result of training."""

from __future__ import annotations

import math
import operator
import os
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.arguments import check_file, check_path, check_switches
from pyopencl_gbdt.data.arrays.matrix import check_shape, column_names
from pyopencl_gbdt.data.arrays.narrow import check_missing
from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.data.features import Features, Values, check_features
from pyopencl_gbdt.data.names import check_columns
from pyopencl_gbdt.data.remarks import warn_of_unknown
from pyopencl_gbdt.data.targets import check_base_margin
from pyopencl_gbdt.device import Device
from pyopencl_gbdt.errors import DataError, ParameterError
from pyopencl_gbdt.model import Ensemble
from pyopencl_gbdt.model.best_round import BEST_ITERATION, BEST_SCORE
from pyopencl_gbdt.objectives import Objective, get_objective
from pyopencl_gbdt.prediction.distributed import Distributed
from pyopencl_gbdt.prediction.foreign_arguments import OfClassOrModel, explains_prediction
from pyopencl_gbdt.prediction.inspection import Inspected
from pyopencl_gbdt.public_names import public

if TYPE_CHECKING:
    from pyopencl_gbdt.profiling.profile import Profile

__all__ = ["BEST_ITERATION", "BEST_SCORE", "History", "Model"]

F32 = npt.NDArray[np.float32]
History = dict[str, dict[str, list[float]]]


class Model(Inspected, Distributed):
    """A fitted model; it holds only NumPy arrays, so it pickles and predicts on any machine.

    Attributes
    ----------
    ensemble : Ensemble
        The trees and base scores.
    history : dict
        ``history[evaluation set][metric]`` is a list with one value per round.
    history_start : int or None
        The round, from 0, of the first values in ``history``; a continued model has no earlier
        ones. None: not known, as in pickles of earlier versions.
    training_device : str
        The device that trained the model; empty if the model was read from a file.
    variants : dict of str to str
        The variant used for every kernel in training.
    parameters : dict of str to object
        The value of every parameter that the training used, by this library's names; empty if the
        model was read from a file.
    profile : Profile or None
        Time, bytes and share of bandwidth of every kernel, if ``train`` was asked to profile.
    """

    parameters: Mapping[str, Any] = MappingProxyType({})  # pickles of earlier versions have none

    def __init__(
        self,
        ensemble: Ensemble,
        history: History | None = None,
        parameters: Mapping[str, Any] | None = None,
    ) -> None:
        self.ensemble = ensemble
        self.parameters = dict(parameters or {})
        self.history: History = history or {}
        self.training_device = ""
        self.variants: dict[str, str] = {}
        self.profile: Profile | None = None

    @property
    def objective(self) -> Objective:
        return get_objective(self.ensemble.objective, self.ensemble.objective_parameters)

    def __repr__(self) -> str:
        parts = [repr(self.ensemble)[len("Ensemble(") : -1]]
        best = self.ensemble.attributes.get(BEST_ITERATION)
        if best is not None:
            parts.append(f"best_iteration {best}")
        if self.training_device:
            parts.append(f"trained on {self.training_device}")
        return f"Model({', '.join(parts)})"

    def describe(self) -> str:
        """Return what the model is in words: kind, size, columns, best round and device."""
        from pyopencl_gbdt.prediction.description import describe

        return describe(self)

    def analyze(self, X: Any, y: Any = None, **options: Any) -> Any:
        """Tell how well the model predicts rows, what its predictions depend on, and where it errs.

        ``print`` shows what it returns; see ``pyopencl_gbdt.analyze``.
        """
        return public("analyze")(self, X, y, **options)

    def _repr_html_(self) -> str:
        """Return a card for a notebook."""
        from pyopencl_gbdt.prediction.description import card

        return card(self)

    def n_trees_used(self, iteration_range: tuple[int, int] | None = None) -> int:
        """Return the number of trees that ``predict`` uses."""
        first, last = self._rounds(iteration_range)
        return (last - first) * self.ensemble.round_trees

    @explains_prediction
    def predict(
        self,
        X: Any,
        *,
        output_margin: bool = False,
        pred_leaf: bool = False,
        pred_contribs: bool = False,
        pred_interactions: bool = False,
        approx_contribs: bool = False,
        background: Any = None,
        iteration_range: tuple[int, int] | None = None,
        base_margin: Any = None,
        missing: float | None = None,
        device: str | Device = "auto",
    ) -> npt.NDArray[Any]:
        """Return predictions, margins, leaf ids or contributions of features.

        Parameters
        ----------
        X : (n_rows, n_features) array-like, DataFrame or sparse matrix, or Dataset, or batches
            Named columns must be those of training, in the same order; arrays have no names. What
            a sparse matrix has no entry for is missing; it is not made dense. A
            Dataset needs no labels; its ``base_margin`` is used. A categorical column has strings
            or whole numbers, as in training, in any order or dtype; a level that training has not
            seen is missing. Batches are a path, a pattern, a list of paths, a function that returns
            an iterator, or XGBoost's ``DataIter``, of rows without labels, as for
            ``Dataset.from_batches``; they are read once.
        output_margin : bool, default False
            Return margins (sums of leaf values) instead of probabilities.
        pred_leaf : bool, default False
            Return the leaf of each row in each tree, by its number among the tree's nodes in the
            file that the model was read from, else in what ``save_model`` writes, as XGBoost does.
            Margins do not matter.
        pred_contribs : bool, default False
            Return what each column adds to the margin (SHAP values), and the base: they add up to
            the margin. A missing feature is replaced by the shares of the training rows that went
            each way.
        pred_interactions : bool, default False
            Return what each pair of columns adds; the lines add up to the contributions.
        approx_contribs : bool, default False
            With ``pred_contribs``: the changes of the mean along each row's path instead.
        background : as X, or None
            Rows that missing features are taken from, for contributions and interactions: their
            mean over these rows (``data`` of shap's ``TreeExplainer``).
        iteration_range : (int, int) or None
            Use only the trees of rounds ``begin .. end - 1``. None and ``(0, 0)`` mean all rounds,
            or the rounds up to the best one after early stopping.
        base_margin : (n_rows,) or (n_rows, n_outputs) array-like or None
            The margin that each row starts from, instead of the model's ``base_score``.
        missing : float or None
            A number in X that also means "missing", as in ``Dataset``.
        device : str or Device, default "auto"
            As in ``train``; every device gives the same bits. Where "auto" finds none, NumPy
            predicts on the host, to the same bits.

        Returns
        -------
        float32 array, shape (n_rows,), or (n_rows, n_outputs) if there are several outputs
            With ``pred_leaf``: int32 array, shape (n_rows, n_trees), trees round by round. With
            ``pred_contribs``: float64 array, shape (n_rows, n_features + 1), or (n_rows, n_outputs,
            n_features + 1); the base is the last column. With ``pred_interactions``: of a further
            dimension (n_features + 1).

        Raises
        ------
        DataError
            If the columns differ from those of training; names the first that differs. If
            ``background`` has no rows.
        ParameterError
            If the model does not have these rounds, or its trees do not tell the cover of their
            nodes, which contributions without a background need.
        NoDeviceError
            If no device is what ``device`` names.
        """
        from pyopencl_gbdt.prediction.contributions.kinds import kind_of
        from pyopencl_gbdt.prediction.in_batches import comes_in_batches, margin_of, rows_to_predict
        from pyopencl_gbdt.prediction.margins import on_device
        from pyopencl_gbdt.prediction.walk_rows import walk, walk_to_leaves

        check_switches(output_margin=output_margin, pred_leaf=pred_leaf)
        if pred_leaf and output_margin:
            raise ParameterError(
                "pred_leaf=True and output_margin=True: expected one of them; call predict twice"
            )
        kind = kind_of(pred_contribs, pred_interactions, approx_contribs, background, pred_leaf)
        if comes_in_batches(X):
            margin = margin_of(X, base_margin)
            batches = [
                self.predict(
                    rows, output_margin=output_margin, pred_leaf=pred_leaf,
                    pred_contribs=pred_contribs, pred_interactions=pred_interactions,
                    approx_contribs=approx_contribs, background=background,
                    iteration_range=iteration_range, base_margin=own, missing=missing,
                    device=device,
                )
                for rows, own in rows_to_predict(self.ensemble, X, margin, missing)
            ]  # fmt: skip
            return np.concatenate(batches)
        rounds = self._rounds(iteration_range)
        values, start = self._rows(X, base_margin, missing)
        if pred_leaf:
            return walk_to_leaves(self.ensemble, values, device, rounds)
        if kind is not None:
            from pyopencl_gbdt.prediction.contributions.explain_rows import explain_rows

            others = None if background is None else self._background(background, missing)
            return explain_rows(self.ensemble, values, device, start, rounds, kind, others)
        objective = self.objective
        link = "" if output_margin else objective.device_link
        link = link if on_device(link, values.shape[0], self.ensemble.n_outputs) else ""
        found, linked = walk(self.ensemble, values, device, start, rounds, link)
        return self._predictions(found, output_margin or linked)

    @explains_prediction
    def staged_predict(
        self,
        X: Any,
        *,
        output_margin: bool = False,
        iteration_range: tuple[int, int] | None = None,
        base_margin: Any = None,
        missing: float | None = None,
        device: str | Device = "auto",
    ) -> Iterator[F32]:
        """Yield the predictions after each round; the last ones are those of ``predict``.

        Every row walks every tree once. The parameters and errors are those of ``predict``; rows
        in batches are refused.
        """
        from pyopencl_gbdt.prediction.in_batches import comes_in_batches
        from pyopencl_gbdt.prediction.walk_rows import staged_walk

        check_switches(output_margin=output_margin)
        if comes_in_batches(X):
            raise DataError(
                "X comes in batches: expected rows that lie in memory as a whole for the "
                "predictions after each round; give an array"
            )
        rounds = self._rounds(iteration_range)
        values, start = self._rows(X, base_margin, missing)
        margins = staged_walk(self.ensemble, values, device, start, rounds)
        return (self._predictions(own, output_margin) for own in margins)

    def _rows(self, X: Any, base_margin: Any, missing: float | None) -> tuple[Values, F32 | None]:
        """Return checked rows, and their base margins, float32 (n_rows,) or (n_outputs, n_rows)."""
        from pyopencl_gbdt.prediction.in_batches import margin_of

        base_margin = margin_of(X, base_margin)
        values = self._tree_values(self.checked(X, missing=missing))
        start = check_base_margin(base_margin, values.shape[0], self.ensemble.n_outputs)
        return values, start if start is None or self.ensemble.n_outputs == 1 else start.T

    def _background(self, rows: Any, missing: float | None) -> Values:
        """Return the checked rows of a background, or raise an error."""
        from pyopencl_gbdt.prediction.in_batches import check_background

        check_background(rows)
        try:
            return self._rows(rows, None, missing)[0]
        except DataError as error:
            raise DataError(f"background: {error}") from None

    def _predictions(self, margins: F32, ready: bool) -> F32:
        """Return the predictions of margins, which have the shape (n_outputs, n_rows).

        ``ready`` says that they are what is to be returned, but for the shape.
        """
        found = margins[0] if self.ensemble.n_outputs == 1 else margins
        return np.ascontiguousarray((found if ready else self.objective.to_prediction(found)).T)

    def tree_values(self, X: Any, *, missing: float | None = None) -> Values:
        """Return checked rows as trees read them: the columns, then statistics of categories.

        Parameters
        ----------
        X, missing
            As in ``predict``.

        Returns
        -------
        float32 array, DeviceMatrix or SparseMatrix, shape (n_rows, ensemble.n_tree_features)
        """
        return self._tree_values(self._checked(X, missing))

    def _tree_values(self, features: Features) -> Values:
        statistics = self.ensemble.statistics
        if statistics is None:
            return features.values
        from pyopencl_gbdt.prediction.with_statistics import RowsWithStatistics

        return RowsWithStatistics(statistics, features)

    def checked(self, X: Any, *, missing: float | None = None, name: str = "X") -> Features:
        """Return rows with the columns of training, whose categories have its codes; may warn.

        The parameters and errors are those of ``predict``; ``name`` is that of X in messages.
        """
        given = isinstance(X, Dataset)
        names = (
            X.feature_names if given else X.names if isinstance(X, Features) else column_names(X)
        )
        check_columns(names, self.ensemble.feature_names, name)
        return self._checked(X, missing, name)

    def _checked(self, X: Any, missing: float | None, name: str = "X") -> Features:
        features = self._coded(X, missing, name)
        categories = self.ensemble.categories
        warn_of_unknown(features.remarks.unknown, categories, self.ensemble.feature_names)
        return features

    def _coded(self, X: Any, missing: float | None, name: str) -> Features:
        n_features, levels = self.ensemble.n_features, self.ensemble.categories
        if isinstance(X, Dataset):
            check_shape((X.n_rows, X.n_features), name, n_features)
            if not levels and not X.categories:
                return check_features(X.features, missing=missing, categorical=None)
            if not math.isnan(check_missing(missing)):
                raise ParameterError(
                    f"missing={missing}: expected None, as X is a Dataset with categories; give "
                    "missing= to the Dataset"
                )
            return X.coded_by(levels).checked
        if isinstance(X, Features):
            check_shape(X.values.shape, name, n_features)
        return check_features(X, name=name, n_features=n_features, missing=missing, levels=levels)

    def _rounds(self, asked: tuple[int, int] | None) -> tuple[int, int]:
        """Return the first round to use, and the last plus 1."""
        n_rounds = self.num_boosted_rounds()
        try:
            first, last = (0, 0) if asked is None else map(operator.index, asked)
        except (TypeError, ValueError):
            first, last = 0, -1
        if (first, last) == (0, 0):
            return 0, self.rounds_to_predict
        if 0 <= first < last <= n_rounds:
            return first, last
        raise ParameterError(
            f"iteration_range={asked!r}: expected 0 <= begin < end <= {n_rounds}, the "
            f"rounds of this model; leave it out for the best ones"
        )

    def save_model(self, path: str | os.PathLike[str], *, format: str | None = None) -> None:
        """Write the model in the format that the name's ending asks for; whole or not at all.

        ``docs/formats.md`` lists the formats, and which models each can hold: ``.json`` and
        ``.ubj`` are XGBoost's, ``.gbdt`` is this library's and holds every model. ``format`` is the
        ending of the format that is to be written under another name: ``format="catboost"``.
        """
        check_path("save_model: path", path)
        from pyopencl_gbdt.model import write_model

        write_model(self.ensemble, path, format)

    @OfClassOrModel
    @classmethod
    def load_model(cls, path: str | os.PathLike[str] | bytes | bytearray | memoryview) -> Model:
        """Read a model file in any format that is read, and return the model.

        ``path`` may be the file's content, such as ``save_raw`` returns. ``model.load_model(path)``
        also replaces what ``model`` holds, as in XGBoost; after an error it holds what it held.

        Raises
        ------
        ModelFormatError
            If the file is not a valid model; the message says where.
        ParameterError
            If ``path`` cannot be a path.
        """
        check_file("load_model: path", path)
        from pyopencl_gbdt.model import read_model

        return cls(read_model(path))
