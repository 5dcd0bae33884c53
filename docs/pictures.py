"""The pictures of the README: a tree, and the report of ``fcca distill`` in headless Chromium.

Run ``make pictures``; it needs playwright and a Chromium.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib as mpl
from playwright.sync_api import sync_playwright
from sklearn.datasets import load_breast_cancer

from fcca import FCCAClassifier, OptimalTreeClassifier
from fcca.plots import TreeDisplay

FOLDER = Path(__file__).parent / "_static"
SCREEN = {"width": 1200, "height": 1040}


def draw_tree() -> None:
    """Draw a tree with few leaves."""
    mpl.use("agg")
    data = load_breast_cancer(as_frame=True)
    labels = data.target_names[data.target]
    classifier = FCCAClassifier(tree=OptimalTreeClassifier(max_leaf_nodes=5)).fit(data.data, labels)
    display = TreeDisplay.from_estimator(classifier)
    display.figure_.savefig(FOLDER / "tree.png", dpi=100, bbox_inches="tight")


def photograph_report() -> None:
    """Take a screenshot of the first screen of a report."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        subprocess.run(
            [Path(sys.executable).with_name("fcca"), "distill", "--out", folder], check=True, stdout=subprocess.DEVNULL
        )
        browser = playwright.chromium.launch(executable_path=sys.argv[1], args=["--no-sandbox"])
        page = browser.new_page(viewport=SCREEN)
        page.goto((Path(folder) / "report.html").as_uri())
        page.screenshot(path=FOLDER / "report.png")
        browser.close()


if __name__ == "__main__":
    draw_tree()
    photograph_report()
