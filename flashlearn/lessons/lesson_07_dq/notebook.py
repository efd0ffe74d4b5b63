# %% [markdown]
# # dQ
#
# The forward kernel stored two things: the output $O$, and one number per query, the LSE. Now a gradient $dO$
# arrives, and three gradients have to be computed from it. $dQ$ comes first, because its kernel has the structure of
# the forward kernel, which you know already: a program keeps a block of queries, loops over the keys, and stores a
# block of rows at the end.
#
# **Afterwards you can**
#
# - say which parts of $Q$, $K$, $V$, $dO$, LSE and $\delta$ a block of $dQ$ needs, and why its programs are
#   independent of each other;
# - rebuild a tile of $P$ from LSE, and explain why nothing is rescaled in the loop;
# - say what it costs to compute $\delta$ inside the loop, in bytes that you counted;
# - find the end of a causal loop for any $S_q$ and $S_k$, and handle queries that see nothing;
# - write these kernels.
#
# **You need** lesson 03 ($dS = P \circ (dP - \delta)$ and $dQ = \alpha\, dS\, K$), lesson 04 (LSE) and lesson 06 (the
# forward kernel, its tiles and its masks). The proof in section 1 uses sympy's sums over symbols, which lesson 01
# introduces. You need none of the code that you wrote there.
#
# **It takes** about two to two and a half hours: a kernel of about 25 lines, two more that differ from it in a few
# lines, three questions at the start and three at the end.

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
from flashlearn.kernels.flash_forward import flash_forward, flash_forward_causal
from flashlearn.lessons.lesson_07_dq.faulty_kernels import faulty_dq
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
answers = {1: "c", 2: "a", 3: "b"}
### END SOLUTION
flashlearn.recall("07", answers)

# %% [markdown]
# ## 1 · One row of dQ
#
# Lesson 03 computed the gradients one matrix at a time. A kernel has only one query, or a few, so the question is
# what *they* need. Follow one query $q$ from its scores to its probabilities and to its part of the loss:
#
# $$S_j = \alpha \sum_e q_e K_{je}, \qquad P_j = \frac{e^{S_j}}{\sum_l e^{S_l}}, \qquad L = \sum_j dP_j\, P_j,$$
#
# with $dP_j = \sum_d dO_d V_{jd}$ held constant, which is allowed when only the derivative is needed. Now
# differentiate the whole expression with respect to $q_d$. The proof in the cell holds for **any number of keys $N$
# and any $D$**, since the sums stay symbolic.

# %%
N, D = sp.symbols("N D", integer=True, positive=True)
j, l, e, d = sp.symbols("j l e d", integer=True)
alpha_ = sp.Symbol("alpha", real=True)
q_, K_, dP_ = (sp.IndexedBase(name, real=True) for name in ("q", "K", "dP"))


def score(key):
    return alpha_ * sp.Sum(q_[e] * K_[key, e], (e, 0, D - 1))


def row_sum(term, index):
    return sp.Sum(term, (index, 0, N - 1))


Z = row_sum(sp.exp(score(l)), l)
loss = row_sum(dP_[j] * sp.exp(score(j)), j) / Z
d_in_range = sp.Q.ge(d, 0) & sp.Q.le(d, D - 1)
by_sympy = sp.refine(sp.diff(loss, q_[d]).doit(), d_in_range)

# alpha Σ_j P_j (dP_j − delta) K_jd, multiplied out, with P_j = e^S_j / Z and delta = Σ_j P_j dP_j = loss
by_lesson_03 = (
    alpha_ * row_sum(dP_[j] * sp.exp(score(j)) * K_[j, d], j) / Z
    - alpha_ * loss * row_sum(sp.exp(score(l)) * K_[l, d], l) / Z
)
assert sp.simplify(sp.expand(by_sympy.doit() - by_lesson_03)) == 0

# %% [markdown]
# So the direct derivative agrees with the formula that lesson 03 derived with matrices:
#
# $$dQ_i = \alpha \sum_j dS_{ij}\, K_j, \qquad dS_{ij} = P_{ij}\,(dP_{ij} - \delta_i).$$
#
# Read the indices. Row $i$ of $dQ$ needs row $i$ of $Q$ and of $dO$, and two numbers, $\mathrm{LSE}_i$ and
# $\delta_i$. It needs nothing from the other queries. It needs every row of $K$ and $V$, and the sum over $j$ can be
# taken in any order and in tiles of any size.
#
# Now row 0 of the running example, by hand. Its scores are $(1, 2, 3)/\sqrt 2$ and $dP_0 = (1, -2, 0)$. **Predict**
# the sign of each $dS_{0j}$, and their sum.

# %% tags=["nbval-check-output"]
Q, K, V, dO, alpha = example.Q, example.K, example.V, example.dO, example.ALPHA  # fp64

O, LSE = reference.attention_forward(Q, K, V, alpha)
P = torch.exp(alpha * Q @ K.T - LSE[:, None])  # (4, 3)
dP = dO @ V.T  # (4, 3)
delta = (O * dO).sum(dim=1)  # (4,)
dS = P * (dP - delta[:, None])  # (4, 3)
dQ = alpha * dS @ K  # (4, 2)

