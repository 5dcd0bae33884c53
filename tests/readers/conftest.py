"""What holds for all reader tests."""

import pytest
from threadpoolctl import threadpool_limits


@pytest.fixture(autouse=True, scope="package")
def _one_thread():
    """Models this small spend more time on starting threads than on being fitted."""
    with threadpool_limits(1):
        yield
