# %% [markdown]
# # FlashAttention forward
#
# Everything so far has been preparation for this: the mathematics of a row (lessons 02 and 04), tiles and their cost
# (lesson 05). Now they become one kernel, your first kernel for attention itself. It computes
# $O = \mathrm{softmax}(\alpha QK^\top)\,V$ without ever storing $S$ or $P$, and it keeps one number per row, the LSE,
# for the backward pass.
#
# **Afterwards you can**
#
# - write FlashAttention's forward pass: one program per block of queries that scans all tiles of $K$ and $V$ and
#   rescales $l$ and the accumulator whenever the maximum $m$ changes;
# - say for each line what happens if a tile is not full: ragged $S$, or a $D$ that is not a power of two;
# - add a causal mask where it belongs, end the loop early, and get $S_q \ne S_k$ right, including queries that see
#   nothing;
# - name the inputs on which a careless version of each of these goes wrong, and those on which it does not.
#
# **You need** lesson 00 (masks, strides), lesson 04 (the online recurrence, merging), and lesson 05 (`tl.dot`,
# registers, the L2 cache). One proof uses sympy's sums over symbols, which lesson 01 introduces. You need none of your
# earlier code: what an exercise builds on is in its cell.
#
# **It takes** about three hours: one kernel of about twenty-five lines, a second one that changes four of them, a
# third that combines both, three questions at the start and three at the end. The end of section 9 is a good place for
# a break.

# %%
import math

import sympy as sp
import torch
import triton
import triton.language as tl
from torch import Tensor

import flashlearn
from flashlearn import DEVICE
from flashlearn.compiler.listing import listing
from flashlearn.lessons.lesson_06_flash_forward import pictures
from flashlearn.lessons.shared import example, reference
from flashlearn.lessons.shared.slider import slider

# %% [markdown]
# ## Before you begin
#
# Three questions about what came before. Run the cell to read them, enter a letter for each number, and run it again.
# A wrong choice costs nothing; the reply says what it overlooks.

# %% tags=["recall"]
### BEGIN SOLUTION
# STUB: answers = {1: "", 2: "", 3: ""}
answers = {1: "c", 2: "b", 3: "a"}
### END SOLUTION
flashlearn.recall("06", answers)

# %% [markdown]
# ## 1 · One row of S per program
#
# $S$ has a row for every query and a column for every key. **Predict**, for a layer with 32 heads, a batch of 4 and
# 4096 tokens, $D = 128$, two bytes per number: how large is $S$, beside $Q$, $K$, $V$ and $O$ together?

# %% tags=["nbval-check-output"]
B, H, S, D, size = 4, 32, 4096, 128, 2
print(f"S:              {B * H * S * S * size / 2**30:5.2f} GiB, and as much again for P")
print(f"Q, K, V and O:  {4 * B * H * S * D * size / 2**30:5.2f} GiB")

# %% [markdown]
# Written by one kernel and read by the next, $S$ and $P$ would be nearly all of the traffic. So a program must use a
# piece of $S$ as soon as it has computed it, and lesson 04 has shown that it can: softmax does not need the whole row
# at once.
#
# The plan is Algorithm 1 of FlashAttention-2. A program owns a **block of queries**. It loads that block of $Q$ once,
# and then goes along its rows of $S$ from left to right, one tile of keys at a time.

# %%
pictures.one_program()

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - No two programs write the same element: each has its own rows of $O$ and LSE. So no atomics are needed, and the
#   order of programs does not matter.
# - $K$ and $V$ are read by every program of a head, once each. That is the cost (section 9 counts it), and a reason to
#   make the block of queries as large as registers allow.
# - What a program carries from tile to tile is small: per query one number $m$, one number $l$, and $D$ numbers of
#   accumulator. Nothing grows with $S_k$.
#
# </details>
#
# ### One tile, in Triton
#
# Here is one step of such a scan, without $V$, for sizes that fill their tiles. The kernel takes one tile of keys and
# writes what lesson 04 called a partial result: the maximum $m$ of each row of the tile, and $l = \sum_j e^{s_j - m}$.
# It runs twice, on the keys 0 to 15 and on the keys 16 to 31. **Predict** how to compute the LSE of the whole row from
# the four numbers $m_0, l_0, m_1, l_1$. The cell after it does that.


# %%
@triton.jit
def one_tile_kernel(q_ptr, k_ptr, m_ptr, l_ptr, alpha, start, D: tl.constexpr, BLOCK: tl.constexpr):
    rows, keys, d = tl.arange(0, BLOCK), start + tl.arange(0, BLOCK), tl.arange(0, D)
    q = tl.load(q_ptr + rows[:, None] * D + d[None, :])  # (BLOCK, D)
    k = tl.load(k_ptr + keys[:, None] * D + d[None, :])
    s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")  # (BLOCK, BLOCK)
    m = tl.max(s, axis=1)
    tl.store(m_ptr + rows, m)
    tl.store(l_ptr + rows, tl.sum(tl.exp(s - m[:, None]), axis=1))


generator = torch.Generator().manual_seed(3)
q_block, all_keys = (torch.randn(n, 16, generator=generator).to(DEVICE) for n in (16, 32))
partial = []
for start in (0, 16):
    m, l = torch.empty(2, 16, device=DEVICE)
    one_tile_kernel[(1,)](q_block, all_keys, m, l, 0.25, start, D=16, BLOCK=16)
    partial.append(m + l.log())
    print(f"keys from {start:2}: m", m[:3].cpu().numpy().round(3), " l", l[:3].cpu().numpy().round(3))

# %%
whole_row = torch.logsumexp(0.25 * q_block @ all_keys.mT, dim=1)
merged = torch.logaddexp(*partial)  # log(e^a + e^b), the merge of lesson 04
assert torch.allclose(merged, whole_row, atol=1e-5)

# %% [markdown]
# Two programs could have computed the two halves, and a merge could have followed. One program that does one tile
# after the other can do better: it merges as it goes.

# %% [markdown]
# ## 2 · Tile by tile, by hand
#
# The course's example has four queries, three keys and $D = 2$. Its scores are

# %% tags=["nbval-check-output"]
Q, K, V, alpha = example.Q, example.K, example.V, example.ALPHA

scores = alpha * Q @ K.T  # (4, 3)
print(scores.numpy().round(3))

# %% [markdown]
# Take a pencil and work through row 0 with tiles of a single key. The row is $s = (0.707, 1.414, 2.121)$, and the
# values of its keys are $(1, 0)$, $(0, 2)$, $(1, 1)$. The state starts as $(m, l, acc) = (-\infty, 0, 0)$, a row that
# has seen nothing. For each tile, in this order:
#
# $$m' = \max(m, \max_j s_j), \qquad \text{rescale} = e^{m - m'}, \qquad p_j = e^{s_j - m'},$$
#
# $$l \leftarrow l \cdot \text{rescale} + \sum_j p_j, \qquad acc \leftarrow acc \cdot \text{rescale} + \sum_j p_j\,v_j, \qquad m \leftarrow m'.$$
#
# At the end $O = acc / l$ and $\mathrm{LSE} = m + \log l$. Here are all intermediate numbers.

# %%
pictures.online_state(scores[0].tolist(), V.tolist(), block=1)

# %% [markdown]
# **Predict:** which of the boxes change if a tile holds two keys instead of one? Which do not? And with all three keys
# in one tile?

# %%
slider(lambda tile: pictures.online_state(scores[0].tolist(), V.tolist(), tile), {"tile": 2}, tile=(1, 2, 3))

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - After the same keys the state is the same, however they were cut into tiles: $m$, $l$ and $acc$ after key 1 agree
#   for tiles of one and of two keys, and the result agrees for all three.
# - In this row every one-key tile brings a new maximum, so the earlier sums are multiplied by $e^{-0.707} = 0.493$
#   each time. The first rescale is $e^{-\infty} = 0$: there is nothing to keep yet, and no special case is needed.
# - The largest $p$ of a tile that raises the maximum is 1, by construction. All are at most 1, in every tile.
#
# </details>
#
# ### Why it is right
#
# The claim is an invariant: after each tile, $l = \sum_j e^{s_j - m}$ and $acc = \sum_j e^{s_j - m} v_j$, the sums
# taken over all keys seen so far. Before the first tile both sums are empty. So only one step has to be proved: if it
# holds for $n$ keys with $m$, it holds for $n + b$ keys with $m'$. In the next cell $n$ and $b$ are symbols, so this
# is proved for **every number of keys and every tile size**.

