"""The page in a browser: all parts show the selected level."""

import re

import numpy as np
import pandas as pd
import pytest

from fcca import FCCAClassifier, FCCADiscretizer, OptimalTreeClassifier, report

from .browser import PHONE, said_path
from .fitted import first_level, levels_of, stumps


def described(data, index, key="q"):
    level = levels_of(data, key)[index]
    columns = len({data["conditions"][i]["column"] for i in level["kept"]})
    kept, found = f"{len(level['kept']):,}", f"{len(data['conditions']):,}"
    said = f"{kept} of {found}\xa0thresholds on {columns}\xa0column{'s' if columns != 1 else ''}"
    return said


def fixed(x):
    return "–" if x is None else f"{x:.3f}"


def percent(share):
    return f"{100 * share:g}\xa0%" if share in (0, 1) else f"{100 * share:.1f}\xa0%"


def check_worth(shown, data, level):
    """The table and the matrix are those of the level's tree."""
    own, same = level["quality"], data["quality"]
    rivals = [own["tree"], own["cart"], same["commonest"], same["black_box"]]
    figures = [("accuracy", percent), ("balanced_accuracy", percent), ("auc", fixed), ("log_loss", fixed), ("ks", fixed)]
    if len(same["classes"]) > 2:
        figures.pop()
    assert shown["figures"] == [[say(rival[name]) for rival in rivals] for name, say in figures]
    assert shown["confusion"] == [[f"{n:,}" for n in line] for line in own["confusion"]]
    assert shown["verdict"] == own["verdict"]


def check_shown(reader, data, index, key="q"):
    """Every part of the page shows the level."""
    shown, level = reader.level(key), levels_of(data, key)[index]
    assert shown["slider"] == index
    assert shown["said"] == shown["spoken"] == described(data, index, key)
    assert len(shown["nodes"]) == len(level["tree"]["condition"])
    asked = {data["conditions"][i]["text"] for i in level["tree"]["condition"] if i >= 0}
    assert {title.split("?\n")[0] for title in shown["nodes"] if "?\n" in title} == asked
    assert len(shown["rules"]) == sum(i < 0 for i in level["tree"]["condition"])
    for said, rate in zip(shown["rates"], ("accuracy", "fidelity", "compression", "inconsistency"), strict=True):
        sides = [("training", level["training"]), ("held out", level["held_out"])]
        assert said == ", ".join(f"{percent(side[rate])} {word}" for word, side in sides if side)
    assert set(shown["kept"]) <= set(level["kept"])
    assert len(shown["kept"]) == min(40, len(level["kept"]))
    assert set(shown["solid"]) <= set(level["kept"])
    weak = ", and no better than the most frequent class" if level["quality"]["verdict"] else ""
    assert shown["certificate"] == level["certificate"]["claim"] + weak
    side = level["held_out"] or level["training"]
    assert shown["agree"] == percent(side["fidelity"])
    check_worth(shown, data, level)
    assert reader.fragment.split("&")[0] == f"#{key}={level['value']:g}"
    return shown


def test_the_slider_redraws_everything_by_keyboard(opened, cancer):
    reader = opened(cancer.path)
    data, slider = reader.data(), reader.slider()
    slider.focus()
    slider.press("End")
    first = check_shown(reader, data, 0)
    slider.press("ArrowLeft")
    second = check_shown(reader, data, 1)
    slider.press("Home")
    last = check_shown(reader, data, len(levels_of(data)) - 1)
    slider.press("ArrowRight")
    check_shown(reader, data, len(levels_of(data)) - 2)
    assert first["cursor"] > second["cursor"] > last["cursor"]
    assert first["nodes"] != last["nodes"]
    assert first["rules"] != last["rules"]
    assert len(first["kept"]) > len(last["kept"])
    assert len(first["solid"]) > len(last["solid"])


def test_the_slider_redraws_everything_by_mouse(opened, cancer):
    reader = opened(cancer.path)
    data = reader.data()
    box = reader.slider().bounding_box()
    for share, index in ((0.98, 0), (0.02, len(levels_of(data)) - 1)):
        reader.page.mouse.click(box["x"] + share * box["width"], box["y"] + box["height"] / 2)
        check_shown(reader, data, index)
    reader.page.mouse.down()
    reader.page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + box["height"] / 2, steps=3)
    reader.page.mouse.up()
    assert 0 < reader.level()["slider"] < len(levels_of(data)) - 1
    check_shown(reader, data, reader.level()["slider"])


def test_the_slider_stays_where_it_is_while_it_moves(opened, cancer):
    for viewport in ({"width": 1280, "height": 900}, PHONE):
        reader = opened(cancer.path, viewport=viewport)
        places = set()
        for index in range(len(levels_of(reader.data()))):
            reader.set_level(index)
            box = reader.slider().bounding_box()
            places.add((box["x"], box["y"], box["width"]))
        assert len(places) == 1


