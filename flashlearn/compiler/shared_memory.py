"""How much shared memory a block of a launch needs on a GPU that need not be here, without compiling it.

    >>> needed(specialised, 90)         # bytes, for compute capability 9.0
    294912

Triton decides it when it has planned a kernel's layouts and its pipeline, a tenth of a second from the start
and long before there is any code: its compiler is stopped there. It may fail an assertion and take its
process with it, so whoever asks does so in a forked process.
"""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Iterator
from typing import Any

from flashlearn.interpreter.specialization import TARGET, Specialization, is_gluon, source_of

FOR_ONE_TARGET = ("arch", "supported_fp8_dtypes", "deprecated_fp8_dot_operand_dtypes", "extern_libs")
"""Options that triton derives from the target itself."""
WIDTH = {"f64": 8, "i64": 8, "f32": 4, "i32": 4, "f16": 2, "bf16": 2, "i16": 2}
TILE = re.compile(r"tensor<([0-9x]+)x(\w+)>")
LOADS = ("tt.load ", "tt.descriptor_load ")
DOT = re.compile(r"tt\.dot(?:_scaled)? .* : tensor<([0-9x]+)x(\w+)> \* tensor<([0-9x]+)x(\w+)>")


class _Planned(BaseException):
    """The compiler has come as far as it should; its first argument is the pass manager."""


def needed(launch: Specialization, target: int) -> int | None:
    """Bytes of shared memory of one block; None where this triton does not say. Raises what triton raises."""
    module, stages, _context = _lowered(launch, target)
    metadata: dict[str, Any] = {}
    for name in ("ttir", "ttgir"):
        if name in stages:
            module = stages[name](module, metadata)
    with _stopping_before_code():
        try:
            stages["llir"](module, metadata)
        except _Planned as planned:
            planned.args[0].run(module, "make_llir")
    return module.get_int_attr("ttg.shared")


def bound(launch: Specialization) -> int:
    """Bytes that a block needs at most, on every GPU, in a fifth of the time. Raises what triton raises."""
    return upper_bound(str(_lowered(launch, TARGET)[0]), launch.options.num_stages)


def _lowered(launch: Specialization, target: int) -> tuple[Any, dict[str, Any], Any]:
    """A launch in Triton's IR, the compiler's stages from there, and the context, which has to be kept."""
    from triton._C.libtriton import ir
    from triton.backends.compiler import GPUTarget
    from triton.compiler.compiler import make_backend

    there = GPUTarget("cuda", target, 32)
    backend = make_backend(there)
    options = backend.parse_options(options_of(launch))
    source = source_of(launch.kernel, launch.signature, launch.constexprs, launch.attributes)
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    made = backend.get_codegen_implementation(options), backend.get_module_map()
    stages: dict[str, Any] = {}
    backend.add_stages(stages, options, source.language)
    return source.make_ir(there, options, *made, context), stages, context


def upper_bound(ttir: str, stages: int) -> int:
    """Bytes that a kernel in Triton's IR needs at most, whatever the target, by the tiles that it works on.

    Tiles that are loaded in a loop may be there once for each stage, other loaded ones and operands of
    products once; layouts are changed, and reductions made, in memory as large as the largest tile.
    """
    total = scratch = 0
    loop = [-1]  # indentations of the loops that a line is in
    for line in ttir.splitlines():
        indent = len(line) - len(line.lstrip())
        while indent <= loop[-1] and line.strip() and not line.lstrip().startswith("}"):
            loop.pop()
        if "scf.for" in line or "scf.while" in line:
            loop.append(indent)
        tiles = [_bytes(*tile) for tile in TILE.findall(line)]
        scratch = max(scratch, *tiles) if tiles else scratch
        if any(name in line for name in LOADS) and tiles:
            total += tiles[-1] * (max(stages, 1) if len(loop) > 1 else 1)
        elif found := DOT.search(line):
            total += _bytes(*found.groups()[:2]) + _bytes(*found.groups()[2:])
    return total + 2 * scratch


def _bytes(sizes: str, element: str) -> int:
    return math.prod(map(int, sizes.split("x"))) * WIDTH.get(element, 1)


def options_of(launch: Specialization) -> dict[str, Any]:
    """The options of a launch that hold for every target."""
    options = vars(launch.options)
    mixed = {"max_num_imprecise_acc_default"} if not is_gluon(launch.kernel) else set()
    return {name: value for name, value in options.items() if name not in {*FOR_ONE_TARGET, *mixed}}


@contextlib.contextmanager
def _stopping_before_code() -> Iterator[None]:
    """Inside the block the step that turns a plan into code ends the compilation."""
    from triton._C.libtriton import nvidia

    passes = nvidia.passes.ttgpuir
    to_code = passes.add_to_llvmir

    def stop(manager: Any, *_more: Any) -> None:
        raise _Planned(manager)

    passes.add_to_llvmir = stop
    try:
        yield
    finally:
        passes.add_to_llvmir = to_code
