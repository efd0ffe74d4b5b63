# %% [markdown]
# # Hopper and FlashAttention-3
#
# On a Hopper GPU the fast parts work by themselves. A copy engine moves tiles, tensor cores multiply them, and the line of
# your kernel that asked for it is long past when it happens. A kernel is fast if all of them are busy at the same time, and
# right if nobody reads what is not there yet. Triton decides both for you. In this lesson you decide, in Gluon, which is
# Triton with layouts, barriers and warps in your hands.
#
# **Afterwards you can**
#
# - bring a tile into shared memory with one instruction, and say with a barrier when it is there;
# - stream tiles through a ring of buffers, and know for each of them its slot and its phase;
# - issue products that go on by themselves, and say which line may touch their operands and their sum;
# - divide a kernel into a producer and consumers that meet at barriers, and see in a timeline who waits for whom;
# - move registers from warps that need few to those that need many, and hide a softmax under a product;
# - read, and write, FlashAttention-3.
#
# **You need** lessons 05 and 06, and lesson 12 for what has to overlap. **No GPU is needed.** Kernels run observed: on your
# laptop nothing asynchronous has happened until it was waited for, and who reads too early is told so, with both lines. On
# a Hopper GPU (an H100, H200 or GH200) checks compile and time the same kernels.
#
# **It takes** seven sittings of about an hour, each with a kernel that works except for a hole, and a project: 1 one tile;
# 2 a ring; 3 products; 4 a producer and two consumers; 5 registers; 6 ping-pong, and a softmax under a product; 7
# FlashAttention-3.

# %%
import re
import textwrap

import torch
import triton
from rich.console import Console
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

import flashlearn
from flashlearn.bench import plots, tables
from flashlearn.bench import record as bench_record
from flashlearn.compiler.listing import listing
from flashlearn.interpreter.gluon import timeline
from flashlearn.interpreter.gluon.sync_faults import SyncError
from flashlearn.interpreter.route import observing
from flashlearn.kernels.gluon.parts import accumulator, complying_rows, refuse_product, tiles_of
from flashlearn.kernels.gluon.tma_copy import tma_copy as finished_copy
from flashlearn.lessons.lesson_13_hopper import forward_variants, pictures, ring_pictures
from flashlearn.lessons.shared.slider import slider
from flashlearn.machine.device import GPUS, KIB

# %% [markdown]
# ## Before you begin
#
# Three questions about what came before. Run the cell to read them, put a letter behind each number, and run it
# again. A wrong choice is told what it overlooks, and costs nothing.

# %% tags=["recall"]
### BEGIN SOLUTION
# STUB: answers = {1: "", 2: "", 3: ""}
answers = {1: "c", 2: "a", 3: "b"}
### END SOLUTION
flashlearn.recall("13", answers)

# %% [markdown]
# ## 1 · A tile comes by itself
#
# *Sitting 1 of 7.* Lesson 05 counted how much has to be on its way at any moment if HBM shall never rest: bandwidth times
# latency. A load in the ordinary way goes into registers, so what is on its way has registers waiting for it. **Predict**,
# before you run the cell, how many of a thread's 255 registers that takes, if an SM runs one program of 128 threads.

# %%
h100 = GPUS["H100"]
latency = 340e-9  # seconds for one load from HBM: lesson 05, section 2
in_flight = h100.bandwidth * latency / h100.sms
print(f"{in_flight / KIB:.1f} KiB on their way to each SM, all the time")
print(f"{in_flight / 4 / 128:.0f} registers of each of 128 threads, of four bytes each")

# %%
slider(ring_pictures.under_way, tile=(4, 8, 16, 32))

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - It is not much: two tiles of 4 KiB or so. But they must be on their way *always*, also while the program computes. A program
#   that loads a tile, waits, computes, and loads the next one has nothing on its way while it computes.
# - That is what *asynchronous* means here: ask for a tile now, do something else, need it later.
# - Registers are where accumulators want to be. A copy can go to shared memory past all registers: since Ampere by a few bytes for each
#   thread that asks (`cp.async`), on Hopper by a whole tile for one thread that asks.
#
# </details>
#
# ### The copy engine
#
# A *descriptor* says once where a tensor lies, its shape, its strides, and the shape of a block (lesson 12, section 5). The
# *tensor memory accelerator*, TMA, takes a descriptor and the coordinates of a block's first element, and copies the block into
# shared memory. What of the block lies outside the tensor reads as zero, and is not stored on the way back. One thread asks;
# nobody computes addresses or masks (NVIDIA's Hopper whitepaper has a section on it; PTX calls it
# `cp.async.bulk.tensor`).
#
# How much work is that? Here are both ways to copy a tile of 64 × 64 numbers of 16 bits, the second of which you will
# write in a moment. **Predict** how many instructions each of them takes, summed over its warps.


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
# This is Gluon's face, by the way: `gl` for `tl`; a *layout* with every tile, which says which thread of which warp holds which
# element; and no layout that changes into another unless you say so.
#
# ### Forget the wait
#
# Now the smallest kernel that uses the engine, and it is wrong. It allocates a tile of shared memory, asks for a copy into it, and
# asks for a copy from there to `y`. **Predict** what is in `y` afterwards, on a GPU.


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
        print("Nothing to object.")
    except SyncError as fault:
        sentence, *code = str(fault).split("\n")
        print("\n".join([*textwrap.wrap(sentence, 100), *code]))


x = torch.randn(64, 64)
y = torch.empty_like(x)
told(lambda: forgetful_copy[(1,)](tiles_of(x, [64, 64]), tiles_of(y, [64, 64]), num_warps=1))

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - Nobody knows what would be in `y`: what was in shared memory before, a part of the tile, or the right numbers, if something
#   happens to hold the second copy up. In a larger kernel something often does; then a test on a GPU passes, on most days.
# - The observer does not wait for luck. In its world a copy has brought nothing until somebody who needs it has waited for it. So
#   the fault shows in the first run, in any order of events, with both lines.
# - It stops at the first fault. This kernel has one more; you will meet it.
#
# </details>
#
# ### A barrier that counts bytes
#
# An *mbarrier* is eight bytes of shared memory that count (PTX ISA, section "mbarrier"). It goes through *phases*: 0, 1, 2, … The
# present phase is over when
#
# - as many *arrivals* have come as `init` said, and
# - all *bytes* have come that somebody expects.
#
# `mbarrier.expect(bar, n)` is one arrival, and says that $n$ bytes belong to this phase. A copy that was given the barrier reports its
# bytes as they land. `mbarrier.wait(bar, phase)` lets you through when the phase of that *parity* is over. After that the
# bytes are there, for everybody who has waited.
#
# The way back needs no barrier: stores to global memory form groups, and `tma.store_wait(0)` waits until the engine has *read* all
# of them from shared memory, so that it may be used again, or given back.
#
# ### Exercise: `tma_copy` · warm-up
#
# $x$ `[M, N]` in any dtype; return a copy of it, tile by tile, each program one. The allocations and the launcher are given.

