"""Exact counterfactuals of a classifier: the problem, its solution and the results."""

from fcca.counterfactuals._counterfactual_sentences import (
    Move as Move,
    feature_in_words as feature_in_words,
    grouped as grouped,
    shown_landing as shown_landing,
    shown_origin as shown_origin,
)
from fcca.counterfactuals._distance_units import (
    BinCounts as BinCounts,
    ValueCounts as ValueCounts,
    check_columns_of_scale as check_columns_of_scale,
    check_scale_of_model as check_scale_of_model,
    check_special_of_model as check_special_of_model,
)
from fcca.counterfactuals._engine import CounterfactualEngine as CounterfactualEngine
from fcca.counterfactuals._explainer import CounterfactualExplainer
from fcca.counterfactuals._explanations import Explanations
from fcca.counterfactuals._observations import Observations as Observations
from fcca.counterfactuals._problem import (
    CounterfactualProblem as CounterfactualProblem,
    check_category_distance as check_category_distance,
    check_scale as check_scale,
)
from fcca.counterfactuals._regions import SIDES as SIDES, Regions
from fcca.counterfactuals._result import PROVEN as PROVEN, STATUSES, Counterfactuals, Moves, joined as joined
from fcca.counterfactuals._score_margins import (
    DEFAULT_MARGIN as DEFAULT_MARGIN,
    as_share as as_share,
    margin_of_share as margin_of_share,
)
from fcca.counterfactuals._search_tables import AdditiveTables as AdditiveTables, EnsembleTables as EnsembleTables

__all__ = ["STATUSES", "CounterfactualExplainer", "Counterfactuals", "Explanations", "Moves", "Regions"]
