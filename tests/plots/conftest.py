import pytest

import real_data


@pytest.fixture(autouse=True)
def _no_window():
    real_data.imported("matplotlib").use("Agg")
    from matplotlib import pyplot

    pyplot.close("all")
    yield
    pyplot.close("all")
