# %% [markdown]
# # Attention, backward, by hand
#
# Attention is three lines: scores, softmax, a mean of values. Its backward pass is five, and every backward kernel of
# this course computes some of those five lines, in some order. Here you derive each of them, put numbers in, and meet
# the one that is not just the chain rule: the *delta trick*, which makes a backward pass in tiles practical.
#
# **Afterwards you can**
#
# - write down $dV$, $dP$, $dS$, $dQ$ and $dK$ without looking anything up, and say for each where its transpose comes
#   from and whether it has an $\alpha$;
# - prove the delta identity, and say which gradients need it in a kernel that sees only a tile at a time;
# - extend the backward pass to a loss that uses the logsumexp as well;
# - test a backward pass with properties that need no reference, and with inputs that make its matrices readable;
# - write the first kernel of the backward pass, `delta_preprocess`.
#
# **You need** lesson 01 (gradients of matrix products) and lesson 02 (the softmax and its VJP,
# $ds = p \circ (dp - \langle p, dp\rangle)$). For the kernels, lesson 00.
#
# **It takes** about two and a half hours, best in two sittings (sections 1 to 5, then the rest): four symbolic answers
# of one or two lines, two functions in torch of six to nine lines, one kernel of eight, three questions at the start
# and three at the end. Section 10 has the proofs for any size, for those who want them.

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
from flashlearn.lessons.lesson_03_attention_backward.one_walk import OneWalk, Tiles, dq
from flashlearn.lessons.shared import example
from flashlearn.lessons.shared.in_numbers import in_numbers

# %% [markdown]
# ## Before you begin
#
# Three questions about what came before. Run the cell to read them, enter a letter for each number, and run it again. A
# wrong choice costs nothing; the reply says what it overlooks.

# %% tags=["recall"]
### BEGIN SOLUTION
# STUB: answers = {1: "", 2: "", 3: ""}
answers = {1: "c", 2: "a", 3: "b"}
### END SOLUTION
flashlearn.recall("03", answers)

# %% [markdown]
# ## 1 · Forward, in three lines
#
# One head of attention. Queries $Q$ of shape $[S_q, D]$; keys $K$ and values $V$ of shape $[S_k, D]$; a scale
# $\alpha$, usually $1/\sqrt D$.
#
# $$S = \alpha\, Q K^\top, \qquad P = \mathrm{softmax}(S) \text{ row by row}, \qquad O = P\,V.$$
#
# Read them with one query $i$ in mind. $S_{ij}$ says how well key $j$ fits it. Row $P_i$ is a distribution over the
# keys. $O_i = \sum_j P_{ij} V_j$ is the mean of the values under it. Queries do not interact.
#
# The numbers are the course's small example: four queries, three keys, $D = 2$. All three sizes differ on purpose: a
# product with a wrongly transposed operand will not fit.

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
# shape of $X$. The last part of that sentence is the most useful tool of this lesson: call it the **shape rule**.
#
# The backward pass goes through the same three lines in reverse order. Here are its intermediate results; what each
# arrow computes is for you to find.

# %%
pictures.passes()

# %% [markdown]
# ### A kernel to begin with
#
# One program per query computes a row of $P$ and a row of $O$. It also adds the weight that its query gives to each key
# to `given`, which has one number per key. `tl.atomic_add(pointers, values)` adds to each number in memory in a single
# step that no other program can interrupt. **Predict** what `given` contains when all four programs have run, what its
# sum is, and why this addition has to be atomic while the store of $O$ does not.


# %%
@triton.jit
def attend_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, given_ptr, alpha, S_k, D: tl.constexpr, BLOCK: tl.constexpr
):  # fmt: skip
    i = tl.program_id(0)  # this program's query
    j, d = tl.arange(0, BLOCK), tl.arange(0, D)
    in_keys = j < S_k
    q = tl.load(q_ptr + i * D + d)  # [D]
    k = tl.load(k_ptr + j[:, None] * D + d[None, :], mask=in_keys[:, None], other=0.0)  # [BLOCK, D]
    v = tl.load(v_ptr + j[:, None] * D + d[None, :], mask=in_keys[:, None], other=0.0)
    s = tl.where(in_keys, alpha * tl.sum(k * q[None, :], axis=1), -float("inf"))  # [BLOCK]
    e = tl.exp(s - tl.max(s, axis=0))
    p = e / tl.sum(e, axis=0)  # row i of P
    tl.store(o_ptr + i * D + d, tl.sum(p[:, None] * v, axis=0))  # row i of O: no other program writes it
    tl.atomic_add(given_ptr + j, p, mask=in_keys)  # every program adds to every key


q32, k32, v32, do32 = example.tensors(DEVICE)
o32, given = torch.empty_like(q32), torch.zeros(3, device=DEVICE)
attend_kernel[(4,)](q32, k32, v32, o32, given, alpha, 3, D=2, BLOCK=4)

assert torch.allclose(o32.cpu().double(), O, atol=1e-6)
assert torch.allclose(given.cpu().double(), P.sum(dim=0), atol=1e-6)
print("given to each key:", given.cpu().numpy().round(3), "  in all:", round(float(given.sum()), 3))

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - A *row* of $P$ belongs to one program, and so does the row of $O$ that is computed from it. A *column* of $P$
#   belongs to no single program: every query has one entry of it. `given` holds the sums of the columns, and they add
#   up to 4, one for each query.
# - Four programs add to the same three numbers. With a plain load, addition and store, an addition can be lost when two
#   programs do it at the same time. Lesson 05 shows such a loss.
# - Whatever the backward pass computes *for a key* is a sum along a column. That is the main difficulty of lesson 08,
#   and you have met it in a small kernel.
#
# </details>
#
# ## 2 · Back through O = P V
#
# In lesson 01 you found the gradients of both factors of a matrix product $Y = XW$. Here is such a product with other
# names, and with three different sizes, so that the factors fit in only one order. Take a pencil, write the shape of
# each matrix under its name, and use the shape rule.
#
# ### Exercise: `attention_dv_dp` · warm-up
#
# Return the pair $(dV, dP)$ of $O = P\,V$.
#
# `p` is $[S_q, S_k]$, `v` is $[S_k, D]$, `do` is $[S_q, D]$, all of them sympy matrices: `*` is the matrix product,
# `.T` the transpose. The sizes differ from case to case.


# %% exercise="attention_dv_dp"
# HINT: $O = P V$ has two factors. Each one's gradient is $dO$ multiplied by the *other* factor, transposed,
#     which stays on its own side: $P$ is on the left of $V$.
# HINT: dV must be $[S_k, D]$, from $P$, which is $[S_q, S_k]$, and $dO$, which is $[S_q, D]$: the summed
#     index is the query. dP must be $[S_q, S_k]$, from $dO$ and $V$: the summed index is the component.
# HINT: `dv = p.T * do`. One product is left for you: `do` times something gives `dp`.
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
# In numbers, with your answer if it has passed. **Predict** row 0 of $dP$ by hand, from $dO_0 = (1, -1)$ and the values
# $V_0 = (1, 0)$, $V_1 = (0, 2)$ and $V_2 = (1, 1)$.

