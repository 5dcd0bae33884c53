"""Readers: one module per family of classifiers.

Each module converts fitted classifiers to a :class:`Model`.
"""
