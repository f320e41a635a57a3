"""Files and configurations of a ``Booster``; those of linear models are XGBoost's, too."""

from __future__ import annotations

import json
import os
import pathlib
import warnings
from dataclasses import fields, replace
from typing import Any

import numpy as np

from pyopencl_gbdt.compat.xgboost.booster_facts import BoosterTrees, Path
from pyopencl_gbdt.compat.xgboost.configuration import as_configuration, parameters_of
from pyopencl_gbdt.compat.xgboost.linear_ensemble import LinearEnsemble, model_of
from pyopencl_gbdt.data.files.whole_file import write_whole
from pyopencl_gbdt.errors import DataTypeError, ModelFormatError, ParameterError
from pyopencl_gbdt.messages import show
from pyopencl_gbdt.model import Ensemble, read_model
from pyopencl_gbdt.model.formats.json_cursor import Cursor
from pyopencl_gbdt.model.formats.registry import FORMATS
from pyopencl_gbdt.model.formats.ubjson import parse_ubjson, render_ubjson
from pyopencl_gbdt.model.formats.xgboost_reader import PLACEHOLDER_KEY, parse, read_document
from pyopencl_gbdt.model.formats.xgboost_writer import xgboost_document
from pyopencl_gbdt.prediction.model import Model

_MOST_ROUNDS = 2**31 - 1
#: What follows the first brace of a file of JSON.
_JSON = b'"\n \r\t'


class BoosterFiles(BoosterTrees):
    """The part of ``Booster`` that reads and writes."""

    def _settled(self) -> Model | None:
        raise NotImplementedError

    def _kept(self) -> Ensemble:
        """Return the model as files keep it: with the attributes and names of the booster."""
        own = self._ensemble()
        return replace(
            own, attributes={**own.attributes, **self._attributes}, feature_names=self._names
        )

    def save_raw(self, raw_format: str = "ubj") -> bytearray:
        """Return the model as the content of a file: ``"ubj"`` or ``"json"``.

        Raises
        ------
        ParameterError
            For another format.
        ModelFormatError
            If XGBoost's files cannot hold the model.
        """
        if raw_format not in ("ubj", "json"):
            raise ParameterError(
                f"Unknown model format: raw_format={show(raw_format)}: expected 'ubj' or 'json'; "
                "give one of them"
            )
        kept = self._kept()
        if isinstance(kept, LinearEnsemble):
            document = linear_document(kept)
        else:
            document = xgboost_document(kept)
        if self._types is not None:
            document["learner"]["feature_types"] = list(self._types)
        if raw_format == "ubj":
            return bytearray(render_ubjson(document))
        text = json.dumps(document, separators=(",", ":"), default=_plain, ensure_ascii=False)
        return bytearray(text.encode("utf-8"))

    def save_model(self, fname: Path) -> None:
        """Write the model: ``.json`` and ``.ubj`` are XGBoost's formats.

        A name with the ending of another format of this library gets that format. Any other name
        gets UBJSON, with a warning.
        """
        if not isinstance(fname, (str, os.PathLike)):
            raise DataTypeError(
                f"fname must be a string or os PathLike, not {type(fname).__name__}; give a path"
            )
        path = str(pathlib.Path(fname).expanduser())
        ending = pathlib.Path(path).suffix.lower()
        others = [one for one in FORMATS if ending in one.suffixes and one.writes]
        if ending in (".json", ".ubj"):
            write_whole(path, bytes(self.save_raw(ending[1:])))
        elif others and ending != ".model":
            Model(self._kept()).save_model(path)
        else:
            warnings.warn(
                f"Saving model in the UBJSON format as default, in {path}. You can use a file "
                "extension: `json` or `ubj` to choose between formats.",
                UserWarning,
                stacklevel=2,
            )
            write_whole(path, bytes(self.save_raw()))

    def load_model(self, fname: Path | bytearray | bytes) -> None:
        """Take the model of a file, or of its content, in any format that this library reads.

        Raises
        ------
        ModelFormatError
            If it is not a model; the booster is unchanged.
        """
        if not isinstance(fname, (str, os.PathLike, bytes, bytearray)):
            raise DataTypeError(f"Unknown file type: {show(fname)}; give a path or bytes")
        source: Any = fname
        if isinstance(fname, (str, os.PathLike)):
            source = str(pathlib.Path(fname).expanduser())
            _warn_of_ending(source)
        ensemble = read_linear(source) or read_model(source)
        self._settled()
        self._rounds = None
        self._attributes = dict(ensemble.attributes)
        self._model = model_of(replace(ensemble, attributes={}))
        self._names = ensemble.feature_names
        self._types = _types_of(source)
        self._n_features = ensemble.n_features
        self._settings.take_model(ensemble)

    def save_config(self) -> str:
        """Return the parameters as XGBoost's JSON."""
        return json.dumps(as_configuration(self._settings, self._ensemble()))

    def load_config(self, config: str) -> None:
        """Take the parameters of ``save_config``, of XGBoost too.

        Raises
        ------
        ModelFormatError
            If the text is not of the form that ``save_config`` returns.
        """
        try:
            found = parameters_of(json.loads(config))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ModelFormatError(
                f"config: not a configuration of a booster ({error}): give what save_config "
                "returned"
            ) from None
        self._settled()
        self._settings.update(found)


