"""Discretizers: scikit-learn transformers that turn a table into binary columns."""

from fcca.discretizers._base import (
    TargetThresholdTransformer as TargetThresholdTransformer,
    ThresholdTransformer as ThresholdTransformer,
    clone_to_fit as clone_to_fit,
)
from fcca.discretizers._chunks import Chunks as Chunks, LocalChunks as LocalChunks, summed as summed
from fcca.discretizers._counted_rows import (
    CountedRows as CountedRows,
    RowCoder as RowCoder,
    TooManyRowsError as TooManyRowsError,
)
from fcca.discretizers._crossings import (
    DecidingValues as DecidingValues,
    crossings as crossings,
    find_deciding_values as find_deciding_values,
)
from fcca.discretizers._fcca import FCCADiscretizer as FCCADiscretizer
from fcca.discretizers._fit_callbacks import (
    CallbackSupportMixin as CallbackSupportMixin,
    reported_to_callbacks as reported_to_callbacks,
    with_callbacks as with_callbacks,
)
from fcca.discretizers._gtre import GTREDiscretizer as GTREDiscretizer
from fcca.discretizers._medians import medians as medians
from fcca.discretizers._midpoints import MidpointDiscretizer as MidpointDiscretizer
from fcca.discretizers._pipeline import FoundThresholds as FoundThresholds, check_same_rows as check_same_rows
from fcca.discretizers._presets import (
    BLACK_BOX_DEPTH as BLACK_BOX_DEPTH,
    PRESETS as PRESETS,
    most_thresholds as most_thresholds,
    rows_to_search as rows_to_search,
)
from fcca.discretizers._row_order import RowOrder as RowOrder
from fcca.discretizers._row_sample import (
    REASONS as REASONS,
    RowSample as RowSample,
    looks_up_to as looks_up_to,
)
from fcca.discretizers._rows import BinaryRows as BinaryRows, EncodedRows as EncodedRows, Rows as Rows
from fcca.discretizers._sampled_search import kept_thresholds as kept_thresholds, sample_of as sample_of
from fcca.discretizers._search_results import (
    CrossingCounts as CrossingCounts,
    OutOfTimeError as OutOfTimeError,
    SearchResult as SearchResult,
)
from fcca.discretizers._stages import count_rows as count_rows
from fcca.discretizers._threshold_search import ThresholdSearch as ThresholdSearch
from fcca.discretizers._ties import NO_TIES as NO_TIES, TiedCounterfactuals as TiedCounterfactuals
from fcca.discretizers._validation import asked_distances as asked_distances, problem_of as problem_of

# Every discretizer that is imported above.
__all__ = sorted(name for name in globals() if name.endswith("Discretizer"))
