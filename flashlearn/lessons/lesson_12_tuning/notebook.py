# %% [markdown]
# # Tuning
#
# Your kernels are right, but on a Hopper GPU they may reach only half of its possible speed, or less. This lesson
# makes your forward pass fast, one change at a time. It begins with your own kernel of lesson 06. Before each change
# you type how much you expect of it; then it is measured, kept where it gains, and removed again where it does not.
# Nothing about attention is new here; what is new is to ask of every line what the machine is doing at that time.
#
# **Afterwards you can**
#
# - say what a tile of attention costs in products, exponentials and addresses, and which of these limits the speed;
# - fold $\alpha \log_2 e$ into one fused multiply-add and keep it right for every $\alpha$; split a loop where masks
#   begin; let the copy engine load K and V; order programs so that no long one runs alone at the end;
# - predict from registers and shared memory which configurations are worth timing, and let Triton's autotuner time
#   only those;
# - read instruction counts, the pipeline of a loop, a schedule and a profile, and distinguish a change that paid from
#   one that only looked clever.
#
# **You need** your forward and backward kernels from lessons 06 to 08, lesson 05's budget, and lesson 11's question
# about one pass or two. **No GPU is needed**: what decides most steps (instructions, registers, shared memory, the
# order of work) can be found on any machine, since the compiler needs no GPU. Without a GPU, times come from a
# record.
#
# **It takes** seven hours or more, in several sittings: sections 1 to 4, sections 5 to 8, sections 9 to 13, and the
# kernels of section 15, which you can tune for as long as you like.

# %%
import functools
import math
from dataclasses import replace

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
from flashlearn.course.assembling import assemble
from flashlearn.kernels.described import block_d, complying, described, heads_together, like
from flashlearn.kernels.shapes import Shape, backward_shapes, forward_shape
from flashlearn.kernels.tuned_backward import delta_and_lse
from flashlearn.kernels.tuned_forward import EDGE, LOG2_E, refuse_misfits
from flashlearn.lessons.lesson_12_tuning import (
    autotuning,
    counted,
    ladder,
    pictures,
    pipelines,
    planning,
    profiles,
    record,
    rung_kernel,
)
from flashlearn.lessons.lesson_12_tuning import steps as climbing_steps
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
# - Memory is not the limit here: at $S$ 4096 and $D$ 128 a forward pass has $4 S^2 D / (8 S D) = S / 2 = 2048$
#   operations for each byte that must be moved (half as many under a causal mask), and on an H100 about 300 are
#   enough to be limited by arithmetic.
#
# </details>
#
# ### The rules
#
# - One change at a time. Before each, type two numbers: how many times as fast the kernel will be without a mask, and
#   with a causal one. 1.1 is a tenth faster, 1 is no change.
# - A change is timed against what was kept before it: the two alternate, in the same run. For each $D$ and mask it is
#   kept only if it gains **more than the spread of the timings**; otherwise it is removed there, and the next change is
#   tried without it. A mean over all shapes would hide that a change may gain in one of them and lose in another.
# - What did not pay stays in the table, so that no one tries it again without knowing.
#
# The list of these changes is called the *ladder* below, and a change a *rung*. The ladder starts from your forward
# pass of lesson 06, which already has narrow offsets and computes powers of two; the first rung folds their factors. If
# your progress says that it has passed, it is taken from your notebook and checked again; otherwise it is the course's:

# %%
yours = assemble("flash_forward_either", "flash_forward", "flash_forward_causal")


def lesson_06(q, k, v, causal, alpha):
    """Your forward pass of lesson 06: the one kernel for both, if it is yours, or else the two."""
    if yours.parts["flash_forward_either"].yours:
        return yours["flash_forward_either"](q, k, v, alpha, causal)
    return yours["flash_forward_causal" if causal else "flash_forward"](q, k, v, alpha)


steps = climbing_steps.Steps(lesson_06)
predict = steps.predict
yours

# %% [markdown]
# The changes, in the order in which they are tried. All of them are constants of one kernel, a copy of the course's
# kernel of lesson 06: `ladder.upto("two loops")` is that kernel with the changes up to this one, and
# `ladder.forward(…)` makes a launcher of it. All are right, as the cell shows, and so is yours:

# %%
generator = torch.Generator().manual_seed(0)
q, k, v = (torch.randn(1, 2, 128, 64, generator=generator).half().to(DEVICE) for _ in range(3))
expected = torch.nn.functional.scaled_dot_product_attention(q.float(), k.float(), v.float(), is_causal=True)
assert (lesson_06(q, k, v, True, 0.125)[0].float() - expected).abs().max() < 2e-3
for rung in ladder.RUNGS:
    o, _ = ladder.forward(ladder.upto(rung.name))(q, k, v, True, 0.125)
    assert (o.float() - expected).abs().max() < 2e-3, rung.name
    print(f"{rung.name:20} {rung.what}")

# %% [markdown]
# If there is a GPU, each of the following `steps.show` cells times its change there, in bf16 with $2^{14}$ tokens: the
# calls alternate, the L2 cache is cleared before each, and medians are compared. Without a GPU the cell shows the
# record of an H200, as far as that record has this change. First the copy beside your kernel. **If it is not equally
# fast**, your kernel differs from the course's: how?

# %%
steps.show("lesson 06")

# %% [markdown]
# ## 2 · Powers of two, folded
#
# A GPU has an instruction for $2^x$ and none for $e^x$. So lesson 06's kernel computes a probability in three
# instructions before the power: $s = \alpha x$, $s - m$, and the multiplication by $\log_2 e$. (`tl.exp` would be
# the same and a few instructions of machine code more, for results below $2^{-126}$.) Both factors can be combined
# into one, $c = \alpha \log_2 e$, and the subtraction of the maximum can be included:
#
# $$p_j = e^{\alpha x_j - m} = 2^{\,c\,x_j - c\,x_{\max}}, \qquad x_j = q \cdot k_j,$$
#
# one fused multiply-add and one power of two per score, if the maximum is that of the raw $x_j$. **Predict** the
# factor. (Section 1 says how long the products of a tile take, and the power of two. Multiplications, additions and
# fused multiply-adds have 128 lanes in an H100's multiprocessor.)

# %% tags=["prediction"]
### BEGIN SOLUTION
# STUB: predict("powers of two", full=None, causal=None)
predict("powers of two", full=1.15, causal=1.1)
### END SOLUTION

# %% [markdown]
# **Predict** the counts as well: how many of the separate multiplications (in the whole kernel) remain, and what
# happens to the additions?

