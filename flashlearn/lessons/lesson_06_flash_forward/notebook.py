# %% [markdown]
# # FlashAttention forward
#
# Everything so far has been preparation for this: the mathematics of a row (lessons 02 and 04), tiles and their
# price (lesson 05). Now they become one kernel, the first of attention that you write. It computes
# $O = \mathrm{softmax}(\alpha QK^\top)\,V$ without ever storing $S$ or $P$, and it keeps one number per row, the
# LSE, for the way back.
#
# **Afterwards you can**
#
# - write FlashAttention's forward pass: one program per block of queries, all tiles of $K$ and $V$ scanned, $m$,
#   $l$ and the accumulator rescaled whenever the maximum moves;
# - say for each line what a tile that is not full does to it: ragged $S$, a $D$ that is no power of two;
# - add a causal mask where it belongs, end the loop early, and get $S_q \ne S_k$ right, down to queries that see
#   nothing;
# - name the inputs on which a careless version of each of these goes wrong, and those on which it does not.
#
# **You need** lesson 00 (masks, strides), lesson 04 (the online recurrence, merging), and lesson 05 (`tl.dot`,
# registers, the L2 cache). One proof uses sympy's sums over symbols, which lesson 01 introduces. Of your own code
# nothing is needed: what an exercise builds on is in its cell.
#
# **It takes** three hours: one kernel of some twenty-five lines, a second one that changes four of them, a third that is
# both, three questions at the end. After section 9 there is a good place for a break.

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
# Three questions about what came before. Run the cell to read them, put a letter behind each number, and run it
# again. A wrong choice is told what it overlooks, and costs nothing.

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
# Written by one kernel and read by the next, $S$ and $P$ would be nearly all the traffic there is. So a program
# must finish with a piece of $S$ as soon as it has computed it, and lesson 04 has shown that it can: softmax does
# not need the row all at once.
#
# The plan is Algorithm 1 of FlashAttention-2. A program owns a **block of queries**. It loads that block of $Q$
# once, and then walks along its rows of $S$ from left to right, one tile of keys at a time.

# %%
pictures.one_program()

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - Programs share nothing that they write: each has its own rows of $O$ and LSE. No atomics, no order to keep.
# - $K$ and $V$ are read by every program of a head, once each. That is the price (section 9 counts it), and the
#   reason to make the block of queries as large as registers allow.
# - What a program carries from tile to tile is small: per query one number $m$, one number $l$, and $D$ numbers of
#   accumulator. Nothing grows with $S_k$.
#
# </details>
#
# ### One tile, in Triton
#
# Here is one step of such a walk, without $V$, for sizes that fill their tiles. The kernel takes one tile of keys and
# writes what lesson 04 called a partial result: the maximum $m$ of each row of the tile, and
# $l = \sum_j e^{s_j - m}$. It runs twice, on the keys 0 to 15 and on the keys 16 to 31. **Predict** how the LSE of the
# whole row comes out of the four numbers $m_0, l_0, m_1, l_1$. The cell after it does that.


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
# Two programs could have done the two halves and met afterwards. One program that does one tile after the other can
# do better: it merges on the way.

# %% [markdown]
# ## 2 · Tile by tile, by hand
#
# The course's example has four queries, three keys and $D = 2$. Its scores are

# %% tags=["nbval-check-output"]
Q, K, V, alpha = example.Q, example.K, example.V, example.ALPHA

scores = alpha * Q @ K.T  # (4, 3)
print(scores.numpy().round(3))

# %% [markdown]
# Take a pencil and do row 0 with tiles of a single key. The row is $s = (0.707, 1.414, 2.121)$, and the values
# belonging to its keys are $(1, 0)$, $(0, 2)$, $(1, 1)$. The state starts as $(m, l, acc) = (-\infty, 0, 0)$, a row
# that has seen nothing. For each tile, in this order:
#
# $$m' = \max(m, \max_j s_j), \qquad \text{rescale} = e^{m - m'}, \qquad p_j = e^{s_j - m'},$$
#
# $$l \leftarrow l \cdot \text{rescale} + \sum_j p_j, \qquad acc \leftarrow acc \cdot \text{rescale} + \sum_j p_j\,v_j, \qquad m \leftarrow m'.$$
#
# At the end $O = acc / l$ and $\mathrm{LSE} = m + \log l$. Here is every number on the way.

# %%
pictures.online_state(scores[0].tolist(), V.tolist(), block=1)

