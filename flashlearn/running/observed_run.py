"""One observed call of a function, and what was seen of it as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch.utils._pytree import tree_map

from flashlearn.exercise import Inputs
from flashlearn.interpreter import index_overflow
from flashlearn.interpreter.deadline import deadline
from flashlearn.interpreter.errors import KernelCrash
from flashlearn.interpreter.full_precision import full_precision
from flashlearn.interpreter.gluon.timeline import Timeline
from flashlearn.interpreter.launcher_watch import LauncherWatch, PoisonedAllocations
from flashlearn.interpreter.observer import Observer
from flashlearn.interpreter.observers.access_recorder import AccessRecorder, Recording
from flashlearn.interpreter.observers.int32_overflow import Int32Overflows
from flashlearn.interpreter.route import observing
from flashlearn.interpreter.session import Session
from flashlearn.running import provenance
from flashlearn.running.caller import Caller
from flashlearn.running.crashes import describe_exception, is_user_interrupt
from flashlearn.running.evidence import Evidence, ObservedRace, Output
from flashlearn.running.forks import no_forks
from flashlearn.running.launches import RunCache, plain_launch
from flashlearn.running.run_modes import Edited, Int32OverflowProbe, Observed, Traced
from flashlearn.running.values import as_tuple, changed_inputs, copies, plain, storage_of, storages

MAX_EVENTS = 40_000
"""Events of Gluon kernels that a trace keeps: one program's, so more than a session does."""


def observe(caller: Caller, inputs: Inputs, how: Observed, cache: RunCache) -> Evidence:
    """One call in the observed interpreter."""
    given = copies(inputs)
    observers = tuple(replace(observer) for observer in how.observers)  # each run has copies of its own
    session = watch = error = returned = None
    try:
        with (
            observing(how.seed, how.undefined, how.fresh, observers) as (session, watch),
            deadline(how.limit),
            no_forks(),
        ):
            watch.given.update(storages(given))
            session.instrumentation = cache.instrumentation
            if how.full_precision:
                session.builder = full_precision(None if how.full_precision is True else how.full_precision)
            returned = caller.call(given)
    except BaseException as caught:  # TimeLimit, SystemExit and whatever else a learner may raise
        if is_user_interrupt(caught):
            raise
        error = caught
    seen = _seen(session, watch, observers, cache) if session is not None else {}
    if error is not None:
        return Evidence(raised=describe_exception(error, how.limit, caller.function), **seen)
    outputs = tuple(_output(out, given, session, watch, cache) for out in as_tuple(returned))
    cache.returned |= {storage_of(x): x.untyped_storage() for x in as_tuple(returned) if storage_of(x)}
    values = tuple(output.value for output in outputs)
    seen["observation"].unread.update(provenance.unread(given, session))
    return Evidence(
        returned=_like(returned, values),
        outputs=outputs,
        race=_race(session, returned, given),
        changed=changed_inputs(inputs, given),
        forbidden=tuple(watch.forbidden),
        arithmetic=tuple(watch.arithmetic),
        **seen,
    )


def outputs(caller: Caller, inputs: Inputs, how: Edited, sessions: list[Session]) -> Evidence:
    """What one call in the observed interpreter returns, and nothing else; its session is put into a list.

    Raises what the call raises, and KernelCrash for a race: what it leaves is right by chance.
    """
    given = copies(inputs)
    with observing(how.seed) as (session, _), deadline(how.limit), no_forks():
        sessions.append(session)
        session.memory.budget, session.memory.explains = how.most, False
        returned = caller.call(given)
        if session.races.found:
            raise KernelCrash("Programs race.")
    return Evidence(returned=(value := plain(returned)), outputs=tuple(map(Output, as_tuple(value))))


def torch_outputs(caller: Caller, inputs: Inputs, how: Edited) -> Evidence:
    """What one call of a function without kernels returns: torch is not watched, which takes half the time.

    Raises what the call raises.
    """
    given = copies(inputs)
    with deadline(how.limit), no_forks(), PoisonedAllocations():
        returned = caller.call(given)
    return Evidence(returned=(value := plain(returned)), outputs=tuple(map(Output, as_tuple(value))))


