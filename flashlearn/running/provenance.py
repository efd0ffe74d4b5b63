"""Who made an output, as the observer saw it: the learner's kernels, torch, or both. Facts, no verdict."""

from __future__ import annotations

import numpy as np
import torch

from flashlearn.interpreter.launcher import LauncherWatch
from flashlearn.interpreter.session import Session
from flashlearn.interpreter.shadow import Region
from flashlearn.running.plain import is_tensor, misfit_kind

TORCH = "torch"
"""No kernel stored it."""
OVERWRITTEN = "overwritten"
"""Kernels stored it, and then it was changed by somebody else."""
PARTLY = "torch in part"
"""Kernels stored some of it."""


def made_by(out: torch.Tensor, session: Session, watch: LauncherWatch) -> str:
    """Nothing where kernels made the output, or torch out of what kernels stored; else who did."""
    key = out.untyped_storage()._cdata
    if key in watch.derived:
        return ""
    region = session.memory.by_storage.get(key)
    if region is None or not region.stored.any():
        return TORCH
    if key in watch.overwritten or (key not in watch.touched and _changed_since(region)):
        return OVERWRITTEN
    stored = window(region.stored, out, region.unit)
    rest = out[~stored]  # memory from torch.zeros that no program had a reason to write
    if rest.numel() and not (key in watch.filled and bool((rest == rest[0]).all())):
        return PARTLY
    return ""


def _changed_since(region: Region) -> bool:
    """True if memory that kernels stored is not what the last of them left there."""
    return region.left is not None and not np.array_equal(region.left, region.memory)


def copied_from(out: torch.Tensor, session: Session, watch: LauncherWatch) -> str:
    """A tensor that torch or NumPy computed, and that held the answer before a kernel read or wrote it.

    What torch made of a kernel's results, a clone of an output for one, is the kernel's.
    """
    values = out.detach().contiguous().view(-1)
    if bool((values == values[0]).all()):
        return ""  # all alike: such a tensor may be there for other reasons
    size = values.numel() * values.element_size()
    wanted = values.view(torch.uint8).numpy()
    for key, region in session.memory.by_storage.items():
        if key in watch.given or key in watch.derived:
            continue
        held = region.memory if not region.stored.any() else region.before
        if held is None or not region.loaded.any() or region.nbytes < size:
            continue
        if np.array_equal(held[:size], wanted):
            return region.name
    return ""


def writers(out: object, session: Session) -> torch.Tensor | None:
    """By element the number of the program that stored it last, −1 where none did; None if nobody knows."""
    if not is_tensor(out) or misfit_kind(out):
        return None
    region = session.memory.by_storage.get(out.untyped_storage()._cdata)
    if region is None or not session.launches or out.element_size() < region.unit:
        return None
    last = torch.maximum(window(region.writer, out, region.unit), window(region.atomic, out, region.unit))
    return torch.tensor(session.memory.races.numbers)[last]


def unread(given: dict[str, object], session: Session) -> dict[str, torch.Tensor]:
    """Which elements of each input no program loaded, for inputs that programs did load from."""
    found = {}
    for name, value in given.items():
        if isinstance(value, torch.Tensor) and value.numel():
            region = session.memory.by_storage.get(value.untyped_storage()._cdata)
            if region is not None and region.loaded.any() and value.element_size() >= region.unit:
                found[name] = ~window(region.loaded, value, region.unit)
    return found


def window(shadow: np.ndarray, out: torch.Tensor, unit: int) -> torch.Tensor:
    """A shadow in the shape of `out`: one entry per element."""
    flat = torch.from_numpy(shadow)
    ratio = out.element_size() // unit
    return flat.as_strided(out.shape, [s * ratio for s in out.stride()], out.storage_offset() * ratio)
