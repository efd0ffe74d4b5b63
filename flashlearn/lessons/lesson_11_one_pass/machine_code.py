"""What a launch compiles to for a GPU that need not be here, in the terms of a CUDA design.

>>> found = figures(launch, target=90)
>>> found.rows_of_a_warp, found.atomics
(16, {'atom.global.gpu.relaxed.add.v4.f32': 8})
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from flashlearn.compiler import compile_launch
from flashlearn.compiler.listing import listing
from flashlearn.observation import Launch

BLOCK_OF_A_PRODUCT = re.compile(
    r"nvidia_mma<\{versionMajor = \d+[^}]*warpsPerCTA = \[(\d+), (\d+)\], instrShape = \[(\d+)"
)


@dataclass(frozen=True)
class Figures:
    """Counts in the PTX: atomics by instruction, and those on shared memory; barriers, shuffles, conversions.

    `assembled` counts the atomics and reductions in the machine code.
    `warps` says how the warps of a program divide a product's tile, (down, across), and `rows_of_a_warp` how
    many rows one instruction gives each; `shared_bytes`, `registers` and `spill_bytes` are the compiler's.
    """

    atomics: dict[str, int]
    assembled: dict[str, int]
    shared_atomics: int
    barriers: int
    shuffles: int
    conversions: int
    warps: tuple[int, int]
    rows_of_a_warp: int
    shared_bytes: int
    registers: int
    spill_bytes: int


def figures(launch: Launch, target: int = 90) -> Figures:
    """What the compiler makes of a launch that has a product in it, for a compute capability."""
    code = listing(launch, target)
    ptx, layouts = code["ptx"], code["ttgir"]
    budget = compile_launch(launch, targets=(target,))[0]
    down, across, rows = map(int, BLOCK_OF_A_PRODUCT.search(layouts).groups())
    atomics = Counter(re.findall(r"\b(?:atom|red)\.[\w.]+", ptx))
    return Figures(
        atomics=dict(atomics),
        assembled=dict(Counter(re.findall(r"\b(?:ATOM|RED)\w*", machine_code(code["cubin"])))),
        shared_atomics=sum(count for name, count in atomics.items() if ".shared" in name),
        barriers=len(re.findall(r"\bbar\.sync", ptx)),
        shuffles=len(re.findall(r"\bshfl\.sync", ptx)),
        conversions=layouts.count("ttg.convert_layout"),
        warps=(down, across),
        rows_of_a_warp=rows,
        shared_bytes=budget.shared_bytes,
        registers=budget.registers,
        spill_bytes=budget.spill_bytes,
    )


def machine_code(cubin: bytes) -> str:
    """The instructions of a compiled kernel, by the disassembler that comes with triton."""
    import triton.backends.nvidia

    tool = Path(triton.backends.nvidia.__file__).parent / "bin" / "nvdisasm"
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        return subprocess.run([tool, "-c", file.name], capture_output=True, text=True, check=True).stdout
