"""Models in UBJSON, in this library's own forms, and of XGBoost's other boosters."""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from pyopencl_gbdt.model import Ensemble, from_xgboost_json
from pyopencl_gbdt.model.formats.own_binary import OwnBinary
from pyopencl_gbdt.model.formats.own_json import OwnJson
from pyopencl_gbdt.model.formats.registry import XGBoostUbjson
from pyopencl_gbdt.model.formats.ubjson import NUMBERS, parse_ubjson, render_ubjson
from tests.fuzz import category_models, models
from tests.fuzz.formats import Format
from tests.fuzz.mutations import mutate
from tests.model.format_kinds import KINDS
from tests.model.write_corpus import CORPUS

_LENGTHS = (0, 1, 2, 127, 2**31 - 1, 2**31, 2**62, -1)
PIECES = (
    *(b"L" + (length % 2**64).to_bytes(8, "big") for length in _LENGTHS),
    b"i\x00", b"i\x01", b"i\xff", b"U\xff", b"I\x7f\xff", b"[", b"]", b"{", b"}", b"Z", b"T", b"N",
    b"S", b"#", b"$", b"[$d#", b"[$l#", b"[$U#", b"[$Z#", b"[#", b"{#", b"d\x7f\x80\x00\x00",
    b"\xff\xff\xff\xff", b"\x7f\xc0\x00\x00", b"[]", b"{}",
)  # fmt: skip


def _all_models() -> list[Ensemble]:
    others = [*category_models._models(), KINDS["linear leaves"]()]
    return [*map(from_xgboost_json, models._model_seeds()), *others]


class Ubjson(models.Models):
    """Documents whose values were changed and rendered, or whose bytes were."""

    name, suffix, pieces = "ubjson", ".ubj", PIECES
    n_mutations, n_sampled = 100_000, 30

    def seeds(self) -> list[bytes]:
        return _ubjson_seeds()

    def check_round_trip(self, ensemble: Ensemble, path: Path) -> None:
        one = XGBoostUbjson()
        assert one.read(one.write(ensemble), path.name) == ensemble

    def mutate(self, data: bytes, rng: np.random.Generator) -> bytes:
        if rng.random() < 0.5:
            return mutate(data, rng, self.pieces)
        document: Any = parse_ubjson(data, "seed")
        if rng.random() < 0.6:
            _edit_array(document, rng)
        else:
            models.edit(document, rng)
        return render_ubjson(_writable(document))


def _edit_array(document: Any, rng: np.random.Generator) -> None:
    """Change numbers, the length or the type of some arrays of one type."""
    found = [place for place in _arrays(document) if place[0][place[1]].size]
    for _ in range(int(min(rng.geometric(0.6), 4))):
        container, key = found[rng.integers(len(found))]
        array, chance = container[key].copy(), rng.random()
        if not array.size:
            continue
        if chance < 0.7:
            with np.errstate(all="ignore"):
                strange = np.array([-1, 0, 1, 2, 3, 2**31 - 1, 1e39, np.nan, -np.inf, 255])
                array[rng.integers(array.size)] = rng.choice(strange).astype(array.dtype)
        elif chance < 0.85:
            array = array[: rng.integers(array.size)] if rng.random() < 0.5 else np.tile(array, 2)
        else:
            kinds = list(NUMBERS.values())
            array = array.astype(kinds[rng.integers(len(kinds))].newbyteorder("="))
        container[key] = array


def _arrays(value: Any) -> Iterator[tuple[Any, Any]]:
    for key in list(value) if isinstance(value, dict) else range(len(value)):
        if isinstance(value[key], np.ndarray):
            yield value, key
        elif isinstance(value[key], (dict, list)):
            yield from _arrays(value[key])


def _writable(value: Any) -> Any:
    """Return a document without values that UBJSON's writer has no type for."""
    if isinstance(value, dict):
        return {key: _writable(one) for key, one in value.items() if "\ud800" not in key}
    if isinstance(value, list):
        return [_writable(one) for one in value]
    if isinstance(value, np.ndarray):
        return value
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, int) and abs(value) < 2**63 and not isinstance(value, bool):
        return value
    return np.array([0 if value is None else float(min(value, 1e300))])


