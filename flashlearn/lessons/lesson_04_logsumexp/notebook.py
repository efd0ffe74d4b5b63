# %% [markdown]
# # Logsumexp and recomputation
#
# The backward pass needs the weights $P$ again, but FlashAttention never writes $P$ to memory. It keeps one number per
# row instead, and rebuilds $P$ from it, tile by tile, whenever a tile is needed. This lesson is about that number: how
# to compute it in one pass over a row of any length, how to combine two of them, and how to get $P$ back. How much this
# saves, in bytes and in time, is the subject of lesson 05, after you have met the machine.
#
# **Afterwards you can**
#
# - compute the logarithm of a sum of exponentials without overflow and in one pass, and prove that the one-pass method
#   is right;
# - merge two partial results, say why the order does not matter in exact arithmetic, and what it changes in floating
#   point;
# - write a kernel that reads a row of any length once, block by block;
# - rebuild a tile of $P$ from a tile of $S$ and one number per row.
#
# **You need** lesson 02 (softmax, and why the maximum may be subtracted); lesson 00 for the kernels.
#
# **It takes** about two hours: two symbolic answers of two and three lines, one function in torch, two kernels of
# eight lines, three questions at the start and three at the end. Section 4 is a good place for a break.

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
from flashlearn.lessons.lesson_04_logsumexp import pictures
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
answers = {1: "a", 2: "c", 3: "b"}
### END SOLUTION
flashlearn.recall("04", answers)

# %% [markdown]
# ## 1 · A harmless number, dangerous to compute
#
# The denominator of a softmax is $\sum_j e^{s_j}$. Its logarithm has a name of its own,
#
# $$\mathrm{LSE}(s) = \log \sum_{j=0}^{N-1} e^{s_j},$$
#
# *logsumexp*, or LSE for short. It behaves like a soft maximum: it is at least the largest score $m$, since the sum
# contains $e^m$, and at most $m + \log N$, since no term is larger. So it is an ordinary number, of about the size of
# the largest score.
#
# Here is the formula as a kernel, exactly as written: one program per row. **Predict:** three scores that differ by 1,
# at five different levels. What does the kernel give in fp32? And what would torch give in plain fp16?


# %%
@triton.jit
def naive_lse_kernel(x_ptr, lse_ptr, N, BLOCK: tl.constexpr):
    i, j = tl.program_id(0), tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i * N + j, mask=j < N, other=-float("inf"))  # exp(-inf) adds nothing
    tl.store(lse_ptr + i, tl.log(tl.sum(tl.exp(x), axis=0)))


rows = torch.tensor([[0.0], [10.0], [80.0], [100.0], [-200.0]]) + torch.tensor([0.0, 1.0, 2.0])  # (5, 3)
naive = torch.empty(5, device=DEVICE)
naive_lse_kernel[(5,)](rows.to(DEVICE), naive, 3, BLOCK=4)

halves, truth = rows.half().exp().sum(dim=1).log(), torch.logsumexp(rows.double(), dim=1)
for row, got, half, true in zip(rows.tolist(), naive.tolist(), halves.tolist(), truth.tolist(), strict=True):
    print(f"{row!s:26} kernel, fp32 {got:9.4f}   fp16 {half:9.4f}   true {true:9.4f}")

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - The answer is never far from the largest score. What overflows is an intermediate result: $e^{100}$ in fp32, and
#   $e^{12}$ already in fp16. Far below zero every exponential is 0, and $\log 0 = -\infty$.
# - In a softmax, the result is NaN, which at least is noticed. A logsumexp becomes $\infty$ or $-\infty$, which a test
#   for NaN does not find.
#
# </details>

# %% [markdown]
# The remedy is that of lesson 02: before taking the exponentials, subtract a number $m$ from every score, for example
# the maximum. Then each term is at most 1, the largest is 1, and the sum
#
# $$l = \sum_j e^{s_j - m}, \qquad 1 \le l \le N \quad\text{if } m = \max_j s_j,$$
#
# is harmless. But it is a different sum. How do you get the LSE of the original scores?
#
# ### Exercise: `lse_identity` · warm-up
#
# You are given a row `s` (a sympy column), a number `m`, and `l`, the sum of $e^{s_j - m}$. Return two things:
#
# - `lse`, from `m` and `l` alone;
# - `p`, the column of probabilities, from `s` and `lse` alone. (Lesson 02 needed two numbers per row for that.)
#
# `m` need not be the maximum. Useful pieces: `sp.log`, `sp.exp`, and `s.applyfunc(lambda s_j: …)`, which applies a
# function to each entry.


