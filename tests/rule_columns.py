"""A few columns of every kind, their range and some points, for tests of rules."""

import numpy as np

from fcca._columns import Column, Columns

COLUMNS = Columns(
    (
        Column("age"),
        Column("income", missing=True),
        Column("job", categories=("clerk", "nurse", "smith"), missing=True),
        Column("red"),
        Column("green"),
        Column("blue"),
        Column("level", categories=(1, 2.5, True, "x")),
    )
)
AGE, INCOME, JOB, RED, GREEN, BLUE, LEVEL = range(7)
LOW = np.array([18.0, -10.0, 0, 0, 0, 0, 0])
HIGH = np.array([90.0, 100.0, 2, 1, 1, 0, 3])
POINTS = np.array(
    [
        [30.0, 50.0, 0, 1, 0, 0, 0],
        [40.5, -8.0, 2, 0, 1, 0, 1],
        [95.0, np.nan, np.nan, 0, 0, 0, 2],
    ]
)
