"""Replace a black box with an optimal tree, using a Dask DataFrame.

This package requires Dask: ``pip install "fcca[dask]"``.
"""

try:
    import dask.dataframe  # noqa: F401
    import distributed  # noqa: F401
except ImportError as error:
    raise ImportError('fcca.dask needs Dask, which is not installed: pip install "fcca[dask]"') from error

from fcca.dask._distill_cluster import distill

__all__ = ["distill"]