# %%
n, b = sp.symbols("n b", integer=True, positive=True)
j = sp.Symbol("j", integer=True)
m, m_new = sp.symbols("m m_new", real=True)
s, v = sp.IndexedBase("s", real=True), sp.IndexedBase("v", real=True)


def l_of(first, last, maximum):
    return sp.Sum(sp.exp(s[j] - maximum), (j, first, last))


def acc_of(first, last, maximum):
    return sp.Sum(sp.exp(s[j] - maximum) * v[j], (j, first, last))


rescale = sp.exp(m - m_new)
for quantity in (l_of, acc_of):
    seen, tile = quantity(0, n - 1, m), quantity(n, n + b - 1, m_new)
    assert sp.simplify(seen * rescale + tile - quantity(0, n + b - 1, m_new)) == 0

# %% [markdown]
# Notice what the proof did *not* use: that $m'$ is a maximum. Any number will do. The maximum is needed only because
# of the range of floating-point numbers, so that no exponential exceeds 1. Remember this; it answers two questions
# below.
#
# ### The same loop in torch
#
# Here is the whole algorithm for all four rows at once, with the order and the names that the kernel will have. The
# result is compared with the reference.


# %% tags=["nbval-check-output"]
def scan(q, k, v, alpha, tile=2, show=False):
    """O and LSE of one head, tile by tile: [S_q, D], [S_k, D] → [S_q, D], [S_q]."""
    m_i = torch.full((len(q),), -math.inf, dtype=q.dtype)
    l_i = torch.zeros(len(q), dtype=q.dtype)
    acc = torch.zeros(len(q), v.shape[1], dtype=q.dtype)
    for start in range(0, len(k), tile):
        k_tile, v_tile = k[start : start + tile], v[start : start + tile]
        s = alpha * q @ k_tile.T  # (S_q, tile)
        m_new = torch.maximum(m_i, s.amax(dim=1))
        rescale = torch.exp(m_i - m_new)
        p = torch.exp(s - m_new[:, None])
        l_i = l_i * rescale + p.sum(dim=1)
        acc = acc * rescale[:, None] + p @ v_tile
        m_i = m_new
        if show:
            print(f"after keys {start} … {start + len(k_tile) - 1}")
            for name, value in (("rescale", rescale), ("m_i", m_i), ("l_i", l_i)):
                print(f"  {name:8}", value.numpy().round(3))
    return acc / l_i[:, None], m_i + l_i.log()


O, LSE = scan(Q, K, V, alpha, show=True)
expected_O, expected_LSE = reference.attention_forward(Q, K, V, alpha)
torch.testing.assert_close((O, LSE), (expected_O, expected_LSE))
print("O\n", O.numpy().round(3), "\nLSE\n", LSE.numpy().round(3))

# %% [markdown]
# **Predict:** someone forgets to rescale `acc` (but not `l_i`). Which of the four rows of $O$ are still right? The
# printed values of `rescale` are all you need.

# %% tags=["nbval-check-output"]
m_first = scores[:, :2].amax(dim=1, keepdim=True)  # the maximum after tile 0
m_last = scores.amax(dim=1, keepdim=True)  # and after tile 1
p_first, p_last = torch.exp(scores[:, :2] - m_first), torch.exp(scores[:, 2:] - m_last)
l_right = torch.exp(scores - m_last).sum(dim=1, keepdim=True)

not_rescaled = (p_first @ V[:2] + p_last @ V[2:]) / l_right
for i in range(4):
    verdict = "right" if torch.allclose(not_rescaled[i], O[i]) else "wrong"
    print(f"row {i}:", not_rescaled[i].numpy().round(3), verdict)

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - Rows 1 and 2 have their largest score in the first tile. The maximum never changes, every rescale after the first
#   tile is 1, and forgetting it makes no difference.
# - So this mistake is invisible in a test with a single tile of keys, and otherwise shows in only some of the rows.
#   *Half of the rows are right* is a symptom worth remembering.
#
# </details>

# %% [markdown]
# ## 3 · Line by line in Triton
#
# | mathematics | in the kernel | shape |
# |---|---|---|
# | a block of $Q$ | `q` | `(BLOCK_Q, BLOCK_D)` |
# | a tile of $K$, of $V$ | `k`, `v` | `(BLOCK_K, BLOCK_D)` |
# | $S = \alpha\,QK^\top$ | `s = alpha * tl.dot(q, tl.trans(k), …)` | `(BLOCK_Q, BLOCK_K)` |
# | $m' = \max(m, \max_j s_j)$ | `m_new = tl.maximum(m_i, tl.max(s, axis=1))` | `(BLOCK_Q,)` |
# | $e^{m - m'}$ | `rescale = tl.exp(m_i - m_new)` | `(BLOCK_Q,)` |
# | $e^{s - m'}$ | `p = tl.exp(s - m_new[:, None])` | `(BLOCK_Q, BLOCK_K)` |
# | $l \cdot e^{m - m'} + \sum_j p_j$ | `l_i = l_i * rescale + tl.sum(p, axis=1)` | `(BLOCK_Q,)` |
# | $acc \cdot e^{m - m'} + P V$ | `acc = acc * rescale[:, None] + tl.dot(…)` | `(BLOCK_Q, BLOCK_D)` |
#
# It is the torch loop, and nearly the kernel of the exercise, line for line: what is left to find is what happens at the
# edges, which sections 4 to 7 are about. The names of the blocks say what they count: `BLOCK_Q` queries,
# `BLOCK_K` keys, `BLOCK_D` lanes of the head dimension. (In lesson 05's matrix product `BLOCK_K` was the dimension that
# is summed over. For $QK^\top$ that is $D$.) Three things are new.
#
# - **Precision.** $Q$, $K$ and $V$ may be fp16 or bf16. `tl.dot` multiplies them as they are and sums in fp32; `s`,
#   `m_i`, `l_i` and `acc` stay in fp32 to the end. For fp32 inputs use `input_precision="ieee"`, or a GPU may round
#   the factors to TF32, which has 11 significant bits.
# - **Layout.** $K$ is loaded as it is stored, a row per key, and `tl.trans(k)` transposes it for the product: the two
#   operands of `tl.dot` must agree in the dimension that is summed over, here `BLOCK_D`.
# - **The second product.** `p` is fp32, `v` may be half precision, and `tl.dot` needs both to have the same dtype. So
#   `p` is rounded to the dtype of `v`. Its entries lie between 0 and 1, which every format handles well; no sum is
#   carried in that precision.
#
# One thing is optional: the solution writes `p` as `tl.exp2((s - m_new[:, None]) * LOG2E)`, with
# $\text{LOG2E} = \log_2 e$. It is the same number, since $e^x = 2^{x \log_2 e}$. A GPU has an instruction for powers
# of two only; `tl.exp` compiles to the same two instructions and three more, which handle results below $2^{-126}$. In
# our measurement on an H200 that line made the forward pass 1.13 to 1.15 times as fast. `tl.exp` is just as correct.

# %% [markdown]
# > ### Sources corrected: rounding P by name
# >
# > **The claim**, in the code of a published derivation: $P$ goes to the tensor cores as `p.to(tl.float16)`. Its
# > tests use fp16, and pass; its text says that bf16 is supported.
# >
# > **The experiment.** One product of two $16 \times 16$ tiles. **Predict** what happens for the second dtype: a
# > small error, a large one, or something else?