# %% exercise="lse_identity"
# HINT: $l$ was summed after $m$ had been subtracted from every score, so every term of it lacks the
#     factor $e^{m}$. What is $\sum_j e^{s_j}$ in terms of $m$ and $l$, and what is its logarithm?
# HINT: $\sum_j e^{s_j} = e^{m}\, l$, so `lse` is a sum of two terms. And $p_j = e^{s_j} / e^{\mathrm{LSE}}$
#     is a single exponential: `s.applyfunc(lambda s_j: …)` applies it to each entry of the column.
# HINT: `return lse, s.applyfunc(lambda s_j: sp.exp(s_j - lse))`. One line is left for you: `lse`, the
#     logarithm of a product of two factors.
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
# Your answer (or the course's, if yours has not passed) on the five rows, first with the maximum for $m$, then with
# $m = \max - 30$: **predict** which results change.

# %% tags=["nbval-check-output"]
identity = flashlearn.use("lse_identity", lse_identity)

for row in rows.double():
    found = []
    for m_row in (row.max(), row.max() - 30):
        lse_row, p_row = in_numbers(identity, row[:, None], m_row, (row - m_row).exp().sum())
        found.append(f"LSE {float(lse_row):9.4f}, p sums to {float(p_row.sum()):.4f}")
    print(f"{row.tolist()!s:26} {found[0]}   {found[1]}")

# %% [markdown]
# <details><summary><b>What you have found</b> (when exercise 1 has passed)</summary>
#
# $$\mathrm{LSE}(s) = m + \log l, \qquad p_j = e^{s_j - \mathrm{LSE}} .$$
#
# *Any* $m$ gives the right value, and the maximum is the choice that keeps the exponentials in range. Distinguish the
# two: that the value is right is algebra and holds for every $m$; that it can be computed is a matter of the number
# format, and needs the maximum, or something near it. Section 3 proves the algebra, for every $N$ and every $m$.
#
# </details>
#
# ## 2 · One number instead of two
#
# Lesson 02 computed the probabilities with two numbers per row, $m$ and $l$. To compute them again later from the
# scores, one could keep both. But the LSE alone is enough. Here is the course's small example, with its four queries
# and three keys: one LSE per query. Row 0 is $S_0 = (1, 2, 3)/\sqrt 2$.

# %% tags=["nbval-check-output"]
Q, K, V, alpha = example.Q, example.K, example.V, example.ALPHA  # (4, 2), (3, 2), (3, 2); fp64
S = alpha * Q @ K.T  # (4, 3)

by_row = [in_numbers(identity, row[:, None], row.max(), (row - row.max()).exp().sum()) for row in S]
LSE = torch.stack([lse_row for lse_row, _ in by_row])  # (4,)
P = torch.stack([p_row.flatten() for _, p_row in by_row])  # (4, 3)

print("LSE", LSE.numpy().round(4))
print("P\n", P.numpy().round(4))
print("equal to softmax(S):", torch.allclose(P, torch.softmax(S, dim=1)))

# %% [markdown]
# ### How accurate must it be?
#
# An *absolute* error $\varepsilon$ in the LSE multiplies the whole row of $P$ by $e^{-\varepsilon}$: it becomes a
# *relative* error of $P$, and the row no longer sums to 1. **Predict:** the LSE is kept in bf16, with 8 bits, or in
# fp16, with 11. The scores are near 0, near 10 and near 100. What does row 0 of $P$ sum to?

