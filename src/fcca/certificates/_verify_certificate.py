"""Verify a certificate: run all checks, one after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator

from fcca.certificates import (
    _check_counterfactuals as _counterfactuals,
    _check_thresholds as _thresholds,
    _check_tree as _tree,
)
from fcca.certificates._certificate_document import CertificateDocument
from fcca.certificates._certificate_reader import read_certificate
from fcca.certificates._certificate_writer import decision_threshold
from fcca.certificates._check_proofs import optima
from fcca.certificates._evidence import Effort, Evidence, NotChecked
from fcca.certificates._fingerprints import data_fingerprint, model_fingerprint, positions_of_categories
from fcca.certificates._verdict import FAILED, NOT_CHECKED, PASSED, Check, Verification
from fcca.exceptions import FCCAError, InvalidInputError
from fcca.models import decide_at, labelled, read_model
from fcca.tables import weighted_rows
from fcca.utils import is_number, is_whole, progress_bar, progress_shown

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
    verbose: int | None = None,
) -> Verification:
    """Check a certificate against the training rows and the black box.

    Parameters
    ----------
    certificate : str, bytes or CertificateDocument
        A document written by :func:`fcca.certificates.certificate`, or the result of
        :func:`fcca.certificates.read_certificate`.
    X, y, sample_weight : as they were in fit
        The training rows.
    model : fitted classifier
        The black box, ``discretizer_.estimator_`` of the classifier.
    rows : array-like of int, optional
        For each row of X, its row number in the certificate. None means 0, 1, 2, ….
    sample : int or None, default=20
        Number of counterfactuals to draw at random. For each one, it is proven again that no cheaper change exists. None
        means all counterfactuals.
    random_state : int, optional
        Seed of the sample. None draws a new seed each time, so nobody can predict the sample. The result states the seed.
    time_limit : float or None, default=60
        Time limit in seconds for each step that repeats a search or a proof. Examples are the proofs of the sample and the
        search for the tree. None means no limit.
    n_jobs : int, optional
        Number of threads of the searches.
    verbose : int, default=None
        None shows a progress bar in a terminal or a notebook, if the work takes more than two seconds. 0 shows nothing. 1
        always shows the progress on standard error.

    Returns
    -------
    Verification
        The results of all checks, and whether the certificate is ``accepted``.

    Raises
    ------
    InvalidInputError
        If the document is not a well-formed certificate, or if the rows or the black box cannot be used.

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
        raise InvalidInputError(f"rows must be {n_rows} distinct whole numbers, one for each row of X.")
    threshold = stated.decision_threshold
    try:
        deciding = model if threshold is None or decision_threshold(model) is not None else decide_at(model, threshold)
        effort = Effort(sample, random_state, time_limit, n_jobs)
        evidence = Evidence(stated, table, numbers.astype(np.int64)[table.rows], _frozen(deciding), effort)
        with progress_shown(verbose):
            return Verification(_checks(evidence))
    except NotFittedError as error:
        inner = model.estimator if isinstance(model, FrozenEstimator) else model
        raise InvalidInputError(
            f"The black box, a {type(inner).__name__}, is not fitted. Pass discretizer_.estimator_ of the fitted classifier."
        ) from error


def _check_numbers(sample: Any, random_state: Any, time_limit: Any) -> None:
    for name, value, none in (("sample", sample, "all"), ("random_state", random_state, "a random seed")):
        if value is not None and not is_whole(value, at_least=0):
            raise InvalidInputError(f"{name} must be a whole number of at least 0, or None for {none}, got {value!r}.")
    if time_limit is not None and not is_number(time_limit, at_least=0):
        raise InvalidInputError(f"time_limit must be a number of seconds, or None for no limit, got {time_limit!r}.")


def _frozen(model: Any) -> Any:
    return model if isinstance(model, FrozenEstimator) or not hasattr(model, "fit") else FrozenEstimator(model)


def _checks(given: Evidence) -> tuple[Check, ...]:
    checks: list[Check] = []
    with progress_bar("Checks", len(CHECKS)) as progress:
        for done, step in enumerate(CHECKS):
            reason = _reason_to_stop(checks)
            checks.append(_check(step, given) if reason is None else Check(step.name, NOT_CHECKED, reason))
            if progress is not None and reason is None:
                progress(done + 1)
    return tuple(checks)


def _reason_to_stop(checks: list[Check]) -> str | None:
    """Return the reason to skip all further checks; None to continue."""
    failed = [check.name for check in checks if check.outcome == FAILED]
    if len(checks) > 1 and (others := [name for name in failed if name in ("data", "model")]):
        what = {"data": "other data", "model": "another model"}
        return f"The certificate is about {' and '.join(what[name] for name in others)}."
    return "The parameters cannot be used." if "parameters" in failed else None


def _check(step: PlannedCheck, given: Evidence) -> Check:
    try:
        found = step.work(given)
    except NotChecked as reason:
        return Check(step.name, NOT_CHECKED, str(reason))
    outcome, text = (PASSED, found) if isinstance(found, str) else (FAILED, "; ".join(found))
    if not text:
        outcome, text = PASSED, step.confirmed
    return Check(step.name, outcome, f"{text[:1].upper()}{text[1:]}.")


