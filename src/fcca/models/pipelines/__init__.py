"""Pipelines: models of the raw columns behind steps, and steps added for raw tables."""
