"""The page is safe, accessible and fast: names stay text, nothing is loaded, foreign scripts do not run."""

import pytest

from .browser import PHONE, Reader
from .conftest import HOSTILE_CATEGORIES, HOSTILE_CLASSES, HOSTILE_COLUMNS, HOSTILE_TITLE, SCRIPT
from .fitted import first_level, levels_of


def axe(reader):
    from real_data import imported

    found = imported("axe_playwright_python.sync_playwright").Axe().run(reader.page).response["violations"]
    return [(each["id"], [node["target"] for node in each["nodes"]][:3]) for each in found]


def elements(page):
    return page.evaluate("[...new Set([...document.querySelectorAll('*')].map(e => e.localName))].sort()")


def test_hostile_names_are_shown_as_text_and_nothing_runs(opened, hostile, cancer):
    reader = opened(hostile.path)
    page = reader.page
    assert page.title() == HOSTILE_TITLE
    assert reader.text("title") == HOSTILE_TITLE
    assert reader.texts("facts")[0].splitlines()[:2] == [SCRIPT, SCRIPT]
    assert reader.text("notes") == SCRIPT
    reader.set_level(0)
    seen = page.locator("main").text_content()
    for name in (*HOSTILE_COLUMNS, *HOSTILE_CLASSES):
        assert name in seen
    texts = [condition["text"] for condition in reader.data()["conditions"]]
    for category in HOSTILE_CATEGORIES[:2]:
        assert any(category.replace('"', '\\"') in text for text in texts)
    for _ in range(5):
        reader.part("random").click()
        assert reader.row()["label"] in HOSTILE_CLASSES
    assert page.evaluate("window.broken") is None
    assert set(elements(page)) <= set(elements(opened(cancer.path, "#row=1").page)) | {"ul", "li"}
    assert page.locator("img, iframe, object, embed, base, [onerror], [onload], [onclick], [style*='url']").count() == 0


def test_the_policy_keeps_injected_scripts_and_handlers_from_running(opened, cancer):
    reader = opened(cancer.path)
    policy = reader.page.locator("meta[http-equiv='Content-Security-Policy']").get_attribute("content")
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    reader.page.evaluate(
        """() => {
          const script = document.createElement("script");
          script.textContent = "window.broken = 1";
          document.body.append(script);
          const button = document.createElement("button");
          button.setAttribute("onclick", "window.broken = 2");
          document.body.append(button);
          button.click();
          const picture = new Image();
          picture.src = "https://example.invalid/x.png";
          document.body.append(picture);
        }"""
    )
    reader.page.wait_for_timeout(100)
    assert reader.page.evaluate("window.broken") is None
    assert len(reader.troubles) >= 3
    assert all("Content Security Policy" in trouble for trouble in reader.troubles if not trouble.startswith("request"))
    reader.troubles.clear()


@pytest.mark.parametrize(
    "options", [{}, {"color_scheme": "dark"}, {"viewport": PHONE}, {"viewport": PHONE, "color_scheme": "dark"}]
)
def test_axe_finds_nothing(opened, mixed, options):
    reader = opened(mixed.path, "#row=1021", **options)
    assert reader.row()["label"]
    assert axe(reader) == []


@pytest.mark.parametrize("name", ["hostile", "digits"])
def test_axe_finds_nothing_in_unusual_pages(opened, request, name):
    reader = opened(request.getfixturevalue(name).path)
    reader.part("next").click()
    reader.page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true; })")
    assert axe(reader) == []


def test_everything_is_reached_by_the_tab_key_and_shows_that_it_is(opened, mixed):
    reader = opened(mixed.path, "#row=1021")
    reached, unseen = [], []
    for _ in range(120):
        reader.page.keyboard.press("Tab")
        name, outline = reader.page.evaluate(
            """() => {
              const now = document.activeElement, style = getComputedStyle(now);
              const name = now.dataset.test || now.className.baseVal || now.className || now.localName;
              return [name, style.outlineStyle !== "none" || parseFloat(style.strokeWidth) > 2];
            }"""
        )
        if name == "body":
            break
        reached.append(name)
        unseen += [] if outline else [name]
    wanted = [
        "skip",
        "tree",
        "row",
        "previous",
        "next",
        "random",
        "clear",
        "change-values",
        "filter",
        "what-if-typical",
        "what-if-row",
        "way-q",
        "slider-q",
        "slider-k",
        "sort-condition",
        "sort-count",
    ]
    assert [name for name in reached if name in wanted] == wanted
    assert any(name.startswith("mark") for name in reached)
    assert reached.count("disagreement-row") == 10
    assert "what-if-value" in reached
    assert unseen == []


def test_changes_are_announced(opened, cancer):
    reader = opened(cancer.path)
    for name in ("said", "row-message", "map-said", "what-if-said"):
        assert reader.part(name).get_attribute("aria-live") == "polite"
    assert reader.page.locator("main").count() == reader.page.locator("h1").count() == 1


def test_paper_has_no_controls_and_nothing_cut(opened, mixed):
    reader = opened(mixed.path, "#row=1021", color_scheme="dark")
    before = reader.page.locator("details[open]").count()
    reader.page.emulate_media(media="print")
    reader.until("document.querySelectorAll('details:not([open])').length === 0")
    for name in ("control", "look-up", "map-said"):
        assert not reader.part(name).is_visible()
    for name in ("tree", "rules", "rates", "kept", "row-answer"):
        assert reader.part(name).is_visible()
    cut = "all => all.filter(e => e.scrollWidth > e.clientWidth + 1 || e.scrollHeight > e.clientHeight + 1).length"
    assert reader.page.locator(".scroller").evaluate_all(cut) == 0
    assert reader.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    kept = first_level(reader.data())["kept"]
    assert reader.part("kept-row").count() == len(kept)
    assert reader.page.pdf(format="A4").startswith(b"%PDF")
    reader.page.emulate_media(media="screen")
    reader.until("document.querySelectorAll('details:not([open])').length > 0")
    assert reader.page.locator("details[open]").count() == before


def test_without_scripts_the_current_level_is_there(chromium, mixed):
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(mixed.path.as_uri())
    rules = page.locator("[data-test=rules] li").all_inner_texts()
    data = Reader.data(type("Static", (), {"page": page})())
    level = first_level(data)
    assert len(rules) == len(mixed.classifier.rules())
    assert page.locator("[data-test=kept] tbody tr").count() == len(level["kept"])
    assert page.locator("[data-test=rates] tbody tr").count() == len(levels_of(data))
    assert not page.locator("[data-test=control]").is_visible()
    assert not page.locator("[data-test=look-up]").is_visible()
    assert page.locator("[data-test=certificate]").inner_text() == level["certificate"]["claim"]
    context.close()


def test_five_thousand_rows_are_small_and_painted_within_a_second(opened, large, capsys):
    assert large.path.stat().st_size < 1_000_000
    reader = opened(large.path)
    assert "5,000 of the 5,200 training rows" in reader.text("notes")
    paints = []
    for _ in range(3):
        reader.page.reload()
        reader.wait()
        script = "performance.getEntriesByType('paint').find(each => each.name === 'first-contentful-paint')?.startTime"
        reader.until(script)
        paints.append(reader.page.evaluate(script))
    with capsys.disabled():
        print(f"\nfirst contentful paint of 5,000 rows: {', '.join(f'{t:.0f}' for t in sorted(paints))} ms")
    assert min(paints) < 1000
    reader.look_up(reader.page.evaluate("fcca.readRows().then(rows => rows.number[4999])"))
    assert reader.row()["label"] in ("good", "bad")
