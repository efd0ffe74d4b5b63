# %% [markdown]
# # Attention, backward, by hand
#
# Attention is three lines: scores, softmax, a mean of values. Its backward pass is five, and every FlashAttention
# kernel of this course is an arrangement of those five lines. Here you derive each of them, put numbers in, and
# meet the one that is not just the chain rule: the *delta trick*, which makes a backward pass in tiles possible.
#
# **Afterwards you can**
#
# - write down $dV$, $dP$, $dS$, $dQ$ and $dK$ without looking anything up, and say for each where its transpose
#   comes from and whether it has an $\alpha$;
# - prove that $\sum_j P_{ij}\, dP_{ij} = \sum_d dO_{id}\, O_{id}$, and say why that matters to a kernel that sees
#   only a tile at a time;
# - extend the backward pass to a loss that uses the logsumexp as well;
# - test a backward pass by properties that need no reference;
# - write the first kernel of the backward pass, `delta_preprocess`.
#
# **You need** lesson 01 (gradients of matrix products) and lesson 02 (the softmax and its VJP,
# $ds = p \circ (dp - \langle p, dp\rangle)$). For the kernel, lesson 00.
#
# **It takes** 80 to 90 minutes: four symbolic answers of one or two lines, one backward pass of six lines in torch,
# one kernel of eight, three questions at the end.

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
from flashlearn.lessons.lesson_03_attention_backward import pictures
from flashlearn.lessons.shared import example

# %% [markdown]
# ## 1 · Forward, in three lines
#
# One head of attention. Queries $Q$ of shape $[S_q, D]$; keys $K$ and values $V$ of shape $[S_k, D]$; a scale
# $\alpha$, usually $1/\sqrt D$.
#
# $$S = \alpha\, Q K^\top, \qquad P = \mathrm{softmax}(S) \text{ row by row}, \qquad O = P\,V.$$
#
# Read them with one query $i$ in mind. $S_{ij}$ says how well key $j$ fits it. $P_i$, the row, is a distribution
# over the keys. $O_i = \sum_j P_{ij} V_j$ is the mean of the values under it. Queries do not see each other.
#
# The numbers are the course's small example: four queries, three keys, $D = 2$. All three sizes differ on purpose:
# a transposed operand will not fit.

# %% tags=["nbval-check-output"]
Q, K, V, dO, alpha = example.Q, example.K, example.V, example.dO, example.ALPHA  # fp64

S = alpha * Q @ K.T  # (4, 3)
P = torch.softmax(S, dim=-1)  # (4, 3)
O = P @ V  # (4, 2)

for name, value in (("√2 · S", math.sqrt(2) * S), ("P", P), ("O", O)):
    print(f"{name}\n{value.numpy().round(3)}")

# %% [markdown]
# Now a loss $L$, one number, is computed from $O$ by whatever follows, and the backward pass begins with
# $dO = \partial L / \partial O$. As in lessons 01 and 02, $dX$ always means $\partial L/\partial X$ and always has the
# shape of $X$. That last half sentence is the most useful tool of this lesson: call it the **shape rule**.
#
# The way back visits the same three lines in reverse order. This is the whole of it; do not try to memorise it,
# you are about to derive it.

# %%
pictures.passes()

# %% [markdown]
# ## 2 · Back through O = P V
#
# ### Where the transpose comes from
#
# How does $V_{jd}$ reach the loss? Through component $d$ of *every* query's output, each time with the factor
# $P_{ij}$: $O_{id} = \sum_j P_{ij} V_{jd}$. What is used several times collects several gradients, and they add:
#
# $$dV_{jd} = \sum_i \frac{\partial L}{\partial O_{id}}\,\frac{\partial O_{id}}{\partial V_{jd}} = \sum_i P_{ij}\, dO_{id}.$$
#
# Forward, the sum ran over $j$, along a *row* of $P$: a query collects from the keys. Backward, it runs over $i$,
# along a *column* of $P$: a value collects from the queries what it has given to them. A matrix product sums along
# the rows of its left factor. To sum along columns, the matrix has to be turned first. That is all that the
# transpose says:
#
# $$dV = P^\top dO .$$

# %%
pictures.collected(P.tolist(), dO.tolist(), j=1, d=0)

# %% [markdown]
# ### The order rule
#
# The same argument works for both factors of any matrix product $Y = X W$, as you know from lesson 01:
#
# $$dX = dY\, W^\top, \qquad dW = X^\top dY .$$
#
# To have it at hand, read it as a rule of order. *Each factor keeps its side, and the other factor is transposed.*
# $X$ stands on the left, so in $dX$ the factor $W^\top$ stays on the right; $W$ stands on the right, so in $dW$ the
# factor $X^\top$ stays on the left. Matrix products do not commute, and as long as the three sizes differ there is no
# other order in which the shapes fit.
#
# Lesson 01's proof, for **any size**, with the sizes that attention has: in place of the loss
# $\langle dY, Y \rangle = \sum_{id} dY_{id} Y_{id}$ with $dY$ held constant, since it has the same derivatives by $Y$.
# Written with matrices, that sum is a trace: $\mathrm{tr}(dY^\top Y)$.

# %%
S_q, S_k, D = sp.symbols("S_q S_k D", integer=True, positive=True)
X_, W_, dY_ = sp.MatrixSymbol("X", S_q, S_k), sp.MatrixSymbol("W", S_k, D), sp.MatrixSymbol("dY", S_q, D)

pairing = sp.Trace(dY_.T * X_ * W_)  # ⟨dY, X W⟩

assert pairing.diff(X_) == dY_ * W_.T
assert pairing.diff(W_) == X_.T * dY_

