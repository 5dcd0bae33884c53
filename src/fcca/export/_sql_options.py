"""Options of to_sql; this module imports nothing, to load quickly."""

DIALECTS = ("duckdb", "postgres", "sqlite", "bigquery", "snowflake", "tsql", "spark")
FORMS = ("select", "case")
ADDITIONS = ("prediction", "leaf", "probabilities", "bins")
