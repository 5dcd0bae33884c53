"""Compare the tree of a black box with a tree that never uses a sensitive column."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_features, column_or_1d

from fcca.classifier import FCCAClassifier
from fcca.constraints import Immutable, check_rules
from fcca.discretizers import FCCADiscretizer
from fcca.exceptions import FCCAError, InvalidInputError
from fcca.fairness._metrics import GroupGaps, gaps_of, metrics_of
from fcca.fairness._row_groups import Groups, check_label, groups_of_column, position_of
from fcca.metrics import fidelity
from fcca.tables import check_weights, column_names
from fcca.utils import html_table, number, paragraph, printable

BLACK_BOX, EVERYTHING = "black box", "tree"


@dataclass(frozen=True, repr=False)
class FairDistillation:
    """Comparison of a black box, its tree, and a tree that never uses the sensitive column.

    Attributes
    ----------
    sensitive : str
        Name of the sensitive column.
    favourable : label
        The favourable class.
    everything, without : FCCAClassifier
        The two fitted trees of the same black box: one may use all columns, the other all but the sensitive column.
    models : DataFrame
        One row for the black box and one for each tree. ``accuracy``: share of correct predictions. ``fidelity``: share of
        predictions that agree with the black box. ``leaves``: number of leaves. ``conditions``: number of conditions that
        the tree could use. ``sensitive_conditions``: number of conditions on the sensitive column that were found, before
        the selection. ``uses_sensitive``: whether the tree tests the sensitive column.
    metrics : DataFrame
        The rates of each model and group, as in :func:`fcca.fairness.group_metrics`.
    gaps : DataFrame
        The differences between groups for each model, as in :func:`fcca.fairness.gaps`.
    notes : tuple of str
        Notes on the results.
    judged_on : {"held-out rows", "training rows"}
        The rows on which the models are compared.
    """

    sensitive: str
    favourable: Any
    everything: FCCAClassifier
    without: FCCAClassifier
    models: pd.DataFrame
    metrics: pd.DataFrame
    gaps: pd.DataFrame
    notes: tuple[str, ...]
    judged_on: str

    def to_frame(self) -> pd.DataFrame:
        """Return a data frame with the columns of ``models`` and ``gaps``, one row per model."""
        return self.models.join(self.gaps)

    def rates(self, rate: str = "selection_rate") -> pd.DataFrame:
        """Return a data frame of one rate, with one row per model and one column per group.

        Parameters
        ----------
        rate : str, default="selection_rate"
            Name of a column of ``metrics``. The default is the share of favourable predictions.

        Returns
        -------
        DataFrame
        """
        return pd.DataFrame({model: self.metrics.xs(model)[rate] for model in self.models.index}).T

    def _title(self) -> str:
        n_rows = self.metrics.xs(BLACK_BOX)["rows"].sum()
        return f"Predictions {printable(self.favourable)} by {printable(self.sensitive)}, on {n_rows:,} {self.judged_on}"

    def __repr__(self) -> str:
        shown = self.to_frame()[
            [
                "accuracy",
                "fidelity",
                "leaves",
                "uses_sensitive",
                "demographic_parity_difference",
                "disparate_impact",
                "equal_opportunity_difference",
                "equalized_odds_difference",
            ]
        ]
        lines = [
            self._title(),
            shown.to_string(float_format="{:.3f}".format),
            f"Share predicted {printable(self.favourable)}:",
            self.rates().to_string(float_format="{:.3f}".format),
            *(f"Note: {note}" for note in self.notes),
        ]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rates, title = self.rates(), paragraph(self._title())
        groups = [f"{group} (share predicted {self.favourable})" for group in rates.columns]
        head = ("model", "accuracy", "fidelity", "leaves", f"uses {self.sensitive}", *groups, "disparate impact")
        lines = [
            (
                model,
                number(float(line["accuracy"])),
                number(float(line["fidelity"])),
                "–" if pd.isna(line["leaves"]) else line["leaves"],
                "–" if pd.isna(line["uses_sensitive"]) else "yes" if line["uses_sensitive"] else "no",
                *(number(rate) for rate in shares),
                number(float(line["disparate_impact"])),
            )
            for (model, line), shares in zip(self.to_frame().iterrows(), rates.to_numpy(dtype=float), strict=True)
        ]
        notes = "".join(paragraph(f"Note: {note}") for note in self.notes)
        return f"{title}{html_table(head, lines, numbers=range(1, len(head)))}{notes}"


def distill_without(
    classifier: FCCAClassifier,
    X: Any,
    y: ArrayLike,
    sensitive: str,
    *,
    favourable: Any,
    X_test: Any = None,
    y_test: ArrayLike | None = None,
    groups: Any | Callable[[Any], Any] = None,
    sample_weight: ArrayLike | None = None,
) -> FairDistillation:
    """Fit a tree on all columns, and a tree that never uses a sensitive column.

    Both trees explain the same black box, which is fitted once and may use the sensitive column. Columns that are correlated
    with the sensitive column can act as a substitute for it. Therefore, compare the rates of the groups as well.

    Parameters
    ----------
    classifier : FCCAClassifier
        The classifier is cloned, not changed. Its discretizer must accept rules in ``constraints``, as FCCADiscretizer does.
    X, y : as in ``FCCAClassifier.fit``
    sensitive : str
        Name of the sensitive column.
    favourable : label
        The favourable class.
    X_test, y_test : optional
        Held-out rows on which the models are compared. By default, the models are compared on the training rows.
    groups : array-like or callable, optional
        The groups to compare, if they are not the values of the sensitive column. Either the group of each row on which the
        models are compared, or a function that computes the groups from the column, such as
        ``lambda age: pd.cut(age, [0, 25, 60, 120])``.
    sample_weight : array-like of shape (n_rows,), optional
        Weights of the training rows. Held-out rows all have weight 1.

    Returns
    -------
    FairDistillation

    See Also
    --------
    fcca.plots.GroupMetricsDisplay : Draws the rates of the groups as bars.
    """
    if not isinstance(classifier, FCCAClassifier):
        raise InvalidInputError(f"classifier must be an FCCAClassifier, got {type(classifier).__name__}.")
    discretizer = FCCADiscretizer() if classifier.discretizer is None else classifier.discretizer
    if not hasattr(discretizer, "get_params") or "constraints" not in discretizer.get_params(deep=False):
        raise InvalidInputError(
            f"{type(discretizer).__name__} has no parameter 'constraints', so it cannot leave a column out. Use an "
            "FCCADiscretizer."
        )
    if (X_test is None) != (y_test is None):
        raise InvalidInputError("Pass both X_test and y_test, or neither.")
    label = check_label(favourable, np.unique(column_or_1d(y)).tolist())
    judged, truth = (X, column_or_1d(y)) if X_test is None else (X_test, column_or_1d(y_test))
    weight = check_weights(sample_weight if X_test is None else None, len(truth))
    by = _groups(X, judged, sensitive, groups, len(truth))

    weights = {} if sample_weight is None else {"sample_weight": sample_weight}
    everything = clone(classifier).fit(X, y, **weights)
    ruled = clone(discretizer).set_params(
        estimator=FrozenEstimator(everything.discretizer_.estimator_),
        decision_threshold=None,  # the fitted black box has it
        constraints=[*check_rules(discretizer.constraints or ()), Immutable(sensitive)],
    )
    without = clone(classifier).set_params(discretizer=ruled).fit(X, y, **weights)
    if _n_conditions(without, sensitive):
        raise FCCAError(f"A condition on {sensitive!r} was found although a rule forbids it. Please report this error.")

    predictions = {
        BLACK_BOX: np.asarray(everything.discretizer_.predict_target(judged)),
        EVERYTHING: np.asarray(everything.predict(judged)),
        f"tree without {sensitive}": np.asarray(without.predict(judged)),
    }
    metrics = {name: metrics_of(truth == label, predicted == label, by, weight) for name, predicted in predictions.items()}
    found: dict[str, GroupGaps] = {name: gaps_of(frame) for name, frame in metrics.items()}
    trees: list[FCCAClassifier | None] = [None, everything, without]
    models = [
        {
            "accuracy": fidelity(predicted, truth, weight),
            "fidelity": fidelity(predicted, predictions[BLACK_BOX], weight),
            **_about(tree, sensitive),
        }
        for predicted, tree in zip(predictions.values(), trees, strict=True)
    ]
    return FairDistillation(
        sensitive=sensitive,
        favourable=label,
        everything=everything,
        without=without,
        models=pd.DataFrame(models, index=pd.Index(list(predictions), name="model")),
        metrics=pd.concat(metrics, names=["model"]),
        gaps=pd.DataFrame([one.to_series() for one in found.values()], index=pd.Index(list(predictions), name="model")),
        notes=tuple(dict.fromkeys(f"{name}: {note}" for name, one in found.items() for note in one.notes)),
        judged_on="training rows" if X_test is None else "held-out rows",
    )


def _groups(X: Any, judged: Any, sensitive: str, groups: Any, n_rows: int) -> Groups:
    names = column_names(X) or [f"x{j}" for j in range(_num_features(X))]
    column = _safe_indexing(judged, position_of(sensitive, names), axis=1)
    if not isinstance(column, pd.Series):
        column = pd.Series(column.to_list() if hasattr(column, "to_list") else column.tolist())
    return groups_of_column(column.infer_objects(), sensitive, groups, n_rows)


def _n_conditions(tree: FCCAClassifier, sensitive: str) -> int:
    table = tree.discretizer_.all_thresholds_
    return sum(table.feature_names[j] == sensitive for j in table.feature.tolist())


def _about(tree: FCCAClassifier | None, sensitive: str) -> dict[str, Any]:
    """Return the entries of one tree for the data frame ``models``.

    ``tree`` is None for the black box, for which these values are unknown.
    """
    if tree is None:
        return {"leaves": pd.NA, "conditions": pd.NA, "sensitive_conditions": pd.NA, "uses_sensitive": pd.NA}
    names = tree.discretizer_.all_thresholds_.feature_names
    asked: NDArray[np.int32] = tree.structure_.feature[tree.structure_.feature >= 0]
    return {
        "leaves": int(tree.structure_.n_leaves),
        "conditions": len(tree.discretizer_.thresholds_),
        "sensitive_conditions": _n_conditions(tree, sensitive),
        "uses_sensitive": any(names[j] == sensitive for j in asked.tolist()),
    }