# %% [markdown]
# <details><summary><b>If you try this yourself: a trap in sympy</b></summary>
#
# Derivatives by a `MatrixSymbol` are reliable for sums and products of matrices. They are not for a softmax: with
# `x = sp.MatrixSymbol("x", 3, 1)`, differentiating `x.applyfunc(sp.exp)` divided by the sum of its entries returns
# the diagonal part alone. The competition, $-p\,p^\top$, is silently gone. So we go through the softmax row by
# row, with indexed sums, as in lesson 02.
#
# </details>
#
# ### Exercise 1: `attention_dv_dp` · warm-up
#
# Apply the rule to $O = P\,V$: return the pair $(dV, dP)$.
#
# `p` is $[S_q, S_k]$, `v` is $[S_k, D]$, `do` is $[S_q, D]$, all of them sympy matrices: `*` is the matrix product,
# `.T` the transpose. The sizes differ from case to case.


# %% exercise="attention_dv_dp"
def attention_dv_dp(p: sp.Matrix, v: sp.Matrix, do: sp.Matrix) -> tuple[sp.Matrix, sp.Matrix]:
    """(dV, dP) of O = P V: [S_q, S_k], [S_k, D], [S_q, D] → [S_k, D], [S_q, S_k]."""
    ### BEGIN SOLUTION
    # STUB: raise NotImplementedError("TODO attention_dv_dp: the gradients of both factors of O = P V")
    return p.T * do, do * v.T
    ### END SOLUTION


# %%
flashlearn.check("attention_dv_dp", attention_dv_dp)

# %%
# flashlearn.hint("attention_dv_dp")

# %% [markdown]
# In numbers. **Predict** row 0 of $dP$ by hand: it is $dO_0 = (1, -1)$ times each value, $V_0 = (1, 0)$,
# $V_1 = (0, 2)$ and $V_2 = (1, 1)$.

# %% tags=["nbval-check-output"]
dV = P.T @ dO  # (3, 2)
dP = dO @ V.T  # (4, 3)
print(f"dV\n{dV.numpy().round(3)}\ndP\n{dP.numpy()}")

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - Row 0 of $dP$ is $(1, -2, 0)$, the row from lesson 02. $dP_{ij} = \langle dO_i, V_j\rangle$ asks: if query $i$
#   attended a little more to key $j$, would the value found there help or hurt?
# - $dP$ needs $V$ and no $P$; $dV$ needs $P$ and no $V$. Each factor's gradient needs the *other* factor.
# - $dP$ is an $S_q \times S_k$ matrix, like $S$ and $P$: the size that FlashAttention never writes to memory.
#
# </details>
#
# ## 3 · Back through the softmax, row by row
#
# Each row of $P$ is the softmax of the same row of $S$, and of no other. So this is lesson 02's formula, once per
# query:
#
# $$dS_i = P_i \circ \bigl(dP_i - \langle P_i, dP_i\rangle\bigr).$$
#
# The inner product is one number per query. It gets a name, and the name will stay until the last lesson:
#
# $$\delta_i = \sum_j P_{ij}\, dP_{ij}, \qquad dS_{ij} = P_{ij}\,(dP_{ij} - \delta_i), \qquad\text{or}\qquad dS = P \circ (dP - \delta).$$
#
# In the last form $\delta$ is a column, $[S_q, 1]$, subtracted from every column of $dP$. In torch that needs
# `keepdim=True`. **Predict** what happens here without it, and what would happen if there were as many queries as
# keys.

# %% tags=["nbval-check-output"]
delta = (P * dP).sum(dim=-1, keepdim=True)  # (4, 1)
dS = P * (dP - delta)  # (4, 3)
print(f"delta\n{delta.numpy().round(3)}\ndS\n{dS.numpy().round(3)}")
print("rows of dS sum to zero:", bool(dS.sum(dim=-1).abs().max() < 1e-12))

try:
    dP - (P * dP).sum(dim=-1)
except RuntimeError as error:
    print("without keepdim:", error)

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - Without `keepdim` the four numbers are lined up with the three *columns*, and torch refuses. With
#   $S_q = S_k$ it would not: every $\delta_i$ would be subtracted from a column instead of its row, without a word.
#   It is the reason that this course's examples are never square.
# - The rows of $dS$ sum to zero, always: lesson 02's shift invariance. It is a test that needs no reference. Keep it
#   in mind; section 8 needs it.
#
# </details>
#
# ## 4 · The delta trick
#
# $\delta_i$ is harmless on paper and a nuisance in a kernel. It is a sum over *all* keys, and it is needed before
# the *first* entry of $dS_i$ can be computed. A kernel that sees one tile of keys at a time would have to walk
# through all of them once for $\delta$, and then again for $dS$.
#
# Write out what is being summed. $dP_{ij} = \sum_d dO_{id} V_{jd}$, so
#
# $$\delta_i = \sum_j P_{ij} \sum_d dO_{id} V_{jd} = \sum_j \sum_d P_{ij}\, dO_{id}\, V_{jd}.$$
#
# For query 0 of the example these are six terms, a table of keys by components. Here they are, with their sums by
# rows (blue), by columns (orange) and in all (green):

# %%
pictures.two_sums(P[0].tolist(), dO[0].tolist(), V.tolist())

# %% [markdown]
# By rows, first over $d$, each row gives a $P_{ij}\, dP_{ij}$. But a finite table may be summed by columns just as
# well. **Predict:** what is the sum of one column, $\sum_j P_{ij}\, dO_{id}\, V_{jd}$, if you take out what does not
# depend on $j$?
#
# ### Exercise 2: `delta_identity` · core
#
# Write the same sum in the other order, at any size. Return two expressions:
#
# - `o_id`: the inner sum over the keys, without the factor that does not depend on $j$. It has a name, and the
#   variable gives it away;
# - `delta_i`: the outer sum over the components, built from `dO` and `o_id`.
#
# `P`, `V` and `dO` are indexed symbols: write `P[i, j]`, `V[j, d]`, `dO[i, d]`. `i`, `d`, `S_k` and `D` are given
# as well; make an index of your own for the keys. Keys are counted from 0 to $S_k - 1$, components from 0 to
# $D - 1$, and `sp.Sum(term, (j, first, last))` includes both ends.


