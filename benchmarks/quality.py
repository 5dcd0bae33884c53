"""Compare the held-out quality of the default tree, CART, other optimal trees, FIGS and black boxes.

Run: python benchmarks/quality.py [--tables all | odd | even | NAME …] [--splits N] [--methods NAME …] [--budget MINUTES]
     [--limit SECONDS] [--workers N] [--fresh] [--json FILE]

The script uses every classification table of the data folder and of its folder contree. At most 9,000 rows of each table and
only classes with at least ten rows are used. There are two processes with one thread each. Splits are stratified 70/30, with
the seeds 0, 1, …. All tables get their first split, then their second, and so on. Every fit is kept in
results/quality_cells.jsonl, so that a stopped run can continue. A fit is repeated if the code or the library behind it has
changed. Defaults are chosen on the odd tables in alphabetical order (the first, the third, …) and evaluated on the even
ones.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path

import _quality_summary
import _results
from _quality_methods import METHODS
from _quality_pool import DONE, Cell, Outcome, run_cells
from _quality_tables import HALVES, chosen_tables, find_data_folder, half_of, load_table, readable, table_names

CELLS = Path(__file__).parent / "results" / "quality_cells.jsonl"


def arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", nargs="+", default=["all"], metavar="NAME", help="all, odd, even, or names of tables")
    parser.add_argument("--splits", type=int, default=10, help="number of splits of each table")
    known = list(METHODS)
    parser.add_argument("--methods", nargs="+", default=known, choices=known, metavar="NAME", help=", ".join(known))
    parser.add_argument("--budget", type=float, default=45.0, metavar="MINUTES", help="time limit of the whole run")
    parser.add_argument("--limit", type=float, default=60.0, metavar="SECONDS", help="limit on the CPU time of one fit")
    parser.add_argument("--workers", type=int, default=2, metavar="N", help="number of processes")
    parser.add_argument("--fresh", action="store_true", help="do not use earlier fits, and do not store new ones")
    return parser.parse_args()


class Store:
    """File with the fits of earlier runs and of this run, one line of JSON per fit."""

    def __init__(self, path: Path | None) -> None:
        self.path, self.versions = path, {name: method.version for name, method in METHODS.items() if not method.missing}
        self.found: dict[tuple[str, int, str], Outcome] = {}
        if path is None or not path.is_file():
            return
        whole = path.read_text(encoding="utf-8")
        lines = whole[: whole.rfind("\n") + 1]  # the end of a line that was not finished is lost
        if lines != whole:
            path.write_text(lines, encoding="utf-8")
        for line in lines.splitlines():
            outcome = json.loads(line)
            if outcome["version"] == self.versions.get(outcome["method"]):
                self.found[_key(outcome)] = outcome

    def keep(self, outcome: Outcome) -> None:
        """Add a fit to the file."""
        outcome = _results.plain(outcome | {"version": self.versions[outcome["method"]]})
        self.found[_key(outcome)] = outcome
        if self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(outcome, ensure_ascii=False) + "\n")

    def has(self, table: str, split: int, method: str) -> bool:
        """Return True if the same code has already made this fit."""
        return (table, split, method) in self.found

    def of(self, tables: Sequence[str], n_splits: int, methods: Sequence[str]) -> list[Outcome]:
        """Return the fits of the given tables, splits and methods."""
        asked = ((table, split, method) for table in tables for split in range(n_splits) for method in methods)
        return [self.found[key] for key in asked if key in self.found]


def _key(outcome: Outcome) -> tuple[str, int, str]:
    return outcome["table"], outcome["split"], outcome["method"]


def cells_to_fit(tables: Sequence[str], n_splits: int, methods: Sequence[str], store: Store) -> list[Cell]:
    """List the fits in order: the first split of all tables, then the second, and so on."""
    cells = []
    for split in range(n_splits):
        for table in tables:
            wanted = [name for name in methods if split < METHODS[name].most_splits and not store.has(table, split, name)]
            if wanted:
                cells.append(Cell(table, split, tuple(wanted)))
    return cells


class Progress:
    """Store each fit, and print one line per finished cell."""

    def __init__(self, cells: Sequence[Cell], store: Store) -> None:
        self.store, self.begin = store, time.monotonic()
        self.left = {(cell.table, cell.split): len(cell.methods) for cell in cells}
        self.n_cells = len(cells)

    def __call__(self, outcome: Outcome) -> None:
        """Store one fit."""
        self.store.keep(outcome)
        table, split = outcome["table"], outcome["split"]
        if outcome["status"] != DONE:
            text = f": {outcome['reason']}" if outcome["reason"] else ""
            print(f"  {table}, split {split + 1}, {outcome['method']}: {outcome['status']}{text}", flush=True)
        self.left[table, split] -= 1
        if self.left[table, split] == 0:
            del self.left[table, split]
            elapsed, number = time.monotonic() - self.begin, self.n_cells - len(self.left)
            print(f"{elapsed:7.0f} s  {number} of {self.n_cells}: {table}, split {split + 1}", flush=True)


def keep_tables(tables: Sequence[str], names: Sequence[str]) -> None:
    """Record the sizes of the tables, after sampling."""
    for table in tables:
        X, y = load_table(table)
        n_categorical = X.select_dtypes(object).shape[1]
        size = {"rows": len(X), "columns": X.shape[1], "categorical": n_categorical, "classes": len(set(y.tolist()))}
        _results.row("Tables", table=table, half=half_of(table, names), **size, missing=int(X.isna().to_numpy().sum()))


def main() -> None:
    """Run the missing fits, then print and record the summary of all fits."""
    options = arguments()
    deadline = time.monotonic() + 60 * options.budget
    names = table_names(find_data_folder())
    tables = readable(chosen_tables(options.tables, names))
    for name in options.methods:
        if METHODS[name].missing:
            _results.skipped(f"{name}: {METHODS[name].missing}")
    methods = [name for name in options.methods if not METHODS[name].missing]
    store = Store(None if options.fresh else CELLS)
    even_first = sorted(tables, key=lambda table: half_of(table, names))  # these are the ones that count
    cells = cells_to_fit(even_first, options.splits, methods, store)
    n_fits = sum(len(cell.methods) for cell in cells)
    n_known = len(store.of(tables, options.splits, methods))
    print(f"{len(tables)} tables, {len(methods)} methods: {n_fits} fits to make, {n_known} known from earlier runs")
    done = run_cells(cells, options.workers, options.limit, deadline, Progress(cells, store))
    if done["left"]:
        _results.skipped(f"{done['left']} fits, by the budget of {options.budget:g} minutes; run again to continue")
    outcomes = store.of(tables, options.splits, methods)
    for half in reversed(HALVES):
        there = [one for one in outcomes if half_of(one["table"], names) == half]
        if there:
            _quality_summary.report(there, half)
    keep_tables(tables, names)


if __name__ == "__main__":
    _results.recorded(main)