# %% tags=["nbval-check-output"]
@triton.jit
def cast_by_name_kernel(p_ptr, v_ptr, out_ptr):
    i, j = tl.arange(0, 16)[:, None], tl.arange(0, 16)[None, :]
    p = tl.load(p_ptr + 16 * i + j)
    v = tl.load(v_ptr + 16 * i + j)
    tl.store(out_ptr + 16 * i + j, tl.dot(p.to(tl.float16), v))


P_tile = torch.rand(16, 16, generator=torch.Generator().manual_seed(0))
for dtype in (torch.float16, torch.bfloat16):
    out = torch.empty(16, 16)
    try:
        with flashlearn.observing():
            cast_by_name_kernel[(1,)](P_tile, torch.eye(16, dtype=dtype), out)
        print(dtype, "largest error", f"{(out - P_tile).abs().max():.1e}")
    except flashlearn.KernelCrash as error:
        print(dtype, "fails:", error.sentence)

# %% [markdown]
# > **The verdict.** Nothing is computed: with $V$ in bf16 the kernel does not compile, nor does it with fp32. A
# > library that converts its inputs first may hide this; a kernel that is called directly cannot. Take the dtype from
# > the operand: `p.to(v.dtype)`. The same goes for the store: `o.to(o_ptr.dtype.element_ty)`.

# %% [markdown]
# ## 4 · Ragged S: a key that does not exist
#
# Three keys do not fill two tiles of two, nor one tile of four, which is drawn here: the last row has no key. The
# load's mask keeps the program from accessing memory outside the tensor, and `other=0.0` fills the row with zeros.
# What does such a row of zeros do?

# %%
pictures.padded_tile(S_k=3, D=2, block_k=4, block_d=16)

# %% [markdown]
# Its score is $\alpha\, q \cdot 0 = 0$, a score like any other. **Predict** `p` of the padded key for each of the four
# rows if nothing is done about it, and what that does to $O$ and to the LSE. (The rows' maxima are
# $2.121, 1.414, 0, 1.414$.)

# %% tags=["nbval-check-output"]
K_padded, V_padded = (torch.cat([t, torch.zeros(1, 2, dtype=t.dtype)]) for t in (K, V))

O_leak, LSE_leak = scan(Q, K_padded, V_padded, alpha)
print("p of the padded key ", torch.exp(0 - scores.amax(dim=1)).numpy().round(3))
print("O, leaking / O      ", (O_leak / O)[:, 0].numpy().round(3))
print("LSE, leaking − LSE  ", (LSE_leak - LSE).numpy().round(3))

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - In row 2 the maximum is 0, and the padded key gets $p = e^{0 - 0} = 1$, as much as the best real key.
# - Its value is a row of zeros, so it adds nothing to `acc`, and yet $O$ is wrong: the denominator counts it. Every
#   row of $O$ is too small by one factor, and the LSE too large by its logarithm.
# - A filler other than 0 does not help. The score is the result of the product, and no finite filler gives $-\infty$
#   for every query. The mask has to be applied to $S$: `s = tl.where(in_keys[None, :], s, -float("inf"))`. Then
#   $p = 0$ exactly.
#
# </details>

# %% [markdown]
# Padded **queries** are harmless here: their rows of $S$ are computed from zeros, and the store's mask keeps their
# rows of $O$ and LSE from being written. Nothing else uses them. (In lesson 08 something does.)

# %% [markdown]
# ## 5 · A D that is not a power of two
#
# `tl.arange` needs powers of two, and the tensor cores need an inner dimension of at least 16. So the tile gets
# `BLOCK_D` ≥ $D$ lanes, as in the picture above, and every load has `d < D` in its mask. Two zeros, one in $q$ and one
# in $k$, add nothing to a dot product: **the scores do not change**, and nothing needs to be masked in $S$. The padded
# columns of $V$ become padded columns of `acc`, full of zeros, and the store's mask drops them.
#
# It is right, and it is not free. **Predict** which head dimension below wastes most.

# %% tags=["nbval-check-output"]
for D_head in (2, 24, 64, 80, 96, 128):
    BLOCK_D = max(16, triton.next_power_of_2(D_head))
    print(f"D = {D_head:3}  BLOCK_D = {BLOCK_D:3}  multiplications by zero: {1 - D_head / BLOCK_D:4.0%}")

# %% [markdown]
# ## 6 · Offsets of 64 bits
#
# > ### Sources corrected: the index fits
# >
# > **The claim**, implied by code that computes `(b * H + h) * S * S + i * S + j` with 32-bit integers: no single
# > dimension is large, so the index fits into an `int`.
# >
# > **The experiment.** A batch of 8 with 32 heads and 4096 tokens, and a kernel that does nothing but compute where
# > each head begins. **Predict** the last line, for 32 bits and for 64.


# %% tags=["nbval-check-output"]
@triton.jit
def head_offsets_kernel(offset_ptr, S, WIDE: tl.constexpr):
    head = tl.program_id(0)
    if WIDE:
        head = head.to(tl.int64)
    tl.store(offset_ptr + tl.program_id(0), head * S * S)


for wide in (False, True):
    offsets = torch.empty(8 * 32, dtype=torch.int64, device=DEVICE)
    head_offsets_kernel[(8 * 32,)](offsets, 4096, WIDE=wide)
    print("64 bits:" if wide else "32 bits:", {head: int(offsets[head]) for head in (1, 127, 128, 255)})

# %% [markdown]
# > **The verdict.** From head 128 on the 32-bit product is negative: $128 \cdot 4096^2 = 2^{31}$ is one more than an
# > `int` can hold, and it wraps around without an error. The program reads $2^{31}$ elements *before* the tensor, four
# > gigabytes in half precision. No small test finds this by its result. The check below looks for it in another way:
# > it launches your kernel once more with the *strides* of a large layer ($B = 32$, $H = 16$, $S = 65536$, $D = 128$)
# > but without allocating memory for it, and follows the addresses.
#
# FlashAttention never indexes $S$, which is another advantage. But $B \cdot H \cdot S \cdot D$ can exceed $2^{31}$
# too, at larger sizes, and in the usual layout, `[B, S, H, D]` in memory, one *row* is $H \cdot D$ elements from the
# next. The rule is simple: **one 64-bit factor makes the product 64 bits wide.** In the exercise the first lines are
# given. They turn the head and the batch entry into 64-bit numbers and move the pointers to the head, so that this
# much is safe for any size.
#
# Within a head 32 bits are usually enough, and `rows`, `keys` and `d` stay as they are. You should know the limit: the
# head's last element must be less than $2^{31}$ elements after its first,
# $(S - 1) \cdot \text{row stride} + (D - 1) \cdot \text{column stride} < 2^{31}$. In `[B, S, H, D]` with
# $H \cdot D = 4096$ that allows $S$ up to 524288. Beyond that, offsets would wrap around again. (A kernel that
# advances its pointer from tile to tile by a 64-bit number has no such limit.)
#
# Why not 64 bits everywhere, then? Because a tile of wide offsets is multiplied and added in 64 bits, which takes
# several instructions for each offset on a GPU, and is computed again in every step. The cost was measured on an H200,
# for this forward pass:
#
# | | with 64-bit tiles | without |
# |---|---|---|
# | $B \cdot H = 256$, $S = 1024$, fp16, $D = 64$ | 274 µs | 243 µs |
# | the same, $D = 128$ | 441 µs | 406 µs |
# | 16384 tokens, $S = 4096$, bf16, $D = 64$: all keys, causal | 287, 199 TFLOP/s | 331, 266 TFLOP/s |
# | the same, $D = 128$: all keys, causal | 349, 284 TFLOP/s | 410, 346 TFLOP/s |
#
# That is 9 to 34 % faster, only because `.to(tl.int64)` is in a different place. (The last two rows are from a later
# run, with the same blocks.)
#
# There is one more limit of this kind. A grid's second and third axes are limited to 65535. The launcher uses them for
# $H$ and $B$, so each of them may be that large. With $B \cdot H$ on the second axis, as in many kernels, their
# product would have to fit: with $B \cdot H = 65536$ nothing is computed wrongly, but the launch fails with an error.

