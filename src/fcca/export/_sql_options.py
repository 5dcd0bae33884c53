"""What to_sql can be told. Imports nothing, so that the command line can list it at once."""

DIALECTS = ("duckdb", "postgres", "sqlite", "bigquery", "snowflake", "tsql", "spark")
FORMS = ("select", "case")
ADDITIONS = ("prediction", "leaf", "probabilities", "bins")
