"""Helpers for text, numbers, HTML, progress bars, JSON documents and files."""

from fcca.utils._decimals import decimal_in_gap, plain, shortest_decimal
from fcca.utils._file_access import AtomicOutputs, as_path, atomic_outputs, regular_content
from fcca.utils._html import bar, html_table, number, paragraph
from fcca.utils._json_documents import (
    FIT_TO,
    LARGEST_WHOLE,
    SELECTION_FIT_TO,
    SOFT_FIT_TO,
    DocumentReader,
    check_length,
    is_label,
    parsed,
    without_repetition,
)
from fcca.utils._lazy import lazy_names
from fcca.utils._numbers import is_number, is_whole, whole_number
from fcca.utils._progress import (
    PlainDisplay,
    ProgressDisplay,
    TerminalDisplay,
    Update,
    open_display,
    progress_bar,
    progress_shown,
    shown_on,
    step,
    stop_search,
    stopping_early,
)
from fcca.utils._proof import limits_in_words, proof_in_words, share_proof_in_words
from fcca.utils._safe_text import escaped_json, printable, type_in_words
from fcca.utils._similar_names import close_to, similar

__all__ = [
    "FIT_TO",
    "LARGEST_WHOLE",
    "SELECTION_FIT_TO",
    "SOFT_FIT_TO",
    "AtomicOutputs",
    "DocumentReader",
    "PlainDisplay",
    "ProgressDisplay",
    "TerminalDisplay",
    "Update",
    "as_path",
    "atomic_outputs",
    "bar",
    "check_length",
    "close_to",
    "decimal_in_gap",
    "escaped_json",
    "html_table",
    "is_label",
    "is_number",
    "is_whole",
    "lazy_names",
    "limits_in_words",
    "number",
    "open_display",
    "paragraph",
    "parsed",
    "plain",
    "printable",
    "progress_bar",
    "progress_shown",
    "proof_in_words",
    "regular_content",
    "share_proof_in_words",
    "shortest_decimal",
    "shown_on",
    "similar",
    "step",
    "stop_search",
    "stopping_early",
    "type_in_words",
    "whole_number",
    "without_repetition",
]
