"""The slider of the number of thresholds in a browser: choices, texts, and one active slider."""

import json

import numpy as np
import pytest
from sklearn.base import clone

from fcca import FCCAClassifier, FCCADiscretizer, GTREDiscretizer, report
from fcca.selection import OptimalSelection

from .browser import PHONE
from .conftest import HOSTILE_CLASSES, HOSTILE_COLUMNS
from .fitted import axis_of, fitted, levels_of, stumps
from .test_browser import check_shown, percent
from .test_browser_safety import axe

LEVELS = (0, 3, 8, -1)


def standing(reader):
    """Return the positions of both sliders, and which one is active, visibly and for screen readers."""
    return reader.page.evaluate(
        """() => Object.fromEntries([...document.querySelectorAll("[data-way]")].map((way) => [way.dataset.way, {
          at: ((slider) => way.dataset.way === "q" ? slider.max - slider.value : Number(slider.value))(
            way.querySelector("[type=range]")),
          holds: way.querySelector("[type=radio]").checked,
          off: way.classList.contains("off"),
          unused: way.querySelector("[type=range]").getAttribute("aria-valuetext").endsWith("; not in use"),
        }]))"""
    )


def check_holds(reader, key, other_at):
    for name, way in standing(reader).items():
        assert (way["holds"], way["off"], way["unused"]) == ((name == key), (name != key), (name != key))
        if name != key:
            assert way["at"] == other_at


def test_both_sliders_redraw_everything_by_keyboard_and_one_of_them_holds(opened, cancer):
    reader = opened(cancer.path)
    data, start = reader.data(), axis_of(reader.data(), "q")["start"]
    last = len(levels_of(data, "k")) - 1
    check_holds(reader, "q", axis_of(data, "k")["start"])
    reader.slider("k").focus()
    for key, index in (("Home", 0), ("ArrowRight", 1), ("End", last), ("ArrowLeft", last - 1)):
        reader.slider("k").press(key)
        check_shown(reader, data, index, "k")
        check_holds(reader, "k", start)
    reader.slider("q").focus()
    reader.slider("q").press("ArrowRight")
    check_shown(reader, data, start - 1)
    check_holds(reader, "q", last - 1)


def test_both_sliders_redraw_everything_by_mouse(opened, cancer):
    reader = opened(cancer.path)
    data = reader.data()
    last = {key: len(levels_of(data, key)) - 1 for key in ("q", "k")}
    for key, share, index in (("k", 0.02, 0), ("q", 0.02, last["q"]), ("k", 0.98, last["k"])):
        box = reader.slider(key).bounding_box()
        reader.page.mouse.click(box["x"] + share * box["width"], box["y"] + box["height"] / 2)
        check_shown(reader, data, index, key)
    check_holds(reader, "k", last["q"])


def test_a_click_on_a_slider_or_its_name_takes_it_where_it_stands(opened, cancer):
    reader = opened(cancer.path)
    data = reader.data()
    start = {key: axis_of(data, key)["start"] for key in ("q", "k")}
    reader.part("way-k").check()
    check_shown(reader, data, start["k"], "k")
    check_holds(reader, "k", start["q"])
    reader.part("way-k").press("ArrowUp")  # as in any group of choices
    check_shown(reader, data, start["q"], "q")
    reader.slider("k").dispatch_event("click")
    check_holds(reader, "k", start["q"])
    assert reader.fragment == f"#k={levels_of(data, 'k')[start['k']]['value']}"


def test_the_address_restores_the_number_and_the_row(opened, cancer):
    reader = opened(cancer.path, "#k=5&row=17")
    check_shown(reader, reader.data(), 4, "k")
    assert reader.row()["label"] == cancer.y[17]
    reader.page.evaluate("location.hash = '#q=0.2&row=3'")
    reader.until_level(2)
    check_shown(reader, reader.data(), 2)
    check_holds(reader, "q", 4)
    reader.page.evaluate("location.hash = '#k=1000'")
    reader.until("document.querySelector('[data-test=way-k]').checked")
    assert standing(reader)["k"]["at"] == len(levels_of(reader.data(), "k")) - 1
    for fragment in ("#k=nonsense", "#k=", "#k=-3"):
        reader.page.goto("about:blank")
        reader.page.goto(reader.address + fragment)
        reader.wait()
        assert reader.part("node").count() > 0


