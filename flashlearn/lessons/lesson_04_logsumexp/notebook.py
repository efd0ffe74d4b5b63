# %% [markdown]
# # Log-sum-exp and recomputation
#
# The backward pass needs the weights $P$ again, and $P$ is the one matrix that FlashAttention never writes to
# memory. It keeps one number per row instead, and rebuilds $P$ from it, tile by tile, whenever a tile is needed.
# This lesson is about that number: how to compute it in one pass over a row of any length, how to combine two of
# them, how to get $P$ back, and what all of it saves, in bytes and in time.
#
# **Afterwards you can**
#
# - compute $\log \sum_j e^{s_j}$ without overflow and in one pass, and prove that the one pass is right;
# - merge two partial results $(m, l, \mathit{acc})$, say why the order does not matter in exact arithmetic, and
#   what it changes in floating point;
# - rebuild a tile of $P$ from a tile of $S$ and one number per row;
# - count the bytes of an attention that stores $P$ and of one that rebuilds it, and say for a given GPU when more
#   arithmetic is the faster choice, and when it is not.
#
# **You need** lesson 02 (softmax, and why the maximum may be subtracted) and, for the counting at the end, the five
# lines of the backward pass from lesson 03.
#
# **It takes** 80 to 90 minutes: two symbolic answers of two and three lines, one function in torch, two kernels of
# eight lines, three questions at the end.

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
from flashlearn.kernels.logsumexp import row_sums_rebuilt, row_sums_stored
from flashlearn.lessons.lesson_04_logsumexp import pictures
from flashlearn.lessons.shared import example
from flashlearn.machine import device

# %% [markdown]
# ## 1 · A harmless number on a dangerous way
#
# The denominator of a softmax is $\sum_j e^{s_j}$. Its logarithm has a name of its own,
#
# $$\mathrm{LSE}(s) = \log \sum_{j=0}^{N-1} e^{s_j},$$
#
# *log-sum-exp*, or logsumexp. It behaves like a soft maximum: it is at least the largest score $m$, since the sum
# contains $e^m$, and at most $m + \log N$, since no term is larger. So it is an ordinary number, as large as the
# scores are.
#
# **Predict:** three scores that differ by 1, at five levels. What does the formula give, taken at its word, in fp32
# and in fp16?


# %% tags=["nbval-check-output"]
def naive_lse(s: Tensor) -> Tensor:
    return s.exp().sum().log()


def rounded(values, digits=4):
    return [round(float(value), digits) for value in values]


for start in (0.0, 10.0, 80.0, 100.0, -200.0):
    s_row = start + torch.tensor([0.0, 1.0, 2.0])
    print(
        f"{s_row.tolist()!s:26} fp32 {naive_lse(s_row):9.4f}   fp16 {naive_lse(s_row.half()):9.4f}"
        f"   true {torch.logsumexp(s_row.double(), dim=0):9.4f}"
    )

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - The answer is never far from the largest score. What overflows is a number on the way there: $e^{100}$ in fp32,
#   $e^{12}$ in fp16 already. Far below zero every exponential is 0, and $\log 0 = -\infty$.
# - A softmax warns with NaN. A logsumexp answers $\infty$ or $-\infty$, which looks like a number to everything that
#   follows.
#
# </details>

# %% [markdown]
# The remedy is lesson 02's: subtract the maximum, this time to add it back at the end.
#
# $$\mathrm{LSE}(s) = m + \log l, \qquad l = \sum_j e^{s_j - m}, \qquad m = \max_j s_j.$$
#
# Now $1 \le l \le N$. Why is it allowed? Because adding a constant to all scores adds it to the LSE. The next cell
# proves both, for **every $N$** and for **any** number $m$: nothing in it knows that $m$ is a maximum.

# %%
N = sp.Symbol("N", integer=True, positive=True)
j = sp.Symbol("j", integer=True)
m, c = sp.symbols("m c", real=True)
s = sp.IndexedBase("s", real=True)  # s[0], …, s[N − 1]


def lse_of(term):
    return sp.log(sp.Sum(sp.exp(term), (j, 0, N - 1)))


assert sp.simplify(lse_of(s[j] + c) - (lse_of(s[j]) + c)) == 0  # LSE(s + c) = LSE(s) + c
assert sp.simplify(m + lse_of(s[j] - m) - lse_of(s[j])) == 0  # m + log l, whatever m is


# %% tags=["nbval-check-output"]
def safe_lse(s: Tensor) -> Tensor:
    m = s.max()
    return m + (s - m).exp().sum().log()


for start in (0.0, 100.0, -200.0):
    s_row = start + torch.tensor([0.0, 1.0, 2.0])
    print(f"{s_row.tolist()!s:26} fp32 {safe_lse(s_row):9.4f}")

# %% [markdown]
# So *any* $m$ gives the right value, and the maximum is the choice that keeps the exponentials in range. Keep the
# two apart: that the value is right is algebra and holds for every $m$; that it can be computed is a matter of the
# number format, and needs the maximum, or something near it.
#
# ## 2 · One number instead of two
#
# Lesson 02 computed $p_j = e^{s_j - m} / l$, with two numbers per row, $m$ and $l$. To have $p$ again later, from
# the scores alone, one could keep both. The LSE is one number, and enough:
#
# $$p_j = e^{s_j - \mathrm{LSE}} .$$
#
# For **every $N$ and every $m$**, one line:

# %%
k = sp.Symbol("k", integer=True)
l = sp.Sum(sp.exp(s[j] - m), (j, 0, N - 1))

assert sp.simplify(sp.exp(s[k] - (m + sp.log(l))) - sp.exp(s[k] - m) / l) == 0

# %% [markdown]
# ### Exercise 1: `lse_identity` · warm-up
#
# You are given a row `s` (a sympy column), a number `m`, and `l`, the sum of $e^{s_j - m}$. Return two things:
#
# - `lse`, from `m` and `l` alone;
# - `p`, the column of probabilities, from `s` and `lse` alone.
#
# `m` need not be the maximum. Useful pieces: `sp.log`, `sp.exp`, and `s.applyfunc(lambda s_j: …)`, which applies a
# function to each entry.


