"""The files of the corpus: whole texts, texts with other texts' parts, and changes of other texts."""

from __future__ import annotations

import inspect
from collections import defaultdict
from pathlib import Path

import pytest

from flashlearn.lessons import all_exercises
from tests.corpus import answer_files, find_entry, right_entries, wrong_entries
from tests.corpus.__main__ import shown
from tests.corpus.answer_files import ANSWERS, header_and_body, replaced_lines, text_of

BASE = """# label: right
# title: sums
#   and products

def f(x):
    y = x + 1

    return y
"""
EDITED = """# label: wrong
# title: minus
# names: sign
# base: right_base

# --- replace
    y = x + 1
# --- with
    y = x
    y = y - 1

# --- replace
    return y
# --- with
    return -y
"""
KEYS = {"label", "title", "says", "names", "base", "uses", "launcher", "part"}
LONGEST = 40
"""A run of this many lines that two files have in common belongs in a file of its own."""


@pytest.fixture
def answers(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(answer_files, "ANSWERS", tmp_path)
    folder = tmp_path / "row_sum"
    folder.mkdir()
    (folder / "right_base.py").write_text(BASE)
    (folder / "wrong_minus.py").write_text(EDITED)
    (folder / "_given.py").write_text("# part: a text that answers include\n\nGIVEN = 1\n")
    (folder / "wrong_given.py").write_text("# label: wrong\n\n# INCLUDE: _given\n\nx = GIVEN\n")
    return folder


def test_a_header_s_value_may_run_over_several_lines(answers):
    assert header_and_body("row_sum/right_base")[0]["title"] == "sums and products"


def test_changes_are_applied_to_the_base_one_after_another(answers):
    expected = "def f(x):\n    y = x\n    y = y - 1\n\n    return -y\n"
    assert text_of("row_sum/wrong_minus") == expected


def test_an_included_text_stands_in_place_of_its_line(answers):
    assert text_of("row_sum/wrong_given") == "GIVEN = 1\n\nx = GIVEN\n"


def test_files_with_an_underscore_are_no_answers(answers):
    assert list(answer_files.answer_keys()) == [
        "row_sum/right_base",
        "row_sum/wrong_given",
        "row_sum/wrong_minus",
    ]


def test_nothing_in_place_of_a_line_deletes_it():
    assert replaced_lines("a\nb\nc\n", "b", "", "") == "a\nc\n"


@pytest.mark.parametrize("text", ["a\nb\na\n", "a b\n", "ba\n"])
def test_lines_that_are_not_there_exactly_once_are_refused(text):
    with pytest.raises(ValueError, match="times, not once"):
        replaced_lines(text, "a", "c", "row_sum/wrong_one")


def test_a_header_line_without_a_key_is_refused(answers):
    (answers / "wrong_bare.py").write_text("# label: wrong\nx = 1\n\n")
    with pytest.raises(ValueError, match="not `# key: value`"):
        header_and_body("row_sum/wrong_bare")


def test_every_file_is_an_answer_to_an_exercise_or_a_part_of_answers():
    exercises = all_exercises().keys() | {"shared"}
    for path in ANSWERS.glob("*/*.py"):
        header, _ = header_and_body(f"{path.parent.name}/{path.stem}")
        assert path.parent.name in exercises and header.keys() <= KEYS, path
        assert ("part" in header) == path.name.startswith("_"), path
        assert path.name.startswith((f"{header.get('label')}_", "_")), path


def test_every_answer_has_a_function():
    for entry in (*wrong_entries(), *right_entries()):
        assert callable(entry.function), entry


def test_a_function_s_source_is_the_answer_s_text():
    entry = find_entry("row_sum", "wrong_loop_starts_at_block")
    assert entry.function is entry.function
    assert inspect.getsource(entry.function) in entry.text


def test_an_answer_s_whole_text_can_be_shown_by_its_title_or_its_file():
    entry = next(e for e in wrong_entries() if "base" in header_and_body(e.key)[0])
    for name in (entry.title, entry.file):
        text = shown(f"{entry.exercise}/{name}")
        assert text.endswith(entry.text) and f"# title: {entry.title}\n" in text
    with pytest.raises(LookupError, match="no such title"):
        shown("row_sum/no such title")


def test_no_long_run_of_lines_is_in_two_files():
    places: dict[str, list[str]] = defaultdict(list)
    for path in sorted(ANSWERS.glob("*/*.py")):
        lines = path.read_text().splitlines()
        for start in range(len(lines) - LONGEST + 1):
            places["\n".join(lines[start : start + LONGEST])].append(f"{path}:{start + 1}")
    assert not [files for files in places.values() if len(files) > 1]