# %% tags=["nbval-check-output"]
dV, dP = in_numbers(flashlearn.use("attention_dv_dp", attention_dv_dp), P, V, dO)  # (3, 2), (4, 3)
print(f"dV\n{dV.numpy().round(3)}\ndP\n{dP.numpy()}")

# %% [markdown]
# <details><summary><b>Where the transpose comes from</b> (when exercise 1 has passed)</summary>
#
# How does $V_{jd}$ reach the loss? Through component $d$ of *every* query's output, each time with the factor $P_{ij}$:
# $O_{id} = \sum_j P_{ij} V_{jd}$. What is used several times gets several gradients, and they add:
#
# $$dV_{jd} = \sum_i \frac{\partial L}{\partial O_{id}}\,\frac{\partial O_{id}}{\partial V_{jd}} = \sum_i P_{ij}\, dO_{id}.$$
#
# Forward, the sum ran over $j$, along a *row* of $P$: a query collects from the keys. Backward, it runs over $i$, along
# a *column* of $P$: a value collects gradients from all queries that used it, as `given` collected weights. A matrix
# product sums along the rows of its left factor. To sum along columns, the matrix has to be transposed first. That is
# all that the transpose means: $dV = P^\top dO$.
#
# As a rule for any product, the *order rule*: *each factor keeps its side, and the other factor is transposed.* In
# $dP = dO\,V^\top$ the factor $V^\top$ stays on the right, where $V$ was; in $dV$ the factor $P^\top$ stays on the
# left, where $P$ was. Section 10 proves it for any size.
#
# </details>
#
# <details><summary><b>What to notice</b></summary>
#
# - Row 0 of $dP$ is $(1, -2, 0)$, the row from lesson 02. $dP_{ij} = \langle dO_i, V_j\rangle$ asks: if query $i$
#   attended a little more to key $j$, would its value raise or lower the loss?
# - $dP$ needs $V$ and no $P$; $dV$ needs $P$ and no $V$. Each factor's gradient needs the *other* factor.
# - $dP$ is an $S_q \times S_k$ matrix, like $S$ and $P$: the size that FlashAttention never writes to memory.
#
# </details>

# %% [markdown]
# Here is one entry of $dV$ as a picture. (It appears when exercise 1 has passed and the cell is run again.)

# %%
solved = flashlearn.use("attention_dv_dp", attention_dv_dp) is attention_dv_dp
pictures.collected(P.tolist(), dO.tolist(), j=1, d=0) if solved else "after exercise 1"

# %% [markdown]
# ## 3 · Back through the softmax, row by row
#
# Each row of $P$ is the softmax of the same row of $S$, and of no other. So this is lesson 02's formula, once per
# query:
#
# $$dS_i = P_i \circ \bigl(dP_i - \langle P_i, dP_i\rangle\bigr).$$
#
# The inner product is one number per query. We give it a name, which will be used until the last lesson:
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
# - Without `keepdim` the four numbers are aligned with the three *columns*, and torch raises an error. With $S_q = S_k$
#   it would not: every $\delta_i$ would be subtracted from a column instead of its row, without an error. That is one
#   reason why the course's running example is not square.
# - The rows of $dS$ sum to zero, always: lesson 02's shift invariance. It is a test that needs no reference. Keep it in
#   mind for section 8.
#
# </details>
#
# ## 4 · The delta trick
#
# $\delta_i$ is harmless on paper and a nuisance in a kernel. It is a sum over *all* keys, and it is needed before the
# *first* entry of $dS_i$ can be computed. A kernel that sees one tile of keys at a time and needs $dS$, as the gradient
# of $K$ does, would have to go through all tiles once for $\delta$, and then again for $dS$. (Is this also true of
# $dQ$? Section 6 comes back to it.)
#
# Write out what is being summed. $dP_{ij} = \sum_d dO_{id} V_{jd}$, so
#
# $$\delta_i = \sum_j P_{ij} \sum_d dO_{id} V_{jd} = \sum_j \sum_d P_{ij}\, dO_{id}\, V_{jd}.$$
#
# For query 0 of the example these are six terms, a table of keys by components. Here they are, with their row sums
# (blue), column sums (orange) and the total (green):

# %%
pictures.two_sums(P[0].tolist(), dO[0].tolist(), V.tolist())

# %% [markdown]
# By rows, first over $d$, each row gives a $P_{ij}\, dP_{ij}$. But a finite table may also be summed by columns.
# **Predict:** what is the sum of one column, $\sum_j P_{ij}\, dO_{id}\, V_{jd}$, if you factor out what does not depend
# on $j$?
#
# ### Exercise: `delta_identity` · core
#
# Write the same sum in the other order, at any size. Return two expressions:
#
# - `o_id`: the inner sum over the keys, without the factor that does not depend on $j$ (the variable's name says what
#   it is);
# - `delta_i`: the outer sum over the components, built from `dO` and `o_id`.
#
# `P`, `V` and `dO` are indexed symbols: write `P[i, j]`, `V[j, d]`, `dO[i, d]`. `i`, `d`, `S_k` and `D` are given as
# well; create your own index for the keys. Keys are counted from 0 to $S_k - 1$, components from 0 to $D - 1$, and
# `sp.Sum(term, (j, first, last))` includes both ends.


