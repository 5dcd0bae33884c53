"""Write, read and verify certificates.

A certificate is a JSON document with all results of a fitted classifier, and with claims about their optimality.
:func:`verify` recomputes the results and the claims from the training rows and the black box.
"""

from fcca.certificates._certificate_document import CertificateDocument
from fcca.certificates._certificate_reader import read_certificate
from fcca.certificates._certificate_writer import certificate, written_certificate as written_certificate
from fcca.certificates._fingerprints import (
    data_fingerprint,
    model_fingerprint,
    positions_of_categories as positions_of_categories,
)
from fcca.certificates._verdict import FAILED as FAILED, PASSED as PASSED, Check, Verification
from fcca.certificates._verify_certificate import verify

__all__ = [
    "CertificateDocument",
    "Check",
    "Verification",
    "certificate",
    "data_fingerprint",
    "model_fingerprint",
    "read_certificate",
    "verify",
]
