"""Read pipelines as models of raw columns, and build pipelines.

Raw columns are the columns of the table before the first step.
"""
