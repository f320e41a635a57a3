"""A model in words, and as a card for a notebook."""

from __future__ import annotations

import textwrap
from html import escape

from pyopencl_gbdt.model.best_round import BEST_ITERATION, first_of_history
from pyopencl_gbdt.model.explain import used_importances
from pyopencl_gbdt.model.pictures import shorten
from pyopencl_gbdt.model.summary import grouped_variants, summarize
from pyopencl_gbdt.prediction.inspection import Inspected

_WIDTH, _INDENT = 100, 12
#: How many features a card shows, and how many characters of a name.
_MOST_BARS, _LONGEST_NAME = 8, 60

#: A card takes the notebook's own colours of text and page; only bars have a colour.
_STYLE = """\
.gbdt-card{--gbdt-bar:#0072b2;max-width:46rem;font:13px/1.45 system-ui,sans-serif;color:inherit}
@media (prefers-color-scheme:dark){.gbdt-card{--gbdt-bar:#56b4e9}}
.gbdt-card table{border-collapse:collapse;width:100%;margin:.3em 0;color:inherit}
.gbdt-card td,.gbdt-card th{padding:.15em .6em .15em 0;text-align:left;vertical-align:top;
border:0;border-top:1px solid rgba(128,128,128,.3);background:none;overflow-wrap:anywhere;
font-weight:normal;color:inherit}
.gbdt-card th{opacity:.75;width:7em}
.gbdt-card i{display:block;height:.7em;margin-top:.4em;background:var(--gbdt-bar)}
.gbdt-card summary{cursor:pointer}"""


def facts_of(model: Inspected) -> list[tuple[str, str]]:
    """Return pairs of a heading and a text: what the model is, and how it was trained."""
    facts = summarize(model.ensemble).lines()
    if BEST_ITERATION in model.ensemble.attributes:
        best, score = model.best_iteration, model.best_score
        facts.append(("best round", f"{best}, counted from 0; its score is {score:.6g}"))
    scores = _scores(model)
    if scores:
        facts.append(("metrics", scores))
    facts.append(("device", model.training_device or "not known: the model was read from a file"))
    if model.variants:
        facts.append(("variants", f"kernels by variant: {grouped_variants(model.variants)}"))
    return facts


def _scores(model: Inspected) -> str:
    """Return every metric of every evaluation set, after the last round that predictions use."""
    last = model.rounds_to_predict - 1 - first_of_history(model)
    return "; ".join(
        f"{name}: " + ", ".join(f"{metric} {values[last]:.6g}" for metric, values in own.items())
        for name, own in model.history.items()
        if all(0 <= last < len(values) for values in own.values())
    )


def describe(model: Inspected) -> str:
    """Return the facts of a model, a paragraph for each."""
    return "\n".join(
        textwrap.fill(
            text, _WIDTH, initial_indent=heading.ljust(_INDENT), subsequent_indent=" " * _INDENT,
            break_long_words=False, break_on_hyphens=False,
        )
        for heading, text in facts_of(model)
    )  # fmt: skip


def card(model: Inspected, title: str = "Model", settings: str = "") -> str:
    """Return a model as HTML for a notebook, without scripts; all names are escaped.

    Parameters
    ----------
    model : Inspected
    title : str
    settings : str
        What an estimator was made with; empty leaves it out.
    """
    facts = ([("settings", settings)] if settings else []) + facts_of(model)
    shown = "".join(
        f"<tr><th>{escape(heading)}</th><td>{escape(text)}</td></tr>" for heading, text in facts
    )
    return (
        f'<div class="gbdt-card"><style>{_STYLE}</style><b>{escape(title)}</b>'
        f"<table>{shown}</table>{_bars(model)}</div>"
    )


def _bars(model: Inspected) -> str:
    """Return the most important features with bars; empty without splits."""
    ensemble = model.ensemble
    used, gains = used_importances(ensemble, "total_gain")
    pairs = sorted(zip(gains.tolist(), used.tolist(), strict=True), key=lambda pair: -pair[0])
    whole = sum(gains.tolist()) or 1.0
    if not pairs:
        return ""
    longest = pairs[0][0] or 1.0
    rows = "".join(
        f"<tr><td>{escape(shorten(ensemble.feature_name(feature), _LONGEST_NAME))}</td>"
        f'<td style="width:40%"><i style="width:{100 * gain / longest:.1f}%"></i></td>'
        f'<td style="width:4em">{gain / whole:.1%}</td></tr>'
        for gain, feature in pairs[:_MOST_BARS]
    )
    what = f"features by total gain, {min(len(pairs), _MOST_BARS)} of {ensemble.n_features}"
    return f"<details><summary>{what}</summary><table>{rows}</table></details>"
