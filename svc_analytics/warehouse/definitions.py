"""The glossary: what each figure of a statement means, in words for people.

It is made from the headers of the figures' files alone, so no lake is needed to read it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from difflib import get_close_matches
from functools import cache
from hashlib import sha256

import pyarrow as pa

from svc_analytics.errors import ConfigError
from svc_analytics.formatting.display import label
from svc_analytics.messages import clauses
from svc_analytics.warehouse.figures import Figure, figure_groups, read_figures, stated_figures

SIGNS = {
    "in": "into the wallet",
    "out": "out of the wallet",
    "either": "either way",
    "none": "none",
}
# What must have been read for a figure to be known.
NEEDS = {
    "payments": "payments of the period",
    "payouts": "payout records of the period",
    "refunds_to_date": "refunds to date of the period's payments",
    "parents": "the payments of its refunds, or all payments up to its end",
    "parents_within": "the payments of its refunds, or all payments of the period",
    "opening": "all history before the period",
    "closing": "all history up to the end of the period",
    "verdicts": "verified receipts",
    "asserted": "a reading that reaches to the balance",
    "rate": "all payments and payout records after the one that gives the rate",
}
_NOTHING = "nothing that is extracted"
# The columns of the glossary, with their meanings.
GLOSSARY = {
    "name": "the figure, as its column or row is called",
    "label": "its name for people",
    "group": "the heading under which it stands",
    "unit": "what it is counted in",
    "sign": "whether it is into the wallet or out of it",
    "definition": "what it means",
    "formula": "how it is made, in plain words",
    "needs": "what must have been read for it to be known",
}


@cache
def definitions_table() -> pa.Table:
    """Return the glossary: one row per figure that a statement shows, in its order."""
    columns = pa.schema([(name, pa.string()) for name in GLOSSARY])
    return pa.Table.from_pylist(list(map(describe, stated_figures())), schema=columns)


@cache
def definitions_digest() -> str:
    """Return one hash over the glossary: statements with the same one use the same words."""
    return sha256(json.dumps(definitions_table().to_pylist()).encode()).hexdigest()


def describe(figure: Figure) -> dict[str, str]:
    """Return one figure's row of the glossary."""
    return {
        "name": figure.name,
        "label": figure.label,
        "group": figure.group,
        "unit": figure.unit,
        "sign": SIGNS[figure.sign],
        "definition": figure.definition,
        "formula": figure.formula,
        "needs": clauses(*(NEEDS[need] for need in figure.needs)) if figure.needs else _NOTHING,
    }


def label_of(name: str) -> str:
    """Return the label of a figure; of any other column its name in plain words.

    >>> label_of("refund_ratio_cohort"), label_of("reference_id")
    ('Refund ratio by sale date', 'Reference id')
    """
    figure = read_figures().get(name)
    return figure.label if figure and figure.label else label(name)


def labels_of(name: str) -> tuple[str, ...]:
    """Return the label of a figure or a column, and those that it had in earlier releases.

    >>> labels_of("net_sales")
    ('Sales after fees', 'Net sales')
    """
    figure = read_figures().get(name)
    return (label_of(name), *(figure.earlier if figure else ()))


def in_sentence(name: str) -> str:
    """Return a label as it stands within a sentence.

    >>> in_sentence("gross_sales"), in_sentence("usd_net_sales")
    ('gross sales', 'USD sales after fees')
    """
    text = label_of(name)
    return text if text[:2].isupper() else text[:1].lower() + text[1:]


def grouped_figures() -> dict[str, list[Figure]]:
    """Return all figures that a statement shows by group, both in its order."""
    groups: dict[str, list[Figure]] = {group: [] for group in figure_groups()}
    for figure in stated_figures():
        groups[figure.group].append(figure)
    return groups


def find_figures(names: Iterable[str]) -> list[Figure]:
    """Return figures by their names or labels, however they are capitalised.

    Raises `ConfigError` for one that no statement shows, with the names like it.
    """
    return list(map(find_figure, names))


def find_figure(name: str) -> Figure:
    """Return one figure by its name or its label, or raise `ConfigError`."""
    known = {
        _plain(text): figure for figure in stated_figures() for text in (figure.name, figure.label)
    }
    if figure := known.get(_plain(name)):
        return figure
    near = get_close_matches(_plain(name), known, n=3, cutoff=0.5)
    names = list(dict.fromkeys(f"{known[text].name} ({known[text].label})" for text in near))
    hint = f"did you mean {' or '.join(names)}?" if names else "see svc-analytics figures"
    raise ConfigError(f"no figure {name!r:.60}: {hint}")


def _plain(text: str) -> str:
    return " ".join(text.replace("_", " ").casefold().split())
