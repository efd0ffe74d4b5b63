# %% [markdown]
# # Tuning
#
# Your kernels are right. On the GPU that they are for they reach half of what is possible, or less. This lesson makes
# them fast, one change at a time: each is predicted before it is measured, kept if it pays, and told of if it does not.
# Nothing about attention is new here; what is new is asking, of every line, what the machine does meanwhile.
#
# **Afterwards you can**
#
# - say what a tile of attention costs in products, exponentials and addresses, and which of them the machine waits for;
# - fold $\alpha \log_2 e$ into one fused multiply-add and guard it for every $\alpha$; split a loop where masks begin;
#   hand K and V to the copy engine; order programs so that none is left over at the end;
# - predict from registers and shared memory which configurations are worth timing, before anything is timed;
# - read instruction counts, a schedule and a profile, and tell a change that paid from one that only looked clever.
#
# **You need** your forward and backward kernels of lessons 06 to 08, lesson 05's budget, and lesson 11's question
# about one pass or two. **No GPU is needed**: what decides most steps, instructions, registers, shared memory, the
# order of work, is known on any machine, since the compiler is here. Times come from a record where there is no GPU.
#
# **It takes** six hours and more, in sittings: sections 1 to 4, sections 5 to 8, and the two kernels, which have no end.

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
# Three questions about what came before. Run the cell to read them, put a letter behind each number, and run it
# again. A wrong choice is told what it overlooks, and costs nothing.

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
# exponential. The products run on tensor cores, the exponentials on a unit of their own, of which a multiprocessor
# has sixteen lanes (CUDA C++ Programming Guide, table of arithmetic throughput). **Predict** which of the two takes
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
# - At $D = 64$ the exponentials take as long as the products, at $D = 128$ half as long. And that is without the
#   maximum, the sums, the scale, the mask and the addresses, all of which run on the ordinary arithmetic units.
# - So a kernel that does one after the other cannot reach more than a half, or two thirds, of the products' peak. Two
#   things help: fewer instructions beside the products, and something else to multiply while one program takes its
#   exponentials. Everything below is one of the two.
# - Memory does not limit here: at $S$ 4096 and $D$ 128 a forward pass has some 1000 operations for each byte that must
#   move, and an H100 balances 300.
#
# </details>
#
# ### The rules
#
# One change at a time. Before each, a number: how much faster, and why. Then the measurement, in the same run as the
# version before, with its spread. A change that did not pay stays on the list and says so. The ladder of this lesson
# has eight rungs, each with what it changes and what was predicted for it before anybody timed it:

# %% tags=["nbval-check-output"]
for rung in ladder.RUNGS:
    print(f"{rung.name:15} × {rung.predicted:20} {rung.what}")

# %% [markdown]
# `ladder.RUNGS` are switches of one kernel, and `ladder.forward(rung)` launches it as it stands on that rung. Each is
# right, which takes one cell to see:

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
# One may make all rows and columns 64-bit numbers, so that no offset passes $2^{31}$. It is safe, and it is paid for
# in every step: a tile of addresses has $64 \cdot 64$ offsets, each a product and a sum in 64 bits, which a GPU makes
# of several 32-bit instructions. What needs 64 bits is *where the head begins*. Within a head, offsets reach
# $(S - 1) \cdot \mathrm{stride} + D - 1$, which passes $2^{31}$ only at $S = 2^{24}$ for $D = 128$. So: one 64-bit base
# per head, moved on by one 64-bit number per step, and a tile of 32-bit offsets that never changes.
#
# **Predict:** which of these counts changes, and does a register become free?

# %%
counts = {rung.name: counted.compiled(rung, D=64) for rung in ladder.RUNGS[:2]}
for name, made in counts.items():
    print(f"{name:15}", {kind: made[kind] for kind in ("64-bit integers", "registers", "spilled", "shared")})

assert counts["narrow offsets"]["64-bit integers"] < counts["plain"]["64-bit integers"]

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - These are instructions in the kernel's text for an H100, in all of it; most of them stand in the loop. A few
#   registers become free as well.
# - The limit has a place: say it where the kernel begins. A kernel that is silently wrong from $2^{31}$ on is worse than
#   a slow one.
# - Measured on an H200 with a forward pass that was plain otherwise (fp16, $S$ 1024, $D$ 64): 274 µs became 243.
#
# </details>

