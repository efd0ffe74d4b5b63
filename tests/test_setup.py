"""tools/setup.sh: which index torch comes from, decided once and remembered. Nothing is installed here.

The script runs on a copy of what it reads, with a Python that makes an empty .venv and only writes down
what pip was asked for. The index it may find is a server on this machine.
"""

from __future__ import annotations

import os
import shutil
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

FAKE_PYTHON = """#!/bin/sh
case "$*" in
"-m venv "*) mkdir -p "$3/bin" && cp "$0" "$3/bin/python" ;;
"-m pip install "*) echo "$*" >>"$ASKED" ;;
"-c import torch"*) ;;
*) exec "$REAL_PYTHON" "$@" ;;
esac
"""


@dataclass
class Index:
    """A package index on this machine that counts who asks."""

    address: str
    asked: list[str] = field(default_factory=list)


@pytest.fixture
def index() -> Iterator[Index]:
    """An index that has torch."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200 if self.path == "/whl/cpu/torch/" else 404)
            self.end_headers()

        def log_message(self, *values: object) -> None:
            """Nothing on stderr."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield Index(f"http://127.0.0.1:{server.server_port}/whl/cpu", asked)
    server.shutdown()
    server.server_close()


@pytest.fixture
def nobody() -> str:
    """The address of an index at a port that nobody listens on."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{taken.getsockname()[1]}/whl/cpu"


@dataclass
class Checkout:
    """A copy of the course's set-up, on a machine without a GPU."""

    root: Path

    def set_up(self, cpu_index: str, **variables: str) -> str:
        """Run the set-up; what it said."""
        own = {k: v for k, v in os.environ.items() if "proxy" not in k.lower() and not k.startswith("PIP_")}
        own.pop("TORCH_INDEX", None)  # make exports it, and this test may run under make
        settings = {
            "ASKED": str(self.root / "asked"),
            "REAL_PYTHON": sys.executable,
            "PYTHON": str(self.root / "python"),
            "TORCH_CPU_INDEX": cpu_index,
            "GPU_NODES": str(self.root / "no-gpu"),
            "PIP_CONFIG_FILE": os.devnull,
            "PIP_NO_INDEX": "1",  # pip asks nobody
        }
        done = subprocess.run(
            ["sh", "tools/setup.sh"],
            cwd=self.root,
            env={**own, **settings, **variables},
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )
        return done.stdout + done.stderr

    @property
    def installed(self) -> list[str]:
        """The calls of pip that would have installed the pins."""
        asked = self.root / "asked"
        return [line for line in asked.read_text().splitlines() if "-r requirements.txt" in line]


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    root = tmp_path / "course"
    (root / "tools").mkdir(parents=True)
    for name in ("tools/setup.sh", "tools/torch_index.py", "requirements.txt", "constraints.txt"):
        shutil.copy(ROOT / name, root / name)
    (root / "python").write_text(FAKE_PYTHON)
    (root / "python").chmod(stat.S_IRWXU)
    return Checkout(root)


def test_without_a_gpu_the_cpu_build_is_taken_and_said_in_one_line(checkout: Checkout, index: Index):
    said = checkout.set_up(index.address)
    assert f"--extra-index-url {index.address} -r requirements.txt" in checkout.installed[0]
    lines = [line for line in said.splitlines() if "CPU build" in line]
    assert len(lines) == 1 and "is taken" in lines[0] and "TORCH_INDEX=none" in lines[0]
    assert index.asked == ["/whl/cpu/torch/"]


def test_where_its_index_cannot_be_reached_the_default_build_is_taken(checkout: Checkout, nobody: str):
    said = checkout.set_up(nobody)
    assert "extra-index-url" not in checkout.installed[0]
    lines = [line for line in said.splitlines() if "CPU build" in line]
    assert len(lines) == 1 and "cannot be reached: the default build is taken" in lines[0]


