# %% [markdown]
# # dK and dV
#
# A program that owns queries can finish its block of $dQ$ alone. It cannot finish any block of $dK$ or $dV$: every
# query has something to add to them. This lesson swaps the roles of queries and keys, counts what that costs, and
# settles a question about which there is much hearsay: what do padded queries do?
#
# **Afterwards you can**
#
# - say why no program can own a block of all three gradients, and compare the three designs that follow from this, in
#   products and repeatability;
# - distinguish a lost update from a rounding error, and find the line that causes it in a report;
# - write the kernel that owns keys and scans queries, and explain its two transposes;
# - say exactly when padded queries leak into $dV$, when they turn it into NaN, and when they do no harm;
# - find the start of a causal loop for any $S_q$ and $S_k$;
# - ask the compiler for which block shapes, warps and stages this kernel runs out of registers.
#
# **You need** lesson 07 (the same tiles, scanned along the other axis), lesson 03 ($dV = P^\top dO$,
# $dK = \alpha\, dS^\top Q$), and for section 6 lesson 05 (registers, spilling, stages). You need none of the code
# that you wrote there.
#
# **It takes** about three hours: a kernel of about 30 lines, a second one that differs from it in a
# few lines, several experiments, three questions at the start and three at the end.

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
from flashlearn.compiler import compile_launch
from flashlearn.kernels import flash_backward_dkv
from flashlearn.kernels.delta import delta_preprocess
from flashlearn.kernels.flash_backward_dq import dq_kernel, dq_kernel_causal
from flashlearn.kernels.flash_forward import flash_forward, flash_forward_causal
from flashlearn.lessons.lesson_08_dk_dv.faulty_kernels import faulty_dkv
from flashlearn.lessons.shared import backward_pictures as pictures
from flashlearn.lessons.shared import example, reference

# %% [markdown]
# ## Before you begin
#
# Three questions about what came before. Run the cell to read them, enter a letter for each number, and run it again.
# A wrong choice costs nothing; the reply says what it overlooks.

# %% tags=["recall"]
### BEGIN SOLUTION
# STUB: answers = {1: "", 2: "", 3: ""}
answers = {1: "a", 2: "b", 3: "c"}
### END SOLUTION
flashlearn.recall("08", answers)

# %% [markdown]
# ## 1 · Two sums over the queries
#
# Value $j$ influences the loss through every query that sees it, and so does key $j$:
#
# $$dV_j = \sum_i P_{ij}\, dO_i, \qquad dK_j = \alpha \sum_i dS_{ij}\, Q_i .$$
#
# The sums run over $i$, down a column of $P$ and of $dS$. A matrix product sums along the rows of its first factor,
# so a transpose appears in the matrix form: $dV = P^\top dO$ and $dK = \alpha\, dS^\top Q$. The cell checks this for
# **any size**, with derivatives of the two inner products $\langle dO, PV \rangle$ and
# $\langle dS, \alpha\,Q K^\top \rangle$:

# %%
S_q, S_k, D = sp.symbols("S_q S_k D", integer=True, positive=True)
alpha_ = sp.Symbol("alpha", real=True)
Q_, dO_ = sp.MatrixSymbol("Q", S_q, D), sp.MatrixSymbol("dO", S_q, D)
K_, V_ = sp.MatrixSymbol("K", S_k, D), sp.MatrixSymbol("V", S_k, D)
P_, dS_ = sp.MatrixSymbol("P", S_q, S_k), sp.MatrixSymbol("dS", S_q, S_k)

assert sp.Trace(dO_.T * P_ * V_).diff(V_) == P_.T * dO_
assert (alpha_ * sp.Trace(dS_.T * Q_ * K_.T)).diff(K_) == alpha_ * dS_.T * Q_

# %% [markdown]
# A kernel sees only a few queries at a time, so the sum has to be split into blocks of queries. In exact arithmetic
# this changes nothing, as the cell shows at the **concrete size** of the running example: four queries in two blocks,
# three keys, every entry a symbol.

# %%
dS_s = sp.Matrix(4, 3, lambda i, j: sp.Symbol(f"dS_{i}{j}"))
Q_s = sp.Matrix(4, 2, lambda i, d: sp.Symbol(f"Q_{i}{d}"))

