"""What this GPU reaches, as against what its maker promises: a large matrix product and a large copy.

    >>> ceilings().product / 1e12, ceilings().copy / 1e12      # TFLOP/s in bf16, TB/s read and written
    (693.0, 4.2)

Both are measured once for each GPU, driver and torch, and kept in a file of this user.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

import torch

from flashlearn.machine import device
from flashlearn.machine.timers import time_in_turns

MATRIX_SIZE = 8192
"""Rows and columns of the matrices, in bf16."""
COPY_BYTES = 2**29
"""Bytes of what is copied."""


@dataclass(frozen=True)
class Ceilings:
    """Operations/s of a large product in bf16, and bytes/s of a large copy, read and written both counted."""

    product: float
    copy: float


def ceilings(measure: Callable[[], Ceilings] | None = None) -> Ceilings:
    """What was measured on this GPU before, with this driver and this torch; else measured now."""
    file, key = cache_folder() / "ceilings.json", environment_id()
    known = _read(file)
    with suppress(KeyError, TypeError):
        return Ceilings(**known[key])
    found = (measure or _measure)()
    with suppress(OSError):  # a home that cannot be written: measured again next time
        file.parent.mkdir(parents=True, exist_ok=True)
        fresh = file.with_suffix(f".{os.getpid()}")
        fresh.write_text(json.dumps(known | {key: asdict(found)}, indent=1))
        fresh.replace(file)
    return found


def cache_folder() -> Path:
    """Where this user's figures lie: $FLASHLEARN_HOME, else flashlearn/ in the user's cache."""
    chosen = os.environ.get("FLASHLEARN_HOME")
    cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(chosen).expanduser() if chosen else Path(cache).expanduser() / "flashlearn"


def environment_id() -> str:
    """For which GPU, driver and torch figures hold."""
    gpu = torch.cuda.get_device_name() if device.has_gpu() else "no GPU"
    return f"{gpu}, driver {device.driver() or 'unknown'}, torch {torch.__version__}"


def _measure() -> Ceilings:
    return Ceilings(2.0 * MATRIX_SIZE**3 / _product_seconds(), 2.0 * COPY_BYTES / _copy_seconds())


def _product_seconds() -> float:
    a, b = (torch.randn(MATRIX_SIZE, MATRIX_SIZE, dtype=torch.bfloat16, device="cuda") for _ in range(2))
    return time_in_turns([lambda: torch.mm(a, b)])[0].median / 1e3


def _copy_seconds() -> float:
    source = torch.empty(COPY_BYTES, dtype=torch.int8, device="cuda")
    target = torch.empty_like(source)
    return time_in_turns([lambda: target.copy_(source)])[0].median / 1e3


def _read(file: Path) -> dict[str, dict[str, float]]:
    try:
        known = json.loads(file.read_text())
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}
