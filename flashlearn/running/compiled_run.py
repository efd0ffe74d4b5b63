"""One compiled call on a CUDA GPU, and what was observed: guarded buffers, poisoned outputs, launches."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import torch
from triton.runtime.errors import OutOfResources
from triton.runtime.jit import JITFunction

from flashlearn.exercise import Inputs
from flashlearn.interpreter.arguments import bind, check_grid, describe_launch
from flashlearn.interpreter.deadline import deadline
from flashlearn.interpreter.errors import KernelCrash
from flashlearn.observation import Launch, Observation
from flashlearn.running.crashes import describe_exception, is_user_interrupt
from flashlearn.running.evidence import Evidence, Output
from flashlearn.running.guard_zones import GuardedWatch, ZeroedWatch, guarded
from flashlearn.running.launches import plain_launch
from flashlearn.running.precompiler import Precompiler
from flashlearn.running.run_modes import Compiled
from flashlearn.running.trial_launches import TrialLaunches
from flashlearn.running.trial_process import RUNNING, STARTING
from flashlearn.running.values import as_tuple, changed_inputs, plain, storage_of, storages

if TYPE_CHECKING:
    from flashlearn.running.caller import Caller
    from flashlearn.running.launches import RunCache

REHEARSAL = 5.0  # seconds for a launcher whose kernels do nothing: it may wait for their effects


@contextlib.contextmanager
def prepared(
    caller: Caller,
    draws: Sequence[Inputs],
    limit: float,
    ready: Set[str] = frozenset(),
    too_large: Mapping[str, int] | None = None,
    all_ready: bool = False,
    gluon: bool = False,
) -> Iterator[None]:
    """Compile what the launcher launches for these inputs; refuse launches on which the compiler crashed.

    Launches that do not fit this GPU's shared memory are refused without compiling them: `too_large` are some
    that are known, with the bytes that a block needs.

    Gluon kernels are launched in a separate process first; those that do not end there are refused too.
    `ready` are the keys of launches that are compiled already; if that is `all_ready`, the launcher is not
    asked again what it launches. `gluon` says that it is known to launch kernels in Gluon.
    """
    with Precompiler(limit, ready, too_large) as precompiler:
        for inputs in () if all_ready else draws:
            _rehearse(caller, inputs, precompiler.dry(), min(REHEARSAL, limit))
    trials = TrialLaunches()
    with precompiler.refusing():
        for inputs in draws if gluon or precompiler.saw_gluon else ():
            _rehearse(caller, inputs, trials.dry(), limit + STARTING + RUNNING)
        with trials.refusing():
            yield


def _rehearse(caller: Caller, inputs: Inputs, dry: AbstractContextManager[None], limit: float) -> None:
    """Call the launcher with its launches suppressed."""
    watch = ZeroedWatch()
    try:
        given = guarded(inputs, watch)  # as in the run to come: strides and alignment count
        with dry, watch, deadline(limit, asleep=limit):
            caller.call(given)
    except KeyboardInterrupt:
        raise
    except BaseException:  # the actual run raises it again and reports it in full
        return


def run(caller: Caller, inputs: Inputs, how: Compiled, cache: RunCache) -> Evidence:
    """One call in guarded memory.

    Raises what torch raises if the GPU's memory is too small for the call's inputs or for a look at its
    outputs; of the call itself that is in the evidence, as all that it raises.
    """
    watch = GuardedWatch()
    given, launches = guarded(inputs, watch), []
    try:
        with recording_launches() as launches, watch, deadline(how.limit):
            returned = caller.call(given)
        torch.cuda.synchronize()
    except BaseException as error:  # TimeLimit, SystemExit and anything else that a learner may raise
        if is_user_interrupt(error):
            raise
        tried = launches[-1:] if isinstance(error, OutOfResources) else []
        observation = Observation(launches=[plain_launch(launch, cache) for launch in tried])
        return Evidence(raised=describe_exception(error, how.limit, caller.function), observation=observation)
    if problem := watch.trespass():
        return Evidence(trespass=problem)
    outputs = tuple(_output(out, given, watch) for out in as_tuple(returned))
    on_gpu = {n: v.to("cuda") if isinstance(v, torch.Tensor) else v for n, v in inputs.items()}
    return Evidence(
        returned=tuple(output.value for output in outputs),
        outputs=outputs,
        observation=Observation(launches=[plain_launch(launch, cache) for launch in launches]),
        changed=changed_inputs(on_gpu, given),
    )


def _output(out: Any, given: Inputs, watch: GuardedWatch) -> Output:
    owner = storages(given).get(storage_of(out), "")
    return Output(plain(out), writers=watch.written(out).get("writers"), memory_of=owner)


@contextlib.contextmanager
def recording_launches() -> Iterator[list[Launch]]:
    """The launches of kernels inside the block, with their grids and constants."""
    launches: list[Launch] = []
    original = JITFunction.run

    def run(self, *args: Any, **kwargs: Any) -> Any:
        if not kwargs.get("warmup"):
            launches.append(_launch(self, args, dict(kwargs)))
        return original(self, *args, **kwargs)

    JITFunction.run = run
    try:
        yield launches
    finally:
        JITFunction.run = original


def _launch(kernel: JITFunction, args: tuple, kwargs: dict[str, Any]) -> Launch:
    """The launch as triton will bind it; the name alone if triton will refuse it, with its own reason."""
    grid = kwargs.pop("grid", (1,))
    kwargs.pop("warmup", None)
    try:
        values, options = bind(kernel.fn, args, kwargs)
        return describe_launch(kernel, kernel.fn, values, check_grid(grid, values), options)
    except KernelCrash:
        return Launch(kernel, kernel.fn.__name__, (1, 1, 1), {}, {}, {})
