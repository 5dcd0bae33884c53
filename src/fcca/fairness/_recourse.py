"""Recourse: which changes lead to the favourable prediction, and what they cost in each group."""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from fcca.constraints import Constraint, Immutable, check_rules
from fcca.counterfactuals import CounterfactualExplainer, Explanations
from fcca.exceptions import InvalidInputError
from fcca.fairness._row_groups import Groups, check_label, groups_of_column, position_of
from fcca.utils import html_table, number, paragraph, printable, whole_number

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]

OVERALL = "all groups"
COLUMNS_IN_SENTENCE = 3


@dataclass(frozen=True, repr=False)
class GroupRecourse:
    """The cheapest changes that lead to the favourable prediction, summarized for each group.

    Attributes
    ----------
    sensitive : str
        Name of the column that defines the groups.
    favourable : label
        The favourable class.
    groups : DataFrame
        One row per group.

        - ``rows``: number of rows. ``favourable`` and ``favourable_share``: number and share of favourable predictions.
          ``unfavourable``: number of other predictions. ``asked``: number of unfavourable rows for which the search for a
          change was run.
        - ``optimal``: rows with a proven cheapest change. ``infeasible`` and ``infeasible_share``: number and share of rows
          proven to have no change within the rules. ``unfinished``: rows whose search was stopped by a time limit.
          ``unverified``: rows for which a change was found, but ``predict`` of the classifier does not confirm it.
        - ``mean_cost``, ``median_cost`` and ``mean_changes``: mean and median cost, and mean number of changed columns, of
          the proven cheapest changes.
        - ``free_optimal``: rows with a proven cheapest change when the rules are ignored. ``sensitive_changed`` and
          ``sensitive_share``: number and share of these rows whose change includes the sensitive column.
        - ``sensitive_enough``: rows for which changing the sensitive column alone leads to the favourable prediction,
          whatever this change costs. The same person in another group would get the favourable prediction.

        ``sensitive_changed``, ``sensitive_share`` and ``sensitive_enough`` are missing if the classifier does not use the
        sensitive column.
    overall : Series
        The same columns for all groups together. If rows were sampled, a sampled row stands for several rows of its group.
    moves : DataFrame
        For each group and column, the number and share of the optimal changes that include the column, sorted by number.
    cost_ratio : float
        Largest divided by smallest mean cost of a group. NaN if fewer than two groups have a mean cost, or if the smallest
        mean cost is 0.
    constraints : tuple of Constraint
        The rules that the changes obey.
    max_rows : int or None
        Maximum number of rows per group for which the search for a change was run.
    explanations, free_explanations : Explanations
        The changes that obey the rules, and the changes without any rule.
    """

    sensitive: str
    favourable: Any
    groups: pd.DataFrame
    overall: pd.Series[Any]
    moves: pd.DataFrame
    constraints: tuple[Constraint, ...]
    max_rows: int | None
    explanations: Explanations
    free_explanations: Explanations

    @property
    def cost_ratio(self) -> float:
        """Largest divided by smallest mean cost of a group."""
        known = self.groups["mean_cost"].dropna()
        return float(known.max() / known.min()) if len(known) > 1 and known.min() > 0 else float("nan")

    def to_frame(self) -> pd.DataFrame:
        """Return a data frame with one row per group, and a last row for all groups together."""
        last = self.overall.to_frame().T.astype(self.groups.dtypes.to_dict())
        frame = pd.concat([self.groups, last])
        frame.index = pd.Index([*self.groups.index, OVERALL], dtype=object, name=self.sensitive, tupleize_cols=False)
        return frame

    def sentences(self) -> list[str]:
        """Return the main results as sentences, with the numbers of rows behind them."""
        label = printable(self.favourable)
        texts = [self._about(group, line, label) for group, line in self.groups.iterrows()]
        known = self.groups["mean_cost"].dropna()
        if self.overall["infeasible"]:
            # Costs cover rows with a change only, so a group with few such rows may look cheap.
            without = self._by_group("infeasible", "asked", "infeasible_share")
            texts.append(f"Rows for which no change leads to {label}: {without}. The costs are for the other rows only.")
        if not np.isnan(self.cost_ratio):
            high, low = int(known.argmax()), int(known.argmin())
            texts.append(
                f"The mean cost of a change is {_shown(known.iloc[high])} for {printable(known.index[high])} and "
                f"{_shown(known.iloc[low])} for {printable(known.index[low])} (ratio {self.cost_ratio:.2f})."
            )
        if not pd.isna(self.overall["sensitive_changed"]):
            texts.append(self._about_sensitive())
        if self.max_rows is not None and (self.groups["asked"] < self.groups["unfavourable"]).any():
            texts.append(
                f"The search was run for at most {self.max_rows:,} rows per group, drawn at random: "
                f"{self.overall['asked']:,} of {self.overall['unfavourable']:,} rows in all."
            )
        return texts

    def _about(self, group: Any, line: pd.Series[Any], label: str) -> str:
        text = (
            f"{printable(group)}: {line['favourable']:,} of {line['rows']:,} rows are predicted {label} "
            f"({line['favourable_share']:.0%})"
        )
        if line["asked"] == 0:
            return f"{text}. No search was run for this group."
        text += f". Of {line['asked']:,} other rows, {line['optimal']:,} have a proven cheapest change to {label}"
        others = [
            f"{line[status]:,} {words}"
            for status, words in (
                ("infeasible", "proven to have none"),
                ("unfinished", "not finished in time"),
                ("unverified", "not confirmed by the classifier"),
            )
            if line[status]
        ]
        text += f" ({', '.join(others)})" if others else ""
        if line["optimal"] == 0:
            return f"{text}."
        own = self.moves[self.moves["group"].map(lambda one: one == group)].head(COLUMNS_IN_SENTENCE)
        moved = ", ".join(f"{printable(move.column)} ({move.share:.0%})" for move in own.itertuples())
        return (
            f"{text}, at a mean cost of {_shown(line['mean_cost'])} (median {_shown(line['median_cost'])}) and with "
            f"{line['mean_changes']:.1f} columns changed on average; most often {moved}."
        )

    def _by_group(self, part: str, whole: str, share: str | None = None) -> str:
        """List a count for each group as text, such as ``woman 3 of 10 (30%), man 1 of 5 (20%)``.

        ``part``, ``whole`` and ``share`` are names of columns in ``groups``. In the example, these columns hold 3, 10 and
        30% for ``woman``.
        """
        return ", ".join(
            f"{printable(group)} {line[part]:,} of {line[whole]:,}{f' ({line[share]:.0%})' if share else ''}"
            for group, line in self.groups.iterrows()
            if line[whole]
        )

    def _about_sensitive(self) -> str:
        all_of_them = self.overall
        by_group = self._by_group("sensitive_changed", "free_optimal")
        enough = self._by_group("sensitive_enough", "asked")
        text = (
            f"Without any rule, the cheapest change includes {printable(self.sensitive)} itself for "
            f"{all_of_them['sensitive_changed']:,} of {all_of_them['free_optimal']:,} rows ({by_group}). Changing it "
            f"alone, whatever the cost, is enough for {all_of_them['sensitive_enough']:,} of {all_of_them['asked']:,} "
            f"({enough})"
        )
        biased = all_of_them["sensitive_changed"] or all_of_them["sensitive_enough"]
        return f"{text}: a sign that the classifier may be biased." if biased else f"{text}."

    def __repr__(self) -> str:
        title = f"Recourse to {printable(self.favourable)} by {printable(self.sensitive)}"
        rules = f", under {', '.join(map(repr, self.constraints))}" if self.constraints else ""
        return "\n".join([f"{title}{rules}", *(f"  {text}" for text in self.sentences())])

    def _repr_html_(self) -> str:
        favourable = f"predicted {self.favourable}"
        head = (self.sensitive, "rows", favourable, "searched", "change found", "no change", "mean cost", "columns")
        names = ("rows", "favourable_share", "asked", "optimal", "infeasible", "mean_cost", "mean_changes")
        lines = [
            (group, *(number(line[name]) if isinstance(line[name], float) else f"{line[name]:,}" for name in names))
            for group, line in self.to_frame().iterrows()
        ]
        title = paragraph(f"Recourse to {self.favourable} by {self.sensitive}")
        rules = paragraph(f"Under {', '.join(map(repr, self.constraints))}") if self.constraints else ""
        texts = "".join(f"<li>{escape(text)}</li>" for text in self.sentences())
        return f"{title}{rules}{html_table(head, lines, numbers=range(1, len(head)))}<ul>{texts}</ul>"


