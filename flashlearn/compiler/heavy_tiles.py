"""Which line of a kernel takes most of the registers or of the shared memory, from the compiler's IR.

    >>> largest(ttgir, warps=4)["shared"]
    HeavyTile(bytes=114688, words='7 × fp16 (64, 128)', function=0, line=36)

Triton's GPU dialect (TTGIR) names every buffer in shared memory (`local_alloc`), every tile that a thread
block holds in registers, and for each the line it comes from. Buffers that only appear later, while layouts
are converted, have no name there: a line is given only for what is named.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

WIDTH = {"f64": 64, "f32": 32, "i32": 32, "f16": 16, "bf16": 16, "i64": 64, "i16": 16, "i8": 8, "i1": 8}
NAMES = {"f64": "fp64", "f32": "fp32", "f16": "fp16", "f8E4M3FN": "fp8e4nv", "f8E5M2": "fp8e5"}
IN_REGISTERS = re.compile(r"= (?:tt\.dot|ttng\.warp_group_dot|tt\.load)\b")


@dataclass(frozen=True)
class HeavyTile:
    """`bytes` of one tile (with its copies, of a pipeline), its type in words, the function and its line."""

    bytes: int
    words: str
    function: int
    line: int


def largest(ttgir: str) -> dict[str, HeavyTile]:
    """The largest buffer in "shared" memory and the largest tile in "registers", where they are known."""
    places = _Places(ttgir)
    found: dict[str, HeavyTile] = {}
    for line in ttgir.splitlines():
        where = "shared" if "ttg.local_alloc" in line else "registers" if IN_REGISTERS.search(line) else ""
        kinds = re.findall(r"(?:memdesc|tensor)<([0-9x]+)x(\w+)[,>]", line) if where else []
        place = places.of(line)
        if not kinds or place is None:
            continue
        sizes, element = kinds[-1]  # the result's type comes last
        shape = [int(size) for size in sizes.split("x")]
        nbytes = math.prod(shape) * WIDTH.get(element, 8) // 8
        if nbytes > (found[where].bytes if where in found else 0):
            found[where] = HeavyTile(nbytes, _words(shape, element, where), *place)
    return found


def _words(shape: list[int], element: str, where: str) -> str:
    copies, tile = ([], shape) if where == "registers" or len(shape) < 3 else (shape[:1], shape[1:])
    sizes = ", ".join(map(str, tile)) + "," * (len(tile) == 1)
    return "".join(f"{n} × " for n in copies if n > 1) + f"{NAMES.get(element, element)} ({sizes})"


class _Places:
    """The locations that end the lines of an MLIR text: named ones, names of names, and call sites."""

    def __init__(self, text: str):
        self.known = dict(re.findall(r"^(#loc\d*) = loc\((.*)\)$", text, re.MULTILINE))

    def of(self, line: str) -> tuple[int, int] | None:
        """The learner's function and line that an operation comes from; None if it is not the learner's."""
        found = re.search(r"loc\((#loc\d*)\)\s*$", line)
        return self._resolve(found[1], 0) if found else None

    def _resolve(self, name: str, depth: int) -> tuple[int, int] | None:
        text = self.known.get(name, "")
        if found := re.match(r"\"<shipped (\d+)>\":(\d+):", text):
            return int(found[1]), int(found[2])
        for inner in re.findall(r"#loc\d*", text):  # for a call site, the callee comes before the caller
            place = self._resolve(inner, depth + 1) if depth < 20 else None
            if place is not None:
                return place
        return None