in_blocks = sp.zeros(3, 2)
for start in (0, 2):
    ds, q = dS_s[start : start + 2, :], Q_s[start : start + 2, :]  # a block of rows
    in_blocks += ds.T * q
assert sp.expand(in_blocks - dS_s.T * Q_s) == sp.zeros(3, 2)

# %% [markdown]
# Now the numbers. **Predict** without computing: each row of $P$ sums to 1, so what is the sum of all rows of $dV$?
# And since each row of $dS$ sums to 0, what is the sum of all rows of $dK$?

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
# - The sum of the rows of $dV$ equals the sum of the rows of $dO$: each query distributes its $dO_i$ over the keys.
#   The rows of $dK$ sum to zero: adding one vector to *every* key changes all scores of a query by the same amount,
#   and the softmax does not change. These are two tests that need no reference.
# - $\alpha$ is in $dK$ and not in $dV$. $O = PV$ has no $\alpha$ of its own.
#
# </details>
#
# ## 2 · No program owns both
#
# Look at the tiles of $S$ again. $dQ$ sums along rows of tiles, $dK$ and $dV$ along columns. A program that scans a
# row of tiles can own a block of $dQ$; one that scans a column can own a block of $dK$ and of $dV$. No scan does
# both.

# %%
pictures.parallel_shapes("dq", "dkv", "one pass")

# %% [markdown]
# So there are three designs.
#
# - **Scan twice.** One kernel owns queries (lesson 07), another owns keys. Each rebuilds $S$, $P$, $dP$ and $dS$ for
#   itself, so $S$ and $dP$ are computed twice.
# - **Own keys, and add to dQ.** For each tile the program has computed $dS$, so it also computes that tile's share of
#   $dQ$ and adds it to $dQ$ in memory, where other programs add theirs.
# - **Own queries, and add to dK and dV.** The same with the roles swapped: the program keeps its block of $dQ$, and
#   every tile adds a share to $dK$ and another to $dV$.
#
# Compare their costs in products: $S$, $dP$ and $dQ$ are three, $S$, $dV$, $dP$ and $dK$ are four, together seven. In
# one pass there are five, so scanning twice costs $7/5$ of the arithmetic. (Speeds of backward passes are usually quoted
# as if five products had been computed, whichever design was used: the operations are credited, not counted.) On the
# other side of the bill is what a one-pass design adds to memory, once per block and in fp32; the third design adds to
# two tensors where the second adds to one. Lesson 11 counts those bytes, and builds both. What concerns us here is
# whether such an addition is *right*.
#
# ### A race in the report
#
# Lesson 05 showed with two numbers how an addition in memory can lose one of them. Here is the third design, reduced to
# $dV$. Program (0, 0, 0) owns the queries 0 to 15, program (1, 0, 0) the next sixteen. To keep the experiment small, $P$
# is stored in memory. The first variant adds as one would in Python: load, add, store. **Predict** whether the numbers
# are right here, in an interpreter that runs one program after the other, and whether anything is reported.