# %% tags=["nbval-check-output"]
for start in (0.0, 10.0, 100.0):
    row = S[0] + start
    sums = []
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        exact = torch.logsumexp(row, dim=0)
        error = exact.to(dtype).double() - exact
        sums.append(f"{str(dtype).removeprefix('torch.'):8} {torch.exp(-error):.4f}")
    print(f"scores near {start:5g}:  ", "   ".join(sums))

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - Near 100, neighbouring fp16 numbers are 1/16 apart and neighbouring bf16 numbers 1/2. Rounding to the nearest is off
#   by up to half of that, and changes the row's weights accordingly: by 19 % in this bf16 row.
# - In fp32 the steps near 100 are $8 \cdot 10^{-6}$. This is a good reason to keep the LSE in fp32, as FlashAttention
#   does even where all matrices are in half precision. It is only one number per row, so a smaller format would save
#   next to nothing.
#
# </details>
#
# ## 3 · One pass
#
# Count how often the safe softmax reads its row: once for the maximum, once for the sum, once to divide. If the row
# fits into one block, as in lesson 02, the second and third reads are from registers. If it does not fit, it is read
# from memory each time:
#
# | for each score | read | written |
# |---|---|---|
# | naive: sum, divide | 2 | 1 |
# | safe: maximum, sum, divide | 3 | 1 |
# | online: maximum and sum together, divide | 2 | 1 |
# | LSE only: maximum and sum together | 1 | 0 |
#
# And in FlashAttention it is worse than that. There the row of scores is not even in memory: it is computed tile by
# tile, and a tile is gone when the next one is computed. There is only one pass.
#
# But how can $e^{s_j - m}$ be summed before $m$ is known? Use the maximum *so far*, and correct the sum whenever the
# maximum changes. Take the row in tiles. Before a tile, $m$ and $l$ are those of the columns seen so far. Then
#
# $$m_{\text{new}} = \max(m,\ \max_{j \in \text{tile}} s_j), \qquad
# l_{\text{new}} = l \cdot e^{\,m - m_{\text{new}}} + \sum_{j \in \text{tile}} e^{s_j - m_{\text{new}}} .$$
#
# The old sum is in units of $e^{m}$; the factor converts it to units of $e^{m_{\text{new}}}$, as one converts feet to
# metres. Nothing has to be read again. The scan starts with $m = -\infty$, $l = 0$: the maximum and the sum of nothing.
#
# Step by step: before each move of the slider, **predict** whether the factor will be 1, and what it does to the bar.

# %%
pictures.sliding_scan([0.5, 1.0, -0.5, 2.0, 1.2, 0.1, 0.4, 1.5, -1.0, 2.6, 0.2, 1.0], block=3)

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
# The claim is an *invariant*: after the first $t$ columns, $l = \sum_{j < t} e^{s_j - m}$. It holds at the start, where
# both sides are 0. If it holds before a tile of $B$ columns, it holds after it: that is the step, and it is what the
# next cell proves, for **every $t > 0$, every $B$, all scores**, and for any two numbers $m$ and $m_{\text{new}}$. (The
# first tile is simple: $m = -\infty$, the factor is $e^{-\infty} = 0$, and the old sum is 0 anyway.) So it holds at the
# end, where it says that $l$ is the row's sum.

# %%
N, t, B = sp.symbols("N t B", integer=True, positive=True)
j, k = sp.symbols("j k", integer=True)
m, m_new, c = sp.symbols("m m_new c", real=True)
s = sp.IndexedBase("s", real=True)  # s[0], …, s[N − 1]


def sum_over(first, last, unit):
    return sp.Sum(sp.exp(s[j] - unit), (j, first, last))


l_before = sum_over(0, t - 1, m)  # the invariant, before the tile
l_after = l_before * sp.exp(m - m_new) + sum_over(t, t + B - 1, m_new)  # the recurrence

assert sp.simplify(l_after - sum_over(0, t + B - 1, m_new)) == 0  # the invariant, after it

# %% [markdown]
# Notice what the proof did not use: that $m$ is a maximum. The recurrence is right for any sequence of numbers, as long
# as each factor $e^{m - m_{\text{new}}}$ converts the sum from the old unit to the new one. The maximum is there for
# the exponentials: with it, none of them, including the factor, is ever larger than 1.
#
# The next cell proves, in the same notation, what you found in section 1: for **every $N$ and any $m$**, a constant
# that is added to all scores is added to the LSE, and the two formulas of exercise 1 hold.

# %%
lse, l = sp.log(sum_over(0, N - 1, 0)), sum_over(0, N - 1, m)

assert sp.simplify(sp.log(sum_over(0, N - 1, -c)) - (lse + c)) == 0  # LSE(s + c) = LSE(s) + c
assert sp.simplify(m + sp.log(l) - lse) == 0  # whatever m is
assert sp.simplify(sp.exp(s[k] - (m + sp.log(l))) - sp.exp(s[k] - m) / l) == 0

