"""Report the jobs of a fit to scikit-learn's callbacks, such as ``sklearn.callback.ProgressBar``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from fcca.utils import ProgressDisplay, Update, open_display, shown_on

try:
    from sklearn.callback import CallbackSupportMixin as CallbackSupportMixin, with_callbacks as with_callbacks
except ImportError:  # scikit-learn before 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Base class without callbacks."""

    def with_callbacks(method: Any) -> Any:
        """Return a method unchanged."""
        return method


#: A job of known size is reported as at most this many tasks.
MOST_PARTS = 100


@contextmanager
def reported_to_callbacks(estimator: Any, X: Any, y: Any) -> Iterator[None]:
    """Report the jobs inside a ``with`` block as tasks of an estimator's fit, if it has callbacks.

    The jobs are also shown on the open display. What the callbacks return is ignored.

    Parameters
    ----------
    estimator : CallbackSupportMixin
        Its ``fit`` is decorated with ``with_callbacks``.
    X, y : array-like
        The arguments of ``fit``.
    """
    if not getattr(estimator, "_skl_callbacks", None):
        yield
        return
    context = estimator._init_callback_context(max_subtasks=None)
    context.call_on_fit_task_begin(estimator=estimator, X=X, y=y)
    with shown_on(CallbackDisplay(open_display(), estimator, context)):
        yield
    context.call_on_fit_task_end(estimator=estimator, X=X, y=y)


class CallbackDisplay:
    """A display that reports each job as a task of a fit.

    Parameters
    ----------
    shown_on : ProgressDisplay or None
        A display that shows the jobs, too.
    estimator : estimator
    context : sklearn.callback.CallbackContext
        The context of the whole fit.
    """

    def __init__(self, shown_on: ProgressDisplay | None, estimator: Any, context: Any) -> None:
        self.shown_on = shown_on
        self._estimator, self._context = estimator, context

    @contextmanager
    def job(self, label: str, total: int | None) -> Iterator[Update]:
        """Report a job while a ``with`` block runs; see :meth:`ProgressDisplay.job`."""
        given, total = total, total or 0
        n_parts = min(MOST_PARTS, total)
        task = self._context.subcontext(task_name=label, max_subtasks=n_parts)
        task.call_on_fit_task_begin(estimator=self._estimator)
        reported = 0

        def report(done: int) -> None:
            nonlocal reported
            while reported < n_parts and (reported + 1) * total <= done * n_parts:
                part = task.subcontext(task_name=f"{label}, part")
                part.call_on_fit_task_begin(estimator=self._estimator)
                part.call_on_fit_task_end(estimator=self._estimator)
                reported += 1

        try:
            with self._shown_job(label, given) as show:

                def update(done: int, of: int | None = None) -> None:
                    if show is not None:
                        show(done, of)
                    report(done)

                yield update
        except KeyboardInterrupt:  # the fit may go on with the rows searched so far
            task.call_on_fit_task_end(estimator=self._estimator)
            raise
        task.call_on_fit_task_end(estimator=self._estimator)

    def _shown_job(self, label: str, total: int | None) -> AbstractContextManager[Update | None]:
        return nullcontext() if self.shown_on is None else self.shown_on.job(label, total)
