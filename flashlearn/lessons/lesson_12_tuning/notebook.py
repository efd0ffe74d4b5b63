# %% [markdown]
# # Tuning
#
# Your kernels are right, but on a Hopper GPU they may reach only half of its possible speed, or less. This lesson
# makes them fast, one change at a time: each change is predicted before it is measured, kept if it pays, and reported
# if it does not. Nothing about attention is new here; what is new is to ask of every line what the machine is doing
# at that time.
#
# **Afterwards you can**
#
# - say what a tile of attention costs in products, exponentials and addresses, and which of these limits the speed;
# - fold $\alpha \log_2 e$ into one fused multiply-add and keep it right for every $\alpha$; split a loop where masks
#   begin; let the copy engine load K and V; order programs so that no long one runs alone at the end;
# - predict from registers and shared memory which configurations are worth timing, before you time any;
# - read instruction counts, a schedule and a profile, and distinguish a change that paid from one that only looked
#   clever.
#
# **You need** your forward and backward kernels from lessons 06 to 08, lesson 05's budget, and lesson 11's question
# about one pass or two. **No GPU is needed**: what decides most steps (instructions, registers, shared memory, the
# order of work) can be found on any machine, since the compiler needs no GPU. Without a GPU, times come from a
# record.
#
# **It takes** six hours or more, in several sittings: sections 1 to 4, sections 5 to 8, and the kernels of section
# 11, which you can tune for as long as you like.

# %%
import functools
import math
from dataclasses import dataclass, replace

import sympy as sp
import torch
import triton
import triton.language as tl
from rich.console import Console
from torch import Tensor
from triton.tools.tensor_descriptor import TensorDescriptor

import flashlearn
from flashlearn import DEVICE
from flashlearn.bench import plots, tables
from flashlearn.bench import record as bench_record
from flashlearn.kernels import tuned_forward as course_forward
from flashlearn.kernels.described import block_d, complying, described, heads_together, like
from flashlearn.kernels.shapes import Shape, backward_shapes, forward_shape
from flashlearn.kernels.tuned_backward import delta_and_lse
from flashlearn.kernels.tuned_forward import EDGE, LOG2_E, refuse_misfits
from flashlearn.lessons.lesson_12_tuning import counted, ladder, pictures, planning, record
from flashlearn.machine import device

H100 = device.GPUS["H100"]

# %% [markdown]
# ## Before you begin
#
# Three questions about what came before. Run the cell to read them, enter a letter for each number, and run it again.
# A wrong choice costs nothing; the reply says what it overlooks.

# %% tags=["recall"]
### BEGIN SOLUTION
# STUB: answers = {1: "", 2: "", 3: ""}
answers = {1: "b", 2: "c", 3: "a"}
### END SOLUTION
flashlearn.recall("12", answers)

# %% [markdown]
# ## 1 · What the machine waits for
#
# A tile of the forward pass has $B_q \cdot B_k$ scores. Each costs $4D$ operations in the two products, and one
# exponential. The products run on tensor cores, the exponentials on a separate unit, which has sixteen lanes in a
# multiprocessor (CUDA C++ Programming Guide, table of arithmetic throughput). **Predict** which of the two takes
# longer on an H100, for $D = 64$ and $D = 128$.

# %% tags=["nbval-check-output"]
PER_CLOCK = {
    "products": 4096,
    "exponentials": 16,
}  # operations of one H100 multiprocessor, dense fp16 and bf16
for D in (64, 128):
    scores = 64 * 128
    clocks = {
        "products": 4 * scores * D / PER_CLOCK["products"],
        "exponentials": scores / PER_CLOCK["exponentials"],
    }
    share = clocks["products"] / sum(clocks.values())
    print(f"D {D:3}: {clocks}; one after the other the tensor cores are busy {share:.0%} of the time")

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - At $D = 64$ the exponentials take as long as the products, at $D = 128$ half as long. That does not include the
#   maximum, the sums, the scale, the mask and the addresses, all of which run on the ordinary arithmetic units.
# - So a kernel that does one after the other cannot reach more than half of the tensor cores' peak at $D = 64$, or
#   two thirds at $D = 128$. Two things help: fewer instructions besides the products, and another program's products
#   while one program computes exponentials. Most changes below do one of the two.
# - Memory is not the limit here: at $S$ 4096 and $D$ 128 a forward pass has some 2000 operations for each byte that
#   must be moved (half as many under a causal mask), and on an H100 about 300 are enough to be limited by arithmetic.
#
# </details>
#
# ### The rules
#
# Make one change at a time. Before each, write down a number: how much faster, and why. Then measure it, in the same
# run as the previous version, and report the spread. A change that did not pay stays on the list, with its result.
# The ladder of this lesson has eight rungs, each with what it changes and what was predicted for it before it was
# timed:

# %% tags=["nbval-check-output"]
for rung in ladder.RUNGS:
    print(f"{rung.name:15} × {rung.predicted:20} {rung.what}")

# %% [markdown]
# `ladder.RUNGS` are variants of one kernel, and `ladder.forward(rung)` launches the kernel of that rung. All of them
# are right, as the next cell shows:

# %%
generator = torch.Generator().manual_seed(0)
q, k, v = (torch.randn(1, 2, 128, 64, generator=generator).half().to(DEVICE) for _ in range(3))
expected = torch.nn.functional.scaled_dot_product_attention(q.float(), k.float(), v.float(), is_causal=True)
for rung in ladder.RUNGS:
    o, _ = ladder.forward(rung)(q, k, v, True, 0.125)
    assert (o.float() - expected).abs().max() < 2e-3, rung.name