# %% [markdown]
# **Predict:** which of the boxes change if the tile holds two keys instead of one? Which do not? And with all three keys
# in one tile?

# %%
slider(lambda tile: pictures.online_state(scores[0].tolist(), V.tolist(), tile), {"tile": 2}, tile=(1, 2, 3))

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - After the same keys the state is the same, however they were cut into tiles: $m$, $l$ and $acc$ after key 1 agree
#   for tiles of one and of two keys, and the result agrees for all three.
# - In this row every tile brings a new maximum, so everything from before is multiplied by $e^{-0.707} = 0.493$ each
#   time. The first rescale is $e^{-\infty} = 0$: there is nothing to keep yet, and no special case is needed.
# - The largest $p$ of a tile that raises the maximum is 1, by construction. All are at most 1, in every tile.
#
# </details>
#
# ### Why it is right
#
# The claim is an invariant: whenever a tile has been finished, $l = \sum_j e^{s_j - m}$ and
# $acc = \sum_j e^{s_j - m} v_j$, the sums taken over all keys seen so far. Before the first tile both sums are empty. So one step
# has to be shown: if it holds for $n$ keys with $m$, it holds for $n + b$ keys with $m'$. In the next cell $n$ and
# $b$ are symbols, so this is proved for **every number of keys and every tile size**.

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
# Look at what the proof did *not* use: that $m'$ is a maximum. Any number will do. The maximum is there for the range of
# the floating-point numbers alone, so that no exponential exceeds 1. Remember this; it decides two questions below.
#
# ### The same loop in torch
#
# Here is the whole algorithm, all four rows at once, in the order and under the names that the kernel will have. It
# is compared with the reference after the last tile.


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
# **Predict:** someone forgets to rescale `acc` (and remembers it for `l_i`). Which of the four rows of $O$ come out
# right all the same? The printed values of `rescale` are all you need.

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
# - Rows 1 and 2 have their largest score in the first tile. The maximum never moves, every rescale after the first
#   tile is 1, and forgetting it costs nothing.
# - So this mistake is invisible on a test with a single tile of keys, and shows in only some of the rows otherwise.
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
# It is the torch loop, with masks still to come. The names of the blocks say what they count: `BLOCK_Q` queries,
# `BLOCK_K` keys, `BLOCK_D` lanes of the head dimension. (In lesson 05's matrix product `BLOCK_K` was the dimension that
# is summed over. For $QK^\top$ that is $D$.) Three things are new.
#
# - **Precision.** $Q$, $K$ and $V$ may be fp16 or bf16. `tl.dot` multiplies them as they are and sums in fp32; `s`,
#   `m_i`, `l_i` and `acc` stay in fp32 to the end. For fp32 inputs ask for `input_precision="ieee"`, or a GPU may
#   round the factors to TF32's 11 bits.
# - **Layout.** $K$ is loaded as it lies, a row per key, and `tl.trans(k)` gives the product what it wants: the two
#   operands of `tl.dot` must agree in the dimension that is summed over, here `BLOCK_D`.
# - **The second product.** `p` is fp32, `v` may be half precision, and `tl.dot` wants both of one dtype. So `p` is
#   rounded to the dtype of `v`. Its entries lie between 0 and 1, which every format handles well; no sum is carried
#   in that precision.
#
# And one thing you may leave out: the solution writes `p` as `tl.exp2((s - m_new[:, None]) * LOG2E)`, with
# $\text{LOG2E} = \log_2 e$. It is the same number, since $e^x = 2^{x \log_2 e}$. A GPU has an instruction for powers of two
# alone; `tl.exp` compiles to the same two instructions and three more, which keep results below $2^{-126}$. On an H200
# that line made the forward pass 1.13 to 1.15 times as fast. `tl.exp` is as right.

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
# > **The verdict.** Nothing is computed: with $V$ in bf16 the kernel does not compile, and neither does it for fp32.
# > A library that converts its inputs on the way in may hide this; a kernel that is called directly cannot. Take the
# > dtype from the operand: `p.to(v.dtype)`. The same goes for the store: `o.to(o_ptr.dtype.element_ty)`.

# %% [markdown]
# ## 4 · Ragged S: a key that does not exist
#
# Three keys do not fill two tiles of two, nor one tile of four, which is drawn here: the last row has no key. The
# load's mask keeps the program from touching foreign memory, and `other=0.0` fills the row with zeros. What does such
# a row of zeros do?