# %% exercise="lse_identity"
def lse_identity(s: sp.Matrix, m: sp.Expr, l: sp.Expr) -> tuple[sp.Expr, sp.Matrix]:
    """(lse, p): the logarithm of Σ exp(s_j) from m and l = Σ exp(s_j − m), and softmax(s) from s and lse."""
    ### BEGIN SOLUTION
    # STUB: raise NotImplementedError("TODO lse_identity: lse from m and l, then p from s and lse")
    lse = m + sp.log(l)
    return lse, s.applyfunc(lambda s_j: sp.exp(s_j - lse))
    ### END SOLUTION


# %%
flashlearn.check("lse_identity", lse_identity)

# %%
# flashlearn.hint("lse_identity")

# %% [markdown]
# The course's small example, to have it in numbers: four queries, three keys, one LSE per query. Row 0 holds
# $S = (1, 2, 3)/\sqrt 2$.

# %% tags=["nbval-check-output"]
Q, K, V, alpha = example.Q, example.K, example.V, example.ALPHA  # (4, 2), (3, 2), (3, 2); fp64
S = alpha * Q @ K.T  # (4, 3)
LSE = torch.logsumexp(S, dim=1)  # (4,)
P = torch.exp(S - LSE[:, None])  # (4, 3)

print("LSE", LSE.numpy().round(4))
print("P\n", P.numpy().round(4))
print("equal to softmax(S):", torch.allclose(P, torch.softmax(S, dim=1)))

# %% [markdown]
# ### How exact must it be?
#
# An *absolute* error $\varepsilon$ in the LSE multiplies the whole row of $P$ by $e^{-\varepsilon}$: it is a
# *relative* error of $P$. **Predict:** the LSE is kept in bf16, with 8 bits, or in fp16, with 11. The scores are near
# 0, near 10 and near 100. What does row 0 of $P$ sum to?

# %% tags=["nbval-check-output"]
for start in (0.0, 10.0, 100.0):
    row = S[0] + start
    sums = []
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        kept = torch.logsumexp(row, dim=0).to(dtype).double()
        sums.append(f"{str(dtype).removeprefix('torch.'):8} {torch.exp(row - kept).sum():.4f}")
    print(f"scores near {start:5g}:  ", "   ".join(sums))

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - Near 100 neighbouring fp16 numbers are 1/16 apart and neighbouring bf16 numbers 1/2. Rounding to the nearest is
#   off by up to half of that, and the row's weights with it: 19 % in this bf16 row.
# - In fp32 the steps near 100 are $8 \cdot 10^{-6}$. This is why every implementation keeps the LSE in fp32, also
#   where all matrices are in half precision. It is one number per row; there is nothing to save.
#
# </details>
#
# ## 3 · One pass
#
# Count how often the safe softmax reads its row: once for the maximum, once for the sum, once to divide. While a
# row fits into one block, as in lesson 02, the second and third time it is in registers. When it does not fit, it
# comes from memory each time:
#
# | for each score | read | written |
# |---|---|---|
# | naive: sum, divide | 2 | 1 |
# | safe: maximum, sum, divide | 3 | 1 |
# | online: maximum and sum together, divide | 2 | 1 |
# | LSE only: maximum and sum together | 1 | 0 |
#
# And in attention it is worse than that. There the row of scores is not even in memory: it is computed, tile after
# tile, and gone when the next tile comes. One pass is all there is.
#
# But how can one sum $e^{s_j - m}$ before $m$ is known? Use the maximum *so far*, and mend the sum whenever it moves.
# Take the row in tiles. Before a tile, $m$ and $l$ are those of the columns seen so far. Then
#
# $$m_{\text{new}} = \max(m,\ \max_{j \in \text{tile}} s_j), \qquad
# l_{\text{new}} = l \cdot e^{\,m - m_{\text{new}}} + \sum_{j \in \text{tile}} e^{s_j - m_{\text{new}}} .$$
#
# The old sum is in units of $e^{m}$; the factor converts it to units of $e^{m_{\text{new}}}$, as one converts a
# length from feet to metres. Nothing has to be read again. The start is $m = -\infty$, $l = 0$: the maximum and the
# sum of nothing.

# %%
pictures.online_scan([0.5, 1.0, -0.5, 2.0, 1.2, 0.1, 0.4, 1.5, -1.0, 2.6, 0.2, 1.0], block=3)

# %% [markdown]
# By hand, with the row $0, \log 2, \log 3$ in tiles of one score. **Predict** $m$ and $l$ after each of the three.

# %% tags=["nbval-check-output"]
m_i, l_i = -sp.oo, sp.Integer(0)
for s_j in (sp.Integer(0), sp.log(2), sp.log(3)):
    m_new = sp.Max(m_i, s_j)
    l_i = l_i * sp.exp(m_i - m_new) + sp.exp(s_j - m_new)
    m_i = m_new
    print("m =", m_i, "  l =", l_i)

assert sp.simplify(sp.exp(m_i) * l_i - (1 + 2 + 3)) == 0

# %% [markdown]
# ### The proof
#
# The claim is an *invariant*: after the first $t$ columns, $l = \sum_{j < t} e^{s_j - m}$. It holds at the start,
# where both sides are 0. If it holds before a tile of $B$ columns, it holds after it: that is the step, and it is
# what the next cell proves, for **every $t$, every $B$, all scores**, and for any two numbers $m$ and
# $m_{\text{new}}$. So it holds at the end, where it says that $l$ is the row's sum.

# %%
t, B = sp.symbols("t B", integer=True, positive=True)
m_new = sp.Symbol("m_new", real=True)


def sum_over(first, last, unit):
    return sp.Sum(sp.exp(s[j] - unit), (j, first, last))


l_before = sum_over(0, t - 1, m)  # the invariant, before the tile
l_after = l_before * sp.exp(m - m_new) + sum_over(t, t + B - 1, m_new)  # the recurrence

assert sp.simplify(l_after - sum_over(0, t + B - 1, m_new)) == 0  # the invariant, after it

# %% [markdown]
# Look at what the proof did not use: that $m$ is a maximum. The recurrence is right with any sequence of numbers, as
# long as each factor $e^{m - m_{\text{new}}}$ says what happened. The maximum is there for the exponentials: with it
# none of them, the factor included, is ever larger than 1.
#
# ## 4 · Parts that merge
#
# A tile has a maximum and a sum of its own. Call $(m_a, l_a)$ and $(m_b, l_b)$ what two disjoint sets of columns
# give, in whatever way each was computed. The set of all their columns has
#
# $$m = \max(m_a, m_b), \qquad l = e^{m_a - m}\, l_a + e^{m_b - m}\, l_b .$$
#
# Attention carries a third quantity along. $O = \sum_j p_j V_j$ is a sum over the same columns with the same
# exponentials, $O = \mathit{acc} / l$ with $\mathit{acc} = \sum_j e^{s_j - m}\, V_j$, and since it is in the same
# unit it takes the same two factors. Division is left for the end. The triple $(m, l, \mathit{acc})$ is a *partial
# result*: everything that one has to remember of a set of keys.
#
# For **every size of the two sets, all scores, all values, and any $m_a$, $m_b$, $m$**:

