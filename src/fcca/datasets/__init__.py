"""Data sets by name: from a folder of CSV files, from scikit-learn, or from OpenML with a cache on disk.

Nothing of the data is in the package. Where only a part of an original is at hand, the data set says so in its ``note``.
"""

from fcca.datasets._catalog import PaperSettings
from fcca.datasets._dataset import Dataset, Fold
from fcca.datasets._errors import DatasetNotFoundError
from fcca.datasets._load import load, names

__all__ = ["Dataset", "DatasetNotFoundError", "Fold", "PaperSettings", "load", "names"]
