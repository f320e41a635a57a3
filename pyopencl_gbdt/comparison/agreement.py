"""Tell whether models have the same bytes across devices, drivers and machines."""

from __future__ import annotations

from typing import Any, Literal

from pyopencl_gbdt.lazy_dataclasses import dataclass

Json = dict[str, Any]
State = Literal["same", "differ", "alone", "none"]

#: Shapes that agree in these keys are the same shape.
_KEY = (
    "name", "n_rows", "n_features", "objective", "max_depth", "max_bin", "n_rounds", "n_models",
    "missing",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Row:
    """A result, with its machine, device and data."""

    machine: int
    """The machine's number in the document."""
    device: Json
    result: Json
    basis: tuple[str, ...]
    """Library version and digest of the data; models are compared only if both are equal."""

    @property
    def failed(self) -> bool:
        return bool(self.result["problem"])

    @property
    def digests(self) -> tuple[str, str]:
        return self.result["model_digest"], self.result["prediction_digest"]


@dataclass(frozen=True)
class Compared:
    """A shape, with its results on every device.

    Attributes
    ----------
    rows : list of Row
        One for every machine and device that tried the shape.
    state : {"same", "differ", "alone", "none"}
        ``alone``: no two models have the same data and library version.
    kinds : list of (str, str)
        The distinct models, each as its two digests, in order of appearance.
    bases : list of tuple of str
        The distinct pairs of library version and data.
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
        """The result of the comparison as one sentence."""
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
    """Return every shape of a document with its results, in order of appearance."""
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
    """Return whether something was measured without differences, and a sentence for people."""
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