# %% exercise="delta_identity"
def delta_identity(P, V, dO, i, d, S_k, D) -> tuple[sp.Expr, sp.Expr]:
    """(o_id, delta_i): a sum over j with a free d, and a sum over d."""
    ### BEGIN SOLUTION
    # STUB: raise NotImplementedError("TODO delta_identity: the sum over j, then the sum over d built from it")
    j = sp.Symbol("j", integer=True)
    o_id = sp.Sum(P[i, j] * V[j, d], (j, 0, S_k - 1))
    return o_id, sp.Sum(dO[i, d] * o_id, (d, 0, D - 1))
    ### END SOLUTION


# %%
flashlearn.check("delta_identity", delta_identity)

# %%
# flashlearn.hint("delta_identity")

# %% [markdown]
# So the column of the table is $dO_{id}\, O_{id}$, and
#
# $$\delta_i = \sum_j P_{ij}\, dP_{ij} = \sum_d dO_{id}\, O_{id} .$$
#
# The executed proof, for **any number of keys and any $D$**: both sides are written as one double sum, and sympy is
# asked to reorder it.

# %%
p, v, do = (sp.IndexedBase(name, real=True) for name in ("P", "V", "dO"))
i, j, d = sp.symbols("i j d", integer=True)

by_rows = sp.Sum(p[i, j] * do[i, d] * v[j, d], (d, 0, D - 1), (j, 0, S_k - 1))  # Σ_j P_ij dP_ij
by_columns = sp.Sum(do[i, d] * p[i, j] * v[j, d], (j, 0, S_k - 1), (d, 0, D - 1))  # Σ_d dO_id O_id

assert by_rows != by_columns
assert by_rows.reorder((d, j)) == by_columns

# %% [markdown]
# The same in matrices, again at **any size**. $\sum_j P_{ij}\, dP_{ij}$ is entry $(i, i)$ of $P\, dP^\top$, and
# $\sum_d O_{id}\, dO_{id}$ is entry $(i, i)$ of $O\, dO^\top$. But these two matrices are the same one, with
# brackets in different places:
#
# $$P\,dP^\top = P\,(dO\,V^\top)^\top = P\,(V\,dO^\top) = (P\,V)\,dO^\top = O\,dO^\top .$$
#
# The delta trick is the associativity of the matrix product, seen on the diagonal.

# %%
P_, V_, dO_ = sp.MatrixSymbol("P", S_q, S_k), sp.MatrixSymbol("V", S_k, D), sp.MatrixSymbol("dO", S_q, D)
assert (P_ * (dO_ * V_.T).T).doit() == ((P_ * V_) * dO_.T).doit()

# %% [markdown]
# And once entry by entry, where nothing is hidden in notation, at two **concrete sizes**: 2 queries and 3 keys, 3
# queries and 4 keys. Every entry is a symbol of its own, and nothing is assumed about it: the rows of $P$ need not
# even sum to one.

# %%
for queries, keys, width in ((2, 3, 2), (3, 4, 2)):
    P_s = sp.Matrix(queries, keys, lambda i, j: sp.Symbol(f"P_{i}{j}"))
    V_s = sp.Matrix(keys, width, lambda j, d: sp.Symbol(f"V_{j}{d}"))
    dO_s = sp.Matrix(queries, width, lambda i, d: sp.Symbol(f"dO_{i}{d}"))
    O_s, dP_s = P_s * V_s, dO_s * V_s.T
    for row in range(queries):
        assert sp.expand(P_s.row(row).dot(dP_s.row(row)) - dO_s.row(row).dot(O_s.row(row))) == 0

# %% [markdown]
# In numbers:

# %% tags=["nbval-check-output"]
print("Σ_j P dP ", (P * dP).sum(dim=-1).numpy().round(6))
print("Σ_d dO O ", (dO * O).sum(dim=-1).numpy().round(6))

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - The right-hand side has no $j$ in it. $O$ and $dO$ lie in memory, both $[S_q, D]$; no $P$, no $dP$, no walk along
#   the keys. Each query's $\delta_i$ can be had before the kernel proper starts.
# - The sum has $D$ terms instead of $S_k$: 64 or 128 instead of thousands.
# - It has a price: $O$ must be kept from the forward pass. It is kept anyway, as the next layer's input.
#
# </details>

# %% [markdown]
# > ### Sources corrected: delta recomputed in the inner loop, as if free
# >
# > **The claim.** Since $\delta_i$ is now a one-liner, a kernel for $dK$ and $dV$ may as well compute it where it
# > is used: load the tile of $O$ beside the tile of $dO$ and sum their product, in every step of the loop.
# >
# > **The experiment.** Count. Such a kernel owns a block of $B$ keys and walks over all blocks of $B$ queries. For
# > each it must load tiles of $Q$ and $dO$, $B \cdot D$ numbers of $b$ bytes each, and one fp32 LSE per query; then
# > either one fp32 $\delta$ per query, or a tile of $O$. **Predict** by how much the second grows the traffic, at
# > $D = 64$ in fp16, and by how much the arithmetic.

# %% tags=["nbval-check-output"]
B, b = sp.symbols("B b", positive=True)
N = sp.Symbol("N", positive=True)
steps = (N / B) ** 2  # pairs of blocks, for N queries and N keys

common = 2 * B * D * b + 4 * B  # Q, dO, LSE
with_delta = sp.expand(steps * (common + 4 * B))
with_o = sp.expand(steps * (common + B * D * b))
products, sums = steps * 4 * 2 * B * B * D, steps * 2 * B * D  # S, dP, dV, dK; and Σ dO O

sizes = {N: 4096, B: 64, D: 64, b: 2}
print("bytes with delta:", with_delta, "=", with_delta.subs(sizes) / 2**20, "MiB per head")
print("bytes with O:    ", with_o, "=", with_o.subs(sizes) / 2**20, "MiB per head")
print(f"traffic +{float((with_o / with_delta).subs(sizes) - 1):.0%}, ", end="")
print(f"arithmetic +{float((sums / products).subs(sizes)):.1%}")

