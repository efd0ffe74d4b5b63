"""The progress file: what it remembers, and that it never stands in the way of a check."""

import json
import os
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest

from flashlearn.course import progress as module
from flashlearn.course.progress import Progress, append_verdict, home
from flashlearn.outcome import Status


@pytest.fixture
def progress(tmp_path, monkeypatch):
    monkeypatch.setenv("FLASHLEARN_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(module, "_reported", set())
    return Progress()


def test_home_is_the_environments_folder_or_lies_beside_the_course(tmp_path, monkeypatch):
    monkeypatch.setenv("FLASHLEARN_HOME", str(tmp_path / "elsewhere"))
    assert home() == tmp_path / "elsewhere"
    monkeypatch.delenv("FLASHLEARN_HOME")
    monkeypatch.setenv("FLASHLEARN_COURSE", str(tmp_path))
    assert home() == tmp_path / ".flashlearn"


def test_attempts_are_counted_and_the_first_pass_is_kept(progress):
    before = datetime.now(UTC).replace(microsecond=0)
    progress.attempt("row_sum", Status.WRONG, 0.5)
    progress.attempt("row_sum", Status.PASS, 0.5)
    first = progress.passed()["row_sum"]
    progress.attempt("row_sum", Status.PASS, 0.5)
    assert progress.attempts() == {"row_sum": 3}
    assert progress.passed() == {"row_sum": first}
    assert before <= first <= datetime.now(UTC)


def test_a_stub_left_as_it_is_counts_as_no_attempt(progress):
    progress.attempt("row_sum", Status.TODO, 0.1)
    assert progress.attempts() == {}


def test_a_wrong_answer_after_a_pass_does_not_take_the_pass_away(progress):
    progress.attempt("row_sum", Status.PASS, 0.5)
    progress.attempt("row_sum", Status.WRONG, 0.5)
    assert "row_sum" in progress.passed()


def test_the_highest_hint_counts_and_a_repeated_one_does_not(progress):
    assert progress.hints("row_sum") == 0
    for step in (1, 2, 2, 1):
        assert progress.hint_taken("row_sum", step)
    assert progress.hints("row_sum") == 2
    assert progress.all_hints() == {"row_sum": 2}


def test_asking_a_file_that_does_not_exist_yet_creates_nothing(progress):
    assert (progress.passed(), progress.attempts(), progress.hints("row_sum")) == ({}, {}, 0)
    assert not progress.path.exists()


def test_threads_that_write_at_once_lose_nothing(progress, capsys):
    with ThreadPoolExecutor(8) as pool:
        written = list(pool.map(lambda _: Progress().attempt("row_sum", Status.WRONG, 0.1), range(64)))
    assert all(written)
    assert progress.attempts() == {"row_sum": 64}
    assert capsys.readouterr().err == ""


WRITER = """
from flashlearn.outcome import Status
from flashlearn.course.progress import Progress
import sys
input()  # both processes begin when they are told to
for _ in range(50):
    assert Progress().attempt(sys.argv[1], Status.WRONG, 0.1)
    assert sys.argv[1] in Progress().attempts()
"""


def test_two_processes_that_write_at_once_lose_nothing(progress):
    command = [sys.executable, "-c", WRITER]
    names = ["first", "second"]
    writers = [subprocess.Popen([*command, name], stdin=subprocess.PIPE, text=True) for name in names]
    for writer in writers:
        writer.stdin.write("\n")
        writer.stdin.flush()
    assert [writer.wait(60) for writer in writers] == [0, 0]
    assert progress.attempts() == {"first": 50, "second": 50}


def test_a_reader_is_not_locked_out_while_another_connection_reads(progress):
    progress.attempt("row_sum", Status.PASS, 0.1)
    other = sqlite3.connect(progress.path)
    try:
        cursor = other.execute("SELECT * FROM attempts")
        cursor.fetchone()  # a read that stays open
        assert "row_sum" in progress.passed()
    finally:
        other.close()


def test_a_locked_file_gives_one_sentence_and_the_check_goes_on(progress, monkeypatch, capsys):
    progress.attempt("row_sum", Status.PASS, 0.1)
    monkeypatch.setattr(module, "BUSY_SECONDS", 0.01)
    other = sqlite3.connect(progress.path, isolation_level=None)
    try:
        other.execute("BEGIN EXCLUSIVE")
        assert not progress.attempt("row_sum", Status.WRONG, 0.1)
    finally:
        other.close()
    said = capsys.readouterr().err
    assert "locked" in said and said.count("\n") == 1
    assert progress.attempts() == {"row_sum": 1}


@pytest.mark.parametrize("damage", ["text", "torn", "foreign"])
@pytest.mark.parametrize("by", ["reading", "writing"])
def test_a_damaged_file_is_set_aside_with_one_sentence_and_a_fresh_one_begins(progress, damage, by, capsys):
    progress.attempt("row_sum", Status.PASS, 0.1)
    if damage == "text":
        progress.path.write_text("this was never a database, though it is long enough to look like one " * 40)
    elif damage == "torn":
        whole = progress.path.read_bytes()
        progress.path.write_bytes(whole[:4096] + os.urandom(4096))
    else:
        progress.path.unlink()
        with sqlite3.connect(progress.path) as other:
            other.execute("CREATE TABLE attempts (something TEXT)")
            other.execute("CREATE TABLE hints (something TEXT)")
        other.close()
    before = progress.path.read_bytes()

    if by == "reading":
        assert progress.passed() == {}
        assert progress.attempts() == {}
    assert progress.attempt("scaled_add", Status.PASS, 0.1)

    said = capsys.readouterr().err
    assert "damaged" in said and said.count("\n") == 1 and "Traceback" not in said
    (kept,) = progress.path.parent.glob("progress.damaged-*.sqlite")
    assert kept.read_bytes() == before
    assert list(progress.passed()) == ["scaled_add"]


def test_a_damaged_file_that_another_process_has_replaced_already_is_left_alone(progress, capsys):
    progress.path.parent.mkdir()
    progress.path.write_text("not a database " * 100)
    seen = module._identity(progress.path)
    os.replace(progress.path, progress.path.with_name("progress.damaged-before.sqlite"))
    progress.attempt("row_sum", Status.PASS, 0.1)  # the other process
    module._set_aside(progress.path, seen)
    assert list(progress.passed()) == ["row_sum"]
    assert capsys.readouterr().err == ""


def test_a_home_that_cannot_be_written_gives_one_sentence_however_often_it_is_met(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(module, "_reported", set())
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("FLASHLEARN_HOME", str(tmp_path / "file" / "home"))
    progress = Progress()
    assert not progress.attempt("row_sum", Status.PASS, 0.1)
    assert not progress.hint_taken("row_sum", 1)
    assert progress.passed() == {}
    said = capsys.readouterr().err
    assert "not a directory" in said and said.count("\n") == 1


def test_a_read_only_file_gives_one_sentence_and_can_still_be_read(progress, monkeypatch, capsys):
    progress.attempt("row_sum", Status.PASS, 0.1)
    monkeypatch.setattr(
        module,
        "_connect",
        lambda path: sqlite3.connect(f"file:{path}?mode=ro", uri=True, isolation_level=None),
    )
    assert not progress.attempt("row_sum", Status.WRONG, 0.1)
    assert "read-only" in capsys.readouterr().err
    assert "row_sum" in progress.passed()


def test_a_full_disk_gives_one_sentence_and_leaves_the_file_whole(progress, monkeypatch, capsys):
    progress.attempt("row_sum", Status.PASS, 0.1)
    connect = module._connect

    def full(path):
        connection = connect(path)
        connection.execute("PRAGMA max_page_count = 1")
        return connection

    with monkeypatch.context() as patch:
        patch.setattr(module, "_connect", full)
        assert not all(progress.attempt("x" * 4000, Status.WRONG, 0.1) for _ in range(4))
    assert "the disk is full" in capsys.readouterr().err
    assert "row_sum" in progress.passed()
    assert not list(progress.path.parent.glob("*damaged*"))


def test_a_verdict_is_one_line_of_json_and_statuses_go_by_name(tmp_path, monkeypatch):
    path = tmp_path / "verdicts.jsonl"
    monkeypatch.setenv("FLASHLEARN_VERDICTS", str(path))
    append_verdict({"exercise": "row_sum", "status": Status.OUT_OF_BOUNDS, "sentence": "line\nbreak"})
    append_verdict({"exercise": "scaled_add", "status": "PASS"})
    first, second = map(json.loads, path.read_text().splitlines())
    assert (first["status"], second["exercise"]) == ("OUT_OF_BOUNDS", "scaled_add")


def test_without_a_file_to_write_to_a_verdict_goes_nowhere(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(module, "_reported", set())
    monkeypatch.delenv("FLASHLEARN_VERDICTS", raising=False)
    append_verdict({"exercise": "row_sum"})
    monkeypatch.setenv("FLASHLEARN_VERDICTS", str(tmp_path / "no" / "folder"))
    append_verdict({"exercise": "row_sum"})
    assert capsys.readouterr().err.count("\n") == 1
