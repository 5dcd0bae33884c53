"""verify: run all checks of a certificate in order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator

from fcca.certificates import _check_counterfactuals as _points, _check_thresholds as _thresholds, _check_tree as _tree
from fcca.certificates._check_proofs import optima
from fcca.certificates._evidence import Effort, Material, NotChecked
from fcca.certificates._fingerprints import data_fingerprint, model_fingerprint, positions_of_categories
from fcca.certificates._reading import CertificateDocument, read_certificate
from fcca.certificates._verdict import FAILED, NOT_CHECKED, PASSED, Check, Verification
from fcca.certificates._writing import decision_threshold
from fcca.exceptions import FCCAError, InvalidInputError
from fcca.models import decide_at, labelled, read_model
from fcca.tables import weighted_rows
from fcca.utils import is_number, is_whole, progress_bar

SAMPLE, TIME_LIMIT = 20, 60.0


def verify(
    certificate: str | bytes | CertificateDocument,
    X: Any,
    y: Any,
    model: Any,
    sample_weight: ArrayLike | None = None,
    *,
    rows: ArrayLike | None = None,
    sample: int | None = SAMPLE,
    random_state: int | None = None,
    time_limit: float | None = TIME_LIMIT,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> Verification:
    """Check a certificate against the training rows and the black box.

    Parameters
    ----------
    certificate : str or bytes
        The document of :func:`fcca.certificates.certificate`, or what :func:`fcca.certificates.read_certificate` made of it.
    X, y, sample_weight : as they were in fit
        The training rows.
    model : fitted classifier
        The black box, ``discretizer_.estimator_`` of the classifier.
    rows : array-like of int, optional
        What the certificate calls the rows of X; 0, 1, … where None.
    sample : int or None, default=20
        Number of counterfactuals to re-prove; None for all.
    random_state : int, optional
        Seed of their choice. None draws a new one each time, so that nobody can know the choice beforehand; the check
        states it.
    time_limit : float or None, default=60
        Seconds for each of: re-proving counterfactuals, searching those that are still open then, selecting thresholds, and
        the tree.
    n_jobs : int, optional
        Threads of searches.
    verbose : int, default=0
        1 shows a progress bar.

    Returns
    -------
    Verification
        ``accepted``, and a check for each thing looked at.

    Raises
    ------
    InvalidInputError
        Where the document is not a well-formed certificate, or rows and black box cannot be used.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from fcca import FCCAClassifier
    >>> from fcca.certificates import certificate, verify
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> classifier = FCCAClassifier().fit(X, y)
    >>> document = certificate(classifier)
    >>> verify(document, X, y, classifier.discretizer_.estimator_, sample=2).accepted
    True
    >>> forged = document.replace('"Q": 0.0', '"Q": 0.5')
    >>> verify(forged, X, y, classifier.discretizer_.estimator_, sample=2).failed
    ('thresholds kept',)
    """
    stated = certificate if isinstance(certificate, CertificateDocument) else read_certificate(certificate)
    _check_numbers(sample, random_state, time_limit)
    table = weighted_rows(X, y, sample_weight)
    n_rows = len(y)
    numbers = np.arange(n_rows) if rows is None else np.asarray(rows)
    if numbers.shape != (n_rows,) or numbers.dtype.kind not in "iu" or len(np.unique(numbers)) < n_rows:
        raise InvalidInputError(f"rows must be {n_rows} different whole numbers, one for each row of X.")
    threshold = stated.decision_threshold
    try:
        deciding = model if threshold is None or decision_threshold(model) is not None else decide_at(model, threshold)
        effort = Effort(sample, random_state, time_limit, n_jobs, bool(verbose))
        return Verification(
            _checks(Material(stated, table, numbers.astype(np.int64)[table.rows], _frozen(deciding), effort))
        )
    except NotFittedError as error:
        inner = model.estimator if isinstance(model, FrozenEstimator) else model
        raise InvalidInputError(
            f"The black box, a {type(inner).__name__}, is not fitted. Give the one that the classifier was made from, its "
            "discretizer_.estimator_."
        ) from error


def _check_numbers(sample: Any, random_state: Any, time_limit: Any) -> None:
    for name, value, none in (("sample", sample, "all"), ("random_state", random_state, "another each time")):
        if value is not None and not is_whole(value, at_least=0):
            raise InvalidInputError(f"{name} must be a whole number of at least 0, or None for {none}, got {value!r}.")
    if time_limit is not None and not is_number(time_limit, at_least=0):
        raise InvalidInputError(f"time_limit must be a number of seconds, or None for none, got {time_limit!r}.")


def _frozen(model: Any) -> Any:
    return model if isinstance(model, FrozenEstimator) or not hasattr(model, "fit") else FrozenEstimator(model)


def _checks(given: Material) -> tuple[Check, ...]:
    checks: list[Check] = []
    with progress_bar("Checks", len(CHECKS), given.effort.shown) as progress:
        for done, step in enumerate(CHECKS):
            reason = _why_not_to_go_on(checks)
            checks.append(_check(step, given) if reason is None else Check(step.name, NOT_CHECKED, reason))
            if progress is not None and reason is None:
                progress(done + 1)
    return tuple(checks)


def _why_not_to_go_on(checks: list[Check]) -> str | None:
    """The reason why later checks would say nothing, or None."""
    failed = [check.name for check in checks if check.outcome == FAILED]
    if len(checks) > 1 and (others := [name for name in failed if name in ("data", "model")]):
        return f"This is not the {' nor the '.join(others)} that the certificate is about."
    return "The parameters cannot be used." if "parameters" in failed else None


def _check(step: Step, given: Material) -> Check:
    try:
        found = step.work(given)
    except NotChecked as reason:
        return Check(step.name, NOT_CHECKED, str(reason))
    outcome, text = (PASSED, found) if isinstance(found, str) else (FAILED, "; ".join(found))
    if not text:
        outcome, text = PASSED, step.confirmed
    return Check(step.name, outcome, f"{text[:1].upper()}{text[1:]}.")


def _same_data(given: Material) -> list[str]:
    stated = given.stated
    if stated.data_fingerprint is None:
        if stated.points is not None:  # written with the rows at hand
            return ["counterfactuals are stated, but not which rows they are of"]
        raise NotChecked("The certificate was made without the rows at hand, so it does not say which they are.")
    problems = []
    n = len(given.rows.y)
    if stated.n_rows != n:
        problems.append(f"there are {n:,} rows that count, and the certificate is about {stated.n_rows:,}")
    try:
        categories = positions_of_categories(stated.found.columns)
        table = given.rows
        found = data_fingerprint(table.X, table.y, table.sample_weight, given.numbers, categories=categories)
    except FCCAError as error:
        return [*problems, f"the rows have no fingerprint: {error}"]
    if found != stated.data_fingerprint:
        problems.append(
            f"the fingerprint of the rows is {found[:12]}…, not {stated.data_fingerprint[:12]}…: a value, a label, a "
            "weight, a name or the order of the rows is another one"
        )
    return problems


def _same_model(given: Material) -> list[str]:
    stated = given.stated
    if stated.model_fingerprint is None:
        if stated.points is not None:
            return ["counterfactuals are stated, but not which black box they are of"]
        raise NotChecked("The certificate was made without the rows at hand, so the model's categories have no names.")
    try:
        model = read_model(given.estimator)
        found = model_fingerprint(labelled(model, given.rows.X))
    except FCCAError as error:
        return [f"the black box has no fingerprint: {error}"]
    decides = decision_threshold(given.estimator)
    if decides is not None and decides != stated.decision_threshold:
        told = "nothing of it" if stated.decision_threshold is None else f"{stated.decision_threshold:g}"
        return [f"the black box was told to decide at {decides:g}, and the certificate says {told}"]
    if found == stated.model_fingerprint:
        return []
    return [
        f"the fingerprint of the black box is {found[:12]}…, not {stated.model_fingerprint[:12]}…: its cuts, leaves, "
        "coefficients or classes are others"
    ]


def _usable(given: Material) -> list[str]:
    """Build everything that later checks compute with, to report an error once."""
    try:
        given.table  # noqa: B018
        if given.stated.points is not None:
            given.search.limits(given.table[:0])
        weight = _tree.row_weights(given)
        if (weight < 0).any() or not 0 < weight.sum() < np.inf:
            return ["the weights of the classes are below 0, too large, or leave no row any weight"]
        return _tree.weights_of_no_class(given)
    except NotFittedError:
        raise
    except (FCCAError, ValueError) as error:
        return [f"they cannot be used with these rows and this black box: {error}"]


# --- all checks -----------------------------------------------------------------------------------------------------------


class Step(NamedTuple):
    """A check to run.

    Attributes
    ----------
    name : str
    work : callable
        Returns a list of problems, or a text that says what was confirmed. Raises NotChecked where it cannot tell.
    confirmed : str
        What is confirmed where ``work`` returns no problem.
    """

    name: str
    work: Callable[[Material], list[str] | str]
    confirmed: str = ""


CHECKS = (
    Step("data", _same_data, "the rows are those of the certificate"),
    Step("model", _same_model, "the black box is that of the certificate"),
    Step("parameters", _usable, "they can be used with these rows and this black box"),
    Step(
        "rows searched",
        _points.rows_searched,
        "exactly the rows that the black box gets right within the band are there",
    ),
    Step("moves", _points.moves_start, "every move starts at the value of its row"),
    Step(
        "range and rules",
        _points.range_and_rules,
        "every change stays in the range of the rows and keeps the rules",
    ),
    Step("landings", _points.landings, "every move lands on an allowed value"),
    Step("answers", _points.answers, "the black box answers every changed row with its target, by the margin"),
    Step("costs", _points.costs, "every cost is what its moves add up to"),
    Step("bounds", _points.bounds, "no bound lies above its cost, and equals it where optimality is claimed"),
    Step("missing values", _thresholds.deciding_missing_values, "missing values decide where they are said to"),
    Step("thresholds found", _thresholds.found, "the moves cross these thresholds, so often"),
    Step("thresholds kept", _thresholds.kept, "they are those that Q and the selection take"),
    Step(
        "tree",
        _tree.tree_on_thresholds,
        "its conditions are thresholds kept, and its leaves hold these rows and weights",
    ),
    Step("objective", _tree.objective, "cost, leaves, bound and gap add up"),
    Step("best tree", _tree.best_tree),
    Step("optima", optima),
)
