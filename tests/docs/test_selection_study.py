"""The page on the choice of thresholds draws and says what was recorded, the bad news with the good."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from real_data import imported

KS = [1, 2, 3]


@pytest.fixture
def study():
    imported("sphinx")
    import selection_study

    return selection_study


@pytest.fixture
def record():
    def fold(data, number):
        rates = {
            "frequency": [0.3, 0.2, 0.2],
            "greedy": [0.3, 0.15, 0.1],
            "optimal": [0.3, 0.1, 0.1],
            "bound": [0.3, 0.1, 0.05],
        }
        accuracies = {f"{way}: accuracy": [0.7 + 0.01 * number] * 3 for way in ("frequency", "greedy", "optimal")}
        return {"data": data, "fold": number, "k": KS, **rates, **accuracies, "proven": [True, True, False]}

    return {
        "command": "python benchmarks/selection.py",
        "date": "2026-01-01",
        "seconds": 3.0,
        "machine": {"cpu": "x", "cores": 1, "system": "Linux", "python": "3", "load before": 0.0, "load after": 0.0},
        "versions": {"fcca": "1"},
        "verdicts": [
            {"passed": False, "text": "proven within 30 s: 4 of 5"},
            {"passed": True, "text": "never above greedy"},
        ],
        "tables": {
            "Folds": [fold(data, number) for data in ("boston", "magic", "vehicle", "particle") for number in (1, 2)],
            "Gap in % after so many seconds": [{"data": "boston", "6": "3.1"}],
        },
    }


@pytest.fixture
def directive(study, record, tmp_path, monkeypatch):
    monkeypatch.setattr(study, "record_of", lambda script: record)

    def run(asked):
        made = study.SelectionStudy.__new__(study.SelectionStudy)
        made.arguments, made.options = [asked], {}
        made.state = SimpleNamespace(
            document=SimpleNamespace(
                settings=SimpleNamespace(env=SimpleNamespace(srcdir=str(tmp_path), note_dependency=lambda _: None))
            )
        )
        made.state_machine = SimpleNamespace()
        made.error = RuntimeError
        return made.run()

    return run


@pytest.mark.parametrize("asked", ["inconsistency", "accuracy"])
def test_a_figure_is_drawn_and_described(directive, tmp_path, asked):
    (image,) = directive(asked)
    assert (tmp_path / image["uri"].lstrip("/")).stat().st_size > 10_000
    assert "number of thresholds" in image["alt"]


def test_missed_bars_come_first(directive):
    text = "\n".join(node.astext() for node in directive("summary"))
    assert text.index("Missed: proven within 30 s: 4 of 5") < text.index("never above greedy")


def test_a_table_is_asked_for_by_the_beginning_of_its_title(directive):
    (table,) = directive("Gap in %")
    assert "3.1" in table.astext()
    with pytest.raises(RuntimeError, match="no table that begins with 'Gaps'"):
        directive("Gaps")


def test_without_a_record_the_page_says_so_once(study, directive, monkeypatch):
    monkeypatch.setattr(study, "record_of", lambda script: None)
    assert [node.astext() for node in directive("summary")] == ["Not recorded."]
    assert directive("accuracy") == []


def test_the_interval_is_students(study):
    mean, half = study.interval(np.array([[1.0], [2.0], [3.0], [4.0], [5.0]]))
    assert mean == pytest.approx([3.0])
    assert half == pytest.approx([2.776445 * np.sqrt(2.5 / 5)], rel=1e-5)


def test_lists_that_are_kept_for_a_figure_are_no_table_of_the_page_of_benchmarks(study, record):
    import benchmark_records

    text = "\n".join(node.astext() for node in benchmark_records.recorded(json.loads(json.dumps(record))))
    assert "Gap in %" in text
    assert "Folds" not in text
