"""The page is one safe file, written atomically and limited in size."""

import base64
import hashlib
import json
import pickle
import re
import zlib
from html.parser import HTMLParser

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from fcca import FCCAClassifier, FCCADiscretizer, report
from fcca.exceptions import InvalidInputError
from fcca.report import _page
from fcca.report._page import compressed, safe_json

from .fitted import CASES, HOSTILE, first_level, fitted, levels_of, stumps


class Elements(HTMLParser):
    """Parse the names, attributes and texts of a page's elements like a browser."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.found, self.inside, self.texts = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))
        self.inside.append((tag, dict(attributes), []))

    def handle_data(self, text):
        if self.inside:
            self.inside[-1][2].append(text)
        self.texts.append(text)

    def handle_endtag(self, tag):
        while self.inside and self.inside[-1][0] != tag:
            self.inside.pop()
        if self.inside:
            name, attributes, texts = self.inside.pop()
            setattr(self, f"all_{name}", [*getattr(self, f"all_{name}", []), (attributes, "".join(texts))])


def read(text):
    """Return the two documents of a page."""
    parts = {attributes.get("id"): body for attributes, body in Elements(text).all_script}
    packed = base64.b64decode(parts["rows"].strip().strip('"'))
    return json.loads(parts["data"]), json.loads(zlib.decompress(packed, -zlib.MAX_WBITS))


@pytest.fixture(scope="module", params=CASES)
def page(request):
    return report.page(fitted(request.param)[0], Q=[0.5, 0.9])


def test_data_and_rows_can_be_read_back(page):
    data, rows = read(page)
    assert data["version"] == 3
    assert data["rows"] == {"total": len(rows["number"]), "shown": len(rows["number"]), "sampled": False, "named": False}
    assert {len(column) for column in (*rows["values"], rows["label"], rows["target"], rows["answer"])} == {
        len(rows["number"])
    }


def test_only_the_packages_own_scripts_and_styles_may_run(page):
    elements = Elements(page)
    policy = next(
        attributes["content"]
        for tag, attributes in elements.found
        if tag == "meta" and attributes.get("http-equiv") == "Content-Security-Policy"
    )
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    assert (rules["base-uri"], rules["form-action"], rules["img-src"]) == ("'none'", "'none'", "data:")

    def hashes(texts):
        digests = [hashlib.sha256(text.encode()).digest() for text in texts]
        return {f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests}

    run = [body for attributes, body in elements.all_script if attributes.get("type") != "application/json"]
    assert set(rules["script-src"].split()) == hashes(run)
    assert set(rules["style-src"].split()) == hashes(body for _, body in elements.all_style)
    assert len(run) == len(_page._template()[2])
    assert "unsafe" not in policy


def test_nothing_is_loaded_and_nothing_runs_from_an_attribute(page):
    for tag, attributes in Elements(page).found:
        assert tag not in ("iframe", "object", "embed", "base", "img")
        assert "src" not in attributes
        assert "style" not in attributes
        assert not [name for name in attributes if name.startswith("on")]
        if tag == "link":
            assert attributes.get("href", "").startswith("data:")
        assert "://" not in attributes.get("href", "")


def test_names_from_elsewhere_are_text_and_nothing_else():
    page = report.page(fitted("hostile")[0], title="</title><script>alert(4)</script>", facts=[("<i>x</i>", "</dd>")])
    elements = Elements(page)
    _, styles, scripts = _page._template()
    assert len(elements.all_script) == len(scripts) + 3
    assert len(elements.all_style) == len(styles)
    assert "i" not in {tag for tag, _ in elements.found}
    assert "<script>alert(" not in page
    assert "</script>&" not in page
    text = " ".join(elements.texts)
    assert "</title><script>alert(4)</script>" in text
    data, _ = read(page)
    assert [column["name"] for column in data["columns"]] == [*HOSTILE[:2], "🦊 \\u2028 \\u202e", HOSTILE[3]]
    assert data["classes"] == ["</script>&amp;", "<img src=x onerror=alert(3)>"]


def test_json_in_a_page_can_end_nothing():
    hostile = {"a": "</script><!--<script>&\u2028\u2029", "b": ["]]>", "é🦊"]}
    text = safe_json(hostile)
    assert not re.search("[<>&\u2028\u2029]", text)
    assert json.loads(text) == hostile


def test_rows_are_deflated_without_a_header():
    assert json.loads(zlib.decompress(base64.b64decode(compressed({"a": [1.5, None]})), -15)) == {"a": [1.5, None]}


def test_without_javascript_the_page_still_tells_the_tree():
    classifier, _ = fitted("breast cancer")
    text = re.sub(r"\s+", " ", " ".join(Elements(report.page(classifier)).texts))
    for name in classifier.discretizer_.thresholds_.names():
        assert name in text
    assert "Proven: no tree on these thresholds with depth at most" in text
    own = read(report.page(classifier))[0]
    assert "Quality of the tree on training rows" in text
    assert "No rows were held out" in text
    figures = first_level(own)["quality"]["tree"], first_level(own)["quality"]["cart"], own["quality"]["commonest"]
    said = " ".join(f"{100 * each['accuracy']:.1f} %" for each in (*figures, own["quality"]["black_box"]))
    assert f"Accuracy {said} Balanced accuracy" in text
    said = " ".join(f"{each['auc']:.3f}" for each in (*figures, own["quality"]["black_box"]))
    assert f"AUC {said} Log-loss" in text


@pytest.mark.parametrize(
    ("name", "learned"),
    [
        ("breast cancer", "a mixture of the labels and the class probabilities of the black box."),
        ("three classes", "the predictions of the black box, not the labels."),
    ],
)
def test_the_lead_says_what_the_tree_learned_and_what_was_computed(name, learned):
    classifier, (_, y) = fitted(name)
    page = report.page(classifier, facts=[("Black box", "my model")])
    lead = re.search(r'<p class="lead".*?</p>', page, re.DOTALL)[0]
    text = re.sub(r"\s+", " ", " ".join(Elements(lead).texts))
    proven = int(classifier.discretizer_.counterfactuals_.is_status("optimal").sum())
    assert "the “black box” (my model)" in text
    assert f"For {proven} of the {len(y)}" in text
    assert text.rstrip().endswith(f"The small tree learned {learned}")


def test_rows_are_listed_in_the_order_of_their_numbers():
    classifier, (_, y) = fitted("breast cancer")
    names = np.random.default_rng(0).permutation(len(y)) + 7
    for most in (5000, 50):
        data, rows = read(report.page(classifier, row_numbers=names, max_rows=most, Q=[0.7]))
        assert rows["number"] == sorted(rows["number"])
        assert data["rows"]["named"]
        at = {name: i for i, name in enumerate(names.tolist())}
        assert [data["classes"][code] for code in rows["label"]] == [y[at[name]] for name in rows["number"]]


# --- size ---------------------------------------------------------------------------------------------------------------


def test_above_max_rows_some_are_drawn_and_the_page_says_so():
    classifier, (_, y) = fitted("breast cancer")
    data, rows = read(report.page(classifier, max_rows=100))
    assert data["rows"] == {"total": 569, "shown": 100, "sampled": True, "named": False}
    assert len(rows["number"]) == 100
    shares = np.bincount(rows["label"]) / 100
    np.testing.assert_allclose(shares, [(y == name).mean() for name in data["classes"]], atol=0.01)
    assert any(note.startswith("100 of the 569 training rows can be looked up here") for note in data["notes"])
    whole, _ = read(report.page(classifier))
    same = ("axes", "conditions", "n_counterfactuals", "columns")
    assert {name: data[name] for name in same} == {name: whole[name] for name in same}
    assert report.page(classifier, max_rows=100) == report.page(classifier, max_rows=100)


def test_a_page_without_rows_is_a_page():
    data, rows = read(report.page(fitted("categories and missing values")[0], max_rows=0))
    assert data["rows"] == {"total": 400, "shown": 0, "sampled": True, "named": False}
    assert rows["number"] == rows["answer"] == []


def test_too_large_a_page_shows_fewer_rows(monkeypatch):
    classifier, _ = fitted("breast cancer")
    alone = len(report.page(classifier, max_rows=0).encode())
    whole = len(report.page(classifier).encode())
    most = (alone + whole) // 2
    monkeypatch.setattr(_page, "MOST_BYTES", most)
    page = report.page(classifier)
    data, rows = read(page)
    assert 0.85 * most < len(page.encode()) <= most
    assert 100 < data["rows"]["shown"] == len(rows["number"]) < 569
    assert any("can be looked up here" in note for note in data["notes"])


def test_a_page_with_too_many_thresholds_lists_those_that_matter(monkeypatch):
    classifier, _ = fitted("breast cancer")
    whole = read(report.page(classifier))[0]
    monkeypatch.setattr(_page, "MOST_BYTES_WITHOUT_ROWS", len(report.page(classifier, max_rows=0).encode()) - 2000)
    data, rows = read(report.page(classifier))
    assert len(data["conditions"]) < len(whole["conditions"]) == data["n_conditions"]
    most = max(whole["conditions"], key=lambda line: line["count"])
    assert most["text"] in [line["text"] for line in data["conditions"]]
    assert any(f"lists {len(data['conditions'])} of the {data['n_conditions']} thresholds" in n for n in data["notes"])
    assert max(c for answer in rows["answer"] if answer for c in answer["crossed"]) < len(data["conditions"])


def test_a_wide_table_of_many_rows_stays_under_a_megabyte():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5000, 60))
    y = (X[:, :15] @ rng.normal(size=15) > 0).astype(int)
    classifier = FCCAClassifier(FCCADiscretizer(LogisticRegression(), Q=0.9)).fit(X, y)
    page = report.page(classifier, Q=[0.0, 0.9], time_limit=0.2)
    assert len(page.encode()) < 1_000_000
    data, rows = read(page)
    assert data["rows"]["shown"] == 5000
    # There is no room for the values of the columns that only the black box uses.
    assert rows["columns"] == data["form"]["columns"][: len(rows["columns"])]
    assert len(rows["columns"]) < len(data["form"]["columns"]) == 60


# --- writing ------------------------------------------------------------------------------------------------------------


def test_the_file_holds_the_page(tmp_path):
    classifier, _ = fitted("breast cancer")
    steps = []
    path = report.write(
        classifier,
        str(tmp_path / "report.html"),
        Q=[0.7, 0.9],
        n_thresholds=[2],
        progress=lambda done, total: steps.append((done, total)),
    )
    assert path == tmp_path / "report.html"
    assert path.read_text(encoding="utf-8") == report.page(classifier, Q=[0.7, 0.9], n_thresholds=[2])
    assert steps == [(1, 3), (2, 3), (3, 3)]
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]


def test_it_is_opened_where_that_is_asked_for(tmp_path, monkeypatch):
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    path = report.write(fitted("breast cancer")[0], tmp_path / "a b.html", Q=[0.7], open_in_browser=True)
    assert opened == [path.resolve().as_uri()]


def test_a_loaded_classifier_is_given_its_rows(tmp_path):
    classifier, (X, y, weight) = fitted("weights")
    loaded = pickle.loads(pickle.dumps(classifier))
    with pytest.raises(InvalidInputError, match="Pass X and y"):
        report.page(loaded)
    assert report.page(loaded, X=X, y=y, sample_weight=weight) == report.page(classifier)
    with pytest.raises(InvalidInputError, match="not the rows that the classifier was fitted on"):
        report.page(loaded, X=X.iloc[::-1] * 2, y=y)


GOOD = {"X_test": np.zeros((2, 8)), "y_test": ["benign", "malignant"]}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"Q": [0.5, 1.5]}, r"Q must contain numbers between 0 and 1, got 1\.5"),
        ({"Q": ["a"]}, "Q must contain numbers"),
        ({"Q": [True]}, "Q must contain numbers"),
        ({"Q": [float("nan")]}, "Q must contain numbers"),
        ({"max_rows": -1}, "max_rows must be a whole number of at least 0, got -1"),
        ({"max_rows": 1.5}, "max_rows must be"),
        ({"time_limit": -1}, "time_limit must be"),
        ({"time_limit": "1"}, "time_limit must be"),
        ({"title": 3}, "title must be a string"),
        ({"facts": ["ab"]}, "facts must be pairs"),
        ({"facts": [("a", "b", "c")]}, "facts must be pairs"),
        ({"facts": 5}, "facts must be pairs"),
        ({"facts": [5]}, "facts must be pairs"),
        ({"notes": "hello"}, "notes must be a list of strings"),
        ({"notes": None}, "notes must be a list of strings"),
        ({"time_limit": float("inf")}, "time_limit must be"),
        ({"row_numbers": [1, 2]}, r"row_numbers must have one entry per training row \(569\), got 2"),
        ({"row_numbers": range(600)}, r"row_numbers must have one entry per training row \(569\), got 600"),
        ({"row_numbers": [0] * 569}, "the same entry for two rows"),
        ({"X": np.zeros((3, 8))}, "X, y and sample_weight belong together"),
        ({"X_test": np.zeros((3, 8))}, "X_test and y_test must be given together"),
        ({**GOOD, "X_test": np.zeros((3, 8))}, r"X_test and y_test must have the same number of rows \(3 and 2\)"),
        ({**GOOD, "X_test": np.zeros((2, 5))}, "5 features"),
        ({**GOOD, "y_test": [1, 0]}, "None of the labels in y_test is a class of the classifier"),
        ({"X_test": np.zeros((0, 8)), "y_test": []}, "X_test has no rows"),
    ],
)
def test_what_cannot_be_used_is_refused_before_any_work(options, message, tmp_path, monkeypatch):
    classifier, _ = fitted("array")
    monkeypatch.setattr(_page, "make_sliders", lambda *_: pytest.fail("work was done"))
    path = tmp_path / "report.html"
    path.write_text("old")
    with pytest.raises(ValueError, match=message):
        report.write(classifier, path, **options)
    assert path.read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ({"benin": "good"}, "class_names has a name for 'benin', which is not a class. Did you mean 'benign'?"),
        ({"benign": "x", "malignant": "x"}, "class_names gives two classes the name 'x'"),
        ({"benign": "malignant"}, "class_names gives two classes the name 'malignant'"),
        (["good", "bad"], "class_names must be a mapping"),
    ],
)
def test_names_of_unknown_classes_and_repeated_names_are_refused(names, message):
    with pytest.raises(InvalidInputError, match=re.escape(message)):
        report.page(fitted("breast cancer")[0], class_names=names)


def test_levels_that_differ_by_rounding_are_one():
    data, _ = read(report.page(fitted("array")[0], Q=[0.1 + 0.2, 0.3, 0.5 + 1e-12]))
    assert [level["value"] for level in levels_of(data)] == sorted({0.3, 0.5, first_level(data)["value"]})


def test_numbers_of_rows_that_a_browser_cannot_hold_keep_their_digits():
    _, rows = read(report.page(fitted("array")[0], row_numbers=2**60 + np.arange(569), Q=[0.9]))
    assert rows["number"][:2] == [str(2**60), str(2**60 + 1)]


def test_long_texts_do_not_break_the_limit():
    text = "x" * 2_000_000
    assert len(report.page(fitted("array")[0], title=text, facts=[(text, text)], notes=[text], Q=[0.9])) < 1_000_000


@pytest.mark.parametrize("name", ["a\0b.html", "x" * 250 + ".html"])
def test_names_that_no_file_can_have_are_refused(name, tmp_path):
    with pytest.raises(InvalidInputError, match="must be a valid file name of at most 240 bytes"):
        report.write(fitted("array")[0], tmp_path / name)


@pytest.mark.parametrize(
    ("classifier", "message"),
    [
        (FCCAClassifier(), "not fitted"),
        (FCCAClassifier, "got the class FCCAClassifier"),
        (stumps(), "got GradientBoostingClassifier"),
    ],
)
def test_what_is_no_fitted_classifier_is_refused(classifier, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        report.write(classifier, tmp_path / "report.html")
    assert not list(tmp_path.iterdir())


def test_a_tree_that_is_not_on_the_discretizers_thresholds_is_refused():
    classifier = FCCAClassifier(FCCADiscretizer(stumps())).fit(*fitted("breast cancer")[1])
    classifier.discretizer_.set_granularity(0.9)
    with pytest.raises(InvalidInputError, match="at_granularity"):
        report.page(classifier)


def test_a_path_that_cannot_be_written_is_refused(tmp_path):
    classifier, _ = fitted("breast cancer")
    for path, message in (
        (tmp_path, "is a directory"),
        (tmp_path / "none" / "a.html", "there is no directory"),
        (None, "path must be the path of the file"),
        ("", "path must be the path of the file"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            report.write(classifier, path)
    assert not list(tmp_path.iterdir())


def test_after_an_error_the_old_file_is_as_it_was(tmp_path, monkeypatch):
    path = tmp_path / "report.html"
    path.write_text("old")
    monkeypatch.setattr(_page, "rendered", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        report.write(fitted("breast cancer")[0], path, Q=[0.7])
    assert path.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]
