"""The command line: ``fcca distill``."""

from fcca.cli._app import app, main

__all__ = ["app", "main"]