# %% [markdown]
# ## 2 · Narrow offsets
#
# One may make all rows and columns 64-bit numbers, so that no offset overflows. This is safe, but it costs time in
# every step: a tile of addresses has $64 \cdot 64$ offsets, each a product and a sum in 64 bits, and each of those
# takes several 32-bit instructions on a GPU. What needs 64 bits is *where the head begins*. Within a head, offsets
# reach $(S - 1) \cdot \mathrm{stride} + D - 1$, which reaches $2^{31}$ only at $S = 2^{24}$ for contiguous rows with
# $D = 128$. So use one 64-bit base per head, advanced by one 64-bit number per step, and a tile of 32-bit offsets
# that never changes.
#
# **Predict:** which of these counts change, and are any registers saved?

# %%
counts = {rung.name: counted.compiled(rung, D=64) for rung in ladder.RUNGS[:2]}
for name, made in counts.items():
    print(f"{name:15}", {kind: made[kind] for kind in ("64-bit integers", "registers", "spilled", "shared")})

assert counts["narrow offsets"]["64-bit integers"] < counts["plain"]["64-bit integers"]

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - The counts are of instructions in the kernel's code for an H100, all of it; most of them are in the loop. A few
#   registers are saved as well.
# - Check the limit in the launcher, or document it where the kernel begins. A kernel that is silently wrong from
#   $2^{31}$ on is worse than a slow one.
# - On an H200, in an otherwise plain forward pass (fp16, $S$ 1024, $D$ 64), this reduced 274 µs to 243 µs.
#
# </details>

# %% [markdown]
# ## 3 · Powers of two
#
# A GPU has an instruction for $2^x$ and none for $e^x$: `tl.exp` is a multiplication by $\log_2 e$ and the power of
# two (and, in the final machine code, a few instructions for results below $2^{-126}$). The score has just been
# multiplied by $\alpha$. Both factors can be combined into one, $c = \alpha \log_2 e$, and the subtraction of the
# maximum can be included:
#
# $$p_j = e^{\alpha x_j - m} = 2^{\,c\,x_j - c\,x_{\max}}, \qquad x_j = q \cdot k_j,$$
#
# one fused multiply-add and one power of two per score, if the maximum is that of the raw $x_j$. **Predict** the
# counts: how many of the 102 separate multiplications (in the whole kernel) remain, and what happens to the
# additions?

# %%
counts = {rung.name: counted.compiled(rung, D=64) for rung in ladder.RUNGS[1:3]}
for name, made in counts.items():
    kinds = ("multiplications", "fused multiply-adds", "additions", "exponentials")
    print(f"{name:15}", {kind: made[kind] for kind in kinds})

before, after = counts.values()
assert after["exponentials"] == before["exponentials"]
assert after["multiplications"] < before["multiplications"] / 2

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - A thread has 32 scores here. Per score the plain kernel multiplies by $\alpha$, subtracts, multiplies by $\log_2
#   e$: three instructions. Folded, only one is left.
# - Why does the compiler not do it by itself? It is not allowed to: $(\alpha x - m)\log_2 e$ and $x c - m c$ round
#   differently.
#
# </details>
#
# ### Where the folded form fails
#
# $\max_j \alpha x_j = \alpha \max_j x_j$ holds for $\alpha > 0$. For $\alpha < 0$ the largest $x$ gives the
# *smallest* score, $\max_j \alpha x_j = \alpha \min_j x_j$, and the exponentials are taken relative to the row's
# minimum: right while the scores of a row are within 127 powers of two, and $\infty$ beyond that. And for $\alpha =
# 0$, which no model uses but a test may, $c \cdot (-\infty)$ is NaN wherever a mask wrote $-\infty$. **Predict** the
# last column for each row.

# %% tags=["nbval-check-output"]
x = torch.tensor([10.0, 20.0, 90.0])


def folded_sum(alpha):
    """log Σ exp(alpha x) by the fold as it stands above."""
    c = alpha * math.log2(math.e)
    top = x.max()
    return float(top * c * math.log(2) + torch.log(torch.exp2(x * c - top * c).sum()))


for alpha in (1.5, -0.5, -1.5):
    print(
        f"alpha {alpha:5}: {folded_sum(alpha):8.3f}, and it should be {float(torch.logsumexp(alpha * x, 0)):8.3f}"
    )
print("alpha   0: a hidden product times the factor is", float(torch.tensor(-math.inf) * 0.0))

# %% [markdown]
# There are three remedies. Take the minimum where $\alpha < 0$, which can be decided when the kernel is compiled. Or
# change signs: $\alpha x = |\alpha| \cdot (-x)$, and $-q$ costs one exact operation per element of $Q$, once. Or
# scale first and fold nothing where $\alpha < 0$. All are right for $\alpha < 0$; which is fastest matters little,
# since models hardly ever use a negative $\alpha$. What matters is that the kernel is not silently wrong.
#
# ### Exercise: `folded_logsumexp` · core
#
# This exercise computes only the statistics of a row: $x$ `[M, N]` contains unscaled products; in row $i$ only the
# first `lengths[i]` columns count, possibly none; $\alpha$ is any number. Return $\log \sum_j e^{\alpha x_{ij}}$
# (natural logarithm) in fp32, in one scan over tiles. Use one multiplication per product, so combine $\alpha$ and
# $\log_2 e$ into one factor. A row without columns gives $-\infty$.

# %% exercise="folded_logsumexp"
# HINT: Your scan of lesson 04, with two changes: e^y is 2^(y log2 e), and alpha and log2 e become one
#     factor c, with which each x is multiplied once, in the exponent. What must be true of c for the
#     largest x to give the largest x · c? Consider positive, zero and negative alpha.
# HINT: Where alpha is negative, scan −x with |alpha| log2 e. Where it is 0, c would be 0, and 0 · −∞ is
#     NaN: keep c above 0. The maximum m_i is that of x, not of x · c; a row that has seen nothing yet
#     subtracts 0.
# HINT: In a step: `m_new` is the larger of `m_i` and the tile's maximum; `shift` is `m_new * c`, or 0 while
#     m_new is −∞; `l_i` is multiplied by `tl.exp2(m_i * c - shift)`, and the sum of `tl.exp2(x * c -
#     shift[:, None])` is added to it. At the end convert to the natural logarithm: m_i · c times ln 2, plus
#     tl.log of l_i.
# INCLUDE: flashlearn/lessons/lesson_12_tuning/folded.py:folded_logsumexp_kernel


