"""Formulas solved in the page, in Chromium: wrong answers, right ones, what stays, and what goes wrong."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.corpus.entries import Entry, right_entries, wrong_entries
from tests.site.pages import opened
from tests.site.test_accessibility import ALL, ARTEFACTS, AXE, problems
from tools.site import lesson_pages, python_in_page

pytestmark = [pytest.mark.browser, pytest.mark.timeout(240)]

ROOT = Path(__file__).parents[2]
PAGE = "lessons/02_softmax.html"
WRONG = "def softmax_vjp(p, dp):\n    return sp.hadamard_product(p, dp)\n"
RIGHT = "def softmax_vjp(p, dp):\n    return p.multiply_elementwise(dp - sp.ones(p.rows, 1) * p.dot(dp))\n"
ENDLESS = "print('begun')\nsum(iter(int, 1))\n"  # in C alone: only an end of the worker ends it
OTHER_PACKAGES = re.compile(r"\b(np|numpy|torch)\.|^(from|import) ", re.MULTILINE)
DEFINED = re.compile(r"^def (\w+)", re.MULTILINE)
SECONDS = 120_000
"""Milliseconds in which Python has to be ready, on a machine that does other things, too."""


@pytest.fixture(scope="module", autouse=True)
def built_with_python(site: Path) -> None:
    if not (site / "_static" / python_in_page.FOLDER / "worker.js").is_file():
        pytest.skip("the site was built without npm: nothing can be solved in its pages (make sitetests)")


@pytest.fixture(scope="module")
def started(browser: Any, address: str) -> Iterator[tuple[Any, Any]]:
    """A page and its place for an answer, in which Python has started: that takes longest.

    The first start fails, as something cannot be loaded; a check starts it again.
    """
    with opened(browser, address, PAGE) as page:
        page.evaluate(KEEP_WORKER)
        page.route("**/in-page/flashlearn.zip*", lambda route: route.fulfill(status=404, body=""))
        place = place_of(page)
        place.get_by_text("could not be loaded:").wait_for(timeout=SECONDS)
        page.unroute_all()
        check(place)
        assert "Not started" in place.inner_text() and not place.locator(".highlight").is_visible()
        yield page, place


def place_of(page: Any, name: str = "softmax_vjp") -> Any:
    """Where an exercise is solved, with its editor open."""
    place = page.locator(f".solve[data-exercise={name}]")
    place.locator(".solve-main").click()
    place.locator(".cm-content").wait_for()
    return place


def write(page: Any, place: Any, text: str) -> None:
    place.locator(".cm-content").click()
    page.keyboard.press("ControlOrMeta+A")
    page.keyboard.insert_text(text)


def check(place: Any) -> None:
    place.get_by_role("button", name="Check").click()
    place.get_by_role("button", name="Check").wait_for(timeout=SECONDS)


def test_every_formula_of_the_first_lessons_can_be_solved_in_its_page(site: Path):
    found = {
        name
        for lesson in lesson_pages.read(ROOT)
        for name in re.findall(
            r'class="solve" data-exercise="(\w+)"', (site / f"lessons/{lesson.stem}.html").read_text("utf-8")
        )
    }
    assert found == python_in_page.exercises() and len(found) == 12


def test_a_wrong_answer_is_named_and_the_right_one_passes(started: tuple[Any, Any]):
    page, place = started
    write(page, place, WRONG)
    check(place)
    report = place.locator(".solve-report")
    assert "The competition, −p pᵀ, is missing." in report.inner_text()
    assert not report.locator(".fl-hint").is_visible()
    hints = page.locator(".hints[data-exercise=softmax_vjp] > details")
    place.get_by_role("button", name="Hint").click()
    assert [hint.get_attribute("open") is not None for hint in hints.all()] == [True, False, False]
    write(page, place, RIGHT)
    page.keyboard.press("Control+Enter")
    report.get_by_text("All 5 cases pass.").wait_for(timeout=SECONDS)


def test_tab_indents_and_what_python_says_of_a_slip_is_shown(started: tuple[Any, Any]):
    page, place = started
    write(page, place, "print(6 * 7)\nfor i in range(3):")
    page.keyboard.press("Enter")
    page.keyboard.insert_text("pass")
    assert "\n    pass" in place.locator(".cm-content").inner_text()
    check(place)
    assert place.locator(".solve-printed").inner_text().strip() == "42"
    assert "no function called softmax_vjp" in place.locator(".solve-problem").inner_text()
    write(page, place, "def softmax_vjp(p, dp:\n")
    check(place)
    assert "SyntaxError" in place.locator(".solve-problem").inner_text()


@pytest.mark.parametrize(
    "missing",
    [
        {"python/pyodide.asm.wasm": "pyodide.asm.wasm: 404", "worker.js": "its script could not be read"},
        {"exercise-": "could not be loaded:"},
    ],
    ids=["Python", "editor"],
)
def test_what_cannot_be_loaded_is_said(browser: Any, address: str, missing: dict[str, str]):
    with opened(browser, address, PAGE) as page:
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        place = page.locator(".solve[data-exercise=softmax_vjp]")
        place.scroll_into_view_if_needed()
        assert place.locator(".highlight pre").is_visible()
        assert not any("/python/" in url for url in asked)
        for number, (file, reason) in enumerate(missing.items()):
            page.unroute_all()
            page.route(f"**/in-page/{file}*", lambda route: route.fulfill(status=404, body=""))
            if number == 0:
                place.locator(".solve-main").click()
            else:
                place.get_by_role("button", name="Check").click()
            place.get_by_text(reason).wait_for(timeout=SECONDS)


KEEP_WORKER = """() => { window.Worker = class extends Worker {
  constructor(...given) { super(...given); window.pageWorker = this; } }; }"""
CHECK_ALL = """async answers => {
  const found = [];
  for (const [name, text] of answers) {
    const answer = new Promise((resolve, reject) => pageWorker.addEventListener("message", ({data}) =>
      data.kind === "checked" ? resolve(data) : data.kind === "failed" && reject(new Error(data.text))));
    pageWorker.postMessage({kind: "check", name, text});
    found.push(await answer);
  }
  return found;
}"""


def under_its_name(entry: Entry) -> str:
    """The answer's text, with the function under the name of the exercise."""
    return f"{entry.text}\n{entry.exercise} = {DEFINED.findall(entry.text)[-1]}\n"