# %%
pictures.padded_tile(S_k=3, D=2, block_k=4, block_d=16)

# %% [markdown]
# Its score is $\alpha\, q \cdot 0 = 0$: not small, not special, just a score. **Predict** `p` of the padded key for
# each of the four rows, if nobody intervenes, and what that does to $O$ and to the LSE. (The rows' maxima are
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
# - In row 2 the maximum is 0, and the padded key gets $p = e^{0 - 0} = 1$, as much as the best real key. It is a full
#   competitor.
# - Its value is a row of zeros, so it adds nothing to `acc`, and yet $O$ is wrong: the denominator counts it. Every
#   row of $O$ is too small by one factor, and the LSE too large by its logarithm.
# - A filler other than 0 does not help. The product decides the score, and no finite filler gives $-\infty$ for
#   every query. The mask belongs on $S$: `s = tl.where(in_keys[None, :], s, -float("inf"))`. Then $p = 0$ exactly.
#
# </details>

# %% [markdown]
# Padded **queries** are harmless here: their rows of $S$ are computed from zeros, and their rows of $O$ and LSE are
# kept back by the store's mask. Nothing else reads them. (In lesson 08 something else does.)

# %% [markdown]
# ## 5 · A D that is no power of two
#
# `tl.arange` makes powers of two, and the tensor cores want an inner dimension of 16 at least. So the tile gets
# `BLOCK_D` ≥ $D$ lanes, as in the picture above, and every load has `d < D` in its mask. Two zeros, one in
# $q$ and one in $k$, add nothing to a dot product: **the scores do not change**, and nothing needs to be masked in
# $S$. The padded columns of $V$ become padded columns of `acc`, full of zeros, and the store's mask drops them.
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
# > **The claim**, implied by code that computes `(b * H + h) * S * S + i * S + j` with ordinary integers: no single
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
# > `int` can hold, and it wraps around without a word. The program reads $2^{31}$ elements *before* the tensor, four
# > gigabytes in half precision. No small test finds this by its result. The check below looks for it in another way:
# > it launches your kernel once more with the *strides* of a large layer ($B = 32$, $H = 16$, $S = 65536$, $D = 128$)
# > and no memory behind them, and follows the addresses.
#
# FlashAttention never indexes $S$, which is one more thing in its favour. But $B \cdot H \cdot S \cdot D$ passes
# $2^{31}$ too, somewhat later, and in the usual layout, `[B, S, H, D]` in memory, one *row* is $H \cdot D$ elements
# from the next. The rule is short: **one factor of 64 bits makes the product 64 bits wide.** In the exercise the
# first lines are given. They turn the head and the batch entry into 64-bit numbers and move the pointers to the head, so
# that this much is safe for any size.
#
# Inside the head 32 bits are enough, and `rows`, `keys` and `d` stay as they are. That has a limit, and you should know
# where it lies: the head's last element must be less than $2^{31}$ elements behind its first,
# $(S - 1) \cdot \text{row stride} + (D - 1) \cdot \text{column stride} < 2^{31}$. In `[B, S, H, D]` with
# $H \cdot D = 4096$ that allows $S$ up to 524288. Beyond it offsets would wrap around again. (A kernel that moves its
# pointer from tile to tile by a 64-bit number has no such limit.)
#
# Why not 64 bits everywhere, then? Because a tile of wide offsets is multiplied and added in 64 bits, which takes a GPU
# several instructions for each, and is built anew in every step. The price was measured on an H200, in this forward pass:
#
# | | with 64-bit tiles | without |
# |---|---|---|
# | $B \cdot H = 256$, $S = 1024$, fp16, $D = 64$ | 274 µs | 243 µs |
# | the same, $D = 128$ | 441 µs | 406 µs |
# | 16384 tokens, $S = 4096$, bf16, $D = 64$: all keys, causal | 287, 199 TFLOP/s | 331, 266 TFLOP/s |
# | the same, $D = 128$: all keys, causal | 349, 284 TFLOP/s | 410, 346 TFLOP/s |
#
# From 9 to 34 % faster, for a `.to(tl.int64)` that stands in another place. (The last two rows are from a later run, with the same blocks.)
#
# One more limit has the same flavour. A grid's second and third axes end at 65535. The launcher puts $H$ and $B$ there,
# and each of them may be as large. With $B \cdot H$ on the second axis, as many kernels have it, their product would
# have to fit: with $B \cdot H = 65536$ nothing is computed wrongly, but the launch fails, and says so.

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
# for any $m$. But the exponentials are no longer bounded by 1, and so it works for small scores and fails for large
# ones: the worst kind of bug. Three ways to go wrong, one row of three keys each:


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
# - A mask that is applied before the scale turns $-\infty$ into $+\infty$: the hidden key wins everything.
# - If the running maximum is kept unscaled, its initial $-\infty$ becomes $e^{+\infty} \cdot 0$ in the first rescale.
# - All three are right for $\alpha > 0$. The remedy costs one multiplication per score: **scale, then mask, then take
#   the maximum.** A kernel that folds (lesson 12 will) must check the sign, or take the minimum of $x$ for
#   $\alpha < 0$.
#
# </details>