# %% [markdown]
# ## 3 · Powers of two
#
# A GPU has an instruction for $2^x$ and none for $e^x$: `tl.exp` is a multiplication by $\log_2 e$ and the power of two.
# The score has just been multiplied by $\alpha$. Both factors are one, $c = \alpha \log_2 e$; and the subtraction of the
# maximum joins it:
#
# $$p_j = e^{\alpha x_j - m} = 2^{\,c\,x_j - c\,x_{\max}}, \qquad x_j = q \cdot k_j,$$
#
# one fused multiply-add and one power of two per score, if the maximum is taken of the raw $x_j$. **Predict** the counts:
# how many multiplications of their own remain of 102 (in all of the kernel), and what becomes of the additions?

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
# - A thread has 32 scores here. Per score the plain kernel multiplies by $\alpha$, subtracts, multiplies by
#   $\log_2 e$: three instructions. Folded it is one.
# - Why does the compiler not do it by itself? It may not: $(\alpha x - m)\log_2 e$ and $x c - m c$ round differently, and
#   nobody allowed it to reorder.
#
# </details>
#
# ### What the fold forgets
#
# $\max_j \alpha x_j = \alpha \max_j x_j$ holds for $\alpha > 0$. For $\alpha < 0$ the largest $x$ gives the *smallest*
# score, $\max_j \alpha x_j = \alpha \min_j x_j$, and the exponentials are taken relative to the row's minimum: right while
# scores lie within 127 powers of two, then $\infty$. And for $\alpha = 0$, which a test will try if no model does,
# $c \cdot (-\infty)$ is NaN wherever a mask wrote $-\infty$. **Predict** the last column for each row.

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
# Three remedies. Take the minimum where $\alpha < 0$, decided when the kernel is compiled (the package's kernels do).
# Or turn the signs: $\alpha x = |\alpha| \cdot (-x)$, and $-q$ costs one exact operation per element of $Q$, once. Or
# scale first and fold nothing where $\alpha < 0$. All are right; which is fastest matters little, since nobody trains
# with a negative $\alpha$. What matters is that the kernel is not silently wrong.
#
# ### Exercise: `folded_logsumexp` · core
#
# One row's statistics, by themselves: $x$ `[M, N]` holds products that no scale has met; row $i$ counts its first
# `lengths[i]` columns, none perhaps; $\alpha$ is any number. Return $\log \sum_j e^{\alpha x_{ij}}$, natural, in fp32,
# in one scan over tiles. Per product one multiplication, so $\alpha$ and $\log_2 e$ are one factor. A row without columns
# gives $-\infty$.

# %% exercise="folded_logsumexp"
# HINT: Your scan of lesson 04, with two changes: e^y is 2^(y log2 e), and alpha and log2 e are one factor c
#     that each x meets once, in the exponent. What must be true of c for the largest x to give the largest x
#     · c? Three values of alpha answer differently.
# HINT: Where alpha is negative, scan −x with |alpha| log2 e. Where it is 0, c would be 0, and 0 · −∞ is NaN:
#     keep c above 0. The maximum m_i is one of x, not of x · c; a row that has seen nothing subtracts 0.
# HINT: In a step: `m_new` is the larger of `m_i` and the tile's maximum; `shift` is `m_new * c`, or 0 while
#     m_new is −∞; `l_i` is multiplied by `tl.exp2(m_i * c - shift)` and grows by the sum of `tl.exp2(x * c -
#     shift[:, None])`. At the end m_i · c goes back to natural numbers by ln 2, and l_i by tl.log.
# INCLUDE: flashlearn/lessons/lesson_12_tuning/folded.py:folded_logsumexp_kernel


# INCLUDE: flashlearn/lessons/lesson_12_tuning/folded.py:folded_logsumexp

# %%
flashlearn.check("folded_logsumexp", folded_logsumexp)

# %%
# flashlearn.hint("folded_logsumexp")