# %% exercise="delta_identity"
# HINT: With the sum over $d$ outside, $dO_{id}$ does not depend on $j$ and can be moved in front of the inner
#     sum. What is left inside, $\sum_j P_{ij} V_{jd}$, has a name.
# HINT: `o_id` is one `sp.Sum` over j with a free index `d`; `delta_i` is an `sp.Sum` over d of `dO[i, d] *
#     o_id`. A sympy sum includes its upper end: `(j, 0, S_k - 1)`.
# HINT: `j = sp.Symbol("j", integer=True)` and `o_id = sp.Sum(P[i, j] * V[j, d], (j, 0, S_k - 1))`. One more
#     line of the same kind, over `(d, 0, D - 1)`.
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
# <details><summary><b>What you have found, and what to notice</b> (when exercise 2 has passed)</summary>
#
# The column of the table is $dO_{id}\, O_{id}$, and
#
# $$\delta_i = \sum_j P_{ij}\, dP_{ij} = \sum_d dO_{id}\, O_{id} .$$
#
# - The right-hand side has no $j$ in it. $O$ and $dO$ are in memory, both $[S_q, D]$; it needs no $P$, no $dP$, and no
#   loop over the keys. Each query's $\delta_i$ can be computed before the main kernel starts.
# - The sum has $D$ terms instead of $S_k$: typically 64 or 128 instead of thousands.
# - It has a price: $O$ must be kept from the forward pass. Usually it is kept anyway, as the input of what follows.
# - In matrices: $\sum_j P_{ij}\, dP_{ij}$ is entry $(i, i)$ of $P\, dP^\top$, and $\sum_d O_{id}\, dO_{id}$ is entry
#   $(i, i)$ of $O\, dO^\top$. These two matrices are the same, with brackets in different places:
#   $P\,dP^\top = P\,(dO\,V^\top)^\top = (P\,V)\,dO^\top = O\,dO^\top$. The delta trick is the associativity of the
#   matrix product, seen on the diagonal.
#
# Section 10 runs all of this for any number of keys and any $D$.
#
# </details>
#
# ## 5 · One more line: a loss that also uses LSE
#
# The forward kernels of this course return a second result, one number per query: the logarithm of the denominator
# of its softmax,
#
# $$\mathrm{LSE}_i = \log \sum_j e^{S_{ij}} ,$$
#
# *logsumexp*. Lesson 04 is about it; here its definition is all you need. Usually the forward pass stores it only for
# the backward pass. But sometimes a loss depends on it: when partial results over parts of the keys are merged by their
# LSE, or when a penalty keeps the scores small. Then a gradient $d\mathrm{LSE}_i$ arrives together with $dO_i$.
#
# LSE depends on the scores, and its derivative is something you know. For **every $S_k$** (the `refine` tells sympy
# that $j$ is one of the keys that are summed over):

# %% tags=["nbval-check-output"]
S_k, D = sp.symbols("S_k D", integer=True, positive=True)
j, k, l = sp.symbols("j k l", integer=True)
s = sp.IndexedBase("s", real=True)  # one query's scores
Z = sp.Sum(sp.exp(s[l]), (l, 0, S_k - 1))
j_in_row = sp.Q.ge(j, 0) & sp.Q.le(j, S_k - 1)

lse_by_score = sp.refine(sp.diff(sp.log(Z), s[j]).doit(), j_in_row)
lse_by_score

# %% [markdown]
# That is $p_j$: a small change of a score changes the logarithm of the total by the score's share of the total, times
# the change.
#
# ### Exercise: `lse_gradient` · core
#
# For one query, return $ds$ for a loss that depends on $p$ *and* on LSE. `p` and `dp` are columns of $N$, as in lesson
# 02, and `dlse` is one number, $\partial L / \partial\,\mathrm{LSE}$. Two paths lead from a score to the loss; their
# gradients add. Useful pieces: `p.multiply_elementwise(x)`, `p.dot(x)`, `sp.ones(p.rows, 1)`.


# %% exercise="lse_gradient"
# HINT: A score reaches the loss by two paths, through $p$ and through LSE. Gradients of two paths add. The
#     first is lesson 02's formula; for the second you need $\partial\,\mathrm{LSE} / \partial s_j$.
# HINT: $\partial\,\mathrm{LSE} / \partial s_j = p_j$, so the second path contributes `dlse * p`, a column.
#     The first contributes `p.multiply_elementwise(...)` of a column.
# HINT: The first path: `p.multiply_elementwise(dp - sp.ones(p.rows, 1) * p.dot(dp))`. Add the second path's
#     column to it.
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
# The next cell compares your answer, if it has passed, with autograd, query by query, for the loss
# $\langle dO, O\rangle + \sum_i d\mathrm{LSE}_i\, \mathrm{LSE}_i$ and some $d\mathrm{LSE}$. **Predict** what the rows
# of $dS$ sum to now.

# %% tags=["nbval-check-output"]
dLSE = torch.tensor([2.0, -1.0, 0.5, 0.0], dtype=torch.float64)  # (4,)

leaf = S.clone().requires_grad_()
rich_loss = (dO * (torch.softmax(leaf, dim=-1) @ V)).sum() + (dLSE * torch.logsumexp(leaf, dim=-1)).sum()
(dS_torch,) = torch.autograd.grad(rich_loss, leaf)

rich = flashlearn.use("lse_gradient", lse_gradient)
rows = [in_numbers(rich, P[i, :, None], dP[i, :, None], dLSE[i]) for i in range(4)]
dS_rich = torch.stack([torch.cat([part.flatten() for part in row]) for row in rows])  # (4, 3)
print("equal to autograd's:", torch.allclose(dS_rich, dS_torch))
print("rows of dS now sum to", dS_rich.sum(dim=-1).numpy().round(6))

# %% [markdown]
# <details><summary><b>What to notice</b> (when exercise 3 has passed)</summary>
#
# - The two paths have a factor $p_j$ in common, so they share one bracket:
#   $dS_{ij} = P_{ij}\,(dP_{ij} - \delta_i) + P_{ij}\, d\mathrm{LSE}_i = P_{ij}\,\bigl(dP_{ij} - (\delta_i - d\mathrm{LSE}_i)\bigr)$.
# - This is convenient for kernels: **nothing in them changes.** Give them $\delta - d\mathrm{LSE}$ in place of
#   $\delta$, one subtraction for each query, and they compute the gradient of such a loss too.
# - The rows no longer sum to zero, but to $d\mathrm{LSE}_i$. Shift invariance no longer holds, for a good reason:
#   adding $c$ to a row of scores leaves $P$ unchanged and adds $c$ to LSE.
#
# </details>
#
# ## 6 · Back through S = α Q Kᵀ
#
# ### Sides and scale
#
# This is again a product of two factors, $Q$ on the left and $K^\top$ on the right, with a number in front. The left
# factor is as before. The right factor is $K^\top$, and what you want is the gradient of $K$. Take a pencil, write down
# the shapes, and find both gradients.
#
# ### Exercise: `attention_dq_dk` · core
#
# Return the pair $(dQ, dK)$. `q` is $[S_q, D]$, `k` is $[S_k, D]$, `alpha` is a number, and `ds`, $[S_q, S_k]$, is the
# gradient with respect to $S = \alpha Q K^\top$, alpha included.


# %% exercise="attention_dq_dk"
# HINT: By the order rule, the left factor of $Q K^\top$ gets $dS$ times the right factor transposed. The
#     right factor is $K^\top$; its gradient is $Q^\top dS$, and $dK$ is the transpose of that.
# HINT: dQ is $[S_q, D]$ from $dS$, $[S_q, S_k]$, and $K$, $[S_k, D]$. dK is $[S_k, D]$ from $dS$ and $Q$,
#     $[S_q, D]$: the query is the summed index, so $dS$ has to be transposed. Where does alpha go?
# HINT: `dq = alpha * ds * k`. One line is left for you: `dk`, with the query as the summed index, and alpha.
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
# Your answer in numbers, and a question: every row of $dS$ sums to zero. **Predict** the sum of all rows of $dK$.

