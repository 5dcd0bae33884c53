"""What ``fcca explain`` computes: the cheapest changes of some rows of a file, for a classifier from a file."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd

from fcca._progress import step
from fcca.cli._columns import listed, one_type_per_column
from fcca.cli._data import read_features
from fcca.cli._distillation import collected_notes
from fcca.cli._models import columns_of, decision, labels_note, model_from_file
from fcca.cli._options import ExplainSettings, chosen_rows
from fcca.cli._rules import read_rules
from fcca.counterfactuals import CounterfactualExplainer, Explanations
from fcca.exceptions import InvalidInputError


def _rows(text: str | None, n_rows: int) -> list[int]:
    """The rows that are asked for, each once."""
    if text is None:
        return list(range(n_rows))
    ranges = chosen_rows(text)
    last = max(chosen[-1] for chosen in ranges)
    if last >= n_rows:
        raise InvalidInputError(
            f"--rows is {text}, but there are {n_rows} rows, counted from 0: the last one is {n_rows - 1}."
        )
    return list(dict.fromkeys(row for chosen in ranges for row in chosen))


@dataclass(frozen=True)
class Explanation:
    """All that ``fcca explain`` found."""

    model: Any
    model_file: Path
    data_file: Path
    shape: tuple[int, int]
    found: Explanations  # its rows are called by their numbers in the file
    seconds: float
    notes: tuple[str, ...]

    @property
    def decision(self) -> str | None:
        """Where the model decides, in words; None where that is at even odds."""
        return decision(self.model)

    @property
    def n_unverified(self) -> int:
        """Answers that the classifier itself does not confirm."""
        return int(self.found.is_status("unverified").sum())

    def write(self, path: Path, name: str) -> None:
        """Write one line per move to ``path``, in the format that the final name asks for."""
        frame = one_type_per_column(self.found.to_frame())
        if name.lower().endswith(".parquet"):
            frame.to_parquet(path, index=False)
        else:
            frame.to_csv(path, index=False, lineterminator="\n")

    def document(self) -> dict[str, Any]:
        """Everything as one JSON document; numbers that JSON does not have are null."""
        return {
            "model": str(self.model_file),
            "data": str(self.data_file),
            "classes": self.found.classes.tolist(),
            "target_probability": self.found.target_probability,
            "decision": self.decision,
            "seconds": self.seconds,
            "answers": list(self._answers()),
            "outside_range": self.found.outside_range.to_dict("records"),
            "broken_rules": self.found.broken_rules.to_dict("records"),
            "notes": list(self.notes),
        }

    def _answers(self) -> Iterator[dict[str, Any]]:
        found = self.found
        begin = np.searchsorted(found.moves.point, np.arange(len(found) + 1))
        numbers = ("cost", "bound", "seconds", "probability_before", "probability_after")
        per_answer = zip(found.labels[found.rows].tolist(), found.predicted.tolist(), found.target.tolist(), strict=True)
        for i, ((row, predicted, target), sentence) in enumerate(zip(per_answer, found.sentences(), strict=True)):
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
                        "from": self._value(k, found.moves.origin[k]),
                        "to": self._value(k, found.moves.landing[k]),
                        "cut": _json_number(found.moves.cut[k]),
                    }
                    for k in range(begin[i], begin[i + 1])
                ],
            }

    def _value(self, move: int, code: float) -> Any:
        """Where a move starts or ends: a number, a category's label, or null for a missing value."""
        columns = self.found.columns
        value = code if columns is None else columns.label(int(self.found.moves.feature[move]), float(code))
        if isinstance(value, np.generic):
            value = value.item()
        return _json_number(value) if isinstance(value, float) else value


def _json_number(x: float) -> float | None:
    return float(x) if math.isfinite(x) else None


def explanation(model_file: Path, data_file: Path, settings: ExplainSettings) -> Explanation:
    """Load, read and explain."""
    with step("Loading the model"):
        model = model_from_file(model_file)
        names, n_features, columns = columns_of(model)
    rules = read_rules(settings.rules)
    with step("Reading the data"):
        alone = settings.reference is None

        def read(path: Path, has_label: bool) -> pd.DataFrame:
            model_name = model_file.name
            return read_features(path, settings.label, names, n_features, model_name, columns=columns, has_label=has_label)

        X = read(data_file, alone)
        reference = X if settings.reference is None else read(settings.reference, False)
    rows = _rows(settings.rows, len(X))
    with collected_notes() as notes:
        explainer = CounterfactualExplainer(
            model,
            reference,
            lambda0=settings.lambda0,
            lambda1=settings.lambda1,
            lambda2=settings.lambda2,
            margin=settings.margin,
            decision_threshold=settings.decision_threshold,
            constraints=rules or None,
            n_jobs=settings.jobs,
            time_limit=settings.time_limit,
            time_limit_per_point=settings.time_limit_per_row,
        )
        target = _class_named(settings.target, explainer.classes.tolist())
        began = perf_counter()
        found = explainer.explain(X.iloc[rows], target, settings.target_probability, settings.n)
        seconds = perf_counter() - began
    about_labels = labels_note(model, model_file)
    every_note = (*([] if about_labels is None else [about_labels]), *notes, *found.notes)
    return Explanation(explainer.estimator, model_file, data_file, X.shape, found, seconds, every_note)


def _class_named(text: str | None, classes: list[Any]) -> Any:
    """The class whose label reads like this."""
    if text is None:
        return None
    named = [label for label in classes if str(label) == text]
    if not named:
        raise InvalidInputError(f"--target is {text}, which is not a class of the model. Its classes are {listed(classes)}.")
    return named[0]