# %% [markdown]
# ## 4 · Merging partial results
#
# A tile has a maximum and a sum of its own. Let $(m_a, l_a)$ and $(m_b, l_b)$ be those of two disjoint sets of columns,
# however each was computed: $l_a$ is a sum of $e^{s_j - m_a}$, and $l_b$ one of $e^{s_j - m_b}$. What are $m$ and $l$
# of all their columns together? The scan above is the case in which $b$ is a single tile; the general case is for you.
#
# Attention carries a third quantity along. $O = \sum_j p_j V_j$ is a sum over the same columns with the same
# exponentials, $O = \mathit{acc} / l$ with $\mathit{acc} = \sum_j e^{s_j - m}\, V_j$, so it is in the same unit as $l$.
# The division is done at the end. The triple $(m, l, \mathit{acc})$ is a *partial result*: everything that has to be
# kept about a set of keys.
#
# ### Exercise: `merge_partials` · core
#
# Write the merge. `m_a`, `l_a`, `m_b`, `l_b` are sympy expressions; `acc_a` and `acc_b` are rows, $1 \times D$. Return
# `m, l, acc`, in units of $e^m$, with $m$ the larger of the two maxima (`sp.Max`).
#
# The check also merges with the *empty part*, $(-\infty, 0, 0)$: the maximum, the sum and the values of no columns
# at all. What should come out?


# %% exercise="merge_partials"
# HINT: $l_a$ is a sum of $e^{s - m_a}$ and $l_b$ one of $e^{s - m_b}$: they are counted in different units
#     and cannot be added yet. Which unit do you want, and what turns $e^{s - m_a}$ into it?
# HINT: `m = sp.Max(m_a, m_b)`. Multiply what belongs to a by $e^{m_a - m}$ and what belongs to b by $e^{m_b -
#     m}$, both the sum and the row of values.
# HINT: `w_a, w_b = sp.exp(m_a - m), sp.exp(m_b - m)`, and `l` is `w_a * l_a + w_b * l_b`. What is left for
#     you is `acc`, which is in the same unit.
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
# ### Right, and in any order
#
# The next cell asserts that the merge is right for **every size of the two sets, all scores and all values**, with your
# own merge if it has passed; one column of $V$ represents all of them, and $m_b$ is below, at, or above $m_a$.

# %%
your_merge = flashlearn.use("merge_partials", merge_partials)


def merge(one, other):
    """Both parts together; acc as a row, in whatever form it came."""
    found = your_merge(*one, *other)
    m, l, acc = (found[name] for name in ("m", "l", "acc")) if isinstance(found, dict) else found
    return m, l, sp.Matrix([list(sp.Matrix(acc))])


v = sp.IndexedBase("v", real=True)  # one column of V
m_a, gap = sp.Symbol("m_a", real=True), sp.Symbol("gap", positive=True)


def partial(first, last, unit):
    acc = sp.Sum(sp.exp(s[j] - unit) * v[j], (j, first, last))
    return unit, sum_over(first, last, unit), sp.Matrix([[acc]])


for m_b in (m_a - gap, m_a, m_a + gap):
    unit, l_both, acc_both = merge(partial(0, t - 1, m_a), partial(t, N - 1, m_b))
    _, l_all, acc_all = partial(0, N - 1, unit)
    assert sp.simplify(l_both - l_all) == 0 and sp.simplify(acc_both[0] - acc_all[0]) == 0

# %% [markdown]
# Three more properties make a merge useful. They are checked for **any** three parts, with $D = 2$ representing any $D$
# (the columns of $\mathit{acc}$ never mix). Where sympy cannot compare two answers with case distinctions, they are
# compared for a hundred random draws:
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
    gaps = [gap for x, y in zip(one, other, strict=True) for gap in sp.Matrix([x]) - sp.Matrix([y])]
    gaps = [sp.expand(gap) for gap in gaps]
    return all(gap == 0 or vanishes(gap) for gap in gaps)


def vanishes(gap):
    """Sympy cannot always compare answers by cases: those are compared at a hundred draws of numbers."""
    names = sorted(gap.free_symbols, key=str)
    value = sp.lambdify(names, gap, "math")
    return all(
        abs(value(*draw.tolist())) < 1e-12 for draw in torch.rand(100, len(names), dtype=torch.float64)
    )


a, b, c = any_part("a"), any_part("b"), any_part("c")
empty = (-sp.oo, sp.S.Zero, sp.zeros(1, 2))

assert same(merge(merge(a, b), c), merge(a, merge(b, c)))
assert same(merge(a, b), merge(b, a))
assert same(merge(a, empty), a) and same(merge(empty, a), a)

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - The scan of section 3 is a chain of merges: start with the identity, merge one tile after another. Since the merge
#   is associative and commutative, any other arrangement gives the same result: tiles from right to left, all tiles in
#   parallel and then a tree of merges, or half of the keys on one GPU and half on another. *Flash-Decoding* splits a
#   long row over many programs and merges at the end; *ring attention* passes keys around a ring of GPUs. Both are this
#   one formula.
# - The identity is what the scan starts with. It is also the state of a query that may attend to nothing:
#   $\mathrm{LSE} = -\infty + \log 0 = -\infty$. This course keeps that value for such rows.
#
# </details>