# %% exercise="tma_copy"
# HINT: Both copies happen by themselves, after the line that asks for them. Say for each of them which line
#     may only run once it is over: how does that line know?
# HINT: The barrier's phase 0 is over when one arrival and all expected bytes are there. `mbarrier.expect` is
#     the arrival and names the bytes; the copy brings them. The copy out has no barrier: `tma.store_wait`
#     waits for it.
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
# Break it, one line at a time, and predict what the check says: wait for phase 1; expect 64 · 64 bytes; leave `store_wait` out; put the
# copy before the `expect`. One of the four is right.
#
# **A question.** `complying_rows` in the launcher copies $x$ if its rows do not begin at multiples of 16 bytes. Could TMA not take
# any matrix?
#
# <details><summary>Answer</summary>
#
# Its hardware cannot: the last stride must be 1, all others and the first address multiples of 16 bytes (CUDA Driver API,
# `cuTensorMapEncodeTiled`). A row of 37 numbers of two bytes has 74 bytes. Tensors of real models have sizes that comply; slices
# and transposed views may not.
#
# </details>

# %% [markdown]
# **Another one.** Which of the four changes above was right, and why?
#
# <details><summary>Answer</summary>
#
# The copy before the `expect`. The phase cannot be over before its one arrival has come, and `expect` is the arrival: whether the
# bytes or the expectation come first does not matter to the sum. It is good style all the same to expect first: nobody has to
# think about it.
#
# </details>

# %% [markdown]
# ## 2 · A ring of buffers
#
# *Sitting 2 of 7.* One tile is no stream. Sum the rows of a matrix whose rows have sixteen tiles, with one buffer: ask, wait, load from
# shared memory into registers, add, and ask again.


# %%
@gluon.jit
def sums_of_one_slot(x_desc, y_ptr, tiles, TURNS: gl.constexpr):
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
        mbarrier.wait(full, i % 2 if TURNS else 0)
        total += gl.sum(tile.load(layout), axis=1)
    mbarrier.invalidate(full)
    gl.store(y_ptr + gl.arange(0, rows, layout=gl.SliceLayout(1, layout)), total)


x = torch.randn(32, 16 * 64)
y = torch.empty(32)
with observing() as (session, _):
    sums_of_one_slot[(1,)](tiles_of(x, [32, 64]), y, 16, TURNS=True, num_warps=4)
torch.testing.assert_close(y, x.sum(1), atol=1e-4, rtol=1e-4)

trace = session.observation().timeline
cycles = max(event.end for event in trace)
waited = sum(event.end - event.begin for event in trace if event.what == "wait")
print(f"{cycles:.0f} cycles, of which {waited:.0f} in mbarrier.wait: {waited / cycles:.0%}")

# %% [markdown]
# Those are cycles of a *model*: the observer writes down who did what when, with round figures for latency and throughput
# (`flashlearn/interpreter/gluon/timeline.py` lists them). A model cannot tell you how fast a kernel is. It can show where one waits, and
# what would wait less.