# %% [markdown]
# Break it: leave the sign out; let the factor become 0; keep the maximum of $c\,x$ instead of $x$; return `tl.log2`.
# Which of these does a test with $\alpha = 1/\sqrt{D}$ find?
#
# <details><summary><b>What to notice</b></summary>
#
# - Of the first three, none: they need $\alpha < 0$, or $\alpha = 0$ and a hidden column; and the third is right. The
#   fourth shows in every row.
# - The maximum of $c\,x$ is right too, and costs a multiplication per score: the fold's whole gain.
#
# </details>

# %% [markdown]
# ## 4 · Two loops
#
# Most tiles need no mask: every query of the block sees all of their keys. Masks are needed where the diagonal crosses,
# and in the last tile if $S_k$ is ragged. One loop asks in every tile; two loops ask where there is a question. For the
# block of queries from `first` on, bottom-right: its first query sees the fewest keys, its last one the most.
#
# ### Exercise: `split_loops` · warm-up
#
# Return `(whole, end)`: the keys below `whole` need no mask, in as many whole tiles of `block_k` as there are; from
# `end` on nobody sees anything. Numbers are integers; `max`, `min` and `//` do. Mind blocks that see nothing, and a last block that reaches
# beyond $S_q$.


# %% exercise="split_loops"
# HINT: The block's first query sees least and its last one most. One of them says where the mask begins to be
#     needed, the other one where the loop ends.
# HINT: Query i sees the keys up to i + S_k − S_q: one more than that in number, S_k at most, 0 at least.
#     `whole` is a multiple of block_k.
# HINT: `end` is `max(0, min(S_k, …))` of what the query `first + block_q - 1` sees; whole is the same of the
#     query `first`, then `// block_k * block_k`.
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
# **Predict** which share of the tiles of a causal pass needs a mask at $S$ 1024, 4096 and 16384, with blocks of 64
# queries and 64 keys; and of 64 queries and 128 keys.

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
# - Even where nothing is causal the first loop loses a comparison and a selection per score: 43 became 11.
# - The causal kernel has both loops in its text, so it is longer, and no faster for that at $S$ 1024, where an eighth
#   of the tiles is masked. At 16384 it is one in a hundred.
# - A tile of 128 keys reaches further beyond the diagonal than one of 64. The masked loop may have tiles of its own
#   size: the package's kernel takes 64 keys there, and 128 elsewhere.
# - `IS_CAUSAL` is a `tl.constexpr`, as in lesson 06: a kernel without a mask has no second loop at all. As an ordinary
#   argument it would have both, and the registers of the larger.
#
# </details>

# %% [markdown]
# ## 5 · Descriptors
#
# A load through pointers computes an address per element, or per four of them, in registers, and every thread asks for
# its own. A Hopper GPU can do without: a *descriptor* says once where a tensor lies, its shape and strides, and the
# shape of a block; after that one thread says "the block at these coordinates", and the tensor memory accelerator (TMA)
# copies it into shared memory while all go on computing.
#
# On the host, `TensorDescriptor.from_tensor(k, [1, 1, BLOCK_K, D])`; in the kernel `k_desc.load([b, h, start, 0])`, whose
# result has the block's shape, ones included. What lies beyond the tensor is read as zero, and a store drops it: a mask
# for ragged rows and a padded $D$ comes for nothing. (A zero is still a *score* of 0: keys beyond $S_k$ need their mask
# in $s$ all the same.)


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
# has at least 16 bytes along its last side. **Predict** which of these three can be described.

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
# What cannot be described is copied once beforehand, or loaded through pointers by another kernel. The package copies:
# `complying(t)` is t itself wherever it can be.
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
# - The addresses are gone, and with them some registers. There are more barriers: a copy that nobody waits for in order
#   needs somebody who says that it has arrived.
# - Shared memory grows, by the block of $O$ that is stored through it.
# - A descriptor is made in Python, some microseconds each. At $S$ 512 that is a part of the time: small problems want few
#   of them.
# - On an A100 the same source compiles to pointers and masks: right, and no faster.
#
# </details>

