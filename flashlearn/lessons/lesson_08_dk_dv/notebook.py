# %% [markdown]
# # dK and dV
#
# A program that owns queries can finish its block of $dQ$ alone. It cannot finish any block of $dK$ or $dV$: every
# query has something to add to them. This lesson turns the kernel by 90 degrees, counts what that costs, and settles
# a question that backward kernels are full of superstition about: what do padded queries do?
#
# **Afterwards you can**
#
# - say why no single scan owns all three gradients, and compare the two designs that follow from it, in products,
#   bytes and repeatability;
# - write the kernel that owns keys and scans queries, and say where its two transposes come from;
# - tell exactly when padded queries leak into $dV$, when they turn it into NaN, and when they do no harm;
# - find the start of a causal loop for any $S_q$ and $S_k$.
#
# **You need** lesson 07 (the same tiles, turned) and lesson 03 ($dV = P^\top dO$, $dK = \alpha\, dS^\top Q$). Nothing
# that you wrote there is needed here.
#
# **It takes** 75 to 90 minutes: a kernel of some 30 lines, a second one that differs in a handful of them, three
# experiments, three questions at the end.

# %%
import math

import matplotlib.pyplot as plt
import sympy as sp
import torch
import triton
import triton.language as tl
from torch import Tensor

import flashlearn
from flashlearn import DEVICE
from flashlearn.kernels.delta import delta_preprocess
from flashlearn.kernels.flash_backward_dq import dq_kernel, dq_kernel_causal
from flashlearn.kernels.flash_forward import flash_forward, flash_forward_causal
from flashlearn.lessons.lesson_08_dk_dv.faulty_kernels import faulty_dkv
from flashlearn.lessons.shared import backward_pictures as pictures
from flashlearn.lessons.shared import example, reference

# %% [markdown]
# ## 1 · Two sums over the queries
#
# Value $j$ reaches the loss through every query that looked at it, and so does key $j$:
#
# $$dV_j = \sum_i P_{ij}\, dO_i, \qquad dK_j = \alpha \sum_i dS_{ij}\, Q_i .$$
#
# The sums run over $i$, down a column of $P$ and of $dS$. A matrix product sums along rows, so in matrices a transpose
# appears: $dV = P^\top dO$ and $dK = \alpha\, dS^\top Q$. Once more at **any size**, as derivatives of the two
# pairings $\langle dO, PV \rangle$ and $\langle dS, \alpha\,Q K^\top \rangle$:

# %%
S_q, S_k, D = sp.symbols("S_q S_k D", integer=True, positive=True)
alpha_ = sp.Symbol("alpha", real=True)
Q_, dO_ = sp.MatrixSymbol("Q", S_q, D), sp.MatrixSymbol("dO", S_q, D)
K_, V_ = sp.MatrixSymbol("K", S_k, D), sp.MatrixSymbol("V", S_k, D)
P_, dS_ = sp.MatrixSymbol("P", S_q, S_k), sp.MatrixSymbol("dS", S_q, S_k)

assert sp.Trace(dO_.T * P_ * V_).diff(V_) == P_.T * dO_
assert (alpha_ * sp.Trace(dS_.T * Q_ * K_.T)).diff(K_) == alpha_ * dS_.T * Q_

# %% [markdown]
# For a kernel that sees a few queries at a time, the sum has to come apart into blocks of queries. It does, exactly.
# At the **concrete size** of the running example, four queries in two blocks, three keys, every entry a symbol:

# %%
dS_s = sp.Matrix(4, 3, lambda i, j: sp.Symbol(f"dS_{i}{j}"))
Q_s = sp.Matrix(4, 2, lambda i, d: sp.Symbol(f"Q_{i}{d}"))

in_blocks = sp.zeros(3, 2)
for start in (0, 2):
    ds, q = dS_s[start : start + 2, :], Q_s[start : start + 2, :]  # a block of rows
    in_blocks += ds.T * q
assert sp.expand(in_blocks - dS_s.T * Q_s) == sp.zeros(3, 2)

