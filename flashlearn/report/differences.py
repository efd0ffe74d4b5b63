"""Where a check on the CPU and a GPU may differ: the rows of docs/interpreter-and-gpu.md, and of the card."""

from __future__ import annotations

from typing import NamedTuple

PAGE = "docs/interpreter-and-gpu.md"


class Difference(NamedTuple):
    """One thing that is not the same, and a sentence on what follows for a kernel."""

    what: str
    here: str
    gpu: str
    follows: str


DIFFERENCES = (
    Difference(
        "fp32 products in `tl.dot`",
        "in fp32",
        'in TF32, which keeps 10 bits of each operand, unless you ask for `input_precision="ieee"`',
        "The error there is about a thousand times larger; a note says so.",
    ),
    Difference(
        "bf16, fp16 and fp8",
        "rounded at each operation as the hardware does",
        "the same",
        "An accumulator in half precision shows here too.",
    ),
    Difference(
        "products of two fp8 tiles",
        "summed in fp32",
        "summed in about 14 bits on Hopper GPUs",
        "Errors are about a thousand times larger there; the allowed error leaves room for one tile's sum.",
    ),
    Difference(
        "the order inside a sum",
        "NumPy's",
        "that of warps and tensor cores",
        "The last bits differ; the allowed error leaves room for that.",
    ),
    Difference(
        "programs",
        "run one after another, in a shuffled order",
        "run many at a time, in no order",
        "Races are found by comparing accesses; a program that waits for another is started again after it; "
        "if it has already written something, only a GPU can show how it ends.",
    ),
    Difference(
        "partitions of a Gluon kernel",
        "take turns, in several orders; an asynchronous operation counts as done once it has been waited for",
        "run concurrently; copies and products may finish at any time",
        "A missing wait, fence or arrival is reported here whatever the order; there it shows only "
        "occasionally.",
    ),
    Difference(
        "the order of atomics",
        "that of the programs, the same for each seed",
        "different in each run",
        "Sums made with `tl.atomic_add` differ in the last bits from run to run.",
    ),
    Difference(
        "`exp`, `log`, `sqrt` and division",
        "NumPy's, in fp32",
        "approximations, off by a few units in the last place",
        "The difference is far below what is allowed.",
    ),
    Difference(
        "a product and the sum after it",
        "are rounded twice",
        "may be fused and rounded once",
        "The last bit may differ.",
    ),
    Difference(
        "lanes that a mask hides from a load without `other=`",
        "hold NaN",
        "hold whatever was in the register, often 0",
        "A kernel that uses them usually fails here; there, only sometimes.",
    ),
    Difference(
        "memory from `torch.empty`",
        "holds NaN",
        "holds what was there before, often 0",
        "An element that is never written is caught here.",
    ),
    Difference(
        "an access outside a tensor",
        "stops the kernel, and the report names the line and the program",
        "reads or overwrites a neighbour, or ends the session",
        "No check launches a kernel for real before it has passed here.",
    ),
    Difference(
        "tensor descriptors",
        "respect the shape that they were given, and TMA's rules for strides and start addresses",
        "are TMA's on a Hopper GPU, pointers and masks on an older one",
        "A kernel that creates its own needs `triton.set_allocator` there; a note says so.",
    ),
    Difference(
        "time",
        "predicted from bytes and operations, as a lower bound",
        "measured",
        "Both name the shape and the dtype that they are for.",
    ),
    Difference(
        "registers, shared memory, occupancy",
        "from the real compiler, for an A100, an H100 and an RTX 4090",
        "the same, with the GPU that is present in place of the RTX 4090",
        "They are for the types and constants shown with them.",
    ),
)