for name, row in (("P_0", P[0]), ("dP_0", dP[0]), ("delta_0", delta[:1]), ("dS_0", dS[0]), ("dQ_0", dQ[0])):
    print(f"{name:8}", row.numpy().round(4))

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - $\delta_0$ is below 0. It lies between the smallest and the largest $dP_{0j}$, because it is a weighted mean of
#   them. Keys 0 and 2 are above the mean and get a positive $dS$; key 1 is below it and gets a negative one.
# - $dS_0$ sums to zero. With $K = [(1, 0), (0, 1), (1, 1)]$ the row $dQ_0$ is
#   $\alpha\,(dS_{00} + dS_{02},\ dS_{01} + dS_{02}) = \alpha\,(-dS_{01},\ -dS_{00})$. Check it.
#
# </details>
#
# ### The parallel shape
#
# The rows of $dQ$ are independent of each other, so one program can own a block of them, load its part of $Q$, $dO$,
# LSE and $\delta$ once, and loop over all tiles of $K$ and $V$. This is the structure of the forward kernel. (For
# $dK$ and $dV$ the roles are swapped: lesson 08.)

# %%
pictures.parallel_shapes("dq")

# %% [markdown]
# Each program writes its own block of $dQ$ and nothing else. No two programs write the same element, so nothing has
# to be added up afterwards, no atomics are needed, and the result is the same on every run, bit for bit.
#
# ## 2 · P again, this time final
#
# The forward pass did not store $P$. It stored, per query, $\mathrm{LSE}_i = m_i + \log l_i$, and lesson 04 showed
# that this is enough:
#
# $$P_{ij} = \frac{e^{S_{ij} - m_i}}{l_i} = e^{S_{ij} - \mathrm{LSE}_i}.$$
#
# **Predict:** the forward kernel had to carry $m_i$ and $l_i$ from tile to tile, and to rescale its sums whenever
# $m_i$ changed. How much of that is needed here?
#
# Below, the example in tiles of two keys: for each tile $P$, $dP$ and $dS$ are computed from that tile's keys alone,
# and $dQ$ grows.

# %% tags=["nbval-check-output"]
for order in ((0, 2), (2, 0)):
    dq = torch.zeros(4, 2, dtype=torch.float64)
    for start in order:
        k, v = K[start : start + 2], V[start : start + 2]  # the second tile has one key
        p = torch.exp(alpha * Q @ k.T - LSE[:, None])
        ds = p * (dO @ v.T - delta[:, None])
        dq += alpha * ds @ k
        print(f"keys from {start}: row 0 of dq is", dq[0].numpy().round(4))
    print("equal to dQ:", torch.allclose(dq, dQ))

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - Nothing. A tile's $p$ is final as soon as it is computed, because the LSE contains the whole row. No running
#   maximum, no rescaling, no division at the end. The backward pass has more products than the forward pass, but a
#   simpler loop.
# - The order of the tiles does not matter (in floating point, up to rounding).
# - No maximum is subtracted, and nothing overflows: $S_{ij} \le \mathrm{LSE}_i$ for every key of the row, so
#   $e^{S_{ij} - \mathrm{LSE}_i} \le 1$. This holds for every key *of the row*; remember that restriction until
#   section 4.
#
# </details>
#
# The same in Triton, for full tiles of 16 queries and 16 keys, so that no mask is needed. To let you look at $P$,
# each program computes one tile of it and writes it to memory, which a real kernel would not do. **Predict** what one
# row of a single tile sums to, and one row of all three tiles together.


# %%
@triton.jit
def rebuilt_tile_kernel(q_ptr, k_ptr, lse_ptr, p_ptr, alpha, S_k, D: tl.constexpr, BLOCK: tl.constexpr):
    rows, d = tl.arange(0, BLOCK), tl.arange(0, D)
    columns = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    q = tl.load(q_ptr + rows[:, None] * D + d[None, :])
    k = tl.load(k_ptr + columns[:, None] * D + d[None, :])
    lse_i = tl.load(lse_ptr + rows)
    s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")  # (BLOCK, BLOCK)
    tl.store(p_ptr + rows[:, None] * S_k + columns[None, :], tl.exp(s - lse_i[:, None]))


generator = torch.Generator().manual_seed(7)
q_block, three_tiles = (torch.randn(n, 16, generator=generator).to(DEVICE) for n in (16, 48))
lse_block = torch.logsumexp(0.25 * q_block @ three_tiles.mT, dim=1)
p_tiles = torch.empty(16, 48, device=DEVICE)
rebuilt_tile_kernel[(3,)](q_block, three_tiles, lse_block, p_tiles, 0.25, 48, D=16, BLOCK=16)

print("row 0, tile by tile:", [round(float(tile[0].sum()), 3) for tile in p_tiles.split(16, dim=1)])
print("all tiles together: ", [round(float(total), 3) for total in p_tiles.sum(dim=1)[:4]])
assert torch.allclose(p_tiles, torch.softmax(0.25 * q_block @ three_tiles.mT, dim=1), atol=1e-6)