def recourse_by_group(
    explainer: CounterfactualExplainer,
    X: Any,
    sensitive: Any,
    *,
    favourable: Any,
    groups: Any = None,
    constraints: Iterable[Constraint] = (),
    max_rows: int | None = None,
    random_state: int = 0,
) -> GroupRecourse:
    """Compare groups by the cheapest changes that lead to the favourable prediction.

    For each row with an unfavourable prediction, three searches look for the cheapest change. The first search obeys the
    rules and measures the cost. The second search applies no rule and shows whether the cheapest change includes the
    sensitive column. In the third search, only the sensitive column may change, whatever the change costs. A classifier
    that would grant a woman the loan if she were a man may be biased.

    Parameters
    ----------
    explainer : CounterfactualExplainer
        Provides the classifier, the costs and the time limits. Its rules apply in addition to ``constraints``.
    X : array-like or data frame of shape (n_rows, n_features)
        Rows with the same columns as the data given to the explainer.
    sensitive : str, or array-like of shape (n_rows,)
        Name of the column that defines the groups. If the classifier does not use this column, give the group of each row
        instead.
    favourable : label
        The favourable class.
    groups : array-like of shape (n_rows,) or callable, optional
        The groups to compare, if they are not the values of the sensitive column. Either the group of each row, or a
        function that computes the groups from the column, such as ``lambda age: pd.cut(age, [0, 25, 60, 120])``.
    constraints : list of Constraint, default=()
        Rules of :mod:`fcca.constraints` that changes must obey.
    max_rows : int, optional
        Maximum number of rows of each group for which the searches are run. In larger groups, the rows are drawn at random.
    random_state : int, default=0
        Seed of the random rows.

    Returns
    -------
    GroupRecourse

    See Also
    --------
    fcca.plots.RecourseDisplay : Draws the costs of the groups as bars.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from fcca import CounterfactualExplainer
    >>> from fcca.fairness import recourse_by_group
    >>> X = pd.DataFrame({"male": [0, 0, 1, 1], "income": [1, 2, 1, 2]})
    >>> classifier = DecisionTreeClassifier().fit(X, ["no", "no", "yes", "yes"])
    >>> found = recourse_by_group(CounterfactualExplainer(classifier, X), X, "male", favourable="yes")
    >>> found.groups["sensitive_share"].to_dict()
    {0: 1.0, 1: nan}
    """
    if max_rows is not None:
        max_rows = whole_number("max_rows", max_rows)
    label = check_label(favourable, explainer.classes.tolist())
    rules = explainer.constraints + check_rules(constraints)
    table, _ = explainer.encode_rows(X)
    feature: int | None = None
    if isinstance(sensitive, str):
        feature = position_of(sensitive, explainer.feature_names)
        by = groups_of_column(_column(explainer, table, feature), sensitive, groups, len(table))
    elif groups is not None:
        raise InvalidInputError(
            "'groups' can be used only if 'sensitive' is the name of a column. Otherwise, pass the groups as 'sensitive'."
        )
    else:
        by = Groups.of(sensitive, n_rows=len(table))
    wanted = explainer.engine.predict(table) == label
    if wanted.all():
        raise InvalidInputError(
            f"All {len(table)} rows are already predicted as {favourable!r}, so there is nothing to change. Check the "
            "parameter 'favourable'."
        )
    asked = _drawn(by, wanted, max_rows, random_state)
    rows = _safe_indexing(X, asked)
    free_explainer = copy(explainer)
    free_explainer.constraints = ()
    free = free_explainer.explain(rows, target=label)
    found = explainer.explain(rows, target=label, constraints=constraints) if rules else free
    enough = None
    if feature is not None:
        others = [name for name in explainer.feature_names if name != sensitive]
        alone = free_explainer.explain(rows, target=label, constraints=[Immutable(*others)] if others else None)
        enough = alone.is_status("optimal", "feasible")
    counts = _GroupCounts(by, wanted, asked, found, free, feature, enough)
    lines = [counts.line(counts.by.code == at) for at in range(len(by.labels))]
    moves = [counts.moves(at) for at in range(len(by.labels))]
    everyone = np.ones(len(table), dtype=bool)
    return GroupRecourse(
        sensitive=by.name,
        favourable=label,
        groups=pd.DataFrame(lines, index=by.index).astype(_TYPES),
        overall=pd.DataFrame([counts.line(everyone)]).astype(_TYPES).astype(object).iloc[0].rename(OVERALL),
        moves=pd.concat(moves, ignore_index=True),
        constraints=rules,
        max_rows=max_rows,
        explanations=found,
        free_explanations=free,
    )


