"""What conditions on single columns say: in words, on rows, and as a document."""

from fcca._conditions._binarize import binarized
from fcca._conditions._document import read_document, written_document
from fcca._conditions._merging import leaders
from fcca._conditions._persons import persons_condition, persons_entry
from fcca._conditions._words import (
    KINDS,
    Codes,
    codes_of,
    common_columns,
    condition_in_words,
    label_in_words,
    negation_in_words,
    smaller_side,
)

__all__ = [
    "KINDS",
    "Codes",
    "binarized",
    "codes_of",
    "common_columns",
    "condition_in_words",
    "label_in_words",
    "leaders",
    "negation_in_words",
    "persons_condition",
    "persons_entry",
    "read_document",
    "smaller_side",
    "written_document",
]
