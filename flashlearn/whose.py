"""Who computed a right answer: the learner's kernels, or something else.

Every output must be bytes that a kernel stored and nobody changed since, or what torch made of such
bytes; torch's ready-made answers are refused; a kernel must have done the arithmetic; and a kernel
that only copied an answer that was there before it ran is told apart.
"""

from __future__ import annotations

import numpy as np
import torch

from flashlearn.exercise import Exercise, Inputs
from flashlearn.observe.launcher import LauncherWatch
from flashlearn.observe.session import Session
from flashlearn.observe.shadow import Region
from flashlearn.outcome import Place, Status


def who_did_it(
    exercise: Exercise, inputs: Inputs, outputs: tuple, session: Session, watch: LauncherWatch
) -> tuple[Status, str, Place | None]:
    """PASS, or NOT_YOURS with a sentence and a place, for outputs that are right."""
    if watch.forbidden:
        operation, place = watch.forbidden[0]
        sentence = (
            f"The answer is right, but {operation} computed it (or part of it). "
            "Here your own kernel has to: the launcher may allocate, copy, cast and reshape."
        )
        return Status.NOT_YOURS, sentence, place
    if not session.launches:
        return Status.NOT_YOURS, "The answer is right, but no kernel was launched to compute it.", None
    sentence = _too_little_work(exercise, inputs, session)
    for name, out in zip(exercise.outputs, outputs, strict=True):
        if not sentence and out.numel():
            sentence = _not_stored(name, out, session, watch) or _copied(name, out, session, watch)
    if not sentence and watch.arithmetic and not exercise.launcher_arithmetic:
        operation, place = watch.arithmetic[0]
        sentence = (
            f"The answer is right, but {operation} computed with the inputs in the launcher. That arithmetic "
            "is the exercise: it belongs in your kernel. The launcher may allocate, copy, cast and reshape."
        )
        return Status.NOT_YOURS, sentence, place
    return (Status.NOT_YOURS, sentence, None) if sentence else (Status.PASS, "", None)


def _too_little_work(exercise: Exercise, inputs: Inputs, session: Session) -> str:
    if exercise.work is None:
        return ""
    needed = exercise.work(inputs).operations
    done = sum(session.operations.values())
    if done >= needed / 2:
        return ""
    return (
        f"The answer is right, but your kernels did {done} arithmetic operations where it takes "
        f"about {needed:.0f}: the work was done outside them."
    )


def _not_stored(name: str, out: torch.Tensor, session: Session, watch: LauncherWatch) -> str:
    key = out.untyped_storage()._cdata
    if key in watch.derived:
        return ""
    region = session.memory.by_storage.get(key)
    if region is None or not region.stored.any():
        return f"{name} is right, but no kernel stored it: torch computed it."
    if key in watch.overwritten or (key not in watch.touched and _changed_since(region)):
        return f"{name} is right, but it was overwritten after your kernel had stored into it."
    stored = window(region.stored, out, region.unit)
    rest = out[~stored]  # memory from torch.zeros that no program had a reason to write
    if rest.numel() and not (key in watch.filled and bool((rest == rest[0]).all())):
        return f"{name} is right, but no kernel stored all of it: torch computed the rest."
    return ""


def _changed_since(region: Region) -> bool:
    """True if memory that kernels stored is not what the last of them left there."""
    return region.left is not None and not np.array_equal(region.left, region.memory)


def _copied(name: str, out: torch.Tensor, session: Session, watch: LauncherWatch) -> str:
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
            return f"{name} is right, but {region.name} held it before your kernel ran: the kernel copied it."
    return ""


def window(shadow: np.ndarray, out: torch.Tensor, unit: int) -> torch.Tensor:
    """A shadow in the shape of `out`: one entry per element."""
    flat = torch.from_numpy(shadow)
    ratio = out.element_size() // unit
    return flat.as_strided(out.shape, [s * ratio for s in out.stride()], out.storage_offset() * ratio)
