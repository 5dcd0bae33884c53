"""The summary says how many times faster, and never says "nowhere" where a peer is faster or was not measured."""

import pytest

MACHINE = {"cpu": "x", "cores": 2, "system": "Linux", "python": "3", "load before": 0.1, "load after": 0.2}


def record(name, lines, *, verdicts=(), shortfalls=(), skipped=(), versions=None):
    return {
        "name": name,
        "tables": {"Times": lines},
        "verdicts": [{"passed": passed, "text": text} for passed, text in verdicts],
        "shortfalls": [{"who": who, "text": text} for who, text in shortfalls],
        "skipped": list(skipped),
        "versions": versions or {},
    }


def outcome(name, how="done", reason=""):
    times = {"seconds": 1.0, "cpu_seconds": 1.0}
    return {"name": name, "outcome": how, "reason": reason, **times, "met": 1, "missed": 0}


def line(data, who, ratio, *, at_least=False):
    return {"data": data, "who": who, "times faster": ratio, "is at least": at_least}


@pytest.fixture
def of(summary):
    """The line of one peer, from records and outcomes."""

    def found(peer, records, outcomes=None):
        by_name = {one["name"]: one for one in records}
        outcomes = [outcome(name) for name in by_name] if outcomes is None else outcomes
        made = summary.summary(by_name, outcomes, {"size": "bench"})
        return next(one for one in made["peers"] if one["peer"] == peer)

    return found


def test_median_range_and_cases_are_of_all_records_that_name_the_peer(of, summary):
    speed = record("speed", [line("a", "fcca", None), line("a", "MILP, Gurobi", 100.0), line("b", "MILP, Gurobi", 5000.0)])
    deep = record("ensembles", [line("a", "Gurobi", 20.0), line("a", "HiGHS", 7.0)], versions={"gurobipy": "13"})
    found = of("Gurobi", [speed, deep])
    assert (found["median"], found["range"], found["cases"], found["version"]) == (100.0, "20 – 5,000", 3, "13")
    assert [part["ratios"] for part in found["compared"]] == ["2,550 × (100 – 5,000, 2 cases)", "20 × (1 case)"]
    assert summary.where_not_texts(found) == ["nowhere in this run"]


def test_a_column_that_names_the_peer_counts_as_well(of):
    lines = [{"data": "a", "depth": 3, "times faster than gosdt": 4.0, "times faster than pystreed": 0.5}]
    lines += [{"data": "a", "depth": 4, "times faster than gosdt": None, "times faster than pystreed": 3.0}]
    trees = record("trees", lines)
    assert (of("gosdt", [trees])["cases"], of("pystreed", [trees])["cases"]) == (1, 2)
    assert of("pystreed", [trees])["where not"] == ["slower on a, depth 3 (trees): 2 times as long"]


def test_a_peer_that_was_given_up_before_fcca_was_done_is_not_called_faster(of):
    line = {"data": "a", "depth": 4, "times faster than gosdt": 0.5, "is at least than gosdt": True}
    found = of("gosdt", [record("trees", [line])])
    assert found["where not"] == [
        "undecided on a, depth 4 (trees): given up at a limit that is 2 times shorter than fcca's time"
    ]


def test_where_a_peer_is_faster_is_said_slowest_first(of):
    found = of(
        "treecf", [record("ensembles", [line("a", "treecf", 0.8), line("b", "treecf", 9.0), line("c", "treecf", 0.1)])]
    )
    assert found["where not"] == [
        "slower on c (ensembles): 10 times as long",
        "slower on a (ensembles): 1.2 times as long",
    ]


def test_a_missed_bar_that_names_the_peer_is_said_and_others_are_not(of):
    missed = [(False, "50 × faster than CP-SAT: 12 ×"), (False, "median above the bar"), (True, "never slower than CP-SAT")]
    found = of("CP-SAT", [record("ensembles", [line("a", "CP-SAT", 12.0)], verdicts=missed)])
    assert found["where not"] == ["missed: 50 × faster than CP-SAT: 12 × (ensembles)"]


