"""Write the page: verdicts, tables and figures in the paper's order, in a single HTML file."""

from __future__ import annotations

import base64
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from experiments import figures, tables
from experiments.rows import TABLE, Results
from experiments.sentences import CLAIMS
from experiments.verdicts import FAILS, HOLDS, NOT_MEASURED, SETTING, WORDS, Judged, as_frame, judge
from fcca.utils import atomic_outputs

RESULTS, OTHER_TARGETS, ABOUT = "results.parquet", "other_targets.parquet", "about.json"
PAGE, CLAIMS_FILE = "index.html", "claims.csv"
#: Sections of the page, in the paper's order, with the figures or tables that they show.
SECTIONS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("Data sets and target models", ("table 1", "table 2")),
    ("Accuracy", ("accuracy", "features")),
    ("Compression and inconsistency rate", ("compression", "inconsistency")),
    ("Sparsity: the thresholds", ("thresholds",)),
    ("Other target algorithms", ("other targets", "other thresholds")),
    ("The cost of each changed feature, λ0", ("lambda0",)),
    ("Further discretizers and trees (not in the paper)", ("peers",)),
    ("All methods", ("all methods",)),
)
TABLE_TITLES = {
    "table 1": "Table 1: sizes of the data sets, in the paper and here.",
    "table 2": "Table 2: accuracy of the target model (gradient boosting with 100 stumps) and seconds of FCCA per fold, "
    "in the paper and here. The paper's times are from another machine. The times here exclude the fit of the target model.",
    "all methods": "All methods: mean ± standard error over folds. Rates are measured on the held-out rows. Accuracies are "
    "measured on the external rows, or on the held-out rows if there are none. Seconds are the time of the discretization.",
}
SIGNS = {HOLDS: "✓", FAILS: "✗", NOT_MEASURED: "?", SETTING: "·"}


class NoResultsError(Exception):
    """Raised if the folder has no results."""


def load(folder: Path) -> tuple[Results, dict[str, Any]]:
    """Load the rows of a run, and the facts about the run.

    Raises
    ------
    NoResultsError
        If the folder has no results.
    """
    path = folder / RESULTS
    if not path.is_file():
        raise NoResultsError(f"{path} does not exist. To create it, run: python -m experiments run --out {folder}")
    more = folder / OTHER_TARGETS
    about = folder / ABOUT
    results = Results(pd.read_parquet(path), pd.read_parquet(more) if more.is_file() else None)
    return results, json.loads(about.read_text(encoding="utf-8")) if about.is_file() else {}


def build(folder: Path) -> list[Judged]:
    """Check the sentences, draw the figures, write the tables and the page, and return the verdicts."""
    results, about = load(folder)
    judged = judge(CLAIMS, results)
    drawings = list(figures.draw(results, about.get("feature names", {})))
    for drawing in drawings:
        drawing.save(folder / "figures")
    drawn = {drawing.name.replace(" ", "-") for drawing in drawings}
    for left in (folder / "figures").glob("*"):  # figures of an earlier run on other data sets
        if left.stem not in drawn:
            left.unlink()
    found = {
        "table 1": tables.table_1(results),
        "table 2": tables.table_2(results),
        "all methods": tables.all_methods(results),
    }
    text = render(results, about, judged, drawings, found, folder / "figures")
    with atomic_outputs(folder) as outputs:
        as_frame(judged).to_csv(outputs.path(CLAIMS_FILE), index=False)
        for name, table in found.items():
            flat = table.set_axis([" ".join(filter(None, column)) for column in table.columns], axis=1)
            flat.to_csv(outputs.path(f"{name.replace(' ', '-')}.csv"), index=False)
        outputs.path(PAGE).write_text(text, encoding="utf-8")
    return judged


def render(
    results: Results,
    about: Mapping[str, Any],
    judged: Sequence[Judged],
    drawings: Sequence[figures.Drawing],
    found: Mapping[str, pd.DataFrame],
    folder: Path,
) -> str:
    """Return the HTML text of the page."""
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    sections: list[dict[str, Any]] = []
    for title, names in SECTIONS:
        shown = [_shown(name, judged, drawings, found, folder, results) for name in names]
        sections.append(
            {"title": title, "anchor": f"s{len(sections) + 1}", "parts": [part for part in shown if part["items"]]}
        )
    counts = Counter(j.word for j in judged)
    return environment.get_template("page.html.j2").render(
        sections=[section for section in sections if section["parts"]],
        summary=[(word, SIGNS[word], counts[word]) for word in WORDS],
        judged=[(j, SIGNS[j.word]) for j in judged],
        about=about,
        notes=results.notes,
        datasets=results.datasets,
        folds=results.rows["fold"].nunique(),
        methods=list(dict.fromkeys(results.rows["method"])),
        versions={
            column.removeprefix("version "): str(results.rows[column].dropna().iloc[0])
            for column in map(str, results.rows)
            if column.startswith("version ") and results.rows[column].notna().any()
        },
        computing=_computing_seconds(results),
    )


def _shown(
    name: str,
    judged: Sequence[Judged],
    drawings: Sequence[figures.Drawing],
    found: Mapping[str, pd.DataFrame],
    folder: Path,
    results: Results,
) -> dict[str, Any]:
    """Return the table or the figures with this name, and the sentences that refer to them."""
    items: list[dict[str, Any]] = []
    if name in found:
        caption = TABLE_TITLES[name] + figures.notes(results)
        items.append({"table": _table(found[name]), "caption": caption, "id": name.replace(" ", "-")})
    items.extend(
        {"image": _image(folder, drawing), "caption": drawing.caption, "alt": drawing.alt}
        for drawing in drawings
        if drawing.name == name or (name == "thresholds" and drawing.name.startswith("thresholds "))
    )
    sentences = [(j, SIGNS[j.word]) for j in judged if j.claim.figure == name]
    return {"items": items, "sentences": sentences}


def _image(folder: Path, drawing: figures.Drawing) -> str:
    data = (folder / f"{drawing.name.replace(' ', '-')}.svg").read_bytes()
    return f"data:image/svg+xml;base64,{base64.b64encode(data).decode()}"


def _table(frame: pd.DataFrame) -> dict[str, Any]:
    """Convert a data frame to two header rows and the cells. An upper header may span several columns."""
    upper: list[list[Any]] = []
    for top, bottom in frame.columns:
        if upper and upper[-1][0] == top and bottom:
            upper[-1][1] += 1
        else:
            upper.append([top, 1, bool(bottom)])
    lower = [bottom for _, bottom in frame.columns if bottom]
    return {"upper": upper, "lower": lower, "rows": frame.astype(str).to_numpy().tolist()}


def _computing_seconds(results: Results) -> float:
    """Sum the seconds of all discretizers, target models and classifiers of the study."""
    # All granularities of an FCCA cell come from one fit, and each of its rows repeats the seconds of this fit.
    fits = results.rows.drop_duplicates([column for column in TABLE if column != "Q"])
    return float(fits[["seconds", "seconds target"]].sum().sum() + results.rows["seconds classifier"].sum())
