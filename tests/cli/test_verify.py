"""``fcca verify`` accepts files of distill, rejects changed ones, and reports invalid input."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from command_line import check_refused, distill, files_in, loans, run, run_process, table
from fcca import FCCAClassifier, FCCADiscretizer
from fcca.certificates import certificate
from fcca.cli import _checks, _options
from real_data import imported


def verify(*args: object, **kwargs: int):
    result = run("verify", *args, **kwargs)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def distilled(folder, frame, *options, suffix=".csv"):
    imported("skops")
    path = folder / f"table{suffix}"
    frame.to_parquet(path) if suffix == ".parquet" else frame.to_csv(path, index=False)
    result = distill(path, "--save-model", "--out", folder / "out", *options)
    assert result.exit_code == 0, result.output
    return folder / "out/certificate.json", path, folder / "out/model.skops"


def files(certificate, data, model):
    return certificate, "--data", data, "--model", model, "--sample", 2, "--random-state", 0


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    return distilled(tmp_path_factory.mktemp("people"), table(), "--model", "rf", "--regularization", 0.01)


def library_of(model):
    return {"xgb": "xgboost", "lgbm": "lightgbm", "catboost": "catboost"}.get(model)


MADE = [
    pytest.param(str(model), frame, id=f"{model}-{name}", marks=[] if str(model) in quick.split() else [pytest.mark.verify])
    for name, frame, quick in (("numbers", table, "gb svm xgb"), ("mixed", loans, "hgb lgbm logistic"))
    for model in _options.TargetModel
]


@pytest.mark.parametrize(("model", "frame"), MADE)
def test_what_distill_writes_is_accepted(tmp_path, model, frame):
    if library_of(model):
        imported(library_of(model))
    made = distilled(tmp_path, frame(), "--model", model)
    result = verify(*files(*made), "--json")
    assert (result.exit_code, result.stderr) == (0, ""), result.output
    found = json.loads(result.stdout)
    assert found["accepted"] is True
    assert {check["outcome"] for check in found["checks"]} == {"passed"}
    assert [check["name"] for check in found["checks"]][:3] == ["file", "data", "model"]


def test_without_a_table_it_is_the_bundled_one(tmp_path, people):
    imported("skops")
    assert distill("--q", 0.9, "--save-model", "--out", tmp_path).exit_code == 0
    result = verify(tmp_path / "certificate.json", "--model", tmp_path / "model.skops", "--sample", 2)
    assert result.exit_code == 0, result.output
    assert "breast cancer (scikit-learn)" in result.stdout
    certificate, _, model = people
    check_refused(verify(certificate, "--model", model), "no column", "--data")


def test_the_tree_in_use_is_held_to_the_certificate(tmp_path, people):
    certificate, _, _ = people
    honest = certificate.with_name("tree.json")
    assert verify(*files(*people), "--tree", honest).exit_code == 0
    document = json.loads(honest.read_text())
    document["classes"].reverse()
    swapped = tmp_path / "swapped.json"
    swapped.write_text(json.dumps(document))
    result = verify(*files(*people), "--tree", swapped)
    assert result.exit_code == 1
    assert "swapped.json contains a different tree" in result.stdout
    check_refused(verify(*files(*people), "--tree", certificate), "certificate.json", "fcca-tree")


def test_the_black_box_is_named_by_what_it_is(tmp_path, people):
    certificate, data, model = people
    document = json.loads(certificate.read_text())
    document["model"]["class"] = "sklearn.svm.SVC"
    forged = tmp_path / "forged.json"
    forged.write_text(json.dumps(document))
    shown = verify(*files(forged, data, model)).stdout
    assert "RandomForestClassifier" in shown
    assert "SVC" not in shown


OPTIONS = {
    "no row held out": ("--test-size", 0),
    "another split": ("--test-size", 0.4, "--random-state", 3),
    "a sample": ("--sample", 60),
    "a code that is a category": ("--categorical", "children"),
    "deciding elsewhere": ("--decision-threshold", 0.3, "--model", "rf"),
    "few thresholds": ("--thresholds", 2, "--q", 0.2),
    "to the target": ("--fit-to", "target", "--max-depth", 2, "--lambda0", 0.3, "--p1", 0.97),
    "as they are": ("--no-round", "--merge-tolerance", 0.05),
}


SLOWLY = ("another split", "few thresholds", "as they are", "to the target")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.verify] if name in SLOWLY else []) for name in OPTIONS]
)
def test_options_of_distill_are_in_the_certificate(tmp_path, name):
    made = distilled(tmp_path, loans(), *OPTIONS[name])
    assert verify(*files(*made)).exit_code == 0


def test_rules_are_in_the_certificate(tmp_path):
    (tmp_path / "rules.yaml").write_text("immutable: [children]\nforbidden: {purpose: [[tv, car]]}\n", encoding="utf-8")
    made = distilled(tmp_path, loans(), "--rules", tmp_path / "rules.yaml")
    assert json.loads(made[0].read_text(encoding="utf-8"))["parameters"]["rules_in_words"][0] == "Immutable('children')"
    assert verify(*files(*made)).exit_code == 0


def test_the_table_may_be_in_another_format(tmp_path, people):
    certificate, _, model = people
    table().to_parquet(tmp_path / "same.parquet")
    table().to_csv(tmp_path / "same.csv.gz", index=False)
    for name in ("same.parquet", "same.csv.gz"):
        assert verify(*files(certificate, tmp_path / name, model)).exit_code == 0


def test_a_model_of_a_file_is_checked_with_that_file(tmp_path):
    xgboost = imported("xgboost")
    frame = table()
    frame["label"] = (frame["label"] == "yes").astype(int)
    X = frame.drop(columns="label").astype(float)
    xgboost.XGBClassifier(n_estimators=5, max_depth=2).fit(X, frame["label"]).save_model(tmp_path / "m.ubj")
    frame.to_csv(tmp_path / "t.csv", index=False)
    assert distill(tmp_path / "t.csv", "--model-file", tmp_path / "m.ubj", "--out", tmp_path / "out").exit_code == 0
    assert verify(*files(tmp_path / "out/certificate.json", tmp_path / "t.csv", tmp_path / "m.ubj")).exit_code == 0


def test_a_certificate_of_python_is_about_all_rows(tmp_path):
    from sklearn.ensemble import RandomForestClassifier

    frame = table()
    X, y = frame.drop(columns="label").astype(float), frame["label"].to_numpy()
    names = {"named": X, "nameless": X.to_numpy()}
    frame.to_csv(tmp_path / "t.csv", index=False)
    for name, given in names.items():
        classifier = FCCAClassifier(FCCADiscretizer(RandomForestClassifier(5, max_depth=3, random_state=0))).fit(given, y)
        (tmp_path / "c.json").write_text(certificate(classifier), encoding="utf-8")
        imported("skops.io").dump(classifier.discretizer_.estimator_, tmp_path / "m.skops")
        result = verify(*files(tmp_path / "c.json", tmp_path / "t.csv", tmp_path / "m.skops"))
        assert result.exit_code == (0 if name == "named" else 1), result.output
    assert "a name" in " ".join(result.stdout.split())  # a table that has names is not one that has none


def test_the_table_of_checks_is_for_people(people):
    result = verify(*files(*people), columns=120)
    assert result.exit_code == 0
    assert result.stderr == ""
    for text in (
        "fcca verify",
        "✓",
        "data",
        "model",
        "costs",
        "thresholds found",
        "best tree",
        "Accepted: 18 checks passed.",
    ):
        assert text in result.stdout
    assert "✗" not in result.stdout
    quiet = verify(*files(*people), "--quiet")
    assert (quiet.exit_code, quiet.output) == (0, "")


def forged(people, folder, change):
    document = json.loads(people[0].read_text(encoding="utf-8"))
    change(document)
    path = folder / "forged.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return path, *people[1:]


def test_a_forged_certificate_is_rejected_with_words(tmp_path, people):
    made = forged(people, tmp_path, lambda d: d["counterfactuals"]["cost"].__setitem__(3, 0.01))
    result = verify(*files(*made))
    assert result.exit_code == 1
    assert "✗" in result.stdout
    assert "the stated cost is" in " ".join(result.stdout.split())
    assert "Rejected: costs, bounds failed" in result.stdout
    assert verify(*files(*made), "--quiet").exit_code == 1


def test_a_row_that_was_left_out_and_is_not_in_the_certificate_is_another_table(tmp_path, people):
    made = forged(people, tmp_path, lambda d: d["data"]["read"]["left_out"].pop())
    assert "Rejected: data failed" in verify(*files(*made)).stdout


@pytest.mark.parametrize("row", ["training", "held out"])
def test_one_cell_of_the_table_changed_is_rejected(tmp_path, people, row):
    held_out = json.loads(people[0].read_text(encoding="utf-8"))["data"]["read"]["left_out"]
    frame = table()
    at = held_out[0] if row == "held out" else next(k for k in range(len(frame)) if k not in held_out)
    frame.loc[at, "weight"] += 0.001
    frame.to_csv(tmp_path / "t.csv", index=False)
    result = verify(*files(people[0], tmp_path / "t.csv", people[2]))
    assert result.exit_code == 1
    assert f"Rejected: {'file' if row == 'held out' else 'file, data'} failed" in result.stdout


def test_other_rows_and_another_model_are_rejected(tmp_path, people):
    frame = table()
    frame.iloc[[0, 5]] = frame.iloc[[5, 0]].to_numpy()
    frame.to_csv(tmp_path / "swapped.csv", index=False)
    table().iloc[:-1].to_csv(tmp_path / "fewer.csv", index=False)
    for name in ("swapped", "fewer"):
        result = verify(*files(people[0], tmp_path / f"{name}.csv", people[2]))
        assert (result.exit_code, "Rejected: file, data failed" in result.stdout) == (1, True)
    other = distilled(tmp_path, table(), "--model", "gb")
    result = verify(*files(*people[:2], other[2]))
    assert (result.exit_code, "Rejected: model failed" in result.stdout) == (1, True)


REFUSED = {
    "no certificate": (lambda p, f: (f / "none.json", *p[1:]), "There is no file"),
    "a certificate that is none": (lambda p, f: (p[0].parent / "tree.json", *p[1:]), "Not a certificate of fcca"),
    "damaged": (lambda p, f: forged(p, f, lambda d: d.pop("proof")), "Damaged certificate"),
    "another version": (lambda p, f: forged(p, f, lambda d: d.update(version=9)), "version 9"),
    "another format": (lambda p, f: forged(p, f, lambda d: d.update(format="fcca-oath")), "fcca-certificate"),
    "no data": (lambda p, f: (p[0], f / "none.csv", p[2]), "There is no file"),
    "a table without its columns": (lambda p, f: (p[0], shortened(f), p[2]), "no column 'weight'"),
    "a model that is none": (lambda p, f: (*p[:2], p[0]), "neither by XGBoost nor by CatBoost"),
}


def shortened(folder):
    table().drop(columns="weight").to_csv(folder / "short.csv", index=False)
    return folder / "short.csv"


@pytest.mark.parametrize("name", REFUSED)
def test_invalid_files_raise_errors(tmp_path, people, name):
    made, words = REFUSED[name]
    check_refused(verify(*files(*made(people, tmp_path))), words)


@pytest.mark.parametrize(
    "options",
    [
        ("--sample", "some"),
        ("--sample", "-1"),
        ("--random-state", -1),
        ("--time-limit", -1),
        ("--jobs", 0),
        ("--label", "size"),
    ],
    ids=str,
)
def test_options_that_cannot_be_used_are_refused(people, options):
    check_refused(verify(*files(*people), *options), str(options[1]))


def test_a_table_without_any_of_the_rows_is_refused(tmp_path, people):
    def all_left_out(d):
        d["data"]["read"]["left_out"] = list(range(80))

    check_refused(verify(*files(*forged(people, tmp_path, all_left_out))), "none of the rows that the certificate covers")


def test_all_counterfactuals_can_be_proven_again(people):
    found = json.loads(verify(*files(*people), "--sample", "all", "--json").stdout)
    n = sum(json.loads(people[0].read_text(encoding="utf-8"))["statuses"].values())
    assert f"{n} of {n} counterfactuals checked again" in found["checks"][-1]["words"]


def test_the_model_is_saved_where_that_is_asked_for(tmp_path, monkeypatch):
    table().to_csv(tmp_path / "t.csv", index=False)
    assert distill(tmp_path / "t.csv", "--out", tmp_path / "out").exit_code == 0
    assert "model.skops" not in files_in(tmp_path / "out")
    made = distilled(tmp_path, table())
    check_refused(distill(tmp_path / "t.csv", "--model-file", made[2], "--save-model"), "already in a file")
    monkeypatch.setattr(_checks, "find_spec", lambda name: None)
    check_refused(distill(tmp_path / "t.csv", "--save-model"), "skops is not installed", "fcca[skops]")


def test_a_run_in_chunks_writes_no_certificate_and_says_so(tmp_path):
    table().to_parquet(tmp_path / "t.parquet")
    out = tmp_path / "out"
    result = run("distill", tmp_path / "t.parquet", "--stream", "--out", out)
    assert result.exit_code == 0, result.output
    assert "report.html and certificate.json are not written" in " ".join(result.stderr.split())
    assert "certificate.json" not in files_in(out)
    assert distill(tmp_path / "t.parquet", "--no-stream", "--out", out).exit_code == 0
    assert "certificate.json" in files_in(out)
    for option in ("--stream", "--no-counterfactuals"):
        result = distill(tmp_path / "t.parquet", option, "--out", out)
        assert "certificate.json is from an earlier run" in " ".join(result.stderr.split())


def test_the_same_run_writes_the_same_certificate(tmp_path, people):
    again = distilled(tmp_path, table(), "--model", "rf", "--regularization", 0.01, "--jobs", 1, suffix=".parquet")
    assert again[0].read_bytes() == people[0].read_bytes()


@pytest.mark.slow
def test_help_and_exit_codes_in_a_process_of_its_own(people):
    result = run_process("verify", *files(*people), "--json")
    assert (result.returncode, json.loads(result.stdout)["accepted"]) == (0, True), result.stderr
    text = " ".join(run("verify", "--help").stdout.split())
    for words in ("Exit codes: 0 accepted; 1 rejected", "--sample", "--time-limit", "--save-model"):
        assert words in text


def test_missing_values_and_their_marks_are_read_as_by_distill(tmp_path):
    frame = loans(120)
    frame["income"] = frame["income"].map(lambda x: "unknown" if np.isnan(x) else x)
    frame["purpose"] = frame["purpose"].fillna("?")
    made = distilled(tmp_path, pd.DataFrame(frame), "--model", "logistic")
    assert verify(*files(*made)).exit_code == 0