# %%
m_a, m_b = sp.symbols("m_a m_b", real=True)
v = sp.IndexedBase("v", real=True)  # one column of V: the others are treated alike


def acc_over(first, last, unit):
    return sp.Sum(sp.exp(s[j] - unit) * v[j], (j, first, last))


for quantity in (sum_over, acc_over):
    part_a, part_b = quantity(0, t - 1, m_a), quantity(t, N - 1, m_b)
    together = sp.exp(m_a - m) * part_a + sp.exp(m_b - m) * part_b
    assert sp.simplify(together - quantity(0, N - 1, m)) == 0

# %% [markdown]
# ### Exercise 2: `merge_partials` · core
#
# Write the merge. `m_a`, `l_a`, `m_b`, `l_b` are sympy expressions; `acc_a` and `acc_b` are rows, $1 \times D$. Return
# `m, l, acc`, in units of $e^m$, with $m$ the larger of the two maxima (`sp.Max`).
#
# The check also merges with the *empty part*, $(-\infty, 0, 0)$: the maximum, the sum and the values of no columns
# at all. What should come out?


# %% exercise="merge_partials"
def merge_partials(m_a, l_a, acc_a, m_b, l_b, acc_b):
    """(m, l, acc) of two disjoint sets of columns together; acc is a row [1, D]."""
    ### BEGIN SOLUTION
    # STUB: raise NotImplementedError("TODO merge_partials: the common unit, the two factors, then m, l, acc")
    m = sp.Max(m_a, m_b)
    w_a, w_b = sp.exp(m_a - m), sp.exp(m_b - m)
    return m, w_a * l_a + w_b * l_b, w_a * acc_a + w_b * acc_b
    ### END SOLUTION


# %%
flashlearn.check("merge_partials", merge_partials)

# %%
# flashlearn.hint("merge_partials")

# %% [markdown]
# ### In any order
#
# Three properties make a merge useful. They are asserted for **any** three parts, whatever they hold, with $D = 2$
# standing for any $D$ (the columns of $\mathit{acc}$ never mix):
#
# - it is *associative*: $(a \oplus b) \oplus c = a \oplus (b \oplus c)$;
# - it is *commutative*: $a \oplus b = b \oplus a$;
# - it has an *identity*: $a \oplus (-\infty, 0, 0) = a$.


# %%
def any_part(name):
    return (
        sp.Symbol(f"m_{name}", real=True),
        sp.Symbol(f"l_{name}", positive=True),
        sp.Matrix([sp.symbols(f"acc_{name}_1:3", real=True)]),
    )


def same(one, other):
    return all(sp.expand(x - y) in (sp.S.Zero, sp.zeros(1, 2)) for x, y in zip(one, other, strict=True))


merge = flashlearn.use("merge_partials", merge_partials)
a, b, c = any_part("a"), any_part("b"), any_part("c")
empty = (-sp.oo, sp.S.Zero, sp.zeros(1, 2))

assert same(merge(*merge(*a, *b), *c), merge(*a, *merge(*b, *c)))
assert same(merge(*a, *b), merge(*b, *a))
assert merge(*a, *empty) == a and merge(*empty, *a) == a

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - The scan of section 3 is a chain of merges: start with the identity, merge one tile after another. Since the merge
#   is associative and commutative, any other arrangement gives the same: tiles from right to left, all tiles at once
#   and then a tree, or half of the keys on one GPU and half on another. *Flash-Decoding* splits a long row over many
#   programs and merges at the end; *ring attention* passes keys around a ring of GPUs. Both are this one formula.
# - The identity is what the scan starts with. It is also what a query has that may attend to nothing:
#   $\mathrm{LSE} = -\infty + \log 0 = -\infty$. This course keeps that value for such rows.
#
# </details>

# %% [markdown]
# On the example's row 0: keys 0 and 1 in one part, key 2 in another.


