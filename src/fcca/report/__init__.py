"""A fitted classifier as one page of HTML that can be sent to anybody."""

from fcca.report._page import page, write

__all__ = ["page", "write"]
