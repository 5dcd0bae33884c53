"""Damaged arguments and files for the commands: exit codes 0 to 3, a message, no traceback, nothing half-written."""

from __future__ import annotations

import random
import shutil
from collections import Counter
from pathlib import Path

import pytest

from command_line import files_in, loans, run, table
from fcca import read_model
from hardening.mutations import mutated
from hardening.seeds import RULES

VALUES = (
    "", "0", "1", "-1", "2", "0.5", "1e999", "nan", "inf", "-inf", "1e-320", "99999999999999999999", "x", "--", "-", "a,b",
    "0-", "5-1", "0,,1", "\x00", "\ud800", "é", "../../x", "/", ".", "label", "income", "gb", "rf", "auto", "null", "[bold]",
    "balanced", "yes=2", "yes=2,no=0.5", "yes=2,yes=3", "gini",
    "%s", "{}", "a" * 3000,
)  # fmt: skip
OPTIONS = {
    "distill": (
        "--label", "--categorical", "--out", "--test-size", "--model", "--model-file", "--max-depth", "--regularization",
        "--fit-to", "--random-state", "--q", "--thresholds", "--p0", "--p1", "--lambda0", "--lambda1", "--lambda2",
        "--margin", "--decision-threshold", "--merge-tolerance", "--jobs", "--time-limit", "--time-limit-per-row", "--rules",
        "--sample", "--title", "--criterion", "--class-weight", "--max-leaves", "--min-samples-leaf",
    ),
    "explain": (
        "--rows", "--target", "--target-probability", "--n", "--label", "--out", "--reference", "--lambda0", "--lambda1",
        "--lambda2", "--margin", "--decision-threshold", "--jobs", "--time-limit", "--time-limit-per-row", "--rules",
    ),
    "report": (
        "--label", "--test", "--out", "--levels", "--q", "--max-depth", "--thresholds", "--p0", "--p1", "--rules", "--title",
        "--criterion", "--class-weight", "--max-leaves", "--min-samples-leaf",
    ),
    "export": ("--to", "--out", "--dialect", "--table", "--form", "--add", "--prefix"),
    "verify": ("--data", "--model", "--label", "--sample", "--random-state", "--time-limit", "--jobs"),
}  # fmt: skip
FLAGS = ("--quiet", "--json", "--no-report", "--no-round", "--stream", "--no-stream", "--no-counterfactuals", "--nonsense")
CODES = {0, 1, 2, 3}  # 3: answers that the model's own predict does not confirm


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Honest files of all kinds."""
    import skops.io
    from sklearn.linear_model import LogisticRegression

    folder = tmp_path_factory.mktemp("files")
    table(60).to_csv(folder / "people.csv", index=False)
    loans(60).to_csv(folder / "loans.csv", index=False)
    table(60).to_parquet(folder / "people.parquet")
    (folder / "rules.yaml").write_text(RULES.replace("[a, b]", "[height]"))
    X = table(60).drop(columns="label").astype(float)
    model = LogisticRegression().fit(X, table(60)["label"])
    assert read_model(model).n_features == 3
    skops.io.dump(model, folder / "model.skops")
    made = run("distill", folder / "people.csv", "--out", folder / "made", "--no-report", "--quiet", "--save-model")
    assert made.exit_code == 0, made.output
    for name, copied in (("tree.json", "tree.json"), ("certificate.json", "certificate.json"), ("model.skops", "box.skops")):
        shutil.copy(folder / "made" / name, folder / copied)
    shutil.rmtree(folder / "made")
    return folder


def arguments(command: str, rng: random.Random, place: Path) -> list[str]:
    """A good call, then changed: options with odd values, arguments left out, repeated or swapped."""
    data = str(place / rng.choice(("people.csv", "people.csv", "loans.csv", "people.parquet")))
    out = str(place / "out")
    args = {
        "distill": [data, "--out", out, "--no-report", "--max-depth", "2"],
        "explain": [str(place / "model.skops"), data, "--rows", "0-3", "--out", f"{out}/x.csv"],
        "report": [str(place / "model.skops"), data, "--out", f"{out}/r.html", "--levels", "0,0.5", "--max-depth", "1"],
        "export": [str(place / "tree.json"), "--out", f"{out}/tree.md"],
        "verify": [
            *(str(place / "certificate.json"), "--data", str(place / "people.csv"), "--model", str(place / "box.skops")),
            *("--sample", "1"),
        ],
    }[command]
    for _ in range(rng.choice((0, 1, 1, 2, 3))):
        how = rng.randrange(6)
        if how < 3:
            option = rng.choice(OPTIONS[command])
            value = rng.choice((*VALUES, *(str(path) for path in sorted(place.iterdir()))))
            args += [option, f"{place}/{value}" if option == "--out" else value]
        elif how == 3:
            args.append(rng.choice(FLAGS))
        elif how == 4 and args:
            del args[rng.randrange(len(args))]
        elif args:
            args.insert(rng.randrange(len(args) + 1), rng.choice(args))
    return [command, *args]


def check_calls(files: Path, folder: Path, numbers: range, monkeypatch) -> Counter[int | None]:
    codes: Counter[int | None] = Counter()
    for number in numbers:
        rng = random.Random(number)
        place = folder / str(number)
        shutil.copytree(files, place)
        monkeypatch.chdir(place)  # where files go whose --out was lost
        command = rng.choice(list(OPTIONS))
        if rng.random() < 0.4:
            path = rng.choice([path for path in sorted(place.iterdir()) if path.is_file()])
            structured = {".csv": "lines", ".yaml": "lines", ".json": "json", ".skops": "zip"}.get(path.suffix, "numbers")
            path.write_bytes(mutated(path.read_bytes(), number, structured=structured))
        args = arguments(command, rng, place)
        result = run(*args)
        said = f"{number}: {args} {result.exit_code} {result.output[-2000:]} {result.exception!r}"
        assert result.exception is None or isinstance(result.exception, SystemExit), said
        assert result.exit_code in CODES, said
        assert "Traceback" not in result.output, said
        left = [path for path in place.rglob(".*") if path.name.endswith((".tmp", ".run"))]
        assert not left, f"{said} {left}"
        if result.exit_code in (1, 2):
            assert not (place / "out").exists() or not files_in(place / "out"), said
            assert result.output.strip(), said
        codes[result.exit_code] += 1
        monkeypatch.chdir(folder)
        shutil.rmtree(place)
    return codes


@pytest.mark.slow
def test_odd_arguments_and_damaged_files_end_with_a_message(files, tmp_path, monkeypatch):
    codes = check_calls(files, tmp_path, range(100), monkeypatch)
    assert codes[0] > 5
    assert codes[2] > 20


@pytest.mark.verify
@pytest.mark.parametrize("part", range(4))
def test_a_thousand_odd_calls_end_with_a_message(files, tmp_path, monkeypatch, part):
    codes = check_calls(files, tmp_path, range(1000 + 250 * part, 1250 + 250 * part), monkeypatch)
    print(dict(codes))
