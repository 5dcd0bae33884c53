import pytest

from export.sql_engines import ENGINES
from real_data import imported


@pytest.fixture(scope="session", params=ENGINES)
def engine(request):
    """A database that runs SQL; an existing table must not change."""
    imported("sqlglot")
    started = ENGINES[request.param]()
    started.name = request.param
    yield started
    assert started.canary_lives()
    started.close()