# %% [markdown]
# > **The verdict.** Nearly free in arithmetic, and half as much again in traffic, because $O$ is asked for once per
# > block of *keys*, $N/B$ times in all: $\Theta(N^2 D / B)$ bytes to save $N$ numbers. (These are bytes requested;
# > caches catch some of them.) In shared memory the tile of $O$ takes room, too. Computed once in a small kernel of
# > its own, $\delta$ costs $2ND$ reads. In a kernel for $dQ$, which owns its queries, one may compute it before the
# > loop at the same price. And $\sum_j P_{ij}\,dP_{ij}$ can never be had inside the loop: there it is complete only
# > after the last tile.
#
# ## 5 · One line more: a loss that also uses LSE
#
# The forward kernels of this course return a second result, $\mathrm{LSE}_i = \log \sum_j e^{S_{ij}}$, the
# logarithm of each row's denominator (lesson 04 shows why). Usually it is a note from the forward pass to the
# backward pass. But sometimes a loss depends on it: when partial results over parts of the keys are merged by their
# LSE, or when a penalty keeps logits small. Then a gradient $d\mathrm{LSE}_i$ arrives together with $dO_i$.
#
# LSE depends on the scores, and its derivative is an old friend. For **every $S_k$**:

# %% tags=["nbval-check-output"]
k, l = sp.symbols("k l", integer=True)
s = sp.IndexedBase("s", real=True)  # one query's scores
Z = sp.Sum(sp.exp(s[l]), (l, 0, S_k - 1))
j_in_row = sp.Q.ge(j, 0) & sp.Q.le(j, S_k - 1)

lse_by_score = sp.refine(sp.diff(sp.log(Z), s[j]).doit(), j_in_row)
lse_by_score

# %% [markdown]
# That is $p_j$: a score moves the logarithm of the total by its share of the total.
#
# ### Exercise 3: `lse_gradient` · stretch
#
# For one query, return $ds$ if the loss depends on $p$ *and* on LSE. `p` and `dp` are columns of $N$, as in
# lesson 02, and `dlse` is one number, $\partial L / \partial\,\mathrm{LSE}$. Two paths lead from a score to the loss;
# their gradients add. Useful pieces: `p.multiply_elementwise(x)`, `p.dot(x)`, `sp.ones(p.rows, 1)`.


# %% exercise="lse_gradient"
def lse_gradient(p: sp.Matrix, dp: sp.Matrix, dlse: sp.Expr) -> sp.Matrix:
    """ds of one query, by way of p and by way of LSE: two columns [N, 1] and a number → a column [N, 1]."""
    ### BEGIN SOLUTION
    # STUB: raise NotImplementedError("TODO lse_gradient: what comes through p, and what comes through LSE")
    delta = p.dot(dp)
    return p.multiply_elementwise(dp - sp.ones(p.rows, 1) * (delta - dlse))
    ### END SOLUTION


# %%
flashlearn.check("lse_gradient", lse_gradient)

# %%
# flashlearn.hint("lse_gradient")

# %% [markdown]
# The two paths have a factor $p_j$ in common, so they share one bracket:
#
# $$dS_{ij} = P_{ij}\,(dP_{ij} - \delta_i) + P_{ij}\, d\mathrm{LSE}_i = P_{ij}\,\bigl(dP_{ij} - (\delta_i - d\mathrm{LSE}_i)\bigr).$$
#
# For **every $S_k$**, by sympy from the loss itself, $\sum_k dP_k\, p_k + d\mathrm{LSE} \cdot \mathrm{LSE}$:

# %%
dp_, dlse_ = sp.IndexedBase("dP", real=True), sp.Symbol("dLSE", real=True)
delta_ = sp.Sum(dp_[k] * sp.exp(s[k]), (k, 0, S_k - 1)) / Z  # Σ_k p_k dP_k
loss = delta_ + dlse_ * sp.log(Z)

ds_both = sp.refine(sp.diff(loss, s[j]).doit(), j_in_row)
assert sp.expand(ds_both - sp.exp(s[j]) / Z * (dp_[j] - (delta_ - dlse_))) == 0

# %% [markdown]
# What a pleasant result for kernels: **nothing in them changes.** Hand them $\delta - d\mathrm{LSE}$ in place of
# $\delta$, one subtraction of $S_q$ numbers, and they compute the gradient of the richer loss. Against autograd, with
# the loss $\langle dO, O\rangle + \sum_i d\mathrm{LSE}_i\, \mathrm{LSE}_i$ for some $d\mathrm{LSE}$:

# %% tags=["nbval-check-output"]
dLSE = torch.tensor([[2.0], [-1.0], [0.5], [0.0]], dtype=torch.float64)  # (4, 1)

leaf = S.clone().requires_grad_()
rich_loss = (dO * (torch.softmax(leaf, dim=-1) @ V)).sum() + (
    dLSE[:, 0] * torch.logsumexp(leaf, dim=-1)
).sum()
(dS_torch,) = torch.autograd.grad(rich_loss, leaf)

dS_rich = P * (dP - (delta - dLSE))
print("equal to autograd's:", torch.allclose(dS_rich, dS_torch))
print("rows of dS now sum to", dS_rich.sum(dim=-1).numpy().round(6))

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# The rows no longer sum to zero, but to $d\mathrm{LSE}_i$. Shift invariance is gone for a good reason: adding $c$ to
# a row of scores leaves $P$ as it was and adds $c$ to LSE.
#
# </details>
#
# ## 6 · Back through S = α Q Kᵀ
#
# ### Sides and scale
#
# Once more the order rule, with left factor $Q$ and right factor $K^\top$, and a number in front. The left one is
# immediate. The right one gives the gradient of $K^\top$, and what you want is the gradient of $K$. Take a pencil, name
# the shapes, and write both.
#
# ### Exercise 4: `attention_dq_dk` · core
#
# Return the pair $(dQ, dK)$. `q` is $[S_q, D]$, `k` is $[S_k, D]$, `ds` is $[S_q, S_k]$, and `alpha` is a number.


