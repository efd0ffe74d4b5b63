# %% [markdown]
# # Hopper and FlashAttention-3
#
# On a Hopper GPU the fast units work asynchronously. A copy engine moves tiles, tensor cores multiply them, and the
# line of your kernel that started the operation is finished long before the operation itself. A kernel is fast if all
# units are busy at the same time, and right if nothing is read before it is there. Triton handles both for you. In
# this lesson you do it yourself in Gluon, which is Triton with explicit layouts, barriers and warps.
#
# **Afterwards you can**
#
# - copy a tile into shared memory with one instruction, and use a barrier to know when it is there;
# - say which thread holds which element of a tile, what another layout costs, and in which banks a tile is stored;
# - stream tiles through a ring of buffers, and know the slot and the phase of each tile;
# - issue asynchronous products, say from which line on their operands may be overwritten and their sum be read, and
#   which fences of the compiled kernel are yours and which the compiler's;
# - divide a kernel into a producer and consumers that synchronise at barriers, and see in a timeline which waits for
#   which;
# - move registers from warps that need few to those that need many, let consumers take turns, and overlap a softmax
#   with a product;
# - read, and write, FlashAttention-3.
#
# **You need** lessons 05 and 06, and lesson 12 for what has to overlap. **No GPU is needed.** Without one, kernels
# run in an interpreter, the *observer*: there no asynchronous operation has happened until it was waited for, and a
# read that comes too early is reported, with its line and that of the operation that had not been waited for. On a
# Hopper GPU (an H100, H200 or GH200) checks compile and time the same kernels.
#
# **It takes** nine sittings, eight of about an hour and the last of two to three hours, and then there is a project.
# The sittings are: 1 one tile; 2 layouts; 3 shared memory; 4 a ring; 5 products; 6 a producer and two consumers; 7
# registers; 8 ping-pong, and a softmax during a product; 9 FlashAttention-3.

# %%
import re
import textwrap
from collections import Counter

import torch
import triton
from torch import Tensor
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import (
    fence_async_shared,
    mbarrier,
    tma,
    warpgroup_mma,
    warpgroup_mma_wait,
)
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

import flashlearn
from flashlearn.compiler.listing import listing
from flashlearn.interpreter.gluon import timeline
from flashlearn.interpreter.gluon.sync_faults import SyncError
from flashlearn.interpreter.route import observing
from flashlearn.kernels.gluon import specialised_matmul as finished_matmul
from flashlearn.kernels.gluon.parts import (
    accumulator,
    complying_rows,
    operand_a,
    refuse_product,
    rows_of_heads,
    tiles_of,
)
from flashlearn.kernels.gluon.tma_copy import tma_copy as finished_copy
from flashlearn.lessons.lesson_13_hopper import (
    attempts,
    exponential,
    forward_variants,
    layout_pictures,
    layouts,
    pictures,
    ring_pictures,
    timings,
    written,
)
from flashlearn.lessons.shared.slider import slider
from flashlearn.machine.device import GPUS, KIB

# %% [markdown]
# ## Before you begin
#
# Three questions about what came before. Run the cell to read them, enter a letter for each number, and run it again.
# A wrong choice costs nothing; the reply says what it overlooks.

# %% tags=["recall"]
### BEGIN SOLUTION
# STUB: answers = {1: "", 2: "", 3: ""}
answers = {1: "c", 2: "a", 3: "b"}
### END SOLUTION
flashlearn.recall("13", answers)

# %% [markdown]
# ## 1 · An asynchronous copy of a tile
#
# *Sitting 1 of 9.* Lesson 05 counted how many bytes have to be in flight at any moment to keep HBM busy: bandwidth
# times latency. An ordinary load goes into registers, so data in flight needs registers reserved for it. **Predict**,
# before you run the cell, how many of a thread's 255 registers that takes, if an SM runs one program of 128 threads.

# %%
h100 = GPUS["H100"]
latency = 340e-9  # seconds for one load from HBM, as lesson 05 measured on an H200
in_flight = h100.bandwidth * latency / h100.sms
print(f"{in_flight / KIB:.1f} KiB on their way to each SM, all the time")
print(f"{in_flight / 4 / 128:.0f} registers of each of 128 threads, of four bytes each")

# %%
slider(ring_pictures.under_way, tile=(4, 8, 16, 32))

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - It is not much: a few tiles, or a small part of a thread's 255 registers. But they must *always* be in flight, also
#   while the program computes. A program that loads a tile, waits, computes, and loads the next one has nothing in
#   flight while it computes.
# - That is what *asynchronous* means here: request a tile now, do something else, use it later.
# - Registers are needed for accumulators. A copy can go to shared memory without passing through registers: since
#   Ampere a few bytes for each thread that requests them (`cp.async`), on Hopper a whole tile requested by one
#   thread.
#
# </details>
#
# ### The copy engine
#
# A *descriptor* states once where a tensor is in memory, its shape, its strides, and the shape of a block (lesson 12,
# section 4). The *tensor memory accelerator*, TMA, takes a descriptor and the coordinates of a block's first element,
# and copies the block into shared memory. The part of the block outside the tensor is read as zero, and is not
# written when the block is stored. One thread issues the request, and no thread computes addresses or masks (NVIDIA's
# Hopper whitepaper has a section on it; PTX calls it `cp.async.bulk.tensor`).
#
# How much work is that? Here are both ways to copy a tile of 64 × 64 numbers of 16 bits; you will write the second
# one below. **Predict** how many instructions each of them takes, summed over its warps.


# %%
@gluon.jit
def copy_by_threads(x_ptr, y_ptr, M, N, x_row, y_row, ROWS: gl.constexpr, COLUMNS: gl.constexpr):
    # who holds what: a thread eight columns, a warp four rows of 64, four warps sixteen rows
    layout: gl.constexpr = gl.BlockedLayout([1, 8], [4, 8], [4, 1], [1, 0])
    rows = gl.program_id(0) * ROWS + gl.arange(0, ROWS, layout=gl.SliceLayout(1, layout))
    columns = gl.program_id(1) * COLUMNS + gl.arange(0, COLUMNS, layout=gl.SliceLayout(0, layout))
    inside = (rows < M)[:, None] & (columns < N)[None, :]
    x = gl.load(x_ptr + rows[:, None] * x_row + columns[None, :], mask=inside, other=0.0)
    gl.store(y_ptr + rows[:, None] * y_row + columns[None, :], x, mask=inside)


x = torch.randn(128, 128).half()
y = torch.empty_like(x)
with observing() as (session, _):
    copy_by_threads[(2, 2)](x, y, 128, 128, 128, 128, ROWS=64, COLUMNS=64, num_warps=4)
    assert torch.equal(finished_copy(x), x) and torch.equal(y, x)

issued = {}
for launch, warps in zip(session.launches, (4, 1), strict=True):
    ptx = str(listing(launch, 90)["ptx"])  # as compiled for an H100
    instructions = re.findall(r"^\s+(?:@\S+ )?[a-z][\w.:]*\s[^;]*;", ptx, flags=re.M)
    issued[launch.name] = warps * len(instructions)
    print(f"{launch.name:16} {len(instructions)} instructions × {warps} warps = {issued[launch.name]}")
assert issued["copy_by_threads"] > 5 * issued["tma_copy_kernel"]

# %% [markdown]
# This is what Gluon looks like: `gl` instead of `tl`; every tile has a *layout*, which says which thread of which
# warp holds which element; and a layout is converted to another only where you say so. Sitting 2 is about layouts.
#
# ### A forgotten wait
#
# Here is the smallest kernel that uses the engine, and it is wrong. It allocates a tile of shared memory, requests a
# copy into it, and requests a copy from there to `y`. **Predict** what is in `y` afterwards, on a GPU.


# %%
@gluon.jit
def forgetful_copy(x_desc, y_desc):
    tile = gl.allocate_shared_memory(x_desc.dtype, x_desc.block_type.shape, x_desc.layout)
    arrived = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(arrived, count=1)
    mbarrier.expect(arrived, x_desc.block_type.nbytes)
    tma.async_copy_global_to_shared(x_desc, [0, 0], arrived, tile)
    tma.async_copy_shared_to_global(y_desc, [0, 0], tile)


def told(launch) -> None:
    """Run a launch observed, and print what the observer says of it."""
    try:
        with observing():
            launch()
        print("No problems found.")
    except SyncError as fault:
        sentence, *code = str(fault).split("\n")
        print("\n".join([*textwrap.wrap(sentence, 100), *code]))


x = torch.randn(64, 64)
y = torch.empty_like(x)
told(lambda: forgetful_copy[(1,)](tiles_of(x, [64, 64]), tiles_of(y, [64, 64]), num_warps=1))

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - It is not defined what would be in `y`: what was in shared memory before, a part of the tile, or the right
#   numbers, if something happens to delay the second copy. In a larger kernel something often does; then a test on a
#   GPU passes most of the time.
# - The observer does not depend on luck. In its model a copy has delivered nothing until the program has waited for
#   it. So the mistake shows in the first run, in any order of events, with both lines.
# - It stops at the first fault. This kernel has another one: it also ends without waiting for the copy *out*. The call
#   for that comes next.
#
# </details>
#
# ### A barrier that counts bytes
#
# An *mbarrier* is eight bytes of shared memory that count (PTX ISA, section "mbarrier"). It goes through *phases*: 0,
# 1, 2, … The current phase is complete when
#
# - there have been as many *arrivals* as `init` specified, and
# - all expected *bytes* have arrived.
#
# `mbarrier.expect(bar, n)` is one arrival, and says that $n$ bytes belong to this phase. A copy that was given the
# barrier reports its bytes as they arrive. `mbarrier.wait(bar, phase)` returns when the phase of that *parity* is
# complete. After that the bytes are there for every thread that has waited.
#
# The copy back needs no barrier: stores to global memory form groups, and `tma.store_wait(0)` waits until the engine
# has *read* all of them from shared memory, so that this memory may be reused or freed.
#
# `mbarrier.invalidate(bar)` ends the use of a barrier: after it these eight bytes may hold something else. At the end
# of a kernel it makes no difference, and most kernels of this lesson do without.
#
# ### Exercise: `tma_copy` · warm-up
#
# $x$ is `[M, N]` in fp32, fp16 or bf16; return a copy of it. Each program copies one tile. The allocations and the
# launcher are given. (`tiles_of` makes a descriptor, `x_desc.block_type` has the block's shape and its size in bytes,
# and coordinates count elements.)

# %% exercise="tma_copy"
# HINT: Both copies are asynchronous: they happen after the line that requests them. Which line may run only
#     when the copy is finished, and how does it know?
# HINT: The barrier's phase 0 is complete after one arrival and all expected bytes. `mbarrier.expect` is the
#     arrival and announces the number of bytes; the copy delivers them. The copy back has no barrier:
#     `tma.store_wait` waits for it.
# HINT: `mbarrier.expect(arrived, x_desc.block_type.nbytes)`, `tma.async_copy_global_to_shared(x_desc, corner,
#     arrived, tile)`, `mbarrier.wait(arrived, phase=0)`, `mbarrier.invalidate(arrived)`,
#     `tma.async_copy_shared_to_global(y_desc, corner, tile)`, `tma.store_wait(0)`.
# INCLUDE: flashlearn/kernels/gluon/tma_copy.py:tma_copy_kernel


# INCLUDE: flashlearn/kernels/gluon/tma_copy.py:tma_copy

# %%
flashlearn.check("tma_copy", tma_copy)

# %%
# flashlearn.hint("tma_copy")

# %% [markdown]
# Break it, one line at a time, and predict what the check says: wait for phase 1; expect 64 · 64 bytes; leave out
# `store_wait`; put the copy before the `expect`. One of the four is still right.
#
# **A question.** `complying_rows` in the launcher copies $x$ if its rows do not begin at multiples of 16 bytes. Could
# TMA not handle any matrix?
#
# <details><summary>Answer</summary>
#
# Its hardware cannot: the last stride must be 1, all others and the first address multiples of 16 bytes (CUDA Driver
# API, `cuTensorMapEncodeTiled`). A row of 37 numbers of two bytes has 74 bytes. Tensors of real models usually have
# sizes that comply; slices and transposed views may not.
#
# </details>

# %% [markdown]
# **Another question.** Which of the four changes above was right, and why? And what are the other three reported for?
#
# <details><summary>Answer</summary>
#
# Phase 1: a fresh barrier lets a wait for parity 1 through at once (sitting 4 says why), so the tile is copied out
# while the copy in may still be writing it. 64 · 64 bytes: more bytes come than were expected, and the phase completes
# before all of them have. Without `store_wait` the kernel ends, and gives its shared memory back, while the copy out
# may still be reading it.
#
# Right is the copy before the `expect`. The phase cannot be complete before its one arrival, and `expect` is that
# arrival, so it does not matter whether the bytes or the `expect` come first. Still, it is good style to expect first:
# then no reader has to think about it.
#
# </details>

# %% [markdown]
# ## 2 · Who holds what: layouts
#
# *Sitting 2 of 9.* In Triton the compiler decides which thread holds which element of a tile. In Gluon you decide: a
# *layout* says which register, of which lane, of which warp, holds element $(i, j)$. This sitting is about reading,
# drawing, reducing and converting layouts. The next kernels use all of it.
#
# A `BlockedLayout` has four lists, three of them with a number for the rows and one for the columns:
#
# | list | says | here |
# |---|---|---|
# | `size_per_thread` | the neighbours that a thread holds | `[1, 4]`: four columns of one row |
# | `threads_per_warp` | how the 32 lanes are placed beside each other | `[4, 8]`: four rows of eight lanes, $4 \times 32$ elements |
# | `warps_per_cta` | how the program's warps are placed | `[4, 1]`: four below each other, $16 \times 32$ elements |
# | `order` | the dimension that is counted first, then the other | `[1, 0]`: lane 1 is to the right of lane 0 |
#
# A tile that is larger repeats the pattern: each thread has more registers of it. In a tile that is smaller, several
# threads hold the same element.
#
# **Predict** for a tile of $32 \times 64$ elements: which lane of which warp holds element $(5, 17)$, and in which of
# its registers?

# %%
BY_ROWS = gl.BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0])

layouts.owner(BY_ROWS, (32, 64), (5, 17))