# %% [markdown]
# ## 6 · Block shape, warps, stages: a budget before a stopwatch
#
# How many queries and keys a tile has, how many warps share it, how many tiles are under way: a few hundred combinations,
# of which most do not fit, spill registers or leave the machine half empty. All of that is known beforehand.
#
# Count what a forward pass needs if its loop keeps `stages` tiles of K and V under way: in shared memory, Q's tile and
# those; in registers, in fp32, the scores and the sum for $O$, shared by $32 \cdot \mathrm{warps}$ threads.
#
# ### Exercise: `forward_budget` · warm-up
#
# Return `(shared, accumulators)`: the bytes of shared memory, where a number takes `size` bytes, and the fp32 numbers that
# each thread holds, as an exact fraction (`sp.Rational`).


# %% exercise="forward_budget"
# HINT: Shared memory holds what the products read: Q's tile, and for each stage one tile of K and one of V.
#     Registers hold what they write.
# HINT: A tile has block · D elements of `size` bytes. The two results are fp32: the scores, block_q ×
#     block_k, and the sum for O, block_q × D; `32 * warps` threads share them.
# HINT: `shared = size * D * (block_q + …)`, where a stage adds two tiles of block_k rows. `accumulators` is a
#     fraction: both results' elements over the threads (`sp.Rational`, or / of sympy's integers).
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
# Now the search, for $D$ 128 in bf16. First by your formula alone: an H100 gives a block 227 KiB, and a thread has 255
# registers, of which addresses, maxima and the operands of `wgmma` want their part. **Predict** how many of the 36
# configurations below survive if shared memory must suffice and a thread may hold at most 128 accumulators.

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
# Then the compiler, which knows. It takes about a second for each; a GPU is not asked. The rung is "two loops", whose
# loads go through pointers. **Predict** for how many of these four your shared memory is exact, and which one spills.

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
# - Shared memory is what you said, to the byte. Descriptors add O's block and their barriers; a single stage needs
#   less, since K's place is free again when V arrives.
# - 256 accumulators per thread spill. Up to 128 nothing does; at 192 it depends on what else there is.
# - Fitting is not fast. Section 1 said what is missing: somebody who multiplies while one program takes exponentials.
#   Two or three *programs* on one multiprocessor do that for each other, without a line of code. For three of 4 warps a
#   thread may have $\lfloor 65536 / (3 \cdot 128) \rfloor = 170$ registers, in eights 168, and each program a third of
#   228 KiB. That is why the package takes, for $D$ 128, 64 × 128, 4 warps, one stage and at most 160 registers:
#   `Shape(64, 128, 4, 1, registers=160)`. It was found by measuring among those that fit, and would not have been
#   guessed.
# - Autotuning is this, automated: candidates, pruned by the compiler's own figures, timed once, remembered. `flashlearn
#   bench --tune` does it for the package's kernels. Never inside a timed region: the first call would time the search.
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
# Under a causal mask the last block of queries visits all keys and the first a single tile. Programs begin in the order
# of their numbers, and each multiprocessor takes the next when it is free. If the longest loop begins last, everybody
# waits for it.
#
# ### Exercise: `heaviest_first` · warm-up
#
# Program `pid` of `blocks * heads`: which block, of which head? The last block of every head first (heads in their
# order), then the block before it of every head, and so on.


# %% exercise="heaviest_first"
# HINT: Programs begin in the order of their numbers, as places become free. Under a causal mask the work of a
#     block grows with its number.
# HINT: All heads' heaviest blocks come first: the first `heads` programs share one block number, the next
#     ones the number below.
# HINT: `pid // heads` counts from 0 upwards, and the block's number downwards from `blocks - 1`.
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
# 16 blocks of 40 heads on 132 multiprocessors, one program at a time on each; a tile of keys takes one unit of time.
# **Predict** how much longer than the evenly shared work each order takes: block by block within a head, lightest first,
# and yours.

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
# - The last pieces decide. Longest first leaves only small ones for the end (R. Graham, *Bounds on multiprocessing timing
#   anomalies*, 1969: never more than a third above the best possible).
# - At $S$ 16384 there are 128 blocks, and the order matters for one part in a hundred. It is a remedy for the middle:
#   some waves of programs, not one and not hundreds.
# - All heads side by side means that all heads' keys and values want to be in the L2 cache at once. The package takes as
#   many heads together as fit there. Neither is seen in this simulation: a model that leaves something out must say what.
#
# </details>