_TYPES = dict.fromkeys(("free_optimal", "sensitive_changed", "sensitive_enough"), "Int64") | dict.fromkeys(
    ("infeasible_share", "mean_cost", "median_cost", "mean_changes", "sensitive_share"), "float64"
)


def _column(explainer: CounterfactualExplainer, table: Floats, feature: int) -> pd.Series[Any]:
    """Return the values of the column at position ``feature``, with categories instead of codes."""
    values, categories = table[:, feature], explainer.columns[feature].categories
    if categories is None:
        return pd.Series(values)
    codes = np.where(np.isnan(values), -1, values).astype(np.intp)
    return pd.Series(pd.Categorical.from_codes(codes, categories=pd.Index(list(categories), tupleize_cols=False)))


def _drawn(by: Groups, wanted: NDArray[np.bool_], max_rows: int | None, random_state: int) -> Rows:
    """Draw at most ``max_rows`` rows per group from those with an unfavourable prediction.

    ``wanted`` is the mask of the rows with a favourable prediction. Return sorted positions.
    """
    rng = np.random.default_rng(random_state)
    chosen = []
    for _, rows in by:
        unfavourable = rows[~wanted[rows]]
        if max_rows is not None and len(unfavourable) > max_rows:
            unfavourable = rng.choice(unfavourable, size=max_rows, replace=False)
        chosen.append(unfavourable)
    return np.sort(np.concatenate(chosen)).astype(np.int64)