# %% [markdown]
# ## 8 · The kernel
#
# ### Exercise: `flash_forward` · core
#
# Everything is on the table. The launcher is given, and so are the kernel's first lines: they find the program's
# head, move the five pointers to it, and name the block's queries `rows`, a tile's keys `keys` (counted from the
# tile's first), and the lanes `d`. From there it is yours. The check asks for this:
#
# - $Q$ `[B, H, S_q, D]`, $K$ and $V$ `[B, H, S_k, D]`, each with strides of its own, the last one included; any
#   $S_q, S_k \ge 1$ and any $D$;
# - $O$ in the dtype of $Q$; LSE in fp32, natural logarithm, contiguous `[B, H, S_q]`. LSE is held to about $2 \cdot
#   10^{-6}$ with half-precision inputs too: rounding $P$ does not touch it, so nothing else may, either;
# - fp32, fp16 and bf16; sums in fp32; scores beyond three thousand; values around $10^4$ in fp16; $\alpha$ of either
#   sign;
# - $H$ and $B$ up to 65535 each, since they are the grid's second and third axis.
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
#     maximum, rescale, p, l_i, acc. After it: divide once, store O and LSE. Which of these lines must know
#     that a tile is not full?
# HINT: Shapes: `q` (BLOCK_Q, BLOCK_D); `k` and `v` (BLOCK_K, BLOCK_D); `s` and `p` (BLOCK_Q, BLOCK_K); `m_i`,
#     `l_i`, `rescale` (BLOCK_Q,); `acc` (BLOCK_Q, BLOCK_D). A number per row meets a tile as `x[:, None]`.
#     Tiles are loaded with `other=0.0` under a mask of rows *and* `d < D`; scores of keys beyond `S_k` become
#     `-float("inf")` after `alpha`; `p` is cast to `v.dtype` for `tl.dot`, and all else is fp32.
# HINT: Line by line: `s` is alpha times `tl.dot` of q and the transposed k, then −inf by `tl.where` in the
#     columns that are no keys. `m_new` is the larger of `m_i` and the maximum of s along axis 1. `rescale`
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
# Then break it on purpose, one thing at a time, and read what the check makes of it:
#
# - no `rescale` in `acc`; then none in `l_i`; then none in either;
# - no mask on `s`;
# - `m_i` started at 0;
# - `acc` started in `q.dtype` (and converted back to it after each step);
# - `q` multiplied by `alpha` right after its load and rounded back to its dtype, instead of `s` afterwards;
# - `range(0, S_k // BLOCK_K * BLOCK_K, BLOCK_K)`.
#
# Before each, predict *which cases* will notice: how many of them have more than one tile of keys? Ragged keys? Rows
# far below zero? Values that overflow fp16? Here is what the cases hold that are not ordinary.

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
# Starting `m_i` at 0 is the subtle one. By section 2 any $m$ is right, so where does it go wrong? **Predict** the
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
# And the scaled $q$. In exact arithmetic $(\alpha q) \cdot k = \alpha\,(q \cdot k)$. **Predict** for which of these
# head dimensions LSE notices the difference, in fp16 and in bf16.

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
# - With `m_i` started at 0 nearly everything passes: any $m$ is right. A row whose scores all lie near $-100$ has lost
#   digits in fp32, since its exponentials are among the last few numbers above 0; below $-104$ all of them are 0, and
#   $O$ is $0/0$. (Hardware that rounds such tiny numbers to 0 gets there below $-87$.) With $P$ in fp16 digits go from about
#   $-10$ on, and below $-17$ all of $P$ is 0, with an LSE that is still right. bf16 has fp32's range, and fares as fp32
#   does.
# - A $q$ that is scaled in its own dtype is rounded once more, each element by up to $2^{-11}$ or, in bf16, $2^{-8}$
#   of itself. $O$ hardly shows it, since $P$ is rounded as coarsely anyway. LSE does, by fifty to a thousand times
#   what the check allows. Where $\alpha$ is a power of two, as for $D = 64$, nothing is rounded at all. In fp32 scaling $q$
#   first is as good as scaling $s$.
# - In half precision `acc` fails by overflow where $V$ is large, though $O$ itself would fit: `acc` is $l$ times as
#   large as $O$. With ordinary values it is merely noisier, and a tolerance that was chosen generously would let it
#   pass.
# - FlashAttention-2 divides by `l_i` once, at the very end. The first version kept $O$ normalised after every tile:
#   right as well, with one more division per tile and element.
#
# </details>

