"""Killed workers. This file comes last, so that no other test waits for the workers that replace them."""

import os
import signal

import pytest
from dask_tables import assert_same, features, in_memory, numbers
from sklearn.ensemble import GradientBoostingClassifier

from real_data import imported

imported("dask")
distributed = imported("distributed")

import dask.dataframe as dd  # noqa: E402

from fcca.dask import distill  # noqa: E402


class Deadly(GradientBoostingClassifier):
    """Kills the processes in ``victims_`` at its second prediction there."""

    def predict(self, X):
        if os.getpid() in getattr(self, "victims_", ()):
            asked = getattr(self, "asked_", 0)
            self.asked_ = asked + 1
            if asked:
                os.kill(os.getpid(), signal.SIGKILL)
        return super().predict(X)


def pids(client):
    return list(client.run(os.getpid).values())


@pytest.mark.slow
@pytest.mark.parametrize("n_victims", [1, pytest.param(2, marks=pytest.mark.verify)], ids=["one worker", "all workers"])
def test_killed_workers_change_nothing(client, n_victims):
    frame = numbers(400).drop(columns="weight")
    model = Deadly(n_estimators=30, max_depth=1, random_state=0).fit(features(frame), frame["label"])
    expected = in_memory(frame, model)
    model.victims_ = pids(client)[:n_victims]
    found = distill(dd.from_pandas(frame, npartitions=8), "label", model, client=client)
    assert not set(model.victims_) & set(pids(client))
    assert_same(found, expected)


@pytest.mark.verify
def test_persisted_partitions_of_a_killed_worker_are_recomputed(client):
    frame = numbers(400).drop(columns="weight")
    model = Deadly(n_estimators=30, max_depth=1, random_state=0).fit(features(frame), frame["label"])
    expected = in_memory(frame, model)
    ddf = client.persist(dd.from_pandas(frame, npartitions=6))
    with client.as_current():
        distributed.wait(distributed.futures_of(ddf))
    model.victims_ = pids(client)[:1]
    found = distill(ddf, "label", model, client=client)
    assert not set(model.victims_) & set(pids(client))
    assert_same(found, expected)