# %%
layout_pictures.held(BY_ROWS, (32, 64), mark=(5, 17))

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - A warp holds four rows of the pattern, so row 5 is the second row of warp 1. A lane holds four columns, so column
#   17 is with the fifth lane of its row: lane $1 \cdot 8 + 4 = 12$. It is the second of the four, so register 1.
# - The answer was not computed from these rules but asked of Triton's compiler. It describes every layout by one
#   displacement for each *bit* of a register's, lane's and warp's number: how many rows and columns that bit moves you
#   (K. Zhou et al., *Linear Layouts*, 2025). `layouts.linear(BY_ROWS, (32, 64))` shows these.
#
# </details>
#
# ### Reduce along it
#
# `gl.sum(x, axis=1)` adds what each thread holds of a row, and then lanes exchange their sums. A row of the tile was
# divided among some threads; its sum is held by *each* of them. Its layout is that of the tile without dimension 1:
# `gl.SliceLayout(1, BY_ROWS)`. **Predict** which threads hold the sum of row 5, and how many exchanges (`shfl.sync`)
# a warp makes for the sums of its rows of a $32 \times 64$ tile.

# %%
print("\n".join(str(one) for one in layouts.holders(gl.SliceLayout(1, BY_ROWS), (32,), (5,))))


# %%
@gluon.jit
def row_sums(x_ptr, y_ptr, ROWS: gl.constexpr, layout: gl.constexpr):
    # numbers of rows for the threads that hold these rows, and numbers of columns likewise
    rows = gl.arange(0, ROWS, layout=gl.SliceLayout(1, layout))
    columns = gl.arange(0, 64, layout=gl.SliceLayout(0, layout))
    x = gl.load(x_ptr + rows[:, None] * 64 + columns[None, :])
    gl.store(y_ptr + rows, gl.sum(x, axis=1))


def exchanges(layout, rows: int) -> dict[str, int]:
    """Sum the rows of a matrix; what the compiler writes for an H100 to load, to exchange and to add."""
    x, y = torch.randn(rows, 64), torch.empty(rows)

    def launch():
        row_sums[(1,)](x, y, ROWS=rows, layout=layout, num_warps=4)

    with observing():
        launch()
    torch.testing.assert_close(y, x.sum(1), atol=1e-4, rtol=1e-4)
    return written.count(written.ptx_of(launch), "ld.global", "shfl", "st.shared", "bar.sync", "ld.shared")


BY_COLUMNS = gl.BlockedLayout([1, 2], [4, 8], [1, 4], [1, 0])
for name, layout in {"warps below each other": BY_ROWS, "warps side by side": BY_COLUMNS}.items():
    print(f"{name:24}", exchanges(layout, 32))

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - Eight lanes share a row: three exchanges, in each of which the lanes of a pair add. A thread has elements of two
#   rows (the pattern has 16 rows, the tile 32), so six in all.
# - If the warps are side by side, a row is divided among all four. Warps exchange through shared memory only: a
#   store, a barrier, a load.
# - `gl.arange` takes a layout too. `rows` in the layout `SliceLayout(1, layout)` gives each thread the numbers of
#   *its* rows, so that `rows[:, None]` fits the tile without any exchange. That is why `SliceLayout` is in every
#   kernel of this lesson.
#
# </details>
#
# **Try it.** Find four lists for a tile of $128 \times 64$ with which a row's sum needs no exchange at all. What do
# they do to the loads? (Lesson 05, section 4.)

# %%
mine = BY_ROWS  # yours: gl.BlockedLayout(…)
needed = exchanges(mine, 128)
print(needed)
print("lanes still exchange" if needed["shfl"] + needed["st.shared"] else "no exchange")

# %% [markdown]
# <details><summary>Answer</summary>
#
# `gl.BlockedLayout([1, 64], [32, 1], [4, 1], [1, 0])`: a thread holds whole rows, and the lanes of a warp are below
# each other. But then neighbouring lanes load from different rows, 256 bytes apart, so each load of a warp touches
# 32 sectors that lie apart. A layout that suits the loads seldom suits what comes after them.
#
# </details>
#
# ### Convert it
#
# Therefore layouts are converted: `gl.convert_layout(x, other)` moves each element to the thread that holds it in the
# other layout. Gluon does that nowhere by itself. If an operation combines tiles of different layouts, it refuses to
# compile.
#
# Two layouts are given by the hardware. `accumulator(N)` of the course's kernels is the one in which WGMMA leaves
# the sums of a product (sitting 5): an `NVMMADistributedLayout`, each warp 16 rows of 64. `operand_a(layout)` is
# the one in which it takes a left operand from registers, for a product whose sums have `layout`: a `DotOperandLayout`.
# (The helpers fill in the arguments of both.) **Predict** which of these
# conversions is the most expensive, and which costs nothing: from `BY_ROWS` to `BY_COLUMNS`; from `BY_ROWS` to an
# accumulator; from an accumulator, in 16 bits, to a left operand.

# %%
layout_pictures.held(accumulator(64), (64, 64), mark=(5, 17))


# %%
@gluon.jit
def converted(x_ptr, before: gl.constexpr, after: gl.constexpr):
    rows = gl.arange(0, 64, layout=gl.SliceLayout(1, before))
    columns = gl.arange(0, 64, layout=gl.SliceLayout(0, before))
    x = gl.load(x_ptr + rows[:, None] * 64 + columns[None, :])
    x = gl.convert_layout(x, after)
    rows = gl.arange(0, 64, layout=gl.SliceLayout(1, after))
    columns = gl.arange(0, 64, layout=gl.SliceLayout(0, after))
    gl.store(x_ptr + rows[:, None] * 64 + columns[None, :], x)


x = torch.randn(64, 64).bfloat16()
sums = accumulator(64)
for name, before, after in (
    ("by rows → by columns", BY_ROWS, BY_COLUMNS),
    ("by rows → accumulator", BY_ROWS, sums),
    ("accumulator → left operand", sums, operand_a(sums)),
):
    ptx = written.ptx_of(
        lambda pair=(before, after): converted[(1,)](x, before=pair[0], after=pair[1], num_warps=4)
    )
    through = sum(written.count(ptx, "st.shared", "stmatrix").values())
    shares = ", ".join(
        f"{share:.0%} {what}" for what, share in layouts.moved(before, after, (64, 64)).items()
    )
    print(f"{name}: {shares}; {through} stores to shared memory in each thread")

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - In an accumulator a lane holds two neighbours of a row, and the same columns eight rows further down. Four lanes
#   share a row: the maximum of a row in attention's softmax takes two exchanges.
# - What has to change its warp goes through shared memory. A conversion between kinds of layouts costs a store and a
#   load of the whole tile, with a barrier between them.
# - From an accumulator to a left operand nothing moves: every element stays in its thread. That is what makes
#   attention in one kernel possible: $P$ is computed where $S$ was left, is rounded to 16 bits, and is the left
#   operand of $PV$. In eight bits the two layouts differ (lesson 14).
#
# </details>
#
# **A question.** `acc * rescale[:, None]` in attention: `acc` has the layout `accumulator(D)`, `rescale` was computed
# from scores in `accumulator(128)`. Which conversion is needed, and is it expensive?
#
# <details><summary>Answer</summary>
#
# To `SliceLayout(1, accumulator(D))`. In both layouts a row is held by the same four lanes, so no element moves, as
# `layouts.moved(gl.SliceLayout(1, accumulator(128)), gl.SliceLayout(1, accumulator(64)), (64,))` confirms. But Gluon
# compares how layouts are written, not what they mean, so the line has to be there.
#
# </details>

# %% [markdown]
# ## 3 · Shared memory: the swizzle, and the copy engine's limits
#
# *Sitting 3 of 9.* Shared memory has layouts too: `NVMMASharedLayout` says at which offset each element of a tile
# is stored. It matters because of banks. A row of 64 numbers of 16 bits has 128 bytes, exactly one word in each of
# the 32 banks (lesson 05, section 4). The tensor cores, and the instruction `ldmatrix`, read eight rows at a time, 16
# bytes of each (PTX ISA calls these 8 × 16 bytes a *core matrix*). **Predict**: how many turns do the banks take for
# that, if the rows are stored one below the other?

# %%
PLAIN = gl.NVMMASharedLayout(swizzle_byte_width=0, element_bitwidth=16, rank=2)
SWIZZLED = gl.NVMMASharedLayout(swizzle_byte_width=128, element_bitwidth=16, rank=2)

layout_pictures.swizzles({"rows of 128 bytes": PLAIN, "swizzled, 128 bytes": SWIZZLED}, (64, 64))

# %% [markdown]
# This is lesson 05's picture of banks, with one square for each 16 bytes of the first eight rows; a number is a
# group of four banks. In the *128-byte swizzle* piece $c$ of row $r$ is stored where piece $c \oplus (r \bmod 8)$
# would have been. Eight pieces below each other are then in eight different groups of banks, and a row is still all
# of them.
#
# In code it is an exclusive-or of three bits of the address with three others. The cell compares that with the offsets
# that Triton's compiler gives from version 3.7 on (for an older one it applies the rule of the PTX ISA), and counts the
# conflicts:

# %%
row, column = torch.meshgrid(torch.arange(64), torch.arange(64), indexing="ij")
plain = (row * 64 + column) * 2  # bytes from the beginning of the tile
assert torch.equal(torch.from_numpy(2 * layouts.offsets(PLAIN, (64, 64))), plain)
swizzled = plain ^ (plain >> 7 & 7) << 4  # the row's three lowest bits, onto those of the piece
assert torch.equal(torch.from_numpy(2 * layouts.offsets(SWIZZLED, (64, 64))), swizzled)

print("asked of the compiler" if layouts.asks_the_compiler() else "this Triton cannot be asked")
for name, at in {"plain": plain, "swizzled": swizzled}.items():
    below = [layouts.turns(at[:8, c].tolist(), 16) for c in range(0, 64, 8)]
    beside = [layouts.turns(at[r, ::8].tolist(), 16) for r in range(64)]
    print(f"{name:8}  eight pieces below each other: {max(below)} turns; beside each other: {max(beside)}")

# %% [markdown]
# Nobody has to do this arithmetic. The copy engine swizzles while it stores, WGMMA undoes it while it reads, and both
# are told by the layout: in the *descriptor* for the one, in the *matrix descriptor* that the compiler makes for the
# other. If you load a tile yourself, `tile.load(layout)` has the same arithmetic in its addresses. So the layout
# belongs to the descriptor, and two helpers of the course make a descriptor with its layout, the widest swizzle that a
# row of the block fits (`NVMMASharedLayout.get_default_for`):
#
# | helper | makes a descriptor of | blocks |
# |---|---|---|
# | `tiles_of(t, block)` | a matrix `[M, N]` | `block`, for example `[64, 64]` |
# | `rows_of_heads(t, rows)` | a tensor `[B, H, S, D]` | `[1, 1, rows, D]`: some rows of one head |
#
# **Predict** the shape, the strides and the block of the descriptor of the second one for K with $B = 2$, $H = 4$,
# $S = 100$, $D = 64$. What does a block contain that begins at row 64?

# %%
for made in (
    tiles_of(torch.zeros(100, 72).bfloat16(), [64, 64]),
    rows_of_heads(torch.zeros(2, 4, 100, 64).bfloat16(), 64),
):
    print(f"shape {made.shape}, strides {made.strides}, block {made.block_shape}")
    print(
        f"    swizzled over {made.layout.swizzle_byte_width} bytes, {made.layout.element_bitwidth} bits each"
    )

# %% [markdown]
# <details><summary>Answer</summary>
#
# The first row of the output is the matrix, the second K's descriptor. Its block holds rows 64 to 99 of the head, and
# then 28 rows of zeros, as in lesson 12's `last_block_kernel`: with four dimensions the engine knows where a head ends.
# As one matrix of $B \cdot H \cdot S$ rows, the block would contain the beginning of the next head.
#
# </details>
#
# ### What one instruction can copy
#
# A box of the copy engine has at most 256 elements in each dimension; and if it is swizzled, its inner dimension may
# not be longer than the swizzle, that is, 128 bytes (CUDA Driver API, `cuTensorMapEncodeTiled`). **Predict** how many
# copies the compiler makes of *one* `async_copy_global_to_shared`, in bf16, of blocks of 64 × 64, 64 × 128, 64 × 256,
# 256 × 64 and 512 × 64.

# %%
matrix = torch.zeros(512, 512).bfloat16()
for block in ((64, 64), (64, 128), (64, 256), (256, 64), (512, 64)):
    kind = "cp.async.bulk.tensor.2d.shared"
    boxes = written.count(written.ptx_of(finished_copy, matrix, block), kind)[kind]
    print(f"{block[0]:3} × {block[1]:3}: {boxes} of {block[0] * block[1] * 2 // boxes // KIB} KiB")

halves = layouts.offsets(gl.NVMMASharedLayout.get_default_for([64, 128], gl.bfloat16), (64, 128))
print(f"of 64 × 128: column 63 of row 0 is element {halves[0, 63]}, column 64 is element {halves[0, 64]}")

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - A row of 128 numbers of 16 bits is too long for one box: the compiler requests two, and in shared memory the tile
#   is two tiles of 64 columns, one after the other: the last line says where column 64 begins. This is how K is stored
#   at $D = 128$. Your code does not see it, and the number of bytes that the barrier expects is the same.
# - Other limits concern you: strides and the address are multiples of 16 bytes (sitting 1). And a tile that is
#   swizzled over 128 bytes begins at a multiple of 1024 bytes of shared memory, so that the row's three bits are bits
#   of the address; `allocate_shared_memory` takes care of that.
#
# </details>
#
# **A question.** What would a swizzle over 64 bytes do to this tile? (`gl.NVMMASharedLayout(64, 16, rank=2)`: predict,
# then count with `layouts.offsets` and `layouts.turns`.)
#
# <details><summary>Answer</summary>
#
# A box is at most 64 bytes wide then, so the tile is two boxes of 32 columns. Eight pieces below each other still take
# one turn, but eight pieces beside each other, a whole row, take two. `get_default_for` avoids
# that: it chooses the widest swizzle.
#
# </details>
#
# **Sources of sittings 2 and 3.** Layouts as maps of bits: K. Zhou et al., *Linear Layouts: Robust Code Generation of
# Efficient Tensor Computation Using $\mathbb{F}_2$*, 2025. Layouts of operands and sums, core matrices and swizzles:
# NVIDIA, PTX ISA, section "Asynchronous warpgroup level matrix instructions". Limits of boxes: NVIDIA, *CUDA Driver
# API*, `cuTensorMapEncodeTiled`. Layouts in Gluon: Triton's Gluon tutorials.

