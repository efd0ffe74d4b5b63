"""JupyterLab as a person uses it, for tests: a server on localhost, a page, and cells that one types into.

The page waits on conditions of Jupyter itself (a command that resolves, a cell whose prompt has a
number, an idle kernel), never on the clock.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.error import URLError
from urllib.request import urlopen

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

CHROMIUMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
LAUNCH_ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
THEMES = {"light": "JupyterLab Light", "dark": "JupyterLab Dark"}
CELL = "[...jupyterapp.shell.currentWidget.content.widgets].find(one => one.model.id === cell)"
PATIENCE = 120_000  # milliseconds: a first import of torch on a busy machine takes a while


def chromium() -> str | None:
    """Path of the system's Chromium, if there is one."""
    return next((path for name in CHROMIUMS if (path := shutil.which(name))), None)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextmanager
def jupyterlab(folder: Path, variables: dict[str, str], state: Path) -> Iterator[str]:
    """JupyterLab serving `folder` with its token on; gives the address. Its own files lie in `state`.

    `variables` join the environment of the server, and so of the Jupyter kernels.
    """
    port, token = free_port(), secrets.token_hex(16)
    settings = state / "config" / "lab" / "user-settings" / "@jupyterlab" / "apputils-extension"
    settings.mkdir(parents=True)
    quiet = {"checkForUpdates": False, "fetchNews": "false", "doNotDisturbMode": True}
    (settings / "notification.jupyterlab-settings").write_text(json.dumps(quiet))
    environment = os.environ | variables
    environment |= {
        "JUPYTER_CONFIG_DIR": str(state / "config"),
        "JUPYTER_DATA_DIR": str(state / "data"),
        "JUPYTER_RUNTIME_DIR": str(state / "runtime"),
        "JUPYTER_TOKEN": token,
    }
    environment.pop("MPLBACKEND", None)  # the inline backend of a notebook, as a learner has it
    options = ["--no-browser", "--ip=127.0.0.1", f"--port={port}", f"--ServerApp.root_dir={folder}"]
    options += ["--ServerApp.port_retries=0", "--ServerApp.allow_root=True"]
    options += ["--LabApp.expose_app_in_browser=True", "--LabApp.extension_manager=readonly"]
    with (state / "jupyterlab.log").open("w") as log:
        command = [sys.executable, "-m", "jupyterlab", *options]
        server = subprocess.Popen(command, env=environment, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        try:
            wait_until_it_answers(server, f"http://127.0.0.1:{port}/api", state / "jupyterlab.log")
            yield f"http://127.0.0.1:{port}/lab?token={token}"
        finally:
            server.terminate()
            try:
                server.wait(timeout=30)
            except subprocess.TimeoutExpired:  # it waits for a kernel on a busy machine: nothing is lost
                server.kill()
                server.wait(timeout=30)


def wait_until_it_answers(server: subprocess.Popen, address: str, log: Path) -> None:
    deadline = time.monotonic() + PATIENCE / 1000
    while time.monotonic() < deadline:
        if server.poll() is not None:
            raise RuntimeError(f"JupyterLab ended with code {server.returncode}:\n{log.read_text()[-3000:]}")
        try:
            urlopen(address, timeout=5).close()
            return
        except (URLError, OSError):
            time.sleep(0.1)  # between two polls; the condition above decides
    raise TimeoutError(f"JupyterLab did not answer:\n{log.read_text()[-3000:]}")


@dataclass
class Lab:
    """One notebook, open in JupyterLab. Cells are named by their id."""

    page: Page
    address: str

    def open(self, notebook: str) -> None:
        """Open a notebook of the served folder and wait for its kernel."""
        self.page.set_default_timeout(PATIENCE)
        self.page.goto(self.address.replace("/lab?", f"/lab/tree/{notebook}?"))
        self.page.wait_for_function("() => window.jupyterapp?.shell?.currentWidget?.sessionContext")
        self.page.evaluate(
            """async () => {
                await jupyterapp.restored;
                const panel = jupyterapp.shell.currentWidget;
                await panel.context.ready; await panel.revealed; await panel.sessionContext.ready;
                window.restarts = 0;
                panel.sessionContext.statusChanged.connect((_, status) => {
                    window.restarts += ['restarting', 'autorestarting', 'dead'].includes(status); });
            }"""
        )
        self.page.wait_for_selector(".jp-Notebook .jp-Cell")
        self.wait_for_idle()

    def wait_for_idle(self) -> None:
        """Until the kernel is alive and has nothing to do."""
        self.page.wait_for_function(
            "() => jupyterapp.shell.currentWidget.sessionContext.session?.kernel?.status === 'idle'"
        )

    def kernel_id(self) -> str:
        """Of the running kernel; a restart keeps it, so see also `restarts`."""
        return self.page.evaluate("() => jupyterapp.shell.currentWidget.sessionContext.session.kernel.id")

    def restarts(self) -> int:
        """How often the kernel died or was restarted since the notebook was opened."""
        return self.page.evaluate("() => window.restarts")

    def run_all(self) -> None:
        """Run → Run All Cells, to the end."""
        self.page.get_by_role("menuitem", name="Run", exact=True).click()
        self.page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
        self.page.wait_for_function(
            """() => { const cells = [...jupyterapp.shell.currentWidget.content.widgets]
                    .filter(cell => cell.model.type === 'code' && cell.model.sharedModel.source.trim());
                const bad = cell => cell.model.sharedModel.outputs.some(one => one.output_type === 'error');
                return cells.some(bad) || cells.every(cell => cell.model.executionCount); }"""
        )
        self.wait_for_idle()

    def cell_ids(self, kind: str = "") -> list[str]:
        return self.page.evaluate(
            """kind => [...jupyterapp.shell.currentWidget.content.widgets]
                .filter(cell => !kind || cell.model.type === kind).map(cell => cell.model.id)""",
            kind,
        )

    def source(self, cell: str) -> str:
        return self.page.evaluate(f"cell => {CELL}.model.sharedModel.source", cell)

    def outputs(self, cell: str) -> list[dict]:
        """The cell's outputs as nbformat has them."""
        return self.page.evaluate(f"cell => {CELL}.model.sharedModel.outputs", cell)

    def errors(self) -> list[str]:
        """What every cell shows as an error, with the cell's id."""
        found = []
        for cell in self.cell_ids("code"):
            for output in self.outputs(cell):
                if output["output_type"] == "error":
                    found.append(f"{cell}: {output['ename']}: {output['evalue']}")
        return found

    def show(self, cell: str) -> Locator:
        """Scroll to the cell, select it, and give its place on the page."""
        self.page.evaluate(
            """async cell => { const notebook = jupyterapp.shell.currentWidget.content;
                const index = notebook.widgets.findIndex(one => one.model.id === cell);
                notebook.deselectAll(); notebook.activeCellIndex = index; notebook.mode = 'command';
                await notebook.scrollToItem(index, 'start'); }""",
            cell,
        )
        place = self.page.locator(".jp-Notebook .jp-Cell.jp-mod-active")
        place.wait_for()
        return place

    def type_into(self, cell: str, text: str) -> None:
        """Click into the cell, select what is there, and type `text` over it."""
        place = self.show(cell)
        place.locator(".cm-content").click()
        self.page.keyboard.press("ControlOrMeta+a")
        self.page.keyboard.insert_text(text)
        self.page.wait_for_function(
            f"([cell, text]) => {CELL}.model.sharedModel.source.trimEnd() === text.trimEnd()",
            arg=[cell, text],
        )

    def run(self, cell: str) -> list[dict]:
        """Ctrl-Enter in the cell; its outputs when the kernel is done with it."""
        place = self.show(cell)
        before = self.page.evaluate(f"cell => {CELL}.model.executionCount", cell)
        place.locator(".cm-content").click()
        self.page.keyboard.press("Control+Enter")
        self.page.wait_for_function(
            f"([cell, before]) => ![null, before].includes({CELL}.model.executionCount)",
            arg=[cell, before],
        )
        self.wait_for_idle()
        return self.outputs(cell)

    def theme(self, name: str) -> None:
        """Switch between "light" and "dark", as Settings → Theme does."""
        self.page.evaluate(
            "theme => jupyterapp.commands.execute('apputils:change-theme', {theme})", THEMES[name]
        )
        light = "true" if name == "light" else "false"
        self.page.wait_for_selector(f"body[data-jp-theme-light='{light}']", state="attached")
        self.page.wait_for_selector("#jupyterlab-splash", state="detached")
