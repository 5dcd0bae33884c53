"""A headless browser that reads a report: what it shows, and everything that it should not do."""

import json
import re
import shutil
import time
from pathlib import Path

DESKTOP = {"width": 1280, "height": 900}
PHONE = {"width": 360, "height": 800}
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


def executables(playwright):
    """Browsers to try: those of the system, then playwright's own."""
    found = [path for name in NAMES if (path := shutil.which(name))]
    own = playwright.chromium.executable_path
    return [*found, *([own] if Path(own).exists() else [])]


def said_path(rule):
    """The conditions of a rule, without commas between thousands."""
    return re.sub(r"(?<=\d),(?=\d{3})", "", rule.split(" → ")[0])


class Reader:
    """An open report. ``troubles`` holds every error, dialog and request for anything but the file itself."""

    def __init__(self, context, file, fragment=""):
        self.context, self.file = context, Path(file)
        self.troubles = []
        self.page = context.new_page()
        self.page.on("console", self._console)
        self.page.on("pageerror", lambda error: self.troubles.append(f"page error: {error}"))
        self.page.on("dialog", self._dialog)
        self.page.on("request", self._request)
        self.page.goto(self.address + fragment)
        self.wait()

    @property
    def address(self):
        return self.file.resolve().as_uri()

    def _console(self, message):
        if message.type in ("error", "warning"):
            self.troubles.append(f"console {message.type}: {message.text}")

    def _dialog(self, dialog):
        self.troubles.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _request(self, request):
        if request.url.split("#")[0] not in (self.address, "about:blank"):
            self.troubles.append(f"request: {request.url}")

    def wait(self):
        """Until the rows are there."""
        self.until("!document.querySelector('[data-test=row-message]').textContent.startsWith('Reading')")

    def until(self, expression, seconds=10):
        """Wait until it is true; playwright's own way needs ``eval``, which the page forbids."""
        end = time.monotonic() + seconds
        while not self.page.evaluate(expression):
            assert time.monotonic() < end, f"never true: {expression}"
            time.sleep(0.01)

    def part(self, name):
        return self.page.locator(f"[data-test={name}]")

    def text(self, name):
        return self.part(name).inner_text()

    def texts(self, name):
        return self.part(name).all_inner_texts()

    @property
    def fragment(self):
        return self.page.evaluate("location.hash")

    def level(self, key="q"):
        """What is drawn at the level that is shown, one entry per part of the page, and where a slider stands."""
        return self.page.evaluate(
            """(key) => {
              const all = (selector) => [...document.querySelectorAll(selector)];
              const slider = document.querySelector(`[data-test=slider-${key}]`);
              const cursor = document.querySelector("[data-test=cursor-accuracy]");
              return {
                said: document.querySelector("[data-test=said]").textContent,
                slider: key === "q" ? slider.max - slider.value : Number(slider.value),  // more thresholds are on the right
                spoken: slider.getAttribute("aria-valuetext"),
                nodes: all("[data-test=node] title").map((each) => each.textContent),
                rules: all("[data-test=rules] li").map((each) => each.textContent),
                cursor: Number(cursor.getAttribute("x1")),
                rates: ["accuracy", "fidelity", "compression", "inconsistency"].map(
                  (key) => document.querySelector(`[data-test=now-${key}]`).textContent),
                kept: all("[data-test=kept-row]").map((each) => Number(each.dataset.id)),
                solid: all("[data-test=map] .mark.kept").map((each) => Number(each.dataset.id)),
                agree: document.querySelector("[data-test=fidelity]").textContent,
                figures: all("[data-test=figures] tbody tr").map(
                  (line) => [...line.querySelectorAll("td")].map((each) => each.textContent)),
                confusion: all("[data-test=confusion] tbody tr").map(
                  (line) => [...line.querySelectorAll("td")].map((each) => each.textContent)),
                verdict: document.querySelector("[data-test=verdict]").hidden ? null
                  : document.querySelector("[data-test=verdict-text]").textContent,
                certificate: document.querySelector("[data-test=certificate]").textContent,
              };
            }""",
            key,
        )

    def slider(self, key="q"):
        return self.part(f"slider-{key}")

    def set_level(self, index, key="q"):
        """Move a slider by its events, as a hand would."""
        self.slider(key).evaluate(
            """(slider, [key, index]) => {
              slider.value = key === "q" ? slider.max - index : index;
              slider.dispatchEvent(new Event("input", {bubbles: true}));
            }""",
            [key, index],
        )

    def until_level(self, index):
        """Wait until the frequency slider is at a level."""
        self.until(f"(({{ max, value }}) => max - value === {index})(document.querySelector('[data-test=slider-q]'))")

    def look_up(self, number):
        """Type a row's number."""
        field = self.part("row")
        field.fill(str(number))
        field.press("Enter")

    def row(self):
        """What is said of the row that is looked up."""
        return self.page.evaluate(
            """() => {
              const one = (name) => document.querySelector(`[data-test=${name}]`)?.textContent ?? null;
              const all = (name) => [...document.querySelectorAll(`[data-test=${name}]`)];
              return {
                label: one("row-label"), black_box: one("row-black-box"), tree: one("row-tree"),
                sentence: one("row-sentence"), status: one("row-status"), other: one("row-other"),
                steps: all("row-step").map((each) => each.textContent),
                rule: document.querySelector("[data-test=rules] li.lit")?.textContent ?? null,
                crossed: Object.fromEntries(all("row-crossed").map((each) => [Number(each.dataset.id), each.className])),
                values: Object.fromEntries(all("row-value").map((each) => [each.children[0].textContent,
                  [each.children[1].textContent, each.children[1].title]])),
                lit: [...document.querySelectorAll("[data-test=node].lit")].map((each) => Number(each.dataset.node)),
              };
            }"""
        )

    def data(self):
        """The page's own data."""
        return json.loads(self.page.locator("#data").text_content())

    def overflow(self):
        """By how many pixels the page is wider than the window."""
        return self.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