# %% [markdown]
# ## 3 · delta, once
#
# $\delta_i = \sum_j P_{ij}\, dP_{ij}$ is a sum along the whole row, needed before the first entry of $dS_i$. There
# are three ways to get it.
#
# | | how | cost |
# |---|---|---|
# | before the loop | $\sum_d dO_{id} O_{id}$, lesson 03's identity | $O$ and $dO$ read once, $2 S_q D$ operations |
# | in the loop | the same sum, again for every tile of keys | $O$ requested once per *tile*, and as many sums |
# | without $O$ | $\sum_j P_{ij}\, dP_{ij}$, complete only after the last tile | a second scan, or a fourth product |
#
# Begin with the third. It looks impossible, but it is not. Multiply out:
#
# $$\frac{dQ_i}{\alpha} = \sum_j P_{ij}\, dP_{ij}\, K_j \;-\; \Bigl(\sum_j P_{ij}\, dP_{ij}\Bigr) \sum_j P_{ij} K_j .$$
#
# All three sums can be accumulated during one scan and combined at the end. This takes two accumulators of the size
# of $dQ$ instead of one, and a fourth product, $P K$. It is not the usual way, since $O$ is available. But it shows
# that computing $\delta$ beforehand is a convenience, not a necessity:

# %%
weighted, plain, mean = torch.zeros(4, 2), torch.zeros(4, 2), torch.zeros(4, 1)
for start in (0, 2):
    k, v = K[start : start + 2].float(), V[start : start + 2].float()
    p = torch.exp(alpha * Q.float() @ k.T - LSE[:, None].float())
    p_dp = p * (dO.float() @ v.T)
    weighted, plain, mean = weighted + p_dp @ k, plain + p @ k, mean + p_dp.sum(dim=1, keepdim=True)

assert torch.allclose(alpha * (weighted - mean * plain), dQ.float(), atol=1e-6)

# %% [markdown]
# ### What it costs in the loop, counted
#
# Lesson 03 worked out on paper what $\delta$ in the inner loop costs a $dK$/$dV$ kernel. Here we count it, for $dQ$.
# `faulty_dq("delta in the loop")` is a correct $dQ$ kernel with two more lines in its loop: load this block's $O$,
# and `delta_i = tl.sum(o * do, axis=1)`. The other one calls `delta_preprocess` first. `flashlearn.observing()`
# counts the bytes that each of them requests, on one head with 128 queries, 128 keys, $D = 64$ and tiles of 32 × 32,
# in fp32.
#
# **Predict:** how often is each element of $O$ requested in each of the two cases?

# %%
generator = torch.Generator().manual_seed(0)
q, k, v, do = (torch.randn(1, 1, 128, 64, generator=generator).to(DEVICE) for _ in range(4))
o, lse = flash_forward(q, k, v, 0.125)

counted = {}
variants = {"before the loop": faulty_dq(""), "in the loop": faulty_dq("delta in the loop")}
for variant, function in variants.items():
    with flashlearn.observing() as (session, _):
        function(q, k, v, o, do, lse, 0.125)
    seen = session.observation()
    kib = {name.removesuffix("_ptr"): (t.loaded + t.stored) / 1024 for name, t in seen.traffic.items()}
    counted[variant] = {
        "K, V": kib["k"] + kib["v"],
        "Q, dO, dQ": kib["q"] + kib["do"] + kib["dq"],
        "O": kib["o"],
        "LSE, delta": kib["lse"] + kib.get("delta", 0),
    }
    print(f"delta {variant:15}: O {kib['o']:3.0f} KiB, {seen.operations['reduce']:5} additions in tl.sum")

# %%
pictures.requested(counted)

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - $O$ has $128 \cdot 64 \cdot 4$ bytes, 32 KiB. With $\delta$ computed before the loop, $O$ is read once; with
#   $\delta$ computed in the loop, once per tile of keys: four times here, 64 times with 4096 keys and tiles of 64.
#   (Computing $\delta$ beforehand has a cost, too: the small kernel reads $dO$ once more. The bars include it.)
# - All these loads in a program's loop read the same tile of $O$. Most of them may be served by a cache, and a
#   compiler may move them out of the loop, since they do not depend on $j$. In the loop of $dK$ and $dV$ it cannot,
#   because there each step has other queries.
# - So a small separate kernel computes $\delta$ once, and both backward kernels read one number per query.
#
# </details>

# %% [markdown]
# ## 4 · The kernel
#
# | mathematics | in the kernel | shape |
# |---|---|---|
# | rows of $Q$, $dO$ | `q`, `do` | `(BLOCK_Q, BLOCK_D)`, loaded once |
# | $\mathrm{LSE}_i$, $\delta_i$ | `lse_i`, `delta_i` | `(BLOCK_Q,)`, loaded once |
# | a tile of $K$, $V$ | `k`, `v` | `(BLOCK_K, BLOCK_D)`, one per step |
# | $S = \alpha\,Q K^\top$ | `s` | `(BLOCK_Q, BLOCK_K)` |
# | $P = e^{S - \mathrm{LSE}}$ | `p` | `(BLOCK_Q, BLOCK_K)` |
# | $dP = dO\,V^\top$ | `dp` | `(BLOCK_Q, BLOCK_K)` |
# | $dS = P \circ (dP - \delta)$ | `ds` | `(BLOCK_Q, BLOCK_K)` |
# | $dQ = \alpha\, dS\, K$ | `dq` | `(BLOCK_Q, BLOCK_D)`, grows in fp32 |
#
# Three products per tile, against the forward pass's two. Two decisions:
#
# - **Where alpha goes.** It must be in `s`, or $P$ is wrong. For $dQ$ it can be multiplied into every `ds`,
#   `BLOCK_Q · BLOCK_K` multiplications per tile, or once into the finished `dq`.
# - **What is rounded.** `tl.dot` takes two operands of the same dtype and accumulates in fp32. `q`, `k`, `do` and `v`
#   are used as loaded. `ds` is fp32 when it is computed and has to be cast to `k`'s dtype for its product. Nothing
#   else is cast before the store.
#
# ### Does a padded key leak?
#
# The last tile of keys may be ragged. Lanes beyond $S_k$ load zeros, so a padded key has $s = \alpha \cdot 0 = 0$,
# and $p = e^{0 - \mathrm{LSE}_i}$: this is not a probability, and it is not zero. In the forward pass this made the
# result wrong, because it was added to $l_i$. And here? **Predict** what the padded key contributes to $dQ$, for a
# query with $\mathrm{LSE}_i = 3$, with $-3$, and with $-120$.