# %% exercise="attention_dq_dk"
def attention_dq_dk(q: sp.Matrix, k: sp.Matrix, ds: sp.Matrix, alpha: sp.Expr) -> tuple[sp.Matrix, sp.Matrix]:
    """(dQ, dK) of S = alpha Q Kᵀ: [S_q, D], [S_k, D], [S_q, S_k], a number → [S_q, D], [S_k, D]."""
    ### BEGIN SOLUTION
    # STUB: raise NotImplementedError("TODO attention_dq_dk: the gradients of both factors of S = alpha Q Kᵀ")
    return alpha * ds * k, alpha * ds.T * q
    ### END SOLUTION


# %%
flashlearn.check("attention_dq_dk", attention_dq_dk)

# %%
# flashlearn.hint("attention_dq_dk")

# %% [markdown]
# With the pencil: $dQ = \alpha\, dS\, (K^\top)^\top = \alpha\, dS\, K$; the gradient of $K^\top$ is $\alpha\, Q^\top dS$, and
# $dK$ is its transpose, $\alpha\, dS^\top Q$. Sympy, at **any size**:

# %% tags=["nbval-check-output"]
alpha_ = sp.Symbol("alpha", real=True)
Q_, K_ = sp.MatrixSymbol("Q", S_q, D), sp.MatrixSymbol("K", S_k, D)
dS_ = sp.MatrixSymbol("dS", S_q, S_k)

pairing = alpha_ * sp.Trace(dS_.T * Q_ * K_.T)  # ⟨dS, S⟩

print("dQ =", pairing.diff(Q_))
print("dK =", pairing.diff(K_))

# %% [markdown]
# In words, row by row, for a training step, which goes *against* the gradient. $dQ_i = \alpha \sum_j dS_{ij} K_j$: a
# query is pulled towards the keys that it should have attended to more (their $dS_{ij}$ is negative), and away from
# the others. $dK_j = \alpha \sum_i dS_{ij} Q_i$: a key is pulled towards the queries that should have attended more to
# it. Again the forward pass sums over keys, and what belongs to a *key* sums over
# *queries*: hence $dS^\top$.
#
# **Where alpha goes.** $\alpha$ stands in $S$ once, so in each derivative of $S$ once: in $dQ$ and in $dK$. Not in
# $dV$, $dP$ or $\delta$, which lie behind the softmax, and not in $dS$, which is the derivative by the *scaled*
# scores.

# %% [markdown]
# **From memory.** Lesson 01 took two claims about this product apart: that
# $\partial S/\partial Q$ is $\alpha K^\top$, and that $dK$ is $dS \cdot Q$. What is wrong with each, and for which
# sizes does torch not object to the second?
#
# <details><summary>Answer</summary>
#
# The derivative of a matrix by a matrix has four indices: $\partial S/\partial Q$ has $4 \cdot 3 \cdot 4 \cdot 2 = 96$
# entries here. Row $i$ of $S$ depends on row $i$ of $Q$ alone, by $\partial S_i / \partial Q_i = \alpha K$, of shape
# $[S_k, D]$, and multiplying each row of $dS$ by *that* gives $dQ = \alpha\, dS\, K$. With $\alpha K^\top$ in its
# place, $[4 \times 3] \cdot [2 \times 3]$, not even the shapes fit.
#
# $dS \cdot Q$ sums over keys where $dK$ has to sum over queries, and it forgets $\alpha$. With four queries and three
# keys torch refuses; with $S_q = S_k$ it does not. Most demonstrations of attention are square, and many tests are.
# And no shape ever shows a missing $\alpha$.
#
# </details>
#
# ### For the curious: a query's gradient is a covariance
#
# Put the last two steps together for one query: $dq_f = \alpha \sum_j p_j (dP_j - \delta)\, K_{jf}$. Both
# $\delta = \mathrm E_p[dP]$ and the weights are those of one distribution, so this is
# $\alpha\,\bigl(\mathrm E_p[dP\, K_f] - \mathrm E_p[dP]\,\mathrm E_p[K_f]\bigr)$: $\alpha$ times the *covariance*,
# under the query's own attention, of what a key was worth and where it lies. If all attended keys were worth the
# same, or lay in the same place, the query has nothing to learn. Derived from $q$ itself, in one go, for **every
# $S_k$ and every $D$**:

# %%
e, f = sp.symbols("e f", integer=True)
q_, key = sp.IndexedBase("q", real=True), sp.IndexedBase("K", real=True)


def weighted(term):  # Σ_k exp(S_k) · term, S_k = alpha ⟨q, K_k⟩
    return sp.Sum(sp.exp(alpha_ * sp.Sum(q_[e] * key[k, e], (e, 0, D - 1))) * term, (k, 0, S_k - 1))


def mean(term):  # E_p[term], p = softmax(S)
    return weighted(term) / weighted(1)


dq_f = sp.refine(sp.diff(mean(dp_[k]), q_[f]).doit(), sp.Q.ge(f, 0) & sp.Q.le(f, D - 1))

moved = alpha_ * key[k, f]  # ∂S_k/∂q_f
covariance = mean(dp_[k] * moved) - mean(dp_[k]) * mean(moved)
assert sp.expand(dq_f - covariance) == 0

