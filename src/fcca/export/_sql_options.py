"""The values that the options of to_sql accept.

This module imports nothing, so the command line can list the values quickly.
"""

DIALECTS = ("duckdb", "postgres", "sqlite", "bigquery", "snowflake", "tsql", "spark")
FORMS = ("select", "case")
ADDITIONS = ("prediction", "leaf", "probabilities", "bins")
