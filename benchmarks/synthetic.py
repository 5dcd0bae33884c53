"""Write a large synthetic table with two classes, or the table of a CSV file, as a Parquet file.

Run: python benchmarks/synthetic.py OUT.parquet [--rows N] [--features N] [--seed N] [--row-group N] [--json FILE]
     python benchmarks/synthetic.py OUT.parquet --csv FILE [--row-group N]

There are ten kinds of columns, which repeat in turn: continuous, rounded to two digits, whole numbers and flags, as float64,
float32 and integers of several widths. The labels are drawn from a rule on the first ten columns, one of each kind. The rule
is additive except for two interactions. The other columns are noise. A value depends only on the seed, its row and its
column. So a longer table begins with the rows of a shorter one, and a wider table begins with the columns of a narrower one.
The size of the row groups does not change the rows.
"""

from __future__ import annotations

import argparse
import os
import secrets
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
from numpy.typing import NDArray

import _results

Values = NDArray[np.generic]
Floats = NDArray[np.float64]

N_ROWS, N_FEATURES, ROW_GROUP = 20_000_000, 30, 100_000
LABEL = "label"
BLOCK_ROWS = 100_000  # drawn at once, from a seed of their own
CSV_BLOCK_BYTES = 1 << 24
# A run over the table reads it three times, and most of its bytes are random: compressed, it is little smaller and is read
# more slowly (tried: LZ4, Snappy, Zstandard). Dictionaries of the values that repeat keep it small.
COMPRESSION = "none"
STEEPNESS, MIDDLE = 1.5, 3.44  # three of ten labels are 1, and the rule itself is right for seven of eight rows


class Kind(NamedTuple):
    """Kind of a column: how its values are drawn."""

    name: str
    draw: Callable[[np.random.Generator, int], Values]
    repeats: bool  # whether few values occur often, so that a dictionary of them is shorter


def _age(random: np.random.Generator, n: int) -> Values:
    return np.clip(random.normal(45.0, 16.0, n), 18.0, 95.0).astype(np.int16)


#: In the order of the columns.
KINDS = (
    Kind("normal", lambda random, n: random.standard_normal(n), repeats=False),
    Kind("lognormal", lambda random, n: random.lognormal(0.0, 0.8, n), repeats=False),
    Kind("uniform", lambda random, n: random.random(n), repeats=False),
    Kind("signal", lambda random, n: random.standard_normal(n, dtype=np.float32), repeats=False),
    Kind("amount", lambda random, n: np.round(random.lognormal(4.0, 1.0, n), 2), repeats=False),
    Kind("rate", lambda random, n: np.round(random.random(n), 2), repeats=True),
    Kind("score", lambda random, n: np.round(random.standard_normal(n, dtype=np.float32), 2), repeats=True),
    Kind("age", _age, repeats=True),
    Kind("count", lambda random, n: random.poisson(3.0, n), repeats=True),
    Kind("flag", lambda random, n: (random.random(n) < 0.3).astype(np.int8), repeats=True),
)


def names(n_features: int) -> list[str]:
    """Return the names of the features, by kind and position."""
    return [f"{KINDS[at % len(KINDS)].name}_{at:02}" for at in range(n_features)]


def probability(features: list[Values]) -> Floats:
    """Compute the probability of the label 1 from the first ten columns."""
    normal, lognormal, uniform, signal, amount, rate, score, age, count, flag = (
        np.asarray(column, dtype=np.float64) for column in features[: len(KINDS)]
    )
    rule = 1.2 * np.sin(2.0 * normal) + 0.6 * normal
    rule += 1.5 * (lognormal > 1.6) + 0.8 * np.minimum(lognormal, 3.0)
    rule += np.abs(signal) - 1.6 * (amount > 120.0) + 2.0 * rate**2 + 0.5 * score
    rule += 1.2 * (age > 60.0) - 0.3 * np.minimum(count, 6.0)
    rule += 1.6 * flag * (uniform > 0.5) + 0.8 * score * (age < 35.0)
    probability: Floats = 1.0 / (1.0 + np.exp(-STEEPNESS * (rule - MIDDLE)))
    return probability


def drawn_block(seed: int, block: int, n_features: int) -> tuple[list[Values], NDArray[np.int8]]:
    """Draw the features and labels of a block, starting at row ``block * BLOCK_ROWS``."""
    # The labels use the first stream, so that more features do not change them.
    random = [np.random.default_rng([seed, block, stream]) for stream in range(1 + n_features)]
    features = [KINDS[at % len(KINDS)].draw(random[1 + at], BLOCK_ROWS) for at in range(n_features)]
    return features, (random[0].random(BLOCK_ROWS) < probability(features)).astype(np.int8)