# %% [markdown]
# In numbers. **Predict** without computing: each row of $P$ sums to 1, so what is the sum of all rows of $dV$? And
# since each row of $dS$ sums to 0, what is the sum of all rows of $dK$?

# %% tags=["nbval-check-output"]
Q, K, V, dO, alpha = example.Q, example.K, example.V, example.dO, example.ALPHA  # fp64

O, LSE = reference.attention_forward(Q, K, V, alpha)
delta = (O * dO).sum(dim=1)  # (4,)
P = torch.exp(alpha * Q @ K.T - LSE[:, None])  # (4, 3)
dS = P * (dO @ V.T - delta[:, None])  # (4, 3)
dV = P.T @ dO  # (3, 2)
dK = alpha * dS.T @ Q  # (3, 2)

print(f"dV\n{dV.numpy().round(4)}\ndK\n{dK.numpy().round(4)}")
print("sum of the rows of dV", dV.sum(dim=0).numpy().round(4), "  of dO", dO.sum(dim=0).numpy())
print("sum of the rows of dK", dK.sum(dim=0).abs().numpy().round(4))

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - The rows of $dV$ sum to those of $dO$: each query hands out its $dO_i$ in shares. The rows of $dK$ sum to zero: adding
#   one vector to *every* key moves all scores of a query alike, and the softmax does not see it. Two tests that need no
#   reference.
# - $\alpha$ is in $dK$ and not in $dV$. $O = PV$ has no $\alpha$ of its own.
#
# </details>
#
# ## 2 · Nobody owns both
#
# Look at the tiles of $S$ again. $dQ$ sums along rows of tiles, $dK$ and $dV$ along columns. A program that walks along
# a row can own a block of $dQ$; one that walks down a column can own a block of $dK$ and of $dV$. No walk is both.

# %%
pictures.parallel_shapes("dq", "dkv", "one pass")

# %% [markdown]
# So there are two designs.
#
# - **Scan twice.** One kernel owns queries (lesson 07), another owns keys. Each rebuilds $S$, $P$, $dP$ and $dS$ for
#   itself, so $S$ and $dP$ are computed twice.
# - **Add across programs.** One kernel owns keys. For each tile it has $dS$ at hand, so it computes that tile's share
#   of $dQ$ as well and adds it to memory, where other programs add theirs: atomically.
#
# Price them. Products first: $S$, $dP$ and $dQ$ are three, $S$, $dV$, $dP$ and $dK$ are four, together seven. In one pass
# it is five. Then bytes, for $N$ queries and keys, blocks of $B$, $b$ bytes per element; an atomic addition counts as
# a read and a write of fp32.

# %% tags=["nbval-check-output"]
N, B, b = sp.symbols("N B b", positive=True)
width = sp.Symbol("D", positive=True)

product = 2 * N**2 * width
scan_for_dq = 3 * N * width * b + (N / B) * 2 * N * width * b  # Q, dO, dQ once; K, V per block of queries
scan_for_dkv = 4 * N * width * b + (N / B) * 2 * N * width * b  # K, V, dK, dV once; Q, dO per block of keys
additions = (N / B) * N * width * 2 * 4  # each block of keys adds to all of dQ

