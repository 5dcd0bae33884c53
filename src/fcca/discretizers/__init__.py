"""scikit-learn transformers that end in a threshold table."""

from fcca.discretizers._fcca import FCCADiscretizer

__all__ = ["FCCADiscretizer"]
