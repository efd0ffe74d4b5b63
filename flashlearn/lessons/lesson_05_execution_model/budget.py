"""`budget`: what a block shape costs, before it is launched."""

from __future__ import annotations

import dataclasses

import sympy as sp
import torch

from flashlearn.exercise import Case, Exercise, HowExplained, HowJudged, Inputs, Kind, Mistake
from flashlearn.lessons.lesson_05_execution_model.block_budget import (
    BUDGET_ARGUMENTS,
    RESERVED,
    WARP,
    accumulator_registers,
    block_budget,
)
from flashlearn.lessons.lesson_05_execution_model.compiled_budget import budget_review
from flashlearn.lessons.shared.faulty_formulas.faults import NONE, Faults, faulty_formula
from flashlearn.machine import device
from flashlearn.report.units import plural


def faulty_budget(
    block_m, block_n, block_k, size, buffers, warps, registers, gpu, faults: Faults = NONE
) -> tuple[sp.Expr, sp.Expr, sp.Expr]:
    """What a tiled product's block costs, with faults by name."""
    accumulator = accumulator_registers(block_m, block_n, warps)
    if "per warp" in faults:
        accumulator *= WARP
    if "accumulator rounded down" in faults:
        accumulator = sp.floor(accumulator)
    if "accumulator of the inputs' size" in faults:
        accumulator *= sp.Rational(size, 4)
    shared = block_m * block_k + block_k * block_n
    shared *= 1 if "elements" in faults else size
    shared *= 1 if "one buffer" in faults else buffers
    if "accumulator staged" in faults:
        shared += block_m * block_n * 4
    blocks = min(_limits(shared, warps, registers, gpu, faults))
    if "share of blocks" in faults:
        occupancy = sp.Rational(blocks, gpu.blocks_per_sm)
    elif "blocks over warps" in faults:
        occupancy = sp.Rational(blocks, gpu.warps_per_sm)
    else:
        occupancy = sp.Rational(blocks * warps, gpu.warps_per_sm)
    shared += RESERVED if "reserve returned" in faults else 0
    return accumulator, shared, occupancy * (100 if "percent" in faults else 1)


