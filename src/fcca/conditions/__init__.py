"""Conditions such as ``age > 30``: text, JSON and binary columns."""

from fcca.conditions._binarize import binarized
from fcca.conditions._checks import checked_codes, set_categories, set_labels
from fcca.conditions._document import JSON_FORMAT, LARGEST, facts_of_cut, read_document, written_document
from fcca.conditions._merging import leaders
from fcca.conditions._phrases import (
    KINDS,
    Codes,
    codes_of,
    common_columns,
    condition_in_words,
    label_in_words,
    negation_in_words,
    or_special_in_words,
    smaller_side,
)
from fcca.conditions._sorting import has_number, sorted_conditions
from fcca.conditions._user_conditions import user_condition, user_pair

__all__ = [
    "JSON_FORMAT",
    "KINDS",
    "LARGEST",
    "Codes",
    "binarized",
    "checked_codes",
    "codes_of",
    "common_columns",
    "condition_in_words",
    "facts_of_cut",
    "has_number",
    "label_in_words",
    "leaders",
    "negation_in_words",
    "or_special_in_words",
    "read_document",
    "set_categories",
    "set_labels",
    "smaller_side",
    "sorted_conditions",
    "user_condition",
    "user_pair",
    "written_document",
]