# %% [markdown]
# ## 7 · A negative alpha
#
# $\alpha$ is an argument. It is nearly always $1/\sqrt{D}$, but nothing in the mathematics says that it is positive,
# and a kernel should either work or refuse. Tuned kernels save a multiplication per score by taking the maximum of
# $x = q \cdot k$ first and scaling afterwards: $m = \alpha \max_j x_j$. **Predict** what that is for $\alpha < 0$.

# %%
pictures.folded_maximum([-40.0, -22.0, 3.0, 31.0, 60.0], alpha=-1.5)

# %% [markdown]
# It is the *smallest* score of the row. By the proof of section 2 the result is still right in exact arithmetic, as
# for any $m$. But the exponentials are no longer bounded by 1, so it works for small scores and fails for large ones,
# which is easy to miss. Here are three ways to go wrong, with one row of three keys each:


# %% tags=["nbval-check-output"]
def one_row(x, alpha, m, hidden=()):
    """softmax of alpha·x relative to m in fp32, hidden keys set to −inf after the scale: p."""
    s = alpha * torch.tensor(x)
    s[list(hidden)] = -math.inf
    p = torch.exp(s - m)
    return (p / p.sum()).numpy().round(3)


x_small, x_large = [1.0, 2.0, 3.0], [10.0, 20.0, 90.0]
print("m = max(alpha x), small  ", one_row(x_small, -1.5, -1.5 * min(x_small)))
print("m = alpha max(x), small  ", one_row(x_small, -1.5, -1.5 * max(x_small)))
print("m = max(alpha x), large  ", one_row(x_large, -1.5, -1.5 * min(x_large)))
print("m = alpha max(x), large  ", one_row(x_large, -1.5, -1.5 * max(x_large)))

masked_first = -1.5 * torch.tensor([1.0, 2.0, -math.inf])  # key 2 hidden before the scale
print("mask, then scale         ", masked_first.tolist(), "→", torch.softmax(masked_first, dim=0).tolist())
unscaled_start = torch.exp(-1.5 * (torch.tensor(-math.inf) - 3.0))  # exp(alpha (m_old − m_new)), m_old = −inf
print("first rescale, m unscaled", unscaled_start.item(), " times l = 0:", (unscaled_start * 0.0).item())

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - The minimum as "maximum" gives the right answer at first, and NaN as soon as the scores are some 88 apart.
# - If the mask is applied before the scale, $-\infty$ becomes $+\infty$, and the result is NaN.
# - If the running maximum is kept unscaled, its initial $-\infty$ gives $e^{+\infty} \cdot 0$, which is NaN, in the
#   first rescale.
# - All three are right for $\alpha > 0$. The remedy costs one multiplication per score: **scale, then mask, then take
#   the maximum.** A kernel that folds the scale into the exponential (as in lesson 12) must check the sign, or take
#   the minimum of $x$ for $\alpha < 0$.
#
# </details>

# %% [markdown]
# ## 8 · The kernel
#
# ### Exercise: `flash_forward` · core
#
# You now have all the pieces. The launcher is given, and so are the kernel's first lines: they find the program's
# head, move the five pointers to it, and name the block's queries `rows`, a tile's keys `keys` (counted from the
# tile's first), and the lanes `d`. The rest is for you to write. The check requires:
#
# - $Q$ `[B, H, S_q, D]`, $K$ and $V$ `[B, H, S_k, D]`, each with its own strides, including that of the last
#   dimension; any $S_q, S_k \ge 1$ and any $D$;
# - $O$ in the dtype of $Q$; LSE in fp32, natural logarithm, contiguous `[B, H, S_q]`. LSE must be accurate to about
#   $2 \cdot 10^{-6}$ with half-precision inputs too, since rounding $P$ does not affect it;
# - fp32, fp16 and bf16; sums in fp32; scores beyond ten thousand of either sign; values around $10^4$ in fp16;
#   $\alpha$ of either sign;
# - $H$ and $B$ up to 65535 each, since they are the grid's second and third axis ($B \cdot H$ on one of the two is too
#   much), and the head's offset in 64 bits.
#
# Element $(i, e)$ of this head's $Q$ is at `q_ptr + i * q_row + e * q_col`. Useful pieces: `tl.full`, `tl.zeros`,
# `tl.trans`, `tl.dot(a, b, input_precision="ieee")`, `tl.where`, and `for start in range(0, S_k, BLOCK_K):` with
# `columns = start + keys`.
#
# Before you write, say what each of these is the neutral element of: `-float("inf")` in `m_i`, `0` in `l_i`, `0` in
# a padded row of `v`, `-float("inf")` in a padded column of `s`.

# %% exercise="flash_forward"
# HINT: The loop of section 2, with tiles in place of torch slices. Before the loop: q, and the state of a row
#     that has seen nothing, $(-\infty, 0, 0)$. In the loop, in this order: load k and v, scores, mask, new
#     maximum, rescale, p, l_i, acc. After it: divide once, store O and LSE. Which of these lines must handle
#     tiles that are not full?
# HINT: Shapes: `q` (BLOCK_Q, BLOCK_D); `k` and `v` (BLOCK_K, BLOCK_D); `s` and `p` (BLOCK_Q, BLOCK_K); `m_i`,
#     `l_i`, `rescale` (BLOCK_Q,); `acc` (BLOCK_Q, BLOCK_D). A number per row is broadcast over a tile as `x[:, None]`.
#     Tiles are loaded with `other=0.0` under a mask of rows *and* `d < D`; scores of keys beyond `S_k` become
#     `-float("inf")` after `alpha`; `p` is cast to `v.dtype` for `tl.dot`; all else that you compute is fp32.
# HINT: Line by line: `s` is alpha times `tl.dot` of q and the transposed k, then −inf by `tl.where` in the
#     columns without a key. `m_new` is the larger of `m_i` and the maximum of s along axis 1. `rescale`
#     and `p` are two exponentials relative to `m_new`. `l_i` and `acc` are both multiplied by `rescale`
#     before they grow, by a row sum and by a second `tl.dot`; and the last line of the loop remembers the
#     maximum. After the loop O is divided by `l_i`, and LSE is a sum of two terms. Every `tl.dot` gets
#     `input_precision="ieee"`.
# INCLUDE: flashlearn/kernels/flash_forward.py:flash_forward_kernel


# INCLUDE: flashlearn/kernels/flash_forward.py:flash_forward

# %%
flashlearn.check("flash_forward", flash_forward)

# %%
# flashlearn.hint("flash_forward")

# %% [markdown]
# When it passes, feed it the running example, where $S_q$, $S_k$ and $D$ all differ and none fills a tile:

# %% tags=["nbval-check-output"]
forward = flashlearn.use("flash_forward", flash_forward)


def as_heads(*matrices, dtype=torch.float32):
    """[S, D] matrices as one head of one batch, [1, 1, S, D], on the device that kernels run on."""
    return tuple(matrix[None, None].to(DEVICE, dtype) for matrix in matrices)


o, lse = forward(*as_heads(Q, K, V), alpha)
print(o[0, 0].cpu().numpy().round(3), lse[0, 0].cpu().numpy().round(3))
torch.testing.assert_close(o[0, 0].cpu().double(), O, rtol=0, atol=1e-6)

# %% [markdown]
# Then break it on purpose, one thing at a time, and read what the check says:
#
# - no `rescale` in `acc`; then none in `l_i`; then none in either;
# - no mask on `s`;
# - `m_i` started at 0;
# - `acc` started in `q.dtype` (and converted back to it after each step);
# - `q` multiplied by `alpha` right after its load and rounded back to its dtype, instead of `s` afterwards;
# - `range(0, S_k // BLOCK_K * BLOCK_K, BLOCK_K)`.
#
# Before each, predict *which cases* will fail: how many of them have more than one tile of keys? Ragged keys? Rows far
# below zero? Sums that overflow fp16? Here are the cases that are not ordinary.