# INCLUDE: flashlearn/lessons/lesson_12_tuning/folded.py:folded_logsumexp

# %%
flashlearn.check("folded_logsumexp", folded_logsumexp)

# %%
# flashlearn.hint("folded_logsumexp")

# %% [markdown]
# Break it: ignore the sign; let the factor become 0; keep the maximum of $c\,x$ instead of $x$; return `tl.log2`.
# Which of these does a test with $\alpha = 1/\sqrt{D}$ reveal?
#
# <details><summary><b>What to notice</b></summary>
#
# - None of the first three: the first needs $\alpha < 0$, the second $\alpha = 0$ and a hidden column, and the third
#   is right. The fourth shows in nearly every row.
# - The maximum of $c\,x$ is right too, but costs an extra multiplication per score, which is part of what folding
#   saves.
#
# </details>

# %% [markdown]
# ## 4 · Two loops
#
# Most tiles need no mask: every query of the block sees all of their keys. Masks are needed where the diagonal
# crosses a tile, and in the last tile if $S_k$ is not a multiple of the tile. One loop applies the mask in every
# tile; with two loops only the second applies it, to the tiles that need it. The mask is aligned bottom-right. In the
# block of queries that starts at `first`, the first query sees the fewest keys, the last one the most.
#
# ### Exercise: `split_loops` · warm-up
#
# Return `(whole, end)`: the keys below `whole` need no mask and fill as many whole tiles of `block_k` as possible;
# the keys from `end` on are seen by no query of the block. All numbers are integers; `max`, `min` and `//` are
# enough. Consider blocks that see nothing, and a last block that extends beyond $S_q$.


# %% exercise="split_loops"
# HINT: The block's first query sees the fewest keys and its last one the most. One of them determines where
#     tiles begin to need a mask, the other one where the loop ends.
# HINT: Query i sees the keys up to i + S_k − S_q: that is i + S_k − S_q + 1 keys, at most S_k and at
#     least 0. `whole` is a multiple of block_k.
# HINT: `end` is `max(0, min(S_k, …))` of what the query `first + block_q - 1` sees; `whole` is the same for
#     the query `first`, rounded down by `// block_k * block_k`.
def split_loops(first, block_q, block_k, S_q, S_k):
    ### BEGIN SOLUTION
    # STUB: raise NotImplementedError("TODO split_loops: how far without a mask, and how far at all")
    sees_least = max(0, min(S_k, first + 1 + S_k - S_q))
    end = max(0, min(S_k, first + block_q + S_k - S_q))
    return sees_least // block_k * block_k, end
    ### END SOLUTION


# %%
flashlearn.check("split_loops", split_loops)

# %%
# flashlearn.hint("split_loops")

# %%
bounds = flashlearn.use("split_loops", split_loops)
pictures.split_tiles(bounds, S_q=100, S_k=164, block_q=32, block_k=16)

# %% [markdown]
# **Predict** what share of the tiles of a causal pass needs a mask at $S$ 1024, 4096 and 16384, with blocks of 64
# queries and 64 keys, and with blocks of 64 queries and 128 keys.

