"""Figures of a tree beside CART, the commonest class and the black box."""

from fcca.quality._advice import TriedTree as TriedTree, tried_trees as tried_trees
from fcca.quality._cart import Cart as Cart
from fcca.quality._comparison import Comparison as Comparison, LabelledRows as LabelledRows, Quality as Quality
from fcca.quality._figures import Figures as Figures, confusion_matrix as confusion_matrix, figures_of as figures_of
from fcca.quality._sentences import advice_in_words as advice_in_words, verdict_in_words as verdict_in_words