# %% tags=["nbval-check-output"]
largest, lowest = 0.0, 0.0
for case in flashlearn.lessons.find("flash_forward").cases:
    if case.gpu:
        continue
    given = flashlearn.lessons.find("flash_forward").inputs(case, case.generator())
    s = reference.attention_scores(given["q"], given["k"], given["alpha"])
    row_max = s.amax(dim=-1)
    largest, lowest = max(largest, float(s.max())), min(lowest, float(row_max.min()))
    if s.abs().max() > 50 or given["v"].abs().max() > 1000:
        print(
            f"{case.name:42} scores {float(s.min()):6.0f} to {float(s.max()):5.0f},"
            f" lowest row maximum {float(row_max.min()):5.0f}"
        )
print(f"largest score {largest:.0f}, lowest maximum of a row {lowest:.0f}")

# %% [markdown]
# Starting `m_i` at 0 is the subtle mistake. By section 2 any $m$ is right, so where does it go wrong? **Predict** the
# error of $O$ for a row of two keys with the scores $-s$ and $-s - 0.5$, for $s$ = 5, 20, 80, 100 and 105, in fp32 and
# with $P$ rounded to fp16. (The smallest number above 0 is $1.4 \cdot 10^{-45} = e^{-103.3}$ in fp32, and
# $6 \cdot 10^{-8} = e^{-16.6}$ in fp16.)

# %% tags=["nbval-check-output"]
v_two = torch.tensor([1.0, 3.0])
for s_both in (5.0, 20.0, 80.0, 100.0, 105.0):
    p_two = torch.exp(torch.tensor([-s_both, -s_both - 0.5]))  # relative to m = 0
    right = torch.softmax(torch.tensor([-s_both, -s_both - 0.5]).double(), 0) @ v_two.double()
    results = {}
    for dtype in (torch.float32, torch.float16):
        o_two = (p_two.to(dtype).float() @ v_two) / p_two.sum()
        results[dtype] = abs(float(o_two / right - 1))
    print(
        f"s = {-s_both:5}: O off by {results[torch.float32]:9.2%} in fp32,"
        f" {results[torch.float16]:9.2%} with P in fp16"
    )

# %% [markdown]
# And now the scaled $q$. In exact arithmetic $(\alpha q) \cdot k = \alpha\,(q \cdot k)$. **Predict** for which of
# these head dimensions the difference shows in LSE, in fp16 and in bf16.

# %%
generator = torch.Generator().manual_seed(4)
for D_head in (32, 64, 128):
    for dtype in (torch.float16, torch.bfloat16):
        q_half, k_half = (torch.randn(64, D_head, generator=generator).to(dtype) for _ in range(2))
        scale = D_head**-0.5
        exact = torch.logsumexp(scale * q_half.double() @ k_half.double().T, dim=1)
        late = torch.logsumexp(scale * (q_half.float() @ k_half.float().T), dim=1)
        q_scaled = scale * q_half  # in half precision, too
        early = torch.logsumexp(q_scaled.float() @ k_half.float().T, dim=1)
        off = [float((lse - exact).abs().max()) for lse in (late, early)]
        assert off[0] < 2e-6 and (off[1] > 2e-5 or D_head == 64)
        print(
            f"D {D_head:3}, {str(dtype)[6:]:8}  LSE off by {off[0]:.0e} if s is scaled, {off[1]:.0e} if q is"
        )

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - With `m_i` started at 0 nearly everything passes: any $m$ is right. A row whose scores are all near $-100$ loses
#   digits in fp32, since its exponentials are among the smallest positive numbers; below $-104$ all of them are 0, and
#   $O$ is $0/0$. (Hardware that flushes such tiny numbers to 0 gets there below $-87$.) With $P$ in fp16 digits are
#   lost from about $-10$ on, and below $-17$ all of $P$ is 0, while the LSE is still right. bf16 has the range of
#   fp32, and behaves in the same way.
# - A $q$ that is scaled in its own dtype is rounded once more, each element by up to $2^{-11}$ or, in bf16, $2^{-8}$
#   of itself. $O$ hardly shows it, since $P$ is rounded as coarsely anyway. LSE does: its error is fifty to a thousand
#   times what the check allows. Where $\alpha$ is a power of two, as for $D = 64$, nothing is rounded at all. In fp32
#   scaling $q$ first is as good as scaling $s$.
# - In half precision `acc` fails by overflow where $V$ is large, though $O$ itself would fit: `acc` is $l$ times as
#   large as $O$. With ordinary values it is only less accurate, and a generous tolerance would let it pass.
# - FlashAttention-2 divides by `l_i` once, at the very end. The first version kept $O$ normalised after every tile:
#   that is also right, but takes one more division per tile and element.
#
# </details>

# %% [markdown]
# ## 9 · What it moves
#
# The report of a check says under *Memory traffic* how many bytes the programs requested. **Predict** for the case
# `S 128, D 64` in fp32 with blocks of 32 queries: how often is each of $Q$, $K$, $V$ read, and $O$ written?

# %% tags=["nbval-check-output"]
report = flashlearn.check("flash_forward", forward, demo=True)
observation = next(o for o in report.outcomes if o.case.name == "S 128, D 64").observation

rows_, D_, size, blocks = 128, 64, 4, 128 // 32
predicted = size * (2 * rows_ * D_ + rows_ + blocks * 2 * rows_ * D_)  # Q and O once, LSE; K and V per block
print("predicted     ", predicted)
print("requested     ", observation.bytes_requested)
print("each byte once", observation.bytes_unique)

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - $Q$ is read and $O$ written once, $K$ and $V$ are read once *per block of queries*:
#   $2 S_q D + \lceil S_q / B_q \rceil \cdot 2 S_k D$ elements (and the LSE), and no term with $S_q \cdot S_k$ that is
#   not divided by the block size. (If you chose other blocks, your count differs from the prediction; put your numbers
#   in.)
# - The requested bytes are an upper bound on what memory moves: programs of one head that run at about the same time
#   share $K$ and $V$ in the L2 cache. The lower bound is each byte once.
# - $4 S_q S_k D$ operations on that traffic: with blocks of 64 and half precision about 60 operations per requested
#   byte. This is one reason why larger blocks of queries can be faster, until registers run out (lesson 05).
#
# </details>

# %% [markdown]
# ## 10 · A causal mask, and where the loop ends
#
# In a language model a token must not look at later tokens: query $i$ sees the keys $j \le i$ and no others. The
# hidden scores are set to $-\infty$. That is all that is needed for the result; but since about half of $S$ is hidden,
# it would be a waste to compute it. With $S_q = S_k = 12$ and tiles of 4:

# %%
pictures.causal_tiles([(12, 12)])

# %% [markdown]
# There are three kinds of tiles. **Whole** ones are below the diagonal: every query sees every key, and no mask is
# needed. **Crossed** ones contain the diagonal: they are computed in full and masked. The rest are **skipped**: a
# program's loop simply ends after the tile that contains the last key of its last query. **Predict** what share of the
# tiles remains, for few tiles and for many:

# %% tags=["nbval-check-output"]
for tiles in (1, 2, 4, 16, 64):
    kinds = [kind for row in pictures.tile_kinds(64 * tiles, 64 * tiles, 64) for kind in row]
    share, crossed = 1 - kinds.count("skipped") / len(kinds), kinds.count("crossed")
    print(f"{tiles:2} × {tiles:2} tiles: {share:6.1%} visited, {crossed} of them crossed")

# %% [markdown]
# It tends to one half, $(n + 1) / 2n$ for $n \times n$ tiles: a causal kernel could be nearly twice as fast, and only
# the $n$ crossed tiles need a mask at all. (Lesson 12 splits the loop for that reason. Here every tile is masked: the
# comparison is cheap compared with the two products.)
#
# ### Where the mask goes
#
# The mask must come before the sum $l$. But must it come before the maximum? **Predict** which of the four places
# give the right $O$, on the running example with query $i$ seeing keys $j \le i - 1$, rows 1 to 3.