def blocks(n_rows: int, n_features: int, seed: int) -> Iterator[pa.Table]:
    """Yield the synthetic table, block by block."""
    columns = [*names(n_features), LABEL]
    for block in range(-(-n_rows // BLOCK_ROWS)):
        features, labels = drawn_block(seed, block, n_features)
        yield pa.table([*features, labels], names=columns).slice(0, n_rows - block * BLOCK_ROWS)


def csv_blocks(path: Path) -> Iterator[pa.Table]:
    """Yield the table of a CSV file, plain or compressed, block by block."""
    options = pyarrow.csv.ReadOptions(block_size=CSV_BLOCK_BYTES)
    with pyarrow.csv.open_csv(path, read_options=options) as reader:
        for batch in reader:
            yield pa.Table.from_batches([batch])


def regrouped(tables: Iterable[pa.Table], n_rows: int) -> Iterator[pa.Table]:
    """Regroup the rows into tables of ``n_rows``; the last one has the remaining rows."""
    waiting: pa.Table | None = None
    for table in tables:
        waiting = table if waiting is None else pa.concat_tables([waiting, table])
        while waiting.num_rows >= n_rows:
            yield waiting.slice(0, n_rows)
            waiting = waiting.slice(n_rows)
    if waiting is not None and waiting.num_rows:
        yield waiting


def write(tables: Iterable[pa.Table], path: Path, row_group: int, *, repeating: list[str] | bool = True) -> None:
    """Write tables as row groups of a Parquet file. The file gets its name only when it is complete.

    ``repeating`` lists the columns that are stored with a dictionary. With True, pyarrow decides.
    """
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    writer: pq.ParquetWriter | None = None
    try:
        for table in regrouped(tables, row_group):
            if writer is None:
                writer = pq.ParquetWriter(part, table.schema, compression=COMPRESSION, use_dictionary=repeating)
            writer.write_table(table, row_group_size=row_group)
        if writer is None:
            raise ValueError("it has no rows")
        writer.close()
        os.replace(part, path)
    finally:
        if writer is not None:
            writer.close()
        part.unlink(missing_ok=True)


def write_synthetic(
    path: Path, n_rows: int, n_features: int = N_FEATURES, seed: int = 0, row_group: int = ROW_GROUP
) -> None:
    """Write the synthetic table."""
    repeating = [name for at, name in enumerate(names(n_features)) if KINDS[at % len(KINDS)].repeats]
    write(blocks(n_rows, n_features, seed), path, row_group, repeating=[*repeating, LABEL])


def write_csv_as_parquet(csv: Path, path: Path, row_group: int = ROW_GROUP) -> None:
    """Convert a CSV file to Parquet."""
    write(csv_blocks(csv), path, row_group)


def megabytes(path: Path) -> float:
    """Return the size of a file in megabytes."""
    return path.stat().st_size / 1e6


def seconds_to_read(path: Path) -> float:
    """Measure the seconds to read all row groups one after the other, with one thread."""
    begin = time.perf_counter()
    with pq.ParquetFile(path) as file:
        for at in range(file.num_row_groups):
            file.read_row_group(at, use_threads=False)
    return time.perf_counter() - begin


def arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, metavar="OUT.parquet", help="file to write; an existing file is replaced")
    parser.add_argument("--rows", type=int, help=f"number of rows ({N_ROWS:,})")
    parser.add_argument(
        "--features", type=int, help=f"number of columns without the label, at least {len(KINDS)} ({N_FEATURES})"
    )
    parser.add_argument("--seed", type=int, help="random seed (0)")
    parser.add_argument("--csv", type=Path, metavar="FILE", help="convert this file instead of writing a synthetic table")
    parser.add_argument("--row-group", type=int, default=ROW_GROUP, help=f"rows of a row group ({ROW_GROUP:,})")
    options = parser.parse_args()
    made = {"rows": N_ROWS, "features": N_FEATURES, "seed": 0}
    for name, default in made.items():
        if options.csv is not None and getattr(options, name) is not None:
            parser.error(f"--{name} was given with --csv, whose table has {name} of its own. Leave one of them out.")
        setattr(options, name, default if getattr(options, name) is None else getattr(options, name))
    for name, least in (("rows", 1), ("features", len(KINDS)), ("seed", 0), ("row_group", 1)):
        given = getattr(options, name)
        if given < least:
            parser.error(f"--{name.replace('_', '-')} is {given}. Expected a whole number of at least {least}.")
    if options.csv is not None and not options.csv.is_file():
        parser.error(f"There is no file {options.csv}.")
    if not options.out.parent.is_dir():
        parser.error(f"There is no folder {options.out.parent} to write {options.out.name} to. Make it first.")
    return options


def main() -> None:
    options = arguments()
    begin = time.perf_counter()
    if options.csv is None:
        write_synthetic(options.out, options.rows, options.features, options.seed, options.row_group)
    else:
        try:
            write_csv_as_parquet(options.csv, options.out, options.row_group)
        except ValueError as error:  # pyarrow's errors are ValueErrors
            sys.exit(f"Cannot write {options.csv} as {options.out.name}: {error}")
    seconds = time.perf_counter() - begin
    found = pq.read_metadata(options.out)
    figures = {
        "rows": found.num_rows,
        "columns": found.num_columns,
        "row groups": found.num_row_groups,
        "MB": round(megabytes(options.out), 1),
        "seconds to write": round(seconds, 2),
        "seconds to read": round(seconds_to_read(options.out), 2),
    }
    print(f"{options.out.name}: " + ", ".join(f"{value:,} {name}" for name, value in figures.items()))
    _results.row("Tables", table=options.out.name, **figures)


if __name__ == "__main__":
    _results.recorded(main)
