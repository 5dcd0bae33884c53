"""Functions by which a child process loads a file."""

import os
import time

import numpy as np

from fcca.exceptions import InvalidInputError, UnsupportedModelError


def succeed(path, content):
    print("a library's message")
    assert content == b"content"


def crash(path, content):
    os.abort()


def leave(path, content):
    os._exit(7)


def hang(path, content):
    time.sleep(60)


def take_all_memory(path, content):
    np.ones(2**40)


def refuse(path, content):
    print("a library's message")
    raise InvalidInputError(f"{path} is not as it should be.")


def not_support(path, content):
    raise UnsupportedModelError("Such models — all of them — are not supported.")
