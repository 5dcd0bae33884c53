"""Write an example report to the built pages, as ``report.html``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sphinx.application import Sphinx


def write_report(app: Sphinx, error: Exception | None) -> None:
    """Write the report that the pages link to, after they are built.

    The data is scikit-learn's breast-cancer data, and the black box is the default: 100 boosted trees of depth 2.
    """
    if error is not None or app.builder.name != "html":
        return
    from sklearn.datasets import load_breast_cancer
    from sklearn.model_selection import train_test_split

    import fcca.report
    from fcca import FCCAClassifier, FCCADiscretizer, OptimalTreeClassifier

    data = load_breast_cancer(as_frame=True)
    y = data.target_names[data.target]
    X_train, X_test, y_train, y_test = train_test_split(data.data, y, test_size=0.2, stratify=y, random_state=0)
    classifier = FCCAClassifier(FCCADiscretizer(Q=0.7), OptimalTreeClassifier(max_leaf_nodes=6))
    classifier.fit(X_train, y_train)
    fcca.report.write(
        classifier,
        Path(app.outdir, "report.html"),
        X_test=X_test,
        y_test=y_test,
        title="Breast cancer: 100 boosted trees as a small tree",
        facts=[("Data", "scikit-learn's breast-cancer data, a fifth of the rows held out")],
    )


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the function with Sphinx."""
    app.connect("build-finished", write_report)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
