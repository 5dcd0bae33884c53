"""Readers: one module per family of classifiers, into the neutral model."""