# %% [markdown]
# ## 7 · The whole backward pass
#
# Everything so far, in the order in which it is computed:
#
# | step | formula | shape | needs |
# |---|---|---|---|
# | again | $P = \mathrm{softmax}(\alpha\, Q K^\top)$ | $[S_q, S_k]$ | $Q, K$ |
# | values | $dV = P^\top dO$ | $[S_k, D]$ | $P, dO$ |
# | probabilities | $dP = dO\, V^\top$ | $[S_q, S_k]$ | $dO, V$ |
# | one number per query | $\delta_i = \sum_j P_{ij}\, dP_{ij} = \sum_d dO_{id}\, O_{id}$ | $[S_q]$ | $P, dP$, or $O, dO$ |
# | scores | $dS = P \circ (dP - \delta)$ | $[S_q, S_k]$ | $P, dP, \delta$ |
# | queries | $dQ = \alpha\, dS\, K$ | $[S_q, D]$ | $dS, K$ |
# | keys | $dK = \alpha\, dS^\top Q$ | $[S_k, D]$ | $dS, Q$ |
#
# Five matrix products, one of them ($Q K^\top$) repeated from the forward pass, which has two: attention's backward
# pass is counted as $2.5$ times its forward pass.
#
# ### Exercise 5: `attention_backward` · core
#
# Write it in torch, formulas only: matrix products, `torch.softmax`, element-wise operations and sums, but no
# autograd. All inputs are matrices, `q` and `do` of shape $[S_q, D]$, `k` and `v` of shape $[S_k, D]$, and `alpha`
# is a number (it may be negative). Scores may lie beyond 100. Return `dq, dk, dv`, in this order.


# %% exercise="attention_backward"
def attention_backward(
    q: Tensor, k: Tensor, v: Tensor, do: Tensor, alpha: float
) -> tuple[Tensor, Tensor, Tensor]:
    """(dQ, dK, dV) of O = softmax(alpha Q Kᵀ) V, given dO: matrices [S, D]."""
    ### BEGIN SOLUTION
    # STUB: raise NotImplementedError("TODO attention_backward: P, dV, dP, delta, dS, then dQ and dK")
    p = torch.softmax(alpha * q @ k.T, dim=-1)  # (S_q, S_k)
    dv = p.T @ do  # (S_k, D)
    dp = do @ v.T  # (S_q, S_k)
    delta = (do * (p @ v)).sum(dim=-1, keepdim=True)  # (S_q, 1)
    ds = p * (dp - delta)  # (S_q, S_k)
    return alpha * ds @ k, alpha * ds.T @ q, dv
    ### END SOLUTION


# %%
flashlearn.check("attention_backward", attention_backward)

# %%
# flashlearn.hint("attention_backward")

# %% [markdown]
# The running example to the end, and autograd's word on it. These are the numbers that lessons 07 to 10 come back to.

# %% tags=["nbval-check-output"]
by_hand = flashlearn.use("attention_backward", attention_backward)
dQ, dK, dV = by_hand(Q, K, V, dO, alpha)

leaves = [t.clone().requires_grad_() for t in (Q, K, V)]
out = torch.softmax(alpha * leaves[0] @ leaves[1].T, dim=-1) @ leaves[2]
expected = torch.autograd.grad(out, leaves, grad_outputs=dO)

for name, got, want in zip(("dQ", "dK", "dV"), (dQ, dK, dV), expected, strict=True):
    print(f"{name}, equal to autograd's: {torch.allclose(got, want)}\n{got.numpy().round(4)}")

# %% [markdown]
# ## 8 · Tests that see, and one that does not
#
# > ### Sources corrected: "all differences are below 5e-3, so the kernel is right"
# >
# > **The claim.** A backward kernel is compared with a reference on matrices of $128 \times 64$, values uniform in
# > $[-0.5, 0.5]$. The largest difference in $dQ$ is below $5 \cdot 10^{-3}$. The test passes.
# >
# > **The experiment.** Commit the worst fault of this lesson on purpose: forget $\delta$, so that $dS = P \circ dP$.
# > **Predict** whether that test would notice.


# %% tags=["nbval-check-output"]
def without_delta(q, k, v, do, alpha):
    p = torch.softmax(alpha * q @ k.T, dim=-1)
    ds = p * (do @ v.T)
    return alpha * ds @ k, alpha * ds.T @ q, p.T @ do


def uniform_inputs(scale: float, seed: int = 0):
    generator = torch.Generator().manual_seed(seed)
    draw = torch.rand(4, 128, 64, generator=generator, dtype=torch.float64)
    return [*(scale * (2 * draw - 1)), 1 / math.sqrt(64)]


scales = [2.0**e for e in range(-4, 2)]
sizes_dQ, errors_dQ = [], []
for scale in scales:
    inputs = uniform_inputs(scale)
    right, wrong = by_hand(*inputs)[0], without_delta(*inputs)[0]
    sizes_dQ.append(float(right.abs().max()))
    errors_dQ.append(float((wrong - right).abs().max()))

at = scales.index(0.5)
print(f"values in ±0.5: largest error {errors_dQ[at]:.1e}, largest entry {sizes_dQ[at]:.1e}")
print(f"the test with a bar of 5e-3 {'passes' if errors_dQ[at] < 5e-3 else 'fails'};", end=" ")
print(f"the error is {errors_dQ[at] / sizes_dQ[at]:.0%} of the largest entry")

# %%
pictures.blind_bar(scales, errors_dQ, sizes_dQ, bar=5e-3)

# %% [markdown]
# > **The verdict.** It passes. Small values make all of $dQ$ small, one hundredth at most, and a bar that is fixed in
# > absolute terms stops seeing. With values of $\pm 1$ the same bar would have caught it; with $\pm 0.25$ it would
# > accept a $dQ$ of nothing but zeros. An allowed error must come from the size of the result and from the precision
# > of the arithmetic. (The checks of this course compare with what plain torch achieves at the same precision.)
#
# Better than a bar are properties that hold for every input. You have met one; here are three, each for **any size**.
#
# 1. The rows of $dS$ sum to zero (section 3). But a kernel returns no $dS$. What it returns is $dK$, and
#    $\sum_j dK_j = \alpha \sum_i \bigl(\sum_j dS_{ij}\bigr) Q_i = 0$: **the rows of $dK$ add up to zero.** It is
#    shift invariance again: adding one vector to all keys adds one number to each row of $S$.
# 2. $Q^\top dQ = \alpha\, Q^\top dS\, K$ and $K^\top dK = \alpha\, K^\top dS^\top Q$ are **transposes of each other**.
#    A scale that is missing on one side only, or a $dK$ without its transpose, breaks it.
# 3. The rows of $P$ sum to one, so $\sum_j dV_j = \sum_i dO_i$: **$dV$ and $dO$ have the same column sums.**