# %% [markdown]
# ## 8 · Persistent programs, and what did not pay
#
# If programs cost something to begin, why not launch as many as there are multiprocessors, and let each take block after
# block? Without a counter that all increment, the share of each is fixed when the kernel begins. **Predict** what
# becomes of the end, for the order that you just wrote.

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
# - Where all blocks are equal, fixed shares lose nothing; under a causal mask they lose what the hardware's own queue had
#   balanced. What could be won is the beginning of a program, a microsecond in some fifty.
# - It pays where the end of one block can overlap the beginning of the next, as in FlashAttention-3 on Hopper, which
#   needs producer and consumer warps (lesson 13). In this kernel three programs on a multiprocessor overlap already.
#   The rung stays on the ladder, with its factor.
#
# </details>

# %% [markdown]
# ## 9 · Backward: keys first
#
# The kernel for $dK$ and $dV$ needs $P^\top$ and $dS^\top$: rows are keys. Lesson 08 computed $S = QK^\top$ and
# transposed. $S^\top = KQ^\top$ costs the same product and needs no transpose: `wgmma` takes its *left* operand from
# registers, and the tile that the exponential left in registers is that operand. **Predict** for the kernel below what
# else changes with the order.


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
#   first all three are gone, for some registers more. $dS^\top$ saves as much again.
# - LSE and $\delta$ are numbers per query, and queries are columns now: `[None, :]`. It is the mistake to make here.
# - $dQ$ needs $dS$ with queries as rows. In a kernel of its own that comes for nothing; in one pass (lesson 11) it is the
#   transpose that is left, with atomics on top. The package's backward pass has two kernels, seven products for five,
#   because they were faster than one on an H200 in Triton. In CUDA with warps that specialise, one pass wins.
#
# </details>

# %% [markdown]
# ## 10 · The ladder, measured
#
# Now the times. Where there is a GPU the next cell climbs the ladder on it, in bf16, $2^{14}$ tokens: all rungs take
# turns call by call, the L2 cache is cleared before each, and medians are compared. It takes some minutes, most of them
# the compiler's. Without a GPU it shows the record of an H200, if one came with the course.

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
# Before you unfold: which prediction was off by most, and which of the two sides of section 1, fewer instructions or
# more overlap, brought more?
#
# <details><summary><b>What to notice</b></summary>
#
# - The factors multiply, and they are not independent: narrow offsets bring less where descriptors have removed the
#   addresses anyway. A ladder climbed in another order has other factors and the same end.
# - A factor below 1.01 within a spread of 2 % is no gain. A rung that did not pay stays here, so that nobody tries it
#   again without knowing.
# - Predictions of "1.1" were guesses from instruction counts. What a count cannot know is whether anybody was waiting
#   for those instructions.
# - On the H200 three rungs of this ladder lost, and each has something that could have been counted beforehand.
#   *Descriptors*: at $D = 128$ the next cell shows what the block of $O$ costs; at $D = 64$ the loss is small. *Heavy
#   first*: neighbouring programs take the same block of *all* heads, so that the keys and values of all of them are
#   scanned at once, 134 MB, more than the L2 cache holds. The package takes a few heads at a time (`heads_together`).
#   *Persistent*: as many programs as multiprocessors is one for each, where the shape was chosen for two or three.
#
# </details>

# %%
for rung in ladder.RUNGS[3:6]:
    made = counted.compiled(rung, D=128)
    room = H100.shared_per_sm // (made["shared"] + 1024)
    print(f"{rung.name:15} {made['shared']:7,} bytes of shared memory: by that, {room} programs fit")