# %% tags=["nbval-check-output"]
padded_k, padded_dp, some_delta = torch.tensor(0.0), torch.tensor(0.0), torch.tensor(0.7)

for lse_i in (3.0, -3.0, -120.0):
    padded_p = torch.exp(torch.tensor(0.0) - lse_i)
    padded_ds = padded_p * (padded_dp - some_delta)
    adds = padded_ds * padded_k
    print(f"LSE {lse_i:6}: P {padded_p.item():8.3g}, dS {padded_ds.item():8.3g}, adds {adds.item()}")

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - Whatever $dS$ the padded key has, it is multiplied by $K_j = 0$ in the last product and adds nothing. There is no
#   leak, as long as $P$ is finite. "Padding must have $P = 0$" is good advice here, but not for the obvious reason.
# - At $\mathrm{LSE} = -120$, $e^{120}$ is infinite in fp32, and $\infty \cdot 0$ is NaN. Scores around $-120$ are
#   rare but possible: they occur when a query points away from all keys. The check has such a case.
# - So one `tl.where` for the mask in `s` makes the kernel right for these inputs, too. Lesson 08 asks the same
#   question about padded *queries*, and the answer depends on how they are padded.
#
# </details>
#
# ### Exercise: `dq_kernel` · core
#
# Write the kernel; the launcher is given. The launcher has called `delta_preprocess`, so `delta_ptr` points to
# $\delta$. The check requires:
#
# - any $S_q$, $S_k$ and $D$: `BLOCK_D` is the next power of two, at least 16, and the lanes $d \ge D$ are padding, as
#   are the rows from $S_q$ on and the keys from $S_k$ on;
# - every tensor has its own strides (`k_row` is not `q_row`); the prologue has moved each pointer to its head, and
#   `lse` and `delta` are contiguous; $H$ and $B$ are up to 65535 each, and a head's offset takes 64 bits, as in the
#   forward pass;
# - fp32, fp16 and bf16; `dq` is accumulated in fp32. Pass `input_precision="ieee"` to `tl.dot`, so that fp32 stays
#   fp32;
# - $\alpha$ may be negative, and scores may be near $-120$.

# %% exercise="dq_kernel"
# HINT: The structure is that of the forward pass: load this block's `q`, `do`, `lse` and `delta` once, and
#     loop over the tiles of K and V. From a tile of K you rebuild $P$, from a tile of V you get $dP$, and
#     both together give $dS$, which is multiplied by the *same* tile of K.
# HINT: Three products per tile: `s` and `dp` are (BLOCK_Q, BLOCK_K), `tl.dot` of a block of rows with a
#     transposed tile; the third adds a tile of shape (BLOCK_Q, BLOCK_D) to `dq`. `lse` and `delta` are one
#     number per row: `[:, None]`. Padded keys get $s = -\infty$. Cast `ds` to `k.dtype` for its product;
#     everything else that you compute stays in fp32.
# HINT: In the loop, after `k` and `v`: `s` as in the forward pass, with its mask; `p`, one exponential of `s`
#     minus `lse_i`; `dp`, a product of `do` with a transposed tile; `ds`, which is P ∘ (dP − δ) with one δ
#     per row; and to `dq` you add the product of the cast `ds` with the tile from which `s` was computed.
#     After the loop: alpha, and the store.
# INCLUDE: flashlearn/kernels/flash_backward_dq.py:flash_dq_kernel


# INCLUDE: flashlearn/kernels/flash_backward_dq.py:dq_kernel

# %%
flashlearn.check("dq_kernel", dq_kernel)

# %%
# flashlearn.hint("dq_kernel")

# %% [markdown]
# Now break it, one thing at a time, and read what the check says: no `delta_i`; `tl.trans(ds)` in the last product;
# no `tl.where` on `s`; `dq` in `q.dtype` (and converted back to it after each step);
# `range(0, S_k - BLOCK_K + 1, BLOCK_K)`. Which of the five would be missed by a test that uses only
# $S_q = S_k = D = 64$, normal data and fp32?
#
# <details><summary><b>What to notice</b></summary>
#
# - That test has no ragged tile, no low scores and no half precision: it misses the `tl.where`, the accumulator and
#   the loop's end. It catches the missing $\delta$ and the transposed $dS$.
# - `tl.trans(ds)` compiles and runs because the tile is square. Shapes protect you only where sizes differ; with
#   `BLOCK_Q=64, BLOCK_K=32` the compiler would have rejected it.
# - It does not matter what LSE and $\delta$ of padded queries are filled with: their rows of $dQ$ are never stored.
#   (In lesson 08 it will matter.)
#
# </details>

