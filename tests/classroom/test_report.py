"""The teacher's report: what the class got, which mistakes it made, and which answers are alike."""

from __future__ import annotations

from pathlib import Path

from flashlearn.classroom.gradebook import Gradebook
from flashlearn.classroom.pages.report import render, summary
from flashlearn.classroom.similarity import alike
from tests.classroom.small_class import hand_in
from tests.classroom.test_class_run import run

BAD = "<script>alert(1)</script>"


def test_the_report_counts_verdicts_mistakes_and_points(tmp_path: Path):
    hand_in(tmp_path / "in", "Ann", one="pass", two="pass")
    hand_in(tmp_path / "in", BAD.replace("/", "%"), one="pass", two="wrong")
    hand_in(tmp_path / "in", "Cem", one="wrong", two="wrong")
    run(tmp_path)
    with Gradebook.read(tmp_path / "book.sqlite") as book:
        found = summary(book)
    assert [row.counts for row in found.rows] == [
        (("pass", 2), ("wrong", 1)),
        (("pass", 1), ("wrong", 2)),
        (("missing", 3),),
    ]
    assert [(made.exercise, len(made.students)) for made in found.mistakes] == [("two", 2), ("one", 1)]
    assert sum(bar.count for bar in found.bars) == 3 and found.out_of == 6
    assert [s.stuck for s in found.students if s.name == "Cem"] == [("one", "two")]
    page = render(found)
    assert "<script" not in page and "default-src 'none'" in page
    assert "adds <code>x</code> twice." in page and "2 passed, 1 not right yet" in page


LONG = """
def row_sum(x):
    rows, columns = x.shape
    partial = torch.empty(rows, 7, dtype=torch.float32)
    for piece in range(7):
        strange = {0: piece * 3, 1: [columns // (piece + 2)]}
        partial[:, piece] = x[:, strange[1][0] : strange[0]].sum(1) ** 2 if piece % 3 else 0.25
    return partial.mean(dim=1) * 7 - len(strange)
"""
OTHERS = [
    f"def row_sum(x):\n    s = torch.empty(len(x))\n    kernel_{i}[(1,)](x, s, {i})\n    return s[{i} + 1]"
    for i in range(20)
]


def test_a_copy_with_other_names_and_comments_is_found_and_what_all_have_is_not():
    copied = LONG.replace("partial", "acc").replace("piece", "k").replace("rows,", "M,  # copied\n    ")
    copied = copied.replace("# copied\n    ", "").replace("empty(rows", "empty(M")
    texts = [("Ann", LONG), ("Bob", copied), *((f"s{i}", text) for i, text in enumerate(OTHERS))]
    (pair,) = alike({"row_sum": texts})
    assert (pair.one, pair.other) == ("Ann", "Bob") and pair.share > 0.8


def test_short_answers_and_torn_ones_make_no_pair():
    short = [(f"s{i}", "def one(x):\n    return x") for i in range(5)]
    assert (
        alike({"one": short, "two": [("Ann", "def two(x:\n  'open"), ("Bob", "def two(x:\n  'open")]}) == []
    )


def test_no_table_makes_the_page_wider_than_a_phone(tmp_path: Path):
    hand_in(tmp_path / "in", "Ann", one="pass", two="wrong")
    run(tmp_path)
    with Gradebook.read(tmp_path / "book.sqlite") as book:
        page = render(summary(book))
    framed = page.count('<div class="wide"><table>') + page.count('<div class="scroll"><table>')
    assert page.count("<table>") == framed > 0 and "@media (max-width: 640px)" in page
