"""Readers: one module per family of classifiers.

Each converts a fitted classifier to a :class:`Model`.
"""