def test_every_level_is_drawn(opened, mixed):
    reader = opened(mixed.path)
    data = reader.data()
    for index in range(len(levels_of(data))):
        reader.set_level(index)
        check_shown(reader, data, index)


def test_a_click_into_a_chart_goes_to_that_level(opened, cancer):
    reader = opened(cancer.path)
    for key in ("accuracy", "inconsistency"):
        for index in (1, 4):
            reader.page.locator(f"[data-test=chart-{key}] [data-level='{index}']").click()
            check_shown(reader, reader.data(), index)


def test_the_address_restores_level_and_row(opened, cancer):
    reader = opened(cancer.path, "#q=0.9&row=17")
    check_shown(reader, reader.data(), 9)
    assert reader.part("row").input_value() == "17"
    assert reader.row()["label"] == cancer.y[17]
    reader.page.evaluate("location.hash = '#q=0.2&row=3'")
    reader.until_level(2)
    check_shown(reader, reader.data(), 2)
    assert reader.row()["label"] == cancer.y[3]
    assert reader.fragment == "#q=0.2&row=3"


def test_any_address_opens_the_page(opened, cancer):
    reader = opened(cancer.path)
    for fragment in ("#main", "#q=nonsense&row=", "#q=7&row=%3Cb%3E", "#%E0%A4%A"):
        reader.page.goto("about:blank")
        reader.page.goto(reader.address + fragment)
        reader.wait()
        assert reader.text("said")
        assert reader.part("node").count() > 0


def test_the_page_starts_at_the_classifiers_own_level(opened, mixed):
    reader = opened(mixed.path)
    data = reader.data()
    assert reader.level()["slider"] == [level["value"] for level in levels_of(data)].index(0.5)
    assert reader.text("exact-level").startswith("Q\xa0=\xa00.5 is selected: ")
    assert reader.fragment == ""