# %% [markdown]
# ## 4 · A ring of buffers
#
# *Sitting 4 of 9.* Usually there are many tiles. Let us sum the rows of a matrix whose rows have sixteen tiles, with
# one buffer: request, wait, load from shared memory into registers, add, and request the next one.


# %%
@gluon.jit
def sums_of_one_slot(x_desc, y_ptr, tiles, ALTERNATE: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0])
    rows: gl.constexpr = x_desc.block_type.shape[0]
    columns: gl.constexpr = x_desc.block_type.shape[1]
    tile = gl.allocate_shared_memory(x_desc.dtype, x_desc.block_type.shape, x_desc.layout)
    full = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(full, count=1)
    total = gl.zeros([rows], gl.float32, layout=gl.SliceLayout(1, layout))
    for i in range(tiles):
        mbarrier.expect(full, x_desc.block_type.nbytes)
        tma.async_copy_global_to_shared(x_desc, [0, i * columns], full, tile)
        mbarrier.wait(full, i % 2 if ALTERNATE else 0)
        total += gl.sum(tile.load(layout), axis=1)
    mbarrier.invalidate(full)
    gl.store(y_ptr + gl.arange(0, rows, layout=gl.SliceLayout(1, layout)), total)


x = torch.randn(32, 16 * 64)
y = torch.empty(32)
with observing() as (session, _):
    sums_of_one_slot[(1,)](tiles_of(x, [32, 64]), y, 16, ALTERNATE=True, num_warps=4)
torch.testing.assert_close(y, x.sum(1), atol=1e-4, rtol=1e-4)

trace = session.observation().timeline
cycles = max(event.end for event in trace)
waited = sum(event.end - event.begin for event in trace if event.what == "wait")
print(f"{cycles:.0f} cycles, of which {waited:.0f} in mbarrier.wait: {waited / cycles:.0%}")

# %% [markdown]
# These are cycles of a *model*: the observer records what each partition did when (a partition is a group of
# warps that run one function; so far there is one), with round figures for latency and
# throughput (`flashlearn/interpreter/gluon/timeline.py` lists them). A model cannot tell you how fast a kernel is. It
# can show where a kernel waits, and what would make it wait less.


# %%
def one_slot_at_a_time(x: Tensor) -> Tensor:
    y = torch.empty(32)
    sums_of_one_slot[(1,)](tiles_of(x, [32, 64]), y, x.shape[1] // 64, ALTERNATE=True, num_warps=4)
    return y


pictures.timeline(one_slot_at_a_time, x[:, : 6 * 64])

# %% [markdown]
# ### Phases
#
# `i % 2` in the wait above is the parity of phase $i$: with a single slot the barrier completes one phase per tile.
# What if the kernel always waits for phase 0? **Predict**: a deadlock, wrong numbers, or neither? At which tile?

# %%
told(lambda: sums_of_one_slot[(1,)](tiles_of(x, [32, 64]), y, 16, ALTERNATE=False, num_warps=4))

# %% [markdown]
# The barrier itself knows only whether its current phase is even or odd. Its whole behaviour fits into a few lines of
# Python, which are worth reading:


# %% tags=["nbval-check-output"]
class Phases:
    """What an mbarrier does, without any hardware."""

    def __init__(self, count: int):
        self.count, self.pending, self.bytes, self.completed = count, count, 0, 0

    def arrive(self, bytes: int = 0):  # with bytes: mbarrier.expect
        self.bytes += bytes
        self.pending -= 1
        self._turn()

    def land(self, bytes: int):  # done by a copy
        self.bytes -= bytes
        self._turn()

    def _turn(self):
        if self.pending == 0 and self.bytes == 0:
            self.completed, self.pending = self.completed + 1, self.count

    def passes(self, parity: int) -> bool:  # what mbarrier.wait waits for
        return (self.completed - 1) % 2 == parity


bar = Phases(count=1)
print("fresh:            ", {parity: bar.passes(parity) for parity in (0, 1)})
bar.arrive(bytes=8192)
print("expected:         ", {parity: bar.passes(parity) for parity in (0, 1)})
bar.land(8192)
print("phase 0 completed:", {parity: bar.passes(parity) for parity in (0, 1)})
bar.arrive(bytes=8192)
bar.land(8192)
print("phase 1 completed:", {parity: bar.passes(parity) for parity in (0, 1)})

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - A wait asks: *does the phase before the current one have this parity?* If it does, the wait returns at once,
#   whether that is the phase you meant or the one before. So a wait with the wrong parity returns too early while
#   your phase is still in progress. Once your phase is over, it waits for the *next* one, perhaps forever; and on a
#   fresh barrier a wait for parity 0 waits, whatever you meant.
# - On a fresh barrier a wait for parity 1 returns at once, as if a phase −1 had been completed. Sitting 6 makes use
#   of that.
# - If two phases complete without a wait, the parity is the same again. A barrier remembers only one phase.
#
# </details>
#
# ### The ring
#
# With `STAGES` slots, tile $i$ is in slot $i \bmod \text{STAGES}$, and it is the $\lfloor i / \text{STAGES}
# \rfloor$-th tile there. Each slot has its own barrier, so that number is the phase. **Predict** the parities of
# tiles 0 to 11 for three slots; then look.

# %%
slider(ring_pictures.turns, {"stages": 3}, stages=(2, 3, 4))

# %% [markdown]
# When may a slot be filled again? When its tile has been read, that is, when its values are in registers. Here that
# follows from the program's own order, so it is enough to request the copy in a line after the load. Suppose that tile
# $i$ is read in step $i$, and that step $i$ *begins* by requesting a tile. **Which slot is free at that time, which
# tile belongs there, and how many tiles must have been requested before the loop?** Write it down for three slots.
#
# ### Exercise: `tma_ring` · core
#
# $x$ is `[M, N]` in fp32, fp16 or bf16; return the sum of each row, added in fp32 (so convert a tile first). A program
# owns 32 rows; the ring has `STAGES` slots. There may be fewer tiles than slots, and every requested copy must be
# waited for: `expect` and the copies take a condition, `pred=`. (`num_warps` among the kernel's parameters is the
# option of the launch.)

# %% exercise="tma_ring"
# HINT: Write down for STAGES = 3 and tiles 0 … 6: the slot of each tile, and how often that slot has been
#     filled before. The second number modulo 2 is the phase to wait for.
# HINT: Before the loop request STAGES − 1 tiles. In step i request tile i + STAGES − 1: its slot is the one
#     that step i − 1 has read. Then wait for tile i, load it, add. Do not request tiles that do not exist:
#     `pred=` takes the condition.
# HINT: `ahead = i + STAGES - 1`, `free = ahead % STAGES`, `mbarrier.expect(full.index(free),
#     x_desc.block_type.nbytes, pred=ahead < tiles)` and the copy with the same `pred`;
#     `mbarrier.wait(full.index(i % STAGES), i // STAGES % 2)`; `x = ring.index(i % STAGES).load(layout)`;
#     `total += gl.sum(x.to(gl.float32), axis=1)`.
# INCLUDE: flashlearn/kernels/gluon/tma_ring.py:tma_ring_kernel


# INCLUDE: flashlearn/kernels/gluon/tma_ring.py:tma_ring

# %%
flashlearn.check("tma_ring", tma_ring)

# %%
# flashlearn.hint("tma_ring")

# %% [markdown]
# **Predict**: by which factor does the model's time fall from one slot to two, three, four, eight? Two numbers
# decide: in the model the copy of a tile takes 600 cycles of latency plus 128 cycles for 8192 bytes at 64 per cycle
# (round figures: HBM's latency above is some 600 cycles, and 64 bytes per cycle is what L2 can give an SM); adding it
# takes some time as well.

# %%
ring = flashlearn.use("tma_ring", tma_ring)
taken = {1: cycles}
for stages in (2, 3, 4, 6, 8):
    with observing() as (session, _):
        sums = ring(x, stages=stages)
    torch.testing.assert_close(sums, x.sum(1), atol=1e-4, rtol=1e-4)
    taken[stages] = max(event.end for event in session.observation().timeline)
for stages, now in taken.items():
    print(f"{stages} slots: {now:6.0f} cycles, {cycles / now:.1f} times as fast")
assert taken[4] < taken[2] < taken[1]

# %%
pictures.timeline(ring, x[:, : 8 * 64])

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - Latency does not become shorter, but it is shared: with $n$ slots, up to $n - 1$ tiles are in flight at a time.
# - The gain ends where the copy engine or the additions are busy all the time. Beyond that, more slots only take
#   shared memory: 8 KiB each, of the 227 that a program may have on an H100.
# - One slot is never in flight, because it is being read. That is the cost of requesting and reading in the same
#   step.
#
# </details>

# %% [markdown]
# **A question.** The kernel above loads a tile from shared memory and overwrites it with a copy in the next step.
# Loads are not asynchronous, but 128 threads run, and one of them requests the copy. What if the others have not
# loaded yet?
#
# <details><summary>Answer</summary>
#
# The compiler inserts a barrier for all threads of the program between the two, as Triton does for the shared memory
# that it manages, and a fence: the kernel's listing has `bar.sync` and `fence.proxy.async` before the copy. In Gluon
# it does *not* synchronise partitions (sitting 6) or asynchronous operations (sitting 5) for you.
#
# </details>

# %% [markdown]
# **Another question.** In which of the check's cases does the mistake "the phase never turns" (every wait is for
# phase 0) not show, and what follows for tests?
#
# <details><summary>Answer</summary>
#
# Where there are no more tiles than slots, so that no slot is used twice. A test of a ring has to go through it at
# least twice, better three times, and end in the middle.
#
# </details>

# %% [markdown]
# ## 5 · Asynchronous products
#
# *Sitting 5 of 9.* On Hopper `tl.dot` is compiled to an instruction named `wgmma`: four warps together, a
# *warpgroup*, multiply a tile of $64 \times 16$ (numbers of 16 bits) with one of $16 \times N$, $N$ up to 256, and
# add to $64 \times N$ sums in fp32 (PTX ISA, section "Asynchronous warpgroup level matrix instructions"). Three
# things are new:
#
# - the operands are read *from shared memory*, by the tensor cores, while they multiply; only the left one may come
#   from registers;
# - the sums are in registers, divided among the four warps, 16 rows each: an SM has four tensor cores, one beside
#   each of its four schedulers, and each warp of a warpgroup uses its own (NVIDIA's Hopper whitepaper);
# - the instruction is *asynchronous*: the warps continue before it has finished.

# %%
ring_pictures.operands()

# %% [markdown]
# What does it take to keep the tensor cores busy? An SM of an H100 performs 4096 operations per cycle in bf16 (989
# TFLOP/s over 132 SMs at 1.83 GHz), counting a multiplication and an addition as two. **Predict**: how many cycles does
# a step take that multiplies $128 \times 64$ by $64 \times 128$; how many bytes must arrive in that time; and what
# changes with a tile of $128 \times 256$?

# %%
for block_m, block_n, block_k in ((64, 64, 64), (128, 128, 64), (128, 256, 64)):
    products = 2 * block_m * block_n * block_k / timeline.TENSOR_OPERATIONS
    size = 2 * (block_m + block_n) * block_k
    print(
        f"{block_m:3} × {block_n:3}: {products:5.0f} cycles of products, {size / KIB:2.0f} KiB to bring, "
        f"{size / products:5.1f} bytes a cycle; sums {block_m * block_n * 4 / KIB:.0f} KiB of registers"
    )

# %% [markdown]
# The larger the tile of sums, the fewer bytes per product: that is lesson 05's arithmetic intensity, one level lower
# in the memory hierarchy. The registers for the sums limit the tile.
#
# ### One product, complete
#
# This is the smallest kernel with a WGMMA. Read it line by line: the exercise uses everything in it. `LEAVE_OUT`
# omits one line.


# %%
@gluon.jit
def one_product(a_desc, b_desc, c_desc, LEAVE_OUT: gl.constexpr):
    M: gl.constexpr = a_desc.block_type.shape[0]
    N: gl.constexpr = b_desc.block_type.shape[1]
    a = gl.allocate_shared_memory(a_desc.dtype, a_desc.block_type.shape, a_desc.layout)
    b = gl.allocate_shared_memory(b_desc.dtype, b_desc.block_type.shape, b_desc.layout)
    c = gl.allocate_shared_memory(c_desc.dtype, c_desc.block_type.shape, c_desc.layout)
    full = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(full, count=1)
    mbarrier.expect(full, a_desc.block_type.nbytes + b_desc.block_type.nbytes)  # one barrier, two copies
    tma.async_copy_global_to_shared(a_desc, [0, 0], full, a)
    tma.async_copy_global_to_shared(b_desc, [0, 0], full, b)
    if LEAVE_OUT != "the wait for the tiles":
        mbarrier.wait(full, phase=0)
    acc = gl.zeros([M, N], gl.float32, layout=accumulator(N))
    acc = warpgroup_mma(a, b, acc, is_async=True)  # acc + a b; with use_acc=False just a b
    if LEAVE_OUT != "the wait for the product":
        acc = warpgroup_mma_wait(0, deps=[acc])  # at most 0 products are left under way
    c.store(acc.to(c_desc.dtype))
    if LEAVE_OUT != "the fence":
        fence_async_shared()  # what ordinary stores wrote becomes visible to the copy engine
    tma.async_copy_shared_to_global(c_desc, [0, 0], c)
    tma.store_wait(0)


a, b = torch.randn(64, 64).bfloat16(), torch.randn(64, 64).bfloat16()
c = torch.empty_like(a)


def multiply(leave_out=""):
    one_product[(1,)](*(tiles_of(t, [64, 64]) for t in (a, b, c)), LEAVE_OUT=leave_out, num_warps=4)


with observing():
    multiply()
torch.testing.assert_close(c, a @ b)

# %% [markdown]
# **Predict** for each of the three omissions: is it a fault, and what would be read too early?

# %%
for line in ("the wait for the tiles", "the wait for the product", "the fence"):
    print(f"Without {line}:")
    told(lambda line=line: multiply(line))

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - After `warpgroup_mma`, `acc` is only a *promise*. The numbers are there after `warpgroup_mma_wait(0, …)`, which
#   returns them: write `acc = warpgroup_mma_wait(0, deps=[acc])`, so that neither you nor the compiler uses the promise
#   instead. With 1 in place of 0 the last product may still be in progress: what is returned may be handed to the next
#   product, but its numbers may be read only after a wait for 0. With several entries in `deps` a tuple comes back.
# - Shared memory is accessed in two ways: by ordinary loads and stores, and by TMA and WGMMA (in PTX: the generic and
#   the async *proxy*). What was written in one way may not be visible to the other until `fence_async_shared()`. From
#   TMA to WGMMA no fence is needed: both use the async proxy, and the barrier orders them. So by the rule a fence is
#   needed exactly once here, after `c.store`.
# - A product that has not been waited for is still reading its *operands*: refilling their slot would change what it
#   multiplies. (A left operand in registers is a value of your program: you can make a new one, but not overwrite it.)
#
# </details>
#
# ### Whose fence is it?
#
# The observer applies the language's rule. What does the compiler do? **Predict** for each of the three omissions how
# the PTX for an H100 changes.


# %%
def compiled(leave_out: str = "") -> str:
    described = (tiles_of(t, [64, 64]) for t in (a, b, c))
    return written.ptx_for(one_product, *described, constants={"LEAVE_OUT": leave_out}, num_warps=4)


complete = written.names(compiled())
for line in ("the fence", "the wait for the tiles", "the wait for the product"):
    try:
        same = written.names(compiled(line)) == complete
        print(f"without {line}: {'the same instructions' if same else 'other instructions'}")
    except triton.CompilationError as refused:
        print(f"without {line}: refused, {refused.__cause__ or refused.error_message}")

# %%
for instruction, line in written.by_line(
    compiled(), r"^(?:@\S+ )?(?:fence|bar\.|wgmma\.[cfmw])", one_product
):
    print(f"{instruction.split('{')[0][:58]:60}{line[:58]}")

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - Without your fence the code is the same (the first cell says whether that holds for the version that you have): the
#   compiler puts `fence.proxy.async` between a store and a copy that reads it, if it sees both in one partition, and a
#   barrier of all threads after it. So the omission would not be noticed. The rule is the language's, the help is the
#   compiler's, and in CUDA you are alone. Write the fence.
# - Nobody replaces a wait. Without the one for the tiles the code is another, and wrong. Without the one for the
#   product there is no code: the promise has a type of its own, which cannot be stored.
# - One `warpgroup_mma` is several instructions, one for each 16 numbers of $K$. `wgmma.fence` before the first one
#   orders what the warps wrote into their registers before it; `wgmma.commit_group` after the last one makes a
#   *group* of them. You write neither: the compiler adds both to every `warpgroup_mma`. `warpgroup_mma_wait(N)` is
#   `wgmma.wait_group N`, and that is yours: it waits until at most the $N$ newest *groups* are in progress. So $N$
#   counts your calls, not the instructions.
#
# </details>
#
# ### One product in flight
#
# With `warpgroup_mma_wait(0)` in every step the tensor cores are idle while the warps wait at the next barrier and
# issue the next product. `warpgroup_mma_wait(1)` lets the newest product continue. After it all products *but* the
# newest are finished: the slot of step $i - 1$ is free once the product of step $i$ has been issued and this wait has
# returned. **Which tile can step $i$ request before it has waited for anything?** Write the answer down; it is the
# line of the exercise that can most easily go wrong silently on a GPU. (In the ring of sitting 4 it was tile
# $i + \text{STAGES} - 1$. What is different here?)
#
# ### Exercise: `wgmma_matmul` · core
#
# $a$ is `[M, K]` and $b$ `[K, N]` in fp16 or bf16; sums are in fp32, and the result has the dtype of $a$. A program
# owns a tile of $128 \times 128$; it has eight warps, that is, two warpgroups that share all the work. Before the loop
# the first tiles have to be requested: how many? In the loop leave one product in flight; after it none, before the
# sums are stored. A $K$ that is not a multiple of the tile needs no special care: TMA delivers zeros beyond the tensor.

# %% exercise="wgmma_matmul"
# HINT: A WGMMA reads both tiles from shared memory while your warps continue. Which line may overwrite
#     them, and which wait must come between the two?
# HINT: With one product left in flight, the slot that is certainly free in step i is that of step i − 2:
#     fetch STAGES − 2 steps ahead. One barrier per slot counts the bytes of both tiles. At the end nothing
#     may be in flight, and a fence makes ordinary stores visible to the copy engine.
# HINT: `mbarrier.wait(full.index(i % STAGES), i // STAGES % 2)`, `acc = warpgroup_mma(a.index(i % STAGES),
#     b.index(i % STAGES), acc, is_async=True)`, `acc = warpgroup_mma_wait(1, deps=[acc])`; after the loop
#     `acc = warpgroup_mma_wait(0, deps=[acc])`; then `c.store(acc.to(c_desc.dtype))`,
#     `fence_async_shared()`, the copy out and `tma.store_wait(0)`.
# INCLUDE: flashlearn/kernels/gluon/wgmma_matmul.py:fetch


# INCLUDE: flashlearn/kernels/gluon/wgmma_matmul.py:wgmma_matmul_kernel


# INCLUDE: flashlearn/kernels/gluon/wgmma_matmul.py:wgmma_matmul

# %%
flashlearn.check("wgmma_matmul", wgmma_matmul)

# %%
# flashlearn.hint("wgmma_matmul")

# %%
multiplied = flashlearn.use("wgmma_matmul", wgmma_matmul)
a, b = torch.randn(128, 6 * 64).bfloat16(), torch.randn(6 * 64, 128).bfloat16()
pictures.timeline(multiplied, a, b)

# %% [markdown]
# The row at the bottom, the tensor cores', is the important one. **Predict** for rings of three, four and five
# slots, and 16 steps of $K$: what share of the time are the tensor cores multiplying? What keeps them from
# multiplying all the time?


# %%
def tensor_core(function, *inputs, **more) -> float:
    """Print how long one program takes in the model; the share of that in which products are made."""
    with observing() as (session, _):
        function(*inputs, **more)
    events = [event for event in session.observation().timeline if event.program == (0, 0, 0)]
    taken = max(event.end for event in events)
    busy, until = 0.0, 0.0
    for event in sorted((e for e in events if e.what == "wgmma"), key=lambda e: e.begin):
        busy += max(event.end - max(event.begin, until), 0.0)  # two at the same time count once
        until = max(until, event.end)
    print(f"{more or function.__name__}: {taken:.0f} cycles, products for {busy / taken:.0%} of them")
    return taken


long_a, long_b = torch.randn(128, 16 * 64).bfloat16(), torch.randn(16 * 64, 256).bfloat16()
by_slots = {n: tensor_core(multiplied, long_a, long_b[:, :128], stages=n) for n in (3, 4, 5)}
assert by_slots[4] < by_slots[3]

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - There are two reasons. At the beginning nothing can be multiplied until the first tiles are there. At the end the
#   sums go to memory, and nothing else is left to do. A kernel that continues with another tile of $c$ meanwhile (a
#   *persistent* one) can pay for both only once.
# - Four slots are as good as five here, but better than three. In each step 32 KiB arrive in 512 cycles of the copy
#   engine, and are multiplied in 512: tiles of $128 \times 128$ keep both of them exactly busy in this model, where
#   all bytes come from L2.
# - Replace `warpgroup_mma_wait(1` by `warpgroup_mma_wait(0` and run this cell again: with three slots it takes a
#   third more time, with four some per cent. The waits for the product and for the next tile then come one after the
#   other.
#
# </details>

# %% [markdown]
# **A question.** The ring has four slots, and copies are requested two steps ahead. With three slots and one step
# ahead it would be right as well. What is the fourth slot for?
#
# <details><summary>Answer</summary>
#
# One slot is being multiplied, another may still be, and the others are in flight: with three slots one tile, with
# four two. If a tile's latency is longer than a step, one tile is not enough. Run `wgmma_matmul(a, b, stages=3)`
# observed and compare the timelines.
#
# </details>

# %% [markdown]
# **Another question.** $b$ is `[K, N]`, stored row by row: neighbours in memory are along $N$, not along the
# dimension of the sum. Lesson 14 will have to transpose V for that reason. Why is that not necessary here?
#
# <details><summary>Answer</summary>
#
# For 16 bits WGMMA accepts either order in shared memory: a bit in the instruction says which. For 8 bits it accepts
# only one. If $b$ is `[N, K]` instead, as K is in $QK^\top$, the tile is passed as `b.permute([1, 0])`: no data
# moves, only that bit changes.
#
# </details>

# %% [markdown]
# ## 6 · A producer and two consumers
#
# *Sitting 6 of 9.* In your `wgmma_matmul` all eight warps do everything: they wait for a tile, issue products, and
# request the next tile. While they wait for one thing they cannot do another. Now *specialise*: one warp does nothing
# but fetch, and two warpgroups do nothing but multiply. (CUTLASS has such kernels under the name of warp-specialised
# pipelines; FlashAttention-3 is another one, section 3.1 of its paper.)
#
# Why is *one* warp enough to fetch for 256 threads? **Predict** whether the producer needs tens, hundreds or thousands
# of instructions for a step, and how many cycles the consumers need for the same step, with a tile of $128 \times 256$
# and steps of 64.

# %%
step = 2 * 128 * 256 * 64 / timeline.TENSOR_OPERATIONS
print(f"consumers: {step:.0f} cycles of products in a step")

ptx = written.ptx_of(
    finished_matmul.specialised_matmul, torch.zeros(128, 256).half(), torch.zeros(256, 256).half()
)
rounds = written.loops(ptx, finished_matmul.produce, finished_matmul.consume)
print(f"producer: {sum(rounds['produce'].values())} instructions in a round of its loop, among them")
for name, times in rounds["produce"].items():
    if name.startswith(("mbarrier", "cp.async")):
        print(f"    {times} × {name}")

# %% [markdown]
# That is a few dozen instructions of one warp, for a thousand cycles of products: most of the time the producer is
# idle. So it need not be fast, and needs few registers (sitting 7). Three calls make six copies, since a box is at
# most 128 bytes wide if it is swizzled (sitting 3).
#
# ### Full and empty
#
# The two sides synchronise at two barriers per slot:
#
# | barrier | says | arrivals in a phase | waited for by |
# |---|---|---|---|
# | `full` | the bytes are there | 1, the producer's `expect`, and the bytes | consumers |
# | `empty` | all consumers have read | one from each consumer | the producer |
#
# Until now the program's own order guaranteed that a slot had been read. Between partitions only barriers impose an
# order.
#
# Here is the smallest pair: a producer that copies tiles into *one* slot, and one consumer that adds them.
# `gl.warp_specialize` takes a list of functions with their arguments: the first runs in the program's own warps, the
# others in warps of their own. Further arguments give the number of these warps, and their registers (sitting 7), so
# both lists have one entry fewer than there are functions. Such a group of warps with a function is called a
# *partition*. When the call returns, all of the functions have finished.


# %%
@gluon.jit
def bring(x_desc, tile, full, empty, tiles, AHEAD: gl.constexpr):
    columns: gl.constexpr = x_desc.block_type.shape[1]
    for i in range(tiles):
        mbarrier.wait(empty, i % 2 ^ AHEAD)
        mbarrier.expect(full, x_desc.block_type.nbytes)
        tma.async_copy_global_to_shared(x_desc, [0, i * columns], full, tile)


@gluon.jit
def add_up(tile, full, empty, y_ptr, tiles, rows: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0])
    total = gl.zeros([rows], gl.float32, layout=gl.SliceLayout(1, layout))
    for i in range(tiles):
        mbarrier.wait(full, i % 2)
        part = tile.load(layout)
        mbarrier.arrive(empty, count=1)  # it is in registers: the slot may be filled again
        total += gl.sum(part, axis=1)
    gl.store(y_ptr + gl.arange(0, rows, layout=gl.SliceLayout(1, layout)), total)