# %% tags=["nbval-check-output"]
def masked_attention(place):
    """O of rows 1 to 3, the mask applied at one of four places."""
    x = scores[1:]  # (3, 3); queries 1, 2, 3
    hidden = torch.arange(3)[None, :] > torch.arange(3)[:, None]  # the query's own number less one
    s = x.masked_fill(hidden, -math.inf) if place == "before the maximum" else x
    m = s.amax(dim=1, keepdim=True)
    s = x.masked_fill(hidden, -math.inf) if place == "before the exponential" else s
    p = torch.exp(s - m)
    p = p.masked_fill(hidden, 0) if place == "before the sum" else p
    l = p.sum(dim=1, keepdim=True)
    p = p.masked_fill(hidden, 0) if place == "after the sum" else p
    return p @ V / l


right = reference.attention_forward(Q, K, V, alpha, causal=True)[0][1:]
for place in ("before the maximum", "before the exponential", "before the sum", "after the sum"):
    print(f"{place:23}", "right" if torch.allclose(masked_attention(place), right) else "wrong")

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - After the maximum is early enough: $m$ may then come from a key that the query must not see, but any $m$ is right
#   (section 2). It is not quite harmless: if a hidden score is about a hundred above the visible ones, every visible
#   $p$ underflows, and in fp16 much earlier (lesson 10 measures it).
# - After the sum is too late: the hidden keys are no longer in the numerator but still in the denominator. Each row of
#   $O$ with a hidden key is too small, and its LSE too large. This is the same error as the leak of section 4.
#
# </details>

# %% [markdown]
# ## 11 · More keys than queries, and fewer
#
# Where is the diagonal if $S_q \ne S_k$? There are two conventions, and both are in use. With **top-left** alignment
# query $i$ sees the keys $j \le i$. With **bottom-right** alignment the *last* query sees the *last* key:
#
# $$j \;\le\; i + S_k - S_q .$$
#
# Consider a model that generates text: the keys and values of all tokens so far, including the newest, are cached
# (three in the next cell), and there is one new query, $S_q = 1$. **Predict** what the new token may attend to under
# either convention.

# %% tags=["nbval-check-output"]
new_query = Q[3:4][None, None]  # (1, 1, 1, 2): one query, three keys
keys_, values_ = K[None, None], V[None, None]

sdpa = torch.nn.functional.scaled_dot_product_attention
torch_causal = sdpa(new_query, keys_, values_, is_causal=True, scale=alpha)
bottom_right = reference.attention_forward(new_query, keys_, values_, alpha, causal=True)[0]
print("values               ", V.tolist())
print("torch, is_causal=True", torch_causal.flatten().numpy().round(3))
print("bottom-right         ", bottom_right.flatten().numpy().round(3))

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - Top-left, as torch's `is_causal` has it (and cuDNN's ordinary causal mask), the newest token sees only the oldest
#   key: the result is exactly the first value. For a new sequence, where $S_q = S_k$, both conventions agree; here
#   top-left is hardly what one wants.
# - Bottom-right, as in FlashAttention from version 2.1 on, the newest token sees all tokens so far. This course uses
#   it throughout.
# - For $S_q = S_k$ the two agree, so a test with square $S$ cannot tell them apart. *Never only $S_q = S_k$.*
#
# </details>

# %% [markdown]
# In tiles of 4, first top-left, and then bottom-right as in this course:

# %%
pictures.causal_tiles([(12, 12), (6, 12), (12, 6)], align="top-left")

# %%
pictures.causal_tiles([(12, 12), (6, 12), (12, 6)])

# %% [markdown]
# Top-left, the last six keys of the middle panel are seen by no query. Bottom-right, the first six queries of the
# right panel see nothing. Change the number of queries, with 12 keys: the last row always sees all keys.

# %%
slider(lambda S_q: pictures.causal_tiles([(S_q, 12)]), {"S_q": 10}, S_q=(1, 4, 8, 10, 12, 14, 16))

# %% [markdown]
# Where does the loop of program (pid, head, batch) end, then? Write it down with pid, $B_q$, $S_q$ and $S_k$ before
# you unfold: which is the block's last query, and which is the last key that it sees? What does your formula give for
# the first program with 12 queries, 6 keys, and tiles of 4? And what does Python's `range` do with that?
#
# <details><summary>The end, derived</summary>
#
# The block's last query is $(\mathrm{pid} + 1) \cdot B_q - 1$. It sees the keys up to
# $(\mathrm{pid} + 1) \cdot B_q - 1 + S_k - S_q$, and there are no more than $S_k$. So the loop ends, exclusive, at
#
# $$\mathrm{end} = \min\bigl(S_k,\; (\mathrm{pid} + 1) \cdot B_q + S_k - S_q\bigr).$$
#
# With 12 queries, 6 keys and tiles of 4 that is $4 + 6 - 12 = -2$ for program (0, 0, 0). `range(0, -2, 4)` is an empty
# loop, which is right: these queries see nothing.
#
# </details>

# %% [markdown]
# ## 12 · Rows with nothing to attend to
#
# For $S_q > S_k$ the first $S_q - S_k$ queries see no key at all. The running example has one: with $S_q = 4$ and
# $S_k = 3$, query 0 sees the keys $j \le -1$. What should the result be? Empty sums are 0, and the logsumexp of
# nothing is $\log 0 = -\infty$: the state that every scan starts with, the identity of merging (lesson 04). So this
# course defines $O = 0$ and $\mathrm{LSE} = -\infty$ for such a row; $P$ and all gradients are 0.
#
# **Predict** what the loop computes, line by line, if nothing is done about it. All scores of the row are $-\infty$.

# %% tags=["nbval-check-output"]
s_nothing = torch.full((3,), -math.inf)
m_nothing = torch.tensor(-math.inf)

m_next = torch.maximum(m_nothing, s_nothing.max())
print("m_new  ", m_next.item())
print("rescale", torch.exp(m_nothing - m_next).item())
print("p      ", torch.exp(s_nothing - m_next).tolist())

shift = torch.where(m_next == -math.inf, 0.0, m_next)  # the guard: subtract 0 where there is no maximum
p_guarded = torch.exp(s_nothing - shift)
l_guarded = torch.exp(m_nothing - shift) * 0 + p_guarded.sum()
print("guarded: p", p_guarded.tolist(), " l", l_guarded.item(), " LSE", (m_next + l_guarded.log()).item())

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - $-\infty - (-\infty)$ is NaN, and so is everything computed from it. One such row in the output is enough: in the
#   next layer's attention its NaN can spread to other tokens.
# - Any finite number will do in the guard, since $e^{-\infty - c} = 0$; 0 is the obvious one. With it $p = 0$, $l = 0$,
#   and the LSE comes out as $-\infty$ by itself.
# - One more guard is needed: $O = acc / l = 0/0$. Divide by 1 where $l = 0$.
# - Not every library stores $-\infty$ here. FlashAttention-2 stores $+\infty$: that is not the logarithm of any sum,
#   but with it $e^{S - \mathrm{LSE}}$ is 0 in the backward pass without a guard. Its split kernels, whose partial
#   results are merged, store $-\infty$, since a merge needs the identity. FlashAttention-3 stores $-\infty$
#   throughout, and its backward pass replaces it by 0. Check the convention before you mix kernels of two libraries.
#
# </details>
#
# ### A finite number in place of infinity?
#
# Some kernels avoid the question by writing $-10^9$ where $-\infty$ belongs: no NaN, no guard. **Predict** $O$ of
# query 0.

# %% tags=["nbval-check-output"]
row_of_filler = torch.full((1, 3), -1e9)
p_filler = torch.softmax(row_of_filler, dim=1)
print("p", p_filler.numpy().round(3), " O", (p_filler @ V.float()).numpy().round(3))
print("LSE", torch.logsumexp(row_of_filler, dim=1).item())

