"""Decision trees that are provably the best ones."""

from fcca._proof import proof_in_words
from fcca.trees._answers import TreeAnswersMixin
from fcca.trees._optimal import OptimalTreeClassifier
from fcca.trees._structure import TreeStructure

__all__ = ["OptimalTreeClassifier", "TreeAnswersMixin", "TreeStructure", "proof_in_words"]
