"""What the compiler wrote for a kernel: its PTX by line and by partition, with no GPU needed.

>>> ptx = ptx_of(specialised_matmul, a, b)
>>> instructions(ptx, produce, consume)[0]
Instruction(text='mov.u32 %r1, %tid.x;', file='kernels.py', line=12, function='produce')
"""

from __future__ import annotations

import inspect
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import triton
from torch import Tensor
from triton.backends.compiler import GPUTarget
from triton.runtime.jit import mangle_type

from flashlearn import compiler
from flashlearn.compiler.listing import listing
from flashlearn.interpreter.route import observing
from flashlearn.interpreter.specialization import source_of
from flashlearn.observation import Launch

LOC = re.compile(r"^\s*\.loc\s+(\d+) (\d+) \d+")
FILE = re.compile(r'^\s*\.file\s+(\d+) "([^"]*)"', re.M)
INSTRUCTION = re.compile(r"^\s+(?:@!?\S+ )?([a-z][\w.:]*)(?:\s[^;]*)?;")
LABEL = re.compile(r"^(\$L__BB\w+):")
JUMP = re.compile(r"\bbra(?:\.uni)?\s+(\$L__BB\w+);")
OPENED = "before the partitions, or after them"
WAITING = "no function of yours"


class Instruction(NamedTuple):
    """One of PTX's: its text, and the line and the kernel function that it was compiled for."""

    text: str
    line: int
    function: str

    @property
    def name(self) -> str:
        """What it does, without its operands: "wgmma.fence.sync.aligned"."""
        return INSTRUCTION.match(f" {self.text}")[1]


def last_launch(launcher: Callable, *inputs: Any, **more: Any) -> Launch:
    """What a launcher launches last, observed."""
    with observing() as (session, _):
        launcher(*inputs, **more)
    return session.launches[-1]


def ptx_of(launcher: Callable, *inputs: Any, **more: Any) -> str:
    """The PTX of what a launcher launches last, for an H100."""
    launch = last_launch(launcher, *inputs, **more)
    with _afresh():
        return str(listing(launch, 90)["ptx"])


def ptx_for(kernel: Any, *descriptors: Any, constants: Mapping[str, Any], **options: int) -> str:
    """The PTX of a kernel that takes descriptors and constants, without running it: for clusters, say."""
    names = list(inspect.signature(kernel.fn).parameters)
    signature = dict.fromkeys(names, "constexpr")
    signature |= {name: mangle_type(one) for name, one in zip(names, descriptors, strict=False)}
    given = {(names.index(name),): value for name, value in constants.items()}
    source = source_of(kernel, signature, given, {})
    with _afresh():
        return str(triton.compile(source, target=GPUTarget("cuda", 90, 32), options=options).asm["ptx"])


@contextmanager
def _afresh() -> Iterator[None]:
    """Compiled here and now: what lies in Triton's cache may name its source by another path."""
    with triton.knobs.compilation.scope():
        triton.knobs.compilation.always_compile = True
        yield


def instructions(ptx: str, *functions: Any) -> list[Instruction]:
    """The instructions in their order, with the line and, of these functions, the one that they belong to."""
    ranges = [_range(function) for function in functions]
    files = {number: Path(path).name for number, path in FILE.findall(ptx)}
    found, line, function = [], 0, ""
    for text in ptx.split("\n"):
        if at := LOC.match(text):
            line, function = int(at[2]), _function(ranges, files.get(at[1], ""), int(at[2]))
        elif INSTRUCTION.match(text):
            found.append(Instruction(" ".join(text.split("//")[0].split()), line, function))
    return found


def _range(function: Any) -> tuple[str, int, int, str]:
    plain = getattr(function, "fn", function)
    lines, first = inspect.getsourcelines(plain)
    return Path(inspect.getsourcefile(plain)).name, first, first + len(lines) - 1, plain.__name__


def _function(ranges: Sequence[tuple[str, int, int, str]], file: str, line: int) -> str:
    return next((name for of, first, last, name in ranges if of == file and first <= line <= last), "")


def names(ptx: str) -> list[str]:
    """Which instructions there are, in their order, without operands."""
    return [instruction.name for instruction in instructions(ptx)]


def count(ptx: str, *beginnings: str) -> dict[str, int]:
    """How many instructions begin with each of these: `count(ptx, "shfl", "st.shared")`."""
    there = names(ptx)
    return {beginning: sum(name.startswith(beginning) for name in there) for beginning in beginnings}


def by_line(ptx: str, pattern: str, kernel: Any) -> list[tuple[str, str]]:
    """The instructions of a kernel that match, each with the kernel's line that it was compiled for."""
    lines, first = inspect.getsourcelines(kernel.fn)
    return [
        (one.text, lines[one.line - first].strip() if one.function else "")
        for one in instructions(ptx, kernel)
        if re.search(pattern, one.text)
    ]


def loops(ptx: str, *functions: Any) -> dict[str, Counter]:
    """By function of the kernel, what a round of its innermost loop consists of: instructions by name."""
    texts = ptx.split("\n")
    begins = {label[1]: at for at, text in enumerate(texts) if (label := LABEL.match(text))}
    ends = [
        (begins[jump[1]], at)
        for at, text in enumerate(texts)
        if (jump := JUMP.search(text)) and begins.get(jump[1], at) < at
    ]
    inner = [(b, e) for b, e in ends if not any((b <= c and d < e) or (b < c and d <= e) for c, d in ends)]
    files = "\n".join(text for text in texts if FILE.match(text))
    found: dict[str, Counter] = {}
    for begin, end in inner:
        inside = instructions("\n".join(texts[begin : end + 1]) + "\n" + files, *functions)
        owners = Counter(one.function for one in inside if one.function)
        if owners:
            found[owners.most_common(1)[0][0]] = Counter(one.name for one in inside)
    return found


def moved_registers(ptx: str, *functions: Any) -> list[tuple[str, int, str]]:
    """Each `setmaxnreg`: "dec" gives back, "inc" takes, up to how many; and what comes next."""
    found: list[tuple[str, int, list[str]]] = []
    for one in instructions(ptx, *functions):
        if move := re.match(r"setmaxnreg\.(\w+)\S*\s+(\d+)", one.text):
            found.append((move[1], int(move[2]), []))
        elif found and one.function:
            found[-1][2].append(one.function)
    return [(way, count, _mostly(after)) for way, count, after in found]


def _mostly(functions: Iterable[str]) -> str:
    common = Counter(functions).most_common(1)
    return common[0][0] if common else WAITING


def spilled(launcher: Callable, *inputs: Tensor, **more: Any) -> tuple[int, int]:
    """What NVIDIA's assembler says of it: registers of a thread at the launch, and bytes that it spills."""
    (made,) = compiler.compile_launch(last_launch(launcher, *inputs, **more), targets=(90,))
    if made.error:
        raise ValueError(made.error)
    return made.registers, made.spill_bytes
