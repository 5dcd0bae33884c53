"""Pipelines: scalers and encoders folded back to raw columns, and the steps that a classifier needs for raw tables."""
