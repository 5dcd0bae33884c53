"""Data sets by name: CSV files in the folder FCCA_DATA, scikit-learn's tables, or OpenML."""

from experiments.datasets.catalog import PaperSettings
from experiments.datasets.dataset import Dataset, FoldRows
from experiments.datasets.loading import DatasetNotFoundError, load, names

__all__ = ["Dataset", "DatasetNotFoundError", "FoldRows", "PaperSettings", "load", "names"]