# %%
counts = {name: counted.compiled(ladder.upto(name), D=64) for name in ("lesson 06", "powers of two")}
for name, made in counts.items():
    kinds = ("multiplications", "fused multiply-adds", "additions", "exponentials")
    print(f"{name:15}", {kind: made[kind] for kind in kinds})

before, after = counts.values()
assert after["exponentials"] == before["exponentials"]
assert after["multiplications"] < before["multiplications"] / 2

# %%
steps.show("powers of two")

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - A thread has 32 scores here (a tile of 64 × 64, and four warps). Per score the kernel of lesson 06 multiplies by
#   $\alpha$, subtracts, and multiplies by $\log_2 e$: three instructions. Folded, only one is left.
# - Why does the compiler not do it by itself? It is not allowed to: $(\alpha x - m)\log_2 e$ and $x c - m c$ round
#   differently.
# - A count cannot tell whether the kernel was waiting for those instructions. That is why the factor is measured.
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
# $\log_2 e$ into one factor; further multiplications per row are not counted. A row without columns gives
# $-\infty$. $x$ is fp32, fp16 or bf16, with any strides. The kernel is told `alpha` as an ordinary argument; a constant
# for its sign is possible too, if you change the launcher.

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
# - Only the fourth, in nearly every row. The first needs $\alpha < 0$, the second $\alpha = 0$ and a hidden column.
# - The third is not wrong: the maximum of $c\,x$ serves as well. But it costs an extra multiplication per score, half
#   of what folding saves.
#
# </details>

# %% [markdown]
# ## 3 · Two loops
#
# Most tiles need no mask: every query of the block sees all of their keys. Masks are needed where the diagonal
# crosses a tile, and in the last tile if $S_k$ is not a multiple of the tile. One loop applies the mask in every
# tile; with two loops only the second applies it, to the tiles that need it. The mask is aligned bottom-right. In the
# block of queries that starts at `first`, the first query sees the fewest keys, the last one the most.
#
# ### Exercise: `split_loops` · warm-up
#
# Return `(whole, end)`: the keys below `whole` need no mask and fill as many whole tiles of `block_k` as possible;
# the keys from `end` on, and no others, are seen by no query of the block (if it sees no key at all, both are 0). All
# numbers are integers; `max`, `min` and `//` are enough. Consider blocks that see nothing, and a last block that extends
# beyond $S_q$ (`first` itself is below $S_q$).


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

# %% [markdown]
# Now the change of the kernel. **Predict** its factor. Without a mask there is no diagonal: what can the first loop
# still leave out?

# %% tags=["prediction"]
### BEGIN SOLUTION
# STUB: predict("two loops", full=None, causal=None)
predict("two loops", full=1.1, causal=1.1)
### END SOLUTION

# %%
counts = {name: counted.compiled(ladder.upto(name), D=64) for name in ("powers of two", "two loops")}
for name, made in counts.items():
    print(f"{name:15} without a causal mask: {made['selections']} selections, {made['registers']} registers")

before, after = counts.values()
assert after["selections"] < before["selections"] / 2

