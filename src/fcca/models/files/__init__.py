"""Load classifiers from files, with checks for damage and unsafe content."""

from fcca.models.files._load_errors import damage_as_invalid_input as damage_as_invalid_input
from fcca.models.files._load_model import check_not_pickled as check_not_pickled, file_content as file_content, load_model
from fcca.models.files._sklearn_objects import objects_in as objects_in
from fcca.models.files._skops import (
    TRUSTED_TYPES as TRUSTED_TYPES,
    ZIP as ZIP,
    load_skops as load_skops,
    skops_library as skops_library,
    stored_class as stored_class,
)
from fcca.models.files._trial_load import try_in_child as try_in_child

__all__ = ["load_model"]
