"""A learner's function timed in turns with its peers, on the case that its exercise names."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import torch

from flashlearn.exercise import Exercise, Inputs, Prepared
from flashlearn.machine import device, memory, timers
from flashlearn.machine.timers import Measurement
from flashlearn.running.crashes import describe_exception
from flashlearn.running.evidence import Evidence

if TYPE_CHECKING:
    from flashlearn.running.observed_run import Caller

LIMIT = 20.0
"""Seconds that a call may take, as a sentence about one that ran longer says it."""
SECONDS = 0.1
"""Seconds for the timed calls of one contestant: short, since a learner waits for the verdict."""


def time_with_peers(
    function: Callable[..., Any], caller: Caller, exercise: Exercise, inputs: Inputs
) -> Evidence:
    """Times and peaks of the function and of each of its exercise's peers that runs here.

    A function that its exercise calls in a special way (forward and backward, say) is timed that way. What
    the function raises is in the evidence; so is it if the memory is too small for a peer that a ratio or a
    grade needs: then a smaller case has to be timed.
    """
    try:
        return _timed(function, caller, exercise, inputs)
    except Exception as error:
        return Evidence(raised=describe_exception(error, LIMIT, function))


def _timed(function: Callable[..., Any], caller: Caller, exercise: Exercise, inputs: Inputs) -> Evidence:
    inputs = on_default_device(inputs)
    arguments = tuple(inputs.values())
    asked = partial(caller.call, inputs) if exercise.judged.call else partial(function, *arguments)
    found = {
        name: ready(peer, arguments, needed=name in _needed(exercise))
        for name, peer in exercise.timed.contestants.items()
    }
    peers = {name: call for name, call in found.items() if call is not None}
    own, *others = _figures([asked, *peers.values()])
    return Evidence(own=own, peers=dict(zip(peers, others, strict=True)))


def on_default_device(inputs: Inputs) -> Inputs:
    """The inputs with their tensors on the GPU, if there is one."""
    where = device.default()
    return {k: v.to(where) if isinstance(v, torch.Tensor) else v for k, v in inputs.items()}


def _figures(calls: list[Callable[[], Any]]) -> list[Measurement]:
    peaks = [timers.peak_memory(call) for call in calls]
    found = timers.time_in_turns(calls, seconds=SECONDS)
    return [dataclasses.replace(one, peak=peak) for one, peak in zip(found, peaks, strict=True)]


def _needed(exercise: Exercise) -> set[str]:
    """The peers that the ratio and the grades are relative to."""
    first = list(exercise.timed.contestants)[:1]
    return {*first, *(grade.peer for grade in exercise.timed.grades)}


def ready(
    peer: Callable[..., Any] | Prepared, arguments: tuple[Any, ...], needed: bool
) -> Callable[[], Any] | None:
    """A peer's call, made once; None if it is not available.

    Not every GPU has every backend of torch, nor the memory for each of them. Raises what torch raises if
    there is too little memory for one that is needed.
    """
    try:
        call = peer.make(*arguments) if isinstance(peer, Prepared) else partial(peer, *arguments)
        call()
        if device.has_gpu():
            torch.cuda.synchronize()
    except RuntimeError as error:
        if needed and memory.is_out_of_memory(error):
            raise
        return None
    return call
