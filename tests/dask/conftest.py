"""One cluster for all tests: two worker processes of one thread each."""

import importlib
import warnings

import pytest

from real_data import imported


@pytest.fixture(scope="session")
def cluster():
    imported("dask")
    distributed = imported("distributed")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        client.run(importlib.import_module, "fcca.streaming")  # so that no test with a deadline waits for the import
        yield client


@pytest.fixture
def client(cluster):
    """The cluster's client, all of its workers there, also after a test that killed some."""
    cluster.wait_for_workers(2, timeout=120)
    return cluster


@pytest.fixture(autouse=True)
def _no_warnings():
    """But for those that Dask's libraries have for each other."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=FutureWarning)
        warnings.filterwarnings("ignore", message="The inplace keyword|Parameter n_jobs will be ignored")
        yield