def test_what_a_peer_does_better_than_fcca_otherwise_is_said(of):
    shortfalls = [("pycontree", "a better tree in 3 of 5 cases")]
    trees = record("trees", [{"data": "a", "times faster than pycontree": 40.0}], shortfalls=shortfalls)
    assert of("pycontree", [trees])["where not"] == ["a better tree in 3 of 5 cases"]


def test_a_missed_figure_of_the_authors_is_a_shortfall_beside_their_code(of):
    figures = record(
        "paper_figures", [], verdicts=[(False, "rates within .02 of the authors' code: 30 of 36; " + "x " * 200)]
    )
    text = of("the authors' code", [figures, record("authors", [line("a", "the authors' code", 60.0)])])["where not"][0]
    assert text.startswith("missed: rates within .02 of the authors' code: 30 of 36;")
    assert "…" in text
    assert len(text) < 200


def test_an_absent_peer_is_not_measured_and_never_nowhere(of, summary):
    skipped = ["treecf is not installed (pip install 'fcca[bench]')", "boston: not in the folder that FCCA_DATA names"]
    skipped += ["gurobipy is not installed (pip install 'fcca[bench]')"]
    deep = record("ensembles", [line("a", "HiGHS", 7.0)], skipped=skipped)
    for peer, library in (("treecf", "treecf"), ("Gurobi", "gurobipy")):
        found = of(peer, [deep])
        assert found["cases"] == 0
        assert summary.where_not_texts(found) == [f"not measured: {library} is not installed (pip install 'fcca[bench]')"]
    assert of("CP-SAT", [deep])["not measured"] == ["not in this run"]


@pytest.mark.parametrize("how", ["timeout", "failed"])
def test_a_script_that_came_to_no_end_is_named_beside_what_it_found(of, summary, how):
    deep = record("ensembles", [line("a", "treecf", 7.0)])
    found = of("treecf", [deep], [outcome("ensembles", how, "ended after 3 s")])
    assert found["cases"] == 1
    assert summary.where_not_texts(found) == ["not all measured: ensembles: ended after 3 s"]


def test_ratios_of_searches_that_were_given_up_are_lower_bounds(of):
    def spread(*ratios):
        lines = [line(str(i), "treecf", ratio, at_least=bound) for i, (ratio, bound) in enumerate(ratios)]
        found = of("treecf", [record("ensembles", lines)])
        return found["median text"], found["range"], found["lower bounds"]

    assert spread((2.0, False), (30.0, False), (400.0, True)) == ("30", "2 – ≥ 400", 1)
    assert spread((2.0, True), (30.0, False), (400.0, False)) == ("≥ 30", "≥ 2 – ≥ 400", 1)
    assert spread((12.0, True)) == ("≥ 12", "", 1)


def test_the_text_fits_a_terminal_of_a_hundred_columns(summary):
    lines = [line(f"a data set with a long name, number {i}", "treecf", 0.1 + i / 100) for i in range(9)]
    long = "x" * 60
    records = {"ensembles": record("ensembles", lines, versions={"treecf": "1.2.3"})}
    about = {
        "size": "bench",
        "date": "2026-01-01",
        "seconds": 75.0,
        "machine": MACHINE,
        "versions": {long: "1", "b" + long: "2"},
    }
    outcomes = [outcome("ensembles", "timeout", "ended after 3 s, " + "its limit in the suite " * 5)]
    text = summary.as_text(summary.summary(records, outcomes, about))
    assert max(map(len, text.splitlines())) <= 100
    for expected in (
        "bench run of 2026-01-01 in 1:15 minutes",
        "treecf 1.2.3",
        "slower on a data set",
        "timeout: ended after 3 s",
    ):
        assert expected in text
