"""The paper's study, declared, run, drawn and judged: ``python -m experiments``."""