@gluon.jit
def sums_by_two(x_desc, y_ptr, tiles, AHEAD: gl.constexpr):
    rows: gl.constexpr = x_desc.block_type.shape[0]
    tile = gl.allocate_shared_memory(x_desc.dtype, x_desc.block_type.shape, x_desc.layout)
    full = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    empty = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(full, count=1)
    mbarrier.init(empty, count=1)
    gl.warp_specialize(
        [
            (add_up, (tile, full, empty, y_ptr, tiles, rows)),
            (bring, (x_desc, tile, full, empty, tiles, AHEAD)),
        ],
        [1],
        [24],
    )


x, y = torch.randn(32, 5 * 64), torch.empty(32)
with observing():
    sums_by_two[(1,)](tiles_of(x, [32, 64]), y, 5, AHEAD=1, num_warps=4)
torch.testing.assert_close(y, x.sum(1), atol=1e-4, rtol=1e-4)

# %% [markdown]
# The producer waits for the *other* parity, `i % 2 ^ 1`. Before its first tile the slot is empty, but no consumer has
# reported that, since none has had anything to read. On a fresh barrier, however, a wait for parity 1 returns at
# once. So the producer fills the ring the first time without waiting, and from the second time on waits for the
# consumers' reports from the previous time.
#
# **Predict** what happens with `AHEAD=0`: which partition waits for what?

# %%
told(lambda: sums_by_two[(1,)](tiles_of(x, [32, 64]), y, 5, AHEAD=0, num_warps=4))

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - On a GPU this kernel hangs, without any message. Here you can read which partition waits in which line, for which
#   phase of which barrier, and which one arrived there last. In many deadlocks the important part is "nothing has
#   ever arrived".
# - The consumer reports as soon as the tile is in registers, before it adds. With WGMMA it has to keep the slot for
#   longer, since the product itself reads the slot.
#
# </details>
#
# ### Exercise: `specialised_matmul` · core
#
# This is the matrix product again, with a tile of $128 \times 256$: each of two consumers owns 64 rows of it, and
# both read the same tile of $b$. Three parts are missing: the producer's loop, the consumer's loop, and the counts of
# the barriers. Leave one product in flight in the loop, and none after it: the line for that is yours too. The slot of
# the last product need not be reported, since nobody waits for it any more. (`mbarrier.arrive` takes `pred=` as well.)
#
# `a` holds two tiles for each slot, one per consumer: `a.index(2 * slot + consumer)`.

