"""All methods of the quality benchmark by name, in the order in which they are fitted."""

from __future__ import annotations

import _quality_ours
import _quality_peers
from _quality_fits import Method

METHODS: dict[str, Method] = {method.name: method for method in (*_quality_ours.METHODS, *_quality_peers.METHODS)}