# %% tags=["nbval-check-output"]
dQ, dK = in_numbers(flashlearn.use("attention_dq_dk", attention_dq_dk), Q, K, dS, alpha)  # (4, 2), (3, 2)
print(f"dQ\n{dQ.numpy().round(4)}\ndK\n{dK.numpy().round(4)}")
print("rows of dK add up to zero:", bool(dK.sum(dim=0).abs().max() < 1e-12))

# %% [markdown]
# <details><summary><b>With the pencil</b> (when exercise 4 has passed)</summary>
#
# $dQ = \alpha\, dS\, (K^\top)^\top = \alpha\, dS\, K$; the gradient of $K^\top$ is $\alpha\, Q^\top dS$, and $dK$ is its
# transpose, $\alpha\, dS^\top Q$.
#
# In words, row by row, for a training step (which goes *against* the gradient) and $\alpha > 0$:
# $dQ_i = \alpha \sum_j dS_{ij} K_j$ means that a query is pulled towards the keys that it should have attended to more
# (their $dS_{ij}$ is negative), and away from the others. $dK_j = \alpha \sum_i dS_{ij} Q_i$: a key is pulled towards
# the queries that should have attended more to it. The gradient of something that belongs to a *key* is a sum over
# *queries*: hence $dS^\top$.
#
# **Where alpha goes.** $\alpha$ is in $S$ once, so it is once in each gradient that goes through $S$: in $dQ$ and in
# $dK$. It is not in $dV$, $dP$ or $\delta$, which come before that step in the backward pass, and not in $dS$, which is
# the gradient with respect to the *scaled* scores.
#
# </details>

# %% [markdown]
# **From memory.** Lesson 01 refuted two claims about this product: that $\partial S/\partial Q$ is $\alpha K^\top$, and
# that $dK$ is $dS \cdot Q$. What is wrong with each, and for which sizes does torch not object to the second?
#
# <details><summary>Answer</summary>
#
# The derivative of a matrix with respect to a matrix has four indices: $\partial S/\partial Q$ has
# $4 \cdot 3 \cdot 4 \cdot 2 = 96$ entries here. Row $i$ of $S$ depends on row $i$ of $Q$ alone, with
# $\partial S_i / \partial Q_i = \alpha K$, of shape $[S_k, D]$, and multiplying each row of $dS$ by *that* gives
# $dQ = \alpha\, dS\, K$. With $\alpha K^\top$ in its place, $[4 \times 3] \cdot [2 \times 3]$, not even the shapes fit.
#
# $dS \cdot Q$ sums over keys where $dK$ has to sum over queries, and it forgets $\alpha$. With four queries and three
# keys torch raises an error; with $S_q = S_k$ it does not, and many demonstrations and tests of attention are square.
# And a missing $\alpha$ never shows in a shape.
#
# </details>
#
# ### For the curious: a query's gradient is a covariance
#
# <details><summary>When exercise 4 has passed</summary>
#
# Put the last two steps together for one query: $dq_f = \alpha \sum_j p_j (dP_j - \delta)\, K_{jf}$. Both
# $\delta = \mathrm E_p[dP]$ and the weights are those of one distribution, so this is
# $\alpha\,\bigl(\mathrm E_p[dP\, K_f] - \mathrm E_p[dP]\,\mathrm E_p[K_f]\bigr)$. If all attended keys are worth the
# same, or are equal, the query's gradient is zero.
#
# </details>
#
# The next cell derives it from $q$ itself, in one step, for **every $S_k$ and every $D$**: the gradient is $\alpha$
# times the covariance, under the query's attention, of $dP$ (what each key is worth) and $K$ (where it is).

# %%
e, f = sp.symbols("e f", integer=True)
alpha_ = sp.Symbol("alpha", real=True)
q_, key, dp_ = (sp.IndexedBase(name, real=True) for name in ("q", "K", "dP"))


def weighted(term):  # Σ_k exp(S_k) · term, S_k = alpha ⟨q, K_k⟩
    return sp.Sum(sp.exp(alpha_ * sp.Sum(q_[e] * key[k, e], (e, 0, D - 1))) * term, (k, 0, S_k - 1))


def mean(term):  # E_p[term], p = softmax(S)
    return weighted(term) / weighted(1)


dq_f = sp.refine(sp.diff(mean(dp_[k]), q_[f]).doit(), sp.Q.ge(f, 0) & sp.Q.le(f, D - 1))

moved = alpha_ * key[k, f]  # ∂S_k/∂q_f
covariance = mean(dp_[k] * moved) - mean(dp_[k]) * mean(moved)
assert sp.expand(dq_f - covariance) == 0

# %% [markdown]
# ### Is one pass enough?
#
# Section 4 said that $dS$ needs $\delta_i$ before its first entry, and so does $dK$, whose rows collect entries of $dS$
# from many queries. It is tempting to say the same of $dQ_i$. But $dQ_i$ is a sum along *one* row, and a covariance can
# be computed in one pass over the data, as pocket calculators do.
#
# ### Exercise: `dq_in_one_walk` · stretch
#
# Compute $dQ$ in torch without $\delta$ and without $O$. `tiles` iterates over the keys and values, tile by tile:
# `for k, v in tiles:` gives `[block, D]` of each; the last tile may be smaller, and each tile comes only once. It is no
# longer available when the next one comes, as in a kernel: you can only keep sums. You are also given `q` and `do` of
# shape $[S_q, D]$, `lse` of shape $[S_q]$, from which $P_{ij} = e^{S_{ij} - \mathrm{LSE}_i}$ with
# $S = \alpha Q K^\top$, and the number `alpha`. $dQ$ has `q`'s dtype, which may be fp32 or fp64.


# %% exercise="dq_in_one_walk"
# HINT: $dQ_i = \alpha \sum_j P_{ij}\,(dP_{ij} - \delta_i)\,K_j$. Multiply the bracket out: which of the two
#     sums needs $\delta_i$, and can it be factored out of that sum?
# HINT: $\delta_i$ does not depend on $j$, so its sum can be multiplied by it after the loop. Three
#     sums are carried: $\sum P\,dP\,K$ and $\sum P K$, both $[S_q, D]$, and $\sum P\,dP$, $[S_q, 1]$.
# HINT: In the loop: `p = torch.exp(alpha * q @ k.T - lse[:, None])`, `worth = p * (do @ v.T)`, and three sums
#     of `worth @ k`, `p @ k` and `worth.sum(dim=1, keepdim=True)`. What you return is left for you.
def dq_in_one_walk(q: Tensor, do: Tensor, lse: Tensor, tiles, alpha: float) -> Tensor:
    """dQ [S_q, D] from one pass over tiles (k, v) of the keys and values."""
    ### BEGIN SOLUTION
    # STUB: raise NotImplementedError("TODO dq_in_one_walk: P and dP of each tile, three sums, then dQ")
    worth_of_keys, keys = torch.zeros_like(q), torch.zeros_like(q)  # Σ P dP K, and Σ P K
    delta = torch.zeros_like(q[:, :1])  # Σ P dP
    for k, v in tiles:
        p = torch.exp(alpha * q @ k.T - lse[:, None])
        worth = p * (do @ v.T)
        worth_of_keys += worth @ k
        keys += p @ k
        delta += worth.sum(dim=1, keepdim=True)
    return alpha * (worth_of_keys - delta * keys)
    ### END SOLUTION


