"""Whether models are the same bytes: across devices, drivers and machines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Json = dict[str, Any]
State = Literal["same", "differ", "alone", "none"]

#: What makes two shapes one.
_KEY = (
    "name", "n_rows", "n_features", "objective", "max_depth", "max_bin", "n_rounds", "n_models",
    "missing",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Row:
    """A result with what it belongs to."""

    machine: int
    """Its number in the document."""
    device: Json
    result: Json
    basis: tuple[str, ...]
    """Library version and digest of the data: models are compared where both are equal."""

    @property
    def failed(self) -> bool:
        return bool(self.result["problem"])

    @property
    def digests(self) -> tuple[str, str]:
        return self.result["model_digest"], self.result["prediction_digest"]


@dataclass(frozen=True)
class Compared:
    """A shape with its results on every device.

    Attributes
    ----------
    shape : dict
    rows : list of Row
        Of every machine and device where it was tried.
    state : {"same", "differ", "alone", "none"}
        ``alone``: one model, or none of the same data and library version to compare with.
    kinds : list of (str, str)
        The different models, each as its two digests, in the order of the rows.
    bases : list of tuple of str
        Different library versions and data.
    """

    shape: Json
    rows: list[Row]
    state: State
    kinds: list[tuple[str, str]]
    bases: list[tuple[str, ...]]

    @property
    def measured(self) -> list[Row]:
        return [row for row in self.rows if not row.failed]

    @property
    def verdict(self) -> str:
        """One sentence."""
        n = len(self.measured)
        failed = len(self.rows) - n
        text = {
            "same": f"all {n} models are the same bytes",
            "differ": "THE MODELS DIFFER",
            "alone": "one model, nothing to compare it with" if n == 1 else "not comparable",
            "none": "no model",
        }[self.state]
        if self.state == "differ" and not all(r.result["repeats_agree"] for r in self.measured):
            text += " from run to run"
        if len(self.bases) > 1:
            text += "; compared within equal library versions and data only"
        return f"{text}; {failed} failed" if failed else text


def compare(document: Json) -> list[Compared]:
    """Return every shape of a document, in order of appearance, with its results."""
    shapes: dict[tuple[Any, ...], Json] = {}
    rows: dict[tuple[Any, ...], list[Row]] = {}
    for number, machine in enumerate(document["machines"]):
        devices = {device["device"]: device for device in machine["devices"]}
        seed = machine["options"]["seed"]
        for shape in machine["shapes"]:
            key = (*(shape[name] for name in _KEY), seed)
            shapes.setdefault(key, shape)
            basis = (machine["library"], shape["data_digest"] or "")
            rows.setdefault(key, []).extend(
                Row(number, devices[result["device"]], result, basis)
                for result in machine["results"]
                if result["shape"] == shape["name"]
            )
    return [_compared(shape, rows[key]) for key, shape in shapes.items()]


def _compared(shape: Json, rows: list[Row]) -> Compared:
    good = [row for row in rows if not row.failed]
    kinds = list(dict.fromkeys(row.digests for row in good))
    bases = list(dict.fromkeys(row.basis for row in good))
    groups = [[row.digests for row in good if row.basis == basis] for basis in bases]
    state: State = "same"
    if not good:
        state = "none"
    elif any(len({*group}) > 1 for group in groups) or not all(
        row.result["repeats_agree"] for row in good
    ):
        state = "differ"
    elif all(len(group) == 1 for group in groups):
        state = "alone"
    return Compared(shape, rows, state, kinds, bases)


def overall(compared: list[Compared]) -> tuple[bool, str]:
    """Return whether something was measured and no models differ, and a sentence that says it."""
    differing = [one.shape["name"] for one in compared if one.state == "differ"]
    failed = sum(row.failed for one in compared for row in one.rows)
    measured = sum(len(one.measured) for one in compared)
    also = f"; {failed} of {failed + measured} failed" if failed else ""
    if differing:
        return False, f"MODELS DIFFER: {', '.join(differing)}{also}."
    if not measured:
        return False, f"nothing was measured{also}."
    same = [one for one in compared if one.state == "same"]
    if not same:
        return True, f"nothing to compare: no two models of the same data{also}."
    return (
        True,
        f"same model bytes in every comparison, {len(same)} of {len(compared)} shapes{also}.",
    )
