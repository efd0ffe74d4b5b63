"""Autograders for other platforms: Gradescope's as a zip, Classroom 50's as a folder.

Gradescope: `setup.sh` and `run_autograder` at the root of a zip, which is unpacked to /autograder/source (its
autograder documentation, "Autograder Specifications"). Classroom 50: `autograder.py` and what lies beside it,
run in the student's checkout (its wiki, "Advanced Autograding"). Both set the course up with its own
`tools/setup.sh`, and call `flashlearn class grade-one`.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from pathlib import Path

from flashlearn.classroom.handout import MANIFEST, Handout
from flashlearn.course.files import CourseError, reason
from flashlearn.course.packaged_lessons import PACKAGE, ROOT

HERE = Path(__file__).parent / "scripts"
SET_UP = ("tools/setup.sh", "tools/torch_index.py")
REST = ("requirements.txt", "constraints.txt", "pyproject.toml", "README.md", "LICENSE")
SECRET = "secret"
OLD = (1980, 1, 1, 0, 0, 0)
"""The time of each member of a zip: the same contents make the same file."""


def gradescope(
    handout: Handout, given: Path, seed_file: Path | None, out: Path, unsafe: bool = False
) -> Path:
    """Write the autograder's zip for the handout in `given`. Raises CourseError.

    The zip contains the secret of the seed file: it is for Gradescope only.
    """
    run = _script("run_autograder", {"@SECRET@": _secret_options(seed_file), "@UNSAFE@": _unsafe(unsafe)})
    files = {"setup.sh": _script("setup.sh"), "run_autograder": run, **course_files(), **_handout(given)}
    if seed_file is not None:
        files[SECRET] = _read(seed_file)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
            for name, content in sorted(files.items()):
                member = zipfile.ZipInfo(name, OLD)
                mode = 0o600 if name == SECRET else 0o755 if _is_script(name) else 0o644
                member.external_attr = (0o100000 | mode) << 16
                made.writestr(member, content, zipfile.ZIP_DEFLATED)
    except OSError as error:
        raise CourseError(f"{out} cannot be written: {reason(error)}.") from error
    return out


def classroom50(handout: Handout, given: Path, out: Path, unsafe: bool = False) -> Path:
    """Write the assignment's autograder folder. Raises CourseError, also for a folder that is there already.

    It is published on the web for the runner to fetch, so it contains no secret: inputs are drawn from each
    submission's own text instead.
    """
    if out.exists():
        raise CourseError(f"{out} exists already: delete it, or choose another folder.")
    manifest = json.loads(_read(given / MANIFEST)) | {"secret_draws": False}
    script = _script("autograder.py", {"@UNSAFE@": _unsafe(unsafe)})
    files = {"autograder.py": script, **course_files(), **_handout(given)}
    files[f"handout/{MANIFEST}"] = (json.dumps(manifest, indent=2, ensure_ascii=False) + "\n").encode()
    try:
        for name, content in files.items():
            path = out / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            path.chmod(0o755 if _is_script(name) else 0o644)
    except OSError as error:
        raise CourseError(f"The autograder cannot be written to {out}: {reason(error)}.") from error
    return out


def course_files() -> dict[str, bytes]:
    """The course itself, without its tests. Raises CourseError if only the package is installed."""
    missing = [name for name in (*SET_UP, *REST) if not (ROOT / name).is_file()]
    if missing:
        raise CourseError(
            f"An autograder is set up as a clone of the course is, and {ROOT} has no {missing[0]}: run this "
            "command in a clone."
        )
    chosen = [*(ROOT / name for name in (*SET_UP, *REST)), *_package()]
    return {f"course/{path.relative_to(ROOT).as_posix()}": _read(path) for path in chosen}


def _package() -> Iterator[Path]:
    for path in sorted(PACKAGE.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            yield path


def _handout(given: Path) -> dict[str, bytes]:
    """The manifest and the notebooks, which grading needs."""
    names = [MANIFEST, *sorted(path.name for path in given.glob("*.ipynb"))]
    return {f"handout/{name}": _read(given / name) for name in names}


def _script(name: str, words: dict[str, str] | None = None) -> bytes:
    text = (HERE / name).read_text(encoding="utf-8")
    for placeholder, word in (words or {}).items():
        text = text.replace(placeholder, word)
    return text.encode()


def _is_script(name: str) -> bool:
    return name == "run_autograder" or name.endswith(".sh")


def _secret_options(seed_file: Path | None) -> str:
    return f'--seed-file "$root/source/{SECRET}"' if seed_file is not None else ""


def _unsafe(unsafe: bool) -> str:
    return "--unsafe" if unsafe else ""


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise CourseError(f"{path} cannot be read: {reason(error)}.") from error