# %%
flashlearn.check("dq_in_one_walk", dq_in_one_walk)

# %%
# flashlearn.hint("dq_in_one_walk")

# %% [markdown]
# How accurate is it? Here it is compared with autograd, with your function if it has passed: in fp64, in fp32, and in
# fp32 with keys that are all around 30. **Predict** what the last one does to a difference of two sums.


# %%
def drawn(dtype, offset=0.0):
    generator = torch.Generator().manual_seed(0)
    q, k, v, do = torch.randn(4, 64, 32, generator=generator, dtype=torch.float64)
    return [t.to(dtype) for t in (q, k + offset, v, do)]


def by_autograd(q, k, v, do, alpha):
    q = q.clone().requires_grad_()
    return torch.autograd.grad(torch.softmax(alpha * q @ k.T, dim=-1) @ v, q, grad_outputs=do)[0]


def in_tiles(q, k, v, do, alpha, walked):
    lse = torch.logsumexp(alpha * q @ k.T, dim=-1)
    return walked(q, do, lse, OneWalk(Tiles(k, v, block=16), q.dtype), alpha)


def error(got, truth):
    return float((got.double() - truth).abs().max() / truth.abs().max())


scale = 1 / math.sqrt(32)
for dtype, offset in ((torch.float64, 0.0), (torch.float32, 0.0), (torch.float32, 30.0)):
    inputs = drawn(dtype, offset)
    truth = by_autograd(*drawn(torch.float64, offset), scale)
    one = error(in_tiles(*inputs, scale, flashlearn.use("dq_in_one_walk", dq_in_one_walk)), truth)
    two = error(by_autograd(*inputs, scale), truth)
    print(f"{dtype!s:13}, keys around {offset:2.0f}: one pass {one:.0e}, autograd {two:.0e}")

inputs = drawn(torch.float64)
assert (
    error(in_tiles(*inputs, scale, dq), by_autograd(*inputs, scale)) < 1e-14
)  # the course's own: to rounding

# %% [markdown]
# <details><summary><b>What to notice</b> (when exercise 5 has passed)</summary>
#
# - $dQ_i = \alpha\,\bigl(\sum_j P_{ij}\,dP_{ij}\,K_j - \delta_i \sum_j P_{ij} K_j\bigr)$: $\delta_i$ is outside both
#   sums, so it may come last. In fp64 the result agrees with autograd up to rounding. So "$\delta$ must be known before
#   the loop" is true of $dS$ and $dK$, but not of $dQ$.
# - The price: a second sum of the size of $dQ$ in registers, a further matrix product in the loop, and a difference of
#   two large numbers at the end, which costs digits when the keys have a common offset. If $\delta$ is computed before
#   the loop, from $O$ and $dO$, there is no such price.
#
# </details>
#
# ## 7 · The whole backward pass
#
# Everything so far, in the order in which it is computed. Fill in the formulas, on paper:
#
# | step | gives | shape | needs |
# |---|---|---|---|
# | recompute | $P$ | $[S_q, S_k]$ | $Q, K, \alpha$ |
# | values | $dV$ | $[S_k, D]$ | $P, dO$ |
# | probabilities | $dP$ | $[S_q, S_k]$ | $dO, V$ |
# | one number per query | $\delta$ | $[S_q]$ | $P, dP$, or $O, dO$ |
# | scores | $dS$ | $[S_q, S_k]$ | $P, dP, \delta$ |
# | queries | $dQ$ | $[S_q, D]$ | $dS, K, \alpha$ |
# | keys | $dK$ | $[S_k, D]$ | $dS, Q, \alpha$ |
#
# That is five matrix products, one of them ($Q K^\top$) repeated from the forward pass, which has two: attention's
# backward pass is counted as $2.5$ times its forward pass.
#
# ### Exercise: `attention_backward` · core
#
# Write it in torch, as formulas: matrix products, `torch.softmax`, element-wise operations and sums, but no autograd.
# All inputs are matrices, `q` and `do` of shape $[S_q, D]$, `k` and `v` of shape $[S_k, D]$, and `alpha` is a number
# (it may be negative). Scores may exceed 100. Return `dq, dk, dv`, in this order.


# %% exercise="attention_backward"
# HINT: Write the forward pass first, since the backward pass needs P. Then go back from the end: from O = P V
#     to dV and dP; through the softmax, row by row, to dS; from S = alpha Q Kᵀ to dQ and dK.
# HINT: P, dP and dS are $[S_q, S_k]$. delta is one number per query: `(p * dp).sum(dim=-1, keepdim=True)` is
#     $[S_q, 1]$ and is subtracted from every column. dQ has Q's shape, dK and dV have K's.
# HINT: `p = torch.softmax(alpha * q @ k.T, dim=-1)`, `dv = p.T @ do`, `dp = do @ v.T`, `ds = p * (dp - (p *
#     dp).sum(dim=-1, keepdim=True))`, `dq = alpha * ds @ k`. One line is left for you.
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
# Here is the running example from start to end, compared with autograd. Lessons 07 to 10 come back to these numbers.
# The picture of section 1 now has its labels, if the exercise has passed.

# %% tags=["nbval-check-output"]
by_hand = flashlearn.use("attention_backward", attention_backward)
dQ, dK, dV = by_hand(Q, K, V, dO, alpha)

leaves = [t.clone().requires_grad_() for t in (Q, K, V)]
out = torch.softmax(alpha * leaves[0] @ leaves[1].T, dim=-1) @ leaves[2]
expected = torch.autograd.grad(out, leaves, grad_outputs=dO)

for name, got, want in zip(("dQ", "dK", "dV"), (dQ, dK, dV), expected, strict=True):
    print(f"{name}, equal to autograd's: {torch.allclose(got, want)}\n{got.numpy().round(4)}")

# %%
pictures.passes(labelled=by_hand is attention_backward)

# %% [markdown]
# ## 8 · Tests that see, and one that does not
#
# > ### Sources corrected: "all differences are below 5e-3, so the kernel is right"
# >
# > **The claim.** A backward kernel is compared with a reference on matrices of $128 \times 64$ with values uniform in
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
print(f"the test with a tolerance of 5e-3 {'passes' if errors_dQ[at] < 5e-3 else 'fails'};", end=" ")
print(f"the error is {errors_dQ[at] / sizes_dQ[at]:.0%} of the largest entry")

# %%
pictures.blind_bar(scales, errors_dQ, sizes_dQ, bar=5e-3)