# %%
steps.show("two loops")

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - Even without a causal mask the first loop loses a selection per score (for keys beyond $S_k$, of which there are
#   none), and the mask with which K and V are loaded. So the change can gain in the full pass too. It is easy to
#   predict the reverse.
# - The causal kernel contains both loops: its code is longer, and it may need more registers, or another schedule of
#   them. At $S$ 1024 an eighth of the 64 × 64 tiles is masked, so it gains less there; at 16384 one in a hundred is.
#   Where the cell above shows a loss for one $D$ and not for the other, the saved instructions were the smaller part.
# - A tile of 128 keys extends further beyond the diagonal than one of 64. Section 10 comes back to that.
# - `IS_CAUSAL` is a `tl.constexpr`, as in lesson 06: the compiler leaves out whatever the flag excludes. With an
#   ordinary argument the kernel would contain the code for both values, and need the registers of the larger.
#
# </details>

# %% [markdown]
# ## 4 · Descriptors
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
# The copy engine has rules: the last stride is 1, all others and the address of the first element are multiples of 16
# bytes, a block has at least 16 bytes along its last dimension. **Predict** for which of these three a descriptor is
# possible.

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
# ### Exercise: `described_maximum` · warm-up
#
# $x$ is `[B, H, S, D]` in fp32, fp16 or bf16, with any strides; return the largest number of each column of each head,
# `[B, H, D]`. Two parts are missing: the descriptor, and the step of the loop, which loads a block of rows by it. (The
# tile is smaller than those of attention, and the store of the result goes through pointers.)

# %% exercise="described_maximum"
# HINT: What has the block's shape, and which of its four sides are 1? What does the last block of a head hold where
#     there are no rows any more, and what would a maximum make of it?
# HINT: `TensorDescriptor.from_tensor(x, block)`; a block is some rows of one head. Its coordinates count elements, in
#     the order of x's dimensions. Rows from S on are read as 0: give them the number that is never a maximum.
# HINT: The block is `[1, 1, BLOCK, BLOCK_D]`. In a step: `x_desc.load([b, h, start, 0]).reshape(BLOCK, BLOCK_D)`, cast to
#     fp32; `tl.where` puts −∞ into rows that are not below S; `best` is the larger of itself and `tl.max(x, axis=0)`.
# INCLUDE: flashlearn/lessons/lesson_12_tuning/maxima.py:described_maximum_kernel


# INCLUDE: flashlearn/lessons/lesson_12_tuning/maxima.py:described_maximum

# %%
flashlearn.check("described_maximum", described_maximum)

# %%
# flashlearn.hint("described_maximum")

# %% [markdown]
# **Predict** the factor of the same change in the forward pass. The loop loses the computation of its addresses; every step has to wait for its tiles at a
# barrier.

# %% tags=["prediction"]
### BEGIN SOLUTION
# STUB: predict("descriptors", full=None, causal=None)
predict("descriptors", full=1.05, causal=1.05)
### END SOLUTION

# %%
counts = {name: counted.compiled(ladder.upto(name), D=64) for name in ("two loops", "descriptors")}
for name, made in counts.items():
    shown = ("64-bit integers", "stores to shared memory", "barriers", "registers", "shared")
    print(f"{name:15}", {kind: made[kind] for kind in shown})

assert counts["descriptors"]["64-bit integers"] < counts["two loops"]["64-bit integers"] / 2

# %%
steps.show("descriptors")

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - The addresses are gone, which saves some registers. There are more barriers: an asynchronous copy needs one that
#   says when the data has arrived.
# - A descriptor is created in Python, which takes some microseconds. At $S$ 512 that is a noticeable part of the
#   time: small problems should use few of them. (The times here are the GPU's, without Python.)
# - On an A100 the same source compiles to pointers and masks: right, and no faster.
# - If it does not gain here, why is lesson 13 built on it? Because one thread can start such a copy: there a warp
#   that only copies serves warps that only compute. That needs the engine, and this kernel does not have such warps.
#
# </details>
#
# ### O where K lay
#
# $O$ can leave through the copy engine as well. Then its block goes through shared memory: $64 \cdot 128$ numbers of
# two bytes, 16 KiB, beside two or three stages of K and V. **Predict** for the kernels below whether that costs
# shared memory, compared with storing $O$ through pointers: where a program computes one block of queries, and where it
# goes through several in a loop (a *persistent* program; section 11 has more about those).

# %%
through = ladder.upto("O where K lay")
for title, variant in (
    ("O through pointers", ladder.upto("descriptors")),
    ("O through shared memory", through),
    ("the same, in a loop over blocks", replace(through, persistent=True)),
):
    made = counted.needs(counted.launched(variant, D=128))
    fit = counted.programs(made, variant.shape.warps)
    print(f"{title:32} {made['shared']:7,} bytes of shared memory, programs to a multiprocessor: {fit}")

# %% tags=["prediction"]
### BEGIN SOLUTION
# STUB: predict("O where K lay", full=None, causal=None)
predict("O where K lay", full=1.0, causal=1.0)
### END SOLUTION

# %%
steps.show("O where K lay")

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - After the loop nobody needs K any more: the compiler puts $O$'s block where K lay, and it costs nothing. With a
#   loop over blocks around it, the next block's K may already be on its way while $O$ leaves; both need room, and a
#   program less fits.
# - So a change can be good or bad by what surrounds it. That is why a change that lost is worth a second trial once
#   the rest has changed, and why the end of the ladder, `tuned_forward`, is timed as a whole.
#
# </details>

# %% [markdown]
# ## 5 · Block shape, warps, stages: a budget before a measurement
#
# How many queries and keys a tile has, how many warps share it, how many tiles are in flight: that makes a few
# hundred combinations, and most of them do not fit, spill registers or leave the machine half empty. Most of that can
# be known beforehand.
#
# Count what a forward pass needs if its loop keeps `stages` tiles of K and of V in flight: in shared memory, these
# and the tile of Q; in registers, in fp32, the scores and the sum for $O$, divided among $32 \cdot \mathrm{warps}$
# threads. (The probabilities in half precision are in registers too; leave them out.)
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
# Then ask the compiler, which knows. It takes about a second for each and needs no GPU. The kernel is that of "two
# loops", whose loads go through pointers. **Predict** for how many of these four your figure for shared memory is
# exact, and which one spills.

# %%
asked = (Shape(64, 64, 4, 2), Shape(128, 64, 8, 3), Shape(128, 128, 8, 2), Shape(128, 128, 4, 2))
for shape in asked:
    shared, accumulators = budget(shape.block_q, shape.block_k, 128, 2, shape.stages, shape.warps)
    made = counted.needs(counted.launched(counted.shaped(ladder.upto("two loops"), shape), D=128))
    print(
        f"{shape.block_q:3} × {shape.block_k:3}, {shape.warps} warps, {shape.stages} stages: "
        f"{shared / 1024:5.0f} KiB and {float(accumulators):3.0f} accumulators predicted; {made['shared'] / 1024:.0f} KiB, "
        f"{made['registers']} registers, {made['spilled']} bytes spilled"
    )

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - Where several tiles are in flight, shared memory is what the formula says, to the byte. Descriptors add a few bytes
#   for their barriers; with a single stage less may be needed, as section 7 shows.
# - With 256 accumulators per thread, registers spill. Of the shapes with up to 128, none of these three did; that is
#   three samples and no law.
#
# </details>
#
# Larger tiles read K and V less often and have fewer steps. The next change takes tiles of 128 keys, in two stages.
# **Predict** its factor for $D$ 64 and 128 together, after a look at how many programs fit:

# %%
for D in (64, 128):
    for name in ("O where K lay", "128 keys"):
        variant = ladder.upto(name)
        made = counted.needs(counted.launched(variant, D))
        fit = counted.programs(made, variant.shape.warps)
        print(
            f"D {D:3}, {name:14} {made['registers']} registers, {made['shared'] / 1024:4.0f} KiB, programs: {fit}"
        )

# %% tags=["prediction"]
### BEGIN SOLUTION
# STUB: predict("128 keys", full=None, causal=None)
predict("128 keys", full=0.95, causal=0.95)
### END SOLUTION

# %%
steps.show("128 keys")

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - On an H100, for which these are computed, three programs fit at $D$ 64, before and after. At $D$ 128 a single one is
#   left: nobody multiplies while it computes its exponentials. So $D$ 64 and $D$ 128 want different shapes, because a
#   tile of $D$ 128 is twice as large.
# - A configuration that fits is not necessarily fast. Section 1 said what is missing: another program that multiplies
#   while one computes exponentials. Two or three *programs* on one multiprocessor do that for each other, without a
#   line of code.
#
# </details>

# %% [markdown]
# ## 6 · What a stage is
#
# `num_stages` is a number that one sets. What does it change? The compiler's output says it: a copy that runs ahead
# is `cp.async` in PTX, and `cp.async.wait_group N` waits until at most N groups of copies (here: tiles) are still
# unfinished, or *open*. The next cell shows the loop of the "two loops" kernel as a sequence of events, in the order of the PTX, for an A100 (no GPU is needed for
# that). Each step copies a tile of K and one of V. **Predict** for 1, 2 and 3 stages: is there a copy between the
# products of a step and the wait of the next? How many copies are open while a step multiplies?

# %%
for stages in (1, 2, 3):
    variant = counted.shaped(ladder.upto("two loops"), Shape(64, 64, 4, stages))
    before, inside = pipelines.events(counted.launched(variant, D=64), target=80)
    print(f"num_stages {stages}, before the loop: {'; '.join(before)}")
    print(f"{'':12}  inside it:       {'; '.join(inside)}\n")

# %% [markdown]
# Are there *bubbles*, times at which the tensor cores wait for a copy that has only just begun? Say for each of the
# three before you unfold.
#
# <details><summary><b>What to notice</b></summary>
#
# - One stage, in this kernel, for an A100: loads go to registers, nothing runs ahead. The products of a step wait for
#   its own loads.
# - Two stages: the copies for the next step begin when this step's products have read their tiles, at the end of the
#   step, and the next step begins with a wait until none is open. Between that beginning and that wait there is
#   nothing but the branch: a bubble in each step, as with one stage.
# - Three stages: two tiles of each have begun before the loop, and a step waits until at most **2** copies are still
#   open, K and V of the step after it. These have a whole step's time. This is the first of the three in which a copy
#   runs under the products.
# - So more stages are not simply better: the second one costs a tile of K and V of shared memory and hides little. What
#   fills a bubble besides a third stage is another program on the same multiprocessor, and that is the next section.
#
# </details>
#
# On an H100 the products are asynchronous too (`wgmma`), and with descriptors one instruction copies a tile.
# **Predict** what is in flight while the exponentials are computed.

# %%
for name in ("two loops", "descriptors"):
    for stages in (1, 2, 3):
        variant = counted.shaped(ladder.upto(name), Shape(64, 64, 4, stages))
        _, inside = pipelines.events(counted.launched(variant, D=64), target=90)
        print(f"{name}, num_stages {stages}: {'; '.join(inside)}")

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - Between the first product and the exponentials stands "wait until 0 products are open": within a program, nothing is
#   multiplied while exponentials are computed. Lesson 13 writes the kernel that does.
# - Compare where the second product stands, where the copies of a later tile begin, and where the wait for that product
#   is: what lies between a product and its wait may run at the same time.
#
# </details>

# %% [markdown]
# ## 7 · Three programs on one multiprocessor
#
# A multiprocessor of an H100 has 65,536 registers and 228 KiB of shared memory. For three programs of 4 warps a
# thread may have $\lfloor 65536 / (3 \cdot 128) \rfloor = 170$ registers, which is 168 as a multiple of eight, and a
# program a third of the shared memory, less one KiB that every block of threads takes besides.
#
# ### Exercise: `lean_forward` · core
#
# The kernel of section 5, with 64 × 128 and two stages, fits once. Change it so that **three programs fit** for $D$ 128
# in bf16, without spilled registers and with `wgmma`. The kernel below is given but for the step of its loop, and its
# launcher but for the shape, `Shape(block_q, block_k, warps, stages, registers=None)`: the last number, which may be
# left out, is the most registers that a thread may have. Every shape is accepted that meets these conditions. It is
# simpler than the ladder's: one loop, a mask in every tile. (`h_k` is the head of K and V, of which there may be fewer
# than of Q; section 15 says more.) Your step of lesson 06 with powers of two is missing; `scale` is $\alpha \log_2 e$,
# of either sign. (`complying` and `described` make descriptors, `block_d(D)` is $D$ as a power of two, `like` allocates
# an output, and `cut.options` are the launch options of a shape.) What decides is how many tiles of K and V lie in
# shared memory at the same time: how many stages, and *where in the step V is loaded*. Section 4 showed what the
# compiler does with the place of a tile that nobody reads any more.
#
# The check compiles the kernel for an H100, and its report says what it needs and what allows how many programs.

# %% exercise="lean_forward"
# HINT: With two stages two tiles of K and two of V are in shared memory, and with one stage one of each, if
#     both are needed at the same time. When is K read for the last time, and V for the first?
# HINT: After the first product K is not needed any more. If V is loaded after that, the compiler can put it
#     where K lay: then Q and one tile are all that is in shared memory, 16 + 32 KiB. Keep 64 × 128 with 4
#     warps. Registers hold what is needed later: finish with s and l_i before V is loaded.
# HINT: The shape is `Shape(64, 128, 4, 1)`. In the step: k; s; m_new, shift (0 where m_new is −∞), rescale =
#     exp2(m_i − shift), p, l_i; and only then `v = v_desc.load(…)`, and `acc = tl.dot(p.to(v.dtype), v,
#     acc * rescale[:, None], input_precision="ieee")`.
# INCLUDE: flashlearn/lessons/lesson_12_tuning/lean.py:lean_kernel


# INCLUDE: flashlearn/lessons/lesson_12_tuning/lean.py:lean_forward

# %%
flashlearn.check("lean_forward", lean_forward)

# %%
# flashlearn.hint("lean_forward")

# %% [markdown]
# The ladder's change is the same, with at most 160 registers per thread, as in the package's table for $D$ 128.
# **Predict** the factor over what was kept so far. A step now waits for each of its copies (section 6), and three
# programs share the multiprocessor.

# %% tags=["prediction"]
### BEGIN SOLUTION
# STUB: predict("three programs", full=None, causal=None)
predict("three programs", full=1.2, causal=1.1)
### END SOLUTION

# %%
for D in (64, 128):
    for causal in (False, True):
        variant = ladder.upto("three programs")
        made = counted.needs(counted.launched(variant, D, causal))
        fit, mask = counted.programs(made, variant.shape.warps), "causal" if causal else "full"
        needs = (
            f"{made['registers']} registers, {made['spilled']} bytes spilled, {made['shared'] / 1024:.0f} KiB"
        )
        print(f"D {D:3} {mask:6} {needs}, programs: {fit}")

# %%
steps.show("three programs")

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - At $D$ 64 three programs fit before; there one stage gives up what ran ahead. Which of the two weighs more is what
#   the cell above says, for each $D$ by itself. The package keeps two stages at $D$ 64, and one at 128.
# - Why 160 registers, if 168 fit three times? Because the package's search, `flashlearn bench --tune`, tries no limit
#   and 160, and keeps what is faster. With 168 as many programs would fit.
# - The causal kernel has comparisons for 128 keys in its masked tile, which take registers too. If it spills under this
#   limit, that is why. Section 10 makes that tile smaller.
#
# </details>

# %% [markdown]
# ## 8 · The search, by a machine
#
# Triton can search by itself. `@triton.autotune` takes a list of configurations; at the first call it times all of
# them and remembers the best one for a *key*: the values of the arguments that are named there, and the dtypes of all
# tensors. `prune_configs_by` may hold a function that throws configurations out before anything is timed. This is
# where your budget belongs: what does not fit on paper is not even compiled, and what spills is not timed.
#
# A descriptor holds the shape of its block, so each configuration has a `pre_hook` that sets it before a launch.
# **Predict** how many of the 36 configurations below (one to three stages now) are timed, for $D$ 128 without a mask.
# (For one stage your formula may ask for more than the kernel needs, as section 7 showed, so it might leave out a
# configuration that fits; with the limits here it does not.)


# %%
def prune(configs, given, **constants):
    """What fits on paper, by your budget; of that, what the compiler does not spill (`given`: the call's tensors)."""
    kept = []
    for one in configs:
        shape = autotuning.cut(one)
        shared, accumulators = budget(
            shape.block_q, shape.block_k, constants["D"], 2, shape.stages, shape.warps
        )
        if shared > H100.shared_per_block or accumulators > 128:
            continue
        made = autotuning.compiled(one, constants["D"], constants["IS_CAUSAL"])
        if not made.get("error") and not made["spilled"]:
            kept.append(one)
    return kept


configurations = [
    triton.Config(
        {"BLOCK_Q": block_q, "BLOCK_K": block_k},
        num_warps=warps,
        num_stages=stages,
        pre_hook=autotuning.fit_descriptors,
    )
    for block_q in (64, 128, 256)
    for block_k in (64, 128)
    for warps in (4, 8)
    for stages in (1, 2, 3)
]
searched_kernel = triton.autotune(
    configs=configurations, key=["S", "D", "IS_CAUSAL"], prune_configs_by={"early_config_prune": prune}
)(rung_kernel.rung_kernel)

for D in (64, 128):
    left = prune(configurations, {}, D=D, IS_CAUSAL=False)
    print(f"D {D:3}: {len(left)} of {len(configurations)} are left")

# %% [markdown]
# On a GPU the next cell calls the kernel twice with the same key. Without one it shows the search of the record, if
# the record has one. **Predict** what the first call takes, and the second.

# %%
searched = (record.shipped_ladder() or {}).get("autotuner")
if DEVICE == "cuda":
    q, k, v = (torch.randn(4, 16, 4096, 128, device=DEVICE, dtype=torch.bfloat16) for _ in range(3))
    searched = autotuning.search(searched_kernel, q, k, v, causal=False)
print("\n".join(autotuning.report(searched)) if searched else "The record has no search in it.")

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - The first call pays for everything: pruning, compiling what is left, and timing it. Later calls with the same key
#   look the result up. So never time a first call, and choose the key with care: with the exact $S$ in it, every new
#   length is a new search. (`tuned_forward` has no search at all: it takes its shapes from a table.)
# - The cache is the kernel's attribute `cache`, and dies with the process. With `cache_results=True` results also go to
#   a file, except where a configuration has a `pre_hook`, as here: Triton 3.7.1 cannot write a function down, and
#   searches anew (`check_disk_cache` in its `runtime/autotuner.py`).
# - The budgets are an H100's. On another GPU the compiler would be asked for that one.
# - `flashlearn bench --tune` does the same for the package's kernels, and remembers the result in a file.
#
# </details>

# %% [markdown]
# ## 9 · Who comes first
#
# ### Heavy blocks first
#
# Under a causal mask the last block of queries visits all keys and the first only its first tiles. Programs usually
# start in the order of their numbers, and each multiprocessor takes the next one when it is free. If the longest loop
# starts last, the whole kernel waits for it.
#
# ### Exercise: `heaviest_first` · warm-up
#
# Which block of which head does program `pid` of `blocks * heads` compute? Return `(block, head)`. The last block of
# every head comes first (heads in their order), then the last but one of every head, and so on.


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
orders = {
    "head by head": lambda pid, blocks, heads: (pid % blocks, pid // blocks),
    "lightest first": lambda pid, blocks, heads: (pid // heads, pid % heads),
    "heaviest first": order,
}
for blocks in (16, 64, 256):
    works = {name: planning.causal_work(one, blocks, 40) for name, one in orders.items()}
    longer = {
        name: planning.makespan(work, H100.sms)[0] * H100.sms / sum(work) for name, work in works.items()
    }
    print(f"{blocks:3} blocks:", ", ".join(f"{name} {ratio:.3f}" for name, ratio in longer.items()))
works = {name: planning.causal_work(one, 16, 40) for name, one in orders.items()}
ends = {name: planning.makespan(work, H100.sms)[0] for name, work in works.items()}
assert min(ends, key=ends.get) == "heaviest first"
pictures.schedule(works, machines=H100.sms)

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - The programs that start last decide. Longest first leaves only short ones for the end (R. Graham, *Bounds on
#   multiprocessing timing anomalies*, 1969: never more than a third above the best possible).
# - With more blocks the order matters less, as the lines above the picture show. It helps where there are a few waves
#   of programs, not one and not hundreds.
# - This simulation has no cache: a model that leaves something out must say what.
#
# </details>
#
# **Predict** the factor for the kernel on a GPU, where a cache exists.

# %% tags=["prediction"]
### BEGIN SOLUTION
# STUB: predict("heavy first", full=None, causal=None)
predict("heavy first", full=1.0, causal=1.1)
### END SOLUTION

# %%
steps.show("heavy first")

# %% [markdown]
# ### Heads in groups
#
# If all heads run side by side, their keys and values are all scanned at once. The L2 cache of an H100 has 50 MiB.
# **Predict** whether they fit, for $2^{14}$ tokens and $H \cdot D = 2048$, in bf16:

# %% tags=["nbval-check-output"]
tokens, width = 2**14, 2048
print(
    f"K and V of all heads: {2 * 2 * tokens * width / 2**20:.0f} MiB; the L2 cache: {H100.l2 / 2**20:.0f} MiB"
)
for S, D in ((1024, 128), (4096, 128), (16384, 128)):
    heads, of_a_head = tokens // S * width // D, 2 * 2 * S * D
    group = heads_together(heads, S // 64, of_a_head, causal=True)
    print(f"S {S:5}: {heads:3} heads of {of_a_head / 2**20:.1f} MiB; the package takes {group} at a time")

# %% [markdown]
# So take a group of heads whose keys and values fit, heavy blocks first within it, and then the next group. (The
# package's rule, `heads_together`, gives the keys and values of a group 8 MiB under a causal mask. Without one it takes
# as few heads as give 64 programs.)
#
# ### Exercise: `heads_in_groups` · warm-up
#
# Which block of which head, `(block, head)`, does program `pid` compute, if the heads are taken in groups of `group`
# neighbours (`group` divides `heads`)? Within a group the order is that of `heaviest_first`; the next group follows
# when all of a group's programs have started.


# %% exercise="heads_in_groups"
# HINT: How many programs does a group have? Two divisions by that number say in which group `pid` is, and at
#     which place within it.
# HINT: A group has `group * blocks` programs. Within it everything is as in your heaviest_first, with `group`
#     heads instead of `heads`. Which head is the first one of group number n?
# HINT: `number, place = divmod(pid, group * blocks)`; the block is `blocks - 1 - place // group`, and the head is
#     `place % group`, after the `number * group` heads of the groups before.
def heads_in_groups(pid, blocks, heads, group):
    ### BEGIN SOLUTION
    # STUB: raise NotImplementedError("TODO heads_in_groups: the group, the place in it, block and head")
    number, place = pid // (group * blocks), pid % (group * blocks)
    return blocks - 1 - place // group, number * group + place % group
    ### END SOLUTION


# %%
flashlearn.check("heads_in_groups", heads_in_groups)

# %%
# flashlearn.hint("heads_in_groups")

# %% [markdown]
# A small group is good for the cache. What is it for the end of the kernel? The simulation of before, with groups of 1,
# 4 and 40 of the 40 heads. **Predict** the order of the three, and the factor on a GPU.

# %% tags=["prediction"]
### BEGIN SOLUTION
# STUB: predict("heads in groups", full=None, causal=None)
predict("heads in groups", full=1.1, causal=1.1)
### END SOLUTION

# %%
grouped = flashlearn.use("heads_in_groups", heads_in_groups)
for group in (1, 4, 40):
    place = functools.partial(grouped, group=group)
    work = planning.causal_work(lambda pid, blocks, heads, place=place: place(pid, blocks, heads), 16, 40)
    end = planning.makespan(work, H100.sms)[0]
    print(f"groups of {group:2}: done after {end:.0f}, {end / (sum(work) / H100.sms):.2f} times the least")

# %%
steps.show("heads in groups")

# %% [markdown]
# ## 10 · The masked tile's own size
#
# Two loops may have two sizes of tile. The first loop's tile is large, so that there are few steps. The second loop's
# is cut by the diagonal: what lies beyond it is computed for nothing.
#
# ### Exercise: `masked_tiles` · warm-up
#
# A causal block of queries starts at `first`, with $S$ queries and $S$ keys. The first loop has tiles of `block_k`
# keys, the second one tiles of `edge` keys, from where the first one ends. Return `(tiles, beyond)`: how many tiles the
# second loop visits, and how many keys its last tile holds that no query of the block sees (or that do not exist). Your
# `split_loops` has the bounds.


# %% exercise="masked_tiles"
# HINT: `split_loops` gives where the first loop ends, and where the second one does. Which of the two tile
#     sizes decides the first, and which one the number of steps in between?
# HINT: The second loop goes from `whole` to `end` in steps of `edge`: its number of steps is the difference
#     divided by `edge`, rounded up.
# HINT: `whole, end = split_loops(first, block_q, block_k, S, S)`; `-(-n // edge)` rounds up. The last tile ends
#     at `whole + tiles * edge`; what it holds beyond `end` is the second number.
def masked_tiles(first, block_q, block_k, edge, S):
    ### BEGIN SOLUTION
    # STUB: raise NotImplementedError("TODO masked_tiles: tiles of the second loop, and keys beyond its end")
    sees_least, end = min(S, first + 1), min(S, first + block_q)
    whole = sees_least // block_k * block_k
    tiles = -(-(end - whole) // edge)
    return tiles, whole + tiles * edge - end
    ### END SOLUTION


# %%
flashlearn.check("masked_tiles", masked_tiles)

# %%
# flashlearn.hint("masked_tiles")

# %% [markdown]
# **Predict** which size computes fewer keys for nothing, over all blocks, and the factor.

# %% tags=["prediction"]
### BEGIN SOLUTION
# STUB: predict("small masked tiles", full=None, causal=None)
predict("small masked tiles", full=1.0, causal=1.05)
### END SOLUTION

# %%
tiles_of = flashlearn.use("masked_tiles", masked_tiles)
for S in (1024, 4096):
    for edge in (128, 64, 32):
        numbers = [tiles_of(sp.Integer(first), 64, 128, edge, S) for first in range(0, S, 64)]
        visited, beyond = (int(sum(column)) for column in zip(*numbers, strict=True))
        print(f"S {S}, masked tiles of {edge:3} keys: {visited:3} steps, {beyond:4} keys for nothing")
for name in ("heads in groups", "small masked tiles"):
    made = counted.needs(counted.launched(ladder.upto(name), D=128, causal=True))
    print(f"{name:20} {made['registers']} registers, {made['spilled']} bytes spilled")

# %%
steps.show("small masked tiles")

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - Without a mask nothing changes, if $S_k$ is a multiple of 128: there is no second loop, and a factor other than 1
#   there is the timings' noise.
# - There are two gains: fewer keys for nothing, and fewer registers where comparisons and scores are held at the same
#   time. Which one counted cannot be read from the factor; the spilled bytes above are a hint.
# - With tiles of 64 keys every key is seen by at least one query of its block, as a block has 64 queries; 32 would need
#   twice as many steps for the same.
#
# </details>

# %% [markdown]
# ## 11 · Persistent programs
#
# If starting a program costs time, why not launch only as many as fit on the multiprocessors, and let each take one
# block after another? Without a shared counter, each program's blocks are fixed when the kernel starts: of `programs`
# programs, number `pid` takes the blocks with the numbers `pid`, `pid + programs`, `pid + 2 * programs`, …, in the
# order of your `heaviest_first`.
#
# ### Exercise: `fixed_share` · warm-up
#
# Return `(taken, tiles)`: how many blocks of queries program `pid` computes, and how many tiles of keys in all of them.
# A tile has as many keys as a block has queries, so under the causal mask block $n$ visits $n + 1$ tiles. There may be
# more programs than blocks.


# %% exercise="fixed_share"
# HINT: List the numbers that the program takes, for 10 blocks and 4 programs. Which block is number 0, and how many
#     tiles does it visit?
# HINT: `range` with a step gives the numbers, and its length how many they are. Your heaviest_first says which block
#     a number stands for.
# HINT: `numbers = range(pid, blocks * heads, programs)`. Number n stands for block `blocks - 1 - n // heads`, which
#     visits one tile more than its own number.
def fixed_share(pid, programs, blocks, heads):
    ### BEGIN SOLUTION
    # STUB: raise NotImplementedError("TODO fixed_share: the blocks of a program, and their tiles")
    numbers = range(pid, blocks * heads, programs)
    return len(numbers), sum(blocks - number // heads for number in numbers)
    ### END SOLUTION


# %%
flashlearn.check("fixed_share", fixed_share)

# %%
# flashlearn.hint("fixed_share")

# %% [markdown]
# The kernel is done when the program with the most tiles is. **Predict** how that compares with hardware that gives the
# next block to whoever is free, for the 16 blocks of 40 heads of section 9 and one program on each of 132
# multiprocessors; and the factor of the kernel. (The ladder's kernel goes through the order that it has kept.)

# %% tags=["prediction"]
### BEGIN SOLUTION
# STUB: predict("persistent", full=None, causal=None)
predict("persistent", full=1.0, causal=0.95)
### END SOLUTION

# %% tags=["nbval-check-output"]
share = flashlearn.use("fixed_share", fixed_share)
work = planning.causal_work(order, 16, 40, tiles_per_block=1)
shares = [share(sp.Integer(pid), H100.sms, 16, 40) for pid in range(H100.sms)]
print(f"each takes the next when free: {planning.makespan(work, H100.sms)[0]:.0f} tiles")
print(f"shares fixed beforehand: {max(tiles for _, tiles in shares)} tiles")
full = [16] * len(work)
most = max(taken for taken, _ in shares)
print(f"without a mask: {planning.makespan(full, H100.sms)[0]:.0f} and {16 * most}")

# %%
steps.show("persistent")

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - Where all blocks are equal, fixed shares lose nothing; under a causal mask they lose the balance that the
#   hardware's own queue provides. A counter in memory, from which a program takes its next block by an atomic
#   addition, gives that balance back: then the first figure holds instead of the second. Lesson 13's kernel has one.
# - What can be gained is the start-up time of programs, which is small compared with their loops. What it costs is
#   $O$'s own room, and registers for the loop around.
# - It pays where the end of one block can overlap the beginning of the next, as in FlashAttention-3 on Hopper, which
#   needs producer and consumer warps (lesson 13). In this kernel several programs on a multiprocessor overlap
#   already.
#
# </details>

# %% [markdown]
# ## 12 · Reading a profile
#
# A profiler says who waited for what. Triton's *proton* times kernels and scopes inside them; *Nsight Compute* reads
# the hardware's counters. Below are three forward passes of one problem ($D$ 128, $S$ 4096, without a mask), read on an
# H200 and saved, in no order, without their names and times. (On a GPU of your own: `ncu --set full python
# your_script.py`.)
#
# The counters: how busy the tensor cores are, the unit for exponentials, and the schedulers (*issue slots*); how many
# warps could have issued an instruction in a cycle; what a program needs; and how much the warps wait, for each
# instruction that they issue: for memory (*long scoreboard*), for each other at a barrier, for a product of `wgmma`, or
# for the result of an instruction before (*fixed latency*).

# %%
saved = record.shipped_profiles()
print("\n".join(profiles.counters(saved)) if saved else "No profile came with the lesson.")

# %% [markdown]
# Which of the three is the fastest, and what does each one wait for most? Type a letter, and for the waits `memory`,
# `barrier`, `wgmma` or `fixed latency`.

# %% tags=["prediction"]
### BEGIN SOLUTION
# STUB: reading = {"fastest": "", "A waits for": "", "B waits for": "", "C waits for": ""}
reading = {
    "fastest": "A",
    "A waits for": "memory",
    "B waits for": "fixed latency",
    "C waits for": "fixed latency",
}
### END SOLUTION
print("\n".join(profiles.read(saved, reading)) if saved else "No profile came with the lesson.")

# %% [markdown]
# <details><summary><b>What to notice</b>, once all four are right</summary>
#
# - The fastest kernel's warps wait the longest, and fewest of them could issue. It keeps the tensor cores busiest all
#   the same. A wait of one warp costs nothing while another one has work for the tensor cores: here three programs
#   share a multiprocessor, and each waits for its own copies, which is what one stage means (section 6).
# - So do not read such a table from the waits. Begin with what should be busy, the tensor cores (their counter calls
#   them a *pipe*). If they are not busy enough, ask what the others do: are the schedulers busy with other instructions
#   (issue slots)? Then leave instructions out. Is nobody able to issue, while they are idle? Then the waits say for
#   what.
# - From C to B (the cell above names them once all four are right) instructions were left out: the share of issue slots
#   falls although the kernel is faster, so there are fewer of them. From B to A the blocks were changed, and there is
#   one more program.
#
# </details>

# %% [markdown]
# ## 13 · Backward: keys first
#
# The kernel for $dK$ and $dV$ needs $P^\top$ and $dS^\top$: rows are keys. Lesson 08 computed $S = QK^\top$ and
# transposed. $S^\top = KQ^\top$ costs the same product and needs no transpose: `wgmma` can take its *left* operand
# from registers, and that operand is the tile that the exponential has just left in registers. **Predict** for the
# kernel below which of these four figures change with the order, and in which direction: stores to shared memory,
# barriers, bytes of shared memory, registers.


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
# - Its loop goes over queries, so the two loops of section 3 are mirrored. Query $i$ sees the keys up to $i + S_k -
#   S_q$: the first query that sees anything of the block sees its first key, and the first one that needs no mask sees
#   its last key. Where the loop starts is rounded *down* to a block of queries, where masks end is rounded *up*, and
#   neither is below 0 or beyond the last block's end. The masked loop comes first.
# - $dQ$ needs $dS$ with queries as rows. In a separate kernel that needs no transpose; in one pass (lesson 11) one
#   transpose remains, and atomics as well. The package's Triton backward pass has two kernels, with seven products
#   instead of five, because they were faster than one kernel on an H200. With specialised warps it can be the other
#   way round: lesson 13's backward kernel does it in one pass.
#
# </details>

# %% [markdown]
# ## 14 · The ladder, whole
#
# Everything in one table: what you predicted (without a mask / causal), and what was measured for each $D$ and mask,
# as the mean over $S$. On a GPU this cell times what is missing.

# %%
steps.table()

# %%
climbed = steps.backward()
print("\n".join(climbing_steps.table(climbed, predict, "backward")))
print("\n".join(climbing_steps.surprises(climbed, predict)))

# %%
pictures.climbed(climbed) if climbed else None

# %% [markdown]
# Before you unfold: which prediction was furthest off, and which of the two remedies of section 1, fewer instructions
# or more overlap, gained more?
#
# <details><summary><b>What to notice</b></summary>
#
# - In the picture a blue bar is a gain and an orange one is not. The number in a bar is the factor over what was kept
#   before it.
# - The factors multiply, but they are not independent: the same changes in another order have other factors. In a
#   record that keeps every rung, also what lost, the speed at its end says little about the last rung's own worth.
# - A factor within the spread is no gain, however much one would like it to be. The last line of the first table says
#   how many timings have a spread above 5 %: there a factor of 1.04 is nothing.
# - Look for changes that gain for one $D$ and lose for the other. What would a mean have said?
# - The ladder removes what loses at its place. `tuned_forward`, where it ends, may contain it all the same, if it gains
#   beside the others. Section 15 times that kernel beside the best that the ladder kept.
#
# </details>
#
# ### Compared with its peers
#
# The next cell compares the package's kernels, of which `tuned_forward` is one, with torch's, from the record of an
# H200 that comes with the package (`flashlearn bench` makes one for your GPU). The figures are speeds relative to
# SDPA's cuDNN backend, as a geometric mean over $D$ 64 and 128 and $S$ 1024, 4096 and 16384, with the lowest in
# parentheses.

# %%
measured = bench_record.shipped()
Console(width=104).print(tables.ratios(measured))
print(next(tables.tables(measured)))

# %%
peers = plots.every(measured)
peers["throughput_forward"]

# %%
peers["memory"]

# %% [markdown]
# Memory was the original reason for all this. In the picture, does any line grow with $S^2$, by a factor of 16 where
# $S$ grows by 4? Attention that stores $P$ in bf16, for 16 heads and $S$ 16384, would need this much for $P$ alone:

# %% tags=["nbval-check-output"]
print(f"{2 * 16 * 16384**2 / 2**30:.0f} GiB")

# %% [markdown]
# ## 15 · The kernels
#
# One thing is new here: K and V may have fewer heads than Q, as in most models of today (*grouped queries*; J. Ainslie
# et al., *GQA*, 2023). With $H$ heads of Q and $H_k$ of K and V, each of the latter serves $H / H_k$ neighbours: head
# $h$ of Q uses head $\lfloor h / (H / H_k) \rfloor$. `lean_kernel` does so with one line.
#
# ### Exercise: `tuned_forward` · core
#
# Now put everything together. The launcher is given; it creates the descriptors, decides the order of programs and
# passes what `forward_shape` chooses. You write the loop over keys and the kernel around it, from what you have: the
# two loops with your `split_loops`, the step of `lean_forward` in a version without a mask and one with it, the second
# one on smaller tiles. You may choose the shapes: put your own in place of `forward_shape(…)`. You may also use
# pointers, or another grid: what counts is the result.
#
# - $Q$ `[B, H, S_q, D]`; $K$ and $V$ `[B, H_k, S_k, D]`, where $H_k$ divides $H$ and head $h$ of $Q$ uses head
#   $\lfloor h / (H / H_k) \rfloor$ of $K$ and $V$; any strides, ragged $S$, $S_q \ne S_k$, $D$ up to 128 and more;
# - causal (aligned bottom-right) or not, with queries that see nothing ($O = 0$, LSE $= -\infty$);
# - $\alpha$ of either sign, and 0; fp32, fp16 and bf16; LSE with the natural logarithm, in fp32;
# - tiles in which the mask hides every pair are not multiplied.
#
# The launcher passes some constants: `RAGGED` says that $S_k$ is not a multiple of the tile, `NEGATIVE` that $\alpha <
# 0$; without `CAUSAL` and `RAGGED` there is no second loop at all. (For $\alpha = 0$ see section 2.) `GROUP` is the
# number of heads in a group of section 9, not of grouped queries. In `scan_keys`, `h` is a head of $K$ and $V$.
#
# If there is a GPU, speed is graded, relative to torch's attention in the same run: **bronze** for half the speed of
# its flash backend, **silver** for the same speed, **gold** for 0.85 times the speed of its cuDNN backend. On the GPU
# of the record above the course's own kernel earns its gold, and does not reach cuDNN in this shape, as the cell shows.
# Without a GPU the report predicts the time, and compiles the kernel.

# %%
timed = next(p for p in measured.problems if (p.D, p.S, p.causal) == (128, 4096, False))
for direction in ("forward", "backward"):
    ratio = measured.ratio("tuned", "sdpa cudnn", timed, direction)
    print(f"{direction} of the course, D 128, S 4096, full: {ratio:.2f} times the speed of cuDNN", end="")
    print(f" ({measured.device['gpu']})")

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
# The end of the ladder, with your kernel if it has passed, timed beside the best that the ladder kept:

# %%
steps.show("tuned_forward", end=flashlearn.use("tuned_forward", tuned_forward))

# %% [markdown]
# ### Exercise: `tuned_backward` · core
#
# $dQ$, $dK$ and $dV$. `delta_and_lse` is given: it returns $\delta$ and LSE, both in fp32 and contiguous, as $[B \cdot
# H, S]$ where $S$ is $S_q$ rounded up to a multiple of 128 (`S_PADDED` in the kernels). LSE is in base 2, and $+\infty$
# for queries that see nothing and for the padding, so that $P$ is 0 there; $\delta$ is 0 in the padding. So no block
# needs a mask for queries that do not exist. The kernel that owns keys needs none for padded keys either: they only
# reach rows of $dK$ and $dV$ that the copy engine does not store (lesson 08). $P$ takes `scale`, which is $\alpha
# \log_2 e$; $dQ$ and $dK$ take `alpha`. You write the scan over queries (keys first), the kernel that owns keys, the
# second scan over keys, and the kernel that owns queries. The requirements are those of the forward pass. Bronze and
# silver are as there, gold is 0.75 times the speed of cuDNN.

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
# ## 16 · What you have now
#
# | change | what it saves | what it may break |
# |---|---|---|
# | powers of two, folded | two instructions per score | $\alpha \le 0$; LSE left in base 2; $dK$ with a factor $\log_2 e$ |
# | two loops | comparisons and selections | the tile between the loops; the first query's last key |
# | descriptors | addresses, registers | tensors that break the rules; zeros where hidden keys need a mask |
# | O where K lay | 16 KiB of shared memory, without a loop around | in a loop over blocks: a program less may fit |
# | block shape | steps; idle tensor cores | programs that fit, if the budget is not computed first |
# | three programs | idle tensor cores | what ran ahead with more stages |
# | heavy first | the wait at the end | a block stored at the place of the program's number; the L2 cache |
# | heads in groups | traffic to memory | the balance at the end, if groups are too small |
# | small masked tiles | keys beyond the diagonal; registers | the tile between the loops |
# | persistent programs | little here | the balance of causal work; room for $O$ |
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
# *Two or three sentences for yourself in a month. Which prediction was furthest off, and what did you believe when you
# made it? Which change would you try next, and what number would convince you to keep it? Double-click here and write.*

# %% [markdown]
# ### What comes next
#
# One thing that this kernel lacks is overlap *within* a program: producer warps that only copy, consumer warps that
# multiply, and one tile's softmax during another's product. Triton does not let you express that; Gluon does. You
# will write it in lesson 13.
#
# **Sources.** Splitting, exponents and the order of work: T. Dao, *FlashAttention-2*, ICLR 2024, sections 3.1 to 3.3;
# J. Shah et al., *FlashAttention-3*, 2024, section 3, for what has to overlap. Throughputs: CUDA C++ Programming Guide;
# NVIDIA H100 data sheet. The copy engine's rules: CUDA Driver API, `cuTensorMapEncodeTiled`. Asynchronous copies and
# their groups: PTX ISA, `cp.async.wait_group`. Longest first: R. Graham, SIAM Journal on Applied Mathematics 17, 1969.
# A ladder to read beside this one: Triton's tutorial 06, *Fused Attention*, which uses `triton.autotune` too.