@pytest.mark.parametrize("name", ["mixed", "whole_numbers"])
def test_the_rules_are_those_of_the_classifier(opened, request, name):
    report_ = request.getfixturevalue(name)
    reader = opened(report_.path)
    levels = levels_of(reader.data())
    for index in {0, len(levels) // 2, len(levels) - 1}:
        reader.set_level(index)
        own = report_.classifier.at_granularity(levels[index]["value"]).rules()
        assert [said_path(rule) for rule in reader.level()["rules"]] == [said_path(rule) for rule in own]


def test_the_large_numbers_are_of_held_out_rows_and_say_so(opened, cancer, mixed):
    reader = opened(cancer.path)
    level = first_level(reader.data())
    held_out, training = level["held_out"], level["training"]
    assert reader.level()["figures"][0][0] == percent(held_out["accuracy"])
    assert reader.level()["figures"][0][2] == percent(held_out["baseline"])
    assert reader.page.locator("#worth-title").inner_text() == "Quality of the tree on held-out rows"
    tiles = reader.text("tiles")
    assert f"of {held_out['rows']}\xa0held-out rows" in tiles
    assert f"on training rows: {percent(training['fidelity'])}" in tiles
    assert reader.text("accuracy") == percent(training["accuracy"])
    line = reader.part("chart-accuracy").locator("[data-test=reference-guess]")
    assert line.text_content() == f"always “{held_out['commonest']}”, held out: {percent(held_out['baseline'])}"
    reader = opened(mixed.path)
    tiles = reader.text("tiles")
    assert tiles.count("of 500\xa0training rows") == tiles.count("no rows were held out") == 1
    assert reader.page.locator("#worth-title").inner_text() == "Quality of the tree on training rows"
    assert "No rows were held out" in reader.text("worth-caption")


def test_figures_and_the_head_of_the_tree_are_on_the_first_screen(opened, cancer, mixed):
    for report_ in (cancer, mixed):
        page = opened(report_.path, viewport={"width": 1280, "height": 900}).page
        figures = page.locator("[data-test=figures]").bounding_box()
        assert figures["y"] + figures["height"] < 700
        assert page.locator("#tree-title").bounding_box()["y"] < 750


def test_no_column_is_cut_in_the_tree_where_its_name_fits_into_three_lines(opened, cancer, mixed):
    for report_ in (cancer, mixed):
        for viewport in ({"width": 1280, "height": 900}, PHONE):
            cards = opened(report_.path, viewport=viewport).page.locator("[data-test=tree] svg.tree .card.inner .name")
            assert not [text for text in cards.all_text_contents() if "…" in text and "{" not in text]


@pytest.mark.parametrize("name", ["mixed", "whole_numbers"])
def test_no_share_is_cut_and_no_card_lies_on_another(opened, request, name):
    for viewport in ({"width": 1280, "height": 900}, {"width": 800, "height": 900}, PHONE):
        reader = opened(request.getfixturevalue(name).path, "#q=0", viewport=viewport)
        texts = reader.page.locator("[data-test=tree] svg.tree .card text:not(.name)").all_text_contents()
        assert not [text for text in texts if text.endswith("…")]
        boxes = reader.page.locator("[data-test=tree] svg.tree .card .body").evaluate_all(
            "all => all.map(each => { const b = each.getBBox(); return [b.x, b.y, b.x + b.width, b.y + b.height]; })"
        )
        for i, (left, top, right, bottom) in enumerate(boxes):
            for other in boxes[:i]:
                assert left >= other[2] or other[0] >= right or top >= other[3] or other[1] >= bottom


def test_a_tree_larger_than_its_box_shows_its_root_and_says_that_it_goes_on(opened, mixed):
    reader = opened(mixed.path, "#row=1021", viewport=PHONE)
    box = reader.part("tree")
    assert box.evaluate("box => box.scrollHeight > box.clientHeight && box.scrollTop === 0")
    assert reader.part("tree-more").is_visible()
    reader = opened(mixed.path)
    assert reader.part("tree").evaluate("box => box.scrollHeight <= box.clientHeight + 1")
    assert not reader.part("tree-more").is_visible()


def test_classes_differ_by_more_than_colour(opened, digits):
    reader = opened(digits.path)
    fills = (
        reader.part("classes")
        .locator("svg")
        .evaluate_all("all => all.map(one => one.querySelector('.hatch')?.getAttribute('fill') ?? 'none')")
    )
    assert len(set(fills)) == 10
    assert fills[0] == "none"
    for fill in fills[1:]:
        assert reader.page.locator(f"pattern{fill[4:-1]}").count() == 1


def test_small_leaves_are_said_to_be_small(opened, mixed):
    reader = opened(mixed.path, "#q=0")
    tree = levels_of(reader.data())[0]["tree"]
    leaves = [i for i, condition in enumerate(tree["condition"]) if condition < 0]
    small = {rows for rows in (tree["rows"][i] for i in leaves) if rows < 20}
    assert small
    for rule in reader.level()["rules"]:
        right, rows = re.search(r"\(([\d,]+) of ([\d,]+)\xa0row", rule).groups()
        assert int(right) <= int(rows.replace(",", ""))
        assert ("few rows" in rule) == (int(rows.replace(",", "")) < 20)


def test_the_table_is_sorted_by_its_headers(opened, cancer):
    reader = opened(cancer.path, "#q=0")
    conditions = reader.data()["conditions"]

    def counts():
        return [conditions[i]["count"] for i in reader.level()["kept"]]

    assert counts() == sorted(counts(), reverse=True)
    reader.part("sort-count").click()
    assert counts() == sorted(counts())
    reader.part("sort-condition").press("Enter")
    assert reader.part("sort-condition").evaluate("button => button === document.activeElement")
    assert reader.part("sort-condition").locator("..").get_attribute("aria-sort") == "ascending"
    assert reader.part("sort-count").locator("..").get_attribute("aria-sort") == "none"
    places = [(conditions[i]["column"], conditions[i]["threshold"]) for i in reader.level()["kept"]]
    assert places == sorted(places)


def test_the_map_is_read_by_mouse_and_by_keyboard(opened, mixed):
    reader = opened(mixed.path)
    data = reader.data()
    marks = reader.page.locator("[data-test=map] .mark")
    assert marks.count() == len(data["conditions"])
    assert {data["conditions"][int(i)]["kind"] for i in marks.evaluate_all("all => all.map(mark => mark.dataset.id)")} == {
        "cut",
        "set",
        "missing",
    }
    stop = reader.page.locator("[data-test=map] .mark[tabindex='0']")
    assert stop.count() == 1
    stop.focus()
    said = [reader.text("map-said")]
    for key in ("ArrowRight", "ArrowDown", "End"):
        reader.page.keyboard.press(key)
        said.append(reader.text("map-said"))
    assert len(set(said)) > 2
    for text in said:
        condition = next(c for c in data["conditions"] if text.startswith(f"{c['text']}: "))
        assert f"crossed by the changes of {condition['count']:,}\xa0row" in text
        kept = data["conditions"].index(condition) in first_level(data)["kept"]
        assert ("kept at" if kept else "left out at") in text


def test_a_mark_is_read_where_it_is_by_pointing_near_it(opened, mixed):
    reader = opened(mixed.path)
    mark = reader.page.locator("[data-test=map] .strip").first.locator(".mark").last
    mark.scroll_into_view_if_needed()
    box = mark.bounding_box()
    reader.page.mouse.move(box["x"] + box["width"] / 2 + 1, box["y"] - 6)
    tip = reader.page.locator(".map-tip")
    assert tip.text_content() == reader.text("map-said") == mark.get_attribute("aria-label")
    place = tip.bounding_box()
    assert abs(place["y"] - box["y"] - box["height"]) < 60
    assert place["x"] <= box["x"] <= place["x"] + place["width"]
    reader.set_level(0)
    assert tip.count() == 0


def test_columns_beyond_the_first_are_a_click_away(opened, digits):
    reader = opened(digits.path)
    columns = {condition["column"] for condition in reader.data()["conditions"]}
    assert len(columns) > 20
    lines = reader.page.locator(".map-line")
    assert lines.count() == 20
    reader.part("map-all").click()
    assert lines.count() == len(columns)
    assert reader.part("map-all").get_attribute("aria-expanded") == "true"


def test_one_level_needs_no_slider_and_ten_classes_have_a_legend(opened, digits):
    reader = opened(digits.path)
    assert reader.slider().is_disabled()
    assert reader.part("classes").locator("li").count() == 10
    check_only_level = reader.level()
    assert check_only_level["said"] == described(reader.data(), 0)


@pytest.mark.parametrize("name", ["cancer", "mixed", "digits", "hostile"])
def test_no_width_scrolls_the_page_sideways(opened, request, name):
    reader = opened(request.getfixturevalue(name).path, viewport=PHONE)
    reader.part("next").click()
    reader.page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true; })")
    for width in (360, 320, 600, 768, 1024):
        reader.page.set_viewport_size({"width": width, "height": 800})
        reader.page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        assert reader.overflow() <= 0, width


