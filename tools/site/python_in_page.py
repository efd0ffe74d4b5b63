"""What a page needs to check formulas by itself: Pyodide, the packages that run in it, and an editor.

All of it is written to one folder of the site, and no other host is asked: Pyodide and the editor come from
the npm registry when the site is built (`in_page/package.json`), the Python packages from the environment
that builds it.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import zipfile
from collections.abc import Iterator
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

from flashlearn.exercise import Kind
from flashlearn.lessons import all_exercises

HERE = Path(__file__).parent / "in_page"
FOLDER = "in-page"
"""The folder of the site, below _static."""

PACKAGES = ("sympy", "mpmath", "rich", "jinja2", "markupsafe")
"""What a check of a formula imports, besides the standard library. All of it is Python alone, or can be."""

LICENCES = "LICENCES.txt"
"""The file with the licences of all that is not ours."""

_PYODIDE = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json")
_BUNDLED = ("@codemirror/", "@lezer/", "@marijn/", "crelt", "pyodide", "style-mod", "w3c-keyname")
_LEFT_OUT = {
    *("__pycache__", "tests", "benchmarks"),
    *("classroom", "bench", "cli", "kernels", "tracing"),  # of flashlearn
    # of sympy
    *("physics", "stats", "crypto", "diffgeom", "holonomic", "liealgebras", "categories", "vector"),
    *("autolev", "latex", "codegen"),
}
"""Folders that no check of a formula imports."""

_OTHER_LESSON = re.compile(r"/lesson_(?!0[1-4])\d\d_")


def exercises() -> frozenset[str]:
    """The names of the exercises that can be solved in the page: the formulas of lessons 01 to 04."""
    return frozenset(
        exercise.name
        for exercise in all_exercises().values()
        if exercise.kind is Kind.SYMBOLIC and exercise.lesson in ("01", "02", "03", "04")
    )


def size(folder: Path) -> str:
    """What a browser loads of the folder, in words."""
    return f"{sum(path.stat().st_size for path in folder.rglob('*') if path.is_file()) / 1e6:.0f} MB"


def is_available(modules: Path) -> bool:
    """Whether npm has installed what is needed, in the folder `modules`."""
    return all((modules / name).is_dir() for name in ("pyodide", "esbuild", "@codemirror"))


def write(modules: Path, target: Path, cache: Path) -> None:
    """Write the folder `target`. Archives that were made before, of the same files, are kept in `cache`."""
    (target / "python").mkdir(parents=True)
    for name in _PYODIDE:
        # not every web server knows .mjs as a script
        text = (modules / "pyodide" / name).read_bytes()
        if name.endswith(".mjs"):
            text = text.replace(b"pyodide.asm.mjs", b"pyodide.asm.js").partition(b"\n//# sourceMappingURL")[0]
        (target / "python" / name.replace(".mjs", ".js")).write_bytes(text)
    ours = Path(__file__).parents[2] / "flashlearn"
    libraries = [Path(str(found.origin)).parent for name in PACKAGES if (found := find_spec(name))]
    own = {"in_page.py": (HERE / "in_page.py").read_bytes(), **dict(_files(ours))}
    other = dict(file for folder in libraries for file in _files(folder))
    for name, files in (("flashlearn.zip", own), ("libraries.zip", other)):
        shutil.copyfile(_compiled(files, modules, cache), target / name)
    shutil.copyfile(HERE / "worker.js", target / "worker.js")
    (target / LICENCES).write_text("\n\n".join(_licences(modules)), encoding="utf-8")
    _bundle(modules, target)


def _files(package: Path) -> Iterator[tuple[str, bytes]]:
    """The files of a package that are read, under the names that they have beside it."""
    for path in sorted(package.rglob("*")):
        inside = path.relative_to(package.parent)
        used = not _LEFT_OUT & set(inside.parts) and not _OTHER_LESSON.search(inside.as_posix())
        if used and path.suffix in (".py", ".j2", ".css", ".js", ".json") and path.is_file():
            yield inside.as_posix(), path.read_bytes()


def _licences(modules: Path) -> Iterator[str]:
    """What is loaded, with versions, and the licences' texts where their packages have them."""
    for name in PACKAGES:
        package = metadata.distribution(name)
        texts = [file for file in package.files or () if re.search(r"licen[cs]e", file.name, re.IGNORECASE)]
        yield "\n\n".join([f"{name} {package.version}", *(file.read_text().strip() for file in texts)])
    for about in sorted(modules.glob("**/package.json")):
        one = json.loads(about.read_text(encoding="utf-8"))
        if one.get("name", "").startswith(_BUNDLED):
            texts = sorted(about.parent.glob("LICENSE*"))
            named = f"{one['name']} {one['version']} ({one['license']}, from the npm registry)"
            yield "\n\n".join([named, *(text.read_text(encoding="utf-8").strip() for text in texts)])


def _compiled(files: dict[str, bytes], modules: Path, cache: Path) -> Path:
    """An archive of the files, with the Python files compiled by Pyodide's own compiler, under Node.js."""
    given = io.BytesIO()
    with zipfile.ZipFile(given, "w") as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name), content)
    packer = HERE / "pack.mjs"
    version = (modules / "pyodide" / "package.json").read_bytes() + packer.read_bytes()
    made = cache / f"{hashlib.sha256(version + given.getvalue()).hexdigest()[:20]}.zip"
    if not made.exists():
        cache.mkdir(parents=True, exist_ok=True)
        source = made.with_suffix(".source")
        source.write_bytes(given.getvalue())
        command = [packer, modules / "pyodide", source, made.with_suffix(".new")]
        subprocess.run(["node", *map(str, command)], check=True)
        source.unlink()
        made.with_suffix(".new").rename(made)
    return made


def _bundle(modules: Path, target: Path) -> None:
    """The scripts of the page: a small one for every page, and the editor's, loaded when it is asked for."""
    command = [modules / ".bin" / "esbuild", HERE / "solve.js", f"--outdir={target}"]
    options = ["--bundle", "--minify", "--splitting", "--format=esm", "--target=es2022", "--log-level=error"]
    found = {**os.environ, "NODE_PATH": str(modules)}  # where the scripts' imports are looked for
    subprocess.run([*map(str, command), *options], check=True, env=found)