def test_neither_slider_moves_while_they_are_used(opened, cancer):
    for viewport in ({"width": 1280, "height": 900}, {"width": 800, "height": 900}, PHONE):
        reader = opened(cancer.path, viewport=viewport)
        places = set()
        for key, indices in (("k", (0, 9, 12)), ("q", (0, 10)), ("k", (3,))):
            for index in indices:
                reader.set_level(index, key)
                boxes = [reader.slider(name).bounding_box() for name in ("q", "k")]
                places.add(tuple((box["x"], box["y"], box["width"]) for box in boxes))
        assert len(places) == 1


def test_what_is_proven_is_said_at_every_number_beside_the_most_frequent(opened, cancer):
    reader = opened(cancer.path)
    for index, level in enumerate(levels_of(reader.data(), "k")):
        reader.set_level(index, "k")
        k, proof = level["value"], level["proof"]
        least = f"inconsistency {percent(proof['inconsistency'])}, {proof['claim']}"
        frequent = "the most frequent one has " if k == 1 else f"the {k} most frequent have "
        frequent += percent(proof["frequency"])
        assert reader.text("choice") == f"{k}\xa0threshold{'s' if k > 1 else ''}: {least}; {frequent}."
        assert ("open" in reader.part("choice").get_attribute("class").split()) != proof["is_optimal"]
        line = reader.page.locator("[data-test=choices] tr.lit").all_text_contents()
        assert [text.split("\n")[0].strip() for text in line] == [f"{k}{percent(proof['inconsistency'])}"]


def test_a_granularity_is_compared_with_the_best_of_as_many(opened, cancer):
    reader = opened(cancer.path)
    best = {level["value"]: level["proof"] for level in levels_of(reader.data(), "k")}
    n_found = len(reader.data()["conditions"])
    sides = set()
    for index, level in enumerate(levels_of(reader.data())):
        reader.set_level(index)
        n, text = level["n_kept"], reader.text("choice")
        which = f"all {n}" if n == n_found else f"the {n} most frequent"
        assert text.startswith(f"Q\xa0=\xa0{level['value']:g} keeps {which} thresholds")
        sides.add(n in best)
        assert reader.part("cursor-frontier").count() == (n in best)
        if n in best:
            assert percent(level["training"]["inconsistency"]) == percent(best[n]["frequency"])
            assert f"the best {n} have {percent(best[n]['inconsistency'])}, {best[n]['claim']}." in text
        else:
            computed = f"Optimal choices were computed only for up to {max(best)}\xa0thresholds."
            assert text.endswith(computed if n > max(best) else f"No optimal choice of {n}\xa0thresholds was computed.")
    assert sides == {True, False}


def test_the_chart_of_the_choices_shows_and_sets_the_number(opened, cancer):
    reader = opened(cancer.path)
    data = reader.data()
    places = []
    for index in (2, 7, 12):
        reader.page.locator(f"[data-test=chart-frontier] [data-level='{index}']").click()
        check_shown(reader, data, index, "k")
        places.append(float(reader.part("cursor-frontier").get_attribute("x1")))
    assert places == sorted(places)
    lines = reader.page.locator("[data-test=chart-frontier] polyline").evaluate_all(
        """all => all.map((line) => [line.classList[1],
            line.getAttribute("points").split(" ").map((point) => Number(point.split(",")[1]))])"""
    )
    low = dict(lines)["training"]
    assert set(dict(lines)) == {"training", "held_out", "greedy"}
    for points in dict(lines).values():  # lower on the page is less
        assert len(points) == len(levels_of(data, "k"))
        assert all(y <= least + 1e-9 for y, least in zip(points, low, strict=True))


