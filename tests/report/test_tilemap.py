"""The tile map, `report.show` and `report.dump`: per head, with boundaries, with true numbers."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
import torch

from flashlearn.exercise import Case, Exercise, HowJudged, Kind
from flashlearn.outcome import Outcome, OutputCheck, Status
from flashlearn.report import Report, tooltips
from flashlearn.report.causal_mask import CausalMask
from flashlearn.report.character_map import characters
from flashlearn.report.layout import PIXELS, WIDTH, layout
from flashlearn.report.selection import NoSuchPart
from flashlearn.report.tilemap import tile_map
from flashlearn.report.units import aligned

ALLOWED = 1e-3
HEADS = {"B": 2, "H": 3, "S_q": 20, "S_k": 12, "D": 8}


def reference() -> None:
    """Never called."""


def exercise(outputs: tuple[str, ...] = ("o",), causal: bool = False) -> Exercise:
    """An exercise that is in no lesson."""
    return Exercise(
        name="flash_forward",
        lesson="99",
        kind=Kind.KERNEL,
        title="",
        signature="(q, k, v) -> o",
        outputs=outputs,
        inputs=lambda case, generator: {},
        cases=(),
        judged=HowJudged(
            reference=reference,
            causal=causal,
        ),
    )


def judged(name: str, got: torch.Tensor, expected: torch.Tensor, writers=None) -> OutputCheck:
    error = (got.double() - expected.double()).abs().max().item()
    ok = error <= ALLOWED
    return OutputCheck(name, ok, error, ALLOWED, got=got, expected=expected.double(), writers=writers)


def report_on(*checks: OutputCheck, sizes=HEADS, causal: bool = False, name: str = "heads") -> Report:
    status = Status.PASS if all(check.ok for check in checks) else Status.WRONG
    outcome = Outcome(Case(name, sizes), status, "", outputs=checks)
    return Report(exercise(tuple(check.name for check in checks), causal), (outcome,))


def wrong_in(*places: tuple, shape=(2, 3, 20, 8), name: str = "o", **more) -> Report:
    """A report on zeros with an error of 0.5 in each place."""
    expected, got = torch.zeros(shape), torch.zeros(shape)
    for place in places:
        got[place] = 0.5
    return report_on(judged(name, got, expected), **more)


def blocks_of_16(shape=(2, 3, 20, 8)) -> torch.Tensor:
    """Which program wrote each element: one per 16 rows of a head."""
    head = torch.arange(shape[0] * shape[1]).reshape(shape[0], shape[1], 1, 1)
    return (2 * head + torch.arange(shape[2])[:, None] // 16).expand(shape).contiguous()


def test_wrong_heads_are_shown_worst_first_and_the_others_are_counted():
    expected, got = torch.zeros(2, 3, 20, 8), torch.zeros(2, 3, 20, 8)
    for number, error in enumerate((0.1, 0.2, 0.3, 0.4, 0.5)):
        got[divmod(number, 3)] = error
    tiles = report_on(judged("o", got, expected)).tiles
    assert [p.title for p in tiles.panels] == [
        "batch 1, head 1", "batch 1, head 0", "batch 0, head 2", "batch 0, head 1"
    ]  # fmt: skip
    assert tiles.rest == "4 of 6 heads are shown, worst first; 1 more has wrong elements and 1 is right."


def test_a_single_head_has_no_name_and_needs_no_count():
    tiles = wrong_in((0, 0, 3), shape=(1, 1, 20, 8), sizes=HEADS | {"B": 1, "H": 1}).tiles
    assert [p.title for p in tiles.panels] == [""]
    assert tiles.rest == ""


def test_a_number_per_query_is_mapped_with_a_row_per_head():
    tiles = wrong_in((1, 2, 7), shape=(2, 3, 20), name="lse").tiles
    (panel,) = tiles.panels
    assert panel.ratio.shape == (6, 20)
    assert panel.index(5, 7) == [1, 2, 7]
    assert tiles.axes == ("batch and head", "S_q")


@pytest.mark.parametrize("shape", [(2, 3, 20, 8), (2, 3, 20), (20, 8), (20,), (5, 20, 8)])
def test_every_panel_knows_where_its_elements_lie_in_the_output(shape):
    got = torch.rand(shape) + 1
    tiles = report_on(judged("o", got, torch.zeros(shape))).tiles
    for panel in tiles.panels:
        row, column = (size - 1 for size in panel.got.shape)
        assert panel.got[row, column] == got[tuple(panel.index(row, column))]


class Titles(HTMLParser):
    """Boxes and titles that lie over the picture."""

    def __init__(self):
        super().__init__()
        self.found: list[tuple[str, str]] = []

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        if tag == "span" and "position:absolute" in given.get("style", ""):
            self.found.append((given["style"], given["title"]))


def test_the_card_shows_the_numbers_under_the_mouse_without_a_script():
    html = wrong_in((1, 2, slice(10, 20)))._repr_html_()
    reader = Titles()
    reader.feed(html)
    assert any("got 0.5, expected 0\nerror 0.5, 500 × allowed 0.001" in title for _, title in reader.found)
    assert all(title.startswith("o[1, 2, ") for _, title in reader.found)
    assert "<script" not in html and "onmouse" not in html


def test_the_boxes_under_the_mouse_cover_each_panel_once_and_stay_in_the_picture():
    tiles = wrong_in((1, 2, slice(10, 20)), (0, 0, slice(3, 7), slice(2, 5))).tiles
    plan = layout(tiles)
    canvas = np.zeros((round(PIXELS * plan.height), round(PIXELS * WIDTH)), int)
    for area in tooltips.areas(tiles):
        left, top, width, height = area.box
        assert left >= 0 and top >= 0
        assert left + width <= canvas.shape[1] and top + height <= canvas.shape[0]
        canvas[top : top + height, left : left + width] += 1
    assert canvas.max() == 1
    for box in plan.boxes:
        x, y = (round(PIXELS * at) for at in (box.left + box.width / 2, box.top + box.height / 2))
        assert canvas[y - 5 : y + 5, x - 5 : x + 5].min() == 1


def test_a_tooltip_shows_the_worst_element_of_its_range():
    expected, got = torch.zeros(64, 64), torch.full((64, 64), 0.01)
    got[37, 41] = 7.0
    tiles = report_on(judged("p", got, expected), sizes={"M": 64, "N": 64}).tiles
    titles = [area.title for area in tooltips.areas(tiles)]
    (one,) = [title for title in titles if "got 7, expected 0" in title]
    spans = re.match(r"p\[(\d+)–(\d+), (\d+)–(\d+)\], worst at \[37, 41\]", one)
    top, bottom, left, right = map(int, spans.groups())
    assert top <= 37 <= bottom and left <= 41 <= right


@pytest.mark.parametrize("shape", [(2, 3, 512, 128), (1024, 1024), (7, 5)])
def test_a_card_stays_small_however_large_the_output(shape):
    torch.manual_seed(0)
    got = torch.rand(shape) * torch.logspace(-4, 3, shape[-1])
    assert len(report_on(judged("o", got, torch.zeros(shape)))._repr_html_().encode()) < 60_000


def test_the_same_report_gives_the_same_card_each_time():
    cards = {wrong_in((1, 2, slice(10, 20)))._repr_html_() for _ in range(2)}
    assert len(cards) == 1


def test_queries_that_see_no_key_are_marked_in_a_causal_map_and_only_there():
    tiles = wrong_in((0, 0, 15), causal=True).tiles
    assert tiles.causal.marked == 8
    assert tiles.causal.note == "Causal with S_q > S_k: queries 0 to 7 see no key."
    lines = characters(tiles)
    assert [line for line in lines if re.match(r" +[0-7]┊", line)]
    assert "┊ queries that see no key" in lines[-1]
    assert wrong_in((0, 0, 15)).tiles.causal is None
    assert wrong_in((0, 0, 5), shape=(2, 3, 12, 8), name="dk", causal=True).tiles.causal.marked == 0


def test_what_is_said_of_a_causal_row_is_true_of_every_query_and_key():
    for S_q, S_k in ((5, 5), (7, 4), (4, 7)):
        sees = torch.ones(S_q, S_k, dtype=torch.bool).tril(S_k - S_q)
        assert CausalMask(S_q, S_k, "queries").blind == int((~sees.any(1)).sum())
        for start, stop in ((i, j) for j in range(1, S_q + 1) for i in range(j)):
            said = CausalMask(S_q, S_k, "queries").words(start, stop)
            last = int(sees[start:stop].any(0).nonzero().max()) if sees[start:stop].any() else -1
            want = "no key" if last < 0 else f"no key after {last}" if last < S_k - 1 else ""
            assert said.endswith(want) and bool(said) == bool(want)
        for start, stop in ((i, j) for j in range(1, S_k + 1) for i in range(j)):
            said = CausalMask(S_q, S_k, "keys").words(start, stop)
            first = int(sees[:, start:stop].any(1).nonzero().min())
            assert (f"queries before {first} " in said) if first else said == ""


def test_elements_that_the_mask_hides_are_blank_and_wrong_ones_among_them_are_not():
    expected, got = torch.zeros(4, 6), torch.zeros(4, 6)
    got[0, 5] = 0.5  # query 0 sees keys 0 to 2
    sizes = {"S_q": 4, "S_k": 6}
    lines = characters(report_on(judged("p", got, expected), sizes=sizes, causal=True).tiles)
    assert [line.split("┃")[1] for line in lines[1:5]] == ["···  ▓", "····", "·····", "······"]


def test_the_text_map_sets_heads_side_by_side_within_the_width():
    shown = str(wrong_in(*((b, h, b + h) for b in range(2) for h in range(3))).show())
    (heads,) = [line for line in shown.splitlines() if "batch 0, head 0" in line]
    assert heads.count("head") == 4
    assert max(map(len, shown.splitlines())) <= 100


def test_show_takes_any_output_of_any_case_and_says_that_a_right_one_is_right():
    report = report_on(
        judged("dk", torch.zeros(6, 4), torch.zeros(6, 4)),
        judged("dv", torch.ones(6, 4), torch.zeros(6, 4)), sizes={},
    )  # fmt: skip
    assert "dv, case heads. 24 of 24 elements are wrong" in " ".join(str(report.show()).split())
    right = report.show("dk", case=0)
    assert "All elements are within what is allowed" in str(right)
    assert "fl-tone-pass" in right._repr_html_()
    assert repr(right) == str(right)


def test_show_of_a_report_that_passed_works():
    report = report_on(judged("o", torch.full((4, 4), 5e-4), torch.zeros(4, 4)), sizes={})
    assert report.passed and report.tiles is None
    assert "the largest error is 0.5 of it, at [0, 0] (got 5.000e-4, expected 0)" in " ".join(
        str(report.show()).split()
    )


@pytest.mark.parametrize(
    ("ask", "answer"),
    [
        (lambda r: r.show("dz"), "There is no output called 'dz': flash_forward returns o."),
        (lambda r: r.show(case="head"), "no case called 'head': did you mean 'heads'?"),
        (lambda r: r.show(case=3), "There is no case 3: this report has 1, counted from 0."),
        (lambda r: r.dump(tile=(5, 0)), "this head of o has 2 × 1 tiles of 16 × 8 elements"),
        (lambda r: r.dump(tile=3), "tile=(0, 0) to tile=(1, 0)"),
        (lambda r: r.dump(head=6), "There is no head 6: o has 6 heads, (0, 0) to (1, 2), or 0 to 5."),
        (lambda r: r.dump(head=(0, 3)), "There is no head (0, 3)"),
        (lambda r: r.dump(block=0.5), "block is 0.5: expected a number of elements"),
    ],
)
def test_what_there_is_not_is_answered_with_what_there_is(ask, answer):
    with pytest.raises(NoSuchPart, match=re.escape(answer)):
        ask(wrong_in((1, 2, 3)))


def test_an_output_without_values_says_why_it_has_none():
    check = OutputCheck("o", False, problem="o has shape (2,), expected (3,)", got=torch.ones(2))
    with pytest.raises(NoSuchPart, match=r"element by element: o has shape \(2,\), expected \(3,\)\."):
        report_on(check).show()
    stopped = Report(exercise(), (Outcome(Case("c"), Status.CRASHED, "It stopped."),))
    with pytest.raises(NoSuchPart, match=r"the check ended \(verdict: crashed\) before there was a result"):
        stopped.dump()


def test_dump_shows_the_programs_own_tile_with_the_right_numbers():
    torch.manual_seed(1)
    expected = torch.randn(2, 3, 20, 8)
    got = expected.clone()
    got[1, 2, 17, 3] += 0.25
    report = report_on(judged("o", got, expected, blocks_of_16()))
    dumped = report.dump(tile=(1, 0), head=(1, 2))
    assert dumped.title == "o, case heads, batch 1, head 2, tile (1, 0)"
    assert "S_q 16 to 19, D 0 to 7, stored by program 11; one of 2 tiles of this head." in dumped.sentences
    rows = {row.label: row for chunk in dumped.chunks for row in chunk.rows if "3" in chunk.columns}
    (chunk,) = [chunk for chunk in dumped.chunks if "3" in chunk.columns]
    at = chunk.columns.index("3")
    assert rows["17"].got[at] == f"{got[1, 2, 17, 3]:.3f}✗"
    assert rows["17"].expected[at] == f"{expected[1, 2, 17, 3]:.3f}"
    assert float(rows["17"].difference[at].rstrip("✗")) == pytest.approx(0.25, abs=1e-3)
    assert sum(cell.endswith("✗") for c in dumped.chunks for row in c.rows for cell in row.got) == 1


def test_dump_without_a_tile_goes_to_the_largest_error():
    report = wrong_in((1, 0, 18, 5))
    assert report.dump().title == "o, case heads, batch 1, head 0, tile (1, 0)"
    assert report.dump(block=4).title.endswith("tile (4, 1)")


def test_dump_says_what_it_leaves_out_and_lists_the_worst_of_it():
    expected, got = torch.zeros(64, 64), torch.full((64, 64), 0.01)
    got[0, 0] = 3.0
    dumped = report_on(judged("p", got, expected), sizes={}).dump(block=64)
    assert (
        "Shown are 16 of its 64 rows and 8 of its 64 columns, around its largest error." in dumped.sentences
    )
    assert dumped.worst[0] == "p[0, 0]: got 3, expected 0, 3000 times what is allowed"
    assert len(dumped.worst) == 5


def test_dump_distinguishes_nan_and_never_written():
    expected, got = torch.zeros(8), torch.zeros(8)
    got[2], got[5] = float("nan"), float("nan")
    writers = torch.zeros(8, dtype=torch.long)
    writers[5] = -1
    said = str(report_on(judged("x", got, expected, writers), sizes={}).dump())
    assert re.search(r"^ +2 +NaN✗ +0 +NaN✗$", said, re.M)
    assert re.search(r"^ +5 +NaN\? +0 +NaN\?$", said, re.M)
    assert "? never written" in said


def test_a_dump_fits_a_terminal_and_marks_more_than_by_colour():
    torch.manual_seed(0)
    expected = torch.randn(2, 3, 20, 8)
    dumped = report_on(judged("o", expected + 0.1, expected)).dump()
    assert max(map(len, str(dumped).splitlines())) <= 100
    html = dumped._repr_html_()
    assert html.count('fl-off">') == html.count("✗</td>") > 100


def test_the_head_of_a_number_per_query_can_be_asked_for():
    report = wrong_in((1, 2, 7), shape=(2, 3, 20), name="lse")
    assert report.dump().title == "lse, case heads, batch 1, head 2, tile 0"
    assert "All of its 16 elements" in " ".join(report.dump(head=0).sentences)


def test_numbers_of_a_tile_share_a_scale_and_a_telling_difference_is_not_rounded_away():
    values = np.array([[1.5, -0.00004], [float("nan"), float("inf")]])
    assert aligned(values).tolist() == [["1.500", "0.000"], ["NaN", "∞"]]
    assert aligned(values, values < 0).tolist()[0] == ["1.500", "-4.0e-5"]
    assert aligned(np.array([2e-9, 0.0])).tolist() == ["2.00e-9", "0"]


def test_noise_that_no_single_element_shows_is_not_called_right():
    check = OutputCheck(
        "o", False, 5e-4, ALLOWED, 1.8, got=torch.full((4, 4), 5e-4), expected=torch.zeros(4, 4)
    )
    said = " ".join(str(report_on(check, sizes={}).show()).split())
    assert "root mean square error is 1.8 times" in said
    assert "within what is allowed" not in said


@pytest.mark.parametrize(("added", "said"), [(False, True), (True, False)])
def test_an_output_that_programs_add_to_has_no_owner(added, said):
    """Of several programs that add to an element, `writers` has only the last."""
    expected, got = torch.zeros(2, 3, 20, 8), torch.zeros(2, 3, 20, 8)
    got[1, 1, 17] = 0.5
    check = judged("o", got, expected, blocks_of_16())
    one = exercise()
    one = replace(one, judged=replace(one.judged, atomics=added))
    assert ("programs stored them" in tile_map(one, Case("heads", HEADS), check).summary) is said


def test_what_is_expected_to_be_infinite_is_not_said_to_be_infinite():
    expected, got = torch.zeros(2, 3, 20, 8), torch.zeros(2, 3, 20, 8)
    expected[0, 0, 3] = -torch.inf
    summary = tile_map(exercise(), Case("heads", HEADS), judged("o", got, expected)).summary
    assert summary.startswith("8 of 960 elements are wrong") and "NaN or infinite" not in summary


def test_the_legend_of_a_number_where_none_is_right_does_not_call_it_infinite():
    expected, got = torch.zeros(2, 3, 20, 8), torch.zeros(2, 3, 20, 8)
    expected[0, 0, 3] = -torch.inf
    zeros = tile_map(exercise(), Case("heads", HEADS), judged("o", got, expected))
    assert "NaN or infinite, or should be" in characters(zeros)[-1]
    nothing = tile_map(exercise(), Case("heads", HEADS), judged("o", got + torch.nan, expected))
    assert characters(nothing)[-1].strip() == "N NaN or infinite"