# %% [markdown]
# On the example's row 0: keys 0 and 1 in one part, key 2 in another.


# %% tags=["nbval-check-output"]
def rounded(values: Tensor) -> list[float]:
    return [round(float(value), 4) for value in values]


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
# **Predict** what your formula gives for an ordinary part merged with an empty one, and for two empty ones. In these
# cases sympy's $\infty$ follows the same rules as a GPU's.

# %% tags=["nbval-check-output"]
ordinary = (sp.Integer(2), sp.Integer(3), sp.Matrix([[1, 4]]))

print("part + empty ", merge(ordinary, empty))
try:
    print("empty + empty", your_merge(*empty, *empty))
except TypeError as error:
    print("empty + empty", error)
print("in torch      −inf − (−inf) =", float(torch.tensor(-math.inf) - torch.tensor(-math.inf)))

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# With one empty part all is well: $e^{-\infty - 2} = 0$. With two, $m = -\infty$, and $-\infty - (-\infty)$ is NaN.
# This is not a rare case: a causal mask can leave whole tiles of a row empty, and a scan that meets such a tile first
# merges empty with empty. One NaN in $l$ stays there for the rest of the row.
#
# The remedy follows from something that you found in section 1 and proved in section 3. What need not be the maximum?
#
# </details>
#
# ### Exercise: `merge_partials_torch` · stretch
#
# The same merge for whole tensors: `m` and `l` of shape `[..., R]`, `acc` of shape `[..., R, D]`, fp32. Any row of
# either part may be empty. Where it is empty in both, the result is empty, $(-\infty, 0, 0)$.
#
# Useful pieces: `torch.maximum`, `torch.where`, and `w.unsqueeze(-1)`, which gives `[..., R, 1]`.


# %% exercise="merge_partials_torch"
# HINT: The formula is the symbolic one; `torch.maximum` takes the place of `sp.Max`. Then look for the rows
#     for which it fails: what is `m_a - m` where both parts are empty?
# HINT: m and l have the shape [..., R] and acc has [..., R, D]: `w.unsqueeze(-1)` lets a weight multiply a
#     row of acc. For the exponents take a copy of m that holds 0 where m is −inf (`torch.where(m ==
#     -math.inf, 0.0, m)`), and return m itself.
# HINT: `shift = torch.where(m == -math.inf, 0.0, m)` and `w_a, w_b = (m_a - shift).exp(), (m_b -
#     shift).exp()`. The rest is your symbolic merge, with `w_a.unsqueeze(-1)` where acc is weighted.
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
# <details><summary><b>The guard</b> (when exercise 3 has passed)</summary>
#
# Any number may be subtracted, so where $m = -\infty$ subtract 0. Then $e^{-\infty - 0} = 0$, both factors are 0, and
# the new maximum is still $-\infty$. Replacing NaN afterwards, in $l$ and in $\mathit{acc}$, gives the same numbers.
# But it takes two guards instead of one, and hides a NaN with another cause.
#
# </details>
#
# Back to row 0. After merging and dividing, the two parts must give what softmax gives:

# %% tags=["nbval-check-output"]
merge_torch = flashlearn.use("merge_partials_torch", merge_partials_torch)
m_row, l_row, acc_row = merge_torch(*first, *second)

print("LSE ", rounded(m_row + l_row.log()), " as before", rounded(LSE[:1]))
print("O   ", rounded(acc_row[0] / l_row), " P V      ", rounded(P[0] @ V))

