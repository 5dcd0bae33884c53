"""Run counterfactual searches in the worker processes of the active joblib backend."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import BrokenExecutor
from contextlib import AbstractContextManager, closing, nullcontext
from copy import copy
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from joblib import effective_n_jobs, parallel_backend, wrap_non_picklable_objects
from joblib.parallel import get_active_backend
from numpy.typing import NDArray
from sklearn.utils.parallel import Parallel, delayed

from fcca.cells import TrainingValues
from fcca.constraints import Limits
from fcca.counterfactuals._batch import Batch
from fcca.counterfactuals._result import Counterfactuals, joined
from fcca.exceptions import UnsupportedModelError, WorkerDiedError
from fcca.models import LinearModel

if TYPE_CHECKING:
    from fcca.counterfactuals._engine import CounterfactualEngine

# A search takes microseconds to minutes. With several chunks each, workers finish at about the same time.
CHUNKS_PER_WORKER = 8
MOST_POINTS_PER_CHUNK = 65_536
#: Attempts with new workers after a worker died.
ATTEMPTS_AFTER_DEATH = 2


def n_worker_processes(n_jobs: int | None) -> int:
    """Return the number of worker processes of the active joblib backend.

    It is 1 for a backend of threads. Inside a worker process of loky, joblib reports threads, so no worker starts further
    processes.
    """
    backend, _ = get_active_backend(prefer="threads")
    return 1 if getattr(backend, "supports_sharedmem", False) else int(effective_n_jobs(n_jobs))


def reproducible_predictions() -> AbstractContextManager[Any]:
    """Return a context manager under which predictions are the same in every run.

    Without this context, under a joblib backend of processes, a forest sums its trees in the order in which threads finish.
    So the last bit of a probability, and the winner of a tie, could differ between runs.
    """
    backend, _ = get_active_backend(prefer="threads")
    return nullcontext() if getattr(backend, "supports_sharedmem", False) else parallel_backend("threading", n_jobs=1)


class Shared(NamedTuple):
    """The engine, and the batch fields that all chunks share."""

    engine: CounterfactualEngine
    batch: Batch  # without points


class Chunk(NamedTuple):
    """The fields of a batch for some of its rows, and their time limit."""

    per_point: dict[str, Any]  # fields of the batch
    time_limit: float  # remaining seconds when the chunk was sent
    ends_at: float  # clock time of the deadline: the chunk may wait for its worker


def solve_by_workers(engine: CounterfactualEngine, batch: Batch, n_jobs: int | None) -> Counterfactuals:
    """Find the counterfactuals of a batch in worker processes.

    Parameters
    ----------
    engine : CounterfactualEngine
    batch : Batch
    n_jobs : int or None
        Number of worker processes, as in joblib.
    """
    nothing = replace(batch.of(np.arange(0)), n_threads=1, progress=None)
    sent = _pickled(Shared(_without_rows(engine, batch.limits), nothing))
    began, ends_at = time.monotonic(), time.time() + batch.time_limit

    def task(which: NDArray[np.int64]) -> Any:
        left = max(0.0, batch.time_limit - (time.monotonic() - began))
        return delayed(_solve_chunk)(sent, Chunk(batch.per_point(which), left, ends_at))

    parts: list[Counterfactuals] = []
    done = 0
    with closing(_results(_equal_parts(len(batch), n_worker_processes(n_jobs)), task, n_jobs)) as results:
        for part in results:
            parts.append(part)
            done += len(part)
            if batch.progress is not None:
                batch.progress(done)
    return replace(joined(parts), rows=batch.points, classes=engine.model.classes, columns=engine.model.columns)


def _equal_parts(n: int, n_workers: int) -> list[NDArray[np.int64]]:
    """Divide the positions of ``n`` rows into chunks of about equal size."""
    n_chunks = min(n, max(CHUNKS_PER_WORKER * n_workers, -(-n // MOST_POINTS_PER_CHUNK)))
    ends = [n * k // n_chunks for k in range(n_chunks + 1)]
    return [np.arange(begin, end) for begin, end in pairwise(ends)]


def _results(
    chunks: list[NDArray[np.int64]], task: Callable[[NDArray[np.int64]], Any], n_jobs: int | None
) -> Generator[Counterfactuals]:
    """Yield the results of all chunks in order; start new workers if one dies."""
    n_done, deaths = 0, 0
    while n_done < len(chunks):
        try:
            with closing(_computed((task(which) for which in chunks[n_done:]), n_jobs)) as parts:
                for part in parts:
                    n_done += 1
                    yield part
        except BrokenExecutor as error:
            deaths += 1
            if deaths > ATTEMPTS_AFTER_DEATH:
                raise WorkerDiedError(
                    f"Worker processes died {deaths} times, even after new ones were started. Often the system ends a "
                    "process because memory runs out. Use fewer processes (a lower n_jobs), or use threads, which share "
                    "their memory (leave out joblib's parallel_config)."
                ) from error


def _computed(tasks: Iterator[Any], n_jobs: int | None) -> Generator[Counterfactuals]:
    """Run joblib tasks and yield their results in order."""
    backend, _ = get_active_backend(prefer="threads")
    as_they_come = getattr(backend, "supports_return_generator", False)
    parallel = Parallel(n_jobs=n_jobs, batch_size=1, **({"return_as": "generator"} if as_they_come else {}))
    results = parallel(tasks)
    with closing(results) if as_they_come else nullcontext():
        yield from results


def _solve_chunk(sent: NDArray[np.uint8], chunk: Chunk) -> Counterfactuals:
    """Find the counterfactuals of a chunk; runs in a worker, with one thread."""
    shared: Shared = pickle.loads(sent.data)
    left = max(0.0, min(chunk.time_limit, chunk.ends_at - time.time()))
    found = shared.engine.solve_here(replace(shared.batch, **chunk.per_point, time_limit=left))
    return replace(found, columns=None)  # the caller has them


def _pickled(shared: Shared) -> NDArray[np.uint8]:
    """Pickle the shared fields as an array.

    joblib sends an array to each worker only once.
    """
    try:
        # Classes defined in a notebook belong to no module. Only joblib's pickling includes them.
        pickled = pickle.dumps(wrap_non_picklable_objects(shared, keep_wrapper=False))
    except (pickle.PicklingError, TypeError, AttributeError) as error:
        raise UnsupportedModelError(
            f"{type(shared.engine.estimator).__name__} cannot be sent to other processes: {error}. Use threads, the "
            "default: leave out joblib's parallel_config, or pass it backend='threading'."
        ) from error
    return np.frombuffer(pickled, dtype=np.uint8)


def _without_rows(engine: CounterfactualEngine, limits: Limits) -> CounterfactualEngine:
    """Copy the engine without its training rows, to send less data to the workers.

    The copy keeps the medians and distinct values that the search needs. With ``method="milp"``, the rows are kept.
    """
    sent = copy(engine)
    known = engine.training
    if known.chunks is not None and engine.method == "search":
        replaced = set(engine.cells.special)
        if limits.fillable is not None:
            replaced.update(np.flatnonzero(limits.fillable).tolist())
        categories, distinct = set(engine.cells.code_cell), set()
        if isinstance(engine.model, LinearModel):
            categories = set(engine.model.effects)
            distinct = categories | {rule.then_feature for rule in limits.implications}
        sent.training = TrainingValues(
            None,
            {j: known.median(j) for j in sorted(replaced - categories)},
            {j: known.distinct(j) for j in sorted(distinct)},
            known.special,
        )
    return sent
