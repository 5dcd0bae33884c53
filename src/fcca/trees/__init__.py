"""Decision trees that are provably the best ones."""

from fcca.trees._answers import TreeAnswersMixin as TreeAnswersMixin
from fcca.trees._optimal import OptimalTreeClassifier
from fcca.trees._structure import TreeStructure

__all__ = ["OptimalTreeClassifier", "TreeStructure"]
