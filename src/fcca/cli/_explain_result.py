"""Run ``fcca explain``: compute counterfactuals, and print them as tables or JSON."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from fcca.cli._checks import check_special_columns, chosen_rows, margin_of
from fcca.cli._class_names import ClassNames
from fcca.cli._column_types import one_type_per_column
from fcca.cli._command import Result
from fcca.cli._console_text import add_numbers, number, panel, plain_table, printable, seconds, status_in_words, written_to
from fcca.cli._explain_command import Explain
from fcca.cli._models import columns_of, decision, described, notes_on_labels, tree_or_model_from_file
from fcca.cli._notes import collected_notes
from fcca.cli._read_table import read_features
from fcca.cli._rules_option import read_rules
from fcca.cli._running import EXIT_UNVERIFIED
from fcca.counterfactuals import SIDES, CounterfactualExplainer, Explanations, Regions
from fcca.exceptions import InvalidInputError, UnknownValuesWarning
from fcca.tables import Columns
from fcca.utils import AtomicOutputs, step

COUNTERFACTUALS_SHOWN = 20
STYLES = {
    "optimal": "green",
    "within_gap": "green",
    "feasible": "yellow",
    "infeasible": "dim",
    "unknown": "yellow",
    "unverified": "bold red",
}


def _rows(text: str | None, n_rows: int) -> list[int]:
    """Return the row numbers that ``--rows`` lists, or all row numbers by default."""
    if text is None:
        return list(range(n_rows))
    ranges = chosen_rows(text)
    last = max(chosen[-1] for chosen in ranges)
    if last >= n_rows:
        raise InvalidInputError(
            f"--rows is {text}, but the table has {n_rows} rows. Counted from 0, the last row is {n_rows - 1}."
        )
    return list(dict.fromkeys(row for chosen in ranges for row in chosen))


def _rows_of_class(
    explainer: CounterfactualExplainer, X: pd.DataFrame, rows: list[int], only: str | None, names: ClassNames
) -> list[int]:
    """Return the rows that are predicted as the class of ``--only``, or all rows without this option."""
    if only is None:
        return rows
    label = names.label("--only", only)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnknownValuesWarning)  # issued again for the rows to explain
        is_chosen = explainer.predict(X.iloc[rows]) == label
    chosen = [row for row, kept in zip(rows, is_chosen.tolist(), strict=True) if kept]
    if not chosen:
        raise InvalidInputError(f"--only is {only}, but none of the {number(len(rows))} rows is predicted as this class.")
    return chosen


@dataclass(frozen=True)
class ExplainResult(Result):
    """The result of ``fcca explain``: the counterfactuals and the model."""

    settings: Explain
    model: Any
    names: ClassNames
    shape: tuple[int, int]
    found: Explanations  # rows are named by their positions in the file
    seconds: float
    notes: tuple[str, ...]
    regions: Regions | None = None

    @property
    def decision(self) -> str | None:
        """Text about the decision threshold of the model; None for the usual threshold."""
        return decision(self.model, self.names.name)

    def verdict(self) -> tuple[int, str]:
        """Return the exit code and an error message.

        It is an error if a counterfactual does not flip the prediction of the model.
        """
        n = int(self.found.is_status("unverified").sum())
        if n == 0:
            return 0, ""
        return EXIT_UNVERIFIED, f"{n} of {len(self.found)} counterfactuals do not flip the model's prediction."

    def write(self, outputs: AtomicOutputs) -> None:
        """Write the changes to a file, with one line per changed column."""
        out, frame = self.settings.out, one_type_per_column(self.found.to_frame())
        assert out is not None
        if out.name.lower().endswith(".parquet"):
            frame.to_parquet(outputs.path(out.name), index=False)
        else:
            frame.to_csv(outputs.path(out.name), index=False, lineterminator="\n")

    def summary(self, written: Sequence[Path]) -> RenderableType:
        """Return the counterfactuals as a table and as sentences."""
        return Group(
            panel("fcca explain", self._facts()),
            _counterfactuals_table(self.found),
            Text(),
            _sentences(self.found, self.regions),
            *written_to(written),
        )

    def _facts(self) -> list[tuple[str, str]]:
        n_rows, n_columns = self.shape
        return [
            ("Model", f"{printable(self.settings.model_file.name)}: {described(self.model)}"),
            ("Data", f"{printable(self.settings.data.name)}: {number(n_rows)} rows × {number(n_columns)} columns"),
            *([] if self.decision is None else [("Decision", printable(self.decision))]),
            ("Counterfactuals", _counts(self.found)),
            ("Time", seconds(self.seconds)),
        ]

    def document(self, written: Sequence[Path]) -> dict[str, Any]:
        """Return the counterfactuals as a dictionary, for ``--json``.

        NaN and infinity become None, because JSON cannot represent them.
        """
        return {
            "model": str(self.settings.model_file),
            "data": str(self.settings.data),
            "classes": self.found.classes.tolist(),
            "target_probability": self.found.target_probability,
            "decision": self.decision,
            "seconds": self.seconds,
            "answers": list(self._counterfactuals()),
            "outside_range": self.found.outside_range.to_dict("records"),
            "broken_rules": self.found.broken_rules.to_dict("records"),
            "notes": list(self.notes),
        }

    def _counterfactuals(self) -> Iterator[dict[str, Any]]:
        found = self.found
        begin = np.searchsorted(found.moves.point, np.arange(len(found) + 1))
        numbers = ("cost", "bound", "seconds", "probability_before", "probability_after")
        classes = zip(found.labels[found.rows].tolist(), found.predicted.tolist(), found.target.tolist(), strict=True)
        for i, ((row, predicted, target), sentence) in enumerate(zip(classes, found.sentences(), strict=True)):
            yield {
                "row": row,
                "answer": int(found.answer[i]),
                "predicted": predicted,
                "target": target,
                "status": str(found.status[i]),
                **{name: _json_number(getattr(found, name)[i]) for name in numbers},
                "nodes": int(found.nodes[i]),
                "sentence": sentence,
                "moves": [
                    {
                        "feature": found.feature_names[found.moves.feature[k]],
                        "from": _value(found.columns, int(found.moves.feature[k]), float(found.moves.origin[k])),
                        "to": _value(found.columns, int(found.moves.feature[k]), float(found.moves.landing[k])),
                        "cut": _json_number(found.moves.cut[k]),
                    }
                    for k in range(begin[i], begin[i + 1])
                ],
                **({} if self.regions is None else {"region": _region(self.regions, i)}),
            }


def _value(columns: Columns | None, feature: int, code: float) -> Any:
    """Return a value of a column for ``--json``; None for a missing value.

    ``code`` is the value, or the code of a category.
    """
    value = code if columns is None else columns.label(feature, code)
    if isinstance(value, np.generic):
        value = value.item()
    return _json_number(value) if isinstance(value, float) else value


def _region(regions: Regions, i: int) -> dict[str, Any]:
    """Return a region as a dictionary, for ``--json``.

    An end is None if the column has no limit there, or if its value is missing or a category.
    """
    names = regions.found.feature_names
    limited = [] if regions.status[i] == "none" else np.flatnonzero(~regions.is_free[i]).tolist()
    return {
        "status": str(regions.status[i]),
        "sentence": regions.sentence(i),
        "lower_is_inside": regions.lower_is_inside,
        "limits": [
            {
                "feature": names[j],
                "lower": _json_number(regions.lower[i, j]),
                "upper": _json_number(regions.upper[i, j]),
                "categories": regions.labels(i, j),
            }
            for j in limited
        ],
        "free": [names[j] for j in np.flatnonzero(regions.is_free[i]).tolist()],
        "witnesses": [_witness(regions, k) for k in np.flatnonzero(regions.witness_of == i).tolist()],
    }


def _witness(regions: Regions, k: int) -> dict[str, Any]:
    """Return a witness, with its values that differ from the changed row."""
    found, row, point = regions.found, regions.witness_rows[k], regions.found.points[regions.witness_of[k]]
    different = np.flatnonzero(~((row == point) | (np.isnan(row) & np.isnan(point)))).tolist()
    predicted = regions.witness_class[k]
    return {
        "feature": found.feature_names[regions.witness_feature[k]],
        "side": SIDES[int(regions.witness_direction[k])],
        "predicted": predicted.item() if isinstance(predicted, np.generic) else predicted,
        "values": {found.feature_names[j]: _value(found.columns, j, float(row[j])) for j in different},
    }


def _json_number(x: float) -> float | None:
    return float(x) if math.isfinite(x) else None


def run_explain(settings: Explain) -> ExplainResult:
    """Load the model, read the table, and compute the counterfactuals of the chosen rows."""
    model_file = settings.model_file
    with step("Loading the model"):
        model = tree_or_model_from_file(model_file, trusted=settings.trust_model_file)
        columns = columns_of(model, model_file)
        names = ClassNames(settings.class_names, model.classes_.tolist(), "the model")
    rules = read_rules(settings.rules)
    with step("Reading the data"):
        X, unused = read_features(settings.data, settings.label, columns, has_label=settings.reference is None)
        reference = X
        if settings.reference is not None:
            reference, _ = read_features(settings.reference, settings.label, columns, has_label=False)
    check_special_columns(settings.distances().get("special_values"), list(reference.columns))
    rows = _rows(settings.rows, len(X))
    with collected_notes() as notes:
        explainer = CounterfactualExplainer(
            model,
            reference,
            lambda0=settings.lambda0,
            lambda1=settings.lambda1,
            lambda2=settings.lambda2,
            **settings.distances(),
            margin=margin_of(settings.margin),
            decision_threshold=settings.decision_threshold,
            constraints=rules or None,
            plausibility=settings.plausibility,
            n_jobs=settings.jobs,
            time_limit=settings.time_limit,
            time_limit_per_row=settings.time_limit_per_row,
            relative_gap=settings.relative_gap,
            handle_unknown="ignore",  # the notes of the result name these values
        )
        target = names.label("--target", settings.target)
        rows = _rows_of_class(explainer, X, rows, settings.only, names)
        began = perf_counter()
        found = explainer.explain(X.iloc[rows], target, settings.target_probability, settings.n)
        duration = perf_counter() - began
        regions = explainer.regions(found) if settings.regions else None
    if names.by_label:
        found = replace(found, classes=np.array(names.all(found.classes.tolist())))
        regions = None if regions is None else replace(regions, found=found)
    every_note = (*notes_on_labels(model, model_file), *unused, *notes, *found.notes)
    return ExplainResult(settings, explainer.classifier, names, X.shape, found, duration, every_note, regions)


# --- console -------------------------------------------------------------------------------------------------------------


def _is_already_target(found: Explanations) -> NDArray[np.bool_]:
    """Return a mask of counterfactuals that change nothing.

    Their rows already have the target class.
    """
    is_moved = np.isin(np.arange(len(found)), found.moves.point)
    return found.is_status("optimal") & ~is_moved


def _is_no_other(found: Explanations) -> NDArray[np.bool_]:
    """Return a mask of entries that report that no further counterfactual exists.

    With ``--n``, such an entry follows the last counterfactual of a row.
    """
    return found.is_status("infeasible") & (found.answer > 1)


def _counts(found: Explanations) -> str:
    """Describe how many rows were explained, and how many counterfactuals have each status."""
    already, no_other = _is_already_target(found), _is_no_other(found)
    n_rows, n_changes = len(np.unique(found.rows)), int((~already & ~no_other).sum())
    statuses = found.status[~already & ~no_other].tolist()
    parts = [f"{number(statuses.count(status))} {status_in_words(status)}" for status in STYLES if status in statuses]
    if already.any():
        targets = {printable(target) for target in found.target[already]}
        parts.append(f"{number(int(already.sum()))} already {targets.pop() if len(targets) == 1 else 'in the target class'}")
    rows = f"{number(n_rows)} row{'s' if n_rows != 1 else ''}"
    if bool((found.answer > 1).any()):
        rows += f", {number(n_changes)} counterfactual{'s' if n_changes != 1 else ''}"
    end = ""
    if no_other.any():
        which = "" if n_rows == 1 else f" for {number(int(no_other.sum()))} of the rows"
        end = f"; proven that no other counterfactual exists{which}"
    return f"{rows}: {', '.join(parts)}{end}"


def _counterfactuals_table(found: Explanations) -> Table:
    several, likely = bool((found.answer > 1).any()), bool(np.isfinite(found.probability_before).any())
    table = plain_table()
    add_numbers(table, "Row", *(["#"] if several else []))
    table.add_column("now", overflow="fold")
    table.add_column("then", overflow="fold")
    if likely:
        table.add_column(Text(_whose_probability(found)), overflow="fold")
    add_numbers(table, "cost")
    table.add_column("proof", no_wrap=True)
    status, target, predicted, labels = found.status, found.target, found.predicted, found.labels[found.rows]
    words = np.where(_is_already_target(found), "none needed", np.where(_is_no_other(found), "no other", status))
    for i in range(min(len(found), COUNTERFACTUALS_SHOWN)):
        cells: list[RenderableType] = [Text(printable(labels[i]))]
        if several:
            cells.append(str(found.answer[i]))
        is_found = str(status[i]) not in ("infeasible", "unknown")
        cells += [Text(printable(predicted[i])), Text(printable(target[i]) if is_found else "–")]
        if likely:
            before, after = found.probability_before[i], found.probability_after[i]
            cells.append(Text(f"{_share(before)} → {_share(after)}", no_wrap=True))
        cells += [f"{found.cost[i]:.4g}" if is_found else "–", Text(str(words[i]), style=STYLES[str(status[i])])]
        table.add_row(*cells)
    return table


def _whose_probability(found: Explanations) -> str:
    """Return the title of the probability column.

    It is ``P(approved)`` if all shown counterfactuals lead to the class approved, and ``P(then)`` if they lead to
    different classes.
    """
    codes = np.unique(found.class_code[:COUNTERFACTUALS_SHOWN])
    return f"P({printable(found.classes[codes[0]])})" if len(codes) == 1 and codes[0] >= 0 else "P(then)"


def _share(probability: float) -> str:
    return f"{probability:.3f}" if np.isfinite(probability) else "–"


def _sentences(found: Explanations, regions: Regions | None) -> Group:
    lines = []
    for i, text in enumerate(found.sentences()[:COUNTERFACTUALS_SHOWN]):
        lines.append(Text(printable(text)))
        if regions is not None and regions.status[i] != "none":
            lines.append(Text(f"  {printable(regions.sentence(i))}", style="dim"))
    if len(found) > COUNTERFACTUALS_SHOWN:
        more = number(len(found) - COUNTERFACTUALS_SHOWN)
        lines.append(Text(f"… {more} more: use --out FILE or --json for all.", style="dim"))
    return Group(*lines)
