"""Certificates checked again: everything in them is computed anew from the rows and the black box."""

from fcca.verification._result import Check, Verification
from fcca.verification._verify import verify

__all__ = ["Check", "Verification", "verify"]
