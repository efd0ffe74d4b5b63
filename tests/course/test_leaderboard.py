"""The capstone's leaderboard: entries are kept by device, best first, and only right answers get in."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

from flashlearn.cli import app
from flashlearn.course import answers, leaderboard
from flashlearn.course.files import CourseError
from flashlearn.course.leaderboard import Entry, Leaderboard, Row, by_device, enter
from flashlearn.course.pages.leaderboard_page import render
from flashlearn.kernels.capstone_attention import capstone
from flashlearn.machine import device


def entry(name: str, ratio: float, day: int = 0, device: str = "a GPU") -> Entry:
    time = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=day)
    rows = (Row("short", 1.0, 0.8 * ratio), Row("long", 2.0, 2.5 * ratio))
    return Entry(time, device, name, ratio, 7, "2.13.0", "3.7.1", rows)


@pytest.fixture
def board(tmp_path, monkeypatch) -> Leaderboard:
    monkeypatch.setenv("FLASHLEARN_HOME", str(tmp_path))
    return Leaderboard()


def test_entries_come_back_as_they_were_the_best_ones_first(board):
    slow, fast = entry("slow", 0.5), entry("fast", 0.9, day=1)
    board.add(slow)
    board.add(fast)
    assert board.entries() == [fast, slow]
    assert fast.rows[1].ratio == pytest.approx(1.125)


def test_devices_are_kept_apart(board):
    for each in (entry("mine", 0.5), entry("theirs", 0.7, device="another GPU")):
        board.add(each)
    assert [e.name for e in board.entries("a GPU")] == ["mine"]
    assert set(by_device(board.entries())) == {"a GPU", "another GPU"}


def test_a_file_that_is_no_leaderboard_is_one_sentence(board):
    board.path.write_text("not a database, and long enough to be read as one" * 50)
    with pytest.raises(CourseError, match="could not be read"):
        board.entries()


@pytest.mark.skipif(device.has_gpu(), reason="on a GPU it is timed and entered")
def test_without_a_gpu_a_right_answer_is_checked_and_not_entered(board, monkeypatch):
    monkeypatch.setitem(answers.passed, "capstone", capstone)
    monkeypatch.setattr(leaderboard, "HIDDEN", 1)
    result = enter(capstone)
    assert result.entry is None and repr(result).startswith("Right in all cases (1)")
    assert "no GPU" in repr(result) and board.entries() == []


def test_a_wrong_answer_is_not_entered(board, monkeypatch):
    monkeypatch.setitem(answers.passed, "capstone", wrong)
    monkeypatch.setattr(leaderboard, "HIDDEN", 1)
    result = enter(wrong)
    assert repr(result).startswith("Not entered") and board.entries() == []


def wrong(*inputs):
    o, *others = capstone(*inputs)
    return (o.clone().zero_(), *others)


def test_the_page_has_a_picture_and_a_table_for_each_device_and_needs_nothing_else():
    entries = [entry("first", 0.4), entry("second & best", 0.9, 1), entry("third", 0.7, 2, "another <GPU>")]
    page = render(entries)
    pictures = re.findall(r"<svg.*?</svg>", page, re.DOTALL)
    assert len(pictures) == 2
    for picture in pictures:
        ElementTree.fromstring(picture)
    assert "second &amp; best" in page and "another &lt;GPU&gt;" in page
    assert not re.search(r"(src|href)=", page) and "<script" not in page
    assert "There are no entries yet" in render([])


def test_the_command_shows_a_table_prints_json_and_writes_the_page(board, tmp_path):
    assert "no entries yet" in CliRunner().invoke(app, ["leaderboard"]).output
    board.add(entry("mine", 0.75))
    shown = CliRunner().invoke(app, ["leaderboard", "--page", str(tmp_path / "page.html")])
    assert shown.exit_code == 0 and "mine" in shown.output and "0.75" in shown.output
    assert "mine" in (tmp_path / "page.html").read_text()
    (only,) = json.loads(CliRunner().invoke(app, ["leaderboard", "--json"]).stdout)
    assert only["name"] == "mine" and only["rows"][0]["ratio"] == pytest.approx(0.6)
