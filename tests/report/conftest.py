"""A browser, and reports to read in it."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier

from fcca import FCCAClassifier, FCCADiscretizer, OptimalTreeClassifier, report
from mixed_tables import loans
from real_data import absent, imported

from .browser import DESKTOP, Reader, executables

SCRIPT = "<script>window.broken = 1; alert(1)</script>"
HOSTILE_COLUMNS = (SCRIPT, '"quotes" \' & ` </script><!--', "🦊 emoji", "n" * 300, "<img src=x onerror=alert(2)>")
HOSTILE_CATEGORIES = ("</script><script>window.broken = 2</script>", "\"single' & double", "🐙", "c" * 300)
HOSTILE_CLASSES = ('</script>&amp; "class"', "<svg onload=alert(3)> " + "k" * 300)
HOSTILE_TITLE = "</title><script>window.broken = 3</script> 🎈 \" '"


@pytest.fixture(scope="session")
def chromium():
    """One browser for all tests; skips where there is none."""
    sync_playwright = imported("playwright.sync_api").sync_playwright
    with sync_playwright() as playwright:
        paths = executables(playwright)
        if not paths:
            absent("no Chromium is installed: Debian has it as the package chromium")
        browser = playwright.chromium.launch(executable_path=paths[0], args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def opened(chromium):
    """Opens a report, and at the end of the test holds it to no error, no dialog and no request."""
    readers, contexts = [], []

    def start(file, fragment="", **options):
        context = chromium.new_context(**{"viewport": DESKTOP, **options})
        contexts.append(context)
        readers.append(Reader(context, file, fragment))
        return readers[-1]

    yield start
    troubles = [trouble for reader in readers for trouble in reader.troubles]
    for context in contexts:
        context.close()
    assert troubles == []


def _written(folder, classifier, X, y, **options):
    path = report.write(classifier, folder / "report.html", **options)
    return SimpleNamespace(path=path, classifier=classifier, X=X, y=np.asarray(y))


@pytest.fixture(scope="session")
def cancer(tmp_path_factory):
    """Numbers only, held-out rows, rows with numbers of their own."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    y = np.where(y == 1, "benign", "malignant")
    model = GradientBoostingClassifier(max_depth=1, n_estimators=40, random_state=0)
    tree = OptimalTreeClassifier(max_depth=3, regularization=0.004, criterion="error")
    train, test = np.arange(0, 400), np.arange(400, len(y))
    classifier = FCCAClassifier(FCCADiscretizer(model, Q=0.7), tree).fit(X.iloc[train], y[train])
    folder = tmp_path_factory.mktemp("cancer")
    return _written(folder, classifier, X.iloc[train], y[train], X_test=X.iloc[test], y_test=y[test])


@pytest.fixture(scope="session")
def mixed(tmp_path_factory):
    """Numbers, categories, gaps in both, a deep tree, rows called by other numbers than their positions."""
    X, y = loans(500)
    model = RandomForestClassifier(n_estimators=15, max_depth=4, random_state=0)
    classifier = FCCAClassifier(
        FCCADiscretizer(model, Q=0.5),
        OptimalTreeClassifier(max_depth=4, regularization=0.002, max_leaf_nodes=None, criterion="error"),
    )
    classifier.fit(X, y)
    return _written(tmp_path_factory.mktemp("mixed"), classifier, X, y, row_numbers=1000 + 3 * np.arange(len(y)))


@pytest.fixture(scope="session")
def whole_numbers(tmp_path_factory):
    """Values that lie on thresholds, thresholds below 0 and gaps."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(-4, 4, (300, 3)).astype(float), columns=["a", "b", "c"])
    y = (X["a"] + X["b"] * X["c"] + rng.normal(0, 1, len(X)) > -1).astype(int)
    X = X.mask(rng.random(X.shape) < 0.15)
    model = GradientBoostingClassifier(max_depth=2, n_estimators=30, random_state=0)
    classifier = FCCAClassifier(
        FCCADiscretizer(model),
        OptimalTreeClassifier(max_depth=4, regularization=0.001, max_leaf_nodes=None, criterion="error"),
    ).fit(X, y)
    return _written(tmp_path_factory.mktemp("whole_numbers"), classifier, X, y, Q=[0, 0.5, 0.8])


@pytest.fixture(scope="session")
def hostile(tmp_path_factory):
    """Names that are markup, quotes, emoji and very long."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(300, 5)).round(2), columns=list(HOSTILE_COLUMNS))
    X[HOSTILE_COLUMNS[2]] = rng.choice(HOSTILE_CATEGORIES, len(X))
    kind = X[HOSTILE_COLUMNS[2]]
    score = X.iloc[:, [0, 1, 3, 4]].sum(axis=1) + 3 * (kind == HOSTILE_CATEGORIES[0]) - 3 * (kind == HOSTILE_CATEGORIES[1])
    X.iloc[::9, 1] = np.nan
    y = np.where(score > 0, HOSTILE_CLASSES[0], HOSTILE_CLASSES[1])
    model = RandomForestClassifier(n_estimators=10, max_depth=3, random_state=0)
    tree = OptimalTreeClassifier(max_depth=4, regularization=0.001, max_leaf_nodes=None, criterion="error")
    classifier = FCCAClassifier(FCCADiscretizer(model, Q=0.3), tree).fit(X, y)
    folder = tmp_path_factory.mktemp("hostile")
    facts, notes = [(SCRIPT, SCRIPT)], [SCRIPT]
    return _written(folder, classifier, X, y, Q=[0, 0.3, 0.9], title=HOSTILE_TITLE, facts=facts, notes=notes)


@pytest.fixture(scope="session")
def digits(tmp_path_factory):
    """Ten classes, one level."""
    X, y = load_digits(return_X_y=True, as_frame=True)
    X, y = X.iloc[:300].loc[:, X.iloc[:300].std() > 0], y[:300]
    model = RandomForestClassifier(n_estimators=5, max_depth=4, random_state=0)
    tree = OptimalTreeClassifier(max_depth=3, regularization=0.01, criterion="error")
    classifier = FCCAClassifier(FCCADiscretizer(model, Q=0.9), tree).fit(X, y)
    return _written(tmp_path_factory.mktemp("digits"), classifier, X, y, Q=[0.9])


@pytest.fixture(scope="session")
def large(tmp_path_factory):
    """More rows than a page holds."""
    X, y = loans(5200, seed=1)
    model = GradientBoostingClassifier(max_depth=1, n_estimators=30, random_state=0)
    X = X[["income", "age"]].fillna(0)
    classifier = FCCAClassifier(FCCADiscretizer(model, Q=0.5)).fit(X, y)
    return _written(tmp_path_factory.mktemp("large"), classifier, X, y)