# %% tags=["nbval-check-output"]
def part(s: Tensor, v: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """(m, l, acc) of scores [R, N] and values [N, D]."""
    m = s.amax(dim=1)
    e = torch.exp(s - m[:, None])
    return m, e.sum(dim=1), e @ v


first, second = part(S[:1, :2], V[:2]), part(S[:1, 2:], V[2:])
for name, (m_part, l_part, acc_part) in (("keys 0, 1", first), ("key 2", second)):
    print(f"{name:9}  m {rounded(m_part)}  l {rounded(l_part)}  acc {rounded(acc_part[0])}")

# %% [markdown]
# ### Where it breaks
#
# Now as numbers. **Predict** what the formula, typed into torch as it stands, gives for an ordinary part merged
# with an empty one, and for two empty ones.


# %% tags=["nbval-check-output"]
def merge_as_it_stands(m_a, l_a, m_b, l_b):
    m = torch.maximum(m_a, m_b)
    return m, (m_a - m).exp() * l_a + (m_b - m).exp() * l_b


one, nothing = (torch.tensor(2.0), torch.tensor(3.0)), (torch.tensor(-math.inf), torch.tensor(0.0))
print("part + empty ", rounded(merge_as_it_stands(*one, *nothing)))
print("empty + empty", rounded(merge_as_it_stands(*nothing, *nothing)))

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# With one empty part all is well: $e^{-\infty - 2} = 0$. With two, $m = -\infty$, and $-\infty - (-\infty)$ is NaN.
# It is no rare case: a causal mask leaves whole tiles empty, and a scan that meets such a tile first merges empty
# with empty. One NaN in $l$ stays there for the rest of the row.
#
# The guard follows from section 1: any number may be subtracted, so where $m = -\infty$ subtract 0. Then
# $e^{-\infty - 0} = 0$, and what is stored as the new maximum still is $-\infty$.
#
# </details>
#
# ### Exercise 3: `merge_partials_torch` · stretch
#
# The same merge for whole tensors: `m` and `l` of shape `[..., R]`, `acc` of shape `[..., R, D]`, fp32. Any row of
# either part may be empty, in both at once too; then the result is empty, $(-\infty, 0, 0)$.
#
# Useful pieces: `torch.maximum`, `torch.where`, and `w.unsqueeze(-1)`, which gives `[..., R, 1]`.


# %% exercise="merge_partials_torch"
def merge_partials_torch(
    m_a: Tensor, l_a: Tensor, acc_a: Tensor, m_b: Tensor, l_b: Tensor, acc_b: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """(m, l, acc) of two parts: m, l [..., R] and acc [..., R, D]; (−inf, 0, 0) is an empty row."""
    ### BEGIN SOLUTION
    # STUB: raise NotImplementedError("TODO merge_partials_torch: the merge, and a guard where m is -inf")
    m = torch.maximum(m_a, m_b)
    shift = torch.where(m == -math.inf, 0.0, m)  # both empty: −inf + inf would be NaN
    w_a, w_b = (m_a - shift).exp(), (m_b - shift).exp()
    return m, w_a * l_a + w_b * l_b, w_a.unsqueeze(-1) * acc_a + w_b.unsqueeze(-1) * acc_b
    ### END SOLUTION


# %%
flashlearn.check("merge_partials_torch", merge_partials_torch)

# %%
# flashlearn.hint("merge_partials_torch")

# %% [markdown]
# Back to row 0. Merged and divided, the two parts must give what softmax gives:

# %% tags=["nbval-check-output"]
merge_torch = flashlearn.use("merge_partials_torch", merge_partials_torch)
m_row, l_row, acc_row = merge_torch(*first, *second)

print("LSE ", rounded(m_row + l_row.log()), " as before", rounded(LSE[:1]))
print("O   ", rounded(acc_row[0] / l_row), " P V      ", rounded(P[0] @ V))

# %% [markdown]
# > ### Sources corrected: merging is associative and commutative, so the order of tiles does not matter
# >
# > **The claim**, found wherever online softmax is explained, and just proved: the result does not depend on the
# > order.
# >
# > **The experiment.** Ten thousand rows, three parts each, in fp32. **Predict** how many of the sums $l$ come out
# > bit for bit equal: for $(a \oplus b) \oplus c$ against $a \oplus (b \oplus c)$; for $a \oplus b$ against
# > $b \oplus a$; and for the last two again if the merge uses a *fused multiply-add*, which computes $xy + z$ and
# > rounds once. A GPU's compiler fuses whenever it can. (`fma` below takes a detour through fp64, where the product
# > of two fp32 numbers is exact.)


# %%
def fma(x: Tensor, y: Tensor, z: Tensor) -> Tensor:
    return (x.double() * y.double() + z.double()).float()


def merged_l(one, other, fused=False):
    m = torch.maximum(one[0], other[0])
    w_one, w_other = (one[0] - m).exp(), (other[0] - m).exp()
    rest = w_other * other[1]
    return m, fma(w_one, one[1], rest) if fused else w_one * one[1] + rest


draw = 3 * torch.randn(10_000, 3, 16, generator=torch.Generator().manual_seed(0))
parts = [(x.amax(dim=1), (x - x.amax(dim=1, keepdim=True)).exp().sum(dim=1)) for x in draw.unbind(dim=1)]
x, y, z = parts

pairs = {
    "(a ⊕ b) ⊕ c and a ⊕ (b ⊕ c)": (merged_l(merged_l(x, y), z), merged_l(x, merged_l(y, z))),
    "a ⊕ b and b ⊕ a            ": (merged_l(x, y), merged_l(y, x)),
    "a ⊕ b and b ⊕ a, fused     ": (merged_l(x, y, fused=True), merged_l(y, x, fused=True)),
}
for name, ((_, one_l), (_, other_l)) in pairs.items():
    apart = (one_l != other_l).float().mean()
    gap = ((one_l - other_l).abs() / one_l).max()
    print(f"{name}  different in {100 * apart:4.1f} % of the rows, by {gap:.1e} of l at most")

# %% [markdown]
# > **The verdict.** True of real numbers, and of fp32 up to its last bits. Not associative: about a quarter of the
# > rows differ when the parentheses move. Commutative only as long as both products are rounded alike; fused, one of them
# > is not rounded at all, and which one depends on the order. So two runs that merge in different orders (splits
# > chosen by the load of the machine, atomics) agree to 7 digits and not to the bit. A test that asks for equal bits
# > has to fix the order; one that asks for equal values has to allow a few rounding errors.
#
# ## 5 · The scan as a kernel
#
# Lesson 02's kernel held a row in one block. This one has a block that is shorter than the row: it visits the row
# block by block and carries two numbers.
#
# | mathematics | in the kernel | shape |
# |---|---|---|
# | $m$, maximum so far | `m_i` | one number, starts at $-\infty$ |
# | $l$, sum so far in units of $e^m$ | `l_i` | one number, starts at 0 |
# | $s_j$ of this block | `x` | `[BLOCK]` |
# | $m_{\text{new}}$ | `m_new` | one number |
#
# ### Exercise 4: `online_logsumexp` · core
#
# Write the loop; the launcher is given and sets `BLOCK`, so a row takes several blocks. What the check will ask:
#
# - any number of columns, shorter than a block too; the last block is rarely full;
# - scores around $\pm 100$, rising or falling along the row by more than fp32's exponential can take;
# - $-\infty$ anywhere: in whole blocks, the first ones too, and in whole rows, whose LSE is $-\infty$ and not NaN;
# - `x` may be a view (use both strides) and may be fp16 or bf16; the result is fp32 in any case.
#
# Useful pieces: `for start in range(0, N, BLOCK):`, `tl.maximum` (of two values), `tl.max` (of a block), `tl.log`,
# and `tl.where(condition, x, y)`. The mathematics calls the row $s$; the kernel takes any rows, and calls them `x`.

# %% exercise="online_logsumexp"
# INCLUDE: flashlearn/kernels/logsumexp.py:online_logsumexp_kernel


# INCLUDE: flashlearn/kernels/logsumexp.py:online_logsumexp

# %%
flashlearn.check("online_logsumexp", online_logsumexp)

# %%
# flashlearn.hint("online_logsumexp")

# %% [markdown]
# When it passes, break it: leave out the factor on `l_i`; take the block's maximum for `m_new` and forget `m_i`; drop
# the guard; set `m_i = m_new` one line too early. Two of the four give the same wrong numbers: which, and why?
#
# <details><summary><b>What to notice</b></summary>
#
# - With `m_i = m_new` first, the factor is $e^{m_i - m_{\text{new}}} = e^0$: no factor at all. The order of the lines
#   is part of the formula.
# - The block's own maximum is *right* in exact arithmetic (any number will do, section 3), and passes the plain cases.
#   It fails where the scores fall by more than 88 along the row, so that $l$ overflows, and where a block of $-\infty$
#   comes last.
# - In the card's traffic, each score is requested once. The mask costs nothing, and neither does the guard: they are
#   arithmetic on registers.
# - All programs of this kernel carry scalars. In attention a program carries a *block* of queries: `m_i` and `l_i` are
#   then vectors, `tl.max` gets an `axis=1`, and `acc` joins them: lesson 06.
#
# </details>
#
# ## 6 · P again, tile by tile
#
# $$P_{ij} = e^{S_{ij} - \mathrm{LSE}_i}$$
#
# Compare this with a softmax. There is no maximum and no sum: every element follows from its own score and one
# number of its row. A program that has *a tile* of $S$ can finish that tile of $P$ without having seen the rest of
# the row, in any order, in any program. In a backward pass it will be tiles of columns, where no program ever sees a
# row.
#
# ### Exercise 5: `recompute_probabilities` · core
#
# Write the kernel; the launcher is given. Its grid has two dimensions, and program $(a, b)$ owns the tile of rows
# from $a \cdot$ `BLOCK_M` and columns from $b \cdot$ `BLOCK_N`.
#
# - Both dimensions are ragged: the tile needs a mask for its rows and one for its columns.
# - `lse` is fp32, with a stride of its own. Subtract in fp32, whatever the dtype of `s`.
# - Where a row holds nothing but $-\infty$, `lse` is $-\infty$ and `p` is 0. A single $-\infty$ gets `p` = 0 too.

# %% exercise="recompute_probabilities"
# INCLUDE: flashlearn/kernels/logsumexp.py:recompute_probabilities_kernel


# INCLUDE: flashlearn/kernels/logsumexp.py:recompute_probabilities

# %%
flashlearn.check("recompute_probabilities", recompute_probabilities)

# %%
# flashlearn.hint("recompute_probabilities")

# %% [markdown]
# Both kernels in a row: the example's $S$, to which we add a query that may attend to nothing.

# %%
lse_kernel = flashlearn.use("online_logsumexp", online_logsumexp)
p_kernel = flashlearn.use("recompute_probabilities", recompute_probabilities)

S_masked = torch.cat([S.float(), torch.full((1, 3), -math.inf)]).to(DEVICE)  # (5, 3)
lse = lse_kernel(S_masked)
print("lse", lse.cpu().numpy().round(4))
print("p\n", p_kernel(S_masked, lse).cpu().numpy().round(4))

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - No largest exponent has to be found any more: $S_{ij} \le \mathrm{LSE}_i$ for every $j$, so the exponential is at
#   most 1. The LSE carries the safety of the maximum with it.
# - FlashAttention's own kernels store $+\infty$ as the LSE of an empty row. Then $e^{-\infty - \infty} = 0$ comes out
#   right without a guard. The price is that $+\infty$ is a convention, not the logsumexp of nothing, and that it
#   spoils a merge: an empty part would outweigh all others.
# - Where the padding of a tile is concerned, this kernel may be careless: what it computes there is never stored. The
#   backward kernels will *sum* over tiles of $P$, and then a padded row's $e^{s - \mathrm{lse}}$ matters. Lesson 08.
#
# </details>
#
# ## 7 · What it costs to store P
#
# First the memory. $P$ has one number for each pair of a query and a key; the LSE has one per query.
# **Predict** the two sizes for 16 heads, batch 4, and 8192 queries and keys, $P$ in fp16 and the LSE in fp32.

# %% tags=["nbval-check-output"]
batch, heads, queries, keys = 4, 16, 8192, 8192
print(f"P    {batch * heads * queries * keys * 2 / 2**30:8.3f} GiB per layer")
print(f"LSE  {batch * heads * queries * 4 / 2**30:8.3f} GiB per layer")

# %% [markdown]
# Such a $P$ has $2^{32}$ elements, more than a 32-bit integer can count: $B H S^2$ passes $2^{31}$ at sizes that people
# use, and from there on a kernel that stores $P$ has to compute its offsets in 64 bits. (Lesson 06 shows what becomes
# of the others.)
#
# ### Counting the traffic
#
# Now the bytes that move in one head's forward and backward pass, as formulas. We count *requested* bytes: each time a
# program asks for a tile, its bytes count, also if a cache has them. $b$ is the number of bytes per element, a tile
# has $B_q$ queries and $B_k$ keys, and there are $(S_q / B_q)(S_k / B_k)$ of them.
#
# **Store P.** Each line of lessons 02 and 03 is a kernel of its own, and $S$, $P$, $dP$, $dS$ are matrices in memory.
# Three kinds of products occur: one whose *result* is $S_q \times S_k$ (a program owns a tile, and loads a block of
# both operands), and two that *read* such a matrix (a program owns a block of rows of the result, or of columns, and
# scans). The two softmax kernels read and write whole matrices.

# %%
S_q, S_k, D, B_q, B_k, b = sp.symbols("S_q S_k D B_q B_k b", positive=True)

tiles = (S_q / B_q) * (S_k / B_k)
Q_tile, K_tile, P_tile = B_q * D, B_k * D, B_q * B_k  # elements; dO has the shape of Q, and V that of K
Q_all, K_all, P_all = S_q * D, S_k * D, S_q * S_k

gives_a_matrix = tiles * (Q_tile + K_tile + P_tile)
reads_it_by_rows = tiles * (P_tile + K_tile) + Q_all
reads_it_by_columns = tiles * (P_tile + Q_tile) + K_all

store = {
    "S = α Q Kᵀ": b * gives_a_matrix,
    "P = softmax(S)": b * 2 * P_all,
    "O = P V": b * reads_it_by_rows,
    "dV = Pᵀ dO": b * reads_it_by_columns,
    "dP = dO Vᵀ": b * gives_a_matrix,
    "dS = P ∘ (dP − δ)": b * 3 * P_all,
    "dQ = α dS K": b * reads_it_by_rows,
    "dK = α dSᵀ Q": b * reads_it_by_columns,
}

# %% [markdown]
# **Rebuild P.** Four kernels, which lessons 03 and 06 to 08 write. The forward kernel owns a block of queries and
# scans the keys and values; so does the dQ kernel; the dK/dV kernel owns a block of keys and scans $Q$, $dO$ and the two
# numbers per query, LSE and $\delta$, at four bytes each. No $S_q \times S_k$ matrix appears.

# %%
rebuild = {
    "O and LSE": b * (2 * Q_all + tiles * 2 * K_tile) + 4 * S_q,
    "δ": b * 2 * Q_all + 4 * S_q,
    "dQ": b * (3 * Q_all + tiles * 2 * K_tile) + 8 * S_q,
    "dK and dV": b * (4 * K_all + tiles * 2 * Q_tile) + tiles * 8 * B_q,
}

n, B = sp.symbols("N B", positive=True)
square = {S_q: n, S_k: n, B_q: B, B_k: B}
stored_bytes, rebuilt_bytes = (sp.expand(sum(design.values())) for design in (store, rebuild))

assert sp.expand(stored_bytes.subs(square) - b * (11 * n**2 + 8 * n**2 * D / B + 4 * n * D)) == 0
rebuilt_total = b * (6 * n**2 * D / B + 11 * n * D) + 8 * n**2 / B + 16 * n
assert sp.expand(rebuilt_bytes.subs(square) - rebuilt_total) == 0

# %% tags=["nbval-check-output"]
for design in (store, rebuild):
    for name, bytes_ in design.items():
        print(f"{name:18} {sp.expand(bytes_.subs(square))}")
    print()

# %% [markdown]
# With $S_q = S_k = N$ and square tiles $B_q = B_k = B$, and the small terms left out:
#
# | | requested | unique |
# |---|---|---|
# | store $P$ | $b\,(11 N^2 + 8 N^2 D / B)$ | $b\,(11 N^2 + 12 N D)$ |
# | rebuild $P$ | $b \cdot 6 N^2 D / B \;+\; 8 N^2 / B$ | $b \cdot 17 N D \;+\; 24 N$ |
#
# *Unique* bytes count once per kernel: what remains if a cache never forgets. There is no need to count again: a cache
# that never forgets is a tile as large as the matrix.

# %%
one_tile = {B_q: S_q, B_k: S_k}
assert sp.expand(stored_bytes.subs(one_tile).subs(square) - b * (11 * n**2 + 12 * n * D)) == 0
assert sp.expand(rebuilt_bytes.subs(one_tile).subs(square) - (17 * b * n * D + 24 * n)) == 0

# %% tags=["nbval-check-output"]
print("per head, N = 4096, D = 64, fp16, in MiB")
print(f"{'tile':>6}{'store P':>20}{'rebuild P':>20}")
for tile in (16, 64, 128, 4096):
    at = {n: 4096, D: 64, b: 2, B: tile}
    values = [float(x.subs(square).subs(at)) / 2**20 for x in (stored_bytes, rebuilt_bytes)]
    print(f"{tile:6}" + "".join(f"{value:20.1f}" for value in values))

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - Eleven times a matrix of $N^2$ is read or written when $P$ is stored, and a cache is of little help: at $N = 4096$
#   one such matrix is 32 MiB, for one head of many. That is the term that FlashAttention removes.
# - What is left, $6 N^2 D / B$, is quadratic in $N$ as well. With $D = B$ it is a third of what storing requests, and
#   it is of another kind: the same rows of $K$ and $V$ over and over. $K$ and $V$ of a head are $2 N D\,b$ bytes, 1 MiB
#   here, and stay in the L2 cache, so that most of these requests never reach memory.
# - Larger tiles request less. How large a tile can be, is decided by the memory on the chip (lesson 05).
#
# </details>

# %%
requested = {
    "store P": sp.lambdify((n, D), stored_bytes.subs(square).subs({b: 2, B: 64})),
    "rebuild P": sp.lambdify((n, D), rebuilt_bytes.subs(square).subs({b: 2, B: 64})),
}
unique = {
    "store P": sp.lambdify((n, D), stored_bytes.subs(one_tile).subs(square).subs(b, 2)),
    "rebuild P": sp.lambdify((n, D), rebuilt_bytes.subs(one_tile).subs(square).subs(b, 2)),
}
pictures.traffic(requested, unique, N=4096, D=64)

# %% [markdown]
# > ### Sources corrected: with recomputation the traffic is O(N)
# >
# > **The claim**, in notes on the backward pass: storing $P$ costs $O(N^2)$ bytes, and recomputing it from the LSE
# > costs $O(N)$, since only the LSE is kept and read.
# >
# > **The experiment.** A kernel that rebuilds $P$ from $Q$, $K$ and the LSE, and does nothing with it but sum its rows
# > (which must give 1). It runs here under the observer, which counts every byte that it asks for.
# > **Predict:** by how much does the traffic grow when $N$ doubles? And when the block doubles?


# %% tags=["nbval-check-output"]
def count_bytes(N, D=16, block=16):
    """Requested and unique bytes of row_sums_rebuilt, one head, fp32."""
    generator = torch.Generator().manual_seed(0)
    q, k = (torch.randn(1, N, D, generator=generator) for _ in range(2))
    lse = torch.logsumexp(q @ k.mT / math.sqrt(D), dim=-1)
    with flashlearn.observing() as (session, _):
        sums = row_sums_rebuilt(q, k, lse, 1 / math.sqrt(D), block)
    assert torch.allclose(sums, torch.ones_like(sums), atol=1e-5)
    observation = session.observation()
    return observation.bytes_requested, observation.bytes_unique


one_scan = b * (Q_all + tiles * K_tile) + 4 * S_q + 4 * S_q  # Q once, K per block of queries, LSE, the sums
for size, block in ((64, 16), (128, 16), (256, 16), (256, 32)):
    seen, once = count_bytes(size, block=block)
    assert seen == one_scan.subs(square).subs({n: size, B: block, D: 16, b: 4})
    print(f"N {size:3}, block {block}:  requested {seen:6}   unique {once:5}   LSE alone {4 * size:4}")

# %% [markdown]
# > **The verdict.** Three different things are $O(N)$, $\Theta(N D)$ and $\Theta(N^2 D / B)$:
# >
# > - what is *kept* from the forward to the backward pass in place of $P$: $N$ numbers. Here the claim is right.
# > - what memory must move at least: every row of $Q$, $K$, $V$, $dO$ once, $\Theta(N D)$.
# > - what the programs *request*: $\Theta(N^2 D / B)$, since every block of queries has to see all keys. It
# >   quadruples when $N$ doubles and halves when the block doubles (the counts above do so nearly: they have smaller
# >   terms as well), and the formula meets the observer's count to the byte.
# >
# > What comes out of memory is between the last two, and L2 decides. With $M$ elements of memory on the chip the
# > largest block is about $B = M / 4D$, and the last line becomes the $\Theta(N^2 D^2 / M)$ of the FlashAttention
# > paper: subquadratic it is not.
# >
# > The claim has a second right half. The dQ kernel scans $K$ and the dK/dV kernel scans $Q$ in any case, for their
# > products with $dS$. To have $S$ as well they need their own block of the other one, once, and the LSE. *That* is all
# > that rebuilding adds to their traffic.
#
# ## 8 · When more arithmetic is faster
#
# Rebuilding trades bytes for arithmetic. Per element of $P$:
#
# - **read it:** $b$ bytes. With a bandwidth of $W$ bytes per second that takes $b / W$.
# - **rebuild it:** $D$ multiply-adds, $2D$ operations, at $F$ operations per second, and *one exponential*, at $E$ per
#   second. Exponentials do not run on tensor cores: a multiprocessor of each GPU below finishes 16 per clock, on units
#   of their own.
#
# Set the two equal and solve for $D$. Two numbers describe the machine: its *balance* $I = F / W$, the operations
# that it computes while it moves one byte, and $\varepsilon = F / E$, the operations that one exponential is worth.

# %% tags=["nbval-check-output"]
W, F, E, I, epsilon = sp.symbols("W F E I epsilon", positive=True)

read, rebuild_time = b / W, 2 * D / F + 1 / E
(break_even,) = sp.solve(sp.Eq(read, rebuild_time), D)
break_even = sp.expand(break_even.subs({W: F / I, E: F / epsilon}))
break_even

# %% [markdown]
# Below this $D$ rebuilding is faster. **Predict:** tensor cores have made products cheap and left exponentials as
# they were. Up to which $D$ does the one exponential take longer than the product that it belongs to?

# %% tags=["nbval-check-output"]
tensor_operations = {"A100": 2048, "H100": 4096, "RTX 4090": 512}  # fp16, per clock and multiprocessor
machines = {}  # bytes/s, operations/s, exponentials/s
for name, gpu in device.GPUS.items():
    machines[name] = (gpu.bandwidth, gpu.half, gpu.half * 16 / tensor_operations[name])
machines["H200"] = (4.8e12, *machines["H100"][1:])  # an H100 with faster memory

print(
    f"{'fp16':10}{'balance':>9}{'1 exp':>7}{'product = exp':>15}{'one reading':>13}{'write, 2 readings':>19}"
)
for name, (bandwidth, products, exponentials) in machines.items():
    at = {I: products / bandwidth, epsilon: products / exponentials}
    equal = at[epsilon] / 2
    once, thrice = (break_even.subs(at).subs(b, count) for count in (2, 3))  # 3 = (2 + 2 · 2) / 2
    columns = "".join(f"{f'D = {x:.0f}':>{w}}" for x, w in ((equal, 15), (once, 13), (thrice, 19)))
    print(f"{name:10}{at[I]:9.0f}{at[epsilon]:7.0f}{columns}")

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - Leave the exponential out, and one reading breaks even on an H100 at $D = 295$ instead of 167. One exponential is worth
#   256 operations: for $D \le 128$ it takes at least as long as the product that it belongs to. FlashAttention-3 is
#   built around this fact, and overlaps the two (lesson 13).
# - An H200 computes like an H100 and reads 1.4 times as fast, so reading is the better choice sooner. Rebuilding is no
#   law of nature. It is an answer to a ratio, and the ratio changes from one machine to the next.
# - The break-even of *one reading* is not the whole story. An attention that stores $P$ writes it once and reads it
#   twice (for dQ, and for dK and dV); one that rebuilds does so twice. Per rebuilding that is $\frac32 b$ bytes instead
#   of $b$: the last column, and beyond the usual head dimensions of 64 and 128.
#
# </details>

# %% [markdown]
# These are peak figures, and an estimate. Here is a measurement beside it: two kernels that give the same row sums,
# one reads $P$, the other rebuilds it. On a machine with a CUDA GPU the cell measures; otherwise it takes what was
# measured on one NVIDIA H200 (torch 2.11, triton 3.6, 16 heads, $S_q = S_k = 4096$, fp16, best of a few block sizes).

# %%
SAVED = ("NVIDIA H200", 0.565, {16: 0.372, 32: 0.414, 64: 0.464, 128: 0.636, 256: 1.534})  # ps per element


def measure(heads=16, N=4096):
    """Picoseconds per element of P: read, and rebuilt for several D."""
    from triton.testing import do_bench

    def picoseconds(run):
        milliseconds = min(
            do_bench(lambda block=block: run(block), return_mode="median") for block in (32, 64)
        )
        return 1e9 * milliseconds / (heads * N * N)

    p = torch.rand(heads, N, N, device=DEVICE, dtype=torch.float16)
    rebuilt = {}
    for width in (16, 32, 64, 128, 256):
        q, k = (torch.randn(heads, N, width, device=DEVICE, dtype=torch.float16) for _ in range(2))
        lse = torch.full((heads, N), 20.0, device=DEVICE)  # the time does not depend on its value
        rebuilt[width] = picoseconds(lambda block, q=q, k=k, lse=lse: row_sums_rebuilt(q, k, lse, 0.1, block))
    return torch.cuda.get_device_name(), picoseconds(lambda block: row_sums_stored(p, block)), rebuilt


where, read_time, rebuilt_times = measure() if DEVICE == "cuda" else SAVED
print(f"{where}: {read_time:.3f} ps to read an element of P")
for width, rebuilt_time in rebuilt_times.items():
    print(f"  rebuilt, D = {width:3}: {rebuilt_time:.3f} ps")

# %%
known = next((name for name in machines if name in where), None)
pictures.break_even(machines, size=2, measured={known: (read_time, rebuilt_times)} if known else None)

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - On the H200, rebuilding is faster up to a $D$ of about 100, where the estimate said 78. Reading reached 3.5 of the
#   4.8 TB/s, so it is slower than the peak says, too.
# - From $D = 16$ to $D = 64$ the product grows fourfold and the time by a quarter: at small $D$ the exponential is most
#   of it.
# - At $D = 256$ this simple kernel falls behind its own line: a block of queries no longer fits comfortably into
#   registers. Arithmetic has to be *fed* to be cheap, and lesson 05 shows how.
#
# </details>

# %% [markdown]
# And when it is *not* faster: in fp32, without tensor cores, $F$ is some fifteen times smaller on an A100 or H100.
# **Predict** the break-even from the formula, then look.

# %% tags=["nbval-check-output"]
for name, (bandwidth, _, exponentials) in machines.items():
    fp32 = device.GPUS["H100" if name == "H200" else name].fp32
    even = break_even.subs({I: fp32 / bandwidth, epsilon: fp32 / exponentials, b: 4})
    print(f"{name:10} fp32   balance {fp32 / bandwidth:5.1f}   break-even D = {even:.0f}")

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - On the data-centre GPUs almost any head is beyond it: with $D = 64$ in fp32, reading $P$ is the faster way. Measured
#   on the H200 (4 heads, $4096 \times 4096$): read 1.1 ps per element; rebuilt 2.8 ps at $D = 16$, 13 ps at $D = 64$.
#   The RTX 4090 has more fp32 arithmetic than either of them and far less bandwidth: there it still pays.
# - That does not mean that one stores $P$ in fp32. Time is one budget, and memory is the other: the $P$ of section 7
#   is 16 GiB in fp32, for each layer, whatever it costs to read.
#
# </details>
#
# ## 9 · What you have now
#
# | | formula | remember |
# |---|---|---|
# | LSE | $m + \log \sum_j e^{s_j - m}$ | right for any $m$; safe for the maximum |
# | $P$ from it | $P_{ij} = e^{S_{ij} - \mathrm{LSE}_i}$ | one number per row, in fp32; no reduction |
# | the scan | $l \leftarrow l\, e^{m - m_{\text{new}}} + \sum_{\text{tile}} e^{s_j - m_{\text{new}}}$ | change of unit |
# | the merge | $(m, l, \mathit{acc})$, identity $(-\infty, 0, 0)$ | any order; guard $-\infty + \infty$ |
# | store $P$ | $11\,b N^2$ and more | eleven passes over a matrix |
# | rebuild $P$ | $6\,b N^2 D / B$ requested, $\Theta(ND)$ unique | kept: $N$ numbers |
# | break-even | $D = (b I - \varepsilon)/2$ | bytes, products *and* exponentials |
#
# ### Questions to yourself
#
# Answer before you unfold.
#
# **1.** What is the LSE of $N$ equal scores $s$? Of one score? Of none? And what does the first answer say about the
# largest error that one makes by taking the maximum for the LSE?
#
# <details><summary>Answer</summary>
#
# $s + \log N$; $s$; $-\infty$. The LSE lies between $m$ and $m + \log N$, and equal scores are the extreme case: the
# error is at most $\log N$, which is 9 for 8192 keys. As an error in $P$ that is a factor of 8192.
#
# </details>

# %% [markdown]
# **2.** Two GPUs have attended to one half of the keys each. They did not keep $(m, l, \mathit{acc})$; each has its
# finished $O$ and its LSE. Can the results still be merged?
#
# <details><summary>Answer</summary>
#
# Yes. $(\mathrm{LSE}, 1, O)$ is the same partial result as $(m, l, \mathit{acc})$, in another unit: divide $l$ and
# $\mathit{acc}$ by $l$, and make up for it in the exponent, $e^m\, l = e^{\mathrm{LSE}} \cdot 1$. So merge
# $(\mathrm{LSE}_a, 1, O_a)$ and $(\mathrm{LSE}_b, 1, O_b)$, and divide by the new $l$. This is how Flash-Decoding
# merges its splits.
#
# </details>

# %% [markdown]
# **3.** A kernel keeps the LSE in powers of two, $m \log_2 e + \log_2 l$, for a forward pass that computes with `exp2`.
# The backward kernel subtracts it from $S$ and uses `exp`. What does a row of its $P$ sum to, for equal scores of 0
# and $N = 1024$? Which test would not notice?
#
# <details><summary>Answer</summary>
#
# The kept value is 10, where the natural one is $\log 1024 = 6.93$. Each weight is $e^{-10}$, and the row sums to
# $1024\, e^{-10} = 0.046$. For scores other than 0 the maximum is scaled as well, and anything may happen. A test with
# one key and score 0 does not notice: $\log_2 1 = \log 1$. You will meet this patient in the clinic, lesson 10.
#
# </details>

# %% [markdown]
# ### Journal
#
# *Two or three sentences in your own words, for yourself in a month. What does the factor $e^{m - m_{new}}$ do? Which
# of the costs of this lesson had you not thought of as a cost? Double-click here and write.*

# %% [markdown]
# ### What comes next
#
# Lesson 05 opens the machine: where a tile lives while a program works on it, what a byte costs at each level, and the
# roofline that this lesson's balance $F / W$ comes from. Lesson 06 puts the scan between two matrix products, with
# `acc` in it, and calls it FlashAttention's forward pass; 07 and 08 rebuild $P$ with one exponential per element, as
# you did in exercise 5.
#
# **Sources.** The online recurrence: M. Milakov, N. Gimelshein, *Online normalizer calculation for softmax*, arXiv
# 1805.02867, sections 3 and 3.1 (the merge, and that it is associative and commutative). With `acc`, in attention: M.
# Rabe, C. Staats, *Self-attention does not need O(n²) memory*, arXiv 2112.05682; T. Dao et al., *FlashAttention*, NeurIPS
# 2022, Algorithm 1, Theorem 2 for $\Theta(N^2 d^2 / M)$, appendix B for recomputation from $m$ and $l$. One number,
# $L = m + \log l$: T. Dao, *FlashAttention-2*, arXiv 2307.08691, section 3.1. Splits merged by LSE: T. Dao, D. Haziza,
# F. Massa, G. Sizov, *Flash-Decoding for long-context inference*, 2023; H. Liu, M. Zaharia, P. Abbeel, *Ring attention*,
# arXiv 2310.01889. Exponentials against products: J. Shah et al., *FlashAttention-3*, arXiv 2407.08608, section 3.
# Rounding errors of logsumexp: P. Blanchard, D. Higham, N. Higham, IMA Journal of Numerical Analysis 41, 2021. Sixteen
# special-function results per clock and multiprocessor: NVIDIA, *CUDA C++ Programming Guide*, table of throughput of
# arithmetic instructions. The H200's bandwidth: NVIDIA, *H200 Tensor Core GPU* data sheet.