# %%
def one_slot_at_a_time(x: Tensor) -> Tensor:
    y = torch.empty(32)
    sums_of_one_slot[(1,)](tiles_of(x, [32, 64]), y, x.shape[1] // 64, TURNS=True, num_warps=4)
    return y


pictures.timeline(one_slot_at_a_time, x[:, : 6 * 64])

# %% [markdown]
# ### Phases
#
# `i % 2` in the wait above is the parity of phase $i$: with a single slot the barrier completes a phase per tile. What if one always
# waits for phase 0? **Predict**: a deadlock, wrong numbers, or neither? At which tile?

# %%
told(lambda: sums_of_one_slot[(1,)](tiles_of(x, [32, 64]), y, 16, TURNS=False, num_warps=4))

# %% [markdown]
# The barrier itself knows only whether its present phase is even or odd. Its whole behaviour fits into a few lines of Python, and
# they are worth reading once:


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
# - A wait asks: *is the phase before the present one of this parity?* If you are one phase late or one early the answer is
#   wrong, and comes at once. So a wait with the wrong parity does not hang, as a rule. It lets you through.
# - A fresh barrier lets a wait for parity 1 through, as if a phase −1 had been completed. In sitting 4 that is a gift.
# - If nobody waits for a phase, and two go by, the parity is the same again. A barrier remembers one phase, and no more.
#
# </details>
#
# ### The ring
#
# With `STAGES` slots, tile $i$ lies in slot $i \bmod \text{STAGES}$, and it is the $\lfloor i / \text{STAGES} \rfloor$-th tile there. Each slot has a
# barrier of its own, so that number is the phase. **Predict** the parities of tiles 0 to 11 for three slots; then look.

# %%
slider(ring_pictures.turns, {"stages": 3}, stages=(2, 3, 4))

# %% [markdown]
# When may a slot be filled again? When its tile has been read: its values are in registers, in the program's own order, so here it is
# enough to ask for the copy in a line behind the load. If tile $i$ is read in step $i$, and step $i$ begins by asking for a tile, the slot
# that is free is that of tile $i-1$. So step $i$ asks for tile $i + \text{STAGES} - 1$, and before the loop the first $\text{STAGES} - 1$ are asked for.
#
# ### Exercise: `tma_ring` · core
#
# $x$ `[M, N]` in any dtype; return the sum of each row in fp32. A program owns 32 rows; the ring has `STAGES` slots. There may be
# fewer tiles than slots, and no copy may be asked for that nobody waits for: `expect` and the copies take `pred=`, a condition.

# %% exercise="tma_ring"
# HINT: Write down for STAGES = 3 and tiles 0 … 6: the slot of each tile, and how often that slot has been
#     full before. The second number, taken modulo 2, is what the wait wants to know.
# HINT: Before the loop STAGES − 1 tiles are asked for. In step i tile i + STAGES − 1 is asked for: its slot
#     is the one that step i − 1 has read. Then wait for tile i, load it, add. Tiles that do not exist are not
#     asked for: `pred=` takes the condition.
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
# **Predict**: by which factor does the model's time fall from one slot to two, three, four, eight? Two numbers decide: a tile takes
# 600 cycles and 128 more to come, 8192 bytes at 64 a cycle, and adding it takes some time as well.

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
# - Latency is not shortened, it is shared: with $n$ slots, $n - 1$ tiles are on their way at a time.
# - The gain ends where the copy engine, or the additions, are busy all the time. From there on more slots only take
#   shared memory: 8 KiB each, of 227.
# - One slot is always idle in the sense that it is being read. That is the price of asking in the same step.
#
# </details>

# %% [markdown]
# **A question.** The kernel above loads a tile from shared memory and in the next step overwrites it by a copy. Loads are no
# asynchronous operations; but 128 threads run, and one of them asks for the copy. What if the others have not loaded yet?
#
# <details><summary>Answer</summary>
#
# The compiler puts a barrier for all threads of the program between the two, as Triton's always does for shared memory that it
# manages, and a fence: the kernel's listing has `bar.sync` and `fence.proxy.async` before the copy. What it does *not* do for you in
# Gluon is anything across partitions (sitting 4), or across asynchronous operations (sitting 3).
#
# </details>

# %% [markdown]
# **Another one.** In which of the check's cases does the mistake "the phase never turns" not show, and what follows for tests?
#
# <details><summary>Answer</summary>
#
# Where there are no more tiles than slots: the ring does not go round. A test of a ring has to go round it twice, better three times, and
# to end in the middle.
#
# </details>

# %% [markdown]
# ## 3 · Products that go on by themselves
#
# *Sitting 3 of 7.* `tl.dot` became on Hopper an instruction with the name `wgmma`: four warps together, a *warpgroup*, multiply a tile of
# $64 \times 16$ (numbers of 16 bits) with one of $16 \times N$, $N$ up to 256, and add to $64 \times N$ sums in fp32 (PTX ISA, section "Asynchronous warpgroup
# level matrix instructions"). Three things are new:
#
# - the operands are read *from shared memory*, by the tensor core, while it multiplies; only the left one may come from registers;
# - the sums stay in registers, divided among the four warps, 16 rows each;
# - the instruction is *asynchronous*: the warps go on before it has begun.

# %%
ring_pictures.operands()

# %% [markdown]
# What does it take to keep the tensor cores busy? An SM does 4096 operations a cycle in bf16 (989 TFLOP/s over 132 SMs at 1.83 GHz), a
# multiplication and an addition being two. **Predict**: how many cycles does a step take that multiplies $128 \times 64$ with $64 \times 128$; how
# many bytes must come in that time; and what changes with a tile of $128 \times 256$?

# %%
for block_m, block_n, block_k in ((64, 64, 64), (128, 128, 64), (128, 256, 64)):
    products = 2 * block_m * block_n * block_k / timeline.TENSOR_OPERATIONS
    size = 2 * (block_m + block_n) * block_k
    print(
        f"{block_m:3} × {block_n:3}: {products:5.0f} cycles of products, {size / KIB:2.0f} KiB to bring, "
        f"{size / products:5.1f} bytes a cycle; sums {block_m * block_n * 4 / KIB:.0f} KiB of registers"
    )

# %% [markdown]
# The larger the tile of sums, the fewer bytes per product: that is lesson 05's intensity, one level deeper. The sums are what limits it.
#
# ### One product, complete
#
# The smallest kernel with a WGMMA. Read it line by line: everything in it is in the exercise again. `LEAVE_OUT` leaves a line out.


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
        fence_async_shared()  # ordinary stores are shown to what is asynchronous
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
# **Predict** for each of the three: is it a fault, and what would be read that is not there?

# %%
for line in ("the wait for the tiles", "the wait for the product", "the fence"):
    print(f"Without {line}:")
    told(lambda line=line: multiply(line))

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - `acc` behind `warpgroup_mma` is a *promise*. The number is there behind `warpgroup_mma_wait`, and it is what that call
#   returns: write `acc = warpgroup_mma_wait(…, deps=[acc])`, so that neither you nor the compiler takes the promise for it.
# - Shared memory has two doors. Ordinary loads and stores go through one, TMA and WGMMA through the other (PTX: the generic and the async
#   *proxy*). What came in by the one may not be visible at the other until `fence_async_shared()`. From TMA to WGMMA no fence is needed:
#   it is the same door, and the barrier orders it. So it is needed exactly once here, behind `c.store`.
# - A product that is not waited for also holds its *operands*: who fills their slot again changes what it multiplies.
#
# </details>
#
# ### One product left
#
# `warpgroup_mma_wait(0)` in every step lets the tensor core rest while the warps wait at the next barrier and issue the next product.
# `warpgroup_mma_wait(1)` lets the newest go on. Behind it all *but* the newest product are over: the slot of
# step $i - 1$ is free when that of step $i$ has been issued and this wait is behind us. **Which tile can step $i$ ask for, before it has
# waited for anything?** Write the answer down; it is the one line of the exercise that can go wrong silently, on a GPU.
#
# ### Exercise: `wgmma_matmul` · core
#
# $a$ `[M, K]` and $b$ `[K, N]` in fp16 or bf16, sums in fp32, result like $a$. A program owns a tile of $128 \times 128$; eight warps, two warpgroups, which
# share everything. Leave one product under way. The given lines before the loop have asked for the first `STAGES - 2` tiles:
# go on from there. The rest of $K$ costs no thought: beyond the tensor TMA brings zeros.

# %% exercise="wgmma_matmul"
# HINT: A WGMMA reads both tiles from shared memory while your warps go on. Which line may overwrite them, and
#     which wait stands between the two?
# HINT: With one product left under way, the slot that is surely free in step i is that of step i − 2: fetch
#     STAGES − 2 steps ahead. One barrier per slot counts the bytes of both tiles. At the end nothing may be
#     under way, and ordinary stores are shown to the copy engine by a fence.
# HINT: `mbarrier.wait(full.index(i % STAGES), i // STAGES % 2)`, `acc = warpgroup_mma(a.index(i % STAGES),
#     b.index(i % STAGES), acc, is_async=True)`, `acc = warpgroup_mma_wait(1, deps=[acc])`; behind the loop
#     `acc = warpgroup_mma_wait(0, deps=[acc])`; then `c.store(acc.to(c_desc.dtype))`, `fence_async_shared()`,
#     the copy out and `tma.store_wait(0)`.
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
# The lane at the bottom is what this is about. **Predict** for rings of three, four and five slots, and 16 steps of $K$: for which share of
# the time does the tensor core multiply? What keeps it from all of it?


# %%
def tensor_core(function, *inputs, **more) -> float:
    """Print how long one program takes in the model; the share of that in which products are made."""
    with observing() as (session, _):
        function(*inputs, **more)
    events = [event for event in session.observation().timeline if event.program == (0, 0, 0)]
    taken = max(event.end for event in events)
    busy = sum(event.end - event.begin for event in events if event.what == "wgmma")
    print(f"{more or function.__name__}: {taken:.0f} cycles, products for {busy / taken:.0%} of them")
    return taken


long_a, long_b = torch.randn(128, 16 * 64).bfloat16(), torch.randn(16 * 64, 256).bfloat16()
by_slots = {n: tensor_core(multiplied, long_a, long_b[:, :128], stages=n) for n in (3, 4, 5)}
assert by_slots[4] < by_slots[3]

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - The beginning: until the first tiles are there nothing can be multiplied. The end: the sums go to memory, and nothing else is left to
#   do. A kernel that goes on with another tile of $c$ meanwhile (a *persistent* one) has both only once.
# - Four slots are as good as five here, and the fourth does pay. In each step 32 KiB come in 512 cycles of the copy engine, and are
#   multiplied in 512: tiles of $128 \times 128$ keep both of them exactly busy in this model, where all bytes come from L2.
# - Replace `warpgroup_mma_wait(1` by `warpgroup_mma_wait(0` and run this cell again: with three slots a third more time, with four some
#   per cent. The wait for the product, and then for the next tile, came one after the other.
#
# </details>

# %% [markdown]
# **A question.** A ring of four slots, and copies two steps ahead. With three slots and one step ahead it would be right as well. What
# is the fourth slot for?
#
# <details><summary>Answer</summary>
#
# One slot is being multiplied, one may still be, and what is left is on its way: with three slots one tile, with four two. If a
# tile's latency is longer than a step, one is not enough. Run `wgmma_matmul(a, b, stages=3)` observed and compare the timelines.
#
# </details>

# %% [markdown]
# **Another one.** $b$ is `[K, N]`, row by row: neighbours in memory lie along $N$, and not along the sum. Lesson 14 will have to transpose V
# for that reason. Why not here?
#
# <details><summary>Answer</summary>
#
# For 16 bits WGMMA takes either order from shared memory: a bit in the instruction says which. For 8 bits it takes only one. Where $b$ comes
# as `[N, K]` instead, as K does in $QK^\top$, the tile is passed as `b.permute([1, 0])`: no number moves, another bit is set.
#
# </details>

# %% [markdown]
# ## 4 · A producer and two consumers
#
# *Sitting 4 of 7.* In your `wgmma_matmul` all eight warps do everything: they wait for a tile, they issue products, they ask for the next
# tile. While they wait for one thing they cannot do the other. Now *specialise*: one warp does nothing but fetch, and two warpgroups
# do nothing but multiply. (CUTLASS has such kernels under the name of warp-specialised pipelines; FlashAttention-3 is one, section 3.1
# of its paper.)
#
# Why is *one* warp enough to fetch for 256 threads? **Predict** how many instructions a step of the producer takes, and how many cycles the
# consumers need for it meanwhile, with a tile of $128 \times 256$ and steps of 64.

# %%
step = 2 * 128 * 256 * 64 / timeline.TENSOR_OPERATIONS
print(f"consumers: {step:.0f} cycles of products in a step")
print("producer: a wait, an expect, three copies: five calls, by one thread of its 32")

# %% [markdown]
# Even at fifty instructions a step it idles most of the time. So it needs no speed, and few registers (sitting 5).
#
# ### Full and empty
#
# The two sides meet at two barriers per slot:
#
# | barrier | says | arrivals in a phase | who waits |
# |---|---|---|---|
# | `full` | the bytes are there | 1, the producer's `expect`, and the bytes | consumers |
# | `empty` | everybody has read | one of each consumer | the producer |
#
# Until now the program's own order said that a slot had been read. Across partitions there is no order but that of barriers.
#
# Here is the smallest pair: a producer that brings tiles into *one* slot, and one consumer that adds them. `gl.warp_specialize` takes a list of
# functions with their arguments: the first runs in the program's own warps, the others in warps of their own, whose numbers follow,
# and their registers (sitting 5). Behind it all have come to their ends.


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
# The producer asks for the *other* parity, `i % 2 ^ 1`. Before its first tile the slot is empty, and nobody has said so: no consumer
# can, since none has had anything to read. But a fresh barrier lets a wait for parity 1 through. So the producer runs through its first
# turn of the ring, and from the second on waits for the consumers' reports of the turn before.
#
# **Predict** what happens with `AHEAD=0`: who waits for what?

# %%
told(lambda: sums_by_two[(1,)](tiles_of(x, [32, 64]), y, 5, AHEAD=0, num_warps=4))

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - On a GPU this kernel hangs, and a hanging kernel says nothing. Here you read who waits in which line, for which phase of which barrier,
#   and who arrived there last. In most deadlocks the answer is in "nothing has ever arrived".
# - The consumer reports as soon as the tile is in registers, before it adds. With WGMMA it has to keep the slot for longer: the
#   product *is* the reading.
#
# </details>
#
# ### Exercise: `specialised_matmul` · core
#
# The product again, with a tile of $128 \times 256$: each of two consumers owns 64 rows of it, and both read the same tile of $b$. Three holes: the
# producer's loop, the consumer's loop, and the counts of the barriers. Leave one product under way.
#
# `a` holds two tiles for each slot, one per consumer: `a.index(2 * slot + consumer)`.

# %% exercise="specialised_matmul"
# HINT: A slot has two states that somebody waits for: full and empty. Who waits for which, and who reports
#     it? How many report each?
# HINT: The producer: wait for empty, expect on full, three copies. A consumer: wait for full, multiply, let
#     one product run on, and report the slot of the product before as empty. At first all slots are empty
#     although nobody has said so: a fresh barrier lets a wait for parity 1 through.
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
# - The producer runs ahead until the ring is full, and from then on waits for `empty` most of the time. That is as it should be: a
#   producer that never waits is too slow.
# - The two consumers take turns at the tensor core by themselves, since it can do one product at a time. They will need more
#   discipline as soon as there is a softmax between two products (sitting 6).
# - In the model the kernel of exercise 3, with the same tile, is nearly as good (the last line). Two costs are not in the model: instructions take
#   time to be issued, and 256 threads that do everything need registers for everything. On a GPU both count.
#
# </details>

# %% [markdown]
# Break it, and predict which partition is named: report the slot of *this* step as empty; let `empty` count 1; leave the report out; let the
# consumers start with the other parity.
#
# **A question.** Why three slots, and not four as before?
#
# <details><summary>Answer</summary>
#
# Shared memory. A slot has $2 \cdot 64 \cdot 64$ numbers of $a$ and $64 \cdot 256$ of $b$, 48 KiB; the result takes 64 KiB. Three slots make 208
# KiB, and a program may have 227. (The result could lie in the slots, which nobody needs at the end. Then who has to be waited for?)
#
# </details>

# %% [markdown]
# **Another one.** Could the two consumers be one function with eight warps, as in exercise 3, so that `empty` counts 1?
#
# <details><summary>Answer</summary>
#
# Yes, and for this kernel it would do. Two partitions can do different things at the same time, though: while one waits for its softmax, the
# other one multiplies. That is sitting 6, and the reason for building it this way.
#
# </details>

# %% [markdown]
# **And a last one.** `mbarrier.arrive(empty…)` is called by a function of 128 threads, and `empty` counts 2, not 256. Who arrives?
#
# <details><summary>Answer</summary>
#
# The compiler lets one thread of the partition arrive, behind a barrier of the partition's own 128 threads (`bar.sync 2, 128` in the
# listing): in Gluon an arrival is a partition's. In CUDA you would choose, and write down the number of threads that do.
#
# </details>

# %% [markdown]
# **Sources of sittings 1 to 4.** Barriers, phases, bulk copies, proxies, `wgmma`: NVIDIA, PTX ISA, sections "mbarrier", "cp.async.bulk.tensor",
# "Async proxy" and "Asynchronous warpgroup level matrix instructions". The copy engine and thread block's asynchrony: NVIDIA, *H100 Tensor Core GPU
# Architecture*, 2022. Producers and consumers with full and empty barriers: NVIDIA, CUTLASS, documents on pipelines and on efficient GEMM; J. Shah et al.,
# *FlashAttention-3*, 2024, section 3.1. Gluon: Triton's Gluon tutorials. Bytes on their way: J. Little, *Operations Research* 9, 1961.

# %% [markdown]
# ## 5 · Moving registers
#
# *Sitting 5 of 7.* An SM has 65536 registers, and hands them out when a program begins: the same number to every thread. Your specialised kernel
# has two consumers of 128 threads each, and a producer of one warp; the hardware counts in warpgroups, so that is 384 threads. **Predict**: how
# many registers does each thread get at most? A consumer of attention holds sums of $64 \times D$ for $O$, scores of $64 \times 128$, and $P$ in 16 bits. Is it
# enough for $D = 128$?

# %%
registers, threads = GPUS["H100"].registers_per_sm, 3 * 128
each = registers // threads // 8 * 8
print(f"{each} for each of {threads} threads, in steps of 8")
for D in (64, 128):
    sums, scores, p = 64 * D // 128, 64 * 128 // 128, 64 * 128 // 2 // 128  # registers of one of 128 threads
    print(f"D {D:3}: {sums} for O, {scores} for S, {p} for P: {sums + scores + p}")

# %% [markdown]
# 160 of 168, and there is no room for a row's maximum and sum, addresses, and P in fp32 on its way to 16 bits. What does not fit is spilled to memory. The producer
# meanwhile has 168 registers per thread, and needs a dozen: a few barriers' addresses and a counter.
#
# So they are *moved*. `setmaxnreg.dec` gives registers of a warpgroup back, `setmaxnreg.inc` waits until there are enough, and takes them (PTX ISA,
# section "setmaxnreg": from 24 to 256, in steps of 8). In Gluon they are the last argument of `gl.warp_specialize`: `[240, 24]` are
# the registers of a thread in the second and the third partition. The first gets what is left of the three shares of 168. **Predict** what is left, and what would be left with
# `[240, 40]`.

# %%
for consumer, producer in ((240, 24), (240, 40), (232, 40), (256, 24)):
    left = each * 3 - consumer - producer
    print(
        f"second consumer {consumer}, producer {producer}: {left} left for each thread of the first consumer"
    )

# %% [markdown]
# What the compiler makes of it, for an H100. It is the package's forward kernel, and compiled here:

# %%
print("\n".join(forward_variants.given_registers(D=128)))

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - 240 and 24 are there: those are the partitions' own. The other figures are the compiler's, for the time in which partitions begin and end.
# - The producer has one warp, and pays for four: registers are moved by warpgroup. $128 \cdot 24$ are 3072 registers for one thread that asks
#   for copies. It is still a good bargain: at 168 they were 21504.
# - Without this, the kernel would spill, or have to make do with smaller tiles, and so with more bytes per product (sitting 3).
#
# </details>
#
# **Break it.** Three partitions that do nothing, with shares that you can set. **Predict** which of these four the observer refuses, and for what reason.


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
# 24 is the least that the instruction takes. And $248 + 248 + 24 = 520$, times 128 that is 66560: more than there are. $240 + 240 + 24 = 504 = 3 \cdot 168$ are
# all that the program was given, and what FlashAttention-3's own kernels take as well.
#
# </details>

# %% [markdown]
# **Another one.** Three consumers and a producer: which shares are possible? What does that say about their tiles?
#
# <details><summary>Answer</summary>
#
# $3 \cdot 160 + 32 = 512$: exactly all. At $D = 64$ a consumer needs $32 + 64 + 32 = 128$ of them for its tiles and gets by with 160; at $D = 128$ it would not. That is why the
# package's forward kernel has three consumers only for $D = 64$ (`forward_cut`), and its comment counts this sum.
#
# </details>

# %% [markdown]
# ## 6 · Ping-pong, and the softmax under a product
#
# *Sitting 6 of 7.* Attention is two products with a softmax between them. A matrix product has nothing but products; here is something that the tensor cores cannot do. How
# long does it take? Count for one tile of $128$ queries and $128$ keys, per SM and cycle (NVIDIA, *CUDA C++ Programming Guide*, table of throughputs of
# arithmetic instructions, compute capability 9.0; the tensor cores' figure is the data sheet's, as in sitting 3):
#
# | | operations a cycle |
# |---|---|
# | products in bf16 | 4096 |
# | fp32 addition, multiplication, multiply-add, comparison | 128 |
# | `ex2`, the exponential to base 2 | 16 |
#
# **Predict**, for $D = 64$ and $D = 128$: which takes longer, the two products or the exponentials?

# %%
tile = 128 * 128
exponentials = tile / timeline.SPECIAL_LANES
others = 4 * tile / timeline.LANES  # a multiply-add, the maximum, the sum, and rounding P
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
# - At $D = 64$ a tile's exponentials take as long as both of its products; at $D = 128$ half as long; with eight bits at $D = 128$ as long again. For 256 times
#   fewer operations: an exponential is that dear (FlashAttention-3, section 3.1, counts the same: 989 TFLOP/s of products and 3.9 of exponentials).
# - So what has to be hidden are the exponentials, not the copies: those a ring has hidden already. And they need not wait for anything of the tensor cores: other units
#   compute them. Two things are independent and are done one after the other. Why? Because each tile's softmax needs its own scores, and its second product needs the softmax.
# - Nothing makes exponentials faster here but having fewer. (The maximum is taken before the scale, and the scale is folded: lesson 12. One exponential per score is left.)
#
# </details>
#
# What can run under a softmax? *Another* tile's product. Whose? There are two answers, and FlashAttention-3 uses both.
#
# ### Another consumer's: ping-pong
#
# Two consumers have two tiles of queries. While one takes exponentials, the other one multiplies. Below is a forward kernel that does in each consumer one
# thing after the other: ask for $S$, wait, softmax, ask for $PV$ (of the block before), wait. **Predict** the two consumers' lanes: do they multiply at the same time, take exponentials
# at the same time, or by turns?

# %%
q = torch.randn(1, 1, 128, 64).bfloat16()
k, v = (torch.randn(1, 1, 8 * 128, 64).bfloat16() for _ in range(2))
pictures.timeline(forward_variants.in_order, q, k, v, window=(0, 8000))

# %%
in_order = tensor_core(forward_variants.in_order, q, k, v)

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - Both begin with a product, and the tensor core can do one at a time: one of the two is served first, and from there on they are out of step. Some of one's
#   softmax lies under the other's products, without any barrier between the two.
# - On a GPU nothing keeps them so. Warps are scheduled as they become ready; both consumers may come to ask for products at the same time, and then take exponentials at the same
#   time, from 16 lanes that they share.
#
# </details>
#
# *Ping-pong* makes it a rule. There is one more barrier per consumer, `turns`. A consumer waits for its turn, asks for its products, and gives the turn to the other one: products of
# the two come one after the other, and so do their softmaxes.
#
# ```python
# mbarrier.wait(turns.index(CONSUMER), taken % 2 ^ (1 - CONSUMER))
# s = warpgroup_mma(q, k, …)          # of this block
# acc = warpgroup_mma(p, v, acc, …)   # of the block before
# mbarrier.arrive(turns.index(1 - CONSUMER), count=1)
# ```
#
# **A question.** Nobody has arrived on either barrier at first. Which consumer begins, and how does the code above say so?
#
# <details><summary>Answer</summary>
#
# Consumer 0 asks for parity $0 \oplus 1 = 1$, which on a fresh barrier counts as over: it goes on. Consumer 1 asks for parity $0$, and waits until consumer 0 has arrived. From then on
# each arrival lets the other one go once.
#
# </details>

# %%
pictures.timeline(forward_variants.by_turns, q, k, v, window=(0, 8000))

# %%
own = tensor_core(forward_variants.on_their_own, q, k, v)
turns = tensor_core(forward_variants.by_turns, q, k, v)

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - In the model taking turns changes hardly anything: its consumers fall into step by themselves, and it gives each partition 16 lanes of its own for exponentials, where on an SM
#   they share them. A model answers what it was built for.
# - On an H200 it depended: the package's kernel takes turns where there are few keys, and does not where there are many (`forward_cut`, and its comment). Turns cost
#   something too: two barriers per block, and a consumer that is ready and must not.
#
# </details>
#
# ### Its own: two blocks of keys at a time
#
# Within one consumer there is independence as well. While the scores of block $i$ go through the softmax, $P V$ of block $i - 1$ can be multiplied: it needs nothing of block $i$. So ask for both
# products together, wait until *one* is left, which is the newer one, and take the exponentials under it:
#
# | in step $i$ | the tensor core | the consumer's lanes |
# |---|---|---|
# | 1 | $S_i = Q K_i^\top$ | waits |
# | 2 | $O \mathrel{+}= P_{i-1} V_{i-1}$ | softmax of $S_i$: $m$, $P_i$, $\ell$ |
# | 3 | free for the other consumer | $O \mathrel{\cdot}= 2^{m_{i-1} - m_i}$ |
#
# The order in the last two rows is the whole difficulty. **Predict**: $P_{i-1}$ was taken with the maximum $m_{i-1}$. If $O$ is rescaled *before* $P_{i-1} V_{i-1}$ has been added, what comes out?
#
# <details><summary>Answer</summary>
#
# Each block's share lacks one factor, that of the step in which it was added: right only where the maximum no longer rises. So the rescaling stands behind the
# wait for that product. The observer would not let you do otherwise by accident: `acc` under way may not be used. But with another order of lines nothing asynchronous is violated, and
# the numbers are wrong. That is one of the named mistakes of the exercise.
#
# </details>

# %% [markdown]
# **Another one.** What does this cost? The order of the two products in the code is $S_i$ first. Why not the other way round?
#
# <details><summary>Answer</summary>
#
# Registers: $S_i$ and $P_{i-1}$ are there at the same time, $64 + 32$ in each thread beside $O$'s. That is what sitting 5 made room for. And products are done in the order in which they
# were asked for: with $P V$ first, the softmax would have to wait for both of them.
#
# </details>
#
# ## 7 · FlashAttention-3
#
# *Sitting 7 of 7.* All parts are there. A program owns 128 queries of one head, 64 per consumer. The producer brings both tiles of $Q$ once, and then $K$ and $V$, block by block, through *two*
# rings. Why two? In step $i$ a consumer is done with $K_i$ as soon as $S_i$ is there, and with $V_i$ one step later.
#
# | barrier | slots | arrivals in a phase | completed by |
# |---|---|---|---|
# | `q_full` | 1 | 1 | the producer's `expect`, and the bytes of two tiles |
# | `k_full`, `v_full` | `STAGES` | 1 | the producer's `expect`, and the bytes |
# | `k_empty`, `v_empty` | `STAGES` | 2 | both consumers |
#
# ### Exercise: `fa3_forward` · core
#
# $Q$ `[B, H, S_q, D]`, $K$ and $V$ `[B, H_k, S_k, D]` in fp16 or bf16, any strides, $D$ 64 or 128, $H_k$ a divisor of $H$; causal bottom-right, or not; $\alpha$ of either sign. Return $O$, and
# LSE in fp32, natural. Four holes: the producer, the softmax in base 2 (lesson 12, section 2), the consumer with a softmax under a product, and the barriers and partitions. What a
# descriptor brings from beyond the last key is zeros, and a score of 0 is a score: that mask is yours. Begin without overlap if you like, and add it when the check passes.

# %% exercise="fa3_forward"
# HINT: Take your specialised_matmul. The producer brings K and V instead of a and b, each in a ring of its
#     own, since a consumer is done with K long before it is done with V. The consumer has two products, and
#     lesson 06's softmax between them. In which order can they be issued so that one of them runs while you
#     take exponentials?
# HINT: Before the loop: S of block 0, its softmax, P. In step i: issue S of block i, then O += P V of block i
#     − 1; wait until one product is left, so that S is there; report K's slot; softmax; wait for the other
#     product; report V's slot of block i − 1; only now multiply acc by rescale, and make P. After the loop:
#     the last P V. `full` counts 1, `empty` 2.
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
overlapped = tensor_core(forward, q, k, v)
print(f"{in_order / overlapped:.2f} times as fast as in order, in the model")
assert overlapped < in_order

# %% [markdown]
# **Break it**, and predict who is named, and for what: wait for $V$ with the phase of block $i$; report $V$'s slot before the second wait; convert $P$ without `convert_layout`; rescale `acc` before
# its wait; leave `log2 e` out of the launcher. And one that is *right*, although it looks wrong: report $K$'s slot directly behind the line that asks for $S_i$, before any wait.
#
# <details><summary>Why is the last one right, and should you do it?</summary>
#
# The producer fills the slots in *its* order: before it comes to $K_{i+2}$ in this slot it has to bring $V_{i+1}$, and for that it waits until both consumers have given $V_{i-1}$ back. They do that
# behind the wait for *all* products of step $i$. So $S_i$ is over by then, by a chain of three barriers. The observer follows the chain, and has nothing to object. Do not do it all the same:
# if $V$'s ring has a slot more than $K$'s, or a producer of its own, the chain is gone.
#
# </details>
#
# ### From here to the fast one
#
# `flashlearn.kernels.gluon.fa3_forward` obeys the same check. You know its consumer; what it does more:
#
# - Its programs are *persistent*: one per SM takes tile after tile, so that the producer already loads the next tile's $Q$ and $K$ while the consumers finish this one. Under a causal mask a counter in
#   memory says which tile is next, the longest first.
# - It has two loops, one of them without any mask, as lesson 12's kernel. There a score costs one multiply-add and one exponential.
# - It has two consumers or three, and turns or not, by `forward_cut`.

# %%
import inspect

from flashlearn.kernels.gluon import forward_partitions

print(inspect.getsource(forward_partitions.scan.fn))

# %% [markdown]
# **Predict**, before you run the next cell: how does it stand beside cuDNN's attention, for full and for causal masks? The record of an H200 comes with the package (`flashlearn bench` makes one of your
# GPU). "lesson 13" is the package's pair; ratios are speeds relative to SDPA's cuDNN backend, geometric means over $D$ 64 and 128 and three lengths, and in parentheses the least.

# %%
measured = bench_record.shipped()
Console(width=100).print(tables.ratios(measured))
versions = ", ".join(f"{name} {version}" for name, version in measured.versions.items() if version)
print(f"{measured.device['gpu']}, {measured.made[:10]}, {versions}")

# %%
plots.every(measured)["throughput_forward"]

# %% [markdown]
# ## Project · The backward pass
#
# *As many sittings as you like.* Lesson 11 made all three gradients in one pass: five products for each pair of tiles. On Hopper each of
# them is a WGMMA, and the question is where its two operands lie. The right one is always in shared memory. The left one may be in registers, if it
# lies there as a product of 64 rows has left it. **Predict**, before you read on: a program owns keys, so $dK$ and $dV$ stay in registers. Should a
# tile of $S$ have queries as rows, or keys?
#
# <details><summary><b>Answer</b></summary>
#
# Keys. $dV = P^\top dO$ and $dK = \alpha\, dS^\top Q$ have $P^\top$ and $dS^\top$ on the left: if the program computes $S^\top = K Q^\top$ and $dP^\top = V
# dO^\top$, they are there already, and only have to be rounded. With queries as rows both would have to be turned round, through shared memory.
#
# | product | left operand | from | right operand | sums |
# |---|---|---|---|---|
# | $S^\top = K Q^\top$ | $K$, the program's own | shared memory | $Q$, seen with its axes exchanged | gone after the step |
# | $dP^\top = V dO^\top$ | $V$, the program's own | shared memory | $dO$, likewise | gone after the step |
# | $dV \mathrel{+}= P^\top dO$ | $P^\top$ | registers | $dO$ | stay in registers |
# | $dK \mathrel{+}= dS^\top Q$ | $dS^\top$ | registers | $Q$ | stay in registers |
# | $dQ \mathrel{+}= dS\, K$ | $dS$, **turned round** | shared memory | $K$ | of all programs, in memory |
#
# The last one is the odd one out, twice. Its left operand is the only one that has to be turned round: it goes to shared memory by an ordinary
# store, and the tensor core reads it with its axes exchanged, `permute([1, 0])`, which costs nothing for numbers of 16 bits. And its sum belongs to
# nobody: every program has a share of every $dQ$. Lesson 11 used atomics of single numbers; the copy engine can *add* a whole tile to
# memory, with one instruction (PTX ISA, section "cp.reduce.async.bulk.tensor").
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
# That is why a consumer owns 64 keys and sees 64 queries at a time, and why the producer gives its registers away. (At $D = 128$ it is tight, and
# something is spilled: how much, the report of the check says under *On a GPU*.)
#
# ### The plan
#
# - A program owns 128 keys, two consumers 64 each. The producer brings $K$ and $V$ once (`kv_full`), and then blocks of 64 queries, $Q$ and $dO$,
#   through a ring of two slots (`full`, `empty`), as in sitting 4.
# - A consumer waits for a block, asks for $S^\top$ and $dP^\top$ together, and computes the exponentials of the first under the second.
# - $P^\top$ is 0 where the key or the query does not exist, or the causal mask hides it. `lse` comes with $+\infty$ for queries that see nothing.
# - Three products, one wait; then the slot is empty, and $dQ$ leaves through `dq_tile`, added by the copy engine under the next block's products.
# - Alpha: in the exponent, and once on $dQ$ and $dK$ at the end. Everything is in base 2: $e^x = 2^{x \log_2 e}$.
#
# ### Exercise: `fa3_backward` · stretch
#
# Three holes: the producer, the tiles $P^\top$ and $dS^\top$, and what becomes of them. Fill them from the top. Until all three are filled the check says what is left to do;
# after that the observer tells you, line by line, what nobody has waited for.

# %% exercise="fa3_backward"
# HINT: Write down the five products with the shapes of their operands, keys as rows wherever you can choose.
#     Which left operand of each lies in registers already, and which of the five needs a tile that only
#     shared memory can turn round?
# HINT: Sᵀ = K Qᵀ and dPᵀ = V dOᵀ are asked for together; the exponentials run under the second. Pᵀ, rounded,
#     is the left operand of dV += Pᵀ dO, dSᵀ of dK += dSᵀ Q. dSᵀ also goes to shared memory: seen with its
#     axes exchanged it is dS, the left operand of dQ = dS K. LSE and delta are numbers per query, `[None,
#     :]`. A slot is empty when dV's and dK's products are over.
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
# Now look at it. Eight blocks of queries pass one program's keys. **Predict** two things: which of the lanes has the most bubbles, and what the consumers wait for
# most: the copies, or their products?

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
# - The producer waits for `empty` most of its time, which is as it should be, and the consumers wait for their products: the tensor core has five of
#   them for each block and consumer, where the forward pass has two.
# - The exponentials of one consumer run under the products of the other, without any barrier between the two. After the first block they
#   are out of step by themselves.
# - More bytes leave than come. $Q$ and $dO$ of a block are 2 · 8 KiB; the shares of its $dQ$ are 16 KiB *per consumer*, since they are fp32 and there are two. That
#   is the ceiling of this kernel, and what the fast one does something about.
#
# </details>
#
# **Break it**, and predict who is named: leave out the fence behind `ds_tile.store`; arrive on `empty` before the products are waited for; leave
# out the `tma.store_wait(0)` before `dq_tile.store`; use `tma.async_copy_shared_to_global` in place of the addition.
#
# ### From here to the fast one
#
# `flashlearn.kernels.gluon.fa3_backward` obeys the same check, and `flashlearn bench` measures it. Three things are different. The two consumers *exchange* $dS^\top$: each writes its own into
# shared memory, waits until both are there (a barrier that counts 2), and makes *half of the columns* of $dQ$ from all 128 keys. So each share leaves once, not
# twice. Its $dQ$ lags one block behind, so that nobody stands still while the other writes:

# %%
import inspect

from flashlearn.kernels.gluon import fa3_backward_scan as fast
from flashlearn.kernels.gluon.fa3_backward import fa3_backward as fast_backward

print(inspect.getsource(fast.part_of_dq.fn))

# %% [markdown]
# LSE and $\delta$ come by TMA with their block, and $K$ and $V$ stay in registers as left operands where there is room for them (D 64). The loop, in which you will recognise
# every line:

# %%
print(inspect.getsource(fast.scan_queries_past_keys.fn))

# %%
for name, function in (("yours", backward), ("the fast one", fast_backward)):
    added = [e for e in pictures.timeline(function, *gradients).events if e.what == "tma store"]
    print(f"{name}: {sum(event.bytes for event in added) / KIB:.0f} KiB leave")

# %%
pictures.timeline(fast_backward, *gradients, window=(0, 8000))

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - In the model the fast kernel is not faster: each consumer makes $dQ$ in two products of half the columns, waits for the other one, and the model's copy engine has
#   bytes to spare. What it saves, bytes that are *added in memory*, every one read and written there, the model does not count. A model answers what it was built for: here,
#   who waits for whom.
# - So the choice between the two was made by measuring. `flashlearn bench` shows the fast one's figures, and on a Hopper GPU the check of your own kernel times it
#   beside cuDNN's.
#
# </details>
#
# **A question.** The sum of $dQ$ begins at zero, in fp32, padded to whole blocks of queries. What would go wrong in each case without it?
#
# <details><summary>Answer</summary>
#
# Not at zero: `torch.empty` holds anything, and additions go on top of it. Not in fp32: each of $S_k / 64$ additions would round to 16 bits. Not padded: the
# sum is one long matrix of rows, and the last block of a head would add its padded rows to the next head. They are zeros here, since $P$ is; but they would be
# added while somebody else adds, and it costs nothing to keep them apart.
#
# </details>
#
# **Another one.** Two calls with the same inputs may give a $dQ$ with different last bits, and the same $dK$ and $dV$. Why?
#
# <details><summary>Answer</summary>
#
# The shares of $dQ$ come from several programs and consumers, and are added in the order in which they arrive: lesson 11's question. $dK$ and $dV$ are summed by one
# consumer, always in the same order.
#
# </details>
#
# **Sources.** Five products, and a program that owns keys: T. Dao, *FlashAttention-2*, 2023, algorithm 2. Keys as rows, the exchange of $dS$, $dQ$ added by the copy engine: J. Shah et al.,
# *FlashAttention-3*, 2024, section 3 and appendix B.1, and the kernels published with it. Layouts of operands in registers: NVIDIA, PTX ISA, section "Asynchronous warpgroup level matrix instructions".

# %% [markdown]
# ## What you can do now
#
# ### Questions to yourself
#
# Answer before you unfold.
#
# **1.** A kernel passes all tests on a GPU. Somebody deletes one `mbarrier.wait`, and it still passes. What do you know?
#
# <details><summary>Answer</summary>
#
# Nothing. What was read may have been there by luck, on this GPU, at this clock. A test of numbers cannot see an order that is not guaranteed; something has to look at the order itself: the observer
# here, or on a GPU Triton's `TRITON_INSTRUMENTATION_MODE=consan`.
#
# </details>

# %% [markdown]
# **2.** Your forward kernel gets products of eight bits. Which of the two overlaps becomes more important, and what may become the limit?
#
# <details><summary>Answer</summary>
#
# Both: the products take half the time, and the exponentials as long as ever. At $D = 128$ they are as long as the products; the best that remains is to have the exponentials' lanes
# busy all the time. Lesson 14 has the rest.
#
# </details>

# %% [markdown]
# **3.** A ring of two slots for $K$ and $V$ is enough, and the matrix product wanted three or four. Why?
#
# <details><summary>Answer</summary>
#
# Time. A block of 128 keys is worked on for more than a thousand cycles of the model, by two consumers and with a softmax in it; a copy takes less. Count the producer's lane in the timeline: it waits for `empty`.
#
# </details>

# %% [markdown]
# ### Journal
#
# *Two or three sentences for yourself in a month. Which fault did you make that you would not have found on a GPU? Which barrier did you not understand at first? Double-click here and write.*

# %% [markdown]
# ### What comes next
#
# Numbers of eight bits. The tensor cores do twice as many products in a cycle; what they want of the layouts, and what it does to the result, is lesson 14.
#
# **Sources of sittings 5 to 7.** Registers, `setmaxnreg`, `ex2`, layouts of operands: NVIDIA, PTX ISA. Throughputs: NVIDIA, *CUDA C++ Programming Guide*, arithmetic instructions; *H100 Tensor Core GPU data sheet*, halved
# where it counts sparsity. Ping-pong, a softmax under a product, and the count of exponentials: J. Shah, G. Bikshandi, Y. Zhang, V. Thakkar, P. Ramani, T. Dao, *FlashAttention-3*, 2024, sections 3.1 and 3.2. Online softmax and the
# order of loops: T. Dao, *FlashAttention-2*, 2023. Persistent programs and turns of consumers: NVIDIA, CUTLASS, its warp-specialised ping-pong kernels.