# %% exercise="specialised_matmul"
# HINT: Partitions wait for two states of a slot: full and empty. Which of them waits for which state, and
#     which reports it? How many report each?
# HINT: The producer: wait for empty, expect on full, three copies. A consumer: wait for full, multiply,
#     leave one product in flight, and report the slot of the previous product as empty. At first all slots
#     are empty although none has been reported: on a fresh barrier a wait for parity 1 returns at once.
# HINT: Producer: `mbarrier.wait(empty.index(at), phase ^ 1)` with `phase = i // STAGES % 2`. Consumer:
#     `mbarrier.wait(full.index(at), i // STAGES % 2)`, the product, `acc = warpgroup_mma_wait(1,
#     deps=[acc])`, `mbarrier.arrive(empty.index((i + STAGES - 1) % STAGES), count=1, pred=i > 0)`. `full`
#     counts 1 arrival, `empty` 2.
# INCLUDE: flashlearn/kernels/gluon/specialised_matmul.py:produce


# INCLUDE: flashlearn/kernels/gluon/specialised_matmul.py:consume


# INCLUDE: flashlearn/kernels/gluon/specialised_matmul.py:specialised_matmul_kernel


# INCLUDE: flashlearn/kernels/gluon/specialised_matmul.py:specialised_matmul

# %%
flashlearn.check("specialised_matmul", specialised_matmul)

# %%
# flashlearn.hint("specialised_matmul")

# %%
specialised = flashlearn.use("specialised_matmul", specialised_matmul)
b = torch.randn(6 * 64, 256).bfloat16()
pictures.timeline(specialised, a, b)

# %%
for slots in (2, 3):
    tensor_core(specialised, long_a, long_b, stages=slots)
together = tensor_core(multiplied, long_a, long_b, block=(128, 256, 64), stages=3)

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - The producer runs ahead until the ring is full, and from then on waits for `empty` most of the time. That is as
#   it should be: a producer that never waits is too slow.
# - The two consumers multiply at the same time, and each gets half of the tensor cores in this model. They will need
#   more synchronisation as soon as there is a softmax between two products (sitting 8).
# - In the model the kernel of exercise 3, with the same tile, is about as good (the last line). Two costs are not
#   in the model: issuing instructions takes time, and 256 threads that do everything need registers for everything.
#   Whether they matter is a question for a GPU:
#
# </details>

# %%
measured = timings.timings()
print(timings.table(measured, "product"))

# %% [markdown]
# Break it, and predict which partition the report names: report the slot of *this* step as empty; let `empty` count
# 1; leave out the report of the empty slot; let the consumers start with the other parity.
#
# <details><summary>Answer</summary>
#
# The producer in the first two: it copies into a slot that a product of the first consumer may still be reading, or
# that the second consumer has not read yet. All three in the third: the consumers wait for a tile, and the producer for
# a report that nobody makes. A consumer in the last: its first wait returns at once, and it multiplies what has not
# arrived.
#
# </details>
#
# **A question.** Why three slots, and not four as before?
#
# <details><summary>Answer</summary>
#
# Shared memory. A slot has $2 \cdot 64 \cdot 64$ numbers of $a$ and $64 \cdot 256$ of $b$, 48 KiB; the result takes
# 64 KiB. Three slots make 208 KiB, and a program may have 227. (The result could be stored in the slots, which are no
# longer needed at the end. What would have to be waited for then?)
#
# </details>

# %% [markdown]
# **Another question.** Could the two consumers be one function with eight warps, as in exercise 3, so that `empty`
# counts 1?
#
# <details><summary>Answer</summary>
#
# Yes, and for this kernel that would be enough. But two partitions can do different things at the same time: while
# one computes its softmax, the other one multiplies. Sitting 8 needs that, which is why the kernel is built this way.
#
# </details>

# %% [markdown]
# **A last question.** `mbarrier.arrive(empty…)` is called by a function that 128 threads execute, yet `empty` counts
# 2, not 256. Which threads arrive?
#
# <details><summary>Answer</summary>
#
# The compiler lets one thread of the partition arrive, after a barrier of the partition's own 128 threads (see the
# next section): in Gluon a partition arrives as a whole. In CUDA you choose which threads arrive, and give the
# barrier their number.
#
# </details>

# %% [markdown]
# ### Barriers that you did not write
#
# Besides mbarriers, which lie in shared memory and count what you tell them to, a program has 16 *named* barriers
# in hardware, with numbers from 0 to 15 (PTX ISA, section "bar, barrier"). `bar.sync 2, 128` waits until 128
# threads have come to barrier 2. They have no phases, and they make the memory accesses of these threads visible to
# each other. **Predict** what a compiled consumer uses them for, and how the two consumers avoid meeting at the
# same one.

# %%
named = Counter()
for one in written.instructions(ptx, finished_matmul.produce, finished_matmul.consume):
    if one.name.startswith(("bar.sync", "barrier.sync", "bar.warp.sync")):
        named[one.function or "around the partitions", " ".join(one.text.rstrip(";").split())] += 1
for (where, instruction), times in sorted(named.items()):
    print(f"{where:22} {times} × {instruction}")

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - Barrier 0 is that of the first consumer's 128 threads, barrier 2 that of the second's. The compiler puts one
#   before each `mbarrier.arrive`, so that no thread is still reading what the arrival gives away.
# - Barrier 1 is met by all warps of the program: there the first partition hands work to the others and takes it
#   back. The producer is a single warp, and needs only `bar.warp.sync`.
# - Gluon's language has no named barriers of your own. CUDA's programs use them to synchronise consumers:
#   FlashAttention-3's kernels pass the turn of ping-pong by named barriers (sitting 8 does it by mbarriers).
# - And after `mbarrier.init`? One thread initialises; the others must not use the barrier before. Within a program
#   the compiler sees to that with a barrier of all threads.
#
# </details>
#
# ### Beyond the program: clusters
#
# On Hopper up to eight programs (more, if the kernel allows it) form a *cluster*: they run on neighbouring SMs at
# the same time, and can access each other's shared memory (NVIDIA's Hopper whitepaper, "thread block clusters").
# The copy engine can *multicast*: one request, and the tile arrives in the shared memory of several programs, each
# with its own barrier. Two programs that own different queries of one head need the same K and V. With multicast
# each requests half of the tiles, and L2 delivers half of the bytes.
#
# (PTX calls a program a *CTA*. `allocate_mbarrier` allocates a barrier in each program of the cluster, `nbytes_per_cta`
# is what arrives in one of them, and `cga_layout` says how a tile is divided among the programs: `[[0, 0]]` gives the
# whole tile to both.)
#
# Now a barrier has to be initialised before a copy that *another* program requested reports to it. No compiler sees
# that: the fence is yours. **Predict** which instructions change with `MULTICAST`, and which with `TOGETHER`.


# %%
@gluon.jit
def one_tile_for_two(x_desc, y_desc, MULTICAST: gl.constexpr, TOGETHER: gl.constexpr):
    tile = gl.allocate_shared_memory(x_desc.dtype, x_desc.block_type.shape, x_desc.layout)
    full = mbarrier.allocate_mbarrier()
    mbarrier.init(full, count=1)
    if TOGETHER:
        mbarrier.sync_cluster_init()
    mbarrier.expect(full, x_desc.nbytes_per_cta)
    tma.async_copy_global_to_shared(x_desc, [0, 0], full, tile, multicast=MULTICAST)
    mbarrier.wait(full, 0)
    tma.async_copy_shared_to_global(y_desc, [0, 0], tile)
    tma.store_wait(0)


def cluster_of_two(multicast: bool, together: bool) -> str:
    """The PTX of the kernel for a cluster of two programs, each of which has the whole tile."""
    shared = gl.NVMMASharedLayout.get_default_for([64, 64], gl.bfloat16, cga_layout=[[0, 0]])
    x = torch.zeros(64, 64).bfloat16()
    tile = TensorDescriptor(x, [64, 64], [64, 1], [64, 64], shared)
    constants = {"MULTICAST": multicast, "TOGETHER": together}
    return written.ptx_for(one_tile_for_two, tile, tile, constants=constants, num_warps=4, num_ctas=2)


if hasattr(mbarrier, "sync_cluster_init"):
    for multicast, together in ((False, True), (True, True), (True, False)):
        print(f"multicast {multicast}, together {together}:")
        for name in written.names(cluster_of_two(multicast, together)):
            if re.search(r"cluster|mbarrier_init|complete_tx", name):
                print("   ", name)
else:
    print(f"Gluon of Triton {triton.__version__} has no clusters; 3.7.1 has.")

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - `fence.mbarrier_init.release.cluster` and the cluster's own barrier come from your line `sync_cluster_init()`, and
#   disappear with it. Without them a program may signal a barrier that its neighbour has not initialised yet.
# - Multicast is a suffix of the copy, and a mask of the programs that receive it. Their barriers are at the same
#   offset of their shared memory. Each program still expects the bytes of the whole tile.
# - Clusters are not used in this lesson's kernels, and the observer does not run them: it knows one program at a
#   time.
#
# </details>

# %% [markdown]
# **Sources of sittings 1 and 4 to 6.** Barriers, phases, bulk copies, proxies, `wgmma`: NVIDIA, PTX ISA, sections
# "mbarrier", "cp.async.bulk.tensor", "Async proxy" and "Asynchronous warpgroup level matrix instructions". The copy
# engine, and what else is asynchronous: NVIDIA, *H100 Tensor Core GPU Architecture*, 2022. Producers and consumers with
# full and empty barriers: NVIDIA, CUTLASS, documents on pipelines and on efficient GEMM; J. Shah et al.,
# *FlashAttention-3*, 2024, section 3.1. Gluon: Triton's Gluon tutorials. Bytes on their way: J. Little, *Operations
# Research* 9, 1961.

# %% [markdown]
# ## 7 · Moving registers
#
# *Sitting 7 of 9.* An SM has 65536 registers, and allocates them when a program starts: the same number for every
# thread. Your specialised kernel has two consumers of 128 threads each, and a producer of one warp. Nine warps
# would be a program too, but registers are moved by whole warpgroups, so Triton launches twelve: count 384 threads.
# **Predict**: how many registers does each thread get at most? A consumer of attention holds $64 \times D$ sums for
# $O$, $64 \times 128$ scores, and $P$ in 16 bits. Are they enough for $D = 128$?

# %%
registers, threads = GPUS["H100"].registers_per_sm, 3 * 128
each = registers // threads // 8 * 8
print(f"{each} for each of {threads} threads, in steps of 8")
for D in (64, 128):
    sums, scores, p = 64 * D // 128, 64 * 128 // 128, 64 * 128 // 2 // 128  # registers of one of 128 threads
    print(f"D {D:3}: {sums} for O, {scores} for S, {p} for P: {sums + scores + p}")

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - At $D = 128$ that leaves little room for the maximum and the sum of a row, for addresses, and for P in fp32 before
#   it is rounded. What does not fit is spilled to memory.
# - The producer also has that many registers per thread, but needs only a few: the addresses of some barriers and a
#   counter.
#
# </details>
#
# ### Move them yourself
#
# This compiles sitting 9's attention kernel for an H100, at $D = 128$, with shares of registers that you choose:
# those of each thread of the second consumer, and of the producer. The first consumer gets what is left. NVIDIA's
# assembler, which comes with Triton, says how many bytes each thread spills. **Predict** whether equal shares
# spill, run the cell, and then change the two numbers until nothing does. How low may the consumers' share be?

# %%
shares = (168, 168)  # of the second consumer and of the producer, in steps of 8


def spills(second: int, producer: int) -> str:
    first = 3 * each - second - producer
    lost = forward_variants.spilled((second, producer), D=128)
    return f"{first:3} and {second:3} for the consumers, {producer:3} for the producer: {lost} bytes spilled"


print(spills(*shares))

# %% [markdown]
# <details><summary><b>Some other shares</b></summary>
#
# The next cell tries a few. The consumers need more than a third of the registers, but this kernel leaves a margin
# below 240.
#
# </details>

# %%
for second, producer in ((152, 152), (168, 168), (192, 120), (208, 88), (240, 24)):
    print(spills(second, producer))

# %% [markdown]
# How are registers *moved*? `setmaxnreg.dec` releases registers of a warpgroup, and `setmaxnreg.inc` waits until
# enough are free, and takes them (PTX ISA, section "setmaxnreg": from 24 to 256, in steps of 8). In Gluon they are
# the last argument of `gl.warp_specialize`: `[240, 24]` are the registers of a thread in the second and the third
# partition. The first gets what remains of the three shares of 168. **Predict** how many remain, and how many would
# remain with `[240, 40]`.

# %%
for consumer, producer in ((240, 24), (240, 40), (232, 40), (256, 24)):
    left = each * 3 - consumer - producer
    print(
        f"second consumer {consumer}, producer {producer}: {left} left for each thread of the first consumer"
    )

# %% [markdown]
# This is what the compiler does with `[240, 24]` in the matrix product of sitting 6. **Predict** how many times a
# consumer's share is set, and how many times the producer's.

# %%
moves = written.moved_registers(ptx, finished_matmul.produce, finished_matmul.consume)
for way, count, begins in moves:
    if begins != written.WAITING:
        print(f"setmaxnreg.{way} {count:3}  at the beginning of {begins}")
others = Counter(f"{way} {count}" for way, count, begins in moves if begins == written.WAITING)
print("between the partitions:", ", ".join(f"{times} × {move}" for move, times in others.items()))

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - Each partition sets its share where it begins: 240 in both consumers, 24 in the producer. One consumer goes *down*
#   to 240, the one in the program's own first warps: it had more before, and among the others there is an `inc 256`.
# - The others stand between the partitions: warps that wait for work have a share too, and so have the three warps
#   that fill up the producer's warpgroup. These figures are the compiler's own, and you need not know them.
# - The producer has one warp, but uses the registers of four, since registers are moved by whole warpgroups: $128
#   \cdot 24 = 3072$ registers for one thread that requests copies. That is still a good bargain: with 168 per thread
#   they were 21504.
# - Without this, the kernel would spill, as the first cell of this section shows, or would need smaller tiles, and so
#   more bytes per product (sitting 5).
#
# </details>
#
# **Break it.** Here are three partitions that do nothing, with register counts that you can set. **Predict** which of
# these four the observer refuses, and why.


# %%
@gluon.jit
def idle(n):
    pass


@gluon.jit
def three_partitions(n, SECOND: gl.constexpr, THIRD: gl.constexpr):
    gl.warp_specialize([(idle, (n,)), (idle, (n,)), (idle, (n,))], [4, 1], [SECOND, THIRD])


