"""FCCAScorecard as a scikit-learn classifier."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.frozen import FrozenEstimator
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from fcca import FCCADiscretizer, FCCAScorecard, MidpointDiscretizer
from fcca.exceptions import InvalidInputError, UnknownValuesWarning
from mixed_tables import loans


@parametrize_with_checks([FCCAScorecard()])
def test_passes_every_scikit_learn_check(estimator, check):
    check(estimator)
