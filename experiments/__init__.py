"""Repeat the paper's study and check its claims: ``python -m experiments``."""