def _limits(shared, warps, registers, gpu, faults: Faults) -> list[sp.Expr]:
    """The number of blocks that each resource of a multiprocessor has room for."""
    if "registers rounded down" in faults:
        registers = registers // 8 * 8
    elif "registers as given" not in faults:
        registers = -(-registers // 8) * 8
    reserved = 0 if faults & {"nothing reserved", "reserved once"} else RESERVED
    reserved = 1000 if "1000 reserved" in faults else reserved
    once = RESERVED if "reserved once" in faults else 0
    threads = warps if "one thread per warp" in faults else WARP if "one warp" in faults else WARP * warps
    limits = {
        "no limit of warps": (gpu.warps_per_sm, warps),
        "no limit of registers": (gpu.registers_per_sm, registers * threads),
        "no limit of shared memory": (gpu.shared_per_sm - once, shared + reserved),
    }
    fitting = [sp.Rational(a, b) for fault, (a, b) in limits.items() if fault not in faults]
    if "blocks rounded up" in faults:
        fitting = [sp.ceiling(blocks) for blocks in fitting]
    elif "fractions of a block" not in faults:
        fitting = [sp.floor(blocks) for blocks in fitting]
    return fitting if "no limit of blocks" in faults else [*fitting, gpu.blocks_per_sm]


formula = faulty_formula(faulty_budget)

MISTAKES = {
    "buffers forgotten": Mistake(
        "The shared memory is one tile of A and one of B; the loop keeps `buffers` pairs in flight.",
        "Multiply by buffers.",
        **formula("one buffer"),
    ),
    "elements, not bytes": Mistake(
        "The shared memory is counted in elements; it is asked for in bytes.",
        "Multiply by size, the bytes per element.",
        **formula("elements"),
    ),
    "accumulator in shared memory": Mistake(
        "The shared memory includes the accumulator's tile. It lives in registers, BLOCK_M · BLOCK_N fp32 "
        "numbers spread over the program's threads.",
        "Only what is loaded is staged: a tile of A and a tile of B per buffer.",
        **formula("accumulator staged"),
    ),
    "accumulator of a warp": Mistake(
        "Your accumulator is 32 times what one thread holds, as if it were divided among the warps: a warp "
        "has 32 threads.",
        "BLOCK_M · BLOCK_N numbers over 32 · warps threads.",
        **formula("per warp"),
    ),
    "accumulator of the inputs' size": Mistake(
        "Your accumulator's numbers take as many bytes as the inputs'. They are fp32 whatever the inputs "
        "are, so each takes four bytes: one register.",
        "BLOCK_M · BLOCK_N, divided by 32 · warps threads: the inputs' size does not enter.",
        **formula("accumulator of the inputs' size"),
    ),
    "accumulator rounded down": Mistake(
        "The accumulator's registers per thread are rounded down. The exercise asks for the quotient itself, "
        "which is a fraction where there are more threads than elements.",
        "Divide with /, which keeps the fraction.",
        **formula("accumulator rounded down"),
    ),
    "limited by shared memory alone": Mistake(
        "Your occupancy is what it would be if registers set no limit, or hardly any. Here they run out "
        "first: every thread of a block has its own, 32 threads to a warp.",
        "How many blocks of 32 · warps threads does the register file have room for?",
        **formula("no limit of registers", also=("one thread per warp", "one warp")),
    ),
    "limited by registers alone": Mistake(
        "Your occupancy is what it would be if shared memory set no limit. Here it runs out first: every "
        "resident block has its own.",
        "How many blocks of shared + 1024 bytes fit into the multiprocessor?",
        **formula("no limit of shared memory"),
    ),
    "no shared memory reserved": Mistake(
        "Your occupancy is what it would be without the 1 KiB of shared memory that the system takes for "
        "each resident block, in addition to what the kernel asks for.",
        "How many blocks of shared + 1024 bytes fit into the multiprocessor?",
        **formula("nothing reserved"),
    ),
    "the reserve in shared": Mistake(
        "Your shared memory includes the 1 KiB that the system takes for each resident block. The kernel "
        "does not ask for it: it counts only where the blocks share a multiprocessor's memory.",
        "Keep the two apart: the bytes of the tiles, and those of a resident block, 1024 more.",
        **formula("reserve returned"),
    ),
    "shared memory reserved once": Mistake(
        "You subtracted 1 KiB for the system only once for the whole multiprocessor. The system reserves "
        "1 KiB for each resident block.",
        "How many blocks of shared + 1024 bytes fit into the multiprocessor?",
        **formula("reserved once"),
    ),
    "a thousand bytes reserved": Mistake(
        "You took 1000 bytes for what the system reserves for each resident block. It is 1 KiB, 1024 bytes.",
        "How many blocks of shared + 1024 bytes fit into the multiprocessor?",
        **formula("1000 reserved"),
    ),
    "occupancy in percent": Mistake(
        "Your occupancy is 100 times too large: a share of the warps, asked for as a number from 0 to 1.",
        "Leave the factor 100 out.",
        **formula("percent"),
    ),
    "occupancy of blocks": Mistake(
        "Your occupancy counts resident blocks. The exercise asks for the share of the warps that are "
        "resident.",
        "Occupancy is the number of resident warps over the number that a multiprocessor can hold.",
        **formula("share of blocks", also=("blocks over warps",)),
    ),
    "registers not rounded": Mistake(
        "The registers per thread are not rounded up to a multiple of 8. Registers are allocated in "
        "multiples of 8: 97 per thread take up as much of the register file as 104.",
        "Round up first, then multiply by the threads of a block.",
        **formula("registers as given"),
    ),
    "registers rounded down": Mistake(
        "Where your occupancy is wrong, the registers per thread are rounded down to a multiple of 8. They "
        "are rounded up: 97 per thread take up as much of the register file as 104.",
        "Round up first, then multiply by the threads of a block.",
        **formula("registers rounded down"),
    ),
    "fractions of a block": Mistake(
        "You counted fractions of blocks. A block is resident as a whole or not at all: where there is room "
        "for 2.56, there are 2.",
        "Round the number of blocks down, with //.",
        **formula("fractions of a block"),
    ),
    "blocks rounded up": Mistake(
        "You rounded the number of resident blocks up. A block without room of its own waits until another "
        "has ended.",
        "Round the number of blocks down, with //.",
        **formula("blocks rounded up"),
    ),
    "limit of warps forgotten": Mistake(
        "The number of warps that a multiprocessor can hold is limited, and your occupancy leaves that limit "
        "out.",
        "There are four limits: shared memory, registers, warps and blocks. Take the smallest.",
        **formula("no limit of warps"),
    ),
    "limit of blocks forgotten": Mistake(
        "The number of blocks that a multiprocessor can hold is limited, however small they are, and your "
        "occupancy leaves that limit out.",
        "There are four limits: shared memory, registers, warps and blocks. Take the smallest.",
        **formula("no limit of blocks"),
    ),
}


_SMALLER = {  # where a few bytes decide how many blocks fit
    f"H100 with {size:,} bytes": dataclasses.replace(device.GPUS["H100"], shared_per_sm=size)
    for size in (102_336, 93_200, 93_136)
}
_GPUS = {**device.GPUS, **_SMALLER}


def budget_inputs(case: Case, generator: torch.Generator) -> Inputs:
    """The case's numbers, and the GPU that its `data` names."""
    return {name: sp.Integer(case.sizes[name]) for name in BUDGET_ARGUMENTS} | {"gpu": _GPUS[case.data]}


def _case(gpu: str, shape: str, size: int, buffers: int, warps: int, registers: int, why: str = "") -> Case:
    values = (*map(int, shape.split("×")), size, buffers, warps, registers)
    title = f"{shape}, {buffers} buffers, {plural(warps, 'warp')}, {registers} registers, {gpu}{why}"
    return Case(title, dict(zip(BUDGET_ARGUMENTS, values, strict=True)), data=gpu)


CASES = (
    _case("H100", "64×64×32", 2, 3, 4, 59),
    _case("A100", "64×64×64", 2, 2, 4, 64),
    _case("H100", "128×128×64", 2, 4, 8, 110),
    _case("A100", "128×128×32", 2, 2, 4, 222),
    _case("RTX 4090", "64×64×32", 2, 2, 4, 97),  # allocated as 104: four blocks, where 97 would give five
    _case("H100", "32×32×16", 2, 2, 16, 24),
    _case("H100", "16×16×16", 2, 2, 16, 24),  # half a register of each thread
    _case("H100", "16×16×16", 2, 2, 1, 40),
    _case("A100", "64×64×16", 2, 2, 4, 64),  # a multiple of 8 is not rounded
    _case("H100", "128×256×64", 4, 3, 8, 255, ": too large"),
    _case("H100 with 102,336 bytes", "64×64×32", 2, 3, 4, 40),  # four blocks lack 64 bytes
)

FRESH = (
    _case("A100", "32×128×32", 2, 3, 4, 45),
    _case("H100", "128×64×16", 4, 2, 2, 77),
    _case("RTX 4090", "16×64×32", 2, 4, 1, 33),
    _case("A100", "16×16×32", 2, 2, 16, 24),  # half a register of each thread
    _case("A100", "32×64×16", 2, 2, 4, 97),  # limited by registers, which are rounded up
    _case("A100", "16×16×16", 2, 2, 1, 24),  # more blocks would fit than an SM may hold
    _case("H100", "64×32×16", 2, 2, 16, 20),  # few registers, many warps
    _case("H100", "256×128×64", 4, 4, 8, 200, ": too large"),
    _case("H100 with 93,200 bytes", "32×64×16", 2, 4, 4, 40),  # seven blocks, and 16 bytes are left
    _case("H100 with 93,136 bytes", "32×64×16", 2, 4, 4, 40),  # seven blocks lack 48 bytes
    _case("H100", "16×16×64", 2, 2, 1, 24),  # limited by shared memory, of which each KiB counts
)
"""Further blocks, at which an edit of a wrong answer must be right to be believed."""


budget = Exercise(
    name="budget",
    lesson="05",
    kind=Kind.SYMBOLIC,
    title="What a block shape costs, computed before launching it",
    signature="(block_m, block_n, block_k, size, buffers, warps, registers, gpu) -> "
    "(accumulator, shared, occupancy)",
    outputs=("accumulator", "shared", "occupancy"),
    inputs=budget_inputs,
    cases=CASES,
    judged=HowJudged(
        reference=block_budget,
        review=budget_review,
    ),
    explained=HowExplained(
        mistakes=MISTAKES,
        fresh=FRESH,
    ),
    points=2,
)
