"""What the compiler writes for a GPU that need not be here: PTX, and what the assembler says of it.

    >>> code = listing(observation.launches[0], target=90)
    >>> code["ptx"].count("bar.sync")

For kernels that are known to compile, such as a lesson's own: it runs in this process, without the
guards of `compile_launch`.
"""

from __future__ import annotations

import inspect
import os
import re
import subprocess
from collections.abc import Mapping

from flashlearn.compiler.packing import TUPLE, innermost
from flashlearn.interpreter.specialization import source_of
from flashlearn.observation import Launch

INSTRUCTIONS = {
    "ld.global": r"\bld\.global",
    "shfl.sync": r"\bshfl\.sync",
    "st.shared": r"\bst\.shared",
    "bar.sync": r"\bbar\.sync",
    "ld.shared": r"\bld\.shared",
}


def listing(launch: Launch, target: int = 90) -> Mapping[str, str | bytes]:
    """The stages of compiling a launch for a compute capability, by name: "ttir", "ttgir", "ptx", …"""
    import triton
    from triton.backends.compiler import BaseBackend, GPUTarget

    kernel = innermost(launch.kernel)
    if launch.specialised is not None and TUPLE in launch.signature.values():
        bound = launch.specialised
        source = source_of(kernel, bound.signature, bound.constexprs, bound.attributes)
        return triton.compile(source, target=GPUTarget("cuda", target, 32), options=dict(launch.options)).asm
    names = list(inspect.signature(kernel.fn).parameters)
    constants = {(names.index(name),): value for name, value in launch.constexprs.items()}
    signature = {name: launch.signature.get(name, "constexpr") for name in names}
    known = launch.divisible & launch.signature.keys()
    divisible = {(names.index(name),): BaseBackend.parse_attr("D") for name in known}
    source = source_of(kernel, signature, constants, divisible)
    return triton.compile(source, target=GPUTarget("cuda", target, 32), options=dict(launch.options)).asm


def counts(ptx: str) -> dict[str, int]:
    """How often each instruction that moves or exchanges data stands in the PTX."""
    return {name: len(re.findall(pattern, ptx)) for name, pattern in INSTRUCTIONS.items()}


def widths(ptx: str) -> dict[int, int]:
    """How many loads from global memory move 4, 8 or 16 bytes per thread, cp.async included."""
    found: dict[int, int] = {}
    for lanes, bits in re.findall(r"\bld\.global(?:\.\w+)*?(?:\.v(\d))?\.b(\d+)\b", ptx):
        width = int(lanes or 1) * int(bits) // 8
        found[width] = found.get(width, 0) + 1
    for size in re.findall(r"\bcp\.async\.c[ag]\.shared\.global[^;]*?\], (0x[0-9a-f]+|\d+)", ptx):
        found[int(size, 0)] = found.get(int(size, 0), 0) + 1
    return dict(sorted(found.items()))


def assemble(ptx: str, target: int = 90) -> str:
    """What NVIDIA's assembler, which comes with Triton, says of a piece of PTX; "" if it accepts it."""
    from triton.backends.nvidia.compiler import get_ptxas

    own = "a" if f".target sm_{target}a" in ptx else ""  # with instructions of this architecture alone
    command = [get_ptxas(target).path, f"-arch=sm_{target}{own}", "-", "-o", os.devnull]
    done = subprocess.run(command, input=ptx, capture_output=True, text=True, timeout=30)
    return (done.stdout + done.stderr).strip() if done.returncode else ""
