"""What a kernel needs on an A100, an H100 or another GPU, from the real compiler, on a machine without it.

    >>> for budget in compile_launch(observation.launches[0]):
    ...     print(budget.device, budget.registers, budget.spill_bytes, budget.error)
    A100 64 0
    H100 56 0

An observed launch gives the kernel, its signature and its constants; a child process compiles them for each
target under a time limit, so that neither a crash of the compiler nor an endless compilation reaches the
learner's session. `packing` packs the kernel, `worker` compiles it, `explain` words what the compiler
refuses, and the queue in `child` keeps work in the background from delaying an answer that a check waits for.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import re
import threading
from collections.abc import Iterable
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import Any

from flashlearn.compiler import child, explain, heavy_tiles, packing
from flashlearn.compiler.child import CompileQueue
from flashlearn.interpreter import newer_triton
from flashlearn.machine import device
from flashlearn.observation import Launch

__all__ = ["Budget", "compile_launch", "start"]


@dataclass(frozen=True)
class Budget:
    """One kernel's resources on one GPU; or, with `error`, the sentence that says why it cannot run there.

    `registers` per thread (255 at most), `spill_bytes` of local memory per thread (the stack frame: values
    that found no register), `shared_bytes` per block, `occupancy` as a fraction of the warps that a
    multiprocessor can hold, `tensor_cores` "wgmma", "mma" or "", and `operands` the types that
    wgmma multiplies ("bf16", "e4m3"). Figures are None where there are none.
    `types` are those of what the kernel's pointers point to ("fp16"), `constants` its sizes ("BLOCK=64"): the
    figures hold for them. `line` and `text` are the learner's own line that the compiler stopped at, in
    `file`; or, with `advice`, the line that a sentence on spilled registers speaks of.
    """

    target: int
    device: str
    kernel: str = ""
    types: str = ""
    constants: str = ""
    error: str = ""
    advice: str = ""
    line: int | None = None
    text: str = ""
    file: str = ""
    registers: int | None = None
    spill_bytes: int | None = None
    shared_bytes: int | None = None
    occupancy: float | None = None
    warps: int | None = None
    tensor_cores: str = ""
    operands: tuple[str, ...] = ()
    tma: bool = False
    seconds: float = 0.0


_known: dict[str, Budget] = {}
_queue = CompileQueue()
_numbers = itertools.count()


def compile_launch(
    launch: Launch, targets: tuple[int, ...] = (80, 90), timeout: float = 30.0
) -> tuple[Budget, ...]:
    """Compile a launch's kernel for each target, as compute capability, within `timeout` seconds in all.

    Never raises for anything the kernel does: a refusal, a crash of the compiler, running out of time and a
    source that cannot be read are `Budget.error`. What was compiled before in this process comes at once, and
    nothing waits for what is being compiled in the background. A Gluon kernel, which names a Hopper GPU's
    own instructions, is compiled for that alone.
    """
    try:
        job = packing.pack(launch)
    except packing.PackingError as error:
        return tuple(_failed(target, launch.name, str(error)) for target in targets)
    return _compile(job, launch.name, targets, timeout)


def start(
    launches: Iterable[Launch], timeout: float = 45.0, also: Iterable[Launch] = ()
) -> Future[tuple[Budget, ...]]:
    """The budgets of several launches in their order, compiled in the background; equal ones only once.

    They are those of `device.shown_targets()`. Launches in `also` are compiled too, and appear only where
    the compiler refuses them: a kernel may compile for fp32 and not for fp16. Sources are read before this
    returns, so that a notebook cell may change meanwhile. `timeout` is for each launch.
    """
    tasks: dict[str, Any] = {}
    shown, targets = set(), device.shown_targets()
    for always, launch in [*((True, each) for each in launches), *((False, each) for each in also)]:
        try:
            job = packing.pack(launch)
            key, task = _digest(job), (job, launch.name)
        except packing.PackingError as error:
            key = str(error)
            task = tuple(_failed(target, launch.name, key) for target in targets)
        tasks.setdefault(key, task)
        if always:
            shown.add(key)
    future: Future[tuple[Budget, ...]] = Future()
    future.set_running_or_notify_cancel()
    number = next(_numbers)

    def work() -> None:
        try:
            done: list[Budget] = []
            for key, task in tasks.items():
                budgets = _compile(*task, targets, timeout, number) if isinstance(task[0], dict) else task
                done += [budget for budget in budgets if key in shown or budget.error]
            future.set_result(tuple(map(_named_as_here, done)))
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=work, name="flashlearn-compiler", daemon=True).start()
    return future


def _named_as_here(budget: Budget) -> Budget:
    """The budget under the name of the GPU that is here, if it is of its compute capability."""
    here = device.present()
    return replace(budget, device=here.name) if here is not None and here.target == budget.target else budget


def _compile(
    job: dict[str, Any], name: str, targets: tuple[int, ...], timeout: float, number: int | None = None
) -> tuple[Budget, ...]:
    """From memory what was compiled before, the rest from one child process.

    `number` is that of a card which has it done in the background; without one somebody waits for it.
    """
    if job.get("gluon"):
        targets = tuple(target for target in targets if target in device.GLUON_ONLY)
    digest = _digest(job)
    missing = [target for target in targets if f"{digest}-{target}" not in _known]
    fresh: dict[int, Budget] = {}
    if missing:
        turn = _queue.foreground() if number is None else _queue.background(number)
        renamed = newer_triton.RENAMED if job.get("gluon") else ()
        more = {"targets": missing, "timeout": timeout, "renamed": renamed}
        answers, ending = child.run_worker(job | more, turn, number is not None)
        for target in missing:
            if target in answers:
                fresh[target] = _budget(job, name, answers[target])
                _known[f"{digest}-{target}"] = fresh[target]
            else:
                message = ending.format(device=f"{device.nearest(target).name} (sm_{target})")
                fresh[target] = replace(_failed(target, name, message), **packing.describe(job))
    return tuple(fresh.get(target) or _known[f"{digest}-{target}"] for target in targets)


def _digest(job: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(job, sort_keys=True).encode()).hexdigest()


def _failed(target: int, kernel: str, sentence: str) -> Budget:
    return Budget(target, device.nearest(target).name, kernel, error=sentence)


def _budget(job: dict[str, Any], name: str, answer: dict[str, Any]) -> Budget:
    """The child's answer as a Budget, with an error if the device has too few resources."""
    gpu = device.nearest(answer["target"])
    common = {"target": gpu.target, "device": gpu.name, "kernel": name, "seconds": answer["seconds"]}
    common |= packing.describe(job)
    if "error" in answer:
        return Budget(**common, **_refusal(job, answer, f"{gpu.name} (sm_{gpu.target})"))
    used = {key: int(value) for key, value in re.findall(r"\b(REG|STACK):(\d+)", answer["usage"])}
    words = answer["ptx"]
    error = _beyond(gpu, answer["shared"], answer["warps"], common["constants"])
    message, tile = explain.resource_shortage(
        error, used, answer["warps"], heavy_tiles.largest(answer["ttgir"])
    )
    if "setmaxnreg" in words and not used.get("STACK") and not error:
        message, tile = "", None  # partitions share the launch's registers, which are all of them
    place = _line(job, tile.function, tile.line) if tile is not None else {}
    return Budget(
        **common,
        **place,
        error=message if error else "",
        advice="" if error else message,
        registers=used.get("REG"),
        spill_bytes=used.get("STACK"),
        shared_bytes=answer["shared"],
        occupancy=device.occupancy(gpu, used.get("REG", 0), answer["shared"], answer["warps"]),
        warps=answer["warps"],
        tensor_cores="wgmma" if "wgmma." in words else "mma" if "mma.sync" in words else "",
        operands=tuple(answer.get("operands", ())),
        tma="cp.async.bulk.tensor" in words,
    )