# %% [markdown]
# ### Beside its peers
#
# The package's kernels are not the ladder's. They hold no loop around the block, store $O$ where $K$ lay, and take heads
# together as the cache allows. How they stand beside torch's, from the record of an H200 that comes with the package
# (`flashlearn bench` makes one of your GPU): as speed relative to SDPA's cuDNN backend, as a geometric mean over $D$ 64
# and 128 and $S$ 1024, 4096 and 16384, and in parentheses the least.

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
# Memory is why all this began. Every line of the last picture grows with $S$, none with $S^2$. Attention that keeps $P$ in
# bf16, for 16 heads and $S$ 16384, would hold this much for $P$ alone:

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
# Read such a table from the top: is the tensor pipe busy? If not, are there warps that could issue (eligible warps per
# cycle)? If not, what do they wait for: memory (long scoreboard), the other units (math pipe throttle), each other
# (barrier), or `wgmma` itself? The first line that is bad is the one to work on; the others are bad because of it.

# %% [markdown]
# ## 11 · The kernels
#
# ### Exercise: `tuned_forward` · core
#
# Everything together. The launcher is given; it describes the tensors, decides the order of programs and passes what
# `forward_shape` chooses. The loop over keys and the kernel around it are yours, and so are the shapes: put your own in
# place of `forward_shape(…)`. If you would rather use pointers, or another grid, do: the check asks for results.
#
# - $Q$ `[B, H, S_q, D]`; $K$ and $V$ `[B, H_k, S_k, D]`, where $H_k$ divides $H$ and head $h$ of $Q$ meets head
#   $\lfloor h / (H / H_k) \rfloor$ of $K$; any strides, ragged $S$, $S_q \ne S_k$, $D$ up to 128 and more;
# - causal or not, bottom-right, with queries that see nothing ($O = 0$, LSE $= -\infty$);
# - $\alpha$ of either sign, and 0; fp32, fp16, bf16; LSE natural, in fp32;
# - no tile is multiplied in which nothing is seen.
#
# Where there is a GPU, speed is graded, relative to torch's attention in the same run: **bronze** half as fast as its
# flash backend, **silver** as fast, **gold** 0.9 of its cuDNN backend. Without one the card predicts, and compiles.

# %% exercise="tuned_forward"
# HINT: Begin with your flash_forward_either, which is right, and change one thing at a time, in the order of
#     the ladder. After each change run the check: a step that is not right is not fast.
# HINT: The tile's work is one helper with `MASKED: tl.constexpr`, called from two loops: `range(0, whole,
#     BLOCK_K)` and `range(whole, end, BLOCK_K)`, with the bounds of `split_loops`. q takes alpha's sign, c is
#     |alpha| log2 e and above 0. K and V of head h are those of head h // (H // H_k).
# HINT: In the helper: `x = tl.dot(q, tl.trans(k))`, unscaled; where MASKED, x is −∞ beyond the row's last
#     key; `m_new` from x; `shift = m_new * c`, 0 where nothing is seen yet; `p = tl.exp2(x * c - shift[:,
#     None])`. The bases of K and V move in 64 bits by `start`, the tile of offsets is made once, in 32.
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
# Something real to optimise on any machine. The check compiles the kernel that your launcher takes for $D$ 128 in bf16, for
# an H100, and asks for a budget: **no register spilled, shared memory that fits, and `wgmma`**. Return the result of your
# `tuned_forward`, or write another one. Its card says what was needed. When it passes, go on by yourself: how many
# programs fit into a multiprocessor, at how many registers?

# %% exercise="lean_forward"
# HINT: The check compiles your kernel for an H100, with the blocks that your launcher takes for bf16 at S 256
#     and D 128. Its card says what it needs: registers, spills, shared memory, occupancy.
# HINT: Spills come from accumulators: the scores and the sum for O, in fp32, over 32 · warps threads. More
#     than 128 of them per thread leave no room. `forward_budget` tells both numbers for any block shape.
# HINT: 128 × 64 with 8 warps has 96 accumulators per thread, and with 3 stages 112 KiB. wgmma wants 64 rows
#     for each group of four warps, so BLOCK_Q is 64 at least. Is a tile of your offsets in 64 bits?
# INCLUDE: flashlearn/lessons/lesson_12_tuning/lean.py:lean_forward

# %%
flashlearn.check("lean_forward", lean_forward)

