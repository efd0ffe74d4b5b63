"""Where an output comes from, as observed: the learner's kernels, torch, or both. Facts, no verdict."""

from __future__ import annotations

import numpy as np
import torch

from flashlearn.interpreter.launcher_watch import LauncherWatch
from flashlearn.interpreter.session import Session
from flashlearn.interpreter.shadow import Region
from flashlearn.running.values import is_tensor, misfit_kind

TORCH = "torch"
"""No kernel stored it."""
OVERWRITTEN = "overwritten"
"""Kernels stored it, and then something else changed it."""
PARTLY = "torch in part"
"""Kernels stored some of it."""
TELLING = 16
"""Elements that must lie on one line before that means anything."""
FLOATS = {2: (torch.float16, torch.bfloat16), 4: (torch.float32,), 8: (torch.float64,)}


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


def copied_from(out: torch.Tensor, session: Session, watch: LauncherWatch) -> tuple[str, bool]:
    """A tensor that torch or NumPy computed, and that held the answer before a kernel read or wrote it.

    Its name, "" if there is none, and whether it held the answer itself, or what only a factor and a
    constant make it: a kernel that halves what torch has doubled, or adds 0 to it, computed nothing. What
    torch made of a kernel's results, a clone of an output for one, is the kernel's.
    """
    values = out.detach().contiguous().view(-1)
    if bool((values == values[0]).all()):
        return "", True  # all alike: such a tensor may be there for other reasons
    size = values.numel() * values.element_size()
    wanted = values.view(torch.uint8).numpy()
    for key, region in session.memory.by_storage.items():
        if key in watch.given or key in watch.derived:
            continue
        held = region.memory if not region.stored.any() else region.before
        if held is None or not region.loaded.any():
            continue
        if region.nbytes >= size and np.array_equal(held[:size], wanted):
            return region.name, True
        if any(_straight(one, values) for one in _readings(held, region.unit, values)):
            return region.name, False
    met = next((t for t in watch.met if t.is_floating_point() and _straight(t.detach(), values)), None)
    return ("a tensor of the launcher", False) if met is not None else ("", True)


def _readings(held: np.ndarray, unit: int, values: torch.Tensor) -> list[torch.Tensor]:
    """The bytes as floats of `unit` bytes, in every format there is, where they are as many as the values."""
    if len(held) != values.numel() * unit:
        return []
    return [torch.from_numpy(held).view(dtype) for dtype in FLOATS.get(unit, ())]


def _straight(held: torch.Tensor, values: torch.Tensor) -> bool:
    """True if the values are those of `held` times one factor plus one constant, up to rounding."""
    if held.numel() != values.numel() or values.numel() < TELLING or not values.is_floating_point():
        return False
    x, y = held.reshape(-1).double(), values.double()
    if not bool(torch.isfinite(x).all() and torch.isfinite(y).all()):
        return False
    x_, y_ = x - x.mean(), y - y.mean()
    spread = float(x_ @ x_)
    if spread == 0:
        return False
    strayed = float((y_ - float(x_ @ y_) / spread * x_).abs().max())
    rough = max(torch.finfo(values.dtype).eps, torch.finfo(held.dtype).eps)
    return strayed <= 8 * rough * float(y.abs().max()) and strayed < 0.05 * float(y_.abs().max())


def writers(out: object, session: Session, fresh: bool = True) -> torch.Tensor | None:
    """By element the number of the program that stored it last, −1 where none did; None if that is unknown.

    Where no program has stored anything into `fresh` memory and the numbers differ, torch has put them there.
    """
    if not is_tensor(out) or misfit_kind(out):
        return None
    region = session.memory.by_storage.get(out.untyped_storage()._cdata)
    if region is None or not session.launches or out.element_size() < region.unit:
        return None
    last = torch.maximum(window(region.writer, out, region.unit), window(region.atomic, out, region.unit))
    if fresh and not bool(last.any()) and _differ(out):
        return None
    return torch.tensor(session.races.numbers)[last]


def _differ(out: torch.Tensor) -> bool:
    """True if the numbers are not all one and the same, nor NaN."""
    values = out.detach().flatten()
    return bool((values != values[:1]).any() and not torch.isnan(values.float()).any())


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
