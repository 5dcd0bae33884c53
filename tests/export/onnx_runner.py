"""Run ONNX models in ONNX Runtime on the columns of a frame."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd

from real_data import imported


def session_of(model: bytes):
    """A session that keeps to one thread."""
    imported("onnx")
    runtime = imported("onnxruntime")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return runtime.InferenceSession(model, options)


def answers_of(model: bytes, X: pd.DataFrame) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Label, probabilities and leaf of every row, from the model and its metadata only."""
    session = session_of(model)
    said = session.get_modelmeta().custom_metadata_map
    feed = {}
    for one in json.loads(said["fcca.inputs"]):
        values = X[one["name"]]
        if one["type"] == "float64":
            feed[one["name"]] = values.astype(object).where(values.notna(), np.nan).to_numpy(dtype=np.float64)
        else:
            texts = values.astype(object).where(values.notna(), one["missing"])
            feed[one["name"]] = texts.to_numpy(dtype=object if one["type"] == "string" else np.int64)
    label, probabilities, leaf = session.run(json.loads(said["fcca.outputs"]), feed)
    return label, probabilities, leaf