# %% tags=["nbval-check-output"]
@triton.jit
def add_shares_kernel(p_ptr, do_ptr, dv_ptr, S_k, D: tl.constexpr, BLOCK: tl.constexpr, ATOMIC: tl.constexpr):
    rows, d = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), tl.arange(0, D)
    do = tl.load(do_ptr + rows[:, None] * D + d[None, :])  # this program's queries
    for start in range(0, S_k, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        p = tl.load(p_ptr + rows[:, None] * S_k + columns[None, :])  # (queries, keys)
        share = tl.dot(tl.trans(p), do, input_precision="ieee")  # (keys, D)
        dv_tile = dv_ptr + columns[:, None] * D + d[None, :]
        if ATOMIC:
            tl.atomic_add(dv_tile, share)
        else:
            tl.store(dv_tile, tl.load(dv_tile) + share)


generator = torch.Generator().manual_seed(5)
p_stored = torch.softmax(torch.randn(32, 32, generator=generator), dim=1).to(DEVICE)
do_stored = torch.randn(32, 16, generator=generator).to(DEVICE)

for atomic in (False, True):
    dv = torch.zeros(32, 16, device=DEVICE)
    with flashlearn.observing() as (session, _):
        add_shares_kernel[(2,)](p_stored, do_stored, dv, 32, D=16, BLOCK=16, ATOMIC=atomic)
    races = session.memory.races.found
    print("atomic add:     " if atomic else "load, add, store:", end=" ")
    print("right here," if torch.allclose(dv, p_stored.T @ do_stored, atol=1e-5) else "wrong here,", end=" ")
    print(races[0].sentence if races else "and no two programs meet without order")

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - The numbers are right, and the kernel is wrong. The interpreter reports it because it records which program accessed
#   which address, and does not look at the result. On a GPU both programs can run at the same time: if both load before
#   either stores, the share of the one that stores first is missing.
# - That is not a rounding error: a whole share is missing, and on the next run perhaps another one, or none. A test that
#   compares numbers finds the mistake only if a share is lost in its run. How many are lost on a GPU is measured in
#   lesson 11; lesson 10 has a patient with this fault.
# - `tl.atomic_add` is a single step for each address: no other program can come in between. It makes the sum right
#   but does not fix the order, so with more than two programs the last bits may still change from run to run.
#
# </details>

# %% [markdown]
# > ### Sources corrected: two kernels are required
# >
# > **The claim.** Since $dQ$ sums over keys and $dK$ over queries, no kernel can compute both without its programs
# > overwriting each other's results. Therefore the backward pass *needs* two kernels.
# >
# > **The experiment.** Let every block of keys add its share to $dQ$, in torch, one complete addition after the
# > other, in a random order of the programs. **Predict** two things: is the result right, and is it the same for
# > every order?

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
# > **The verdict.** One kernel suffices if the additions are atomic. FlashAttention-2 does this: in Algorithm 2 of
# > the paper a program owns a block of keys and adds to $dQ$ in memory. The advantages of two kernels are different
# > ones: no atomics, no fp32 buffer for $dQ$ that must be zeroed first and converted at the end, and the same bits on
# > every run. Their cost is seven products instead of five. "Required" is wrong; "simpler, and repeatable" is right.
#
# This course begins with two scans. You have written the first kernel; the second follows. Lesson 11 builds the
# one-pass designs and compares them.
#
# ## 3 · The kernel, with queries and keys swapped
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
# The loop runs over queries, and each step loads everything that belongs to its queries: two tiles, and one LSE and
# one $\delta$ per query. $\delta$ must have been computed before. To compute it here would mean a third tile, of $O$,
# in every step (lesson 03 counted what that costs: the traffic of the loop grows by half).
#
# ### The transposes
#
# `p` and `ds` have queries as rows and keys as columns, and the sums run over queries, so both are transposed before
# their product: `tl.dot(tl.trans(p), do)`. If you forget this, a shape error may or may not tell you. **Predict**
# which of these two is rejected.

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
# Lesson 01 warned of `dK = dS · Q`, which passes a shape check when $S_q = S_k$. In a kernel it is worse: only the
# *tile* has to be square, and it usually is.
#
# A popular way to debug such kernels is an *identity pattern*: $Q = K = I$ with four queries and keys, $D = 4$. Then
# $S = \alpha I$, and $P$ has only two different numbers, which one can check by eye. It is a good first test, but it
# has a blind spot. **Predict** whether it detects a missing transpose of $P$, and a missing transpose of $dS$.

# %% tags=["nbval-check-output"]
generator = torch.Generator().manual_seed(6)
identity = torch.eye(4, dtype=torch.float64)
V_any, dO_any = (torch.randn(4, 4, generator=generator, dtype=torch.float64) for _ in range(2))
P_id = torch.softmax(0.5 * identity @ identity.T, dim=1)  # alpha = 1/√4
dP_id = dO_any @ V_any.T
dS_id = P_id * (dP_id - (P_id * dP_id).sum(dim=1, keepdim=True))

print("P[0]", P_id[0].numpy().round(3))
for name, forgotten, right in (
    ("P ", P_id @ dO_any, P_id.T @ dO_any),
    ("dS", dS_id @ identity, dS_id.T @ identity),
):
    print(f"no transpose on {name}:", "not seen" if torch.allclose(forgotten, right) else "seen")

# %% [markdown]
# With $Q = K$ the scores are symmetric, and here $P$ is, too. A matrix that is equal to its transpose cannot show
# that a transpose is missing. $dS$ is not symmetric, since $dO$ and $V$ differ. With $V = dO = I$ as well, neither
# mistake would show.
#
# ## 4 · Padded queries: three experiments
#
# The last tile of queries may be ragged, and now the padding is in the index that is *summed over*. The value of `p`
# for a padded query may reach every key. Which masks are needed?
#
# > ### Sources corrected: a padded query has P = 1, and that leaks into dV
# >
# > **The claim.** Lanes beyond $S_q$ load zeros. Then $s = 0$ and, with LSE filled with 0 as well,
# > $p = e^{0 - 0} = 1$. A row of ones in $P$ adds to $dV = P^\top dO$, and $dV$ is wrong unless `p` is masked.
#
# We use the running example: its four queries in a tile of eight, so that four rows are padding. `one_tile` computes
# what a program adds to $dV$ and $dK$ for one tile, without any mask.


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
# $1 \cdot (0 - 0) = 0$, and is multiplied by a row of $Q$ that is zero.) One finite factor and one zero are enough.
#
# **Experiment 2, another filler.** The forward pass writes $\mathrm{LSE} = -\infty$ for a query that sees nothing, and a
# padded query sees nothing, so $-\infty$ looks like the natural filler. **Predict** again.

# %% tags=["nbval-check-output"]
p_minus_inf, dv, dk = one_tile(filled(Q, 0.0), filled(dO, 0.0), filled(LSE, -math.inf), filled(delta, 0.0))

print("P in the padded rows:", p_minus_inf[4:].unique().tolist())
print(f"dV\n{dv.numpy()}")

# %% [markdown]
# $e^{0 + \infty} = \infty$, and $\infty \cdot 0$ is NaN. A single padded row makes the results for every key of the
# block NaN.
#
# **Experiment 3, no filler at all.** To avoid masks, some kernels *clamp* the row index, `min(rows, S_q − 1)`: every
# load is in bounds, and padded rows repeat the last query. **Predict** the error of $dV$.

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
# Now the same in a real kernel that is right except for the padding, with $S_q = 37$ and tiles of 32, so that 27 rows
# are padded.

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
# > **The verdict.** "$P = 1$ leaks into $dV$" is true only if the padded rows of `do` are not zero.
# >
# > - `q` and `do` filled with 0, LSE with 0: $P = 1$. Right, because the other factor is 0.
# > - `q` and `do` filled with 0, LSE with $-\infty$: $P = \infty$. NaN in every key of the block.
# > - Clamped indices, which repeat the last query: $P$ is that of the last query. The result contains an extra copy
# >   of its contribution for every padded row.
# > - No mask on `q` and `do`, so that they hold the next head's first rows, and LSE filled with a finite number:
# >   wrong by an amount that depends on those rows.
# > - LSE filled with $+\infty$, anything finite in `q` and `do`: $P = 0$. Right, $0 \cdot \text{finite}$ is 0.
# >
# > The advice "mask `p`" is good, but not for the reason given: what leaks depends on the padded rows of `do` and on
# > LSE, and not on $P = 1$. The rule that always holds: a padded query must contribute $0 \cdot \text{finite}$ to
# > every sum. Filling LSE with $+\infty$ makes one factor 0, and filling `q` and `do` with zeros makes the other one
# > finite.
#
# (In lesson 07 the sum was over keys, so the padded keys mattered. There $K_j = 0$ kept $dQ$ right, as $dO_i = 0$
# keeps $dV$ right here, unless $P$ overflowed.)
#
# ### Exercise: `dkv_kernel` · core
#
# Write the kernel; the launcher is given, and has computed $\delta$. The check requires:
#
# - any $S_q$, $S_k$ and $D$; rows from $S_q$ on, keys from $S_k$ on and lanes $d \ge D$ are padding;
# - every tensor has its own strides; $H$ and $B$ are up to 65535 each, the limit of the grid's second and third axes;
#   a head's offset takes 64 bits, as in the given prologue;
# - $\alpha$ may be negative, and scores may be near $-120$, where $e^{-\mathrm{LSE}}$ is infinite;
# - `dk` and `dv` are accumulated in fp32; `p` and `ds` are cast to the dtype of the other operand of their product;
#   dtypes are fp32, fp16 and bf16. Pass `input_precision="ieee"` to `tl.dot`;
# - $\alpha$ on `dk`, not on `dv`.
#
# Before you start: do padded *keys* need a mask here? Their `s` is 0 and their `p` is $e^{-\mathrm{LSE}_i}$, perhaps
# infinite. Which elements of `dk` and `dv` can they reach?

# %% exercise="dkv_kernel"
# HINT: Swap the roles of the forward pass: load this block's `k` and `v` once, and loop over the tiles of Q
#     and dO, with their `lse` and `delta`. Two sums over the queries are accumulated, `dv` from $P$ and `dk`
#     from $dS$.
# HINT: Four products per tile: `s` and `dp` are (BLOCK_Q, BLOCK_K) as before; `dv` gets $P^\top dO$ and `dk`
#     gets $dS^\top Q$, both (BLOCK_K, BLOCK_D), so the first factor is `tl.trans(...)` of the cast tile. A
#     padded query must have $P = 0$: which `other=` for LSE makes `exp(s - lse)` zero?
# HINT: In the loop: `q`, `do`, `lse_i` (with the filler that makes P zero) and `delta_i` of this tile of
#     queries; `s` and `p` as in lesson 07; to `dv` you add the product of the transposed, cast `p` and one of
#     the two tiles; `dp` and `ds` as in lesson 07; to `dk` you add the product of the transposed, cast `ds`
#     and the other tile. After the loop one of the two sums is multiplied by alpha, and both are stored under
#     `in_keys` and `in_d`.
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
# - $dV = P^\top dO$ does not contain $dS$. A mistake in $\delta$, $dP$ or $dS$ shows in $dK$ and not in $dV$; a
#   mistake in $P$ usually shows in both. Lesson 10 turns this into a method.
# - Two sums of `(BLOCK_K, BLOCK_D)` in fp32 are carried through the whole loop, where the forward pass and $dQ$ have
#   one. Section 6 looks at the registers that this takes.
#
# </details>

# %% [markdown]
# ## 5 · Causal: where the loop starts
#
# Query $i$ sees key $j$ where $j \le i + S_k - S_q$. Solved for $i$: key $j$ is seen by the queries
#
# $$i \ge j - (S_k - S_q).$$
#
# Early queries do not see late keys, so now the mask makes the *beginning* of the loop superfluous. Where does the
# loop of program (pid, head, batch) begin, if it owns a block of $B_k$ keys and scans tiles of $B_q$ queries? Two
# questions lead to the answer: which query is the first that sees the block's first key, and which tile is that query
# in?
#
# <details><summary>The start, derived</summary>
#
# The block's first key is $\mathrm{pid} \cdot B_k$. The first query that sees it is $\mathrm{pid}\cdot B_k - (S_k - S_q)$, or
# query 0 if that is negative. Tiles begin at multiples of $B_q$, so round down to one:
#
# $$\mathrm{start} = \left\lfloor \frac{\max(0,\ \mathrm{pid}\cdot B_k - (S_k - S_q))}{B_q} \right\rfloor B_q .$$
#
# The two block sizes are in two different places. With square tiles a kernel that swaps them is still right.
#
# </details>
#
# The tiles are those of lesson 07; only their owners are different:

# %%
pictures.causal_tiles("keys", ((192, 192), (96, 192), (192, 112)))

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - The work is distributed unevenly. In the picture with $S_q = S_k$, the first program visits all tiles of queries
#   and the last one the fewest; for $dQ$ it was the other way round. (Lesson 12 starts the programs with the most
#   work first.)
# - With more queries than keys, the first $S_q - S_k$ queries see nothing; tiles that contain only such queries are
#   not visited by any program. A tile that also contains other queries is visited, and there LSE $= -\infty$ must not
#   turn into NaN. $dK$ and $dV$ sum over queries, so a single NaN row of `p` would spoil every key of the block, not
#   one row as in $dQ$.
#
# </details>

# %% [markdown]
# **Predict** the starts for $S_q = 64$, $S_k = 100$ and blocks of 32 keys and 16 queries. Then for $S_q = 100$,
# $S_k = 64$. The cell finds the tiles with a visible pair from the mask; it uses no formula.

# %% tags=["nbval-check-output"]
for length_q, length_k in ((64, 100), (100, 64)):
    print(f"S_q = {length_q}, S_k = {length_k}")
    pairs = reference.visible(length_q, length_k, causal=True)
    for pid, owned in enumerate(pairs.split(32, dim=1)):
        first = int(owned.any(dim=1).int().argmax())
        tiles = [bool(tile.any()) for tile in owned.split(16)]
        print(
            f"  program ({pid}, 0, 0): first query {first:2}, start {16 * tiles.index(True):2},"
            f" {sum(tiles)} of {len(tiles)} tiles"
        )

# %% [markdown]
# ### Exercise: `dkv_kernel_causal` · core
#
# Your kernel once more, with three changes: the start of the loop, the mask in `s`, and a guard for queries that see
# nothing. The check requires, in addition to what `dkv_kernel` had to do:
#
# - bottom-right alignment, both for $S_q < S_k$ and for $S_q > S_k$;
# - queries that see nothing add nothing, and cause no NaN;
# - no products for tiles in which the mask hides every pair (the check looks at which rows are multiplied; a tile
#   of nothing but padding is not counted).

# %% exercise="dkv_kernel_causal"
# HINT: For dQ the mask shortened the loop at its *end*. Here a program owns keys and scans queries, and early
#     queries do not see its keys. Which part of the loop can be left out?
# HINT: Query i sees key j where $j \le i + S_k - S_q$, so key j is first seen by $i = j - (S_k - S_q)$, or by
#     query 0 if that is negative. Take the block's first key, and round down to a multiple of BLOCK_Q.
#     Queries that see nothing have LSE $= -\infty$, and must add 0 to both sums.
# HINT: `first` is `tl.maximum` of 0 and of the query that first sees key `pid * BLOCK_K`; the range starts at
#     `first // BLOCK_Q * BLOCK_Q`. In the loop `lse_i` gets the guard of lesson 07, and `s` is −inf where the
#     comparison of columns with rows is false.
# INCLUDE: flashlearn/kernels/flash_backward_dkv.py:flash_dkv_causal_kernel


# INCLUDE: flashlearn/kernels/flash_backward_dkv.py:dkv_kernel_causal

# %%
flashlearn.check("dkv_kernel_causal", dkv_kernel_causal)

# %%
# flashlearn.hint("dkv_kernel_causal")

# %% [markdown]
# ### One program, step by step
#
# `flashlearn.trace` shows the memory accesses of one program, one at a time; move the slider, or click on it and use
# the arrow keys. Here there are 128 queries and keys and blocks of 32, and program (2, 0, 0) owns the keys 64 to 95.
# **Predict** which tile of $Q$ it reads first, and which of $Q$, $K$, $V$ and $dO$ are loaded only once.

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
# - It is lesson 07's picture with the roles swapped: one tile of $K$ and one of $V$ are loaded first and kept; $Q$,
#   $dO$, LSE and $\delta$ are loaded in the loop. Two tiles are written at the end, $dK$ and $dV$.
# - The loop starts at query 64: earlier queries do not see these keys. The first program reads all of $Q$, this one
#   half of it.
# - Per tile of queries the loop reads two tiles and two numbers per query. That is the cost of giving each key one
#   owner; *again* for $Q$ shows it for all programs together.
#
# </details>

# %% [markdown]
# ## 6 · Where registers run out
#
# This kernel carries two sums of `(BLOCK_K, BLOCK_D)` in fp32 through its loop, where the forward pass and $dQ$ carry
# one. In addition there are `k`, `v`, and the tiles `s`, `p`, `dp` and `ds`. **Predict** with lesson 05's arithmetic,
# for $D = 128$, blocks of 64 and 4 warps: how many registers of a thread do the two sums take, out of 255?
#
# Two launch options influence what the compiler does with the rest: `num_warps`, the number of warps that share a
# program's tiles, and `num_stages`, how many iterations of the loop have their loads in flight at once. The
# interpreter does not use them; it only records them. The compiler can compile for an H100 (sm_90) on a machine that
# has none. **Predict** for which of the `shapes` registers run out, before you run the cell.


# %%
def dkv_budget(D, block_q, block_k, warps, stages):
    """What the compiler says of the course's dK/dV kernel in fp16, for an H100."""
    q, k, v, do, dk, dv = torch.zeros(6, 1, 1, 16, D, dtype=torch.float16, device=DEVICE)
    lse = delta = torch.zeros(1, 1, 16, device=DEVICE)
    strides = [stride for t in (q, k, v, do, dk, dv) for stride in t.stride()]
    with flashlearn.observing() as (session, _):
        flash_backward_dkv.flash_dkv_kernel[(1, 1, 1)](
            q, k, v, do, lse, delta, dk, dv, 1.0, 1, 16, 16, D, *strides,
            BLOCK_Q=block_q, BLOCK_K=block_k, BLOCK_D=D, num_warps=warps, num_stages=stages,
        )  # fmt: skip
    return compile_launch(session.launches[-1], targets=(90,))[0]


shapes = (
    (64, 64, 64, 4, 3),
    (128, 64, 64, 4, 3),
    (128, 64, 64, 8, 3),
    (128, 64, 64, 4, 2),
    (128, 32, 64, 4, 3),
    (128, 64, 32, 4, 3),
    (128, 64, 128, 8, 2),
)
budgets = {shape: dkv_budget(*shape) for shape in shapes}
spilled = {shape: made.spill_bytes for shape, made in budgets.items()}
assert spilled[64, 64, 64, 4, 3] == 0 < spilled[128, 64, 128, 8, 2]
assert spilled[128, 64, 64, 8, 3] <= spilled[128, 64, 64, 4, 3]  # more warps, and
assert spilled[128, 64, 32, 4, 3] <= spilled[128, 64, 64, 4, 3]  # fewer keys, leave room
print("triton", triton.__version__)
print("  D  BLOCK_Q  BLOCK_K  warps  stages  the sums  registers  spilled   shared  occupancy")
for (D, block_q, block_k, warps, stages), made in budgets.items():
    sums = 2 * block_k * D // (32 * warps)
    print(
        f"{D:3}  {block_q:7}  {block_k:7}  {warps:5}  {stages:6}  {sums:8}  {made.registers:9}"
        f"  {made.spill_bytes:5} B  {made.shared_bytes // 1024:3} KiB  {made.occupancy:9.1%}"
    )

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - For $D = 128$, blocks of 64 and 4 warps, the sums take 128 of 255 registers, half of all, before a single score is
#   computed. $D = 64$ fits easily. For $D = 128$ look at which row is the first to spill: that depends on the
#   compiler, whose version the cell prints.
# - Eight warps distribute the same tiles over twice as many threads. That frees registers, though not half of them,
#   because each thread still needs its own addresses and masks.
# - Fewer stages hardly change the registers, since a tile that is loaded ahead waits in shared memory. There the
#   stages do matter: an H100's multiprocessor has 228 KiB, so that with three stages of $D = 128$ it holds one
#   program, and with two stages two. That is why the launcher above sets two stages.
# - Smaller tiles of *queries* help little or not at all. Smaller blocks of *keys* do, because the sums have one row
#   per key.
# - What is spilled is read back from local memory. A few bytes may be outside the loop and cost almost nothing; some
#   hundred bytes can be expensive. The compiler says how much is spilled; only a measurement on a GPU shows what it
#   costs.
#
# </details>
#
# ### The cheapest shape · stretch, ungraded
#
# (There is no check for this one: the compiler gives the answer.) According to section 2, $Q$ and $dO$ are requested
# once per block of *keys*, so twice as large a `BLOCK_K` halves these requests. Take $D = 128$, and find a shape with
# `BLOCK_K=128` that does not spill: predict first, and then call `dkv_budget`. You can consider up to 16 warps: how
# many registers can each of 512 threads have, if a multiprocessor has 65536?
#
# <details><summary>Two that fit</summary>
#
# `dkv_budget(128, 32, 128, 8, 1)` and `dkv_budget(128, 16, 128, 8, 2)`: smaller tiles of queries make room for the
# larger block of keys. With 16 warps a thread has at most 128 registers, and the sums alone take 64 of them, so that
# it spills. Whether requesting half as much is worth such short tiles has to be measured on a GPU; that is a subject
# of lesson 12.
#
# </details>

# %% [markdown]
# ## 7 · The whole backward pass
#
# Both kernels together, on the small example, with and without a causal mask, compared with autograd. With four
# queries and three keys, the causal mask leaves query 0 without any key.

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
# And the cost, counted for 128 queries and keys, $D = 64$, tiles of 32, fp32. Section 2 said seven products, of
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
# ## 8 · What you have now
#
# | | | remember |
# |---|---|---|
# | the structure | a program owns keys and loops over queries | the forward pass with the roles swapped |
# | $dV$ | $P^\top dO$ | no $\alpha$, no $\delta$ |
# | $dK$ | $\alpha\, dS^\top Q$ | $\alpha$ once, at the end |
# | three designs | scan twice: 7 products, repeatable | one pass: 5, atomics, fp32 buffers |
# | load, add, store | two programs, one address: a share may be lost | `tl.atomic_add`, or one owner |
# | padding | mask the index that is summed over | here queries (LSE $+\infty$); for $dQ$ keys ($s = -\infty$) |
# | "$P = 1$ leaks" | only if padded `do` is not 0 | $\infty \cdot 0$ is worse, clamping leaks for real |
# | causal | the start: $B_k$ gives the first query, $B_q$ the tile | the mask shortens the loop at its beginning |
# | sees nothing | LSE $-\infty \to +\infty$, or another guard | one NaN here spoils a whole block of keys |
# | registers | two sums per program | smaller blocks of keys, or more warps; ask the compiler |
#
# ### Questions for yourself
#
# Answer before you unfold.
#
# **1.** A kernel fills LSE with 0 and clamps nothing, and loads `do` without a mask, since "`p` is masked anyway":
# `p = tl.where(in_queries[:, None], p, 0.0)`. In memory the next head follows. Is $dV$ right? When does it become
# NaN?
#
# <details><summary>Answer</summary>
#
# It is right as long as the numbers read are finite: `p` and hence `ds` are 0 in the padded rows, and $0 \cdot dO$ is
# 0 for any finite $dO$. For the last head these rows are beyond the tensor: the load is out of bounds, and on a GPU
# it may read a NaN or an infinity that was left there, and $0 \cdot \mathrm{NaN}$ is NaN. The masked load protects
# the bounds, the zero in `p` protects the sum; you need both.
#
# </details>

# %% [markdown]
# **2.** $dK$ is wrong and $dV$ is right. Which of these can be the reason: alpha left out of `s`; $\delta$ left out;
# `tl.trans` forgotten on `p`; LSE in base 2; the loop starts one block late; `dk *= alpha` forgotten?
#
# <details><summary>Answer</summary>
#
# $\delta$ left out, and `dk *= alpha` forgotten. The others make $P$ or the set of visited tiles wrong, and would
# show in $dV$ as well (`tl.trans` forgotten on `p` would show in $dV$ only). With $\alpha = 1$ a forgotten
# `dk *= alpha` would not show at all.
#
# </details>

# %% [markdown]
# **3.** In half precision, someone casts `p` to fp16 right after the exponential and uses the cast tile for both $dV$
# and $dS$. What changes, and for which of the two does it matter?
#
# <details><summary>Answer</summary>
#
# For $dV$ nothing: `p` is cast for that product in any case. $dS = P \circ (dP - \delta)$ now starts from a rounded
# factor and is rounded once more before its own product, so $dK$ (and $dQ$, in its kernel) carries two relative
# errors of $2^{-11}$ instead of one. The rows of $dS$ then sum to zero less exactly than before. If all keys have a
# large part in common, the error of $dQ$ contains that part times the sum of the row.
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
# All three gradients exist. Lesson 09 calls forward and backward kernels from a `torch.autograd.Function`, compares
# them with torch's own attention, and trains a small transformer with them. Lesson 11 returns to the other design:
# one pass, five products, atomics.
#
# **Sources.** One pass that owns keys and adds to $dQ$: T. Dao, *FlashAttention-2*, arXiv 2307.08691, Algorithm 2,
# and section 3.2 on why the backward pass is parallel over blocks of keys. The design with two scans: Triton's
# tutorial 06, *Fused Attention*. Atomic additions and repeatability: PyTorch's notes on reproducibility, which list
# the operations whose results may depend on the order of additions.