# %% [markdown]
# ## 9 · What it moves
#
# The card of the check says how many bytes the programs asked for. Now predict it. **Predict** for the case `S 128, D 64`
# in fp32 with blocks of 32 queries: how often is each of $Q$, $K$, $V$ read, and $O$ written?

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
# - $Q$ and $O$ travel once, $K$ and $V$ once *per block of queries*: $2 S_q D + \lceil S_q / B_q \rceil \cdot 2 S_k D$
#   elements, and no $S_q \cdot S_k$ that is not divided by the block. (If you chose other blocks, your count differs
#   from the prediction; put your numbers in.)
# - The requested bytes are an upper bound: programs of one head run at about the same time and find each other's $K$
#   and $V$ in the L2 cache. What must move at least is each byte once.
# - $4 S_q S_k D$ operations on that traffic: with blocks of 64 and half precision some 60 operations per requested
#   byte. That is why larger blocks of queries are faster, until registers run out (lesson 05).
#
# </details>

# %% [markdown]
# ## 10 · A causal mask, and where the loop ends
#
# In a language model a token must not look at later tokens: query $i$ sees the keys $j \le i$ and no others. The
# hidden scores are set to $-\infty$. That is all that is needed for the result; and since half of $S$ is hidden, it
# would be a pity to compute it. With $S_q = S_k = 12$ and tiles of 4:

# %%
pictures.causal_tiles([(12, 12)])

# %% [markdown]
# Three kinds of tiles. **Whole** ones lie below the diagonal: every query sees every key, no mask is needed.
# **Crossed** ones contain the diagonal: computed in full, and masked inside. The rest is **skipped**: a program's
# loop simply ends after the tile that holds its last query's last key. **Predict** what share of the tiles remains,
# for few tiles and for many:

# %% tags=["nbval-check-output"]
for tiles in (1, 2, 4, 16, 64):
    kinds = [kind for row in pictures.tile_kinds(64 * tiles, 64 * tiles, 64) for kind in row]
    share, crossed = 1 - kinds.count("skipped") / len(kinds), kinds.count("crossed")
    print(f"{tiles:2} × {tiles:2} tiles: {share:6.1%} visited, {crossed} of them crossed")

# %% [markdown]
# It tends to one half, $(n + 1) / 2n$ for $n \times n$ tiles: a causal kernel should be nearly twice as fast, and
# only the $n$ crossed tiles need a mask at all. (Lesson 12 splits the loop for that reason. Here every tile is masked:
# the comparison is cheap beside the two products.)
#
# ### Before what?
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
#   (section 2). It is not quite harmless: if a hidden score lies some hundred above the visible ones, every visible
#   $p$ underflows, and in fp16 long before that (lesson 10 measures it).
# - After the sum is too late: the hidden keys are gone from the numerator and still in the denominator. Each row of
#   $O$ is too small, and the LSE too large. It looks like the leak of section 4, and is the same thing.
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
# The first thing to think of is a model that writes: the keys and values of all tokens so far are cached, the newest
# token's among them (three in the next cell), and one query arrives, $S_q = 1$. **Predict** what the new token may look
# at under either convention.

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
#   key: the result is the first value, untouched. Sensible for a fresh sequence, where $S_q = S_k$ anyway; hardly
#   what one wants here.
# - Bottom-right, as in FlashAttention from version 2.1 on, the newest token sees everything up to now. This course
#   uses it throughout.
# - For $S_q = S_k$ the two agree, so a test with square $S$ cannot tell them apart. *Never only $S_q = S_k$.*
#
# </details>

# %% [markdown]
# In tiles of 4, top-left first, and then as it is in this course:

