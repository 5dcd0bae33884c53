"""Damage to files of models, told in words wherever it shows itself."""

from __future__ import annotations

import io
import json
import re
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from fcca.exceptions import FCCAError, InvalidInputError, UnsupportedModelError
from fcca.models._registry import read_model
from fcca.models._stored_boosters import check_booster_states
from fcca.models._stored_makers import check_makers
from fcca.models._stored_trees import check_tree_states, states_in

MOST_GROWTH, MOST_BYTES = 100, 2**30
MOST_OF_SCHEMA = 2**26  # JSON takes up to twenty times its size in memory; a boosting of a thousand trees has 21 MB


@contextmanager
def damage_told(path: Path, what: str) -> Iterator[None]:
    """Whatever goes wrong in a block that loads or reads a file, as an InvalidInputError.

    What a file says becomes the state of a library's objects, and what these do with wrong values, they have no list of:
    any exception means that the file cannot be used.
    """
    try:
        yield
    except FCCAError:
        raise
    except Exception as error:
        lines = str(error).strip().splitlines() or [type(error).__name__]
        reason = re.sub(r"^(\[[\d:]+\] )?\S+:\d+: ", "", lines[0]).rstrip(" .:")  # without the place in the library's source
        raise InvalidInputError(
            f"{path} looks like {what} and cannot be loaded: {reason}. Save it again, or load another file."
        ) from error


def check_usable(classifier: Any) -> None:
    """Read a classifier and let it answer, so that damage shows; one that is merely not supported is left to its reader."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model = read_model(classifier)
        except UnsupportedModelError:
            return
        if model.columns is None or not model.columns.has_categories:
            rows = np.zeros((2, model.n_features))
            model.probabilities(model.scores(rows))
            classifier.predict(rows)


def check_archive(content: bytes) -> None:
    """Refuse an archive of skops by a ValueError: far larger inside than outside, or with damaged trees or boosters."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = archive.infolist()
        size = sum(member.file_size for member in members)
        if size > max(MOST_BYTES, MOST_GROWTH * len(content)):
            raise ValueError(f"it has {len(content):,} bytes and would have {size:,} unpacked")
        schema_size = archive.getinfo("schema.json").file_size
        if schema_size > MOST_OF_SCHEMA:
            raise ValueError(
                f"its schema.json has {schema_size:,} bytes, more than the {MOST_OF_SCHEMA:,} that are read; where you "
                "trust it, load it yourself with skops.io.load and pass on the classifier"
            )
        schema = json.loads(archive.read("schema.json"))
        check_makers(states_in(schema))
        check_booster_states(schema, archive.read)
        check_tree_states(schema, lambda name: np.load(io.BytesIO(archive.read(name)), allow_pickle=False))