# %% tags=["nbval-check-output"]
for block_k in (64, 128):
    for S in (1024, 4096, 16384):
        cut = [planning.loop_bounds(first, 64, block_k, S, S) for first in range(0, S, 64)]
        visited = sum(-(-end // block_k) for _, end in cut)
        masked = sum(-(-(end - whole) // block_k) for whole, end in cut)
        beyond = sum(-(-end // block_k) * block_k - end for _, end in cut) / (visited * block_k)
        print(
            f"64 × {block_k:3}, S {S:5}: {masked / visited:5.1%} masked, {beyond:5.1%} of the keys for nothing"
        )

# %%
made = {rung.name: counted.compiled(rung, D=64) for rung in ladder.RUNGS[2:4]}
for name, counts in made.items():
    print(
        f"{name:15} without a causal mask: {counts['selections']} selections, {counts['registers']} registers"
    )

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - Even without a causal mask the first loop needs no comparison and selection per score: 43 became 11.
# - The causal kernel contains both loops, so its code is longer. At $S$ 1024 an eighth of the tiles is masked, so it
#   gains less there; at 16384 it is about one in a hundred.
# - A tile of 128 keys extends further beyond the diagonal than one of 64. The masked loop may use another tile size:
#   the package's kernel takes 64 keys there, and 128 elsewhere.
# - `IS_CAUSAL` is a `tl.constexpr`, as in lesson 06: the compiler leaves out whatever the flag excludes. With an
#   ordinary argument the kernel would contain the code for both values, and need the registers of the larger.
#
# </details>

# %% [markdown]
# ## 5 · Descriptors
#
# A load through pointers computes an address per element, or per four of them, in registers, and every thread
# requests its own data. A Hopper GPU has another way: a *descriptor* states once where a tensor is in memory, its
# shape and strides, and the shape of a block; after that one thread asks for "the block at these coordinates", and
# the tensor memory accelerator (TMA) copies it into shared memory while all threads go on computing.
#
# On the host, `TensorDescriptor.from_tensor(k, [1, 1, BLOCK_K, D])`; in the kernel `k_desc.load([b, h, start, 0])`,
# whose result has the block's shape, ones included. What lies beyond the tensor is read as zero, and not written by a
# store, so masks for ragged rows and a padded $D$ are not needed. (But a zero is a *score* of 0: keys beyond $S_k$
# still need their mask in $s$.)


# %% tags=["nbval-check-output"]
@triton.jit
def last_block_kernel(x_desc, y_ptr, BLOCK: tl.constexpr, D: tl.constexpr):
    tile = x_desc.load([0, 1, 16, 0]).reshape(BLOCK, D)  # rows 16 to 31 of head 1, and there are 20
    tl.store(y_ptr + tl.arange(0, BLOCK), tl.sum(tile, axis=1))


x = torch.ones(1, 2, 20, 16, device=DEVICE)
y = torch.empty(16, device=DEVICE)
last_block_kernel[(1,)](TensorDescriptor.from_tensor(x, [1, 1, 16, 16]), y, BLOCK=16, D=16)
print(y.int().tolist())

# %% [markdown]
# The copy engine has rules: the last stride is 1, all others and the first address are multiples of 16 bytes, a block
# has at least 16 bytes along its last dimension. **Predict** for which of these three a descriptor is possible.

# %% tags=["nbval-check-output"]
fp16 = functools.partial(torch.empty, dtype=torch.float16)
for name, t in (
    ("heads and rows swapped", fp16(2, 20, 3, 64).transpose(1, 2)),
    ("D 36, dense", fp16(2, 3, 20, 36)),
    ("D and S swapped", fp16(2, 3, 64, 20).mT),
):
    try:
        TensorDescriptor.from_tensor(t, [1, 1, 16, 64])
        print(f"{name:23} can be described")
    except AssertionError as refusal:
        print(f"{name:23} {refusal}")

# %% [markdown]
# A tensor for which no descriptor is possible is copied once beforehand, or loaded through pointers by another
# kernel. The package copies: `complying(t)` returns t itself wherever that is possible.
#
# **Predict** what remains of 67 instructions on 64-bit integers.

# %%
made = {rung.name: counted.compiled(rung, D=64) for rung in ladder.RUNGS[3:5]}
for name, counts in made.items():
    shown = ("64-bit integers", "stores to shared memory", "barriers", "registers", "shared")
    print(f"{name:15}", {kind: counts[kind] for kind in shown})

assert made["descriptors"]["64-bit integers"] < made["two loops"]["64-bit integers"] / 3

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - The addresses are gone, which saves some registers. There are more barriers: an asynchronous copy needs one that
#   says when the data has arrived.
# - Shared memory grows by the block of $O$, which is stored through it.
# - A descriptor is created in Python, which takes some microseconds. At $S$ 512 that is a noticeable part of the
#   time: small problems should use few of them.
# - On an A100 the same source compiles to pointers and masks: right, and no faster.
#
# </details>

# %% [markdown]
# ## 6 · Block shape, warps, stages: a budget before a measurement
#
# How many queries and keys a tile has, how many warps share it, how many tiles are in flight: that makes a few
# hundred combinations, and most of them do not fit, spill registers or leave the machine half empty. Most of that can
# be known beforehand.
#
# Count what a forward pass needs if its loop keeps `stages` tiles of K and of V in flight: in shared memory, these
# and the tile of Q; in registers, in fp32, the scores and the sum for $O$, divided among $32 \cdot \mathrm{warps}$
# threads.
#
# ### Exercise: `forward_budget` · warm-up
#
# Return `(shared, accumulators)`: the bytes of shared memory, where an element takes `size` bytes, and the number of
# fp32 values that each thread holds, as an exact fraction (`sp.Rational`).


# %% exercise="forward_budget"
# HINT: Shared memory holds what the products read: Q's tile, and for each stage one tile of K and one of V.
#     Registers hold what they write.
# HINT: A tile has block · D elements of `size` bytes. The two results are fp32: the scores, block_q ×
#     block_k, and the sum for O, block_q × D; `32 * warps` threads share them.
# HINT: `shared = size * D * (block_q + …)`, where a stage adds two tiles of block_k rows. `accumulators` is a
#     fraction: the elements of both results, divided by the threads (`sp.Rational`, or / of sympy's integers).
def forward_budget(block_q, block_k, D, size, stages, warps):
    ### BEGIN SOLUTION
    # STUB: raise NotImplementedError("TODO forward_budget: shared bytes, and accumulators per thread")
    shared = size * D * (block_q + 2 * stages * block_k)
    return shared, sp.Rational(block_q * (block_k + D), 32 * warps)
    ### END SOLUTION


# %%
flashlearn.check("forward_budget", forward_budget)

# %%
# flashlearn.hint("forward_budget")

# %% [markdown]
# Now the search, for $D$ 128 in bf16. First use your formula alone: on an H100 a block can have 227 KiB, and a thread
# 255 registers, some of which are needed for addresses, maxima and the operands of `wgmma`. **Predict** how many of
# the 36 configurations below remain if shared memory must suffice and a thread may hold at most 128 accumulators.

# %% tags=["nbval-check-output"]
budget = flashlearn.use("forward_budget", forward_budget)
candidates = [
    Shape(block_q, block_k, warps, stages)
    for block_q in (64, 128, 256)
    for block_k in (64, 128)
    for warps in (4, 8)
    for stages in (2, 3, 4)
]
fitting = []
for shape in candidates:
    shared, accumulators = budget(shape.block_q, shape.block_k, 128, 2, shape.stages, shape.warps)
    if shared <= H100.shared_per_block and accumulators <= 128:
        fitting.append(shape)
print(len(fitting), "of", len(candidates), "are left")

# %% [markdown]
# Then ask the compiler, which knows. It takes about a second for each and needs no GPU. The rung is "two loops",
# whose loads go through pointers. **Predict** for how many of these four your figure for shared memory is exact, and
# which one spills.

# %%
asked = (Shape(64, 64, 4, 2), Shape(128, 64, 8, 3), Shape(128, 128, 8, 2), Shape(128, 128, 4, 2))
for shape in asked:
    shared, accumulators = budget(shape.block_q, shape.block_k, 128, 2, shape.stages, shape.warps)
    made = counted.needs(counted.launched(counted.shaped(ladder.RUNGS[3], shape), D=128))
    print(
        f"{shape.block_q:3} × {shape.block_k:3}, {shape.warps} warps, {shape.stages} stages: "
        f"{shared / 1024:5.0f} KiB and {float(accumulators):3.0f} accumulators predicted; {made['shared'] / 1024:.0f} KiB, "
        f"{made['registers']} registers, {made['spilled']} bytes spilled"
    )

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - Where several tiles are in flight, shared memory is what the formula says, to the byte. Descriptors add O's block
#   and their barriers; with a single stage less is needed, since V can use K's memory once K has been read.
# - With 256 accumulators per thread, registers spill. With up to 128 none did here; at 192 it depends on what else is
#   in registers.
# - A configuration that fits is not necessarily fast. Section 1 said what is missing: another program that multiplies
#   while one computes exponentials. Two or three *programs* on one multiprocessor do that for each other, without a
#   line of code. For three programs of 4 warps a thread may have $\lfloor 65536 / (3 \cdot 128) \rfloor = 170$
#   registers, 168 as a multiple of eight, and each program a third of 228 KiB. That is why the package takes, for $D$
#   128, 64 × 128, 4 warps, one stage and at most 160 registers: `Shape(64, 128, 4, 1, registers=160)`. It was found
#   by measuring the configurations that fit, and is not one that you would guess.
# - Autotuning automates this: candidates are pruned by the compiler's own figures, timed once, and remembered.
#   `flashlearn bench --tune` does it for the package's kernels. Never do it inside a timed region: the first call
#   would time the search.
#
# </details>

# %%
for name, shape in (("D 64", forward_shape(torch.empty(1, 1, 1, 64, dtype=torch.bfloat16))),
                    ("D 128", forward_shape(torch.empty(1, 1, 1, 128, dtype=torch.bfloat16)))):  # fmt: skip
    D = int(name.split()[1])
    made = counted.needs(counted.launched(counted.shaped(ladder.RUNGS[5], shape), D))
    by_registers = H100.registers_per_sm // (-(-made["registers"] // 8) * 8 * 32 * shape.warps)
    by_shared = H100.shared_per_sm // (made["shared"] + 1024)
    print(f"{name}: {shape}\n    {made}\n    programs per multiprocessor: {min(by_registers, by_shared)}")

# %% [markdown]
# ## 7 · Heavy blocks first
#
# Under a causal mask the last block of queries visits all keys and the first only its first tiles. Programs usually
# start in the order of their numbers, and each multiprocessor takes the next one when it is free. If the longest loop
# starts last, the whole kernel waits for it.
#
# ### Exercise: `heaviest_first` · warm-up
#
# Which block of which head does program `pid` of `blocks * heads` compute? The last block of every head comes first
# (heads in their order), then the last but one of every head, and so on.


# %% exercise="heaviest_first"
# HINT: Programs start in the order of their numbers, as multiprocessors become free. Under a causal mask
#     the work of a block grows with its number.
# HINT: All heads' heaviest blocks come first: the first `heads` programs share one block number, the next
#     `heads` programs the number below it.
# HINT: `pid // heads` counts up from 0, and the block's number counts down from `blocks - 1`.
def heaviest_first(pid, blocks, heads):
    ### BEGIN SOLUTION
    # STUB: raise NotImplementedError("TODO heaviest_first: the block and the head of program pid")
    return blocks - 1 - pid // heads, pid % heads
    ### END SOLUTION


# %%
flashlearn.check("heaviest_first", heaviest_first)

# %%
# flashlearn.hint("heaviest_first")

# %% [markdown]
# Consider 16 blocks of 40 heads on 132 multiprocessors, with one program at a time on each; a tile of keys takes one
# unit of time. **Predict** how much longer each order takes than if the work were divided evenly: block by block
# within a head, lightest first, and yours.

# %%
order = flashlearn.use("heaviest_first", heaviest_first)
works = {
    "head by head": planning.causal_work(lambda pid, blocks, heads: (pid % blocks, pid // blocks), 16, 40),
    "lightest first": planning.causal_work(lambda pid, blocks, heads: (pid // heads, pid % heads), 16, 40),
    "heaviest first": planning.causal_work(order, 16, 40),
}
ends = {name: planning.makespan(work, H100.sms)[0] for name, work in works.items()}
assert min(ends, key=ends.get) == "heaviest first"
pictures.schedule(works, machines=H100.sms)

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - The programs that start last decide. Longest first leaves only short ones for the end (R. Graham, *Bounds on
#   multiprocessing timing anomalies*, 1969: never more than a third above the best possible).
# - At $S$ 16384 there are 128 blocks, and the order changes the time by one part in a hundred. It helps where there
#   are a few waves of programs, not one and not hundreds.
# - If all heads run side by side, all heads' keys and values compete for the L2 cache at once. The package takes as
#   many heads together as fit there. This simulation has no cache: a model that leaves something out must say what.
#
# </details>

# %% [markdown]
# ## 8 · Persistent programs, and what did not pay
#
# If starting a program costs time, why not launch only as many as there are multiprocessors, and let each take one
# block after another? Without a shared counter, each program's blocks are fixed when the kernel starts. **Predict**
# how that changes the total time, for the order that you just wrote.

# %% tags=["nbval-check-output"]
work = works["heaviest first"]
shares = [sum(work[first :: H100.sms]) for first in range(H100.sms)]  # program p takes p, p + 132, p + 264, …
print(f"each takes the next when free: {ends['heaviest first']:.0f}; shares fixed beforehand: {max(shares)}")
full = [32] * len(work)
fixed = max(sum(full[first :: H100.sms]) for first in range(H100.sms))
print(f"without a mask: {planning.makespan(full, H100.sms)[0]:.0f} and {fixed}")

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - Where all blocks are equal, fixed shares lose nothing; under a causal mask they lose the balance that the
#   hardware's own queue provides. What can be gained is the start-up time of programs, which is small compared with
#   their loops.
# - It pays where the end of one block can overlap the beginning of the next, as in FlashAttention-3 on Hopper, which
#   needs producer and consumer warps (lesson 13). In this kernel several programs on a multiprocessor overlap
#   already. The rung stays on the ladder, with its factor.
#
# </details>

# %% [markdown]
# ## 9 · Backward: keys first
#
# The kernel for $dK$ and $dV$ needs $P^\top$ and $dS^\top$: rows are keys. Lesson 08 computed $S = QK^\top$ and
# transposed. $S^\top = KQ^\top$ costs the same product and needs no transpose: `wgmma` can take its *left* operand
# from registers, and that operand is the tile that the exponential has just left in registers. **Predict** for the
# kernel below what else changes with the order.


# %%
@triton.jit
def dv_kernel(
    q_ptr, k_ptr, do_ptr, lse_ptr, dv_ptr, S, KEYS_FIRST: tl.constexpr, BLOCK: tl.constexpr, D: tl.constexpr
):  # fmt: skip
    i, d = tl.arange(0, BLOCK), tl.arange(0, D)
    tile = i[:, None] * D + d[None, :]
    k = tl.load(k_ptr + tile)
    dv = tl.zeros((BLOCK, D), tl.float32)
    for start in range(0, S, BLOCK):
        q, do = tl.load(q_ptr + start * D + tile), tl.load(do_ptr + start * D + tile)
        lse = tl.load(lse_ptr + start + i)
        if KEYS_FIRST:
            p_t = tl.exp2(tl.dot(k, tl.trans(q)) - lse[None, :])  # [keys, queries]
        else:
            p_t = tl.trans(tl.exp2(tl.dot(q, tl.trans(k)) - lse[:, None]))
        dv += tl.dot(p_t.to(do.dtype), do)
    tl.store(dv_ptr + tile, dv.to(dv_ptr.dtype.element_ty))


given = torch.zeros(128, 64, dtype=torch.bfloat16)
made = {}
for keys_first in (False, True):
    with flashlearn.observing() as (session, _):
        dv_kernel[(1,)](
            given, given, given, given[:, 0].float(), given.clone(), 128, keys_first, BLOCK=64, D=64
        )
    launch = session.launches[-1]
    made[keys_first] = counted.kinds(launch) | counted.needs(launch)
    shown = ("stores to shared memory", "barriers", "shared", "registers")
    print(
        "keys first:  " if keys_first else "transposed:  ", {kind: made[keys_first][kind] for kind in shown}
    )

assert made[True]["stores to shared memory"] < made[False]["stores to shared memory"]

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - The transpose goes through shared memory: stores, a barrier and room for a tile of $P$ in every step. With keys
#   first all three are gone, at the cost of some more registers. $dS^\top$ saves as much again.
# - LSE and $\delta$ have one number per query, and queries are columns now, so index them as `[None, :]`. Forgetting
#   that is the typical mistake here.
# - $dQ$ needs $dS$ with queries as rows. In a separate kernel that needs no transpose; in one pass (lesson 11) one
#   transpose remains, and atomics as well. The package's Triton backward pass has two kernels, with seven products
#   instead of five, because they were faster than one kernel on an H200. With specialised warps it can be the other
#   way round: lesson 13's backward kernel does it in one pass.
#
# </details>

# %% [markdown]
# ## 10 · The ladder, measured
#
# Now the times. If there is a GPU, the next cell measures the ladder on it, in bf16 with $2^{14}$ tokens: the rungs
# are called alternately, the L2 cache is cleared before each call, and medians are compared. That takes some minutes,
# most of them for compiling. Without a GPU it shows the record of an H200, if one came with the course.

# %%
climbed = record.ladder()
if climbed is None:
    print("No GPU is here, and no record of another one came along: there is nothing to show.")
else:
    print(f"Measured on {climbed['device']}, {climbed['date']}, with {climbed['versions']}")
    for direction in ("forward", "backward"):
        for causal in (False, True):
            gained = record.factors(climbed, direction, causal)
            known = {rung["name"]: rung for rung in climbed["rungs"]}
            for name, factor in gained.items():
                said = "" if factor > 1.01 else "  did not pay"
                where = f"{direction}, {'causal' if causal else 'full'}"
                print(
                    f"{where:17} {name:20} predicted × {known[name]['predicted']:21} measured × {factor:.2f}{said}"
                )
    shaky = record.unsteady(climbed)
    print(f"{len(shaky)} timings have a spread above 5 %" + (": " + "; ".join(shaky[:4]) if shaky else ""))

# %%
pictures.climbed(climbed) if climbed else None

# %% [markdown]
# Before you unfold: which prediction was furthest off, and which of the two remedies of section 1, fewer instructions
# or more overlap, gained more?
#
# <details><summary><b>What to notice</b></summary>
#
# - The factors multiply, but they are not independent: narrow offsets gain less where descriptors have removed the
#   addresses anyway. The same changes in another order have other factors and the same product.
# - A factor of 1.01 with a spread of 2 % is not a gain. A rung that did not pay stays here, so that no one tries it
#   again without knowing.
# - Predictions of "1.1" were guesses from instruction counts. A count cannot tell whether the kernel was waiting for
#   those instructions.
# - In the record of the H200 three rungs of this ladder were slower, and each has a cause that could have been
#   counted beforehand. *Descriptors*: at $D = 128$ the next cell shows what the block of $O$ costs; at $D = 64$ the
#   loss is small. *Heavy first*: neighbouring programs take the same block of *all* heads, so that the keys and
#   values of all of them are scanned at once: 134 MB, more than the L2 cache holds. The package takes a few heads at
#   a time (`heads_together`). *Persistent*: with as many programs as multiprocessors each one runs a single program,
#   although the shape was chosen for two or three.
#
# </details>

# %%
for rung in ladder.RUNGS[3:6]:
    made = counted.compiled(rung, D=128)
    room = H100.shared_per_sm // (made["shared"] + 1024)
    print(f"{rung.name:15} {made['shared']:7,} bytes of shared memory: by that, {room} programs fit")

# %% [markdown]
# ### Compared with its peers
#
# The package's kernels are not the ladder's. They have no loop around the block, store $O$ through the memory that
# held $K$, and take as many heads together as the cache allows. The next cell compares them with torch's, from the
# record of an H200 that comes with the package (`flashlearn bench` makes one for your GPU). The figures are speeds
# relative to SDPA's cuDNN backend, as a geometric mean over $D$ 64 and 128 and $S$ 1024, 4096 and 16384, with the
# lowest in parentheses.

# %%
measured = bench_record.shipped()
Console(width=90).print(tables.ratios(measured))
print(f"{measured.device['gpu']}, {measured.made[:10]}, {measured.versions}")

# %%
peers = plots.every(measured)
peers["throughput_forward"]

# %%
peers["memory"]

# %% [markdown]
# Memory was the original reason for all this. Every line of the last picture grows with $S$, none with $S^2$.
# Attention that stores $P$ in bf16, for 16 heads and $S$ 16384, would need this much for $P$ alone:

# %%
print(f"{2 * 16 * 16384**2 / 2**30:.0f} GiB")
#
# ### Two profiles
#
# A profiler says who waited for what. Triton's *proton* times kernels and scopes inside them; *Nsight Compute* reads the
# hardware's counters: how busy the tensor pipe was, how many warps could have been served in a cycle, why the others
# could not. Two rungs and the package's kernel, read on an H200 and saved, for those without ($D$ 128, $S$ 4096, full):

# %%
profiles = record.shipped_profiles()
if profiles is None:
    print("No profile came along. On a machine of your own: ncu --set full python your_script.py")
else:
    names = [rung["name"] for rung in profiles["rungs"]]
    print(f"{profiles['device']:44}", *(f"{name:>16}" for name in names))
    for counter in profiles["rungs"][0]["counters"]:
        values = [rung["counters"].get(counter) for rung in profiles["rungs"]]
        print(f"{counter:44}", *(f"{value:>16}" for value in values))

# %% [markdown]
# Read such a table from the top: is the tensor pipe busy? If not, are there warps that could issue (eligible warps
# per cycle)? If not, what do they wait for: memory (long scoreboard), the other units (math pipe throttle), each
# other (barrier), or `wgmma` itself? Work on the first line that is bad; the others are often bad because of it.

# %% [markdown]
# ## 11 · The kernels
#
# ### Exercise: `tuned_forward` · core
#
# Now put everything together. The launcher is given; it creates the descriptors, decides the order of programs and
# passes what `forward_shape` chooses. You write the loop over keys and the kernel around it, and you may choose the
# shapes: put your own in place of `forward_shape(…)`. You may also use pointers, or another grid: what counts is the
# result.
#
# - $Q$ `[B, H, S_q, D]`; $K$ and $V$ `[B, H_k, S_k, D]`, where $H_k$ divides $H$ and head $h$ of $Q$ uses head
#   $\lfloor h / (H / H_k) \rfloor$ of $K$ and $V$; any strides, ragged $S$, $S_q \ne S_k$, $D$ up to 128 and more;
# - causal (aligned bottom-right) or not, with queries that see nothing ($O = 0$, LSE $= -\infty$);
# - $\alpha$ of either sign, and 0; fp32, fp16 and bf16; LSE with the natural logarithm, in fp32;
# - no tile is multiplied in which nothing is seen.
#
# If there is a GPU, speed is graded, relative to torch's attention in the same run: **bronze** for half the speed of
# its flash backend, **silver** for the same speed, **gold** for 0.9 times the speed of its cuDNN backend. Without a
# GPU the report predicts the time, and compiles the kernel.

# %% exercise="tuned_forward"
# HINT: Begin with your flash_forward_either, which is right, and change one thing at a time, in the order
#     of the ladder. Run the check after each change: speed is worth nothing if the result is wrong.
# HINT: The tile's work is one helper with `MASKED: tl.constexpr`, called from two loops: `range(0, whole,
#     BLOCK_K)` and `range(whole, end, BLOCK_K)`, with the bounds of `split_loops`. Give q the sign of
#     alpha; c is |alpha| log2 e and must be above 0. K and V for head h are those of head h // (H // H_k).
# HINT: In the helper: `x = tl.dot(q, tl.trans(k))`, unscaled; where MASKED, x is −∞ beyond the row's last
#     key; `m_new` from x; `shift = m_new * c`, 0 where nothing is seen yet; `p = tl.exp2(x * c - shift[:,
#     None])`. The bases of K and V advance by `start` in 64 bits; the tile of offsets is computed once, in
#     32 bits.
# INCLUDE: flashlearn/kernels/tuned_forward.py:scan_keys


# INCLUDE: flashlearn/kernels/tuned_forward.py:tuned_forward_kernel


# INCLUDE: flashlearn/kernels/tuned_forward.py:tuned_forward

# %%
flashlearn.check("tuned_forward", tuned_forward)

# %%
# flashlearn.hint("tuned_forward")

# %% [markdown]
# ### Exercise: `lean_forward` · stretch
#
# This can be optimised on any machine. The check compiles the kernel that your launcher uses for $D$ 128 in bf16, for
# an H100, and requires a budget: **no spilled registers, shared memory that fits, and `wgmma`**. Return the result of
# your `tuned_forward`, or write another one. The report says what the kernel needs. When it passes, continue by
# yourself: how many programs fit into a multiprocessor, at how many registers?

# %% exercise="lean_forward"
# HINT: The check compiles your kernel for an H100, with the blocks that your launcher uses for bf16 at S
#     256 and D 128. The report says what it needs: registers, spills, shared memory, occupancy.
# HINT: Spills come from accumulators: the scores and the sum for O, in fp32, over 32 · warps threads. More
#     than 128 of them per thread leave little room. `forward_budget` computes both numbers for any block
#     shape.
# HINT: 128 × 64 with 8 warps has 96 accumulators per thread, and with 3 stages it takes 128 KiB. wgmma needs 64 rows
#     for each group of four warps, so BLOCK_Q is at least 64. Is a tile of your offsets in 64 bits?
# INCLUDE: flashlearn/lessons/lesson_12_tuning/lean.py:lean_forward

# %%
flashlearn.check("lean_forward", lean_forward)

# %%
# flashlearn.hint("lean_forward")

# %% [markdown]
# ### Exercise: `tuned_backward` · core
#
# $dQ$, $dK$ and $dV$. `delta_and_lse` is given: it stores $\delta$, and LSE in base 2 with $+\infty$ for queries that
# see nothing, both padded so that no block needs a mask for them. You write the scan over queries (keys first), the
# kernel that owns keys, the second scan over keys, and the kernel that owns queries. The requirements are those of
# the forward pass. Gold is 0.75 times the speed of cuDNN here.

# %% exercise="tuned_backward"
# HINT: Two kernels or one: your dkv kernel with its tiles transposed, and your dq kernel with the steps of
#     the forward pass; or lesson 11's single kernel, with dQ added atomically. Only a measurement can tell
#     which is faster.
# HINT: Keys first: `x_t = tl.dot(k, tl.trans(q))` is (BLOCK_K, BLOCK_Q), and so are p_t and ds_t. Numbers per
#     query, LSE and delta, are `[None, :]` there. `dv += tl.dot(p_t.to(do.dtype), do)`: nothing is
#     transposed. Where several heads share a key, the program loops over the group.
# HINT: LSE is multiplied by log2 e once per row, and +∞ replaces −∞; `p_t = tl.exp2(x_t * (alpha * log2e) -
#     lse[None, :])`, masked only where `start` is before the first query that sees all of the block's keys;
#     dQ and dK are multiplied by alpha alone, at the end.
# INCLUDE: flashlearn/kernels/tuned_backward.py:scan_queries


# INCLUDE: flashlearn/kernels/tuned_backward.py:tuned_dkv_kernel


# INCLUDE: flashlearn/kernels/tuned_backward.py:scan_keys_again


# INCLUDE: flashlearn/kernels/tuned_backward.py:tuned_dq_kernel


# INCLUDE: flashlearn/kernels/tuned_backward.py:tuned_backward

# %%
flashlearn.check("tuned_backward", tuned_backward)

# %%
# flashlearn.hint("tuned_backward")

# %% [markdown]
# ## 12 · What you have now
#
# | change | what it saves | what it may break |
# |---|---|---|
# | narrow offsets | 64-bit arithmetic in every step | heads of more than $2^{31}$ elements |
# | powers of two, folded | two instructions per score | $\alpha \le 0$; LSE left in base 2; $dK$ with a factor $\log_2 e$ |
# | two loops | comparisons and selections | the tile between the loops; the first query's last key |
# | descriptors | addresses, registers | tensors that break the rules; zeros where hidden keys need a mask |
# | block shape | spills; idle tensor cores | nothing, if the budget is computed first |
# | heavy first | the wait at the end | a block stored at the place of the program's number instead of its own |
# | persistent programs | little here | the balance of causal work |
# | keys first | a transpose through shared memory | LSE and $\delta$ along the wrong axis |
#
# ### Questions for yourself
#
# Answer before you unfold.
#
# **1.** A colleague reports that `exp2` made the kernel 20 % faster, timed once each, in two runs. What do you ask?
#
# <details><summary>Answer</summary>
#
# How much single runs vary, and whether the two were run alternately: a GPU's clock rate falls as it warms up, and
# rises in a pause. Whether the L2 cache was cleared, whether the first call was timed as well (it compiles), and at
# which shapes. And whether the kernel is still right for $\alpha < 0$.
#
# </details>

# %% [markdown]
# **2.** Your kernel needs 168 registers with 4 warps and runs three programs per multiprocessor. You save one register.
# What changes? And if you need one more?
#
# <details><summary>Answer</summary>
#
# Registers are allocated in multiples of eight: 167 count as 168, and nothing changes. 169 count as 176: three
# programs of 128 threads would need 67,584 registers, and there are 65,536. So only two programs fit, a third less,
# because of one register. `maxnreg` can forbid that, but then something may spill: measure which is worse.
#
# </details>

# %% [markdown]
# **3.** Why may the forward pass take the maximum of raw products, and why does the backward pass need no maximum at
# all?
#
# <details><summary>Answer</summary>
#
# Any $m$ cancels, so the maximum of the raw products will do if it is multiplied by the same factor as the products
# (and the factor is positive). The backward pass has LSE: $2^{c x - \mathrm{LSE} \log_2 e}$ is the final probability,
# at most 1, and nothing has to be rescaled.
#
# </details>

# %% [markdown]
# ### Journal
#
# *Two or three sentences for yourself in a month. Which prediction was furthest off, and what did you believe when you made
# it? Which change would you try next, and what number would convince you to keep it? Double-click here and write.*

# %% [markdown]
# ### What comes next
#
# What this kernel still lacks is overlap *within* a program: producer warps that only copy, consumer warps that
# multiply, and one tile's softmax during another's product. Triton does not let you express that; Gluon does. You
# will write it in lesson 13.
#
# **Sources.** Splitting, exponents and the order of work: T. Dao, *FlashAttention-2*, ICLR 2024, sections 3.1 to 3.3; J. Shah
# et al., *FlashAttention-3*, 2024, section 3, for what has to overlap. Throughputs: CUDA C++ Programming Guide; NVIDIA H100
# data sheet. The copy engine's rules: CUDA Driver API, `cuTensorMapEncodeTiled`. Longest first: R. Graham, SIAM Journal on
# Applied Mathematics 17, 1969. A ladder to read beside this one: Triton's tutorial 06, *Fused Attention*.