# %%
pictures.causal_tiles([(12, 12), (6, 12), (12, 6)], align="top-left")

# %%
pictures.causal_tiles([(12, 12), (6, 12), (12, 6)])

# %% [markdown]
# Top-left, the six last keys of the middle panel are never seen by anybody. Bottom-right, it is the six first queries
# of the right panel that see nothing. Move the number of queries, with 12 keys: the last row never changes.

# %%
slider(lambda S_q: pictures.causal_tiles([(S_q, 12)]), {"S_q": 10}, S_q=(1, 4, 8, 10, 12, 14, 16))

# %% [markdown]
# Where does the loop of program (pid, head, batch) end, then? Write it down with pid, $B_q$, $S_q$ and $S_k$ before you unfold:
# which is the block's last query, and which is the last key that it sees? What does your formula give for the first
# program where there are 12 queries, 6 keys, and tiles of 4? And what does Python's `range` make of that?
#
# <details><summary>The end, derived</summary>
#
# The block's last query is $(\mathrm{pid} + 1) \cdot B_q - 1$. It sees the keys up to
# $(\mathrm{pid} + 1) \cdot B_q - 1 + S_k - S_q$, and there are no more than $S_k$. So the loop ends, exclusive, at
#
# $$\mathrm{end} = \min\bigl(S_k,\; (\mathrm{pid} + 1) \cdot B_q + S_k - S_q\bigr).$$
#
# With 12 queries, 6 keys and tiles of 4 that is $4 + 6 - 12 = -2$ for program (0, 0, 0). `range(0, -2, 4)` is an empty loop, which
# is just right: there is nothing to see.
#
# </details>

# %% [markdown]
# ## 12 · Rows with nothing to attend to
#
# For $S_q > S_k$ the first $S_q - S_k$ queries see no key at all. The running example has one: with $S_q = 4$ and
# $S_k = 3$, query 0 sees the keys $j \le -1$. What should come out? The sums of nothing are 0, and the logsumexp of
# nothing is $\log 0 = -\infty$: the state that every scan starts with, the identity of merging (lesson 04). So this
# course defines $O = 0$ and $\mathrm{LSE} = -\infty$ for such a row; $P$ and all gradients are 0.
#
# **Predict** what the loop makes of it, line by line, if nothing is done. All scores of the row are $-\infty$.

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
# - $-\infty - (-\infty)$ is NaN, and from there everything is. One such row in the output is enough: in the next
#   layer's products its NaN meets every other token.
# - Any finite number will do in the guard, since $e^{-\infty - c} = 0$; 0 is the obvious one. With it $p = 0$, $l = 0$,
#   and the LSE comes out as $-\infty$ by itself.
# - One more guard is needed: $O = acc / l = 0/0$. Divide by 1 where $l = 0$.
# - Not everybody stores $-\infty$ here. FlashAttention-2 stores $+\infty$: that is the logarithm of no sum, it is there
#   for the backward pass, where $e^{S - \mathrm{LSE}}$ is then 0 without a guard. Its split kernels, whose partial
#   results are merged, store $-\infty$, since a merge needs the identity. FlashAttention-3 stores $-\infty$
#   throughout, and its backward pass reads 0 in its place. Ask before you mix kernels of two libraries.
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
# All scores are equal, so the query attends to everything alike: the mean of all the values that it must not see.
# No NaN, no warning; the future leaks into a row that was to have nothing. A visible failure has become an
# invisible one.

# %% [markdown]
# ### Exercise: `flash_forward_causal` · core
#
# The same kernel under a causal mask, bottom-right. Begin with your lines from exercise 1; four of them change. The
# check asks for everything it asked before, and
#
# - $S_q < S_k$ and $S_q > S_k$; rows that see nothing have $O = 0$ and $\mathrm{LSE} = -\infty$, whether their whole
#   block sees nothing or only a part of it;
# - tiles that no query of the block sees are not visited: the result would be the same, and the check counts.

