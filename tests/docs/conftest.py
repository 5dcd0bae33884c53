import sys
from pathlib import Path

import pytest
from threadpoolctl import threadpool_limits

# At the end, where it hides none of the other tests' modules.
sys.path.append(str(Path(__file__).parents[2] / "docs" / "_ext"))


@pytest.fixture(autouse=True, scope="session")
def _one_thread():
    """Small tables: threads that wait for each other take longer than one."""
    with threadpool_limits(1):
        yield


@pytest.fixture(autouse=True)
def _no_windows():
    """Figures are drawn, never shown, and gone after the test."""
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    yield
    import matplotlib.pyplot as plt

    plt.close("all")
