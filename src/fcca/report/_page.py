"""Build the report: one HTML page.

The page loads no other files, and runs only the scripts that fcca puts into it.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import os
import webbrowser
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fcca.classifier import FCCAClassifier
from fcca.exceptions import InvalidInputError
from fcca.report._black_box import black_box_document
from fcca.report._choices import check_numbers
from fcca.report._levels import tried_settings
from fcca.report._page_data import data_document, listed_conditions
from fcca.report._report_input import Positions, ReportInput, all_conditions, check_classifier, checked_input
from fcca.report._rows_data import picked, rows_document, sample
from fcca.report._scorecard_data import scorecard_document
from fcca.report._sliders import Progress, Slider, check_granularities, make_sliders
from fcca.scorecard import as_scorecard
from fcca.utils import atomic_outputs, is_number, whole_number

TEMPLATE = "page.html.j2"
MOST_BYTES = 1_000_000
LONGEST_NAME = 240  # bytes; file systems allow 255, and the temporary file has a longer name
# A larger page without rows leaves out rare conditions.
MOST_BYTES_WITHOUT_ROWS = 700_000
# Escaped in JSON, these characters cannot end or open anything in HTML or in a script.
ESCAPES = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}


def page(
    classifier: FCCAClassifier,
    *,
    X: Any = None,
    y: Any = None,
    sample_weight: ArrayLike | None = None,
    X_test: Any = None,
    y_test: Any = None,
    Q: Any = None,
    n_thresholds: Any = None,
    title: str | None = None,
    max_rows: int = 5000,
    row_numbers: ArrayLike | None = None,
    facts: Iterable[tuple[str, str]] = (),
    notes: Iterable[str] = (),
    advice: Iterable[str] | None = None,
    scorecard: Any = None,
    time_limit: float | None = 10.0,
    progress: Progress | None = None,
    class_names: Mapping[Any, str] | None = None,
) -> str:
    """Return the report of a fitted classifier as HTML.

    The reader of the page can choose with sliders how many thresholds the tree may use. A what-if form shows the predictions
    for other values. It includes the black box if its data is below 300 kB and the page can compute its probabilities.

    Parameters
    ----------
    classifier : FCCAClassifier
        Fitted.
    X, y, sample_weight : as in fit, optional
        The training rows. Required if the classifier was loaded or copied (see :meth:`FCCAClassifier.training_data`).
    X_test, y_test : as in fit, optional
        Held-out rows, to measure the tree on rows that were not used for fitting. They may have unknown categories, and
        missing values in columns without missing training values. Such rows are predicted like all others; a note counts
        them.
    Q : sequence of float, optional
        Granularities on the slider that selects thresholds by frequency, by default 0, 0.1, …, 0.9 and 0.95. The ``Q`` of
        the classifier is always included.
    n_thresholds : sequence of int or False, optional
        Numbers on the slider for the number of thresholds, by default 1, 2, …, 16. For each number, the thresholds with the
        smallest inconsistency are chosen (:class:`fcca.selection.OptimalSelection`). Numbers above the number of thresholds
        found are left out. If the classifier was fitted with a selection, its number is always included, and its rules apply
        to all numbers. False omits the slider.
    title : str, optional
        Title of the page.
    max_rows : int, default=5000
        Maximum number of training rows that can be looked up on the page. Of a larger table, a random sample is shown,
        stratified by class. The sample is smaller if the page would exceed 1 MB. Counts, rates and trees always use all
        rows.
    row_numbers : array-like of shape (n_rows,), optional
        Names of the training rows, such as line numbers of a file. The default is their positions in X.
    facts : sequence of (title, text), optional
        Facts to show before those that the report lists by default under "How the tree was made". A fact replaces the
        default fact with the same title.
    notes : sequence of str, optional
        Notes to show at the top of the page.
    advice : sequence of str, optional
        Sentences to show if the tree is no better than always predicting the most frequent class. By default, other settings
        of the tree are tried, and those with a better tree are listed.
    scorecard : FCCAScorecard or Scorecard, optional
        A fitted scorecard, whose bins and points are shown in a section of their own.
    time_limit : float or None, default=10.0
        Seconds for the tree at each position of a slider, except the tree of the classifier. All searches for the best
        thresholds together take at most a fifth of this time. The page marks results that are not proven.
    progress : callable, optional
        Called as ``progress(n_done, n_positions)`` after each slider position.
    class_names : mapping, optional
        Distinct names of the classes, such as ``{0: "declined", 1: "approved"}``. A class that is not in the mapping keeps
        its label.

    Returns
    -------
    str
        The page, smaller than 1 MB.
    """
    check_classifier(classifier)
    granularities, numbers = check_granularities(Q), check_numbers(n_thresholds, len(all_conditions(classifier)))
    _check_options(title, max_rows, time_limit)
    given_facts, given_notes = _checked_facts(facts), _checked_texts("notes", notes)
    card = None if scorecard is None else as_scorecard(scorecard)
    if class_names is not None and not isinstance(class_names, Mapping):
        raise InvalidInputError(f"class_names must be a mapping of labels to names, got {class_names!r}.")
    given_advice = None if advice is None else _checked_texts("advice", advice)
    inputs = checked_input(classifier, X, y, sample_weight, X_test, y_test, row_numbers, class_names)
    sliders, first, level_notes = make_sliders(inputs, granularities, numbers, time_limit, progress)
    if given_advice is None:
        given_advice = tried_settings(inputs)
    draft = Draft(
        inputs,
        sliders,
        first,
        title,
        given_facts,
        [*given_notes, *level_notes],
        given_advice,
        black_box_document(inputs),
        None if card is None else scorecard_document(card, inputs),
    )
    return draft.fitting(int(max_rows))


def write(classifier: FCCAClassifier, path: str | Path, *, open_in_browser: bool = False, **options: Any) -> Path:
    """Write the report of a fitted classifier to an HTML file.

    The file is smaller than 1 MB. It is written atomically: after an error, an older file is unchanged.

    Parameters
    ----------
    classifier : FCCAClassifier
        Fitted.
    path : str or Path
        The file to write, in an existing directory.
    open_in_browser : bool, default=False
        If True, open the file in the web browser.
    **options
        Further parameters of :func:`page`, such as ``X_test``, ``Q``, ``title`` and ``time_limit``.

    Returns
    -------
    Path
        The path of the file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import load_breast_cancer
    >>> from fcca import FCCAClassifier, report
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> classifier = FCCAClassifier().fit(X, y)
    >>> file = report.write(classifier, Path(tempfile.mkdtemp()) / "report.html", Q=[0.5, 0.9])
    >>> file.stat().st_size < 1_000_000
    True
    """
    path = _checked_path(path)
    with atomic_outputs(path.parent) as out:  # checks write permission before any work
        text = page(classifier, **options)
        out.path(path.name).write_text(text, encoding="utf-8", newline="\n")
    if open_in_browser:
        webbrowser.open(path.resolve().as_uri())
    return path


# --- checks of parameters -----------------------------------------------------------------------------------------------


def _checked_path(path: Any) -> Path:
    if not isinstance(path, str | os.PathLike) or not str(path):
        raise InvalidInputError(f"path must be the path of the file to write, got {path!r}.")
    file = Path(path)
    if "\0" in str(file) or len(os.fsencode(file.name)) > LONGEST_NAME:
        raise InvalidInputError(f"path must be a valid file name of at most {LONGEST_NAME} bytes, got {str(file)[:80]!r}.")
    if file.is_dir():
        raise InvalidInputError(f"{file} is a directory. Name the file to write, such as {file / 'report.html'}.")
    if not file.parent.is_dir():
        raise InvalidInputError(f"Cannot write {file}: there is no directory {file.parent}. Create it first.")
    return file


def _check_options(title: Any, max_rows: Any, time_limit: Any) -> None:
    if title is not None and not isinstance(title, str):
        raise InvalidInputError(f"title must be a string, got {title!r}.")
    whole_number("max_rows", max_rows, least=0)
    if time_limit is not None and (not is_number(time_limit, at_least=0) or time_limit == math.inf):
        raise InvalidInputError(f"time_limit must be None or a number of seconds of at least 0, got {time_limit!r}.")


def _checked_facts(facts: Iterable[Any]) -> list[tuple[str, str]]:
    if not isinstance(facts, Iterable) or isinstance(facts, str):
        raise InvalidInputError(f"facts must be pairs (title, text), got {facts!r}.")
    pairs = []
    for fact in facts:
        if not isinstance(fact, tuple | list) or len(fact) != 2:
            raise InvalidInputError(f"facts must be pairs (title, text), got {fact!r}.")
        pairs.append((str(fact[0]), str(fact[1])))
    return pairs


def _checked_texts(name: str, texts: Iterable[Any]) -> list[str]:
    if not isinstance(texts, Iterable) or isinstance(texts, str):
        raise InvalidInputError(f"{name} must be a list of strings, got {texts!r}.")
    return [str(text) for text in texts]


# --- fitting the size limit ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Draft:
    """All contents of a page, before some are left out to meet the size limit.

    Attributes
    ----------
    inputs : ReportInput
    sliders : sequence of Slider
    first : int
        Index of the slider that is active when the page opens.
    title, facts, notes, advice : as in page
    black_box : dict or str
        Result of :func:`black_box_document`.
    scorecard : dict or None
        Result of :func:`scorecard_document`.
    """

    inputs: ReportInput
    sliders: Sequence[Slider]
    first: int
    title: str | None
    facts: Sequence[tuple[str, str]]
    notes: Sequence[str]
    advice: Sequence[str]
    black_box: dict[str, Any] | str
    scorecard: dict[str, Any] | None

    def fitting(self, max_rows: int) -> str:
        """Return the page with at most ``max_rows`` rows.

        If the page would be too large, it has fewer rows. If there are very many conditions, those crossed least often are
        also left out.
        """
        inputs, most = self.inputs, None
        data, listed = self.data(most)
        nothing = rows_document(inputs, data, np.arange(0), listed)
        while (alone := len(self.rendered(data, nothing).encode())) > MOST_BYTES_WITHOUT_ROWS and most != 0:
            most = len(listed) // 2 if most is None else most // 2
            data, listed = self.data(most)
        text, n_rows = self.with_rows(data, listed, alone, max_rows)
        form = data["form"]
        if 2 * n_rows < min(max_rows, len(inputs.training)) and form["n_asked"] < len(form["in_rows"]):
            # The values that only the black box uses take too much room.
            form = form | {"in_rows": form["columns"][: form["n_asked"]]}
            text, _ = self.with_rows(data | {"form": form}, listed, alone, max_rows)
        return text

    def with_rows(self, data: dict[str, Any], listed: Positions, alone: int, max_rows: int) -> tuple[str, int]:
        """Return the page with as many rows as fit, and their number. ``alone`` is the size of the page without rows."""
        inputs = self.inputs
        codes = inputs.class_codes(inputs.training.y)
        named = self.disagreeing(data)
        chosen = sample(codes, max_rows, named)
        if all(isinstance(name, int) for name in inputs.names):  # sort rows by number for the look-up
            chosen = chosen[np.argsort([inputs.names[at] for at in chosen.tolist()], kind="stable")]
        rows = rows_document(inputs, data, chosen, listed)
        while (size := len((text := self.rendered(data, rows)).encode())) > MOST_BYTES and len(chosen):
            share = min(0.97 * max(0, MOST_BYTES - alone) / (size - alone), 0.95)
            kept = sample(codes[chosen], int(share * len(chosen)), np.flatnonzero(np.isin(chosen, named)))
            chosen, rows = chosen[kept], picked(rows, kept)
        return text, len(chosen)

    def disagreeing(self, data: dict[str, Any]) -> Positions:
        """Return the training rows that the page lists as the largest disagreements when it opens."""
        axis = data["axes"][data["axis"]]
        position = {name: at for at, name in enumerate(self.inputs.names)}
        found = axis["levels"][axis["start"]]["disagreements"] or []
        return np.array([position[each["row"]] for each in found], dtype=np.int64)

    def data(self, most_conditions: int | None) -> tuple[dict[str, Any], Positions]:
        """Return the data of the page without its rows, and the listed conditions.

        The listed conditions are returned as positions in ``inputs.conditions``.
        ``most_conditions`` limits the number of listed conditions; None lists all of them.
        """
        inputs = self.inputs
        listed = listed_conditions(inputs, self.sliders, most_conditions)
        notes = [*self.notes]
        if len(listed) < len(inputs.conditions):
            notes.append(
                f"The page lists {len(listed):,} of the {len(inputs.conditions):,} thresholds found: those crossed most "
                "often, and all thresholds that are used by a tree or belong to a small choice."
            )
        document = data_document(
            inputs,
            self.sliders,
            self.first,
            listed,
            title=self.title,
            facts=self.facts,
            notes=notes,
            advice=self.advice,
            black_box=self.black_box,
        )
        return document, listed

    def rendered(self, data: dict[str, Any], rows: dict[str, Any]) -> str:
        """Return the HTML of the page with the given rows.

        A note is added if some training rows are left out.

        Parameters
        ----------
        data : dict
            Result of :meth:`data`.
        rows : dict
            Result of :func:`rows_document`.
        """
        shown, total = len(rows["number"]), len(self.inputs.training)
        notes = data["notes"]
        if shown < total:
            how = ", a random sample stratified by class" if shown else ""
            looked_up = f"{shown:,} of the {total:,} training rows can be looked up here{how}."
            notes = [*notes, f"{looked_up} Counts, rates and trees use all rows."]
        lookup = {"total": total, "shown": shown, "sampled": shown < total, "named": self.inputs.are_named}
        black_box = self.black_box if isinstance(self.black_box, dict) else None
        return rendered(data | {"notes": notes, "rows": lookup}, rows, black_box, self.scorecard)


# --- HTML ---------------------------------------------------------------------------------------------------------------


def rendered(
    data: dict[str, Any], rows: dict[str, Any], black_box: dict[str, Any] | None, scorecard: dict[str, Any] | None
) -> str:
    """Fill the HTML template with the data of the page, of its rows and of the black box, and with the scorecard."""
    from markupsafe import Markup

    template, styles, scripts = _template()
    policy = content_security_policy(styles, scripts)
    text: str = template.render(
        data=data,
        data_json=Markup(safe_json(data)),
        rows_base64=compressed(rows),
        black_box_base64=compressed(black_box),
        scorecard=scorecard,
        csp=policy,
        styles=[Markup(text) for text in styles],
        scripts=[Markup(text) for text in scripts],
    )
    return text


@lru_cache(maxsize=1)
def _template() -> tuple[Any, tuple[str, ...], tuple[str, ...]]:
    """Read the HTML template, and the contents of all style sheets and scripts."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    folder = files("fcca.report").joinpath("templates")
    texts = {item.name: item.read_text(encoding="utf-8") for item in folder.iterdir() if item.is_file()}
    environment = Environment(
        loader=FunctionLoader(texts.get), autoescape=True, undefined=StrictUndefined, auto_reload=False
    )
    styles, scripts = (tuple(texts[name] for name in sorted(texts) if name.endswith(ending)) for ending in (".css", ".js"))
    return environment.get_template(TEMPLATE), styles, scripts


def content_security_policy(styles: Sequence[str], scripts: Sequence[str]) -> str:
    """Return a content security policy that allows only the given styles and scripts, and embedded images."""

    def hashes(texts: Sequence[str]) -> str:
        found = [f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'" for text in texts]
        return " ".join(found) or "'none'"

    return (
        f"default-src 'none'; script-src {hashes(scripts)}; style-src {hashes(styles)}; img-src data:; base-uri 'none'; "
        "form-action 'none'"
    )


def safe_json(document: Any) -> str:
    """Convert a document to JSON that can stand inside an HTML script element."""
    return _json(document).translate(ESCAPES)


def compressed(document: Any) -> str:
    """Convert a document to JSON, compress it by raw deflate, and encode it in base64."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    return base64.b64encode(packer.compress(_json(document).encode()) + packer.flush()).decode()


def _json(document: Any) -> str:
    return json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
