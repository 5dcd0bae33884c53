"""Pipelines: read them as models of the raw columns, and build them for raw tables.

Raw columns are the columns of the table before the first step.
"""
