"""Which package index torch should come from besides those that pip knows: its CPU build's, or none.

    $ python tools/torch_index.py https://example.org/whl/cpu
    https://example.org/whl/cpu

The answer is on stdout, empty if no index is to be added; on stderr it is said in one line. `tools/setup.sh`
asks once, for an environment that has no torch yet, with the Python of that environment. Nothing but the
standard library is imported, since nothing else is installed by then.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Sequence
from pathlib import Path

PATIENCE = 3.0
"""Seconds that the index has for its answer, looking up its name included."""

GPU_NODES = "/dev/nvidiactl /dev/dxg"
"""What an NVIDIA driver puts up: the first on Linux, the second in WSL 2."""

PINNED = Path(__file__).parents[1] / "requirements.txt"


def decide(index: str, nodes: Sequence[str]) -> tuple[str, str]:
    """The index to add and the sentence to say; both empty where there is nothing to decide."""
    if any(Path(node).exists() for node in nodes) or pip_has_a_build_of_its_own():
        return "", ""
    if reached(f"{index.rstrip('/')}/torch/"):
        return index, (
            f"No NVIDIA GPU was found: torch's CPU build is taken, from {index}, several GB less "
            "(TORCH_INDEX=none takes the default build)."
        )
    return "", (
        f"No NVIDIA GPU was found; the index of torch's CPU build, {index}, cannot be reached: "
        "the default build is taken, several GB more."
    )


def reached(page: str) -> bool:
    """True if the page answers in time, through the environment's proxies if there are any."""
    answered: list[int] = []

    def ask() -> None:
        try:
            with urllib.request.urlopen(page, timeout=PATIENCE) as response:
                answered.append(response.status)
        except (OSError, ValueError):  # names, sockets, certificates, 404; and an address that is none
            pass

    # a name server that does not answer heeds no time limit: the thread is left to itself then
    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(PATIENCE)
    return answered == [200]


def pip_has_a_build_of_its_own() -> bool:
    """True if pip finds, by its own settings, a local build such as 2.13.0+cpu of the pinned torch.

    pip prefers it to the default build, so whoever set pip up has decided already.
    """
    pin = re.search(r"^torch==(\S+)", PINNED.read_text(), flags=re.M)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--retries=0", f"--timeout={PATIENCE}"]
    try:
        found = subprocess.run(
            [*pip, "index", "versions", "torch"], capture_output=True, text=True, timeout=20
        )
    except subprocess.TimeoutExpired:
        return False
    listed = re.search(r"^Available versions: (.*)", found.stdout, flags=re.M)
    return pin is not None and listed is not None and f"{pin[1]}+" in listed[1]


def main(index: str) -> None:
    """Print the decision for this machine."""
    chosen, sentence = decide(index, os.environ.get("GPU_NODES", GPU_NODES).split())
    if sentence:
        print(sentence, file=sys.stderr)
    print(chosen, flush=True)
    os._exit(0)  # at once, whatever the thread still waits for


if __name__ == "__main__":
    main(sys.argv[1])