# %% [markdown]
# > ### Sources corrected: `ds.to(tl.float16)`
# >
# > **The claim.** A backward kernel, offered for "half precision", casts its tile for the last product with
# > `ds.to(tl.float16)`. Its launcher accepts fp16 and bf16.
# >
# > **The experiment.** The same cast in our kernel, called with each dtype. **Predict** what happens with bf16: a
# > wrong result, a slow kernel, or no result at all?

# %%
for dtype in (torch.float16, torch.bfloat16):
    half = [t.to(dtype) for t in (q, k, v, o, do)]
    with flashlearn.observing() as (session, _):
        try:
            faulty_dq("cast to fp16")(*half, lse, 0.125)
            print(dtype, "runs")
        except flashlearn.KernelCrash as error:
            print(dtype, "fails:", str(error).splitlines()[0])

# %% [markdown]
# > **The verdict.** `tl.dot` needs both operands to have the same dtype, so with bf16 the kernel does not even
# > compile; the message is Triton's own. One of the two dtypes that the launcher accepts cannot have been tested.
# > Write `ds.to(k.dtype)`, the dtype of the other operand, and test every dtype that you accept.
#
# ### What it requests
#
# Count the bytes on paper before you look: $b$ bytes per element, blocks of $B_q$ queries and $B_k$ keys, and lengths
# that are multiples of the block sizes. Each program reads its block of $Q$ and $dO$ once and writes its block of
# $dQ$; that is $3\,S_q D\,b$ in all. And each of the $S_q / B_q$ programs reads all of $K$ and $V$. **Predict**
# whether $B_k$ will be in the formula.

# %% tags=["nbval-check-output"]
S_q, S_k, B_q, b = sp.symbols("S_q S_k B_q b", positive=True)
width = sp.Symbol("D", positive=True)

elements = 3 * S_q * width * b + (S_q / B_q) * 2 * S_k * width * b
rows = 2 * S_q * 4  # LSE and delta, fp32
preprocess = 2 * S_q * width * b + S_q * 4
formula = sp.expand(elements + rows + preprocess)
operations = 3 * 2 * S_q * S_k * width
print("bytes requested:", formula)
print("products:       ", operations, "operations")

# %%
with flashlearn.observing() as (session, _):
    flashlearn.use("dq_kernel", dq_kernel)(q, k, v, o, do, lse, 0.125)
seen = session.observation()
sizes = {S_q: 128, S_k: 128, width: 64, b: 4, B_q: 32}

print(f"bytes       formula {int(formula.subs(sizes)):8,}   counted {seen.bytes_requested:8,}")
print(f"products    formula {int(operations.subs(sizes)):8,}   counted {seen.operations['dot']:8,}")
print(f"each byte once: {seen.bytes_unique:,}")

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - The term with $S_q S_k$ dominates for long sequences: $2\,S_q S_k D\,b / B_q$. Recomputation does not make the
#   requested bytes linear in the length; they are still quadratic, divided by the number of *queries* in a block, and
#   the caches serve many of the repeated requests. The size of the block of keys only decides in how many pieces the
#   same bytes are loaded. (If the counts of your own kernel differ from the formula, where do they differ, and why?)
# - No tensor of the size $S_q \times S_k$ is stored: this, rather than the number of bytes requested, is what makes
#   long sequences possible.
#
# </details>

# %% [markdown]
# ### One program, step by step
#
# `flashlearn.trace` shows the memory accesses of one program, one at a time; move the slider, or click on it and use
# the arrow keys. **Predict** the order: what is read before the loop, what is read in it, and what is written when?

# %%
owner = flashlearn.trace(flashlearn.use("dq_kernel", dq_kernel), q, k, v, o, do, lse, 0.125, program=(2, 0))
assert owner["k_ptr"].again == owner["v_ptr"].again == 0
assert owner["k_ptr"].requested == k.numel() * k.element_size()
owner

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - It is the forward pass's picture with two more tensors before the loop: $dO$, and $\delta$ beside the LSE. Then all
#   of $K$ and $V$, each byte exactly once, and one tile of $dQ$ at the very end.
# - *Again*, for all programs, counts the repeated requests, which the caches may serve: each block of queries loads
#   all keys.
# - The call made two launches. This is the one that requested more bytes; `launch=0` shows the kernel that computes
#   $\delta$.
#
# </details>

# %% [markdown]
# ## 5 · Causal: where the loop ends
#
# With a causal mask, query $i$ sees the keys $j \le i + S_k - S_q$: the diagonal ends in the bottom-right corner, so
# that the last query sees every key. Hidden pairs have $P_{ij} = 0$, hence $dS_{ij} = 0$, and add nothing to $dQ$.
# Setting their `s` to $-\infty$ is all that the mathematics requires.
#
# But tiles without a visible pair need not be visited at all, and the loop ends where it does in the forward pass.
# Write that end down once more, from memory: for program (pid, head, batch), blocks of $B_q$ queries, and any $S_q$
# and $S_k$.
#
# <details><summary>The end</summary>
#
# The program's last query is $(\mathrm{pid}+1)\,B_q - 1$. It sees the keys up to $(\mathrm{pid}+1)\,B_q - 1 + S_k - S_q$, so
#
# $$\mathrm{end} = \min\bigl(S_k,\ (\mathrm{pid}+1)\,B_q + S_k - S_q\bigr).$$
#
# The size of the other block, $B_k$, is not in it: the loop advances in steps of $B_k$ until it reaches the end.
#
# </details>
#
# In the picture, dashed tiles are skipped; those marked *mask* are crossed by the diagonal.