for shares in ((240, 24), (28, 24), (16, 24), (256, 256)):
    print(shares)
    told(lambda shares=shares: three_partitions[(1,)](1, SECOND=shares[0], THIRD=shares[1], num_warps=4))

# %% [markdown]
# **A question.** Could the producer have 16 registers, or none, and the consumers 248 each?
#
# <details><summary>Answer</summary>
#
# No: 24 is the lowest number that the instruction accepts. And $248 + 248 + 24 = 520$, times 128 that is 66560, more
# than an SM has. $240 + 240 + 24 = 504 = 3 \cdot 168$ is exactly what the program was given, and FlashAttention-3's
# own kernels use these numbers as well.
#
# </details>

# %% [markdown]
# **Another question.** With three consumers and a producer, which register counts are possible? What does that imply
# for their tiles?
#
# <details><summary>Answer</summary>
#
# $3 \cdot 160 + 32 = 512$: exactly all. At $D = 64$ a consumer needs $32 + 64 + 32 = 128$ of them for its tiles, so
# 160 are enough; at $D = 128$ they would not be. That is why the package's forward kernel has three consumers only
# for $D = 64$ (`forward_cut`).
#
# </details>

# %% [markdown]
# ## 8 · Ping-pong, and the softmax during a product
#
# *Sitting 8 of 9.* Attention is two products with a softmax between them, and the tensor cores cannot compute a
# softmax. How long does it take? Count for one tile of $128$ queries and $128$ keys, with these operations per SM and
# cycle (NVIDIA, *CUDA C++ Programming Guide*, table of throughputs of arithmetic instructions, compute capability
# 9.0; the tensor cores' figure is the data sheet's, as in sitting 5):
#
# | | operations per cycle |
# |---|---|
# | products in bf16 | 4096 |
# | fp32 addition, multiplication, multiply-add | 128 |
# | comparison, minimum, maximum, and most conversions | 64 |
# | `ex2`, the exponential to base 2 | 16 |
#
# **Predict**, for $D = 64$ and $D = 128$: which takes longer, the two products or the exponentials?

# %%
tile = 128 * 128
exponentials = tile / timeline.SPECIAL_LANES
others = tile * (2 / 128 + 2 / 64)  # a multiply-add and the sum; the maximum, and rounding P
print(f"exponentials {exponentials:.0f} cycles, other arithmetic about {others:.0f}")
for D, rate, name in ((64, 1, "bf16"), (128, 1, "bf16"), (128, 2, "fp8")):
    products = 2 * 2 * tile * D / (rate * timeline.TENSOR_OPERATIONS)
    one_by_one = products + exponentials + others
    print(
        f"D {D:3} in {name}: products {products:.0f} cycles; one after the other {one_by_one:.0f}: the tensor cores "
        f"rest for {1 - products / one_by_one:.0%}"
    )

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - At $D = 64$ a tile's exponentials take as long as both of its products; at $D = 128$ half as long; with eight-bit
#   products at $D = 128$ as long again. An exponential takes as long as 256 operations of the tensor cores
#   (FlashAttention-3, section 3.1, counts the same: 989 TFLOP/s for products and 3.9 for exponentials).
# - So it is the exponentials that have to overlap with something; the ring has already hidden the copies.
#   Exponentials and products run on different units, yet for one tile they come one after the other: its softmax
#   needs its scores, and its second product needs the softmax.
# - One exponential per score is the minimum. (The multiplication by the scale is folded already: lesson 12.) But it
#   need not be computed by that unit: see the end of this sitting.
#
# </details>
#
# What can run during a softmax? The product of *another* tile. Which one? There are two answers, and FlashAttention-3
# uses both.
#
# ### A tile of another consumer: ping-pong
#
# Two consumers have two tiles of queries. While one computes exponentials, the other one can multiply. Here are two
# consumers reduced to that: in each step a product, and the sum of the exponentials of its rows. They share nothing
# but the units of the SM, and two barriers, `turns`, which they use if `PASS` says so: a consumer waits for its
# turn, and passes it on to the other one, either when it has issued its product, or when its product is finished.
#
# The model's lanes, exponentials and tensor cores belong to the SM: who uses them at the same time shares them
# evenly. **Predict** for `PASS="never"`: do the two multiply at the same time, compute exponentials at the same
# time, or alternate?


# %%
@gluon.jit
def exponentials_of_scores(
    q, k, loaded, turns, y_ptr, steps, CONSUMER: gl.constexpr, PASS: gl.constexpr, FIRST: gl.constexpr
):
    layout: gl.constexpr = accumulator(128)
    total = gl.zeros([64], gl.float32, layout=gl.SliceLayout(1, layout))
    nothing = gl.zeros([64, 128], gl.float32, layout=layout)
    mbarrier.wait(loaded, 0)
    for i in range(steps):
        if PASS != "never":
            mbarrier.wait(turns.index(CONSUMER), i % 2 ^ FIRST[CONSUMER])
        s = warpgroup_mma(q.index(CONSUMER), k.permute([1, 0]), nothing, use_acc=False, is_async=True)
        if PASS == "issued":
            mbarrier.arrive(turns.index(1 - CONSUMER), count=1)
        s = warpgroup_mma_wait(0, deps=[s])
        if PASS == "finished":
            mbarrier.arrive(turns.index(1 - CONSUMER), count=1)
        total += gl.sum(gl.exp2(s), axis=1)
    gl.store(y_ptr + 64 * CONSUMER + gl.arange(0, 64, layout=gl.SliceLayout(1, layout)), total)


@gluon.jit
def two_consumers(q_desc, k_desc, y_ptr, steps, PASS: gl.constexpr, FIRST: gl.constexpr):
    q = gl.allocate_shared_memory(q_desc.dtype, [2, 64, 128], q_desc.layout)
    k = gl.allocate_shared_memory(k_desc.dtype, [128, 128], k_desc.layout)
    loaded = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    turns = gl.allocate_shared_memory(gl.int64, [2, 1], mbarrier.MBarrierLayout())
    mbarrier.init(loaded, count=1)
    for each in gl.static_range(2):
        mbarrier.init(turns.index(each), count=1)
    mbarrier.expect(loaded, 2 * q_desc.block_type.nbytes + k_desc.block_type.nbytes)
    for each in gl.static_range(2):
        tma.async_copy_global_to_shared(q_desc, [64 * each, 0], loaded, q.index(each))
    tma.async_copy_global_to_shared(k_desc, [0, 0], loaded, k)
    gl.warp_specialize(
        [
            (exponentials_of_scores, (q, k, loaded, turns, y_ptr, steps, 0, PASS, FIRST)),
            (exponentials_of_scores, (q, k, loaded, turns, y_ptr, steps, 1, PASS, FIRST)),
        ],
        [4],
        [232],  # any number that leaves enough for the first will do here
    )


few_queries, some_keys = torch.randn(128, 128).bfloat16() / 8, torch.randn(128, 128).bfloat16()


def sums_of_exponentials(q: Tensor, k: Tensor, turn: str, first: tuple[int, int] = (1, 0)) -> Tensor:
    y = torch.empty(128)
    two_consumers[(1,)](
        tiles_of(q, [64, 128]), tiles_of(k, [128, 128]), y, 6, PASS=turn, FIRST=first, num_warps=4
    )
    return y


pictures.timeline(sums_of_exponentials, few_queries, some_keys, turn="never")

# %% [markdown]
# They are in step: both multiply, and each gets half of the tensor cores; then both take exponentials, and share
# these. While one of the two units works, the other one rests.
#
# With turns there is a first consumer. Nobody has arrived on either barrier yet; `FIRST` has the parity with which
# each consumer waits for the first time; from then on it alternates. **Predict** what happens with `(0, 0)`; then find
# the parities with which consumer 0 begins.

# %%
first = (0, 0)  # the parities with which consumers 0 and 1 wait for their first turn
told(lambda: sums_of_exponentials(few_queries, some_keys, "finished", first))

# %% [markdown]
# <details><summary>Answer</summary>
#
# `(1, 0)`. On a fresh barrier parity 1 counts as complete, so consumer 0 continues. Consumer 1 asks for parity 0, and
# waits until consumer 0 has arrived. From then on each arrival lets the other consumer continue once.
#
# </details>
#
# Now both ways to pass the turn. **Predict** which of them is faster, and by how much.

# %%
steps_taken = {}
for turn in ("never", "issued", "finished"):
    with observing() as (session, _):
        found = sums_of_exponentials(few_queries, some_keys, turn)
    torch.testing.assert_close(found, 6 * torch.exp2(few_queries.float() @ some_keys.float().T).sum(1))
    steps_taken[turn] = max(event.end for event in session.observation().timeline)
    print(f"turn passed when {turn:9}: {steps_taken[turn]:6.0f} cycles")
assert steps_taken["finished"] < 0.7 * steps_taken["never"]

# %%
pictures.timeline(sums_of_exponentials, few_queries, some_keys, turn="finished")

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - With turns one consumer multiplies while the other one takes exponentials, and each has its unit to itself. Both
#   were idle half of the time before; that is where the time comes from.
# - A turn that is passed as soon as the product is *issued* changes hardly anything in the model: the other product
#   begins a moment later, and the two share the tensor cores again.
# - In which order an SM serves products of two warpgroups is not documented; the model shares evenly, and starts both
#   consumers at the same moment. If a GPU serves one after the other, passing the turn early is enough, and saves the
#   wait. So turns have to be measured.
#
# </details>
#
# FlashAttention-3 passes the turn for both products of a step, $S$ of this block and $PV$ of the block before
# (section 3.1 of its paper). So does the package's kernel, when the products are issued. Here it is, on its own and
# by turns, with nothing else changed:

# %%
q = torch.randn(1, 1, 128, 64).bfloat16()
k, v = (torch.randn(1, 1, 8 * 128, 64).bfloat16() for _ in range(2))
own = tensor_core(forward_variants.on_their_own, q, k, v)
turns = tensor_core(forward_variants.by_turns, q, k, v)
print(f"by turns {own / turns:.2f} times as fast, in the model")

# %%
pictures.timeline(forward_variants.by_turns, q, k, v, window=(0, 8000))

# %% [markdown]
# **Predict** what a GPU says: where do turns gain more, with few keys or with many?

# %%
print(timings.table(measured, *(f"turns, S {S}, D {D}" for S, D in timings.TURNS)))

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - Turns have a cost too: each consumer waits and arrives once more per block, and one that is ready may have to wait
#   for the other. The package's kernel takes turns where there are few keys, and does not where there are many
#   (`forward_cut`); that was decided by trying both on an H200.
# - For their own kernel the authors of FlashAttention-3 report, on an H100 with $D = 128$ in fp16, that ping-pong
#   raised it from 570 to between 620 and 640 TFLOP/s (section 3.1).
#
# </details>
#
# ### A tile of the same consumer: two blocks of keys at a time
#
# There is independent work within one consumer as well. While it computes the softmax of block $i$, the product $P V$
# of block $i - 1$ can run: it needs nothing from block $i$. So issue both products together, wait until only *one* is
# in flight, which is the newer one, and compute the exponentials meanwhile:
#
# | part of step $i$ | the tensor cores | the consumer's lanes |
# |---|---|---|
# | 1 | $S_i = Q K_i^\top$ | waits |
# | 2 | $O \mathrel{+}= P_{i-1} V_{i-1}$ | softmax of $S_i$: $m$, $P_i$, $\ell$ |
# | 3 | free for the other consumer | $O \mathrel{\cdot}= 2^{m_{i-1} - m_i}$ |
#
# The order of the last two rows is the difficult part. **Predict**: $P_{i-1}$ was computed with the maximum
# $m_{i-1}$. What is the result if $O$ is rescaled *before* $P_{i-1} V_{i-1}$ has been added?
#
# <details><summary>Answer</summary>
#
# $P_{i-1} V_{i-1}$ is relative to $m_{i-1}$. If it is added to an $O$ that is relative to $m_i$ already, it lacks the
# factor $2^{m_{i-1} - m_i}$, and so does every block's share: right only where the maximum no longer rises. So the
# rescaling must come after the wait for that product. If `acc` is used while the product is in flight, the observer
# reports it. But the lines can also be in an order that violates no rule of asynchronous operations and still gives
# wrong numbers. The check knows that mistake.
#
# </details>

# %% [markdown]
# **Another question.** What does this overlap cost? And why is $S_i$ issued before $P_{i-1} V_{i-1}$, and not after
# it?
#
# <details><summary>Answer</summary>
#
# It costs registers: $S_i$ and $P_{i-1}$ exist at the same time, which takes $64 + 32$ registers in each thread in
# addition to those of $O$. Sitting 7 made room for that. And products are computed in the order in which they are
# issued: with $P V$ first, the softmax would have to wait for both of them.
#
# </details>

# %% [markdown]
# ### An exponential without its unit
#
# The 16 lanes for `ex2` are the scarce unit, and the 128 for multiply-adds have time left. FlashAttention-4
# computes a part of its exponentials on these (T. Zadouri et al., 2026; on Blackwell, where products are faster
# still). It works on any GPU, and the idea is older: W. Cody and W. Waite, *Software Manual for the Elementary
# Functions*, 1980. Split $x = n + f$ into the nearest whole number $n$ and $|f| \le \tfrac12$. Then $2^x = 2^n\,
# 2^f$. The factor $2^n$ is an addition to the exponent's bits of a floating-point number, and $2^f$ on so short an
# interval is nearly a polynomial.
#
# Here it is as a device function, with a polynomial of degree 3. Adding $1.5 \cdot 2^{23}$ leaves no bits for a
# fraction: that rounds, and the whole number is in the lowest bits of the result. **Predict** how many instructions
# it takes in place of one `ex2`.

# %%
POLYNOMIAL = exponential.coefficients(3)  # the coefficient of f³ first


@gluon.jit
def exp2_by_fma(x, C: gl.constexpr):
    x = gl.maximum(x, -125.0)  # further down fp32 has no normal numbers
    rounded = x + 12582912.0  # 1.5 · 2²³
    f = x - (rounded - 12582912.0)
    p = ((C[0] * f + C[1]) * f + C[2]) * f + C[3]
    return (p.to(gl.int32, bitcast=True) + (rounded.to(gl.int32, bitcast=True) << 23)).to(
        gl.float32, bitcast=True
    )


