"""Handing out: everything a student needs, and nothing of the teacher's secret."""

import json
from pathlib import Path

import pytest

from flashlearn.classroom.handout import MANIFEST
from flashlearn.classroom.release import read_handout, release
from flashlearn.course.files import Course, CourseError
from flashlearn.course.packaged_lessons import ROOT

COURSE = Course(ROOT)
SECRET = b"a secret of the teacher's, long enough"


@pytest.fixture
def seed(tmp_path: Path) -> Path:
    path = tmp_path / "seed"
    path.write_bytes(SECRET)
    return path


def test_a_handout_is_notebooks_a_manifest_and_a_page(tmp_path: Path):
    made = release(COURSE, ("00", "02_softmax"), tmp_path / "out", "Week 1", "share")
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {"00_tour.ipynb", "02_softmax.ipynb", "manifest.json", "README.md"}
    assert (tmp_path / "out" / "00_tour.ipynb").read_bytes() == (
        COURSE.notebooks / "00_tour.ipynb"
    ).read_bytes()
    page = (tmp_path / "out" / "README.md").read_text()
    assert "| `row_sum` | One number per row | [00_tour.ipynb](00_tour.ipynb) | 1 |" in page
    assert "8 exercises in 2 notebooks, 10 points in all." in page
    assert read_handout(tmp_path / "out") == made


def test_points_and_rules_are_the_manifests(tmp_path: Path):
    made = release(COURSE, ("00",), tmp_path / "out")
    path = tmp_path / "out" / MANIFEST
    manifest = json.loads(path.read_text())
    manifest["exercises"][1] |= {"points": 7, "rule": "share"}
    path.write_text(json.dumps(manifest))
    changed = read_handout(tmp_path / "out").assignment
    assert (changed.exercises[1].points, changed.exercises[1].rule) == (7, "share")
    assert changed.key != made.assignment.key
    manifest["exercises"][1]["rule"] = "half"
    path.write_text(json.dumps(manifest))
    with pytest.raises(CourseError, match='should be "all" or "share"'):
        read_handout(tmp_path / "out")


def test_nothing_of_the_seed_file_is_in_the_handout(tmp_path: Path, seed: Path):
    made = release(COURSE, ("00",), tmp_path / "out", seed_file=seed)
    release(COURSE, ("00",), tmp_path / "plain")
    for path in (tmp_path / "out").iterdir():
        content = path.read_bytes()
        for piece in (SECRET, made.assignment.draws, made.assignment.draws.hex().encode()):
            assert piece not in content
        plain = (tmp_path / "plain" / path.name).read_bytes()
        assert content.replace(b'"secret_draws": true', b'"secret_draws": false') == plain


def test_a_handout_with_a_seed_file_is_graded_with_it_and_no_other_one(tmp_path: Path, seed: Path):
    release(COURSE, ("00",), tmp_path / "out", seed_file=seed)
    with pytest.raises(CourseError, match="--seed-file"):
        read_handout(tmp_path / "out")
    one = read_handout(tmp_path / "out", seed).assignment
    seed.write_bytes(SECRET[::-1])
    other = read_handout(tmp_path / "out", seed).assignment
    assert one.draws and one.draws != other.draws and one.key != other.key
    assert one.draws.hex() not in repr(one)


def test_what_cannot_be_handed_out_is_a_sentence(tmp_path: Path, seed: Path):
    seed.write_bytes(b"42")
    with pytest.raises(CourseError, match="can be guessed"):
        release(COURSE, ("00",), tmp_path / "out", seed_file=seed)
    with pytest.raises(CourseError, match="no lesson called '77'"):
        release(COURSE, ("77",), tmp_path / "out")
    release(COURSE, ("00",), tmp_path / "out")
    with pytest.raises(CourseError, match="holds a handout already"):
        release(COURSE, ("00",), tmp_path / "out")
    with pytest.raises(CourseError, match="There is no handout"):
        read_handout(tmp_path)
    (tmp_path / MANIFEST).write_text("[]")
    with pytest.raises(CourseError, match="not the manifest"):
        read_handout(tmp_path)


def test_a_manifest_of_another_version_and_points_with_a_fraction_are_sentences(tmp_path: Path):
    handed_out = tmp_path / "out"
    release(COURSE, ("00",), handed_out)
    path = handed_out / MANIFEST
    record = json.loads(path.read_text())
    for change, words in (({"manifest": 2}, "its version is 2"), ({}, "should be a whole number")):
        record["exercises"][0]["points"] = 1.5
        path.write_text(json.dumps(record | change))
        with pytest.raises(CourseError, match=words):
            read_handout(handed_out)
    record["exercises"][0]["points"] = 2.0
    path.write_text(json.dumps(record))
    assert read_handout(handed_out).assignment.exercises[0].points == 2
