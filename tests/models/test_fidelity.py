"""Reader fidelity: the neutral model predicts as the classifier, to the last bit of every cut."""

import pytest

from models.families import FAMILIES
from models.fidelity import CI_ROWS, CI_SEEDS, VERIFY_ROWS, VERIFY_SEEDS, check_family


@pytest.mark.parametrize("family", FAMILIES, ids=str)
@pytest.mark.parametrize("seed", CI_SEEDS)
def test_labels_agree_on_the_cuts_and_beside_them(family, seed):
    check_family(family, seed, CI_ROWS)


@pytest.mark.verify
@pytest.mark.parametrize("family", FAMILIES, ids=str)
def test_labels_of_many_models_agree(family):
    for seed in VERIFY_SEEDS:
        check_family(family, seed, VERIFY_ROWS)
