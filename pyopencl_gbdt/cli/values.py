"""Convert values of parameters that were given as text."""

from __future__ import annotations

from pyopencl_gbdt.parameters.names import ROWS


def number_or_text(text: str) -> int | float | str:
    """Convert a number's text; return any other text unchanged."""
    for convert in (int, float):
        try:
            return convert(text)
        except ValueError:
            continue
    return text


def typed_value(name: str, text: str) -> int | float | str | list[int | float | str]:
    """Convert the text of a parameter's value; commas separate several numbers.

    A list such as ``[0.1, 0.9]`` stays text, which ``ParameterRow.convert`` reads.
    """
    row = ROWS.get(name)
    if row is not None and row.kind is str:
        return text
    if row is not None and row.several and "," in text and "[" not in text:
        return [number_or_text(part.strip()) for part in text.split(",")]
    return number_or_text(text)
