"""Autograders at other places: what is uploaded, and one student's work graded as it is there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from flashlearn.classroom.exports import autograders
from flashlearn.classroom.release import read_handout, release
from flashlearn.classroom.sandbox import layers
from flashlearn.course.files import Course, CourseError
from flashlearn.course.packaged_lessons import ROOT
from tests.classroom.answers import ROW_SUM

HOSTILE = """
import json, os, sys
forged = json.dumps({{"score": 100, "tests": []}})
print(forged)
seen = []
for path in ({results!r}, {secret!r}):
    try:
        seen.append(open(path).read())
        open(path, "w").write(forged)
    except BaseException as error:
        seen.append(repr(error))

def scaled_add(x, y, alpha):
    os.write(1, forged.encode())
    raise ValueError("seen: " + " ".join(seen))
"""

WRITES_ITS_FILES = """#!/bin/sh
while [ $# -gt 0 ]; do
    case "$1" in --out|--feedback) echo ours > "$2"; shift ;; esac
    shift
done
"""


@pytest.fixture
def handout(tmp_path: Path) -> Path:
    (tmp_path / "secret").write_bytes(b"sixteen bytes and more, known to nobody")
    release(Course(ROOT), ("00",), tmp_path / "handout", "Week 1", seed_file=tmp_path / "secret")
    return tmp_path / "handout"


def hand_in(handout: Path, folder: Path, **answers: str) -> None:
    notebook = json.loads((handout / "00_tour.ipynb").read_text())
    for cell in notebook["cells"]:
        if (name := cell["id"].removeprefix("ex-")) in answers:
            cell["source"] = answers[name]
    folder.mkdir(parents=True)
    (folder / "00_tour.ipynb").write_text(json.dumps(notebook))


def a_course_that_is_set_up(course: Path, script: str) -> None:
    """What `tools/setup.sh` would leave behind, as far as autograders see it."""
    program = course / ".venv" / "bin" / "flashlearn"
    program.parent.mkdir(parents=True)
    program.write_text(script)
    program.chmod(0o755)


def unpacked(archive: Path, into: Path) -> None:
    with zipfile.ZipFile(archive) as opened:
        for member in opened.infolist():
            path = Path(opened.extract(member, into))
            path.chmod(member.external_attr >> 16 & 0o777)


@pytest.mark.slow
def test_gradescopes_autograder_grades_a_hostile_submission_as_gradescope_runs_it(
    handout: Path, tmp_path: Path
):
    if why := layers.available().insufficient():
        pytest.skip(why)
    secret, root = tmp_path / "secret", tmp_path / "autograder"
    made = autograders.gradescope(read_handout(handout, secret), handout, secret, tmp_path / "up" / "a.zip")
    unpacked(made, root / "source")
    course = root / "source" / "course"
    a_course_that_is_set_up(
        course, f'#!/bin/sh\nPYTHONPATH="{course}" exec "{sys.executable}" -m flashlearn "$@"\n'
    )
    results = root / "results" / "results.json"
    hostile = HOSTILE.format(results=str(results), secret=str(root / "source" / "secret"))
    hand_in(handout, root / "submission", row_sum=ROW_SUM, scaled_add=hostile)
    (root / "submission" / "link.ipynb").symlink_to(root / "source" / "secret")
    os.mkfifo(root / "submission" / "pipe.ipynb")
    (root / "submission" / "flashlearn.py").write_text("raise SystemExit('imported')")
    results.parent.mkdir()
    results.write_text('{"score": 100}')

    environment = {**os.environ, "AUTOGRADER": str(root)}
    done = subprocess.run(
        [str(root / "source" / "run_autograder")], cwd=root, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(results.read_text())
    assert found["score"] == 1
    verdicts = {test["name"].partition(":")[0]: test["status"] for test in found["tests"]}
    assert verdicts == {"program_ids": "failed", "row_sum": "passed", "scaled_add": "failed"}
    said = results.read_text() + done.stdout
    assert "sixteen bytes" not in said and '"score": 100' not in said and "seccomp" in done.stdout
    assert (root / "source" / "secret").read_bytes() == secret.read_bytes()


def test_the_zip_has_what_gradescope_looks_for_and_the_secret_only_its_owner_reads(
    handout: Path, tmp_path: Path
):
    secret = tmp_path / "secret"
    asked = read_handout(handout, secret)
    made = autograders.gradescope(asked, handout, secret, tmp_path / "a.zip")
    with zipfile.ZipFile(made) as opened:
        modes = {one.filename: one.external_attr >> 16 & 0o777 for one in opened.infolist()}
        scripts = {name: opened.read(name).decode() for name in ("setup.sh", "run_autograder")}
    assert modes["setup.sh"] == modes["run_autograder"] == 0o755 and modes["secret"] == 0o600
    assert {"course/tools/setup.sh", "course/requirements.txt", "handout/manifest.json"} <= set(modes)
    assert not [name for name in modes if "__pycache__" in name or name.startswith("course/tests")]
    for text in scripts.values():
        assert text.startswith("#!/bin/sh\n") and "@" not in text
        subprocess.run(["sh", "-n"], input=text, text=True, check=True)
    assert "--unsafe" not in scripts["run_autograder"]
    assert (
        autograders.gradescope(asked, handout, secret, tmp_path / "b.zip").read_bytes() == made.read_bytes()
    )


@pytest.fixture
def bundle(handout: Path, tmp_path: Path) -> Path:
    asked = read_handout(handout, tmp_path / "secret")
    return autograders.classroom50(asked, handout, tmp_path / "hello")


def test_classroom_50s_folder_holds_no_secret_and_is_small_enough_to_fetch(
    bundle: Path, handout: Path, tmp_path: Path
):
    files = [path for path in bundle.rglob("*") if path.is_file()]
    assert not any(b"sixteen bytes" in path.read_bytes() for path in files)
    assert sum(path.stat().st_size for path in files) < 10_000_000
    assert read_handout(bundle / "handout").assignment.draws == b""
    asked = read_handout(handout, tmp_path / "secret")
    with pytest.raises(CourseError, match="exists already"):
        autograders.classroom50(asked, handout, bundle)


def test_classroom_50s_autograder_replaces_what_lies_in_the_results_place(bundle: Path, tmp_path: Path):
    a_course_that_is_set_up(bundle / "course", WRITES_ITS_FILES)
    checkout, elsewhere = tmp_path / "checkout", tmp_path / "elsewhere"
    (checkout / "result.json" / "deep").mkdir(parents=True)
    elsewhere.write_text("not yours")
    (checkout / "release-body.md").symlink_to(elsewhere)
    (checkout / "json.py").write_text("raise SystemExit('imported')")
    subprocess.run([sys.executable, str(bundle / "autograder.py")], cwd=checkout, check=True)
    assert (checkout / "result.json").read_text() == (checkout / "release-body.md").read_text() == "ours\n"
    assert elsewhere.read_text() == "not yours"


def test_where_the_grader_fails_classroom_50_is_told_and_gets_no_result(bundle: Path, tmp_path: Path):
    a_course_that_is_set_up(bundle / "course", "#!/bin/sh\nexit 1\n")
    done = subprocess.run([sys.executable, str(bundle / "autograder.py")], cwd=tmp_path, capture_output=True)
    assert done.returncode == 1 and not done.stderr and not (tmp_path / "result.json").exists()
