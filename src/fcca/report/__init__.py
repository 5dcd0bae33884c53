"""Write a report of a fitted classifier: one HTML file that loads no other files."""

from fcca.report._page import page, write

__all__ = ["page", "write"]