@pytest.mark.parametrize("name", ["cancer", "mixed"])
def test_the_look_up_is_as_in_python_at_every_number(opened, request, name):
    made = request.getfixturevalue(name)
    reader = opened(made.path)
    levels = levels_of(reader.data(), "k")
    B = made.classifier.discretizer_.all_thresholds_.binarize(made.X)
    trees = [clone(made.classifier.tree_).fit(B[:, level["kept"]], made.y) for level in levels]
    ends = reader.page.evaluate(
        """() => fcca.readRows().then((rows) => fcca.state.axes.find(({ key }) => key === "k").levels.map(
            ({ tree }) => rows.number.map((_, i) => rows.walk(tree, i).leaf)))"""
    )
    assert ends == [tree.apply(B[:, level["kept"]]).tolist() for tree, level in zip(trees, levels, strict=True)]
    first, step = (1000, 3) if name == "mixed" else (0, 1)
    rows = np.random.default_rng(3).choice(len(made.y), 3 * len(LEVELS), replace=False).tolist()
    for at, index in zip(rows, [at % len(levels) for at in LEVELS] * 3, strict=True):
        reader.set_level(index, "k")
        reader.look_up(first + step * at)
        said = trees[index].predict(B[[at]][:, levels[index]["kept"]])[0]
        assert reader.row()["tree"] == said
        kept = set(levels[index]["kept"])
        assert all(marked == ("kept" if int(i) in kept else "dropped") for i, marked in reader.row()["crossed"].items())
        assert reader.fragment == f"#k={levels[index]['value']}&row={first + step * at}"


@pytest.mark.parametrize(
    "options", [{}, {"color_scheme": "dark"}, {"viewport": PHONE}, {"viewport": PHONE, "color_scheme": "dark"}]
)
def test_axe_finds_nothing_at_a_number_of_thresholds(opened, mixed, options):
    reader = opened(mixed.path, "#k=5&row=1021", **options)
    reader.page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true; })")
    assert axe(reader) == []
    assert reader.overflow() <= 0


def test_hostile_names_are_text_in_the_choices_too(opened, hostile):
    reader = opened(hostile.path)
    for index in range(len(levels_of(reader.data(), "k"))):
        reader.set_level(index, "k")
    chosen = reader.part("choices").text_content()
    assert any(name in chosen for name in HOSTILE_COLUMNS)
    for _ in range(3):
        reader.part("random").click()
        assert reader.row()["label"] in HOSTILE_CLASSES
    assert reader.page.evaluate("window.broken") is None


def test_the_page_starts_at_the_classifiers_own_choice(opened, tmp_path):
    X, y = fitted("breast cancer")[1]
    classifier = FCCAClassifier(FCCADiscretizer(stumps(40), selection=OptimalSelection(3))).fit(X, y)
    reader = opened(report.write(classifier, tmp_path / "report.html", Q=[0.5]))
    assert reader.fragment == ""
    assert reader.level("k")["said"].startswith("3 of ")
    assert reader.text("exact-level").startswith("k\xa0=\xa03 is selected: 3 of ")
    check_holds(reader, "k", 0)
    assert len(reader.level("k")["rules"]) == len(classifier.rules())


def test_without_granularity_there_is_one_slider_and_no_choice_of_ways(opened, tmp_path):
    X, y = fitted("breast cancer")[1]
    classifier = FCCAClassifier(GTREDiscretizer(stumps(40), random_state=0)).fit(X, y)
    reader = opened(report.write(classifier, tmp_path / "report.html", n_thresholds=range(1, 4)))
    n = len(classifier.discretizer_.thresholds_)
    assert reader.page.locator("input[type=range]").count() == 1
    assert reader.page.locator("input[type=radio]").count() == 0
    assert reader.level("k")["said"].startswith(f"{n} of {n}\xa0thresholds")
    least = percent(axis_of(reader.data(), "k")["least"])
    assert reader.text("choice") == f"{n}\xa0thresholds: inconsistency {least}, with all thresholds."
    reader.set_level(0, "k")
    assert reader.fragment == "#k=1"
    assert axe(reader) == []


def test_without_scripts_the_choices_are_a_table(chromium, mixed):
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(mixed.path.as_uri())
    lines = page.locator("[data-test=choices] tbody tr")
    assert lines.count() == len(levels_of(json.loads(page.locator("#data").text_content()), "k")) > 1
    assert lines.first.inner_text().startswith("1\t")
    assert "proven optimal" in lines.first.inner_text()
    assert page.locator("[data-of=q]").is_visible()
    assert not page.locator("[data-of=k]").is_visible()
    context.close()


def test_paper_shows_the_number_that_holds_and_the_choices(opened, mixed):
    reader = opened(mixed.path, "#k=5")
    reader.page.emulate_media(media="print")
    reader.until("document.querySelectorAll('details:not([open])').length === 0")
    for name in ("choice", "chart-frontier", "choices"):
        assert reader.part(name).is_visible()
    assert not reader.part("control").is_visible()
    assert reader.page.pdf(format="A4").startswith(b"%PDF")