@dataclass(frozen=True)
class _GroupCounts:
    """Computes the columns of ``GroupRecourse.groups`` for one group or for all groups.

    Attributes
    ----------
    by : Groups
    wanted : ndarray of bool, shape (n_rows,)
        Whether a row has a favourable prediction.
    asked : ndarray of int
        Positions of the rows for which the searches were run.
    found, free : Explanations
        Changes of the rows in ``asked`` under the rules, and without any rule.
    feature : int or None
        Position of the sensitive column; None if the classifier does not use it.
    enough : ndarray of bool or None
        Whether changing the sensitive column alone is enough, for each row in ``asked``.
    """

    by: Groups
    wanted: NDArray[np.bool_]
    asked: Rows
    found: Explanations
    free: Explanations
    feature: int | None
    enough: NDArray[np.bool_] | None

    def line(self, members: NDArray[np.bool_]) -> dict[str, Any]:
        """Compute the columns of ``GroupRecourse.groups`` for the rows in the mask ``members``."""
        here = members[self.asked]
        optimal = here & self.found.is_status("optimal")
        weight = self._weight[optimal]
        cost, changes = self.found.cost[optimal], np.bincount(self.found.moves.point, minlength=len(self.found))[optimal]
        return {
            "rows": int(members.sum()),
            "favourable": int((members & self.wanted).sum()),
            "favourable_share": float(self.wanted[members].mean()),
            "unfavourable": int((members & ~self.wanted).sum()),
            "asked": int(here.sum()),
            "optimal": int(optimal.sum()),
            "infeasible": int((here & self.found.is_status("infeasible")).sum()),
            "infeasible_share": _mean(self.found.is_status("infeasible")[here], self._weight[here]),
            "unfinished": int((here & self.found.is_status("feasible", "unknown")).sum()),
            "unverified": int((here & self.found.is_status("unverified")).sum()),
            "mean_cost": _mean(cost, weight),
            "median_cost": _median(cost, weight),
            "mean_changes": _mean(changes, weight),
        } | self._sensitive(here)

    @cached_property
    def _weight(self) -> Floats:
        """Number of rows with an unfavourable prediction that each sampled row stands for."""
        n_groups = len(self.by.labels)
        of_group = np.bincount(self.by.code[~self.wanted], minlength=n_groups)
        drawn = np.bincount(self.by.code[self.asked], minlength=n_groups)
        weight: Floats = (of_group / np.maximum(drawn, 1))[self.by.code[self.asked]]
        return weight

    def _sensitive(self, here: NDArray[np.bool_]) -> dict[str, Any]:
        """Count how often the cheapest change without rules includes the sensitive column.

        ``here`` is a mask of the rows in ``asked``.
        """
        optimal = here & self.free.is_status("optimal")
        if self.enough is None:
            unknown = {"sensitive_changed": None, "sensitive_share": None, "sensitive_enough": None}
            return {"free_optimal": int(optimal.sum())} | unknown
        changed = np.zeros(len(self.free), dtype=bool)
        changed[self.free.moves.point[self.free.moves.feature == self.feature]] = True
        return {
            "free_optimal": int(optimal.sum()),
            "sensitive_changed": int((optimal & changed).sum()),
            "sensitive_share": _mean(changed[optimal], self._weight[optimal]),
            "sensitive_enough": int((here & self.enough).sum()),
        }

    def moves(self, at: int) -> pd.DataFrame:
        """Count how often the changes in a group include each column.

        ``at`` is the position of the group in ``by.labels``.
        """
        optimal = (self.by.code[self.asked] == at) & self.found.is_status("optimal")
        moved = self.found.moves.feature[optimal[self.found.moves.point]]
        count = np.bincount(moved, minlength=len(self.found.feature_names))
        order = np.argsort(-count, kind="stable")
        order = order[count[order] > 0]
        return pd.DataFrame(
            {
                "group": pd.Series([self.by.labels[at]] * len(order), dtype=object),
                "column": pd.Series([self.found.feature_names[j] for j in order], dtype=object),
                "rows": count[order],
                "share": count[order] / max(1, optimal.sum()),
            }
        )


def _mean(values: NDArray[Any], weight: Floats) -> float:
    return float(np.average(values, weights=weight)) if len(values) else float("nan")


def _median(values: Floats, weight: Floats) -> float:
    """Compute the weighted median; with equal weights, this is the usual median."""
    if len(values) == 0:
        return float("nan")
    if (weight == weight[0]).all():
        return float(np.median(values))
    order = np.argsort(values, kind="stable")
    return float(values[order][np.searchsorted(np.cumsum(weight[order]), weight.sum() / 2)])


def _shown(number: float) -> str:
    return f"{number:.3g}"
