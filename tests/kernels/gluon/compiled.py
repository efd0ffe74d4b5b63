"""Hopper kernels compiled where no GPU is, and what the assembler says of them."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import triton
from triton.backends.compiler import GPUTarget
from triton.backends.nvidia.compiler import get_ptxas
from triton.experimental.gluon import language as gl
from triton.experimental.gluon._runtime import GluonASTSource

__all__ = ["Assembled", "assembled", "numbers", "tile"]

DTYPES = {"bf16": gl.bfloat16, "fp16": gl.float16, "fp32": gl.float32}


@dataclass(frozen=True)
class Assembled:
    """Bytes of shared memory and of spills, and the PTX with the assembler's words on it."""

    shared: int
    spilled: int
    ptx: str
    words: str


def tile(block: list[int], dtype: str = "bf16") -> str:
    """The type of a descriptor of such blocks, in the order that WGMMA reads."""
    layout = gl.NVMMASharedLayout.get_default_for(block, DTYPES[dtype])
    return f"tensordesc<{dtype}{block},{layout!r}>"


def numbers(block: int) -> str:
    """The type of a descriptor of consecutive fp32 elements."""
    layout = gl.NVMMASharedLayout(swizzle_byte_width=0, element_bitwidth=32, rank=1)
    return f"tensordesc<fp32{[block]},{layout!r}>"


def assembled(
    kernel: Any, types: dict[str, str], constants: dict[str, Any], folder: Path, warps: int = 4
) -> Assembled:
    """The kernel compiled for sm_90a."""
    names = kernel.arg_names
    source = GluonASTSource(
        kernel,
        {name: types.get(name, "constexpr") for name in names},
        constexprs={(names.index(name),): value for name, value in constants.items()},
    )
    made = triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": warps})
    ptx = folder / "kernel.ptx"
    ptx.write_text(made.asm["ptx"])
    command = [get_ptxas(90).path, "-v", "--gpu-name=sm_90a", str(ptx), "-o", str(folder / "kernel.cubin")]
    words = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    spilled = max([int(n) for n in re.findall(r"(\d+) bytes spill stores", words)], default=0)
    return Assembled(made.metadata.shared, spilled, made.asm["ptx"], words)