def _seen(
    session: Session, watch: LauncherWatch, observers: Sequence[Observer], cache: RunCache
) -> dict[str, Any]:
    observation = session.observation()
    launches = [plain_launch(launch, cache) for launch in observation.launches]
    return {
        "observation": replace(observation, launches=launches, in_torch=dict(watch.counted)),
        "observations": {type(observer): observer.observation() for observer in observers},
    }


def _output(out: Any, given: Inputs, session: Session, watch: LauncherWatch, cache: RunCache) -> Output:
    key = storage_of(out)
    if key is None:
        return Output(plain(out))
    made, copied, whole = "", "", True
    if session.launches and out.numel() and out.device.type == "cpu":
        made = provenance.made_by(out, session, watch)
        if not made:
            copied, whole = provenance.copied_from(out, session, watch)
    memory_of = storages(given).get(key, "")
    return Output(
        plain(out),
        writers=provenance.writers(out, session, fresh=not memory_of),
        memory_of=memory_of,
        requires_grad=out.requires_grad,
        made_by=made,
        copied=copied,
        whole=whole,
        kept=key in cache.returned,
    )


def _like(returned: Any, values: tuple) -> Any:
    """The outputs' values in the shape of what was returned."""
    if issubclass(type(returned), tuple):
        return values
    return list(values) if issubclass(type(returned), list) else values[0]


def _race(session: Session, returned: Any, given: Inputs) -> ObservedRace | None:
    """The first race, and whose memory it is: an output's, by number, an input's, by name, or "scratch"."""
    if not session.races.found:
        return None
    race = session.races.found[0]
    results = {storage_of(out): number for number, out in enumerate(as_tuple(returned))}
    owner = {**results, **storages(given)}.get(race.storage, "scratch")
    return ObservedRace(race.sentence, race.place, race.fault, owner)


def probe_int32_overflow(caller: Caller, inputs: Inputs, how: Int32OverflowProbe) -> Evidence:
    """A call with tensors that have no memory: does it leave them, and where did 32 bits not suffice?"""
    error, overflows = index_overflow.attempt(lambda: caller.call(dict(inputs)), how.wide, how.limit)
    ended = describe_exception(error, how.limit, caller.function) if error is not None else None
    return Evidence(raised=ended, observations={Int32Overflows: tuple(overflows)})


def trace(caller: Caller, inputs: Any, how: Traced) -> Evidence:
    """A call on copies of its inputs, on the CPU, with every access of one program kept."""
    recorder = AccessRecorder(how.program)
    kept: dict[int, torch.UntypedStorage] = {}
    given = tree_map(lambda value: _on_cpu(value, kept), inputs)
    crashed, line = False, Timeline()
    try:
        with observing() as (session, _), deadline(how.limit):
            session.memory.subscribe(recorder)
            line = session.timeline
            line.most, line.chosen = MAX_EVENTS, recorder.wants
            try:
                caller.call(given)
            finally:
                crashed = len(session.launches) < len(recorder.launches)
    except BaseException as error:  # whatever a learner's code may raise: it is shown, with what ran before
        if is_user_interrupt(error):
            raise
        ended = describe_exception(error, how.limit, caller.function)
        sentence = ended.sentence or "not started: the stub is still there"
        events = tuple(line.events)
        recording = Recording(recorder.launches, sentence, ended.place, crashed, events, line.dropped)
        return Evidence(raised=ended, observations={AccessRecorder: recording})
    recording = Recording(recorder.launches, timeline=line.timed(), dropped=line.dropped)
    return Evidence(observations={AccessRecorder: recording})


def _on_cpu(value: Any, kept: dict[int, torch.UntypedStorage]) -> Any:
    """A tensor's copy on the CPU, strides kept; inputs that share memory still do."""
    if not isinstance(value, torch.Tensor):
        return value
    storage = value.untyped_storage()
    if storage._cdata not in kept:
        kept[storage._cdata] = storage.cpu() if value.device.type != "cpu" else storage.clone()
    empty = torch.empty(0, dtype=value.dtype)
    copy = empty.set_(kept[storage._cdata], value.storage_offset(), value.shape, value.stride())
    return copy.requires_grad_(value.requires_grad)