class Binary(models.Models):
    """Files with the right digest, most of them; trees and documents are damaged."""

    name, suffix = "binary", ".gbdt"
    n_mutations, n_sampled = 100_000, 30

    def seeds(self) -> list[bytes]:
        return _binary_seeds()

    def check_round_trip(self, ensemble: Ensemble, path: Path) -> None:
        one = OwnBinary()
        assert one.read(one.write(ensemble), path.name) == ensemble

    def mutate(self, data: bytes, rng: np.random.Generator) -> bytes:
        size = int.from_bytes(data[12:16], "little")
        parts = [data[:40], data[40 : 40 + size], data[40 + size : -32]]
        chance = rng.random()
        if chance < 0.1:
            return mutate(data, rng, self.pieces)
        if chance < 0.3:
            parts[0] = _with_numbers(parts[0], rng)
        elif chance < 0.5:
            parts[1] = super().mutate(parts[1], rng)
            parts[0] = parts[0][:12] + len(parts[1]).to_bytes(4, "little") + parts[0][16:]
        else:
            parts[2] = _with_numbers(parts[2], rng)
        changed = b"".join(parts)
        return changed + hashlib.sha256(changed).digest()

    def learner(self, document: Any) -> Any:
        return document["model"]["learner"]


def _with_numbers(data: bytes, rng: np.random.Generator) -> bytes:
    """Return bytes with some numbers of four bytes changed, and perhaps cut or repeated."""
    numbers = [0, 1, 2, 3, 5, 8, 2**31 - 1, 2**31, 2**32 - 1, 0x7F800000, 0x7FC00000, 0x00000001]
    changed = bytearray(data)
    for _ in range(int(min(rng.geometric(0.6), 4))):
        if len(changed) > 4:
            place = int(rng.integers(len(changed) // 4)) * 4
            if rng.random() < 0.3:
                place, new = int(rng.integers(len(changed))), bytes([rng.integers(4)])
            else:
                new = numbers[rng.integers(len(numbers))].to_bytes(4, "little")
            changed[place : place + len(new)] = new
    if rng.random() < 0.1:
        cut = int(rng.integers(len(changed) + 1))
        changed = changed[:cut] if rng.random() < 0.5 else changed + changed[cut:]
    return bytes(changed)


@cache
def _ubjson_seeds() -> list[bytes]:
    one = XGBoostUbjson()
    return [one.write(model) for model in _all_models() if not one.lacks(model)]


@cache
def _binary_seeds() -> list[bytes]:
    return [OwnBinary().write(model) for model in _all_models()]


class OwnDocuments(models.Models):
    """This library's JSON: a model of any kind, with members that XGBoost's has not."""

    name, suffix = "own-json", ".gbdt.json"
    n_mutations, n_sampled = 100_000, 20

    def seeds(self) -> list[bytes]:
        return _own_seeds()

    def check_round_trip(self, ensemble: Ensemble, path: Path) -> None:
        one = OwnJson()
        assert one.read(one.write(ensemble), path.name) == ensemble

    def mutate(self, data: bytes, rng: np.random.Generator) -> bytes:
        """Change a document and compute its digest, or change any bytes."""
        if rng.random() < 0.1:
            return mutate(data, rng, self.pieces)
        body = super().mutate(b"{" + data.split(b",", 3)[3], rng)[1:]
        usual = b"3" if b'"linear":' in data else b"2"
        version = usual if rng.random() < 0.9 else b"1"
        digest = hashlib.sha256(body).hexdigest().encode()
        return b'{"format":"pyopencl_gbdt","version":%s,"digest":"%s",%s' % (version, digest, body)

    def learner(self, document: Any) -> Any:
        return document["model"]["learner"]


class Boosters(models.Models):
    """JSON of XGBoost's booster dart and of vector leaves, as XGBoost wrote it."""

    name = "boosters"
    n_mutations, n_sampled = 100_000, 20

    def seeds(self) -> list[bytes]:
        return _booster_seeds()


@cache
def _own_seeds() -> list[bytes]:
    return [OwnJson().write(model) for model in _all_models()]


@cache
def _booster_seeds() -> list[bytes]:
    found = []
    for version in ("2.0.3", "3.2.0"):
        with zipfile.ZipFile(CORPUS / f"xgboost-{version}.zip") as archive:
            found += [archive.read(f"{name}.json") for name in ("dart", "vectors")]
            if version == "3.2.0":
                found.append(archive.read("reduced-vectors.json"))
    return found


FORMATS: list[Format] = [Ubjson(), Binary(), OwnDocuments(), Boosters()]