# %%
dQ_, dK_ = alpha_ * dS_ * K_, alpha_ * dS_.T * Q_
ones_k, ones_q = sp.OneMatrix(S_k, 1), sp.OneMatrix(S_q, 1)

assert (dK_.T * ones_k).doit() == (alpha_ * Q_.T * (dS_ * ones_k)).doit()  # 0, since dS · 1 = 0
assert (Q_.T * dQ_).T.doit() == (K_.T * dK_).doit()
assert ((P_.T * dO_).T * ones_k).doit() == (dO_.T * (P_ * ones_k)).doit()  # dOᵀ 1, since P · 1 = 1

# %% [markdown]
# **Predict** which property catches which fault, then run:


# %% tags=["nbval-check-output"]
def alpha_missing_in_dK(q, k, v, do, alpha):
    dq, dk, dv = by_hand(q, k, v, do, alpha)
    return dq, dk / alpha, dv


def alpha_missing_in_both(q, k, v, do, alpha):
    dq, dk, dv = by_hand(q, k, v, do, alpha)
    return dq / alpha, dk / alpha, dv


def properties(q, k, v, do, dq, dk, dv) -> list[bool]:
    return [
        torch.allclose(dk.sum(dim=0), torch.zeros_like(dk[0]), atol=1e-9),
        torch.allclose((q.T @ dq).T, k.T @ dk, atol=1e-9),
        torch.allclose(dv.sum(dim=0), do.sum(dim=0), atol=1e-9),
    ]


print(f"{'':24}{'Σ dK = 0':12}{'QᵀdQ = (KᵀdK)ᵀ':18}Σ dV = Σ dO")
for function in (by_hand, without_delta, alpha_missing_in_dK, alpha_missing_in_both):
    name = "right" if function is by_hand else function.__name__
    held = properties(Q, K, V, dO, *function(Q, K, V, dO, alpha))
    first, second, third = ("holds" if h else "broken" for h in held)
    print(f"{name:24}{first:12}{second:18}{third}")

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - The first two faults break one property each and leave the others whole, so the broken one says where to look:
#   the same kind of reasoning as lesson 10's.
# - A forgotten $\delta$ does not break the second: it holds for *any* matrix in place of $dS$.
# - Nothing here sees an $\alpha$ that is missing in both. Properties narrow the search; a reference decides.
#
# </details>
#
# ## 9 · The first kernel of the backward pass
#
# FlashAttention's backward pass begins with a small kernel that computes $\delta$ and nothing else:
#
# $$\delta_i = \sum_d dO_{id}\, O_{id} .$$
#
# It is `row_sum` of lesson 00 with a product inside, and with the tensors that real attention has:
# $[B, H, S, D]$, a batch of $B$ sequences with $H$ heads each. One program owns `BLOCK_S` queries of one head, a tile
# of `[BLOCK_S, BLOCK_D]`:
#
# | mathematics | in the kernel | shape |
# |---|---|---|
# | query $i$ | `i` | `[BLOCK_S]` |
# | component $d$ | `d` | `[BLOCK_D]` |
# | $O_{id}$, $dO_{id}$ | `o`, `do` | `[BLOCK_S, BLOCK_D]` |
# | $\delta_i$ | `delta` | `[BLOCK_S]` |
#
# Two ragged edges this time: `BLOCK_D` is the next power of two above $D$, and the last block of queries may not be
# full. And four strides per tensor: a projection often leaves $[B, S, H, D]$ in memory, which attention reads as a
# *view* of shape $[B, H, S, D]$; and `dO` comes from whatever follows. **Predict** its strides when the loss is
# simply `o.sum()`.

# %% tags=["nbval-check-output"]
heads_inside = torch.zeros(2, 5, 3, 8).transpose(1, 2)  # [B, S, H, D] in memory, seen as [B, H, S, D]
print("o ", tuple(heads_inside.shape), "strides", heads_inside.stride())

seen = []
leaf = heads_inside.clone().requires_grad_()
leaf.register_hook(lambda gradient: seen.append(gradient))
leaf.sum().backward()
print("do", tuple(seen[0].shape), "strides", seen[0].stride())

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# All strides of that `do` are 0: one number in memory, seen from everywhere. A kernel that addresses `do` with the
# strides of `o` reads past its end. It is one of the commonest faults of hand-written backward passes, and it shows
# in the very first test that one writes, or in none.
#
# </details>
#
# ### Exercise 6: `delta_preprocess` · core
#
# Write the kernel; the launcher is given. What the check will ask of it:
#
# - any $S$ and $D$: mask both;
# - `o` and `do` are views with strides of their own, `delta` is new and contiguous: head $bh$ of it begins at
#   `bh * S`;
# - `o` and `do` may be fp16 or bf16, with values around 100: compute in fp32 from the loads on. `delta` is fp32.
#
# Useful pieces: `i[:, None]` and `d[None, :]` broadcast to `[BLOCK_S, BLOCK_D]`; `&` joins two masks;
# `tl.sum(x, axis=1)` sums each row of a tile.

# %% exercise="delta_preprocess"
# INCLUDE: flashlearn/kernels/delta.py:delta_preprocess_kernel


# INCLUDE: flashlearn/kernels/delta.py:delta_preprocess

# %%
flashlearn.check("delta_preprocess", delta_preprocess)

# %%
# flashlearn.hint("delta_preprocess")

# %% [markdown]
# When it passes, break it: leave `(d < D)` out of the mask; use the strides of `o` for both; leave out
# `.to(tl.float32)`. Which of the three would a test have found that uses one contiguous fp32 tensor with $D = 64$?
#
# <details><summary><b>What to notice</b></summary>
#
# - None of them. $D = 64$ is a power of two, one layout serves both tensors, and fp32 needs no cast.
# - The kernel reads $2 S D$ numbers, writes $S$, and does $2 S D$ operations: memory is the limit, by far.
# - $\delta$ stays in fp32 although $O$ and $dO$ do not. $dS$ is the *difference* $dP - \delta$, and where the two
#   nearly agree, an error of $\delta$ is all that remains. (Remember *dp around 60* in lesson 02.)
# - With $O$ in fp16, $\delta$ is computed from a rounded $O$, and is no longer exactly $\sum_j P_{ij}\, dP_{ij}$.
#   Real kernels live with that; the error is of the size of the rounding of $O$.
#
# </details>