# %% [markdown]
# > **The verdict.** It passes. Small values make all of $dQ$ small, about one hundredth at most, and then a fixed
# > absolute tolerance is blind. With values in $\pm 1$ the same tolerance would have caught the fault; with $\pm 0.25$
# > it would accept a $dQ$ of nothing but zeros. The allowed error must depend on the size of the result and on the
# > precision of the arithmetic. (The checks of this course compare with what plain torch achieves at the same
# > precision.)
#
# It also helps to test properties that hold for every input. You have met one; here are three, each for **any size**.
#
# 1. The rows of $dS$ sum to zero (section 3). But a kernel returns no $dS$. What it returns is $dK$, and
#    $\sum_j dK_j = \alpha \sum_i \bigl(\sum_j dS_{ij}\bigr) Q_i = 0$: **the rows of $dK$ add up to zero.** It is
#    shift invariance again: adding one vector to all keys adds one number to each row of $S$.
# 2. $Q^\top dQ = \alpha\, Q^\top dS\, K$ and $K^\top dK = \alpha\, K^\top dS^\top Q$ are **transposes of each other**.
#    A scale that is missing in only one of them, or a $dK$ without its transpose, breaks this.
# 3. The rows of $P$ sum to one, so $\sum_j dV_j = \sum_i dO_i$: **$dV$ and $dO$ have the same column sums.**
#
# (Section 10 proves them.)

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
# - The first two faults break one property each and leave the others intact, so the broken one says where to look: the
#   same kind of reasoning as in lesson 10.
# - A forgotten $\delta$ does not break the second: it holds for *any* matrix in place of $dS$.
# - Nothing here sees an $\alpha$ that is missing in both. Properties narrow the search; a reference decides.
#
# </details>
#
# ### Inputs that can be read
#
# A third kind of test chooses the inputs so that a result *is* a matrix that you want to see. With $V = I$, the
# identity, $O = P$. The author of one CUDA kernel used $4 \times 4$ matrices, with $Q$ and $K$ equal to the identity.
# If $V$ and $dO$ are identities too, each result contains only two different numbers and can be checked mentally.
# **Predict:** does such a test notice a $dV$ that was computed without its transpose? And a $dK$?


# %% tags=["nbval-check-output"]
def dV_not_transposed(q, k, v, do, alpha):
    dq, dk, _ = by_hand(q, k, v, do, alpha)
    return dq, dk, torch.softmax(alpha * q @ k.T, dim=-1) @ do


def dK_not_transposed(q, k, v, do, alpha):
    p = torch.softmax(alpha * q @ k.T, dim=-1)
    dp = do @ v.T
    ds = p * (dp - (p * dp).sum(dim=-1, keepdim=True))
    return alpha * ds @ k, alpha * ds @ q, p.T @ do


one = torch.eye(4, dtype=torch.float64)
mixed = torch.tensor([[2, 0, 0, 0], [0, 0, 0, 3], [1, 1, 0, 0], [0, 0, 1, 0]], dtype=torch.float64)
patterns = {
    "Q, K, V, dO all I": (one, one, one, one, 0.5),
    "K, V, dO all I": (mixed, one, one, one, 0.5),
}
for pattern, inputs in patterns.items():
    right = by_hand(*inputs)
    for function in (dV_not_transposed, dK_not_transposed):
        same = all(torch.allclose(a, b) for a, b in zip(right, function(*inputs), strict=True))
        print(f"{pattern:18} {function.__name__}: {'not noticed' if same else 'noticed'}")

print(f"with Q = K = V = dO = I, dV is\n{by_hand(one, one, one, one, 0.5)[2].numpy().round(3)}")

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - With the identity everywhere, $S$ is symmetric, and so are $P$ and $dS$, so a missing transpose changes nothing. The
#   pattern is easy to read, and blind to a common mistake of this lesson.
# - Keep $K = V = dO = I$ and give $Q$ other numbers, and most results are a single matrix: $O = P$, $dV = P^\top$,
#   $dP = I$, $dQ = \alpha\, dS$. Now a transpose shows, and you can read $P$ and $dS$ off the results of a kernel that
#   never stores them. (The checks of this course do that to find out which pairs a kernel forgets.)
#
# </details>
#
# ## 9 · The kernel that the backward pass begins with
#
# FlashAttention's backward pass begins with a small kernel that computes $\delta$ and nothing else:
#
# $$\delta_i = \sum_d dO_{id}\, O_{id} .$$
#
# It is `row_sum` of lesson 00 with a product inside, and with the tensors of real attention: $[B, H, S, D]$, a batch of
# $B$ sequences with $H$ heads each. One program owns `BLOCK_S` queries of one head, a tile of `[BLOCK_S, BLOCK_D]`:
#
# | mathematics | in the kernel | shape |
# |---|---|---|
# | query $i$ | `i` | `[BLOCK_S]` |
# | component $d$ | `d` | `[BLOCK_D]` |
# | $O_{id}$, $dO_{id}$ | `o`, `do` | `[BLOCK_S, BLOCK_D]` |
# | $\delta_i$ | `delta` | `[BLOCK_S]` |
#
# There are two ragged edges this time: `BLOCK_D` is the smallest power of two that is not below $D$ (64 for 64, 128 for
# 65), and the last block of queries may not be full. And there are four strides per tensor: a projection often leaves
# $[B, S, H, D]$ in memory, which attention reads as a *view* of shape $[B, H, S, D]$; and `dO` comes from whatever
# follows. **Predict** its strides when the loss is simply `o.sum()`.

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
# All strides of that `do` are 0: every element is the same number in memory. A kernel that addresses `do` with the
# strides of `o` reads past its end. It is an easy fault to make in a hand-written backward pass, and tests with
# contiguous tensors never show it.
#
# </details>
#
# ### Exercise: `delta_preprocess` · core
#
# Write the kernel; the launcher is given. What the check requires:
#
# - any $S$ and $D$: mask both;
# - `o` and `do` are views with strides of their own, `delta` is new and contiguous: head $h$ of batch entry $b$
#   begins at `(b * H + h) * S`. The offset of a head needs 64 bits, as given;
# - `o` and `do` may be fp16 or bf16, with values around 100: compute in fp32 from the loads on. `delta` is fp32.
#
# Useful pieces: `i[:, None]` and `d[None, :]` broadcast to `[BLOCK_S, BLOCK_D]`; `&` joins two masks;
# `tl.sum(x, axis=1)` sums each row of a tile.

