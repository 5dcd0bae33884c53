"""Options of to_sql, without imports, so the command line can list them quickly."""

DIALECTS = ("duckdb", "postgres", "sqlite", "bigquery", "snowflake", "tsql", "spark")
FORMS = ("select", "case")
ADDITIONS = ("prediction", "leaf", "probabilities", "bins")