# %%
pictures.causal_tiles("queries", ((192, 192), (96, 192), (192, 112)))

# %% [markdown]
# **Predict** for $S_q = 100$, $S_k = 64$ and blocks of 32 of both, how many tiles each of the four programs visits,
# and which end your formula gives. What does a negative end do to `range(0, end, BLOCK_K)`? The cell counts visible
# pairs and uses no formula.

# %% tags=["nbval-check-output"]
pairs = reference.visible(100, 64, causal=True)
for pid in range(4):
    block = pairs[32 * pid : 32 * (pid + 1)]
    tiles = sum(bool(tile.any()) for tile in block.split(32, dim=1))
    keys = int(block.any(dim=0).sum())
    print(
        f"program ({pid}, 0, 0): queries {32 * pid:2} to {32 * pid + len(block) - 1:2},"
        f" sees {keys:2} keys, visits {tiles} of 2 tiles"
    )

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - The queries of program (0, 0, 0) see nothing. Its end is $-4$, its loop makes no iteration, and it stores zeros,
#   which is right without a special case.
# - The last program's block is ragged (queries 96 to 99). The formula treats the block as full, with queries up to
#   127, so it could include more keys than the real queries see; the minimum with $S_k$ and the mask make this
#   harmless.
# - With $S_q = S_k$ the shift $S_k - S_q$ is zero, and a kernel without it passes every such test.
#
# </details>
#
# ## 6 · Queries that see nothing
#
# With $S_q > S_k$ the first $S_q - S_k$ queries see no key. Such a query has $O = 0$ and $\mathrm{LSE} = -\infty$,
# the logarithm of an empty sum, and its gradient is zero: nothing in $L$ depends on it. When it shares a block with
# queries that do see something, the loop runs, and $e^{S - \mathrm{LSE}}$ is computed for its row, with a masked $S$.
#
# **Predict** the three results.

# %% tags=["nbval-check-output"]
masked = torch.tensor(-math.inf)
print("LSE = 1.5: ", torch.exp(masked - 1.5).item())
print("LSE = -inf:", torch.exp(masked - (-math.inf)).item())
print("LSE = +inf:", torch.exp(masked - math.inf).item())

# %% [markdown]
# $-\infty + \infty$ is NaN, and one NaN in `p` makes a row of `dq` NaN. There is more than one remedy. **Predict**
# which of these three give $P = 0$ for a masked score, and which of them do for a score that was *not* masked,
# because a kernel omits its mask or the rows are padding beyond $S_q$.

# %% tags=["nbval-check-output"]
lse_nothing = torch.tensor(-math.inf)
for name, s_one in (("masked", torch.tensor(-math.inf)), ("not masked", torch.tensor(0.7))):
    seen_one = torch.tensor(name != "masked")
    finite = torch.exp(s_one - torch.where(lse_nothing == -math.inf, 0.0, lse_nothing))
    infinite = torch.exp(s_one - torch.where(lse_nothing == -math.inf, math.inf, lse_nothing))
    afterwards = torch.where(seen_one, torch.exp(s_one - lse_nothing), 0.0)
    print(
        f"{name:11} LSE → 0: {finite:.2f}   LSE → +inf: {infinite:.2f}   P → 0 afterwards: {afterwards:.2f}"
    )

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - All three are right if every score of the row is masked, as it is in a kernel that masks its scores. Choose the
#   one that you can explain in a comment. FlashAttention-3 uses 0 in place of $-\infty$.
# - $+\infty$ protects most: $e^{s - \infty} = 0$ for *every* finite $s$, so it also works for rows whose scores are
#   not masked. FlashAttention-2 stores $+\infty$ for such rows already in the forward pass. This course stores
#   $-\infty$, because that is the logarithm of an empty sum and what merging needs (lesson 04), and replaces it by
#   $+\infty$ before the loop.
# - A `tl.where` after the exponential discards a NaN that has already been computed. It is right, but costs one more
#   selection for each score, and it also hides any other NaN in those places from someone who debugs the kernel.
#
# </details>
#
# ### Exercise: `dq_kernel_causal` · core
#
# Your kernel once more, with three changes: the end of the loop, the mask in `s`, and a guard for queries that see
# nothing. The check requires, in addition to what `dq_kernel` had to do:
#
# - bottom-right alignment, both for $S_q < S_k$ and for $S_q > S_k$;
# - rows that see nothing: `dq` is 0, no NaN;
# - no products for tiles in which the mask hides every pair (the check looks at which rows are multiplied; a tile
#   of nothing but padding is not counted).

# %% exercise="dq_kernel_causal"
# HINT: Only three things change: which keys a query may see, where the loop ends, and what happens to a query
#     that sees no key at all. The mathematics of $dS$ does not change: where $P$ is 0, so is $dS$.
# HINT: A key is visible where `columns <= rows + S_k - S_q`. The last row of this block is
#     `(tl.program_id(0) + 1) * BLOCK_Q - 1`; one past the last key that it sees is the loop's end, at most
#     S_k (`tl.minimum`). A query that saw nothing has LSE $= -\infty$: which other value would make
#     `exp(s - lse)` zero for every s?
# HINT: Before the loop: one `tl.where` that puts +inf where `lse_i` is −inf, and the end, a `tl.minimum` of
#     S_k and of the forward pass's expression. In the loop `seen` has two parts, `in_keys` along the columns
#     and the comparison of columns with rows, and `s` is −inf where `seen` is false. The other lines do not
#     change.
# INCLUDE: flashlearn/kernels/flash_backward_dq.py:flash_dq_causal_kernel