# %% exercise="delta_preprocess"
# HINT: It is `row_sum` of lesson 00 with a product before the sum and four dimensions in the address: one
#     program owns BLOCK_S queries of one head. Which of its lanes have no element, and what may they hold?
# HINT: `i[:, None]` is `[BLOCK_S, 1]` and `d[None, :]` is `[1, BLOCK_D]`; pointers and mask are `[BLOCK_S,
#     BLOCK_D]`. An element of o is at `b * o_b + h * o_h + i * o_s + d * o_d`, of do likewise with its own
#     strides. `tl.sum(..., axis=1)` leaves `[BLOCK_S]`, and delta's element is `(b * H + h) * S + i`.
# HINT: With `in_tile = (i < S)[:, None] & (d < D)[None, :]`: `o = tl.load(o_ptr + b * o_b + h * o_h + i[:,
#     None] * o_s + d[None, :] * o_d, mask=in_tile, other=0.0).to(tl.float32)`. Three lines are left for you:
#     do with its own strides, one sum, and one store under `i < S`.
# INCLUDE: flashlearn/kernels/delta.py:delta_preprocess_kernel


# INCLUDE: flashlearn/kernels/delta.py:delta_preprocess

# %%
flashlearn.check("delta_preprocess", delta_preprocess)

# %%
# flashlearn.hint("delta_preprocess")

# %% [markdown]
# When it passes, break it: leave `(d < D)` out of the mask; use the strides of `o` for both; leave out
# `.to(tl.float32)`. Which of the three would be found by a test with contiguous fp32 tensors and $D = 64$?
#
# <details><summary><b>What to notice</b></summary>
#
# - None of them. $D = 64$ is a power of two, both tensors have the same strides, and fp32 needs no conversion.
# - The kernel reads $2 S D$ numbers, writes $S$, and does $2 S D$ operations: memory is the limit, by far.
# - $\delta$ stays in fp32 although $O$ and $dO$ do not. $dS$ contains the *difference* $dP - \delta$, and where the two
#   nearly agree, the error of $\delta$ dominates. (Remember *dp around 60* in lesson 02.)
# - With $O$ in fp16, $\delta$ is computed from a rounded $O$, and is no longer exactly $\sum_j P_{ij}\, dP_{ij}$.
#   Kernels in practice accept that; the error is of the size of the rounding of $O$.
#
# </details>

# %% [markdown]
# The kernel, the identity and the formulas together: your $\delta$ in place of $\sum_j P_{ij}\,dP_{ij}$.

# %% tags=["nbval-check-output"]
preprocess = flashlearn.use("delta_preprocess", delta_preprocess)
q32, k32, v32, do32 = example.tensors(DEVICE)
p32 = torch.softmax(alpha * q32 @ k32.T, dim=-1)

delta_kernel = preprocess((p32 @ v32)[None, None], do32[None, None])  # [1, 1, 4]
dS_kernel = p32 * (do32 @ v32.T - delta_kernel[0, 0, :, None])

print("delta", delta_kernel.cpu().numpy().round(4))
print("dQ is right:", torch.allclose(alpha * dS_kernel.cpu().double() @ K, dQ, atol=1e-6))

# %% [markdown]
# > ### Sources corrected: delta recomputed in the inner loop, as if free
# >
# > **The claim.** Since $\delta_i$ is now a one-liner, a kernel for $dK$ and $dV$ may as well compute it where it
# > is used: load the tile of $O$ beside the tile of $dO$ and sum their product, in every step of the loop.
# >
# > **The experiment.** Count. Such a kernel (you write it in lesson 08) owns a block of $B$ keys and loops over all
# > blocks of $B$ queries, since a key collects from every query. For each block it must load tiles of $Q$ and $dO$,
# > $B \cdot D$ numbers of $b$ bytes each, and the LSE of its queries, from which it recomputes $P$ (four bytes per
# > query); then either one $\delta$ per query, four bytes as well, or a tile of $O$. **Predict** by how much the second
# > choice increases the traffic, at $D = 64$ in fp16, and by how much the arithmetic.

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
# > **The verdict.** It is nearly free in arithmetic, but costs almost half as much traffic again, because $O$ is
# > requested once per block of *keys*, $N/B$ times in all: $\Theta(N^2 D / B)$ bytes to save $N$ numbers. (These are
# > requested bytes; caches serve some of them.) The tile of $O$ also takes space on the chip. Computed once in a small
# > kernel of its own, $\delta$ costs $2ND$ reads. A kernel for $dQ$ owns its queries and may compute it before its loop
# > at the same price, or, as exercise 5 has shown, do without it.

# %% [markdown]
# ## 10 · The proofs, for any size
#
# The checks compare your formulas with the right ones at a few sizes. These cells prove them for every size. They also
# give away the answers to exercises 1 to 4: come here when you have your own.
#
# **The order rule.** The loss is replaced by the sum $\langle dY, Y \rangle = \sum_{id} dY_{id} Y_{id}$ with $dY$ held
# constant, since it has the same derivatives with respect to $Y$. Written with matrices, that sum is a trace,
# $\mathrm{tr}(dY^\top Y)$, and sympy can differentiate it with respect to whole matrices:

# %%
S_q = sp.Symbol("S_q", integer=True, positive=True)
Q_, K_, V_ = sp.MatrixSymbol("Q", S_q, D), sp.MatrixSymbol("K", S_k, D), sp.MatrixSymbol("V", S_k, D)
P_, dO_, dS_ = sp.MatrixSymbol("P", S_q, S_k), sp.MatrixSymbol("dO", S_q, D), sp.MatrixSymbol("dS", S_q, S_k)

through_O = sp.Trace(dO_.T * P_ * V_)  # ⟨dO, P V⟩
assert through_O.diff(P_) == dO_ * V_.T and through_O.diff(V_) == P_.T * dO_

through_S = alpha_ * sp.Trace(dS_.T * Q_ * K_.T)  # ⟨dS, α Q Kᵀ⟩
dQ_, dK_ = through_S.diff(Q_), through_S.diff(K_)
assert dQ_ == alpha_ * dS_ * K_ and dK_ == alpha_ * dS_.T * Q_

# %% [markdown]
# <details><summary><b>If you try this yourself: a trap in sympy</b></summary>
#
# Derivatives with respect to a `MatrixSymbol` are reliable for sums and products of matrices. They are not for a
# softmax: with `x = sp.MatrixSymbol("x", 3, 1)`, differentiating `x.applyfunc(sp.exp)` divided by the sum of its
# entries returns the diagonal part alone. The competition, $-p\,p^\top$, is silently missing. So we go through the
# softmax row by row, with indexed sums, as in lesson 02.
#
# </details>
#
# **The delta identity**, three times: both sides as one double sum, which sympy reorders, for any number of keys and
# any $D$; as associativity, in matrices; and entry by entry at two concrete sizes, with nothing assumed about the
# entries (the rows of $P$ need not even sum to one).

# %%
p, v, do = (sp.IndexedBase(name, real=True) for name in ("P", "V", "dO"))
i, d = sp.symbols("i d", integer=True)