# %% exercise="flash_forward_causal"
# HINT: Start from your `flash_forward`. Four lines change: where the loop ends, which scores are masked, what
#     is subtracted where a row has seen nothing yet, and what is divided by where it never does. Which key is
#     the last that query i sees? And the last that the block's last query sees?
# HINT: Query `rows` sees the keys `columns <= rows + S_k - S_q`: an array per row, compared as `columns[None,
#     :] <= (…)[:, None]`, together with `columns < S_k`. The loop's end is a number: one more than the last
#     key of the block's last query, `S_k` at most (and a negative end is an empty loop). Where `m_new` is
#     −inf subtract 0 instead; where `l_i` is 0 divide by 1.
# HINT: The end is `tl.minimum` of S_k and of one more than the last key that query `(pid + 1) * BLOCK_Q - 1`
#     sees. The mask is `columns < S_k` along the columns and the comparison of the second hint on the whole
#     tile, joined by `&`. Two `tl.where` are left: one makes a `shift` of `m_new` that is never −inf and
#     stands in both exponentials, the other one is in the division.
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
# Row 1 of $O$ is the first value, $(1, 0)$: with one key to see, softmax has no choice, and the LSE is that key's
# score. Row 3 is what it was without a mask.
#
# And at a size that fills several tiles, against torch. **Predict** which rows torch and you agree on if torch is
# told `is_causal=True` and $S_q = 40$, $S_k = 70$.

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
# Break the causal kernel as well: `<` for `<=`; the mask without `S_k - S_q`, then the loop's end without it; the loop's end
# without the mask, and the mask without the loop's end; no guards. One of these changes nothing but the time. And
# before you look: which of them would a test with $S_q = S_k = 128$ have found?
#
# <details><summary><b>What to notice</b></summary>
#
# - With $S_q = S_k$ the shift is 0, and no row is empty. So such a test finds `<` for `<=` and the missing mask, and
#   is blind to the alignment, in the mask and in the loop's end, and to both guards.
# - The mask alone is enough for a right answer: hidden tiles give $p = 0$ and change nothing, at full price. The
#   loop's end alone is not: inside the crossed tiles queries see what they must not.
# - `columns < S_k` is not needed any more: what the last query sees ends with key $S_k - 1$. Taking it out changes no
#   stored number. (The load's mask is another matter.)
# - `<` for `<=` leaves query 0 of a square case without any key. Guarded, that is a row of zeros and not a crash: a
#   guard makes a wrong mask quieter. Its LSE of $-\infty$ gives it away.
#
# </details>

# %% [markdown]
# ### One program, step by step
#
# Watch it stop. `flashlearn.trace` shows what one program touches, access by access; move the slider, or click on it
# and use the arrow keys. 128 queries and keys, $D = 64$, blocks of 32, and program (1, 0, 0): queries 32 to 63.
# **Predict** how many tiles of $K$ it reads with the causal mask and without, and how often it reads its $Q$.

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
# - The causal program stops after two of four tiles, the crossed one included. Programs further down read more:
#   try `program=(3, 0)`, which is program (3, 0, 0).
# - The program itself reads no byte of $K$ twice. *Again* for all programs is not 0: every block of queries
#   asks for the same keys anew.
#
# </details>

# %% [markdown]
# ## 13 · One kernel for both
#
# Two kernels that share thirty lines drift apart: somebody mends one and forgets the other. Published kernels are one,
# with a flag. It is a `tl.constexpr`, and that makes the difference: `if IS_CAUSAL:` is decided while the kernel is
# compiled, as `#if` is in C, and what is not taken is not there. Here is a kernel that counts how many keys each
# query sees, with your loop's end and your mask. **Predict** for which of the two flags the compiled code is shorter.


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
# - One source, two compiled kernels, each made at its first launch. Who asks for no mask pays for none: neither the
#   comparison nor the question whether to compare is in that variant. With an ordinary argument in the flag's place
#   both would be in the one kernel, and every tile would ask.
# - A constant is part of the kernel's name, so to speak. A flag has two values; a `constexpr` that takes a hundred
#   values, such as a length, compiles a hundred kernels.
# - `end` is an argument in one variant and a `tl.minimum` in the other, and neither variant knows of the other's. Under
#   an ordinary `if` the lines below are compiled once for both ways, so there a name must have one type after it,
#   whichever way it went.
#
# </details>
#
# ### Exercise: `flash_forward_either` · stretch
#
# Make your two kernels one. It has `IS_CAUSAL: tl.constexpr` among its arguments, and the launcher, which is given, passes
# its own `causal` there. Do the two guards belong under the flag? (Lessons 12 and 15 build on such a kernel.)
#
# The check asks for what it asked of the two, with every second case causal, and for **one kernel**: both values of the
# flag must launch the same one.