designs = {
    "scan twice": (7 * product, scan_for_dq + scan_for_dkv),
    "add across programs": (5 * product, scan_for_dkv + additions),
}
sizes = {N: 4096, B: 64, width: 64, b: 2}
for name, (operations, moved) in designs.items():
    print(f"{name:20} {float(operations.subs(sizes)) / 1e9:5.1f} G operations", end="")
    print(f"  {float(moved.subs(sizes)) / 2**20:6.1f} MiB requested per head:", sp.expand(moved))

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - Scanning twice costs $7/5$ of the arithmetic. (Speeds of backward passes are usually quoted as if five products had
#   been computed, whichever design ran: credited, not executed, operations.)
# - Adding across programs asks for more bytes in half precision, since $dQ$ travels in fp32 and in both directions,
#   once per block of keys. Whether that hurts depends on the caches and on how many programs meet at one address.
#
# </details>

# %% [markdown]
# > ### Sources corrected: two kernels are required
# >
# > **The claim.** Since $dQ$ sums over keys and $dK$ over queries, no kernel can compute both without its programs
# > overwriting each other's results. Therefore the backward pass *needs* two kernels.
# >
# > **The experiment.** Let every block of keys add its share to $dQ$, in torch, in whatever order the programs happen
# > to run. **Predict** two things: is the result right, and is it the same for every order?

# %% tags=["nbval-check-output"]
generator = torch.Generator().manual_seed(0)
shares = torch.randn(16, 64, 32, generator=generator)  # 16 blocks of keys, each with its share of dQ [64, 32]
exact = shares.double().sum(dim=0)

results = []
for _ in range(20):
    dq = torch.zeros(64, 32)
    for block in torch.randperm(16, generator=generator):
        dq += shares[block]
    results.append(dq)

print("largest error of any order: ", f"{max((dq - exact).abs().max().item() for dq in results):.0e}")
print("different results in 20 runs:", len({tuple(dq.flatten().tolist()) for dq in results}))

# %% [markdown]
# > **The verdict.** One kernel suffices if the additions are atomic. It is what FlashAttention-2 does: Algorithm 2 of
# > the paper owns columns (a block of keys), and adds $dQ$ to memory. What two kernels buy is something else: no
# > atomics, no fp32 buffer for $dQ$ that must be zeroed first and converted last, and the same bits on every run. What
# > they cost is two products in seven. "Required" is wrong; "simpler, and repeatable" is right.
#
# This course scans twice first. You have the first kernel; the second follows. Lesson 11 builds the other design and
# measures.
#
# ## 3 · The kernel, turned by 90 degrees
#
# | mathematics | in the kernel | shape |
# |---|---|---|
# | a block of $K$, $V$ | `k`, `v` | `(BLOCK_K, BLOCK_D)`, loaded once |
# | a tile of $Q$, $dO$ | `q`, `do` | `(BLOCK_Q, BLOCK_D)`, one per step |
# | their $\mathrm{LSE}_i$, $\delta_i$ | `lse_i`, `delta_i` | `(BLOCK_Q,)`, one per step |
# | $S$, $P$, $dP$, $dS$ | `s`, `p`, `dp`, `ds` | `(BLOCK_Q, BLOCK_K)`, as in lesson 07 |
# | $dV = P^\top dO$ | `dv` | `(BLOCK_K, BLOCK_D)`, grows in fp32 |
# | $dK = \alpha\, dS^\top Q$ | `dk` | `(BLOCK_K, BLOCK_D)`, grows in fp32 |
#
# Queries come by with everything that belongs to them: a step loads two tiles and two short rows of numbers. $\delta$
# must be there already. To compute it here would mean a third tile, of $O$, in every step (lesson 03 counted what
# that costs: half as much traffic again).
#
# ### The transposes
#
# `p` and `ds` have queries as rows and keys as columns, and the sums run over queries, so both are transposed before
# their product: `tl.dot(tl.trans(p), do)`. If you forget that, shapes may not save you. **Predict** which of these two
# is refused.

# %% tags=["nbval-check-output"]
tile_q, tile_k = 32, 16
generator = torch.Generator().manual_seed(1)
for keys in (tile_k, tile_q):
    ds, q = torch.randn(tile_q, keys, generator=generator), torch.randn(tile_q, 8, generator=generator)
    try:
        wrong = ds @ q
        print(f"{tile_q}×{keys} tile: no complaint, and off by up to {(wrong - ds.T @ q).abs().max():.1f}")
    except RuntimeError as error:
        print(f"{tile_q}×{keys} tile: refused, {error}")

# %% [markdown]
# Lesson 01 warned of `dK = dS · Q`, which passes a shape check when $S_q = S_k$. In a kernel it is worse: what has to be
# square is only the *tile*, and that it usually is.
#
# ## 4 · Padded queries: three experiments
#
# The last tile of queries may be ragged, and now padding sits in the index that is *summed over*. Whatever a padded
# query has in `p`, it may reach every key. Masks are needed; which, exactly?
#
# > ### Sources corrected: a padded query has P = 1, and that leaks into dV
# >
# > **The claim.** Lanes beyond $S_q$ load zeros. Then $s = 0$ and, with LSE filled with 0 as well,
# > $p = e^{0 - 0} = 1$. A row of ones in $P$ adds to $dV = P^\top dO$, and $dV$ is wrong unless `p` is masked.
#
# The running example will do: its four queries in a tile of eight, so that four rows are padding. `one_tile` computes
# what a program adds to $dV$ and $dK$ from one tile, with no mask anywhere.


# %%
def one_tile(q, do, lse, delta):
    """P of one tile, and what it adds to dV and dK: [8, 2], [8, 2], [8], [8] → [8, 3], [3, 2], [3, 2]."""
    p = torch.exp(alpha * q @ K.T - lse[:, None])
    ds = p * (do @ V.T - delta[:, None])
    return p, p.T @ do, alpha * ds.T @ q


def filled(values, filler):
    """The four real rows, then four of padding."""
    return torch.cat([values, torch.full_like(values, filler)])


# %% [markdown]
# **Experiment 1, the claim itself.** `q`, `do`, LSE and $\delta$ are all filled with zeros. **Predict:** $P$ in the
# padded rows, and the error of $dV$ and of $dK$.

# %% tags=["nbval-check-output"]
p_zeros, dv, dk = one_tile(filled(Q, 0.0), filled(dO, 0.0), filled(LSE, 0.0), filled(delta, 0.0))

print("P in the padded rows:", p_zeros[4:].unique().tolist())
print("dV as it should be, bit for bit:", torch.equal(dv, dV))
print("dK as it should be, bit for bit:", torch.equal(dk, dK))

# %% [markdown]
# $P$ is 1, as claimed, and nothing leaks: it is multiplied by a row of $dO$ that is zero. (`ds` is
# $1 \cdot (0 - 0) = 0$, and meets a row of $Q$ that is zero.) For a product to be zero, one factor is enough.
#
# **Experiment 2, another filler.** The forward pass writes $\mathrm{LSE} = -\infty$ for a query that sees nothing, and a
# padded query sees nothing, so $-\infty$ looks like the natural filler. **Predict** again.

# %% tags=["nbval-check-output"]
p_minus_inf, dv, dk = one_tile(filled(Q, 0.0), filled(dO, 0.0), filled(LSE, -math.inf), filled(delta, 0.0))

print("P in the padded rows:", p_minus_inf[4:].unique().tolist())
print(f"dV\n{dv.numpy()}")

# %% [markdown]
# $e^{0 + \infty} = \infty$, and $\infty \cdot 0$ is NaN. One padded lane, and every key of the block is lost.
#
# **Experiment 3, no filler at all.** To avoid masks, some kernels *clamp* the row index, `min(rows, S_q − 1)`: every
# load is in bounds, and padded rows repeat the last query. **Predict** what $dV$ is off by.

# %% tags=["nbval-check-output"]
clamped = torch.arange(8).clamp(max=3)
p_clamped, dv, dk = one_tile(Q[clamped], dO[clamped], LSE[clamped], delta[clamped])

print("P in the padded rows:", p_clamped[4:].unique(dim=0).numpy().round(3))
print(f"dV − right\n{(dv - dV).numpy().round(3)}")
print(f"4 · P_3ᵀ dO_3\n{(4 * torch.outer(P[3], dO[3])).numpy().round(3)}")

# %%
p_plus_inf = one_tile(filled(Q, 0.0), filled(dO, 0.0), filled(LSE, math.inf), filled(delta, 0.0))[0]
pictures.padded_tiles(
    {
        "LSE 0 (right)": p_zeros.tolist(),
        "LSE −∞ (NaN)": p_minus_inf.tolist(),
        "clamped (leaks)": p_clamped.tolist(),
        "LSE +∞ (right)": p_plus_inf.tolist(),
    },
    real=4,
)

# %% [markdown]
# Now the same in a real kernel, one that is right but for the filler, at $S_q = 37$ with tiles of 32: 27 padded rows.

# %%
generator = torch.Generator().manual_seed(2)
q, do = (torch.randn(1, 1, 37, 16, generator=generator).to(DEVICE) for _ in range(2))
k, v = (torch.randn(1, 1, 48, 16, generator=generator).to(DEVICE) for _ in range(2))
o, lse = flash_forward(q, k, v, 0.25)
_, dk_true, dv_true = reference.attention_gradients(q, k, v, o, do, lse, 0.25)

for fault in ("LSE filled with 0", "LSE filled with -inf", "clamped rows", ""):
    with flashlearn.observing():
        dk, dv = faulty_dkv(fault)(q, k, v, o, do, lse, 0.25)
    errors = [f"{(mine - true).abs().max().item():.1e}" for mine, true in ((dv, dv_true), (dk, dk_true))]
    print(f"{fault or 'LSE filled with +inf':22} largest error of dV {errors[0]:>8}, of dK {errors[1]:>8}")

# %% [markdown]
# > **The verdict.** "$P = 1$ leaks into $dV$" is true exactly when the padded lanes of `do` are not zero.
# >
# > - `q` and `do` filled with 0, LSE with 0: $P = 1$. Right, the other factor is 0.
# > - `q` and `do` filled with 0, LSE with $-\infty$: $P = \infty$. NaN in every key of the block.
# > - The last query again, by clamped indices: $P$ is its shares. Too large, by as many copies as there are padded rows.
# > - No mask on `q` and `do`, so that they hold the next head's first rows: wrong by whatever lies there.
# > - LSE filled with $+\infty$, anything finite in `q` and `do`: $P = 0$. Right, $0 \cdot \text{finite}$ is 0.
# >
# > The advice "mask `p`" was good, and the reason given for it was wrong: whoever believes it masks `p` and then feels
# > free to clamp, or to fill LSE as they like. The rule that holds: a padded query must contribute
# > $0 \cdot \text{finite}$ to every sum. Filling LSE with $+\infty$ gives the 0, filling `q` and `do` with zeros gives
# > the finite.
#
# (In lesson 07 the padded index that was summed over was the key's. There $K_j = 0$ saved $dQ$, as $dO_i = 0$ saves $dV$
# here, until $P$ overflowed.)
#
# ### Exercise 1: `dkv_kernel` · core
#
# Write the kernel; the launcher is given, and has computed $\delta$. What the check will ask of it:
#
# - any $S_q$, $S_k$ and $D$; rows from $S_q$ on, keys from $S_k$ on and lanes from $D$ on are padding;
# - every tensor with strides of its own;
# - `dk` and `dv` grow in fp32; `p` and `ds` are cast to the dtype of the operand that they meet; dtypes are fp32, fp16
#   and bf16. Pass `input_precision="ieee"` to `tl.dot`;
# - $\alpha$ on `dk`, not on `dv`.
#
# Before you start: do padded *keys* need a mask here? Their `s` is 0 and their `p` is $e^{-\mathrm{LSE}_i}$, perhaps
# infinite. Which elements of `dk` and `dv` can they reach?

# %% exercise="dkv_kernel"
# INCLUDE: flashlearn/kernels/flash_backward_dkv.py:flash_dkv_kernel


# INCLUDE: flashlearn/kernels/flash_backward_dkv.py:dkv_kernel

# %%
flashlearn.check("dkv_kernel", dkv_kernel)

# %%
# flashlearn.hint("dkv_kernel")

# %% [markdown]
# Break it, one thing at a time: `other=0.0` for LSE; `other=-float("inf")`; no `tl.trans` on `ds`; `range(0, S_k,
# BLOCK_Q)`; alpha on both; no `delta_i`. One of the six passes. For the last one, look at `dv` in the report: why is
# it right?
#
# <details><summary><b>What to notice</b></summary>
#
# - `other=0.0` passes: experiment 1.
# - Padded keys need no mask. Column $j$ of `p` and `ds` becomes row $j$ of `dv` and `dk`, and nothing else; the rows of
#   padded keys are never stored. Infinities stay in their own row. So the mask that lesson 07 needed on keys is
#   superfluous here, and the one on queries, superfluous there, is needed: it is always the index that is summed over.
# - $dV = P^\top dO$ does not contain $dS$. Whatever is wrong with $\delta$, $dP$ or $dS$ shows in $dK$ and not in $dV$;
#   whatever is wrong with $P$ shows in both. Lesson 10 makes a method of this.
# - Two sums of `(BLOCK_K, BLOCK_D)` in fp32 live in registers during the whole loop, where the forward pass and $dQ$
#   have one. Look at the report's budget: in fp32, without tensor cores, all 255 registers are taken, and some are
#   spilled.
#
# </details>

# %% [markdown]
# ## 5 · Causal: where the loop starts
#
# Query $i$ sees key $j$ where $j \le i + S_k - S_q$. Turned around: key $j$ is seen by the queries
#
# $$i \ge j - (S_k - S_q).$$
#
# Early queries do not see late keys, so now the mask cuts off the *beginning* of the loop. The first key of program
# `pid` is $\mathrm{pid} \cdot B$; the first query that sees it is $\mathrm{pid}\cdot B - (S_k - S_q)$, or 0 if that is
# negative. Tiles begin at multiples of the block size, so round down:
#
# $$\mathrm{start} = \left\lfloor \frac{\max(0,\ \mathrm{pid}\cdot B - (S_k - S_q))}{B} \right\rfloor B .$$
#
# The same tiles as in lesson 07, of course. Only their owners have changed:

# %%
pictures.causal_tiles("keys", ((192, 192), (96, 192), (192, 112)))

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - The work is unevenly shared. For $S_q = S_k$ the first program visits all tiles of queries and the last one a single
#   tile; for $dQ$ it was the other way round. (Lesson 12 starts the heavy ones first.)
# - With more queries than keys, the first $S_q - S_k$ queries see nothing; whole tiles of them are never visited, by any
#   program. The tile where they end is, and there LSE $= -\infty$ must not turn into NaN. $dK$ and $dV$ sum over queries,
#   so a single NaN row of `p` would spoil every key of the block, not one row as in $dQ$.
#
# </details>

# %% [markdown]
# **Predict** the starts for $S_q = 64$, $S_k = 100$ and blocks of 32. Then for $S_q = 100$, $S_k = 64$.

# %% tags=["nbval-check-output"]
for length_q, length_k in ((64, 100), (100, 64)):
    print(f"S_q = {length_q}, S_k = {length_k}")
    for pid in range(math.ceil(length_k / 32)):
        first = max(0, pid * 32 - (length_k - length_q))
        start = first // 32 * 32
        steps = len(range(start, length_q, 32))
        print(f"  program {pid}: first query {first:3}, start {start:3}, {steps} tiles")

# %% [markdown]
# ### Exercise 2: `dkv_kernel_causal` · core
#
# Your kernel once more, with three changes: the loop's start, the mask in `s`, the guard for LSE. What the check will
# ask of it, beyond exercise 1:
#
# - bottom-right alignment for $S_q \ne S_k$, both ways;
# - queries that see nothing add nothing, and make no NaN;
# - tiles without a visible pair are not multiplied (it counts).

# %% exercise="dkv_kernel_causal"
# INCLUDE: flashlearn/kernels/flash_backward_dkv.py:flash_dkv_causal_kernel


# INCLUDE: flashlearn/kernels/flash_backward_dkv.py:dkv_kernel_causal

# %%
flashlearn.check("dkv_kernel_causal", dkv_kernel_causal)

# %%
# flashlearn.hint("dkv_kernel_causal")

# %% [markdown]
# ### One program, step by step
#
# `flashlearn.trace` shows what one program touches, access by access; move the slider, or click on it and use the
# arrow keys. 128 queries and keys, blocks of 32, and program (2, 0): keys 64 to 95. **Predict** which tile of $Q$ it
# reads first, and which of $Q$, $K$, $V$ and $dO$ stays in registers.

# %%
generator = torch.Generator().manual_seed(4)
q, k, v, do = (torch.randn(1, 1, 128, 64, generator=generator).to(DEVICE) for _ in range(4))
o, lse = flash_forward_causal(q, k, v, 0.125)
launcher = flashlearn.use("dkv_kernel_causal", dkv_kernel_causal)
first_keys, later_keys = (
    flashlearn.trace(launcher, q, k, v, o, do, lse, 0.125, program=(pid, 0)) for pid in (0, 2)
)

assert later_keys["q_ptr"].requested < first_keys["q_ptr"].requested
assert later_keys["k_ptr"].again == 0
for name, one in (("keys from 0", first_keys), ("keys from 64", later_keys)):
    print(f"{name:12} bytes of Q {one['q_ptr'].requested:6}, of K {one['k_ptr'].requested:5}")
later_keys

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - Lesson 07's picture, turned around: one tile of $K$ and of $V$ comes first and stays; $Q$, $dO$, LSE and $\delta$
#   come by. Two tiles are written at the end, $dK$ and $dV$.
# - The loop starts at query 64: earlier queries do not see these keys. The first program reads all of $Q$, this one
#   half of it.
# - Per tile of queries the loop reads two tiles and two numbers per query. That is the price of giving each key one
#   owner: for all programs together, look at *again* for $Q$.
#
# </details>

# %% [markdown]
# ## 6 · The whole backward pass
#
# Both kernels together, on the small example, causal and not, beside autograd. With four queries and three keys, the
# causal mask leaves query 0 with nothing to see.

# %%
q4, k4, v4, do4 = (t[None, None] for t in example.tensors(DEVICE))  # [1, 1, S, 2] in fp32
both = {
    "all keys": (flash_forward, dq_kernel, flashlearn.use("dkv_kernel", dkv_kernel)),
    "causal": (
        flash_forward_causal,
        dq_kernel_causal,
        flashlearn.use("dkv_kernel_causal", dkv_kernel_causal),
    ),
}

for causal, (name, (forward, for_dq, for_dkv)) in enumerate(both.items()):
    o4, lse4 = forward(q4, k4, v4, alpha)
    saved = (q4, k4, v4, o4, do4, lse4, alpha)
    mine = (for_dq(*saved), *for_dkv(*saved))
    leaves = [t.clone().requires_grad_() for t in (q4, k4, v4)]
    o_torch, _ = reference.attention_forward(*leaves, alpha, causal=bool(causal))
    truth = torch.autograd.grad(o_torch, leaves, do4)
    agree = [torch.allclose(a, t, atol=1e-6) for a, t in zip(mine, truth, strict=True)]
    print(f"{name:9} dQ, dK, dV equal to autograd's:", agree)
    print(mine[1][0, 0].cpu().numpy().round(4))

# %% [markdown]
# And the price, counted at 128 queries and keys, $D = 64$, tiles of 32, fp32. Section 2 said seven products, of
# $2 N^2 D$ operations each. (Each launcher computes $\delta$ for itself, so it is computed twice.)

# %%
generator = torch.Generator().manual_seed(3)
large = [torch.randn(1, 1, 128, 64, generator=generator).to(DEVICE) for _ in range(4)]  # q, k, v, do
o, lse = flash_forward(*large[:3], 0.125)
saved = (*large[:3], o, large[3], lse, 0.125)

total = 0
for name, function in (("dQ", dq_kernel), ("dK, dV", flashlearn.use("dkv_kernel", dkv_kernel))):
    with flashlearn.observing() as (session, _):
        function(*saved)
    seen = session.observation()
    products = seen.operations["dot"] / (2 * 128**2 * 64)
    total += products
    print(f"{name:7} {products:.0f} products, {seen.bytes_requested / 1024:.0f} KiB requested, ", end="")
    print(f"{seen.bytes_unique / 1024:.0f} KiB if each byte came once")
print(f"together {total:.0f} products")

# %% [markdown]
# ## 7 · What you have now
#
# | | | remember |
# |---|---|---|
# | the shape | a program owns keys, queries come by | the forward pass, turned by 90 degrees |
# | $dV$ | $P^\top dO$ | no $\alpha$, no $\delta$ |
# | $dK$ | $\alpha\, dS^\top Q$ | $\alpha$ once, at the end |
# | two designs | scan twice: 7 products, repeatable | add across programs: 5, atomics, fp32 buffer |
# | padding | mind the index that is summed over | here queries (LSE $+\infty$); for $dQ$ keys ($s = -\infty$) |
# | "$P = 1$ leaks" | only if padded `do` is not 0 | $\infty \cdot 0$ is worse, clamping leaks for real |
# | causal | `start = max(0, pid B − (S_k − S_q)) // B * B` | the mask cuts the loop's beginning |
# | sees nothing | LSE $-\infty \to +\infty$ | one NaN here costs a whole block of keys |
#
# ### Questions to yourself
#
# Answer before you unfold.
#
# **1.** A kernel fills LSE with 0 and clamps nothing, and loads `do` without a mask, since "`p` is masked anyway":
# `p = tl.where(in_queries[:, None], p, 0.0)`. In memory the next head follows. Is it right? When does it become NaN?
#
# <details><summary>Answer</summary>
#
# In exact arithmetic it is right: `p` and hence `ds` are 0 in the padded rows, and $0 \cdot dO$ is 0 for whatever
# finite numbers lie there. The last head's rows lie beyond the tensor: out of bounds, and on a GPU perhaps a NaN or an
# infinity left by somebody else, and $0 \cdot \mathrm{NaN}$ is NaN. Masked loads are for the bounds, the zero in `p` is
# for the sum; each needs the other.
#
# </details>

# %% [markdown]
# **2.** $dK$ is wrong and $dV$ is right. Which of these can be the reason: alpha left out of `s`; $\delta$ left out;
# `tl.trans` forgotten on `p`; LSE in base 2; the loop starts one block late; `dk *= alpha` forgotten?
#
# <details><summary>Answer</summary>
#
# $\delta$ left out, and `dk *= alpha` forgotten. The others are wrong in $P$ or in the tiles that are visited, and would
# show in $dV$ as well (`tl.trans` on `p` would show in $dV$ alone). With $\alpha = 1$ the last fault would not show at
# all.
#
# </details>

# %% [markdown]
# **3.** In half precision, someone casts `p` to fp16 right after the exponential and uses the cast tile for both $dV$ and
# $dS$. What changes, and for which of the two does it matter more?
#
# <details><summary>Answer</summary>
#
# For $dV$ nothing: `p` is cast for that product in any case. $dS = P \circ (dP - \delta)$ now starts from a rounded
# factor and is rounded once more before its own product, so $dK$ (and $dQ$, in its kernel) carries two relative errors of
# $2^{-11}$ instead of one. Rows of $dS$ also no longer sum to zero as well as before, and where keys have a large common
# part that is what is left over.
#
# </details>

# %% [markdown]
# ### Journal
#
# *Two or three sentences in your own words, for yourself in a month. Which masks did you write before you knew whether
# they were needed? How would you explain to a friend which index needs one? Double-click here and write.*

# %% [markdown]
# ### What comes next
#
# All three gradients exist. Lesson 09 puts forward and backward kernels behind `torch.autograd.Function`, compares them
# with torch's own attention, and trains a small transformer with them. Lesson 11 returns to the other design: one pass,
# five products, atomics.
#
# **Sources.** One pass that owns keys and adds to $dQ$: T. Dao, *FlashAttention-2*, arXiv 2307.08691, Algorithm 2, and
# section 3.2 on why the backward pass is parallel over blocks of keys. The design with two scans: Triton's tutorial 06,
# *Fused Attention*. Atomic additions and repeatability: PyTorch's notes on reproducibility, which list the operations
# that add in an order of their own.