by_rows = sp.Sum(p[i, j] * do[i, d] * v[j, d], (d, 0, D - 1), (j, 0, S_k - 1))  # Σ_j P_ij dP_ij
by_columns = sp.Sum(do[i, d] * p[i, j] * v[j, d], (j, 0, S_k - 1), (d, 0, D - 1))  # Σ_d dO_id O_id
assert by_rows != by_columns
assert by_rows.reorder((d, j)) == by_columns

assert (P_ * (dO_ * V_.T).T).doit() == ((P_ * V_) * dO_.T).doit()

for queries, keys, width in ((2, 3, 2), (3, 4, 2)):
    P_s = sp.Matrix(queries, keys, lambda i, j: sp.Symbol(f"P_{i}{j}"))
    V_s = sp.Matrix(keys, width, lambda j, d: sp.Symbol(f"V_{j}{d}"))
    dO_s = sp.Matrix(queries, width, lambda i, d: sp.Symbol(f"dO_{i}{d}"))
    O_s, dP_s = P_s * V_s, dO_s * V_s.T
    for row in range(queries):
        assert sp.expand(P_s.row(row).dot(dP_s.row(row)) - dO_s.row(row).dot(O_s.row(row))) == 0

# %% [markdown]
# **The loss that uses LSE**, from the loss itself, $\sum_k dP_k\, p_k + d\mathrm{LSE} \cdot \mathrm{LSE}$, for every $S_k$;
# and the **three properties** of section 8.

# %%
dlse_ = sp.Symbol("dLSE", real=True)
delta_ = sp.Sum(dp_[k] * sp.exp(s[k]), (k, 0, S_k - 1)) / Z  # Σ_k p_k dP_k
ds_both = sp.refine(sp.diff(delta_ + dlse_ * sp.log(Z), s[j]).doit(), j_in_row)
assert sp.expand(ds_both - sp.exp(s[j]) / Z * (dp_[j] - (delta_ - dlse_))) == 0

ones_k = sp.OneMatrix(S_k, 1)
assert (dK_.T * ones_k).doit() == (alpha_ * Q_.T * (dS_ * ones_k)).doit()  # 0, since dS · 1 = 0
assert (Q_.T * dQ_).T.doit() == (K_.T * dK_).doit()
assert ((P_.T * dO_).T * ones_k).doit() == (dO_.T * (P_ * ones_k)).doit()  # dOᵀ 1, since P · 1 = 1

# %% [markdown]
# ## 11 · What you have now
#
# | | formula | remember |
# |---|---|---|
# | order rule | $Y = XW$: $dX = dY\,W^\top$, $dW = X^\top dY$ | each keeps its side, the other is transposed |
# | values | $dV = P^\top dO$ | belongs to a key, so it is a sum over queries |
# | probabilities | $dP = dO\, V^\top$ | no $P$ in it |
# | delta | $\delta_i = \sum_j P_{ij} dP_{ij} = \sum_d dO_{id} O_{id}$ | the same table, summed the other way; known before any tile |
# | scores | $dS = P \circ (dP - \delta)$ | rows sum to 0 |
# | with LSE in the loss | $dS = P \circ (dP - (\delta - d\mathrm{LSE}))$ | kernels do not change |
# | queries, keys | $dQ = \alpha\, dS\, K$, $dK = \alpha\, dS^\top Q$ | $\alpha$ once in each, nowhere else |
#
# ### Questions for yourself
#
# Answer before you unfold.
#
# **1.** A kernel multiplies $Q$ by $\alpha$ as soon as it has loaded it, and from then on uses only this scaled $Q$,
# in $S$ as well as in the gradients. Where must $\alpha$ still be multiplied in, and where no longer?
#
# <details><summary>Answer</summary>
#
# $S = Q' K^\top$ with $Q' = \alpha Q$ no longer needs $\alpha$. $dK = dS^\top Q'$ contains it already: multiplying
# again would give $\alpha^2$. $dQ$ is computed from $dS$ and $K$, neither of which contains the factor:
# $dQ = \alpha\, dS\, K$ still needs it. This is an easy way to get "alpha twice in $dK$" or "alpha forgotten in $dQ$".
#
# </details>

# %% [markdown]
# **2.** All values are equal: $V_j = c$ for every key, where $c$ is a row of $D$ numbers. Without computing: what are
# $dS$, $dQ$ and $dK$? Which quantity of this lesson shows it immediately?
#
# <details><summary>Answer</summary>
#
# All zero. If every key holds the same value, it does not matter where a query looks.
# $dP_{ij} = \langle dO_i, c\rangle$ does not depend on $j$, so it equals its mean $\delta_i$, and $dP - \delta = 0$.
# This is a very simple test for a forgotten delta: set all values equal, and look for zeros.
#
# </details>

# %% [markdown]
# **3.** Someone computes $\delta$ from the forward pass's $O$ *before* dropout, residual connection and projection are
# applied, but uses as $dO$ the gradient that arrives at the end of the block. The shapes fit. What is wrong, and which
# of the three properties shows it?
#
# <details><summary>Answer</summary>
#
# The identity needs $O = P\,V$ and the gradient *by that $O$*: the same $dO$ that gives $dP = dO\,V^\top$. If $dP$ is
# computed from the same wrong $dO$, then $\delta$ and $dP$ are still consistent, all properties hold, and only a
# comparison with a reference reveals it. If $dP$ has the right $dO$ and $\delta$ the wrong one, the rows of $dS$ do not
# sum to zero, and the first property breaks.
#
# </details>

# %% [markdown]
# ### Journal
#
# *Two or three sentences in your own words, to be read again in a month. How would you explain the transpose in $dV$
# without the word "transpose"? What would you tell someone who asks why $O$ is saved for the backward pass?
# Double-click here and write.*

# %% [markdown]
# ### What comes next
#
# Every formula here still needs $P$, an $S_q \times S_k$ matrix that one does not want to store. Lesson 04 shows how to
# compute it again from one number per query: $P_{ij} = e^{S_{ij} - \mathrm{LSE}_i}$. With that and with $\delta$, the
# two sums over the keys that a row of the backward pass needs are known before it starts, and any tile of $P$ and $dS$
# can be made from a tile of $Q$, $K$, $V$ and $dO$. Lessons 07 and 08 do just that.
#
# **Sources.** The backward pass of attention in this form, with $D_i = dO_i \cdot O_i$ for our $\delta_i$: T. Dao et
# al., *FlashAttention*, NeurIPS 2022, appendix B.2; computed before the loops, T. Dao, *FlashAttention-2*, arXiv
# 2307.08691, section 3.1 and algorithm 2. The trace as a scalar product and derivatives by matrices: K. Petersen, M.
# Pedersen, *The Matrix Cookbook*, section 2.5; J. Magnus, H. Neudecker, *Matrix Differential Calculus*. Partial
# results over parts of the keys, merged across devices: H. Liu, M. Zaharia, P. Abbeel, *Ring Attention*, arXiv 2310.01889.
# A penalty on the logsumexp: B. Zoph et al., *ST-MoE*, arXiv 2202.08906.
