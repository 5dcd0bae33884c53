"""What must work wherever a wheel was installed, with nothing but the wheel: ``python smoke.py``."""

import json
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path


def distill(folder: Path) -> None:
    """The command, in an empty folder: a tree of scikit-learn's data, proven, and its report."""
    command = Path(sysconfig.get_path("scripts")) / ("fcca.exe" if sys.platform == "win32" else "fcca")
    args = ["distill", "--q", "0.5", "--regularization", "0.005", "--out", "found", "--json"]
    done = subprocess.run([command, *args], cwd=folder, capture_output=True, text=True, encoding="utf-8")
    if done.returncode:
        raise SystemExit(f"fcca distill ended with {done.returncode}:\n{done.stderr}")
    json.loads(done.stdout)
    files = {path.name for path in (folder / "found").iterdir()}
    expected = {
        "certificate.json",
        "counterfactuals.parquet",
        "report.html",
        "thresholds.csv",
        "thresholds.json",
        "tree.json",
    }
    assert files == expected, files
    assert "<script" in (folder / "found" / "report.html").read_text(encoding="utf-8")


def in_python() -> None:
    """Black box, thresholds, tree: the same answers from the classifier and from what is exported of it."""
    from sklearn.datasets import load_breast_cancer

    import fcca
    from fcca import FCCAClassifier, FCCADiscretizer
    from fcca.export import from_json, to_json

    assert "site-packages" in Path(fcca.__file__).parts, f"the sources were imported, not the wheel: {fcca.__file__}"
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    classifier = FCCAClassifier(discretizer=FCCADiscretizer(Q=0.9)).fit(X, y)
    answers = classifier.predict(X)
    assert classifier.tree_.is_optimal_
    assert (answers == y).mean() > 0.9, (answers == y).mean()
    assert (from_json(to_json(classifier)).predict(X) == answers).all()
    print(f"fcca {fcca.__version__} on Python {sys.version.split()[0]}: {(answers == y).mean():.4f} of the rows")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as empty:
        distill(Path(empty))
    in_python()