def _same_data(given: Evidence) -> list[str]:
    stated = given.stated
    if stated.data_fingerprint is None:
        if stated.points is not None:
            return ["counterfactuals are stated, but the fingerprint of the rows is missing"]
        raise NotChecked("The certificate was written without the training rows, so it has no fingerprint of them.")
    problems = []
    n = len(given.rows.y)
    if stated.n_rows != n:
        problems.append(f"{n:,} rows have a weight above 0, but the certificate is about {stated.n_rows:,} rows")
    try:
        categories = positions_of_categories(stated.found.columns)
        table = given.rows
        found = data_fingerprint(table.X, table.y, table.sample_weight, given.numbers, categories=categories)
    except FCCAError as error:
        return [*problems, f"the fingerprint of the rows cannot be computed: {error}"]
    if found != stated.data_fingerprint:
        problems.append(
            f"the fingerprint of the rows is {found[:12]}…, not {stated.data_fingerprint[:12]}…: a value, a label, a "
            "weight, a name or the order of the rows differs"
        )
    return problems


def _same_model(given: Evidence) -> list[str]:
    stated = given.stated
    if stated.model_fingerprint is None:
        if stated.points is not None:
            return ["counterfactuals are stated, but the fingerprint of the black box is missing"]
        raise NotChecked("The certificate was written without the training rows, so it has no fingerprint of the black box.")
    try:
        model = read_model(given.estimator)
        found = model_fingerprint(labelled(model, given.rows.X))
    except FCCAError as error:
        return [f"the fingerprint of the black box cannot be computed: {error}"]
    decides = decision_threshold(given.estimator)
    if decides is not None and decides != stated.decision_threshold:
        other = "none" if stated.decision_threshold is None else f"{stated.decision_threshold:g}"
        return [f"the decision threshold of the black box is {decides:g}, but the certificate states {other}"]
    if found == stated.model_fingerprint:
        return []
    return [
        f"the fingerprint of the black box is {found[:12]}…, not {stated.model_fingerprint[:12]}…: its cuts, leaves, "
        "coefficients or classes differ"
    ]


def _usable(given: Evidence) -> list[str]:
    """Compute the values that later checks use, so that an error in them is reported only once."""
    try:
        given.table  # noqa: B018
        if given.stated.points is not None:
            given.search.limits(given.table[:0])
        weight = _tree.row_weights(given)
        if (weight < 0).any() or not 0 < weight.sum() < np.inf:
            return ["the class weights are below 0 or too large, or all rows have weight 0"]
        return _tree.check_weighted_classes(given)
    except NotFittedError:
        raise
    except (FCCAError, ValueError) as error:
        return [f"they cannot be used with these rows and this black box: {error}"]


# --- all checks -----------------------------------------------------------------------------------------------------------


class PlannedCheck(NamedTuple):
    """A check of a certificate that :func:`verify` runs.

    Attributes
    ----------
    name : str
        What is checked, such as "costs".
    work : callable
        Runs the check on an Evidence. Returns a list of problems, or a sentence that says what was confirmed. Raises
        NotChecked if the check cannot be run.
    confirmed : str
        The sentence that says what was confirmed if the list of problems is empty.
    """

    name: str
    work: Callable[[Evidence], list[str] | str]
    confirmed: str = ""


CHECKS = (
    PlannedCheck("data", _same_data, "these are the rows of the certificate"),
    PlannedCheck("model", _same_model, "this is the black box of the certificate"),
    PlannedCheck("parameters", _usable, "they can be used with these rows and this black box"),
    PlannedCheck(
        "rows searched",
        _counterfactuals.rows_searched,
        "exactly the rows that are predicted correctly, with a probability from p0 to p1, were searched, or the stated "
        "sample of them",
    ),
    PlannedCheck("moves", _counterfactuals.moves_start, "every move starts at the value of its row"),
    PlannedCheck(
        "range and rules",
        _counterfactuals.range_and_rules,
        "every change stays in the range of the training rows and obeys the rules",
    ),
    PlannedCheck("landings", _counterfactuals.landings, "every move ends at an allowed value"),
    PlannedCheck(
        "answers",
        _counterfactuals.predictions,
        "the black box predicts the target for every changed row, with a lead of at least the margin",
    ),
    PlannedCheck("costs", _counterfactuals.costs, "every cost is the sum of the costs of its moves"),
    PlannedCheck("bounds", _counterfactuals.bounds, "no bound is above its cost, and optimal costs equal their bounds"),
    PlannedCheck(
        "missing values",
        _thresholds.deciding_missing_values,
        "exactly the listed missing values can flip a prediction if they are filled in",
    ),
    PlannedCheck("thresholds found", _thresholds.thresholds_found, "the moves cross these thresholds, with these counts"),
    PlannedCheck("thresholds kept", _thresholds.thresholds_kept, "Q and the selection keep exactly these thresholds"),
    PlannedCheck(
        "tree",
        _tree.tree_on_thresholds,
        "its conditions are among the thresholds kept, and its leaves have the stated rows and weights",
    ),
    PlannedCheck("objective", _tree.objective, "the cost, the leaves, the bound and the gap agree"),
    PlannedCheck("best tree", _tree.best_tree),
    PlannedCheck("optima", optima),
)
