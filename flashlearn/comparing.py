"""Comparing what a launcher returned and left behind: sentences, bit patterns, copies of inputs."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from flashlearn.exercise import Exercise, Inputs, Kind
from flashlearn.outcome import OutputCheck
from flashlearn.tolerance import misfit_kind


def call(exercise: Exercise, function: Callable, given: Inputs) -> Any:
    """What the learner's function gives for one draw. Torch exercises run without autograd."""
    if exercise.call is not None:
        return exercise.call(function, given)
    with torch.set_grad_enabled(exercise.kind is not Kind.TORCH):
        return function(*given.values())


def wrong_sentence(checks: tuple[OutputCheck, ...]) -> str:
    """The plainest true sentence about outputs that differ."""
    bad = next(check for check in checks if not check.ok)
    if bad.problem:
        return f"{bad.problem}."
    if not math.isfinite(bad.error):
        return _not_finite_sentence(bad)
    if bad.error > bad.allowed == 0:
        return f"{bad.name} is off by up to {bad.error:.2g}; it has to be exact."
    if bad.error > bad.allowed:
        return f"{bad.name} is off by up to {bad.error:.2g}; {bad.allowed:.2g} is allowed at this precision."
    return (
        f"{bad.name} is noisier than it need be: its rms error is {bad.rms_ratio:.2f} times what a sum "
        "carried in fp32 may have."
    )


def _not_finite_sentence(bad: OutputCheck) -> str:
    """Which way round the two differ: NaN for a number, or a number for an infinity."""
    stray = ~torch.isfinite(bad.got.double()) & torch.isfinite(bad.expected.double())
    if not bool(stray.any()):
        return f"{bad.name} is wrong where the right answer is infinite."
    unwritten = stray & (bad.writers.reshape(stray.shape) < 0) if bad.writers is not None else stray & False
    count, what = (unwritten, "was never written") if bool(unwritten.any()) else (stray, "is NaN or infinite")
    if int(count.sum()) == count.numel():
        return f"All of {bad.name} {what}, where the right answer is a number."
    share = f"{int(count.sum())} of {count.numel()} elements"
    return f"{bad.name} {what} in {share}, where the right answer is a number."


def count_sentence(exercise: Exercise, returned: Any, outputs: tuple) -> str:
    """A sentence for a launcher that returned too few or too many tensors."""
    wanted = ", ".join(exercise.outputs)
    who = "launcher" if exercise.kind is Kind.KERNEL else "function"
    if returned is None:
        return f"The {who} returned None; it should return {wanted}. Is the return statement missing?"
    if isinstance(returned, list) and len(exercise.outputs) == 1:
        return (
            f"The {who} returned a list of {len(outputs)}; it should return one tensor, {wanted}. "
            "torch.stack makes one of tensors, torch.tensor one of numbers."
        )
    return f"The {who} returned {len(outputs)} values; it should return {len(exercise.outputs)}: {wanted}."


def same(before: Any, after: Any) -> bool:
    """True if a value is bit for bit what it was."""
    if not isinstance(before, torch.Tensor):
        return True
    return torch.equal(bits(before), bits(after))


def bits(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor's bit patterns as integers, so that NaN equals NaN."""
    whole = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
    return tensor.detach().contiguous().view(whole[tensor.element_size()])


def changed_inputs(inputs: Inputs, given: Inputs) -> tuple[str, ...]:
    """Names of the inputs that a launcher was given and did not leave as they were."""
    return tuple(name for name, value in inputs.items() if not same(value, given[name]))


CHANGED = "The launcher changed its input {name}: inputs must be as they were afterwards."


def aliased(exercise: Exercise, outputs: tuple, given: Inputs) -> str:
    """A sentence if an output is the memory of an input; else nothing."""
    owners = storages(given)
    for name, out in zip(exercise.outputs, outputs, strict=True):
        if isinstance(out, torch.Tensor) and not misfit_kind(out) and out.untyped_storage()._cdata in owners:
            owner = owners[out.untyped_storage()._cdata]
            return f"{name} is the memory of the input {owner}: allocate a fresh tensor for the result."
    return ""


def storages(given: Inputs) -> dict[int, str]:
    """Which input owns a storage."""
    return {
        t.untyped_storage()._cdata: name
        for name, t in given.items()
        if isinstance(t, torch.Tensor) and not misfit_kind(t)
    }


def clone_storages(inputs: Inputs) -> Inputs:
    """Copies with the same strides inside buffers of the same size: a view stays a view of a larger one."""
    copies = {}
    for name, value in inputs.items():
        if isinstance(value, torch.Tensor):
            storage = value.untyped_storage().clone()
            value = torch.empty(0, dtype=value.dtype).set_(
                storage, value.storage_offset(), value.shape, value.stride()
            )
        copies[name] = value
    return copies
