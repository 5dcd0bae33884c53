"""What can go wrong on the way to a data set."""

from __future__ import annotations

from fcca.exceptions import FCCAError


class DatasetNotFoundError(FCCAError, FileNotFoundError):
    """No file holds the data set, and it could not be downloaded either."""


class DownloadError(FCCAError, OSError):
    """OpenML did not answer, or not with what was asked for. ``load`` turns it into a DatasetNotFoundError."""
