"""scikit-learn transformers that end in a threshold table."""

from fcca.discretizers._fcca import FCCADiscretizer
from fcca.discretizers._gtre import GTREDiscretizer
from fcca.discretizers._midpoints import MidpointDiscretizer

__all__ = ["FCCADiscretizer", "GTREDiscretizer", "MidpointDiscretizer"]
