"""Options of to_sql. Imports nothing, as the command line lists them."""

DIALECTS = ("duckdb", "postgres", "sqlite", "bigquery", "snowflake", "tsql", "spark")
FORMS = ("select", "case")
ADDITIONS = ("prediction", "leaf", "probabilities", "bins")