def _warn_of_ending(path: str) -> None:
    """Warn of a name without an ending of model files, whose content tells the format.

    Raises
    ------
    ModelFormatError
        If the name ends in .json, and the content is UBJSON, or the other way round.
    """
    ending = pathlib.Path(path).suffix.lower()
    known = any(ending in one.suffixes for one in FORMATS)
    if (known and ending not in (".json", ".ubj")) or not pathlib.Path(path).is_file():
        return
    with pathlib.Path(path).open("rb") as file:
        head = file.read(2)
    is_json = head[:1] == b"{" and head[1:] in _JSON
    if known and head[:1] == b"{" and is_json != (ending == ".json"):
        raise ModelFormatError(
            f"{path}: Expecting: {{...}} of {'JSON' if ending == '.json' else 'UBJSON'}, as its "
            "name says, got the other one; rename the file"
        )
    if known:
        return
    guess = "JSON (`json`)" if head[:1] == b"{" and head[1:] in _JSON else "UBJSON (`ubj`)"
    warnings.warn(
        f"Unknown file format: `{ending[1:]}`. Using {guess} as a guess.", UserWarning, stacklevel=3
    )


def _plain(value: Any) -> Any:
    """Return arrays and NumPy's numbers as JSON has them."""
    return value.tolist() if hasattr(value, "tolist") else value.item()


def _types_of(source: Any) -> list[str] | None:
    """Return the types of columns that a file of XGBoost has."""
    try:
        types = _document(_content(source), "model")["learner"]["feature_types"]
    except (ValueError, KeyError, TypeError):
        return None
    return [str(one) for one in types] or None


def _content(source: str | bytes | bytearray) -> bytes:
    return pathlib.Path(source).read_bytes() if isinstance(source, str) else bytes(source)


def _document(data: bytes, name: str) -> Any:
    """Return what the JSON or UBJSON of a model holds."""
    is_text = data[:1] == b"{" and data[1:2] in _JSON
    return parse(data, name) if is_text else parse_ubjson(data, name)


# -- files of linear models: XGBoost's JSON and UBJSON ---------------------------------------------
def linear_document(model: LinearEnsemble) -> dict[str, Any]:
    """Return a model as the document that XGBoost's JSON and UBJSON spell.

    Raises
    ------
    ModelFormatError
        If the format cannot hold the model.
    """
    found = xgboost_document(model)
    learner = found["learner"]
    learner["attributes"].pop(PLACEHOLDER_KEY, None)
    weights = [np.float32(one) for one in model.weights.reshape(-1)]
    learner["gradient_booster"] = {
        "model": {"boosted_rounds": model.rounds, "weights": weights},
        "name": "gblinear",
    }
    return found


def read_linear(source: str | bytes | bytearray) -> LinearEnsemble | None:
    """Return the linear model of a file, or of its content; None if it is another model.

    Raises
    ------
    ModelFormatError
        If it is a linear model that is not consistent.
    """
    name = source if isinstance(source, str) else "<memory>"
    try:
        data = _content(source)
    except OSError:
        return None  # the reader of other models tells
    if b"gblinear" not in data:
        return None
    document = _document(data, name)
    whole = Cursor(document, "", name)
    booster = whole.member("learner").member("gradient_booster")
    if booster.member("name").value != "gblinear":
        return None
    model = booster.member("model")
    base = _without_weights(document, name)
    n_weights = (base.n_features + 1) * base.n_outputs
    weights = model.member("weights").floats(n_weights, "one for each column and bias, and output")
    if not np.isfinite(weights).all():
        model.member("weights").fail("finite numbers")
    rounds = model.member("boosted_rounds").value if model.has("boosted_rounds") else 0
    if type(rounds) is not int or not 0 <= rounds <= _MOST_ROUNDS:
        model.member("boosted_rounds").fail(f"an integer 0..{_MOST_ROUNDS}")
    given = {own.name: getattr(base, own.name) for own in fields(Ensemble)}
    shape = (base.n_features + 1, base.n_outputs)
    return LinearEnsemble(**given, weights=weights.reshape(shape), rounds=int(str(rounds)))


def _without_weights(document: Any, name: str) -> Ensemble:
    """Return a linear model's document as a model of trees without any tree."""
    booster = {
        "name": "gbtree",
        "model": {
            "gbtree_model_param": {"num_parallel_tree": "1", "num_trees": "0"},
            "tree_info": [],
            "trees": [],
        },
    }
    learner = {**document["learner"], "gradient_booster": booster}
    return read_document(Cursor({**document, "learner": learner}, "", name))