def _beyond(gpu: device.GPU, shared: int, warps: int, constants: str) -> str:
    """Why a kernel that compiled still cannot be launched on this GPU; empty if it can."""
    if shared > gpu.shared_per_block:
        sizes = {name: int(value) for name, value in re.findall(r"(\w+)=(\d+)\b", constants)}
        return (
            f"A block of this kernel needs {shared / 1024:.4g} KiB of shared memory. On sm_{gpu.target} it "
            f"can have {gpu.shared_per_block // 1024} KiB: {device.smaller_blocks(sizes)}."
        )
    if warps > 32:
        return f"The kernel asks for {warps} warps; a block has at most 1024 threads, which is 32 warps."
    return ""


def _refusal(job: dict[str, Any], answer: dict[str, Any], gpu: str) -> dict[str, Any]:
    """Sentence, and the learner's file, line and text, of a compiler error."""
    foreign = {name: what for function in job["functions"] for name, what in function["foreign"].items()}
    found: dict[str, Any] = {"error": explain.sentence(answer["error"], answer["message"], gpu, foreign)}
    if answer["line"] is not None:
        found |= _line(job, answer["function"], answer["line"])
    return found


def _line(job: dict[str, Any], index: int, line: int) -> dict[str, Any]:
    """A line of a packed function in the learner's file."""
    function = job["functions"][index]
    lines = function["source"].splitlines()
    inside = line - function["line"]
    text = lines[inside].strip() if 0 <= inside < len(lines) else ""
    return {"line": line, "file": function["file"], "text": text}