# %% [markdown]
# > ### Sources corrected: merging is associative and commutative, so the order of tiles does not matter
# >
# > **The claim**, often made when online softmax is explained, and just proved: the result does not depend on the
# > order.
# >
# > **The experiment.** Ten thousand rows, three parts each, in fp32. **Predict** how many of the sums $l$ differ in
# > some bit: for $(a \oplus b) \oplus c$ against $a \oplus (b \oplus c)$; for $a \oplus b$ against $b \oplus a$; and
# > for the last two again if the merge uses a *fused multiply-add*, which computes $xy + z$ and rounds once. A GPU's
# > compiler usually fuses where it can. (`fma` below uses fp64, where the product of two fp32 numbers is exact.)


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
# > **The verdict.** It is true of real numbers, and of fp32 up to the last bits. In fp32 the merge is not associative:
# > about a quarter of the rows differ when the parentheses move. It is commutative only if both products are rounded
# > alike; when fused, one of them is not rounded at all, and which one depends on the order. So two runs that merge in
# > different orders (because of splits chosen at run time, or atomics) agree to about 7 digits, but not bit for bit. A
# > test for equal bits has to fix the order; a test for equal values has to allow a few rounding errors.
#
# ## 5 · The scan as a kernel
#
# Lesson 02's kernel held a row in one block. This one has a block that may be shorter than the row: it goes through the
# row block by block and carries two numbers.
#
# | mathematics | in the kernel | shape |
# |---|---|---|
# | $m$, maximum so far | `m_i` | one number, starts at $-\infty$ |
# | $l$, sum so far in units of $e^m$ | `l_i` | one number, starts at 0 |
# | $s_j$ of this block | `x` | `[BLOCK]` |
# | $m_{\text{new}}$ | `m_new` | one number |
#
# ### Exercise: `online_logsumexp` · core
#
# Write the loop; the launcher is given and sets `BLOCK`, so that a long row takes several blocks. What the check
# requires:
#
# - any number of columns, shorter than a block too; the last block is rarely full;
# - **one pass**: each score is read once, and no block holds the whole of a long row. The check counts the bytes that
#   your kernel requests for a row of 16500 scores;
# - scores around $\pm 100$ and around $-20\,000$;
# - scores rising or falling along the row by more than the range of fp32's exponential;
# - $-\infty$ anywhere: in whole blocks, the first ones too, and in whole rows, whose LSE is $-\infty$ and not NaN;
# - `x` may be a view (use both strides; the row times its stride may pass $2^{31}$) and may be fp16 or bf16.
#   The result is fp32, and as accurate as fp32 arithmetic
#   allows, whatever the dtype of `x`: an LSE of 5 may be off by about $2 \cdot 10^{-6}$.
#
# Useful pieces: `for start in range(0, N, BLOCK):`, `tl.maximum` (of two values), `tl.max` (of a block), `tl.log`,
# and `tl.where(condition, x, y)`. The mathematics calls the row $s$; the kernel takes any rows, and calls them `x`.

# %% exercise="online_logsumexp"
# HINT: The loop carries two numbers, the maximum and the sum so far. For each block: the new maximum, then
#     the old sum converted to it, then the block's own sum. In which order, so that the old maximum is still
#     available when you need it? And what happens while everything seen so far is −inf?
# HINT: `for start in range(0, N, BLOCK)` with `j = start + tl.arange(0, BLOCK)`; load under `j < N` with
#     `other=-float("inf")`; `m_new = tl.maximum(m_i, tl.max(x, axis=0))`. What is subtracted must be finite:
#     `shift = tl.where(m_new == -float("inf"), 0.0, m_new)`. After the loop, one store of one number.
# HINT: In the loop, after `shift`, the block's own sum is `tl.sum(tl.exp(x - shift), axis=0)`, and the old
#     sum is added as `l_i * tl.exp(m_i - shift)`; only then `m_i = m_new`. What to store after the loop is
#     exercise 1.
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
# - With `m_i = m_new` first, the factor is $e^{m_i - m_{\text{new}}} = e^0 = 1$: the same as no factor. The order of
#   the lines matters.
# - The block's own maximum is *right* in exact arithmetic (any number will do, section 3), and passes the ordinary
#   cases. It fails where the scores fall by more than 88 along the row, so that $l$ overflows, and where a block of
#   $-\infty$ comes last.
# - In the report's *Memory traffic*, each score is requested once: a kernel that first finds the maximum and then sums
#   gives the same result with twice the bytes. The mask and the guard cost no bytes: they are arithmetic on registers.
# - All programs of this kernel carry scalars. In attention a program carries a *block* of queries: `m_i` and `l_i` are
#   then vectors, `tl.max` gets an `axis=1`, and `acc` joins them: lesson 06.
#
# </details>
#
# ## 6 · Recomputing P, tile by tile
#
# $$P_{ij} = e^{S_{ij} - \mathrm{LSE}_i}$$
#
# Compare this with a softmax. There is no maximum and no sum: every element follows from its own score and one number
# of its row. A program that has *a tile* of $S$ can compute that tile of $P$ without having seen the rest of the row;
# tiles can be computed in any order, by any program. In a backward pass there are programs that own columns and never
# see a whole row.
#
# ### Exercise: `recompute_probabilities` · core
#
# Write the kernel; the launcher is given. Its grid has two dimensions, and program $(a, b, 0)$ owns the tile of rows
# from $a \cdot$ `BLOCK_M` and columns from $b \cdot$ `BLOCK_N`.
#
# - Both dimensions may be ragged: the tile needs a mask for its rows and one for its columns.
# - `s` may be a view, with strides of its own (a row times its stride may pass $2^{31}$), and fp16 or bf16;
#   `p` is a new tensor in the dtype of `s`, and has
#   strides of its own, too.
# - `lse` is fp32, with a stride of its own. Subtract in fp32, whatever the dtype of `s`.
# - Where a row is all $-\infty$, `lse` is $-\infty$ and `p` is 0. A single $-\infty$ gets `p` = 0 too.

