"""Report of a fitted classifier: one HTML file without external resources."""

from fcca.report._page import page, write

__all__ = ["page", "write"]
