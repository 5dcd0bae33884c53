"""Pipelines: steps folded back to raw columns, and steps added for raw tables."""
