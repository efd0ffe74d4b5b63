"""What the compiler says, in words that help: one sentence per refusal.

    >>> sentence("CompilationError", "Input shapes should have … K >= 16", "H100 (sm_90)", {})
    '`tl.dot` needs an inner dimension K >= 16 on a GPU and …'

The interpreter accepts most of these; a GPU does not. A message that no rule knows is passed on as it is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flashlearn.compiler.heavy_tiles import HeavyTile

MOST_REGISTERS = 255  # per thread, on every GPU since Kepler (CUDA C++ Programming Guide)

RULES: tuple[tuple[str, str], ...] = (
    (
        r"K >= (\d+)",
        "`tl.dot` needs an inner dimension K >= {0} on a GPU and this one is smaller: make that block at "
        "least {0} wide, and let the mask fill what lies beyond the data with zeros.",
    ),
    (
        r"operands must be same dtype\. Got (\w+) and (\w+)",
        "`tl.dot` multiplies tiles of one dtype, and these are {0} and {1}: convert one with `.to(...)`.",
    ),
    (
        r"equal reduction dimensions",
        "The inner dimensions of this `tl.dot` differ; (M, K) times (K, N) needs one K: "
        "is a transpose missing?",
    ),
    (
        r"incompatible dimensions at index (\d+): (\d+) and (\d+)",
        "Two tiles meet here whose sizes differ in dimension {0}, {1} against {2}: only a size of 1 is "
        "stretched, so check which axis `[:, None]` or `[None, :]` adds.",
    ),
    (
        r"Cannot access global variable (\w+)",
        "The kernel reads the global `{0}`, a plain Python value, which compiled code cannot follow: pass it "
        "as an argument, or write `{0} = tl.constexpr(...)`.",
    ),
    (
        r"Loop-carried variable (\w+) has initial type (.+?) but is re-assigned to (.+?) in loop",
        "`{0}` enters the loop as {1} and leaves it as {2}: a variable keeps one shape and dtype through a "
        "loop. Decide on one, fp32 for a sum, for the value before the loop (`tl.full`, `tl.zeros`), and "
        "convert what is assigned inside to it with `.to(...)`.",
    ),
    (
        r"Loop carried variable (\w+) changed type, was .*constexpr",
        "`{0}` is a constant in the compiled kernel, but the loop assigns it a new value: give the "
        "variable another name before the loop.",
    ),
    (
        r"initial value for `(\w+)` is of type (.+?), but the (\w+) block redefines it as (.+)",
        "`{0}` is another type before this `if` than after its {2} branch: the lines below are compiled once "
        "for both, so convert with `.to(...)`.",
    ),
    (
        r"Mismatched type for (\w+) between then block \((.+?)\) and else block \((.+?)\)$",
        "`{0}` is {1} on one side of this `if` and {2} on the other: the lines below are compiled once for "
        "both, so convert with `.to(...)`.",
    ),
    (
        r"For loop bounds and step must all be ints, are \((.+)\)",
        "The start, end and step of this loop are {0}, and all must be integers: `//` divides integers.",
    ),
    (
        r"arange's range must be a power of 2|shape element \d+ must be a power of 2",
        "The sizes of a tile must be powers of two: take the next one up (`triton.next_power_of_2`) and mask "
        "the rest.",
    ),
    (
        r"arange's arguments must be of type tl\.constexpr|Shape element \d+ must have type `constexpr",
        "The size of a tile must be known at compile time: declare that parameter as `name: tl.constexpr`.",
    ),
    (
        r"numel \((\d+)\) exceeds triton maximum tensor numel \((\d+)\)",
        "This tile has {0} elements; the compiler takes at most {1}: work through it in smaller blocks.",
    ),
    (
        r"type (\w+) not supported in this architecture\. The supported fp8 dtypes are \((.*?)\)",
        "An {device} has no {0}; its fp8 dtypes are {1}.",
    ),
    (r"module '(?:\w+\.)*language' has no attribute '(\w+)'", "`tl.{0}` does not exist: is it misspelled?"),
    (r"module '(\S+)' has no attribute '(\w+)'", "`{1}` does not exist in {0}: is it misspelled?"),
    (
        r"unsupported AST node type: (\w+)",
        "A compiled kernel cannot contain this kind of statement ({0}): only arithmetic, assignments, "
        "`if`, `for`, `while` and calls of jitted functions.",
    ),
    (
        r"unsupported tensor index",
        "A tile cannot be indexed by a number: load the element through its own pointer, or select it with a "
        "mask and a reduction.",
    ),
    (
        r"Boolean value of Tensor with more than one value is ambiguous",
        "`if` asks a whole tile for one answer: choose per element with `tl.where`.",
    ),
    (
        r"Unsupported ptr type (.+) in `(tl\.\w+)`",
        "`{1}` needs pointers and got {0}: add the offsets to one of the kernel's pointers.",
    ),
    (
        r"Value argument cannot be block type if pointer argument is not a block",
        "A whole tile is stored through a single pointer: add a tile of offsets to it.",
    ),
    (
        r"Expected dtype \[(.+?)\] but got (\w+)",
        "This function takes {0}, not {1}: convert with `.to(tl.float32)` first.",
    ),
    (
        r"expected accumulator dtype (\w+), got (\w+)",
        "The accumulator given to `tl.dot` is {1} and its result {0}: both have one dtype, fp32 unless "
        "`out_dtype=` says otherwise.",
    ),
    (
        r"unexpected type (\w+)",
        "This operator does not take {0}: `//`, `&`, `|`, `^` and shifts need integers.",
    ),
    (r"num_warps must be a power of 2", "`num_warps` must be a power of two."),
    (
        r"num_ctas > 1 requires NVIDIA SM90",
        "`num_ctas` above 1 asks for a cluster of blocks, which an {device} does not have: it came with the "
        "H100.",
    ),
)
"""Patterns of triton 3.6 to 3.9, and what to say. `{0}` is the first group, `{device}` the target."""

CRASH = (
    "The compiler itself failed on this kernel for an {device}: try a smaller tile, or simplify the kernel "
    "until it compiles."
)


def sentence(kind: str, message: str, device: str, foreign: Mapping[str, str]) -> str:
    """The learner's sentence for a compiler error of type `kind`.

    `device` reads like "H100 (sm_90)"; `foreign` says of names that the kernel uses what they are in Python.
    """
    text = first_line(message)
    if kind == "CompileTimeAssertionFailure":
        return text or "A `tl.static_assert` does not hold here."
    if found := re.search(r"^(\w+) is not defined", text):
        return _undefined(found[1], foreign)
    for pattern, answer in RULES:
        if found := re.search(pattern, text):
            return answer.format(*(type_in_words(group) for group in found.groups()), device=device)
    if kind == "PTXASError":
        return _assembler(message, device)
    if "PassManager" in text:
        return CRASH.format(device=device)
    if not text or text.startswith("at "):
        return f"The compiler for an {device} refuses this line and does not say why: check the dtypes in it."
    return f"The compiler for an {device} refuses this: {text.rstrip('.')}."


def resource_shortage(
    error: str, used: Mapping[str, int], warps: int, largest: Mapping[str, HeavyTile]
) -> tuple[str, HeavyTile | None]:
    """What to say of too much shared memory (`error`), else of registers that ran out; and the tile meant.

    `used` has the registers and bytes of stack of a thread, "REG" and "STACK". Nothing to say is "".
    """
    if error:
        tile = largest.get("shared") if "shared memory" in error else None
        more = (
            f" Its largest buffer is {tile.words}, {tile.bytes / 1024:.4g} KiB, for this line."
            if tile
            else ""
        )
        return error + more, tile
    if used.get("STACK", 0) == 0 and used.get("REG", 0) < MOST_REGISTERS:
        return "", None
    spilled = used.get("STACK", 0)
    say = (
        f"{spilled} bytes of each thread found no register and go to local memory, which is as slow as a "
        f"tensor's. A thread has {used.get('REG', 0)} registers here."
        if spilled
        else f"The kernel takes all {MOST_REGISTERS} registers that a thread can have."
    )
    tile = largest.get("registers")
    if tile is None:
        return f"{say} Smaller blocks or more warps leave room.", None
    share = tile.bytes / (4 * 32 * warps)
    return (
        f"{say} The largest tile, {tile.words} in this line, takes {share:.4g} of them by itself: smaller "
        "blocks or more warps leave room.",
        tile,
    )


def _assembler(message: str, device: str) -> str:
    """ptxas gives a reason in its first line of «fatal» or «error», amid much that is not for a learner."""
    found = re.search(r"ptxas (?:fatal|error)\s*: (?:\(\w+\) )?(.+)", message)
    reason = re.sub(r" at line \d+ in function \w+", "", found[1]) if found else "it gives no reason"
    return (
        f"NVIDIA's assembler, the last step, refuses this kernel for an {device} ({reason.rstrip('.')}): try "
        "a smaller tile, or other warps and registers."
    )


def _undefined(name: str, foreign: Mapping[str, str]) -> str:
    what = foreign.get(name, "")
    if what.startswith("the module"):
        return f"The kernel uses {what}, which runs in Python and not on a GPU: use what `tl` offers."
    if what == "a function":
        return f"The kernel calls `{name}`, a Python function: decorate it with `@triton.jit` too."
    if what:
        return f"The kernel uses `{name}`, {what}, which compiled code cannot hold: pass it as an argument."
    return (
        f"`{name}` is not defined here: misspelled, or assigned only inside an `if` or a loop "
        "(give it a value before that)."
    )


def first_line(message: str) -> str:
    """The first line, without the type name that `repr` puts around an exception's message."""
    text = message.strip()
    if found := re.fullmatch(r"\w+\((['\"])(.*)\1,?\)", text, re.DOTALL):
        text = found[2].replace("\\'", "'").replace("\\n", "\n")
    return text.split("\n")[0].strip()


def type_in_words(group: str | None) -> str:
    """A type as the compiler prints it, <['64', '32'], fp32>, without brackets and quotes: fp32 (64, 32)."""
    if group and (found := re.fullmatch(r"<\[(.*)\], (.*)>", group)):
        sizes = re.findall(r"\d+", found[1])
        return f"{found[2]} ({', '.join(sizes)}{',' * (len(sizes) == 1)})"
    return (group or "").replace("'", "")
