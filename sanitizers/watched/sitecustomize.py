"""Load the module at FCCA_CORE as ``fcca._core``. Python imports this file at its start if its folder is on PYTHONPATH.

So the tests and their subprocesses use a core that was built with sanitizers or gcov. The installed core is not changed.
"""

import importlib.machinery
import importlib.util
import os
import sys


class _WatchedCore:
    """Import hook that finds the core at FCCA_CORE before the core of the installed package."""

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