# %% exercise="recompute_probabilities"
# HINT: There is no reduction in this kernel: every element of P follows from its own element of S and from
#     its row's lse. What a program needs is a tile of S and BLOCK_M numbers.
# HINT: `s` is a tile [BLOCK_M, BLOCK_N] at `i[:, None] * s_row + j[None, :] * s_col`, under a mask of both
#     `(i < M)[:, None]` and `(j < N)[None, :]`; `lse` is [BLOCK_M] at `i * lse_row` under `i < M`, and
#     `lse[:, None]` broadcasts it over the columns. Where lse is −inf, subtract 0 instead.
# HINT: `shift = tl.where(lse == -float("inf"), 0.0, lse)`, broadcast with `shift[:, None]`. The exponential
#     is left for you; it is stored at `p_ptr + i[:, None] * p_row + j[None, :] * p_col` under the tile's
#     mask.
# INCLUDE: flashlearn/kernels/logsumexp.py:recompute_probabilities_kernel


# INCLUDE: flashlearn/kernels/logsumexp.py:recompute_probabilities

# %%
flashlearn.check("recompute_probabilities", recompute_probabilities)

# %%
# flashlearn.hint("recompute_probabilities")

# %% [markdown]
# Both kernels, one after the other, on the example's $S$, to which we add a query that may attend to nothing:

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
# - No maximum has to be found any more: $S_{ij} \le \mathrm{LSE}_i$ for every $j$, so the exponential is at most 1 (up
#   to rounding). The LSE makes the exponential as safe as the maximum did.
# - This kernel need not care about the padding of a tile: what it computes there is never stored. The backward kernels
#   will *sum* over tiles of $P$, and then a padded row's $e^{s - \mathrm{lse}}$ matters (lesson 08).
#
# </details>

# %% [markdown]
# > ### A claim to test: "FlashAttention stores $+\infty$ for an empty row"
# >
# > **The claim.** One sometimes reads: where a query may attend to nothing, FlashAttention's LSE is $+\infty$.
# >
# > **The experiment.** With $+\infty$ no guard is needed, since $e^{-\infty - \infty} = 0$. **Predict** the result of a
# > merge in which one part is empty and the other has $\mathrm{LSE} = 2$.

# %% tags=["nbval-check-output"]
minus, part_lse = torch.tensor(-math.inf), torch.tensor(2.0)
for empty_lse in (math.inf, -math.inf):
    lse_both = torch.logaddexp(part_lse, torch.tensor(empty_lse))
    p_of_empty = torch.exp(minus - torch.tensor(empty_lse))
    share = torch.exp(part_lse - lse_both)
    print(
        f"LSE of an empty part {empty_lse:5}: p = {p_of_empty:3.0f}, merged LSE {lse_both}, the other's share {share}"
    )

# %% [markdown]
# > **The verdict.** FlashAttention-2 does. FlashAttention-3's forward kernel stores $-\infty$, and its backward pass
# > replaces it by 0 before it computes; kernels that split the keys and merge use $-\infty$, too. They have to:
# > $+\infty$ is a convention, not the logsumexp of nothing, and in a merge the empty part would outweigh all others.
# > This course keeps $-\infty$, at the cost of one guard.
#
# ## 7 · What it costs to keep P
#
# $P$ has one number for each pair of a query and a key; the LSE has one per query. **Predict** the two sizes for 16
# heads, a batch of 4, and 8192 queries and keys, with $P$ in fp16 and the LSE in fp32.

# %% tags=["nbval-check-output"]
batch, heads, queries, keys = 4, 16, 8192, 8192
print(f"P    {batch * heads * queries * keys * 2 / 2**30:8.3f} GiB per layer")
print(f"LSE  {batch * heads * queries * 4 / 2**30:8.3f} GiB per layer")
print(f"elements of P: 2^{math.log2(batch * heads * queries * keys):.0f}")

