"""Compare a tree with CART, the most frequent class and the black box."""

from fcca.quality._cart import Cart as Cart
from fcca.quality._comparison import Comparison as Comparison, LabelledRows as LabelledRows, Quality as Quality
from fcca.quality._figures import Figures as Figures, confusion_matrix as confusion_matrix, figures_of as figures_of
from fcca.quality._quality_sentences import (
    advice_sentence as advice_sentence,
    figures_sentence as figures_sentence,
    verdict_sentence as verdict_sentence,
)
from fcca.quality._tried_trees import TriedTree as TriedTree, tried_trees as tried_trees
