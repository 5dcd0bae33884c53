"""Python imports this at its start where its folder is on PYTHONPATH: ``fcca._core`` is then the module at FCCA_CORE.

So the tests, and the programs that they start, run on a core that was built to be watched; the installed one stays as it is.
"""

import importlib.machinery
import importlib.util
import os
import sys


class _WatchedCore:
    """Finds the core where FCCA_CORE says, before the installed package finds its own."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name != "fcca._core":
            return None
        module = os.environ["FCCA_CORE"]
        return importlib.util.spec_from_file_location(
            name, module, loader=importlib.machinery.ExtensionFileLoader(name, module)
        )


if "FCCA_CORE" in os.environ:
    sys.meta_path.insert(0, _WatchedCore())
