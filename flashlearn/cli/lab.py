"""`flashlearn lab`: JupyterLab on the learner's copies of the lessons."""

from __future__ import annotations

import importlib.util
import os
import secrets
import socket
import sys
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from flashlearn.cli import console
from flashlearn.course.files import Course, CourseError
from flashlearn.course.overview import survey
from flashlearn.course.pages.overview_text import about_older_copies
from flashlearn.course.progress import Progress

HOST = "127.0.0.1"
DEFAULT_PORT = 8888
SETTINGS = Path(__file__).parent / "jupyter"
"""JupyterLab's defaults for the course: no question about news, and Markdown files open as pages.

Notebooks are drawn in part, in the mode "full": in the others a link to an exercise of a notebook that is
not open yet is followed before its cells are on the page, and ends at the notebook's top. A learner's own
settings take precedence.
"""


def lab(
    port: Annotated[
        int | None,
        typer.Option(
            envvar="PORT", min=1, max=65535, help=f"The port; without it {DEFAULT_PORT} or the next free one."
        ),
    ] = None,
    browser: Annotated[bool, typer.Option(help="Open a browser, if there is one.")] = True,
) -> None:
    """Put the lessons into work/ (once; yours are never overwritten) and open JupyterLab there.

    In a clone of the course, work/ is in the clone; anywhere else, in the current folder.
    """
    course = Course.here()
    if importlib.util.find_spec("jupyterlab") is None:
        raise CourseError(
            "JupyterLab is not installed in this environment: `pip install jupyterlab` installs it, "
            "in a clone of the course `make setup`."
        )
    prepare(course)
    port = choose_port(port)
    start = _start_page(course)
    token = os.environ.get("JUPYTER_TOKEN") or secrets.token_hex(24)
    console.say(f"JupyterLab starts at http://{HOST}:{port}{start}?token={token}")
    opens = browser and has_browser()
    console.say(f"{'Your browser opens' if opens else 'Open'} that address; Ctrl-C here stops JupyterLab.")
    sys.stdout.flush()
    arguments = jupyter_arguments(course.work, port, start, opens)
    settings = os.pathsep.join(filter(None, (str(SETTINGS), os.environ.get("JUPYTER_CONFIG_PATH"))))
    environment = {
        **os.environ,
        "JUPYTER_TOKEN": token,  # not as an argument: every user of a machine can read command lines
        "JUPYTER_PREFER_ENV_PATH": "1",  # kernels of this environment come before the user's others
        "JUPYTER_CONFIG_PATH": settings,
        "PYTHONSTARTUP": str(SETTINGS / "startup.py"),
        "FLASHLEARN_PYTHONSTARTUP": os.environ.get("PYTHONSTARTUP", ""),
    }
    os.chdir(course.work)
    os.execve(sys.executable, arguments, environment)


def prepare(course: Course) -> bool:
    """Copy the lessons that are not in work/ yet, and print what a learner should know about the copies.

    Returns whether any were copied.
    """
    copied = course.fill_work()
    if copied:
        console.say(f"{console.count(len(copied), 'lesson')} copied to {course.work}.")
        console.say("Write in the copies as you like: nothing overwrites them.")
        if not course.in_clone:
            console.say(f"Solutions to read afterwards, not run yet, are in {course.solutions}.")
    if older := about_older_copies(course.older_copies()):
        console.say(older)
    return bool(copied)


def jupyter_arguments(work: Path, port: int, start: str, browser: bool) -> list[str]:
    """The command that replaces this process: JupyterLab in `work`, reachable only from this machine."""
    arguments = [
        *(sys.executable, "-m", "jupyterlab"),
        f"--ServerApp.ip={HOST}",
        f"--ServerApp.port={port}",
        "--ServerApp.port_retries=0",
        f"--ServerApp.root_dir={work}",
        f"--ServerApp.open_browser={browser}",
        f"--LabApp.default_url={start}",
        "--ServerApp.answer_yes=True",  # one Ctrl-C is enough
        "--log-level=WARN",
        "--LabApp.log_level=WARN",
        # the course fetches nothing from the network: no news, no notices of newer versions or extensions
        "--LabApp.news_url=None",
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
        "--LabApp.extension_manager=readonly",
    ]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        arguments.append("--allow-root")  # containers run as root
    return arguments


def choose_port(asked: int | None) -> int:
    """`asked` if it is free, else an error; for None the default or, with a message, the next free port."""
    if asked is not None:
        if not is_free(asked):
            raise CourseError(
                f"Port {asked} is taken by another program: choose another with --port or PORT."
            )
        return asked
    for port in range(DEFAULT_PORT, DEFAULT_PORT + 100):
        if is_free(port):
            if port != DEFAULT_PORT:
                console.say(f"Port {DEFAULT_PORT} is taken by another program: this one uses {port}.")
            return port
    raise CourseError(f"No port from {DEFAULT_PORT} to {port} is free: choose another with --port or PORT.")


def is_free(port: int) -> bool:
    """Whether a server could listen on `port` of this machine."""
    with socket.socket() as probe:
        if os.name == "posix":  # as the server does: a port just left by another one is free
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True


def has_browser() -> bool:
    """Whether a window can be opened; a text browser would take the terminal, so it does not count."""
    windows = sys.platform in ("darwin", "win32") or any(
        os.environ.get(name) for name in ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY")
    )
    if not windows:
        return False
    try:
        webbrowser.get()
    except webbrowser.Error:
        return False
    return True


def _start_page(course: Course) -> str:
    """The start page until lesson 00 is started, afterwards the next lesson."""
    from flashlearn.course.pages import start_page  # not at the top: completing a name must not load jinja2

    progress = Progress()
    overview = survey(course, progress)
    first = next(iter(overview.lessons))
    page = start_page.write(overview)
    if page is not None and not progress.started() & set(first.exercises):
        return f"/lab/tree/{page.name}"
    lesson = overview.next[0] if overview.next else first
    return f"/lab/tree/{lesson.stem}.ipynb"