# %% [markdown]
# All scores are equal, so the query attends equally to everything: $O$ is the mean of all the values that it must not
# see. There is no NaN and no warning; the future leaks into a row that should see nothing. A visible failure has
# become an invisible one.

# %% [markdown]
# ### Exercise: `flash_forward_causal` · core
#
# The same kernel with a causal mask, bottom-right. Start from your lines of exercise 1; four of them change. The check
# requires everything that it required before, and
#
# - $S_q < S_k$ and $S_q > S_k$; rows that see nothing have $O = 0$ and $\mathrm{LSE} = -\infty$, whether their whole
#   block sees nothing or only a part of it;
# - tiles that no query of the block sees are not visited: the result would be the same, but the check counts the
#   bytes.

# %% exercise="flash_forward_causal"
# HINT: Start from your `flash_forward`. Four lines change: where the loop ends, which scores are masked, what
#     is subtracted where a row has seen nothing yet, and by what a row that never does is divided. Which key is
#     the last that query i sees? And the last that the block's last query sees?
# HINT: Query `rows` sees the keys `columns <= rows + S_k - S_q`: an array per row, compared as `columns[None,
#     :] <= (…)[:, None]`, together with `columns < S_k`. The loop's end is a number: one more than the last
#     key of the block's last query, `S_k` at most (and a negative end is an empty loop). Where `m_new` is
#     −inf subtract 0 instead; where `l_i` is 0 divide by 1.
# HINT: The end is `tl.minimum` of S_k and of one more than the last key that query `(pid + 1) * BLOCK_Q - 1`
#     sees. The mask is `columns < S_k` along the columns and the comparison of the second hint on the whole
#     tile, joined by `&`. Two `tl.where` are left: one makes a `shift` of `m_new` that is never −inf and is
#     subtracted in both exponentials, the other one is in the division.
# INCLUDE: flashlearn/kernels/flash_forward.py:flash_forward_causal_kernel


# INCLUDE: flashlearn/kernels/flash_forward.py:flash_forward_causal

# %%
flashlearn.check("flash_forward_causal", flash_forward_causal)

# %%
# flashlearn.hint("flash_forward_causal")

# %% [markdown]
# The running example, causal. Query 0 sees nothing, query 1 sees key 0 alone, query 3 sees all:

# %% tags=["nbval-check-output"]
causal_forward = flashlearn.use("flash_forward_causal", flash_forward_causal)

o, lse = causal_forward(*as_heads(Q, K, V), alpha)
print(o[0, 0].cpu().numpy().round(3))
print("LSE", lse[0, 0].cpu().numpy().round(3))
expected = reference.attention_forward(Q, K, V, alpha, causal=True)
torch.testing.assert_close((o[0, 0].cpu().double(), lse[0, 0].cpu().double()), expected, rtol=0, atol=1e-6)

# %% [markdown]
# Row 1 of $O$ is the first value, $(1, 0)$: with a single visible key, its weight is 1, and the LSE is that key's
# score. Row 3 is the same as without a mask.
#
# And at a size with several tiles, compared with torch. **Predict** in which rows torch agrees with your kernel if
# torch is given `is_causal=True` and $S_q = 40$, $S_k = 70$.

# %% tags=["nbval-check-output"]
generator = torch.Generator().manual_seed(0)
q_, k_, v_ = (torch.randn(1, 2, S_, 64, generator=generator).to(DEVICE) for S_ in (40, 70, 70))
o, _ = causal_forward(q_, k_, v_, 1 / 8)

hidden_ = ~reference.visible(40, 70, causal=True, device=DEVICE)
masked_torch = torch.softmax((q_ @ k_.mT / 8).masked_fill(hidden_, -math.inf), dim=-1) @ v_
top_left = sdpa(q_, k_, v_, is_causal=True)
print("agrees with a bottom-right mask:", torch.allclose(o, masked_torch, atol=1e-5))
same_rows = (o - top_left).abs().amax(dim=(0, 1, 3)) < 1e-5
print("rows that agree with is_causal: ", int(same_rows.sum()), "of 40")

# %% [markdown]
# None: torch's last query sees 40 keys, and yours all 70.
#
# Break the causal kernel as well: `<` for `<=`; the mask without `S_k - S_q`, then the loop's end without it; the
# loop's end without the mask, and the mask without the loop's end; no guards. One of these changes only the time. And
# before you look: which of them would a test with $S_q = S_k = 128$ find?
#
# <details><summary><b>What to notice</b></summary>
#
# - With $S_q = S_k$ the shift is 0, and no row is empty. So such a test finds `<` for `<=` and the missing mask, but
#   not a wrong alignment, in the mask or in the loop's end, nor a missing guard.
# - The mask alone is enough for a right result: hidden tiles give $p = 0$ and change nothing, but cost the full time.
#   The loop's end alone is not enough: in the crossed tiles queries see keys that they must not.
# - `columns < S_k` is no longer needed: the last key that the last query sees is $S_k - 1$. Removing it changes no
#   stored number. (The load's mask is still needed.)
# - `<` for `<=` leaves query 0 of a square case without any key. With the guards that is a row of zeros and not NaN: a
#   guard makes a wrong mask less visible. Its LSE of $-\infty$ reveals it.
#
# </details>

# %% [markdown]
# ### One program, step by step
#
# Watch where the causal program stops. `flashlearn.trace` shows what one program touches, access by access; move the
# slider, or click on it and use the arrow keys. 128 queries and keys, $D = 64$, blocks of 32, and program (1, 0, 0):
# queries 32 to 63. **Predict** how many tiles of $K$ it reads with the causal mask and without, and how often it reads
# its $Q$.

# %%
generator = torch.Generator().manual_seed(1)
heads = [torch.randn(1, 1, 128, 64, generator=generator).to(DEVICE) for _ in range(3)]  # q, k, v
all_keys = flashlearn.trace(forward, *heads, 1 / 8, program=(1, 0))
causal_only = flashlearn.trace(causal_forward, *heads, 1 / 8, program=(1, 0))

assert causal_only["k_ptr"].requested < all_keys["k_ptr"].requested
assert all_keys["k_ptr"].again == 0
print("bytes of K without a mask", all_keys["k_ptr"].requested, " causal", causal_only["k_ptr"].requested)
causal_only

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - $Q$ comes first, once, and stays in registers. Then a tile of $K$ and a tile of $V$ in turn, and at the end $O$ and
#   the LSE, each once. No step touches anything of the size $S_q \times S_k$.
# - The causal program stops after two of four tiles, the crossed one included. Programs of later queries read more:
#   try `program=(3, 0)`, which is program (3, 0, 0).
# - The program itself reads no byte of $K$ twice. For all programs together, *again* is not 0: every block of queries
#   requests the same keys again.
#
# </details>

# %% [markdown]
# ## 13 · One kernel for both
#
# Two kernels that share thirty lines drift apart: someone fixes one and forgets the other. Published kernels usually
# are one kernel with a flag. The flag is a `tl.constexpr`, which matters: `if IS_CAUSAL:` is decided when the kernel
# is compiled, like `#if` in C, and the branch that is not taken does not exist in the compiled code. Here is a kernel
# that counts how many keys each query sees, with your loop's end and your mask. **Predict** for which of the two flags
# the compiled code is shorter.


