import pytest

from export.sql_engines import ENGINES
from real_data import imported


@pytest.fixture(scope="session", params=ENGINES)
def engine(request):
    """A database that runs SQL for real; nothing may happen to the table that was there before."""
    imported("sqlglot")
    started = ENGINES[request.param]()
    started.name = request.param
    yield started
    assert started.canary_lives()
    started.close()
