"""`lean_forward`: the forward pass within a budget by which three programs share a multiprocessor."""

from __future__ import annotations

import dataclasses

from flashlearn import compiler
from flashlearn.exercise import Earlier, HowExplained, HowTimed
from flashlearn.lessons.lesson_12_tuning import tuned_forward as tuned
from flashlearn.lessons.lesson_12_tuning.tuned_cases import COMMON, EDGES, TIMED
from flashlearn.lessons.shared.attention_cases import BF16, FP16, attention_case
from flashlearn.lessons.shared.grouped_cases import flagged
from flashlearn.machine.device import GPUS, KIB
from flashlearn.observation import Launch
from flashlearn.running.answer import Answer
from flashlearn.running.run_modes import Observed

H100 = GPUS["H100"]
MISTAKES = {
    name: tuned.MISTAKES[name]
    for name in ("log2 e is missing", "LSE in base 2", "no mask on the diagonal", "heads dealt round")
}


TARGET, PROGRAMS = 90, 3
"""An H100, and how many programs its multiprocessors have to hold."""

OVER = "Every case passes, but the kernel is over the budget"


def keeps_the_budget(answer: Answer, earlier: Earlier) -> str:
    """A sentence if the kernel for D 128 in bf16 spills, lacks wgmma, or leaves no room for two more."""
    case = attention_case(256, 256, 128, dtype=BF16, seed=66)
    launches = (
        answer.run(tuned.launcher_inputs(case, causal=False), Observed()).completed().observation.launches
    )
    for launch in {launch.name: launch for launch in launches}.values():
        if sentence := _over_budget(launch):
            return sentence
    return ""


def _over_budget(launch: Launch) -> str:
    if launch.unshippable:
        return f"Right, but its budget cannot be judged: {launch.unshippable}"
    (compiled,) = compiler.compile_launch(launch, targets=(TARGET,))
    if compiled.error:
        return f"{launch.name} does not run on an {compiled.device}: {compiled.error}"
    if compiled.tensor_cores != "wgmma":
        return (
            f"{OVER}: an {compiled.device} multiplies tiles of 64 rows and more of "
            f"16-bit numbers with its fast instruction, wgmma, and {launch.name} does not use it for bf16 "
            f"inputs ({compiled.constants}). In which type do the operands of its products arrive there?"
        )
    if compiled.spill_bytes:
        return (
            f"{OVER}: for D 128 in bf16 {launch.name} uses {compiled.registers} "
            f"registers per thread on an {compiled.device}, and spills {compiled.spill_bytes} bytes "
            f"({compiled.constants}). The budget is {PROGRAMS} programs on a multiprocessor with "
            f"{H100.registers_per_sm} registers in all: how many does one program need for its scores and "
            "its sum for O alone, however many warps share them?"
        )
    return _too_few_programs(launch, compiled)


def _too_few_programs(launch: Launch, compiled: compiler.Budget) -> str:
    by_registers, by_shared = programs_that_fit(compiled.registers, compiled.shared_bytes, compiled.warps)
    if min(by_registers, by_shared) >= PROGRAMS:
        return ""
    limits = f"its registers allow {by_registers}, its shared memory {by_shared}"
    ask = (
        "How many tiles of K and V lie in shared memory at the same time?"
        if by_shared < PROGRAMS
        else "Which values of the step are still needed when V is loaded, and which could be finished before?"
    )
    return (
        f"{OVER}: {PROGRAMS} programs must be able to share a multiprocessor. For D 128 in bf16 "
        f"{launch.name} takes {compiled.registers} registers per thread and "
        f"{compiled.shared_bytes / KIB:.0f} KiB of shared memory on an {compiled.device} "
        f"({compiled.constants}): {limits}. {ask}"
    )


def programs_that_fit(registers: int, shared: int, warps: int) -> tuple[int, int]:
    """How many programs a multiprocessor of an H100 holds, by registers and by shared memory.

    Registers are given to a warp in multiples of 8 for each thread, and every block of threads takes a KiB of
    shared memory more (CUDA C++ Programming Guide, technical specifications per compute capability).
    """
    by_registers = H100.registers_per_sm // (-(-registers // 8) * 8 * 32 * warps)
    return by_registers, H100.shared_per_sm // (shared + KIB)


CASES = (
    *(c for c in COMMON if not c.gpu and (c.sizes["S_k"] in (16, 48) or c.sizes["D"] == 128)),
    flagged(attention_case(24, 40, 32, dtype=BF16, seed=18), True),
    flagged(attention_case(20, 40, 16, data="negative alpha", seed=19), False),
    *EDGES,
    flagged(attention_case(24, 100, 32, seed=20), False),
    flagged(attention_case(40, 24, 32, seed=22), True),
    flagged(attention_case(20, 150, 32, dtype=FP16, seed=21), True),
)
"""The upper half of the components is not empty in the last three; in the last but one, queries that see
nothing share a block with others."""


_forward = tuned.tuned_forward

lean_forward = dataclasses.replace(
    _forward,
    name="lean_forward",
    title="Three programs of the forward pass on one multiprocessor",
    cases=CASES,
    judged=dataclasses.replace(_forward.judged, review=keeps_the_budget, real_sizes={}),
    timed=HowTimed(peer=_forward.timed.peer, peer_name=_forward.timed.peer_name, case=TIMED),
    solution="flashlearn.lessons.lesson_12_tuning.lean:lean_forward",
    explained=HowExplained(
        mistakes=MISTAKES,
        catalogue=tuned.CATALOGUE,
        quantities=_forward.explained.quantities,
        weights=_forward.explained.weights,
    ),
    points=2,
)
