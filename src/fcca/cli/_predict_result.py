"""Run ``fcca predict``: predict rows, and print the predictions as a table or JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from fcca.cli._class_names import ClassNames
from fcca.cli._command import Result
from fcca.cli._console_text import add_numbers, classes_in_words, number, panel, plain_table, printable, written_to
from fcca.cli._models import SCORECARDS, columns_of, described, notes_on_labels, predictor_from_file, structure_of
from fcca.cli._notes import collected_notes
from fcca.cli._predict_command import Predict
from fcca.cli._read_table import read_features
from fcca.cli._table_labels import counts_of
from fcca.exceptions import InvalidInputError
from fcca.models import as_fitted_on, labelled, read_model
from fcca.scorecard import as_scorecard
from fcca.tables import Columns
from fcca.trees import LeafReasons
from fcca.utils import AtomicOutputs, step

ROWS_SHOWN = 10


@dataclass(frozen=True)
class PredictResult(Result):
    """The result of ``fcca predict``: the predictions of all rows, with paths and reasons of a tree, or scores."""

    settings: Predict
    model: Any
    shape: tuple[int, int]
    classes: NDArray[Any]
    predicted: NDArray[Any]
    probability: NDArray[np.float64] | None  # None for a model without predict_proba
    leaves: list[LeafReasons] | None  # the leaf of each row; None for a model that is not a small tree
    score: NDArray[np.float64] | None  # None for a model that is not a scorecard
    notes: tuple[str, ...]

    def summary(self, written: Sequence[Path]) -> RenderableType:
        """Return the predictions of the first rows as a table."""
        n_rows, n_columns = self.shape
        facts = [
            ("Model", f"{printable(self.settings.model_file.name)}: {described(self.model)}"),
            ("Data", f"{printable(self.settings.data.name)}: {number(n_rows)} rows × {number(n_columns)} columns"),
            ("Predictions", classes_in_words(counts_of(self.predicted))),
            *([] if self.leaves is None else [("Reasons", self._about_reasons())]),
        ]
        more = number(n_rows - ROWS_SHOWN)
        hint = [Text(f"… {more} more rows: use --out FILE or --json for all.", style="dim")] if n_rows > ROWS_SHOWN else []
        return Group(panel("fcca predict", facts), self._table(), *hint, *written_to(written))

    def _about_reasons(self) -> str:
        wanted = self.settings.wanted
        against = "the next best class" if wanted is None else printable(wanted)
        return f"conditions that lowered the probability of {against}, and by how much"

    def _table(self) -> Table:
        table = plain_table()
        add_numbers(table, "Row")
        table.add_column("prediction", overflow="fold")
        if self.probability is not None:
            shown = self._shown_classes()
            for name in ["P"] if shown is None else [f"P({printable(self.classes[k])})" for k in shown]:
                table.add_column(Text(name), justify="right", overflow="fold")
        if self.score is not None:
            add_numbers(table, "score")
        if self.leaves is not None:
            table.add_column("path", overflow="fold")
            table.add_column("reasons", overflow="fold")
        for i in range(min(ROWS_SHOWN, len(self.predicted))):
            cells: list[RenderableType] = [str(i), Text(printable(self.predicted[i]))]
            if self.probability is not None:
                share = self.probability[i]
                cells += [f"{x:.3f}" for x in ([share.max()] if shown is None else share[shown])]
            if self.score is not None:
                cells.append(f"{self.score[i]:.6g}")
            if self.leaves is not None:
                leaf = self.leaves[i]
                reasons = [f"{printable(reason.condition)} (−{reason.drop:.3f})" for reason in leaf.reasons]
                path = [printable(condition) for condition in leaf.path]
                cells += [Text("\n".join(path) or "always"), Text("\n".join(reasons) or "none")]
            table.add_row(*cells)
        return table

    def _shown_classes(self) -> list[int] | None:
        """Return the classes whose probabilities the table shows; None for the predicted class of each row."""
        if self.settings.wanted is not None:
            return [[str(label) for label in self.classes.tolist()].index(self.settings.wanted)]
        return [1] if len(self.classes) == 2 else None

    def document(self, written: Sequence[Path]) -> dict[str, Any]:
        """Return the predictions of all rows as a dictionary, for ``--json``."""
        labels = self.classes.tolist()
        lines = []
        for i, label in enumerate(self.predicted.tolist()):
            line: dict[str, Any] = {"row": i, "prediction": label}
            line["probabilities"] = None if self.probability is None else self.probability[i].tolist()
            if self.score is not None:
                line["score"] = float(self.score[i])
            if self.leaves is not None:
                leaf = self.leaves[i]
                line |= {
                    "path": list(leaf.path),
                    "wanted": leaf.wanted,
                    "reasons": [reason._asdict() | {"drop": reason.drop} for reason in leaf.reasons],
                }
            lines.append(line)
        return {
            "model": str(self.settings.model_file),
            "data": str(self.settings.data),
            "classes": labels,
            "predictions": lines,
            "notes": list(self.notes),
        }

    def write(self, outputs: AtomicOutputs) -> None:
        """Write one line per row to the file."""
        out, frame = self.settings.out, self.frame()
        assert out is not None
        if out.name.lower().endswith(".parquet"):
            frame.to_parquet(outputs.path(out.name), index=False)
        else:
            frame.to_csv(outputs.path(out.name), index=False, lineterminator="\n")

    def frame(self) -> pd.DataFrame:
        """Return a data frame with one line per row.

        The reasons of a tree are in the columns reason_1, drop_1, reason_2, …
        """
        columns: dict[str, Any] = {"row": np.arange(len(self.predicted)), "prediction": self.predicted}
        if self.probability is not None:
            columns |= {f"probability_{label}": self.probability[:, k] for k, label in enumerate(self.classes.tolist())}
        if self.score is not None:
            columns["score"] = self.score
        if self.leaves is not None:
            columns["path"] = pd.array([" and ".join(leaf.path) for leaf in self.leaves], dtype="string")
            columns["wanted"] = [leaf.wanted for leaf in self.leaves]
            for k in range(max((len(leaf.reasons) for leaf in self.leaves), default=0)):
                reasons = [leaf.reasons[k] if k < len(leaf.reasons) else None for leaf in self.leaves]
                columns[f"reason_{k + 1}"] = pd.array([one and one.condition for one in reasons], dtype="string")
                columns[f"drop_{k + 1}"] = [np.nan if one is None else one.drop for one in reasons]
        return pd.DataFrame(columns)


def run_predict(settings: Predict) -> PredictResult:
    """Load the model, read the table, and predict its rows."""
    file = settings.model_file
    with step("Loading the model"):
        model = predictor_from_file(file, trusted=settings.trust_model_file)
        columns = columns_of(model, file)
        names = ClassNames(settings.class_names, model.classes_.tolist(), "the model")
    is_tree = structure_of(model) is not None
    if settings.wanted is not None and not is_tree:
        raise InvalidInputError(
            f"--wanted is {settings.wanted}, but {file.name} is not a small tree, so there are no reasons. Omit "
            "--wanted, or use the tree.json of fcca distill. For the changes that flip a prediction, use fcca explain."
        )
    wanted = names.label("--wanted", settings.wanted)
    with step("Reading the data"):
        X, unused = read_features(settings.data, settings.label, columns, has_label=False)
    classes = np.array(names.all(model.classes_.tolist())) if names.by_label else model.classes_
    leaves: list[LeafReasons] | None = None
    score: NDArray[np.float64] | None = None
    probability: NDArray[np.float64] | None
    with collected_notes() as notes:
        if is_tree:
            known = {
                leaf: replace(each, label=names.name(each.label), wanted=names.name(each.wanted))
                for leaf, each in model.leaf_reasons(wanted).items()
            }
            leaves = [known[leaf] for leaf in model.apply(X).tolist()]
            predicted = np.array([leaf.label for leaf in leaves], dtype=classes.dtype)
            probability = np.array([leaf.probability for leaf in leaves])
        elif isinstance(model, SCORECARDS):
            card = as_scorecard(model)
            predicted, probability, score = card.predict(X), card.predict_proba(X), card.score_points(X)
        else:
            predicted, probability = _predicted(model, X)
        if not is_tree:
            predicted = np.array(names.all(predicted.tolist()), dtype=classes.dtype)
    every_note = (*notes_on_labels(model, file), *unused, *notes)
    return PredictResult(settings, model, X.shape, classes, predicted, probability, leaves, score, every_note)


def _predicted(classifier: Any, X: pd.DataFrame) -> tuple[NDArray[Any], NDArray[np.float64] | None]:
    """Return the predictions and the probabilities of a black box; None instead if it has no probabilities."""
    columns = labelled(read_model(classifier), X).columns
    table = (columns or Columns.numbers(X.shape[1], list(X.columns))).encode(X)
    given = as_fitted_on(classifier, table, columns=columns)
    predicted = np.asarray(classifier.predict(given)).ravel()
    if not hasattr(classifier, "predict_proba"):
        return predicted, None
    return predicted, np.asarray(classifier.predict_proba(given), dtype=np.float64)