# %%
# flashlearn.hint("lean_forward")

# %% [markdown]
# ### Exercise: `tuned_backward` · core
#
# $dQ$, $dK$ and $dV$. `delta_and_lse` is given: it stores $\delta$, and LSE in base 2 with $+\infty$ for queries that saw
# nothing, both padded so that no block needs a mask for them. Yours are the scan over queries, keys first, the kernel that
# owns keys, the scan over keys again, and the kernel that owns queries. The check asks for what it asked of the forward
# pass. Gold is 0.75 of cuDNN here.

# %% exercise="tuned_backward"
# HINT: Two kernels, or one: your dkv kernel with its tiles turned round, and your dq kernel with the steps of
#     the forward pass; or lesson 11's single one, with dQ added atomically. Which of them is faster is
#     measured, not known.
# HINT: Keys first: `x_t = tl.dot(k, tl.trans(q))` is (BLOCK_K, BLOCK_Q), and so are p_t and ds_t. Numbers per
#     query, LSE and delta, are `[None, :]` there. `dv += tl.dot(p_t.to(do.dtype), do)`: nothing is
#     transposed. Where several heads share a key, the program loops over the group.
# HINT: LSE meets log2 e once per row, +∞ stands in for −∞; `p_t = tl.exp2(x_t * (alpha * log2e) - lse[None,
#     :])`, with the mask in it only where `start` lies before the first query that sees all of the block's
#     keys; alpha alone comes onto dQ and dK at the end.
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
# | descriptors | addresses, registers | tensors that do not comply; zeros taken for hidden keys |
# | block shape | spills; idle tensor cores | nothing, if the numbers are asked first |
# | heavy first | the wait at the end | a block stored where the program's number says |
# | persistent programs | little here | the balance of causal work |
# | keys first | a transpose through shared memory | LSE and $\delta$ along the wrong axis |
#
# ### Questions to yourself
#
# Answer before you unfold.
#
# **1.** A colleague reports that `exp2` made the kernel 20 % faster, timed once each, in two runs. What do you ask?
#
# <details><summary>Answer</summary>
#
# How far single runs stray, and whether the two took turns: a GPU's clock falls as it warms up, and rises in a pause.
# Whether the L2 cache was cleared, whether the first call was among those timed (it compiles), and at which shapes. And
# whether it is still right for $\alpha < 0$.
#
# </details>

# %% [markdown]
# **2.** Your kernel needs 168 registers with 4 warps and runs three programs per multiprocessor. You save one register.
# What changes? And if you need one more?
#
# <details><summary>Answer</summary>
#
# Registers are handed out in eights: 167 count as 168, and nothing changes. 169 count as 176: three programs of 128
# threads would want 67,584 registers, and there are 65,536. Two remain, a third of the overlap is gone, for one
# register. `maxnreg` can forbid it, and then something spills: measure which is worse.
#
# </details>

# %% [markdown]
# **3.** Why may the forward pass take the maximum of raw products, and the backward pass not need one at all?
#
# <details><summary>Answer</summary>
#
# Any $m$ cancels, so the maximum of the raw products will do once it meets the same factor as the products (and the
# factor is positive). The backward pass has LSE: $2^{c x - \mathrm{LSE} \log_2 e}$ is the finished probability, at most 1,
# and there is nothing left to rescale.
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
# What is left between this kernel and cuDNN's is overlap *within* a program: producer warps that only copy, consumers that
# only multiply, and one tile's softmax under another's product. Triton does not say such things; Gluon does. Lesson 13
# writes it.
#
# **Sources.** Splitting, exponents and the order of work: T. Dao, *FlashAttention-2*, ICLR 2024, sections 3.1 to 3.3; J. Shah
# et al., *FlashAttention-3*, 2024, section 3, for what has to overlap. Throughputs: CUDA C++ Programming Guide; NVIDIA H100
# data sheet. The copy engine's rules: CUDA Driver API, `cuTensorMapEncodeTiled`. Longest first: R. Graham, SIAM Journal on
# Applied Mathematics 17, 1969. A ladder to read beside this one: Triton's tutorial 06, *Fused Attention*.
