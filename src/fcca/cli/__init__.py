"""The command line: ``fcca distill`` and ``fcca explain``."""

import os
import sys

EXIT_INTERRUPTED = 130


def main() -> None:
    """Run the command line."""
    try:
        # Here and not above: the imports take a second, in which Ctrl-C should end as quietly as later on.
        from fcca.cli._app import run

        run()
    except KeyboardInterrupt:
        os.write(2, b"Interrupted.\n")
        sys.exit(EXIT_INTERRUPTED)