def test_an_index_that_lacks_torch_counts_as_out_of_reach(checkout: Checkout, index: Index):
    said = checkout.set_up(f"{index.address}/nothing")
    assert "extra-index-url" not in checkout.installed[0] and "cannot be reached" in said


def test_an_index_that_accepts_and_never_answers_is_given_up(checkout: Checkout):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        said = checkout.set_up(f"http://127.0.0.1:{silent.getsockname()[1]}/whl/cpu")
    assert "extra-index-url" not in checkout.installed[0] and "cannot be reached" in said


def test_a_finished_set_up_asks_nobody_and_says_nothing(checkout: Checkout, index: Index):
    checkout.set_up(index.address)
    assert checkout.set_up(index.address) == ""
    assert len(index.asked) == len(checkout.installed) == 1


def test_the_default_build_stays_when_the_index_is_in_reach_again(
    checkout: Checkout, index: Index, nobody: str
):
    checkout.set_up(nobody)
    assert checkout.set_up(index.address) == ""
    assert not index.asked and len(checkout.installed) == 1


def test_the_cpu_build_stays_when_the_index_is_out_of_reach_and_the_pins_move(
    checkout: Checkout, index: Index, nobody: str
):
    checkout.set_up(index.address)
    with (checkout.root / "constraints.txt").open("a") as constraints:
        constraints.write("# moved\n")
    checkout.set_up(nobody)
    assert f"--extra-index-url {index.address}" in checkout.installed[1]


@pytest.mark.parametrize("off", ["none", ""])
def test_the_choice_can_be_switched_off_and_is_remembered(checkout: Checkout, index: Index, off: str):
    said = checkout.set_up(index.address, TORCH_INDEX=off)
    assert "extra-index-url" not in checkout.installed[0] and "CPU build" not in said
    assert checkout.set_up(index.address) == checkout.set_up(index.address, TORCH_INDEX=off) == ""
    assert not index.asked


def test_a_cpu_build_is_exchanged_for_the_default_build_when_that_is_asked_for(
    checkout: Checkout, index: Index
):
    checkout.set_up(index.address)
    checkout.set_up(index.address, TORCH_INDEX="none")
    assert "extra-index-url" not in checkout.installed[1]
    assert checkout.set_up(index.address) == "" and len(index.asked) == 1


def test_an_index_of_ones_own_wins_and_is_remembered(checkout: Checkout, index: Index, nobody: str):
    checkout.set_up(index.address, TORCH_INDEX=nobody)
    assert f"--extra-index-url {nobody}" in checkout.installed[0]
    assert checkout.set_up(index.address) == "" and not index.asked


def test_with_a_gpu_the_default_build_is_taken_without_a_word(checkout: Checkout, index: Index):
    node = checkout.root / "nvidiactl"
    node.touch()
    said = checkout.set_up(index.address, GPU_NODES=str(node))
    assert "extra-index-url" not in checkout.installed[0] and "CPU build" not in said and not index.asked


def test_whoever_has_set_pip_up_with_a_build_of_torch_is_not_asked(checkout: Checkout, index: Index):
    wheels = checkout.root / "wheels"
    wheels.mkdir()
    pin = next(
        line for line in (ROOT / "requirements.txt").read_text().splitlines() if line.startswith("torch==")
    )
    (wheels / f"torch-{pin.removeprefix('torch==')}+own-py3-none-any.whl").touch()
    said = checkout.set_up(index.address, PIP_FIND_LINKS=str(wheels))
    assert "extra-index-url" not in checkout.installed[0] and "CPU build" not in said and not index.asked


def test_an_interrupted_set_up_is_decided_anew(checkout: Checkout, index: Index, nobody: str):
    checkout.set_up(nobody)
    (checkout.root / ".venv" / "flashlearn-stamp").unlink()  # as it is before the end
    checkout.set_up(index.address)
    assert f"--extra-index-url {index.address}" in checkout.installed[1]
