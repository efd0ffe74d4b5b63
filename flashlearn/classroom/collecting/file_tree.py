"""The files of a folder or a zip, read one by one; no link is followed.

    >>> tree = open_tree(Path("submissions.zip"))
    >>> [entry.path for entry in tree.entries]
    ['ann/02_softmax.ipynb', ...]

A link, a pipe, a device, a path out of the archive, or a file far larger than any notebook is refused, with a
sentence for the teacher. Nothing is written: a member of an archive is read into memory when it is needed.
"""

from __future__ import annotations

import io
import os
import stat
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from flashlearn.classroom.handout import LARGEST
from flashlearn.course.files import CourseError, reason

MOST_FILES = 50_000
"""Files of one folder or archive: some for each student of a large class."""

DENSEST = 200
"""How many times its packed size a member of an archive may have; a notebook has about ten times."""

IGNORED = ("__MACOSX", ".ipynb_checkpoints", "__pycache__")


@dataclass(frozen=True)
class FileEntry:
    """A file: its path with slashes, and its reader. `read` raises ValueError with a sentence."""

    path: str
    read: Callable[[], bytes] = field(repr=False, compare=False)

    @property
    def parts(self) -> list[str]:
        return self.path.split("/")


@dataclass(frozen=True)
class Tree:
    """All files of a folder or an archive, sorted, sentences on what was refused, and empty folders."""

    entries: tuple[FileEntry, ...]
    refused: tuple[str, ...] = ()
    empty: tuple[str, ...] = ()


def open_tree(path: Path) -> Tree:
    """The files of a folder or of a zip. Raises CourseError if it is neither."""
    if path.is_dir():
        return _folder(path)
    try:
        with path.open("rb") as file:
            if not zipfile.is_zipfile(file):
                raise CourseError(f"{path} is neither a folder nor a zip.")
        return archive(path)
    except OSError as error:
        raise CourseError(f"{path} cannot be read: {reason(error)}.") from error
    except zipfile.BadZipFile:
        raise CourseError(f"{path} is a damaged zip: download it again.") from None


def archive(source: Path | bytes) -> Tree:
    """The files of a zip, given by its path or its bytes. Raises zipfile.BadZipFile."""
    entries, refused = [], []
    with zipfile.ZipFile(io.BytesIO(source) if isinstance(source, bytes) else source) as opened:
        members = opened.infolist()
    for member in members[:MOST_FILES]:
        name = member.filename
        if member.is_dir() or _is_ignored(name):
            continue
        if why := _refusal(member):
            refused.append(f"{_shown(name)} was left out: {why}.")
        else:
            entries.append(FileEntry(name, lambda m=member: _unpacked(source, m)))
    if len(members) > MOST_FILES:
        refused.append(f"It has {len(members)} files: those after the first {MOST_FILES} were left out.")
    return Tree(tuple(sorted(entries, key=lambda e: e.path)), tuple(refused))


def _folder(root: Path) -> Tree:
    entries, refused = [], []
    for folder, folders, files in os.walk(root, followlinks=False):
        folders[:] = sorted(name for name in folders if not _is_ignored(name))
        for name in sorted(folders):
            if os.path.islink(os.path.join(folder, name)):
                refused.append(
                    f"{_shown(os.path.relpath(os.path.join(folder, name), root))} was left out: it is a link."
                )
        for name in sorted(files):
            path = Path(folder, name)
            shown = path.relative_to(root).as_posix()
            if _is_ignored(name):
                continue
            if why := _irregular(path):
                refused.append(f"{_shown(shown)} was left out: {why}.")
            elif len(entries) < MOST_FILES:
                entries.append(FileEntry(_text(shown), lambda p=path: _content(p)))
    tops = {_text(path.name) for path in root.iterdir() if path.is_dir() and not path.is_symlink()}
    empty = sorted(name for name in tops - {e.parts[0] for e in entries} if not _is_ignored(name))
    return Tree(tuple(sorted(entries, key=lambda e: e.path)), tuple(refused), tuple(empty))


def _irregular(path: Path) -> str:
    try:
        mode = path.lstat().st_mode
    except OSError as error:
        return reason(error)
    if stat.S_ISLNK(mode):
        return "it is a link"
    return "" if stat.S_ISREG(mode) else "it is not a regular file"


def _content(path: Path) -> bytes:
    """A file's bytes, opened so that a link or pipe that replaced it meanwhile is not followed."""
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
        with open(handle, "rb") as file:
            return file.read(LARGEST + 1) if stat.S_ISREG(os.fstat(handle).st_mode) else b""
    except OSError as error:
        raise ValueError(f"The file cannot be read: {reason(error)}.") from None


def _refusal(member: zipfile.ZipInfo) -> str:
    """Why a member of an archive is not read; "" if it is."""
    name = member.filename
    if name.startswith("/") or "\\" in name or ".." in name.split("/") or name[1:2] == ":":
        return "its path leads out of the archive"
    mode = member.external_attr >> 16
    if stat.S_IFMT(mode) not in (0, stat.S_IFREG):
        return "it is not a regular file"
    if member.flag_bits & 1:
        return "it is locked with a password"
    if member.file_size > LARGEST and name.endswith(".ipynb"):
        return f"it would unpack to {member.file_size / 1e6:.0f} MB"
    if member.file_size > DENSEST * max(member.compress_size, 1) and member.file_size > 1_000_000:
        return "it would unpack to more than 200 times its size"
    return ""


def _unpacked(source: Path | bytes, member: zipfile.ZipInfo) -> bytes:
    """A member's bytes, never more than are read of a file: the size it states may be false."""
    try:
        with (
            zipfile.ZipFile(io.BytesIO(source) if isinstance(source, bytes) else source) as opened,
            opened.open(member) as file,
        ):
            return file.read(LARGEST + 1)
    except (OSError, EOFError, zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError) as error:
        raise ValueError(f"The file could not be unpacked ({type(error).__name__}).") from None


def _is_ignored(name: str) -> bool:
    parts = name.split("/")
    return any(part in IGNORED for part in parts) or parts[-1].startswith("._") or parts[-1] == ".DS_Store"


def _text(name: str) -> str:
    return name.encode("utf-8", "replace").decode()


def _shown(name: str) -> str:
    name = _text(name)
    return repr(name if len(name) < 100 else name[:99] + "…")[1:-1]