# %% exercise="flash_forward_either"
# HINT: Put your two kernels side by side. Which lines differ, and which of the differences do no harm where
#     there is no mask? What does no harm may stay outside the flag, and is paid for by both then.
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
# - The guards do no harm without a mask: there is always a key, `m_new` is finite and `l_i` is not 0. They are a
#   selection for each row and tile, cheap beside two products. Under the flag they say what they are for.
# - The reports of the three exercises have the registers of each: compare the two variants of this kernel with the two
#   kernels that they replace.
#
# </details>
#
# ## 14 · What you have now
#
# | | in the kernel | if it is forgotten |
# |---|---|---|
# | scan with $(m, l, acc)$ | `rescale` on `l_i` *and* `acc` | rows whose maximum moves after the first tile are wrong |
# | ragged $S_k$ | `s = -inf` beyond `S_k`, after `alpha` | padded keys get $p = e^{0 - m}$: $O$ too small, LSE too large |
# | ragged $S_q$ | mask of load and store | foreign memory |
# | any $D$ | `d < D` in every mask, `BLOCK_D ≥ 16` | the next row's numbers in this row's product |
# | strides | four per tensor | right for one head and one layout only |
# | 64-bit offsets | one wide factor, to the head; wide tiles cost 9 to 34 % | wrong from $2^{31}$ elements on, and nowhere before |
# | $\alpha < 0$ | scale, mask, maximum, in this order | overflow or NaN, for negative $\alpha$ only |
# | causal | mask with $S_k - S_q$; early end | right only for $S_q = S_k$; twice the work |
# | rows with nothing | subtract 0 for $-\infty$; divide by 1 for 0 | NaN |
# | precision | fp32 state; `p.to(v.dtype)` | overflow, noise, or no compilation |
#
# ### Questions to yourself
#
# Answer before you unfold.
#
# **1.** A colleague's forward kernel passes all of its tests: $S_q = S_k = 128$, $D = 64$, one head, contiguous,
# normal data, fp32. Name four mistakes of this lesson that it may still have.
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
# **2.** May the tiles of keys be visited from right to left? Every second one by another program, and the two results
# merged? Does your causal kernel's code survive either?
#
# <details><summary>Answer</summary>
#
# Yes and yes: the state after a set of keys does not depend on the order (section 2), and two states merge as in
# lesson 04. That is how attention for a single query over a long cache is spread over a GPU. But walking from left to
# right, a row that sees anything sees key 0, hence something in the first tile. From right to left a row may meet
# tiles that hold nothing for it *before* it meets its first key: $m$ is still $-\infty$, and the guard in the loop is
# needed for ordinary rows, not only for empty ones.
#
# </details>

# %% [markdown]
# **3.** For $S_k = 1$ softmax has no choice, $P = 1$ and $O = v$. Which of the mistakes above are invisible in $O$ on
# such a case, and what makes them visible?
#
# <details><summary>Answer</summary>
#
# Everything about the scale: $\alpha$ forgotten or applied twice changes $S$, but $P$ stays 1. The rescale mistakes:
# there is one tile. The LSE shows the scale at once, $\mathrm{LSE} = \alpha\, q \cdot k$. A kernel with two outputs
# has two witnesses; test both.
#
# </details>

# %% [markdown]
# ### Journal
#
# *Two or three sentences in your own words, for yourself in a month. Which of the four neutral elements would you
# have got wrong? Which mistake did you make yourself, and which case told you? Double-click here and write.*

# %% [markdown]
# ### What comes next
#
# The forward pass leaves two things behind: $O$ and the LSE. Lesson 07 uses them to run the same scan once more, from
# left to right with the same tiles, and to rebuild $P = e^{S - \mathrm{LSE}}$ in each: no running maximum, no rescale,
# since the LSE is known. What it sums is $dQ$. Lesson 08 turns the scan around. Lesson 12 comes back to this kernel
# and makes it fast.
#
# **Sources.** The algorithm: T. Dao, *FlashAttention-2: faster attention with better parallelism and work
# partitioning*, ICLR 2024, Algorithm 1 and section 3.1; the first version: T. Dao et al., *FlashAttention*, NeurIPS
# 2022. The online softmax: M. Milakov, N. Gimelshein, arXiv 1805.02867; attention in linear memory by the same
# recurrence: M. Rabe, C. Staats, arXiv 2112.05682. Bottom-right alignment: the change log of flash-attn 2.1;
# top-left: PyTorch's documentation of `scaled_dot_product_attention`. A kernel to read beside yours: Triton's
# tutorial 06, *Fused Attention*.