@gluon.jit
def powers(x_ptr, y_ptr, C: gl.constexpr, BY_FMA: gl.constexpr):
    at = gl.arange(0, 128, layout=gl.BlockedLayout([1], [32], [4], [0]))
    x = gl.load(x_ptr + at)
    gl.store(y_ptr + at, exp2_by_fma(x, C) if BY_FMA else gl.exp2(x))


x, y = -20 * torch.rand(128), torch.empty(128)
made = {}
for by_fma in (False, True):

    def launch(by_fma=by_fma):
        powers[(1,)](x, y, POLYNOMIAL, BY_FMA=by_fma, num_warps=4)

    with observing():
        launch()
    torch.testing.assert_close(y, torch.exp2(x), atol=0, rtol=1e-4)
    made[by_fma] = Counter(written.names(written.ptx_of(launch)))
print("without the polynomial:", dict(made[False] - made[True]))
print("with it:               ", dict(made[True] - made[False]))

# %% [markdown]
# How good does it have to be? $P$ is rounded to bf16 before its product, with a relative error of up to $2^{-9}$.
# **Predict** which degree is enough that hardly any rounded $P$ changes.

# %%
scores = -20 * torch.rand(1_000_000, generator=torch.Generator().manual_seed(0))
print("degree  largest relative error in fp32  other number in bf16")
for degree in range(1, 7):
    worst, changed = exponential.errors(scores, degree)
    print(f"{degree:6}  {worst:30.1e}  {changed:20.3%}")

# %%
for degree in (3, 5):
    print(f"degree {degree}, a tile of 128 × 128 scores, four other instructions for each:")
    for share in (0.0, 0.1, 0.2, 0.25, 0.3, 0.5, 1.0):
        print(
            f"    {share:4.0%} by multiply-adds: {exponential.cycles(128 * 128, share, degree, others=4):5.0f} cycles"
        )

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - Three multiply-adds and six instructions around them replace one `ex2`. On 128 lanes these nine take longer than
#   one on 16, so it makes no sense for *all* scores. For about a quarter of them it does: then both units are done
#   at the same time.
# - At degree 3 the error is far below the rounding of bf16: fewer than one number in a hundred is rounded
#   to its neighbour. For fp32 you would need degree 5 or 6.
# - The lower bound has a consequence: $2^{-\infty}$ is not 0 here but $2^{-125}$. A masked score must not
#   take this path, or be set to 0 afterwards.
# - This counts two units, with all the other instructions on the lanes, and nothing else. Whether a kernel gains
#   depends on what else its lanes have to do. At $D = 128$ in bf16 the products take longer than the exponentials,
#   so on Hopper there is less to gain than in eight bits, or on Blackwell.
#
# </details>

# %% [markdown]
# ## 9 · FlashAttention-3
#
# *Sitting 9 of 9.* Now you have all the parts. A program owns 128 queries of one head, 64 per consumer. The producer
# copies both tiles of $Q$ once, and then $K$ and $V$, block by block, through *two* rings. Why two? A consumer has
# finished with $K_i$ as soon as $S_i$ is there, in step $i$, but with $V_i$ only one step later.
#
# | barrier | slots | arrivals in a phase | completed by |
# |---|---|---|---|
# | `q_full` | 1 | 1 | the producer's `expect`, and the bytes of two tiles |
# | `k_full`, `v_full` | `STAGES` | 1 | the producer's `expect`, and the bytes |
# | `k_empty`, `v_empty` | `STAGES` | 2 | both consumers |
#
# ### Exercise: `fa3_forward` · core
#
# $Q$ `[B, H, S_q, D]`, $K$ and $V$ `[B, H_k, S_k, D]` in fp16 or bf16, with any strides, $D$ 64 or 128, $H_k$ a
# divisor of $H$; causal (aligned bottom-right) or not; $\alpha$ of either sign. Return $O$, and LSE in fp32 (natural
# logarithm); a query that sees nothing has $O = 0$ and LSE $= -\infty$. Four parts are missing: the producer, the
# softmax in base 2 (lesson 12, section 2), the consumer with a softmax during a product, and the barriers and
# partitions. Beyond the last key a descriptor reads zeros, and a score of 0 is not a masked score: you have to mask
# these keys. Begin without overlap if you like, and add it when the check passes.
#
# Two details. The tiles have the shape of the descriptor's block, `[1, 1, rows, D]`: `k.index(slot).reshape([BLOCK_K,
# D])` is a matrix, as is done for `q`, and `permute` comes after that. And a kernel sees a number of the module only as
# `gl.constexpr`, as `ROWS` is; others, such as $\ln 2$, are written out.

# %% exercise="fa3_forward"
# HINT: Take your specialised_matmul. The producer copies K and V instead of a and b, each in a ring of its
#     own, since a consumer has finished with K long before it has finished with V. The consumer has two
#     products, and lesson 06's softmax between them. In which order can they be issued so that one of them
#     runs while you compute exponentials?
# HINT: Before the loop: S of block 0, its softmax, P. In step i: issue S of block i, then O += P V of block
#     i − 1; wait until only one product is in flight, so that S is there; report K's slot; softmax; wait for the
#     other product; report V's slot of block i − 1; only now multiply acc by rescale, and make P. After the
#     loop: the last P V. `full` counts 1, `empty` 2.
# HINT: `s = warpgroup_mma(q, k.permute([1, 0]), nothing, use_acc=False, is_async=True)`, `acc =
#     warpgroup_mma(p, v, acc, is_async=True)`, `s = warpgroup_mma_wait(1, deps=[s])`, softmax_step, `acc =
#     warpgroup_mma_wait(0, deps=[acc])`, `acc = acc * gl.convert_layout(rescale, gl.SliceLayout(1,
#     output))[:, None]`, `p = gl.convert_layout(p32.to(o_desc.dtype), operand_a(output))`. LSE: `(m_i +
#     gl.log2(l_i))` times ln 2.
import math

from flashlearn.kernels.described import complying, like
from flashlearn.kernels.gluon.parts import operand_a, refuse_unknown, rows_of_heads
from flashlearn.kernels.tuned_forward import LOG2_E, refuse_misfits

ROWS = gl.constexpr(64)  # queries of a consumer


# INCLUDE: flashlearn/lessons/lesson_13_hopper/simple_fa3.py:tile_of


# INCLUDE: flashlearn/lessons/lesson_13_hopper/simple_fa3.py:bring_q_and_keys


# INCLUDE: flashlearn/lessons/lesson_13_hopper/simple_fa3.py:softmax_step


# INCLUDE: flashlearn/lessons/lesson_13_hopper/simple_fa3.py:attend


# INCLUDE: flashlearn/lessons/lesson_13_hopper/simple_fa3.py:fa3_forward_kernel


# INCLUDE: flashlearn/lessons/lesson_13_hopper/simple_fa3.py:fa3_forward

# %%
flashlearn.check("fa3_forward", fa3_forward)

# %%
# flashlearn.hint("fa3_forward")

# %%
forward = flashlearn.use("fa3_forward", fa3_forward)
pictures.timeline(forward, q, k, v, window=(0, 8000))

# %%
in_order = tensor_core(forward_variants.in_order, q, k, v)  # the same kernel, each product waited for at once
overlapped = tensor_core(forward, q, k, v)
print(f"{in_order / overlapped:.2f} times as fast as in order, in the model")
assert overlapped < in_order

# %% [markdown]
# **Break it**, and predict which partition the report names, and for what: wait for $V$ with the phase of block $i$;
# report $V$'s slot before the second wait; make $P$ by `p32.to(…)` alone, without `convert_layout`; rescale `acc`
# before its wait; leave `log2 e` out of the launcher. And one change is *right*, although it looks wrong: report $K$'s
# slot directly after the line that issues $S_i$, before any wait.
#
# <details><summary>Why is the last one right, and should you do it?</summary>
#
# The producer fills the slots in *its* order: before it copies $K_{i+2}$ into this slot it has to copy $V_{i+1}$, and
# for that it waits until both consumers have reported the slot of $V_{i-1}$ as empty. They do that after the wait for
# *all* products of step $i$. So $S_i$ is finished by then, by a chain of three barriers. The observer follows this
# chain and reports no problem. Still, do not do it: if $V$'s ring has one more slot than $K$'s, or its own producer,
# the chain no longer holds.
#
# </details>
#
# ### How fast is it?
#
# **Predict**: your kernel against lesson 12's in Triton, which has none of this lesson's machinery, and against the
# package's in Gluon. (On a Hopper GPU the next cell measures the solved version of each; elsewhere it reads an
# H200's record.)

# %%
print(timings.table(measured, "forward"))
slower = measured["forward"][timings.TAUGHT] / measured["forward"][timings.TRITON]
print(f"the kernel of this sitting takes {slower:.2f} times as long as lesson 12's")

# %% [markdown]
# After nine sittings the kernel is no faster than the one in Triton: on the H200 of the record it is slower by some
# per cent. It has a producer, rings, and a softmax during a product. What does lesson 12's kernel have that yours
# has not?
#
# - Its loop without a mask. Your `softmax_step` compares and selects for every score, although most blocks of keys
#   need no mask.
# - The scale folded into the exponent: one multiply-add for each score, where yours has a multiplication, a
#   selection and a subtraction.
# - Several programs on an SM. While one begins or ends, another one multiplies. Yours has so many registers that only
#   one fits, and its tensor cores rest while Q arrives and while O leaves.
#
# The package's kernel, `flashlearn.kernels.gluon.fa3_forward`, passes the same check, and its consumer works like
# yours. It has what is missing:
#
# - Its programs are *persistent*: there is one per SM, which takes one tile after another, so that the producer can
#   load the next tile's $Q$ and $K$ while the consumers finish the current one. Under a causal mask a counter in
#   memory says which tile is next, the longest first.
# - It has two loops, one of them without any mask.
# - It has two consumers or three, with or without turns, as `forward_cut` decides.
# - In the loop without a mask the exponential of a score costs one multiply-add and one `ex2`. These are the lines (for
#   a positive scale):
#
# ```python
# m_new = gl.maximum(m_i, gl.max(s, axis=1) * scale)
# p = gl.exp2(s * scale - m_new[:, None])
# ```
#
# **Stretch, ungraded.** Add one of these to your kernel, and predict its share of the difference before you measure
# it. The second is the easiest: give `softmax_step` a constant `MASKED`, and split the loop where the last whole
# block ends.
#
# Lesson 12's table and plot compare all kernels over all shapes; "lesson 13" there is the package's pair (`flashlearn
# bench` makes them for your GPU).

# %% [markdown]
# ## Project · The backward pass
#
# *As many sittings as you like.* Lesson 11 computed all three gradients in one pass: five products for each pair of
# tiles. On Hopper each of them is a WGMMA, and the question is where its two operands are. The right one is always in
# shared memory. The left one may be in registers, if it is there in the layout that a product of 64 rows leaves
# (after rounding). **Predict**, before you read on: a program owns keys, so $dK$ and $dV$ stay in registers. Should a
# tile of $S$ have queries as rows, or keys?
#
# <details><summary><b>Answer</b></summary>
#
# Keys. $dV = P^\top dO$ and $dK = \alpha\, dS^\top Q$ have $P^\top$ and $dS^\top$ on the left: if the program
# computes $S^\top = K Q^\top$ and $dP^\top = V dO^\top$, they are there already, and only have to be rounded and
# converted. With queries as rows both would have to be transposed, through shared memory.
#
# | product | left operand | from | right operand | sums |
# |---|---|---|---|---|
# | $S^\top = K Q^\top$ | $K$, the program's own | shared memory | $Q$, seen with its axes exchanged | gone after the step |
# | $dP^\top = V dO^\top$ | $V$, the program's own | shared memory | $dO$, likewise | gone after the step |
# | $dV \mathrel{+}= P^\top dO$ | $P^\top$ | registers | $dO$ | stay in registers |
# | $dK \mathrel{+}= dS^\top Q$ | $dS^\top$ | registers | $Q$ | stay in registers |
# | $dQ \mathrel{+}= dS\, K$ | $dS$, **transposed** | shared memory | $K$ | of all programs, in memory |
#
# The last product is the exception, for two reasons. Its left operand is the only one that has to be transposed: it
# goes to shared memory by an ordinary store, and the tensor core reads it with its axes exchanged, `permute([1, 0])`,
# which costs nothing for numbers of 16 bits. And no program owns its sum: $dQ$ has a share from every program that
# visits its rows. Lesson 11 used atomics on single numbers; the copy engine can *add* a whole tile to memory with one
# instruction (PTX ISA, section "cp.reduce.async.bulk.tensor").
#
# </details>

# %%
for D in (64, 128):
    sums, tile = 64 * D // 128, 64 * 64 // 128  # registers of each of 128 threads, a number of fp32 in each
    print(
        f"D {D:3}: dK and dV {2 * sums}, dQ {sums}, Sᵀ and dPᵀ {2 * tile}, Pᵀ and dSᵀ as operands {tile}; "
        f"when dQ is made: {3 * sums + tile} of 240"
    )

# %% [markdown]
# That is why a consumer owns 64 keys and processes 64 queries at a time, and why the producer gives registers away.
# (At $D = 128$ there is little room, and registers may be spilled: the check's report says how many, under *On a
# GPU*.)
#
# ### The plan
#
# - A program owns 128 keys, two consumers 64 each. The producer copies $K$ and $V$ once (`kv_full`), and then blocks
#   of 64 queries, $Q$ and $dO$, through a ring of two slots (`full`, `empty`), as in sitting 6.
# - A consumer waits for a block, issues $S^\top$ and $dP^\top$ together, and computes the exponentials of the first
#   during the second.
# - $P^\top$ is 0 where the key does not exist, or the causal mask hides it: these two are yours. `lse` already contains
#   $+\infty$ for queries that see nothing, and where there is no query, so there it is 0 by itself.
# - $dS^\top$ goes to `ds_tile` by an ordinary store, and tensor cores read it: what has to come between the two? (It
#   may be overwritten in the next block, as its product has been waited for by then.)
# - Three products follow, with one wait for all of them; then the slot is empty, and the copy engine adds $dQ$ from
#   `dq_tile` to memory during the next block's products.
# - Alpha is a factor in the exponent, and $dQ$ and $dK$ are multiplied by it once at the end. Everything is in base
#   2: $e^x = 2^{x \log_2 e}$.
#
# One call is new. `async_add_shared_to_global(desc, coordinates, tile)` (a helper of the course, since Gluon has no
# name for it) asks the copy engine to *add* a tile to the block at these coordinates. It is used like
# `tma.async_copy_shared_to_global`: it reads the tile later than the line says, it belongs to the same groups, and
# `tma.store_wait` waits for both. **Predict** what `y` is after this kernel, and what the observer says if the tile is
# overwritten between the two additions without a wait.