def test_a_tree_that_does_not_fit_is_laid_out_otherwise(opened, mixed):
    shapes, reader = {}, opened(mixed.path)
    for width in (1280, 900, 360):
        reader.page.set_viewport_size({"width": width, "height": 800})
        reader.until(f"document.querySelector('svg.tree').getBoundingClientRect().width < {width}")
        shapes[width] = reader.page.locator("[data-test=tree] svg.tree").get_attribute("class").split()[1]
        fits = reader.page.locator("[data-test=tree] svg.tree .card").evaluate_all(
            "cards => cards.map(card => { const box = card.querySelector('.body').getBBox();"
            " return [...card.querySelectorAll('text')].every(t => t.getBBox().width <= box.width); })"
        )
        assert all(fits)
    assert shapes[360] == "outline"
    assert shapes[1280] in ("top-down", "left-right")


def test_counts_and_shares_of_narrow_cards_do_not_overlap(opened, tmp_path):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(20_000, 4)).round(2), columns=["income", "debt", "duration", "payments"])
    y = np.where(rng.random(20_000) < 1 / (1 + np.exp(-0.8 * X.sum(axis=1))), "refused", "approved")
    tree = OptimalTreeClassifier(max_depth=4, max_leaf_nodes=8)
    classifier = FCCAClassifier(FCCADiscretizer(stumps(), Q=0.5), tree).fit(X, y)
    reader, shapes = opened(report.write(classifier, tmp_path / "large.html", Q=[0.5], n_thresholds=False)), set()
    for width in (1280, 1120, 1060, 1000, 980, 960, 940, 920, 600, 360):
        reader.page.set_viewport_size({"width": width, "height": 800})
        reader.page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        picture = reader.page.locator("[data-test=tree] svg.tree")
        shapes.add(picture.get_attribute("class").split()[1])
        gaps = picture.locator(".card").evaluate_all(
            "cards => cards.map(card => [...card.querySelectorAll('text:not(.name)')].map(t => t.getBBox()))"
            ".map(([count, share]) => share.x - count.x - count.width)"
        )
        assert min(gaps) > 2, width
    assert "left-right" in shapes


def test_the_window_may_change_its_width(opened, cancer):
    reader = opened(cancer.path)
    wide = reader.page.locator("[data-test=tree] svg.tree").bounding_box()["width"]
    reader.page.set_viewport_size(PHONE)
    reader.until("document.querySelector('svg.tree').getBoundingClientRect().width < 360")
    assert wide > 360
    assert reader.overflow() <= 0


def test_a_tree_that_is_not_proven_says_so(opened, cancer, tmp_path):
    file = report.write(cancer.classifier, tmp_path / "report.html", Q=[0], time_limit=0)
    reader = opened(file)
    certificates = [level["certificate"] for level in levels_of(reader.data())]
    assert {certificate["optimal"] for certificate in certificates} == {False, True}
    for index, certificate in enumerate(certificates):
        reader.set_level(index)
        badge = reader.part("certificate")
        assert badge.inner_text().removesuffix(", and no better than the most frequent class") == certificate["claim"]
        assert ("open" in badge.get_attribute("class")) != certificate["optimal"]
        assert certificate["detail"] in reader.page.locator("[data-live=certificate-detail]").text_content()