# %% [markdown]
# The kernel, the identity and the formulas in one: your $\delta$ in the place of $\sum_j P_{ij}\,dP_{ij}$.

# %% tags=["nbval-check-output"]
preprocess = flashlearn.use("delta_preprocess", delta_preprocess)
q32, k32, v32, do32 = example.tensors(DEVICE)
p32 = torch.softmax(alpha * q32 @ k32.T, dim=-1)

delta_kernel = preprocess((p32 @ v32)[None, None], do32[None, None])  # [1, 1, 4]
dS_kernel = p32 * (do32 @ v32.T - delta_kernel[0, 0, :, None])

print("delta", delta_kernel.cpu().numpy().round(4))
print("dQ is right:", torch.allclose(alpha * dS_kernel.cpu().double() @ K, dQ, atol=1e-6))

# %% [markdown]
# ## 10 · What you have now
#
# | | formula | remember |
# |---|---|---|
# | order rule | $Y = XW$: $dX = dY\,W^\top$, $dW = X^\top dY$ | each keeps its side, the other is transposed |
# | values | $dV = P^\top dO$ | belongs to a key, so it sums over queries |
# | probabilities | $dP = dO\, V^\top$ | no $P$ in it |
# | delta | $\delta_i = \sum_j P_{ij} dP_{ij} = \sum_d dO_{id} O_{id}$ | the same table, summed the other way; known before any tile |
# | scores | $dS = P \circ (dP - \delta)$ | rows sum to 0 |
# | with LSE in the loss | $dS = P \circ (dP - (\delta - d\mathrm{LSE}))$ | kernels do not change |
# | queries, keys | $dQ = \alpha\, dS\, K$, $dK = \alpha\, dS^\top Q$ | $\alpha$ once in each, nowhere else |
#
# ### Questions to yourself
#
# Answer before you unfold.
#
# **1.** A kernel multiplies $Q$ by $\alpha$ as soon as it has loaded it, and from then on uses only this scaled $Q$,
# in $S$ as well as in the gradients. Where must $\alpha$ still be multiplied in, and where no longer?
#
# <details><summary>Answer</summary>
#
# $S = Q' K^\top$ with $Q' = \alpha Q$ needs no $\alpha$ any more. $dK = dS^\top Q'$ has it already: multiplying again
# would give $\alpha^2$. $dQ$ is made of $dS$ and $K$, which have not seen $\alpha$: $dQ = \alpha\, dS\, K$ still needs
# it. It is the commonest way to get "alpha twice in $dK$" or "alpha forgotten in $dQ$".
#
# </details>

# %% [markdown]
# **2.** All values are equal: $V_j = c$ for every key, $c$ a row of $D$ numbers. Without computing: what are $dS$,
# $dQ$ and $dK$? Which quantity of this lesson says so at a glance?
#
# <details><summary>Answer</summary>
#
# All zero. If every key holds the same value, it does not matter where a query looks. $dP_{ij} = \langle dO_i,
# c\rangle$ does not depend on $j$, so it equals its mean $\delta_i$, and $dP - \delta = 0$. The test "delta forgotten"
# could hardly be simpler: set all values equal, and look for zeros.
#
# </details>

# %% [markdown]
# **3.** Somebody computes $\delta$ from the forward pass's $O$ *before* dropout, residual connection and projection
# are applied, but takes for $dO$ the gradient that arrives at the block's end. Shapes fit. What is wrong, and which
# of the three properties shows it?
#
# <details><summary>Answer</summary>
#
# The identity needs $O = P\,V$ and the gradient *by that $O$*: the same $dO$ that gives $dP = dO\,V^\top$. If $dP$
# is computed from the same wrong $dO$, then $\delta$ and $dP$ still belong together, all properties hold, and only a
# reference finds out. If $dP$ has the right $dO$ and $\delta$ the wrong one, the rows of $dS$ do not sum to zero, and
# the first property breaks.
#
# </details>

# %% [markdown]
# ### Journal
#
# *Two or three sentences in your own words, for yourself in a month. How would you explain the transpose in $dV$
# without the word "transpose"? What would you tell someone who asks why $O$ is saved for the backward pass?
# Double-click here and write.*

# %% [markdown]
# ### What comes next
#
# Every formula here still needs $P$, an $S_q \times S_k$ matrix that one does not want to store. Lesson 04 shows how
# to have it again from one number per query: $P_{ij} = e^{S_{ij} - \mathrm{LSE}_i}$. With that and with $\delta$, the
# two sums over the keys that a row of the backward pass needs are known before it starts, and any tile of $P$ and
# $dS$ can be made from a tile of $Q$, $K$, $V$ and $dO$. Lessons 07 and 08 do just that.
#
# **Sources.** The backward pass of attention in this form, with $D_i = dO_i \cdot O_i$ for our $\delta_i$: T. Dao et
# al., *FlashAttention*, NeurIPS 2022, appendix B.2; computed before the loops, T. Dao, *FlashAttention-2*, arXiv
# 2307.08691, section 3.1 and algorithm 2. The trace as a scalar product and derivatives by matrices: K. Petersen, M.
# Pedersen, *The Matrix Cookbook*, section 2.5; J. Magnus, H. Neudecker, *Matrix Differential Calculus*. Partial
# results over parts of the keys, merged across devices: H. Liu, M. Zaharia, P. Abbeel, *Ring Attention*, arXiv 2310.01889.
# A penalty on the logsumexp: B. Zoph et al., *ST-MoE*, arXiv 2202.08906.