# %% [markdown]
# Such a $P$ has more elements than a signed 32-bit integer can count: $B H S^2$ exceeds $2^{31}$ at sizes used in
# practice, and then a kernel that stores $P$ has to compute its offsets in 64 bits. (Lesson 06 shows what happens
# otherwise.)
#
# Memory is one cost. Time is the other, and there the answer is less clear: what is not stored has to be computed
# again. Whether that is faster depends on the machine, so lesson 05 works it out, once you have met the machine.
#
# ## 8 · What you have now
#
# | | formula | remember |
# |---|---|---|
# | LSE | $m + \log \sum_j e^{s_j - m}$ | right for any $m$; safe for the maximum |
# | $P$ from it | $P_{ij} = e^{S_{ij} - \mathrm{LSE}_i}$ | one number per row, in fp32; no reduction |
# | the scan | $l \leftarrow l\, e^{m - m_{\text{new}}} + \sum_{\text{tile}} e^{s_j - m_{\text{new}}}$ | change of unit |
# | the merge | $(m, l, \mathit{acc})$, identity $(-\infty, 0, 0)$ | any order; guard $-\infty + \infty$ |
# | kept for the backward pass | $S_q$ numbers in fp32 per head | instead of $S_q \cdot S_k$ |
#
# ### Questions for yourself
#
# Answer before you unfold.
#
# **1.** What is the LSE of $N$ equal scores $s$? Of one score? Of none? And what does the first answer say about the
# largest error that you can make by using the maximum in place of the LSE?
#
# <details><summary>Answer</summary>
#
# $s + \log N$; $s$; $-\infty$. The LSE is between $m$ and $m + \log N$, and equal scores are the extreme case: the
# error is at most $\log N$, which is 9 for 8192 keys. In $P$ that is a factor of 8192.
#
# </details>

# %% [markdown]
# **2.** Two GPUs have each attended to one half of the keys. They did not keep $(m, l, \mathit{acc})$; each has its
# finished $O$ and its LSE. Can the results still be merged?
#
# <details><summary>Answer</summary>
#
# Yes. $(\mathrm{LSE}, 1, O)$ is the same partial result as $(m, l, \mathit{acc})$, in another unit: divide $l$ and
# $\mathit{acc}$ by $l$, and compensate in the exponent, $e^m\, l = e^{\mathrm{LSE}} \cdot 1$. So merge
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
# $1024\, e^{-10} = 0.046$. For scores other than 0 the maximum is scaled as well, and the error can be of any size. A
# test with one key and score 0 does not notice: $\log_2 1 = \log 1 = 0$. You will meet this kernel again in the clinic,
# lesson 10.
#
# </details>

# %% [markdown]
# ### Journal
#
# *Two or three sentences in your own words, to be read again in a month. What does the factor $e^{m - m_{new}}$ do?
# Which cost in this lesson had you not thought of before? Double-click here and write.*

# %% [markdown]
# ### What comes next
#
# Lesson 05 is about the machine: where a tile is while a program works on it, what a byte costs at each level, and
# whether rebuilding $P$ is faster than reading it. Lesson 06 puts the scan between two matrix products, with `acc` in
# it, and calls it FlashAttention's forward pass; 07 and 08 rebuild $P$ with one exponential per element, as you did in
# exercise 5.
#
# **Sources.** The online recurrence: M. Milakov, N. Gimelshein, *Online normalizer calculation for softmax*, arXiv
# 1805.02867, sections 3 and 3.1 (the merge, and that it is associative and commutative). With `acc`, in attention: M.
# Rabe, C. Staats, *Self-attention does not need O(n²) memory*, arXiv 2112.05682; T. Dao et al., *FlashAttention*, NeurIPS
# 2022, Algorithm 1, appendix B for recomputation from $m$ and $l$. One number, $L = m + \log l$: T. Dao,
# *FlashAttention-2*, arXiv 2307.08691, section 3.1. Splits merged by LSE: T. Dao, D. Haziza, F. Massa, G. Sizov,
# *Flash-Decoding for long-context inference*, 2023; H. Liu, M. Zaharia, P. Abbeel, *Ring attention*, arXiv 2310.01889.
# Rounding errors of logsumexp: P. Blanchard, D. Higham, N. Higham, IMA Journal of Numerical Analysis 41, 2021.