# %% tags=["nbval-check-output"]
@triton.jit
def keys_seen_kernel(count_ptr, S_q, S_k, IS_CAUSAL: tl.constexpr, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    count = tl.zeros((BLOCK,), tl.int32)
    end = S_k
    if IS_CAUSAL:
        end = tl.minimum(S_k, (tl.program_id(0) + 1) * BLOCK + S_k - S_q)
    for start in range(0, end, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        seen = (columns < S_k)[None, :] & (rows < S_q)[:, None]
        if IS_CAUSAL:
            seen = seen & (columns[None, :] <= rows[:, None] + S_k - S_q)
        count += tl.sum(seen.to(tl.int32), axis=1)
    tl.store(count_ptr + rows, count, mask=rows < S_q)


lines = {}
for flag in (False, True):
    count = torch.empty(20, dtype=torch.int32, device=DEVICE)
    with flashlearn.observing() as (session, _):
        keys_seen_kernel[(2,)](count, 20, 24, IS_CAUSAL=flag, BLOCK=16)
    assert torch.equal(count, reference.visible(20, 24, flag, DEVICE).sum(dim=1).int())
    lines[flag] = listing(session.launches[-1])["ptx"].count(";\n")  # for an H100, which need not be here
    print(f"IS_CAUSAL={flag!s:5}: query 0 sees {int(count[0])} keys, query 19 sees {int(count[19])}")

print("the causal variant has more instructions:", lines[True] > lines[False])

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - One source, two compiled kernels, each compiled at its first launch. Without a mask there is no cost for one:
#   neither the comparison nor the test of the flag is in that variant. With an ordinary argument instead of the flag
#   both would be in one kernel, and the flag would be tested at run time.
# - There is one compiled kernel for each combination of constants. A flag has two values; a `constexpr` that takes a
#   hundred values, such as a length, leads to a hundred compiled kernels.
# - `end` is an argument in one variant and a `tl.minimum` in the other; each variant contains only its own. With an
#   ordinary `if` the lines after it are compiled once for both branches, so a name must have the same type after
#   either branch.
#
# </details>
#
# ### Exercise: `flash_forward_either` · stretch
#
# Combine your two kernels into one. It has `IS_CAUSAL: tl.constexpr` among its arguments, and the launcher, which is
# given, passes its own `causal` there. Do the two guards belong under the flag? (Lesson 12 builds on such a kernel.)
#
# The check requires what it required of the two, with every second case causal, and **one kernel**: both values of the
# flag must launch the same one.

# %% exercise="flash_forward_either"
# HINT: Put your two kernels side by side. Which lines differ, and which of the differences do no harm where
#     there is no mask? What does no harm may stay outside the flag; then both variants pay for it.
# HINT: Start from the kernel without a mask. Where the loop ends is a number: give it one value before the
#     `if`, and another under it. The scores are masked twice: keys that do not exist in either case, later
#     keys under the flag. The guards are needed only by rows that see nothing.
# HINT: `end = S_k`, and under `if IS_CAUSAL:` the `tl.minimum` of your causal kernel. In the loop the same: a
#     second `tl.where` on s, and `shift = m_new`, which the flag guards. After it a divisor that is `l_i`,
#     or, under the flag, 1 where `l_i` is 0. The launcher passes `IS_CAUSAL=causal`.
# INCLUDE: flashlearn/lessons/lesson_06_flash_forward/either.py:flash_forward_either_kernel


# INCLUDE: flashlearn/lessons/lesson_06_flash_forward/either.py:flash_forward_either

# %%
flashlearn.check("flash_forward_either", flash_forward_either)

# %%
# flashlearn.hint("flash_forward_either")

# %% [markdown]
# <details><summary><b>What to notice</b>, once it has passed</summary>
#
# - The guards do no harm without a mask: there is always a key, `m_new` is finite and `l_i` is not 0. They are one
#   selection for each row and tile, which is cheap compared with two products. Under the flag it is clear what they
#   are for.
# - The reports of the three exercises show the registers of each kernel under *On a GPU*: compare the two variants of
#   this kernel with the two kernels that they replace.
#
# </details>
#
# ## 14 · What you have now
#
# | | in the kernel | if it is forgotten |
# |---|---|---|
# | scan with $(m, l, acc)$ | `rescale` on `l_i` *and* `acc` | rows whose maximum changes after the first tile are wrong |
# | ragged $S_k$ | `s = -inf` beyond `S_k`, after `alpha` | padded keys get $p = e^{0 - m}$: $O$ too small, LSE too large |
# | ragged $S_q$ | mask of load and store | memory outside the tensor is accessed |
# | any $D$ | `d < D` in every mask, `BLOCK_D ≥ 16` | the next row's numbers in this row's product |
# | strides | four per tensor | right for one head and one layout only |
# | 64-bit offsets | one wide factor, to the head; wide tiles cost 9 to 34 % | wrong addresses from $2^{31}$ elements on, and only then |
# | $\alpha < 0$ | scale, mask, maximum, in this order | overflow or NaN, for negative $\alpha$ only |
# | causal | mask with $S_k - S_q$; early end | right only for $S_q = S_k$; twice the work |
# | rows with nothing | subtract 0 for $-\infty$; divide by 1 for 0 | NaN |
# | precision | fp32 state; `p.to(v.dtype)` | overflow, noise, or no compilation |
#
# ### Questions for yourself
#
# Answer before you unfold.
#
# **1.** A colleague's forward kernel passes all of its tests: $S_q = S_k = 128$, $D = 64$, one head, contiguous,
# normal data, fp32. Name four mistakes from this lesson that it may still contain.
#
# <details><summary>Answer</summary>
#
# Any four of: padded keys unmasked, or a loop that ends at `S_k // BLOCK_K * BLOCK_K` (128 is a multiple of the tile);
# $D$ unmasked (64 is a power of two); strides of $Q$ used for $K$ (same layout, same length); top-left alignment, or
# no guards (square $S$); `m_i` started at 0, or no maximum at all (normal scores stay far from 88); $\alpha$ folded
# into the maximum ($\alpha > 0$); an accumulator in `q.dtype` (which is fp32 here); 32-bit offsets.
#
# </details>

# %% [markdown]
# **2.** May the tiles of keys be visited from right to left? May a second program take every second tile, if the two
# results are merged? Would the code of your causal kernel still be right in either case?
#
# <details><summary>Answer</summary>
#
# Yes and yes: the state after a set of keys does not depend on the order (section 2), and two states merge as in
# lesson 04. That is how attention for a single query over a long cache is spread over a GPU. But in a scan from left
# to right, a row that sees any key sees key 0, hence something in the first tile. From right to left, or with every
# second tile, a row may meet tiles in which it sees nothing *before* its first key: $m$ is still $-\infty$, and the
# guard in the loop is needed for ordinary rows, not only for empty ones.
#
# </details>

# %% [markdown]
# **3.** For $S_k = 1$ softmax always gives $P = 1$ and $O = v$. Which of the mistakes above are invisible in $O$ in
# such a case, and what makes them visible?
#
# <details><summary>Answer</summary>
#
# Everything about the scale: $\alpha$ forgotten or applied twice changes $S$, but $P$ stays 1. The rescale mistakes:
# there is one tile. The LSE shows the scale at once, $\mathrm{LSE} = \alpha\, q \cdot k$. If a kernel has two outputs,
# test both.
#
# </details>

# %% [markdown]
# ### Journal
#
# *Two or three sentences in your own words, to be read again in a month. Which of the four neutral elements would you
# have got wrong? Which mistake did you make yourself, and which case told you? Double-click here and write.*

# %% [markdown]
# ### What comes next
#
# The forward pass leaves two results: $O$ and the LSE. Lesson 07 uses them to run the same scan once more, from left
# to right with the same tiles, and to rebuild $P = e^{S - \mathrm{LSE}}$ in each: without a running maximum or a
# rescale, since the LSE is known. What it sums is $dQ$. In lesson 08 a program owns keys and scans the queries. Lesson
# 12 comes back to this kernel and makes it fast.
#
# **Sources.** The algorithm: T. Dao, *FlashAttention-2: faster attention with better parallelism and work
# partitioning*, ICLR 2024, Algorithm 1 and section 3.1; the first version: T. Dao et al., *FlashAttention*, NeurIPS
# 2022. The online softmax: M. Milakov, N. Gimelshein, arXiv 1805.02867; attention in linear memory by the same
# recurrence: M. Rabe, C. Staats, arXiv 2112.05682. Bottom-right alignment: the change log of flash-attn 2.1;
# top-left: PyTorch's documentation of `scaled_dot_product_attention`. A kernel to read beside yours: Triton's
# tutorial 06, *Fused Attention*.
