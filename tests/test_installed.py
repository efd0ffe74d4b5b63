"""`pip install .` and an empty folder are enough for a course: the wheel, a fresh environment, no clone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from flashlearn.lessons import lessons

ROOT = Path(__file__).parents[1]
PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600), pytest.mark.xdist_group("installed")]


def call(*command: str | Path, cwd: Path = ROOT) -> str:
    """What a command prints; it sees neither the clone nor the settings that tests run under."""
    hidden = ("PYTHONPATH", "FLASHLEARN_COURSE", "FLASHLEARN_HOME", "FLASHLEARN_STRICT")
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    environment["COLUMNS"] = "200"
    done = subprocess.run([*map(str, command)], cwd=cwd, env=environment, capture_output=True, text=True)
    assert done.returncode in (0, 1), f"{command} ended with {done.returncode}:\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this clone, built once."""
    folder = tmp_path_factory.mktemp("wheel")
    call(*PIP, "wheel", "--no-deps", "--no-build-isolation", "--no-index", "-w", folder, ROOT)
    return next(folder.glob("flashlearn-*.whl"))


@pytest.fixture(scope="module")
def programs(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bin/ of a new environment with the wheel, and with the packages of the running one; made once."""
    venv = tmp_path_factory.mktemp("installed") / "environment"
    call(sys.executable, "-m", "venv", "--without-pip", venv)
    python = venv / "bin" / "python"
    call(*PIP, "--python", python, "install", "--no-deps", "--no-index", "--no-compile", wheel)
    own = Path(call(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())
    # these come after the environment's own, and their .pth files (an editable flashlearn) are not read
    others = dict.fromkeys(sysconfig.get_path(kind) for kind in ("purelib", "platlib"))
    (own / "packages-of-the-tests.pth").write_text("\n".join(others) + "\n")
    where = call(python, "-P", "-c", "import flashlearn; print(flashlearn.__file__)", cwd=venv)
    assert Path(where.strip()).is_relative_to(own)
    return venv / "bin"


def test_the_wheel_holds_lessons_data_templates_and_settings_and_no_tests(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    for kind in ("data/persuasion.txt", ".css", ".j2", ".js", "labconfig/default_setting_overrides.json"):
        assert any(name.endswith(kind) for name in names), kind
    assert sum("/lesson_" in name and name.endswith("/notebook.py") for name in names) == len(lessons())
    about = wheel.name.split("-py3")[0] + ".dist-info"
    assert {name.split("/")[0] for name in names} == {"flashlearn", about}


def test_the_three_lines_for_hosted_notebooks_set_the_course_up(wheel, programs, tmp_path):
    page = (ROOT / "docs" / "hosted.md").read_text()
    installing, *commands = page.split("```")[1].strip().splitlines()
    assert installing == f"%pip install {wheel.name}"
    folder = tmp_path / "host"
    folder.mkdir()
    for line in commands:
        assert line.startswith("!flashlearn ")
        shown = call(programs / "flashlearn", *line.split()[1:], cwd=folder)
    exercises = len(lessons()["00"])
    assert f"{exercises} of {exercises} exercises passed." in shown, shown


def test_an_installed_package_and_an_empty_folder_are_a_course(programs, tmp_path):
    """One story rather than a test for each sentence: every command imports torch again."""
    command, python = programs / "flashlearn", programs / "python"
    folder = tmp_path / "mine"
    folder.mkdir()
    tour = [exercise.name for exercise in lessons()["00"]]

    shown = call(command, "status", cwd=folder)
    assert f"0 of {len(tour)}" in shown and f"Next: {tour[0]} in {folder}/work/00_tour.ipynb" in shown
    assert not list(folder.iterdir()), "so far nothing was asked to be written"

    code = "from flashlearn.cli import lab; lab.prepare(lab.Course.here())"  # all of `lab` but the server
    said = call(python, "-P", "-c", code, cwd=folder)
    assert f"{len(lessons())} lessons copied to {folder}/work." in said
    assert f"Solutions to read afterwards, not run yet, are in {folder}/work/solutions." in said
    given = {path.name: path.read_bytes() for path in (ROOT / "notebooks").glob("*.ipynb")}
    assert {path.name: path.read_bytes() for path in (folder / "work").glob("*.ipynb")} == given

    (told,) = json.loads(call(command, "check", "work/00_tour.ipynb", "--json", cwd=folder))["notebooks"]
    assert told["problems"] == []
    statuses = {entry["exercise"]: entry["status"] for entry in told["exercises"]}
    assert statuses == dict.fromkeys(tour, "TODO")
    assert (folder / ".flashlearn" / "progress.sqlite").exists()

    call(command, "hint", tour[0], "--step", "3", cwd=folder / "work")
    assert "`work/solutions/00_tour.ipynb`" in call(command, "hint", tour[0], cwd=folder / "work")
    in_a_cell = "import flashlearn; print(flashlearn.status())"
    shown = call(python, "-P", "-c", in_a_cell, cwd=folder / "work" / "solutions")
    assert "3 hints" in shown and f"Next: {tour[0]} in {folder}/work/00_tour.ipynb" in shown
    assert "in its original state" in call(command, "reset", "00", cwd=folder)
    assert len(list((folder / "work" / "old").iterdir())) == 1