# %%
from flashlearn.kernels.gluon.tma_add import async_add_shared_to_global


@gluon.jit
def add_two_tiles(y_desc, WAIT: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0])
    tile = gl.allocate_shared_memory(y_desc.dtype, y_desc.block_type.shape, y_desc.layout)
    for value in gl.static_range(1, 3):
        if WAIT:
            tma.store_wait(0)
        tile.store(gl.full([32, 32], value, gl.float32, layout))
        fence_async_shared()
        async_add_shared_to_global(y_desc, [0, 0], tile)
    tma.store_wait(0)


y = torch.full((32, 32), 10.0)
for wait in (True, False):
    told(lambda wait=wait: add_two_tiles[(1,)](tiles_of(y, [32, 32]), WAIT=wait, num_warps=4))
    if wait:
        print("every element of y is", y.unique().tolist())

# %% [markdown]
# ### Exercise: `fa3_backward` · stretch
#
# $K$ and $V$ have as many heads as $Q$ here. Three parts are missing: the producer, the tiles $P^\top$ and $dS^\top$,
# and the products that use them. Fill them in from the top. Until all three are there the check says what remains to be
# done; after that the observer reports accesses that were not waited for, with their lines.

# %% exercise="fa3_backward"
# HINT: Write down the five products with the shapes of their operands, keys as rows wherever you can
#     choose. Which left operands are in registers already, and which of the five products needs a tile that
#     has to be transposed through shared memory?
# HINT: Issue Sᵀ = K Qᵀ and dPᵀ = V dOᵀ together; the exponentials run during the second. Pᵀ, rounded, is
#     the left operand of dV += Pᵀ dO, and dSᵀ that of dK += dSᵀ Q. dSᵀ also goes to shared memory: with its
#     axes exchanged it is dS, the left operand of dQ = dS K. LSE and delta have one number per query,
#     `[None, :]`. A slot is empty when the products for dV and dK are finished.
# HINT: `s = warpgroup_mma(k, q.permute([1, 0]), s, use_acc=False, is_async=True)`, the same for `dp` of `v`
#     and `do`, `warpgroup_mma_wait(1, deps=[s])`; `p = gl.exp2(s * (alpha * LOG2_E) - (lse * LOG2_E)[None,
#     :])`, 0 where key or query is missing or hidden; `warpgroup_mma_wait(0, deps=[dp])`, `ds = (p * (dp -
#     delta[None, :])).to(k.dtype)`; `gl.convert_layout(p.to(k.dtype), left)` meets `do`, that of `ds` meets
#     `q`; `ds_tile.store(ds)`, `fence_async_shared()`, `ds_tile.permute([1, 0])` meets `k`; wait for all
#     three, arrive on `empty`, `tma.store_wait(0)`, store `dq`, fence, `async_add_shared_to_global`.
import math

from flashlearn.kernels.delta import delta_preprocess
from flashlearn.kernels.described import complying, like
from flashlearn.kernels.gluon.parts import operand_a, refuse_unknown, rows_of_heads
from flashlearn.kernels.gluon.tma_add import async_add_shared_to_global

KEYS = gl.constexpr(64)  # of a consumer
QUERIES = gl.constexpr(64)  # of a block
STAGES = gl.constexpr(2)
LOG2_E = gl.constexpr(1.4426950408889634)


# INCLUDE: flashlearn/lessons/lesson_13_hopper/taught_backward.py:send_queries


# INCLUDE: flashlearn/lessons/lesson_13_hopper/taught_backward.py:own_keys


# INCLUDE: flashlearn/lessons/lesson_13_hopper/taught_backward.py:fa3_backward_kernel


# INCLUDE: flashlearn/lessons/lesson_13_hopper/taught_backward.py:fa3_backward

# %%
flashlearn.check("fa3_backward", fa3_backward)

# %%
# flashlearn.hint("fa3_backward")

# %% [markdown]
# Now look at its timeline: one program's keys and eight blocks of queries. **Predict** two things: which row is idle
# most often, and what the consumers wait for most, the copies or their products?

# %%
backward = flashlearn.use("fa3_backward", fa3_backward)
q, do, o = (torch.randn(1, 1, 512, 64).bfloat16() for _ in range(3))
k, v = (torch.randn(1, 1, 128, 64).bfloat16() for _ in range(2))
lse = torch.randn(1, 1, 512) + 5.0  # any numbers will do to see who waits for whom
gradients = (q, k, v, o, do, lse)
pictures.timeline(backward, *gradients, window=(0, 8000))

# %%
passed = pictures.timeline(backward, *gradients)
print(passed)
for kind, what in (("tma load", "brought"), ("tma store", "taken away or added")):
    size = sum(event.bytes for event in passed.events if event.what == kind)
    print(f"{size / KIB:.0f} KiB {what} by the copy engine")

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - The producer waits for `empty` most of the time, as it should, and the consumers wait for their products: the
#   tensor cores have five of them for each block and consumer, while the forward pass has two.
# - The two consumers are in step: they multiply at the same time, and compute at the same time. Within a consumer
#   the exponentials of $S^\top$ run during the product $dP^\top$; nothing runs during the rest.
# - More bytes go out than come in. $Q$ and $dO$ of a block are 2 · 8 KiB; the shares of its $dQ$ are 16 KiB *per
#   consumer*, since they are in fp32, and there are two consumers. The fast kernel halves that.
#
# </details>
#
# **Break it**, and predict which partition the report names: leave out the fence after `ds_tile.store`; arrive on
# `empty` before the products are waited for; leave out the `tma.store_wait(0)` before `dq_tile.store`; use
# `tma.async_copy_shared_to_global` instead of the addition.
#
# ### From here to the fast one
#
# `flashlearn.kernels.gluon.fa3_backward` passes the same check, and `flashlearn bench` measures it. Several things
# are different. The two consumers *exchange* $dS^\top$: each writes its own into shared memory, waits until both are
# there (a barrier that counts 2), and computes *half of the columns* of $dQ$ from all 128 keys. So each element of
# $dQ$ is added once per block, not twice. The product for $dQ$ is one block late, so that neither consumer is idle
# while the other one writes:

# %%
import inspect

from flashlearn.kernels.gluon import fa3_backward_scan as fast
from flashlearn.kernels.gluon.fa3_backward import fa3_backward as fast_backward

print(inspect.getsource(fast.part_of_dq.fn))

# %% [markdown]
# (`zero` is always 0; the appendix below says what it is for.) A thread stores its numbers of $dQ$ side by side, 16
# bytes at a time, and the sum in memory has them in that order; the kernel that multiplies it by alpha puts them into
# rows. LSE and $\delta$ are copied by TMA with their block, and $K$ and $V$ stay in registers as left operands where
# there is room for them ($D$ 64). The rest of its loop you would recognise line by line (`scan_queries_past_keys` in
# `flashlearn/kernels/gluon/fa3_backward_scan.py`). **Predict** how many bytes leave, and what becomes of the
# consumers' waits.

# %%
for name, function in (("yours", backward), ("the fast one", fast_backward)):
    added = [e for e in pictures.timeline(function, *gradients).events if e.what == "tma store"]
    print(f"{name}: {sum(event.bytes for event in added) / KIB:.0f} KiB leave")

# %%
pictures.timeline(fast_backward, *gradients, window=(0, 8000))

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - Half of the bytes that are *added in memory* are saved. There each of them is read and written, and the model does
#   not count that. It does count the product for $dQ$, which is one block late, so that a consumer has a product in
#   progress where yours has none.
# - A model can only answer the question that it was built for: here, which partition waits for which. What the
#   kernels take is measured:
#
# </details>

# %%
print(timings.table(measured, "backward"))

# %% [markdown]
# Here too the kernel as taught is slower than lesson 12's, although it makes five products for each pair of tiles,
# and lesson 12's two kernels seven. Its $dQ$ leaves in fp32, once for each consumer, and its consumers are idle at
# the same time. The fast one has the same five products, and exchanges $dS^\top$: the design was not the mistake.
#
# **A question.** The sum of $dQ$ begins at zero, is in fp32, and is padded to whole blocks of queries. What would go
# wrong without each of these?
#
# <details><summary>Answer</summary>
#
# Not zero: memory from `torch.empty` may contain anything, and the shares would be added to that. Not in fp32: each
# of $S_k / 64$ additions would round to 16 bits. Not padded: the sum is one long matrix of rows, and the last block
# of a head would add its padded rows to the next head. These rows are zeros here, since $P$ is, so the result would
# still be right; but it costs little to keep the heads separate.
#
# </details>
#
# **Another question.** Two calls with the same inputs may give a $dQ$ with different last bits, but the same $dK$ and
# $dV$. Why?
#
# <details><summary>Answer</summary>
#
# The shares of $dQ$ come from several programs and consumers, and are added in the order in which they arrive (lesson
# 11, section 3). $dK$ and $dV$ are summed by one consumer, always in the same order.
#
# </details>
#
# **Sources.** Five products, and a program that owns keys: T. Dao, *FlashAttention-2*, 2023, algorithm 2. Keys as rows,
# the exchange of $dS$, $dQ$ added by the copy engine: J. Shah et al., *FlashAttention-3*, 2024, section 3 and appendix
# B.1, and the kernels published with it. Layouts of operands in registers: NVIDIA, PTX ISA, section "Asynchronous
# warpgroup level matrix instructions".

# %% [markdown]
# ## Appendix · What was tried for the backward pass, with predictions
#
# To make the package's kernel faster, FlashAttention-4's code was read (version 4.0.0b36, `flash_bwd_sm90.py` and the
# tile sizes in `interface.py`), and what is different there was listed beside other ideas. For each of them a
# prediction was written down before anything was timed. B, D, E and I are how FlashAttention-4 does it.
#
# - **A.** The compiler sees that $K$ and $V$ are always at the same place in shared memory, so it computes their WGMMA
#   descriptors once, before the loop. At $D = 128$ no registers are left for them, and they are spilled and loaded
#   again in every turn. The kernel's `zero` is the number of blocks so far, shifted right by 30 bits: always 0, but the
#   compiler cannot know, so it computes the descriptors when they are needed.
# - **B.** $dQ$ is stored, and summed, in the order in which threads hold it.
# - **C.** Programs are persistent, as in the package's forward pass: the producer loads the next $K$, $V$, $Q$ and $dO$
#   while the consumers finish. At $D = 64$ there is room for two places for $K$ and $V$.
# - **D.** $dQ$'s product is made in the same turn of the loop, not one block late.
# - **E.** At $D = 64$, blocks of 128 queries: half as many waits, but more registers than there are.
# - **F** to **K** are smaller; the table has them in a line each.
#
# **Predict** two things before you run the cell: which of A to E makes the kernel slower somewhere, and which was
# predicted worst?

# %%
print(attempts.table(attempts.record()))

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - A and B are in the package's kernel. Their predictions came from a count of the clocks that shared memory needs for
#   a block, as if nothing else were a limit. At $D = 128$ under a causal mask the sum of both was nearly right. Without
#   a mask it was about half of what was predicted or less: the count is wrong there, or something else is a limit too,
#   and these times do not say which. B alone gave nothing under a causal mask. As long as the loop spills, it may be
#   the spills that it waits for.
# - E was predicted wrong by most: 5 % slower, since it spills, and it was 19 % slower. The prediction had the right
#   sign and no count of what a spill costs.
# - C is better than predicted at $D = 64$ and $S = 1024$, above all under a causal mask, and makes the kernel slower at
#   $S = 16384$ in two of three cases, where nothing was expected. It is not in the package: it would have to be chosen
#   by shape, and that has not been measured over enough shapes.
# - H changes nothing under a causal mask, so that line compares a kernel with itself. Differences as small as that,
#   such as all those of G, say little.
#
# </details>

# %% [markdown]
# ## What you can do now
#
# ### Questions for yourself
#
# Answer before you unfold.
#
# **1.** A kernel passes all tests on a GPU. You delete one `mbarrier.wait`, and it still passes. What do you know?
#
# <details><summary>Answer</summary>
#
# Nothing. What was read may have been there by luck, on this GPU, at this clock. A test of numbers cannot show that
# an order is not guaranteed; a tool has to check the order itself: the observer here, or on a GPU Triton's
# `TRITON_INSTRUMENTATION_MODE=consan`.
#
# </details>

# %% [markdown]
# **2.** Suppose that your forward kernel uses eight-bit products. Which of the two overlaps becomes more important,
# and what may become the limit?
#
# <details><summary>Answer</summary>
#
# Both: the products take half the time, and the exponentials as long as before. At $D = 128$ they then take as long
# as the products, so the exponentials may become the limit; at best their unit is busy all the time. Lesson 14
# continues from there.
#
# </details>

# %% [markdown]
# **3.** A ring of two slots for $K$ and $V$ is enough here, while the matrix product needed three or four. Why?
#
# <details><summary>Answer</summary>
#
# Because a step takes longer. Two consumers work on a block of 128 keys for more than a thousand cycles of the model,
# including a softmax; a copy takes less. Look at the producer's row in the timeline: it waits for `empty`.
#
# </details>

# %% [markdown]
# ### Journal
#
# *Two or three sentences for yourself in a month. Which mistake did you make that you would not have found on a GPU?
# Which barrier did you not understand at first? Double-click here and write.*

# %% [markdown]
# ### What comes next
#
# Lesson 14 is about numbers of eight bits. The tensor cores compute twice as many products per cycle with them; the
# lesson shows which layouts they require, and what eight bits do to the result.
#
# **Sources of sittings 7 to 9.** Registers, `setmaxnreg`, `ex2`, layouts of operands: NVIDIA, PTX ISA. Throughputs:
# NVIDIA, *CUDA C++ Programming Guide*, arithmetic instructions; *H100 Tensor Core GPU data sheet*, halved where it
# counts sparsity. Ping-pong, a softmax under a product, and the count of exponentials: J. Shah, G. Bikshandi, Y. Zhang,
# V. Thakkar, P. Ramani, T. Dao, *FlashAttention-3*, 2024, sections 3.1 and 3.2. Online softmax and the order of loops:
# T. Dao, *FlashAttention-2*, 2023. Persistent programs and turns of consumers: NVIDIA, CUTLASS, its warp-specialised
# ping-pong kernels.
