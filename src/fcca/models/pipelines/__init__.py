"""Pipelines: models of the raw columns before the steps, and steps added for raw tables."""