# INCLUDE: flashlearn/kernels/flash_backward_dq.py:dq_kernel_causal

# %%
flashlearn.check("dq_kernel_causal", dq_kernel_causal)

# %%
# flashlearn.hint("dq_kernel_causal")

# %% [markdown]
# How much does the earlier end of the loop save? With $S = 256$ and tiles of 32, there are eight by eight tiles, and
# the causal kernel needs $1 + 2 + \dots + 8 = 36$ of 64 tiles. Counted:

# %%
long = [torch.randn(1, 1, 256, 16, generator=generator).to(DEVICE) for _ in range(4)]  # q, k, v, do
launchers = {
    "all keys": (flash_forward, flashlearn.use("dq_kernel", dq_kernel)),
    "causal": (flash_forward_causal, flashlearn.use("dq_kernel_causal", dq_kernel_causal)),
}
dots = {}
for name, (forward, backward) in launchers.items():
    o_long, lse_long = forward(*long[:3], 0.25)
    with flashlearn.observing() as (session, _):
        backward(*long[:3], o_long, long[3], lse_long, 0.25)
    dots[name] = session.observation().operations["dot"]

print(dots, f"ratio {dots['causal'] / dots['all keys']:.4f}, and 36/64 = {36 / 64:.4f}")

# %% [markdown]
# ### Against autograd
#
# The small example with your kernel, compared with torch's autograd, first without and then with a causal mask. It
# has more queries than keys, so with the mask the first query sees nothing.

# %%
q4, k4, v4, do4 = (t[None, None] for t in example.tensors(DEVICE))  # [1, 1, S, 2] in fp32

for causal, (forward, backward) in enumerate(launchers.values()):
    o4, lse4 = forward(q4, k4, v4, alpha)
    mine = backward(q4, k4, v4, o4, do4, lse4, alpha)
    leaf = q4.clone().requires_grad_()
    reference.attention_forward(leaf, k4, v4, alpha, causal=bool(causal))[0].backward(do4)
    print(mine[0, 0].cpu().numpy().round(4))
    print("equal to autograd's:", torch.allclose(mine, leaf.grad, atol=1e-6))

# %% [markdown]
# ### Exercise: `dq_without_delta` · stretch
#
# Section 3 said that $\delta$ is a convenience. Now do without it: your kernel gets neither $\delta$ nor $O$. It
# makes one scan with three sums, which are combined after the loop. The launcher is given. The check requires what it
# required of `dq_kernel`, and
#
# - **one scan**: a second loop over the keys, to compute $\delta$ first, is not accepted. The check counts the bytes
#   that your kernel requests with a single block of queries.
#
# One case of `dq_kernel` is left out of this check: a kernel of this design that multiplies in fp16 fails it even if
# it is right. **Predict**, while you write, what is special about its inputs. (In the long fp16 case, keys and values
# are around 4 here, so that all three sums are large and have to be accumulated in fp32.)

# %% exercise="dq_without_delta"
# HINT: $\delta_i$ is the same number for all keys of a row, so it can be taken out of the sum over the keys.
#     What remains in the sum does not contain it, and can be added up before $\delta_i$ is known.
# HINT: Three sums that start at zero and are accumulated in the loop: two of shape (BLOCK_Q, BLOCK_D), each
#     by a `tl.dot` of a (BLOCK_Q, BLOCK_K) tile with the tile of keys, and one of shape (BLOCK_Q,), by a
#     `tl.sum` over `axis=1`. All three are in fp32. Padded keys get $s = -\infty$.
# HINT: `p` as in `dq_kernel`, then `p_dp`, which is p times the product of `do` with the transposed tile of
#     V. The cast `p_dp` is multiplied by `k`, the cast `p` is multiplied by `k`, and the row sums of `p_dp`
#     are this tile's part of delta. After the loop, dq is alpha times a difference: the first sum minus the
#     product of delta, as a column, and the second sum.
# INCLUDE: flashlearn/lessons/lesson_07_dq/without_delta.py:dq_without_delta_kernel


# INCLUDE: flashlearn/lessons/lesson_07_dq/without_delta.py:dq_without_delta

# %%
flashlearn.check("dq_without_delta", dq_without_delta)

# %%
# flashlearn.hint("dq_without_delta")

# %% [markdown]
# Here is the omitted case, in torch: two ways to sum one row of $dQ$, with the factors of the last product rounded to
# fp16, and a column of $V$ that increases all $dP_{ij}$ of a row by the same amount. **Predict** which of the two
# loses accuracy.