def test_every_exercise_is_judged_in_the_page_as_elsewhere(started: tuple[Any, Any]):
    kinds = itertools.cycle([right_entries(), wrong_entries()])  # by turns: each takes a second or two
    entries = [
        next(e for e in kind if e.exercise == name and not OTHER_PACKAGES.search(e.text))
        for name, kind in zip(sorted(python_in_page.exercises()), kinds, strict=False)
    ]
    page, _ = started
    found = page.evaluate(CHECK_ALL, [[entry.exercise, under_its_name(entry)] for entry in entries])
    for entry, one in zip(entries, found, strict=True):
        assert one["passed"] is not bool(entry.names) and not one["problem"], entry.key


@pytest.mark.skipif(not AXE.is_file(), reason="needs axe-core (make sitetests takes it from npm)")
def test_an_open_editor_fits_and_is_accessible(started: tuple[Any, Any]):
    page, place = started
    write(page, place, WRONG)
    check(place)
    for width, theme in itertools.product((400, 1400), ("light", "dark")):
        page.emulate_media(color_scheme=theme)
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        place.evaluate("place => place.scrollIntoView()")
        if ALL:
            ARTEFACTS.mkdir(exist_ok=True)
            page.screenshot(path=ARTEFACTS / f"site-solved-{width}-{theme}.png")
    for theme, rules in (("light", ()), ("dark", ("color-contrast",))):
        page.emulate_media(color_scheme=theme)
        found = problems(page, ".solve[data-exercise=softmax_vjp]", rules)
        assert not found, "\n".join([theme, *found])


def test_a_right_answer_stays_and_can_be_taken_back(started: tuple[Any, Any]):
    page, place = started
    write(page, place, RIGHT)
    check(place)
    later = page.context.new_page()  # not the same one anew: Python goes on there
    later.goto(page.url)
    place = later.locator(".solve[data-exercise=softmax_vjp]")
    assert "Passed" in place.locator(".solve-note").inner_text()
    assert place.locator(".solve-main").inner_text() == "Go on with your answer"
    place_of(later)
    assert "p.dot(dp)" in place.locator(".cm-content").inner_text()
    place.get_by_role("button", name="Reset").click()
    assert "TODO softmax_vjp" in place.locator(".cm-content").inner_text()
    later.close()


def test_an_endless_loop_is_ended_and_python_starts_anew(started: tuple[Any, Any]):
    page, place = started
    write(page, place, ENDLESS)
    place.get_by_role("button", name="Check").click()
    place.get_by_role("button", name="Stop").click()
    place.get_by_text("The check was stopped. Python starts anew").wait_for()
    write(page, place, RIGHT)
    check(place)
    assert "All 5 cases pass." in place.inner_text()
    place.evaluate("place => place.dataset.limit = 2")
    write(page, place, ENDLESS)
    check(place)
    assert "stopped after 2 seconds: is there a loop without an end?" in place.inner_text()