# %%
generator = torch.Generator().manual_seed(9)
p_row = torch.softmax(torch.randn(48, generator=generator), dim=0)
dp_row, k_rows = torch.randn(48, generator=generator), torch.randn(48, 32, generator=generator)
for lift in (0.0, 10.0, 100.0):
    lifted = dp_row + lift
    true = (p_row * (lifted - p_row @ lifted)).double() @ k_rows.double()
    usual = (p_row * (lifted - p_row @ lifted)).half().float() @ k_rows
    apart = (p_row * lifted).half().float() @ k_rows - (p_row @ lifted) * (p_row.half().float() @ k_rows)
    off = [f"{float((dq_row - true).abs().max()):.0e}" for dq_row in (usual, apart)]
    print(f"dP + {lift:5}: error {off[0]} with delta subtracted first, {off[1]} with it subtracted last")

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - $dS$ does not depend on the common amount: it is contained in $\delta$ as well, and cancels. If it is subtracted
#   first, only small numbers are rounded. If it is subtracted last, two large sums have to cancel, and their rounding
#   errors remain. In the omitted case one column of $V$ is 64, in fp16.
# - In fp32 and in ordinary half-precision cases a kernel of this design passes. It needs neither $O$ nor $\delta$,
#   and no small kernel before it. It costs a fourth product for each tile, and a second sum of `(BLOCK_Q, BLOCK_D)`
#   that is carried through the whole loop. The reports of both exercises have the counts.
#
# </details>

# %% [markdown]
# ## 7 · What you have now
#
# | | | remember |
# |---|---|---|
# | the structure | a program owns queries and loops over keys | as in the forward pass; no two programs write the same place |
# | $P$ | $e^{S - \mathrm{LSE}}$ | final at once: no maximum, no rescaling |
# | $\delta$ | $\sum_d dO \circ O$, by a separate kernel | in the loop, $O$ is requested $S_k / B_k$ times |
# | $\alpha$ | in `s`, and once in `dq` | not in `ds` as well |
# | padded keys | `s` $= -\infty$ | without it no harm, until $e^{-\mathrm{LSE}}$ overflows |
# | causal | the end depends on $B_q$ and on $S_k - S_q$ | the shift is invisible for $S_q = S_k$ |
# | sees nothing | LSE $-\infty \to +\infty$, or another guard | then $P = 0$ for every $s$ |
# | work | 3 products, $6\,S_q S_k D$ operations | causal with $S_q = S_k$: about half |
#
# ### Questions for yourself
#
# Answer before you unfold.
#
# **1.** A colleague multiplies `q` by alpha right after loading it, to save the multiplication in `s`, and keeps
# `dq *= alpha` at the end. Is $dQ$ right? In the $dK$ kernel of lesson 08, which ends with `dk *= alpha`, would the
# same trick be right?
#
# <details><summary>Answer</summary>
#
# In exact arithmetic, and in fp32, $dQ$ is right: `q` is used for $S$ alone, and $dQ = \alpha\,dS\,K$ has no $Q$ in
# it. In half precision `q` is rounded once more, unless $\alpha$ is a power of two. That is one rounding among
# several, since $dS$ is rounded too, and the check of this lesson accepts it. Lesson 06's check does not accept it in
# the forward kernel, since there the error shows in the LSE, which has to be as accurate as fp32 allows. The same
# rounding is judged differently, because it depends on what is computed from it.
#
# $dK = \alpha\,dS^\top Q$ does have $Q$ in it: with the scaled `q` it contains $\alpha$ already, and `dk *= alpha`
# would apply it twice.
#
# </details>

# %% [markdown]
# **2.** The rows of $dS$ sum to zero. Someone adds the same vector $c$ to every key, $K_j + c$. What happens to $dQ$, in
# exact arithmetic and in fp16?
#
# <details><summary>Answer</summary>
#
# Every score of query $i$ grows by the same $\alpha \langle q_i, c\rangle$, so $P$ does not change, nor $dS$; and
# $\sum_j dS_{ij} (K_j + c) = \sum_j dS_{ij} K_j + 0$. $dQ$ does not change. In fp16 it does if $c$ is large: each
# rounded $dS_{ij}$ is multiplied by a large $K_j + c$, the partial sums are large, and after the cancellation the
# rounding errors remain.
#
# </details>

# %% [markdown]
# **3.** A causal kernel with square tiles of 64 is tested at $S_q = S_k = 64, 128, 192$, $D = 64$, in fp32. Name
# three mistakes that this test cannot detect.
#
# <details><summary>Answer</summary>
#
# Anything ragged (masks of queries and keys, padded $D$); the shift $S_k - S_q$, in the mask or in the loop's end,
# and with it queries that see nothing and their NaN; half precision, both the cast and the accumulator; strides of
# one tensor used for another, since contiguous tensors of one shape have the same; a loop that visits hidden tiles,
# which is right but does unnecessary work.
#
# </details>

# %% [markdown]
# ### Journal
#
# *Two or three sentences in your own words, for yourself in a month. Which line of the forward kernel has no counterpart
# here, and why? Where did alpha go the first time you wrote it? Double-click here and write.*

# %% [markdown]
# ### What comes next
#
# $dK$ and $dV$ sum over queries, not over keys. A program that owns a block of queries would have to add to every
# block of $dK$ and $dV$. Lesson 08 compares the ways to deal with this, implements one of them, and examines what
# padded queries do when they are not masked.
#
# **Sources.** The backward pass that rebuilds $P$ from one number per row: T. Dao, *FlashAttention-2*, arXiv
# 2307.08691, section 3.1.2 and Algorithm 2, where $\delta$ is computed before the loop, too. (There the programs that
# own keys add to $dQ$; a separate scan for $dQ$ is the design of Triton's tutorial 06, *Fused Attention*.)
# Recomputation in attention's backward pass before that: T. Dao et al., *FlashAttention*, NeurIPS 2022, appendix B.
# Bottom-right alignment: FlashAttention's changelog, version 2.1.
