# %% [markdown]
# # Softmax and its Jacobian
#
# Attention turns scores into weights with one function, softmax, row by row. Its backward pass is one line of
# mathematics and six lines of a kernel, and it is at the heart of FlashAttention's backward pass. Here you derive
# it, look at it as a matrix, find out that the matrix is never needed, and write both kernels.
#
# **Afterwards you can**
#
# - derive $\partial p_k / \partial s_j$ for $k = j$ and for $k \ne j$, write all of them as one matrix, and say what
#   each of its two terms does;
# - explain why every row of $J$ sums to zero, and why subtracting the maximum is therefore free: it changes neither
#   the value nor the gradient;
# - send a gradient back through a softmax with three rows of numbers instead of a matrix, and read the formula as a
#   sentence;
# - write softmax, forward and backward, as kernels with one program per row.
#
# **You need** lesson 00, above all its `row_sum` (one program per row, masks, `other=`); the quotient rule; the
# *Jacobian* of lesson 01, the matrix of a function's derivatives (row $k$ holds the derivatives of output $k$,
# column $j$ those with respect to input $j$); and the ten lines of sympy at the beginning of lesson 01's section 3.
#
# **It takes** about two and a half hours: three symbolic answers of one line each, two kernels of six and seven lines, three
# questions at the beginning and three at the end.

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
from flashlearn.lessons.lesson_02_softmax import pictures
from flashlearn.lessons.shared import example

# %% [markdown]
# ## Before you begin
#
# Three questions about what came before. Run the cell to read them, enter a letter for each number, and run it
# again. A wrong choice costs nothing; the reply says what it overlooks.

# %% tags=["recall"]
### BEGIN SOLUTION
# STUB: answers = {1: "", 2: "", 3: ""}
answers = {1: "a", 2: "c", 3: "d"}
### END SOLUTION
flashlearn.recall("02", answers)

# %% [markdown]
# ## 1 · Scores become shares
#
# A row of $N$ scores $s_0, \dots, s_{N-1}$ becomes $N$ shares of one whole, also called probabilities:
#
# $$p_k = \frac{e^{s_k}}{Z}, \qquad Z = \sum_{l=0}^{N-1} e^{s_l}.$$
#
# Every share is positive, they sum to 1, and a larger score gets a larger share. In attention the row belongs to
# one query: $s_k$ says how well key $k$ fits, and $p_k$ how much of value $k$ goes into the result.
#
# With one row we can follow everything by hand. Take the scores $0, \log 2, \log 3$. Their exponentials are
# $1, 2, 3$, their sum is 6, and the shares are $\frac16, \frac13, \frac12$.
#
# Three scores in a block of four leave one lane idle. **Predict** what the kernel below finds for $Z$ if that lane
# holds $-\infty$, and if it holds 0.


# %% tags=["nbval-check-output"]
@triton.jit
def sum_of_exponentials(s_ptr, z_ptr, N, OTHER: tl.constexpr, BLOCK: tl.constexpr):
    l = tl.arange(0, BLOCK)
    s = tl.load(s_ptr + l, mask=l < N, other=OTHER)
    tl.store(z_ptr, tl.sum(tl.exp(s), axis=0))


three = torch.tensor([0.0, math.log(2), math.log(3)], device=DEVICE)
for other in (-float("inf"), 0.0):
    Z_found = torch.empty((), device=DEVICE)
    sum_of_exponentials[(1,)](three, Z_found, 3, OTHER=other, BLOCK=4)
    print(f"other = {other:4}: Z = {Z_found.item():.4f}")

# %% [markdown]
# An idle lane that holds 0 acts as a fourth key with an ordinary score: its exponential is $e^0 = 1$, and a seventh
# of the whole would go to a key that does not exist. With $-\infty$ its exponential is 0, and the sum is right. You
# will need this again in section 8, where you write the whole softmax as a kernel.
#
# **Predict:** what happens to the shares if 5 is added to every score? And if every score is multiplied by 10?


# %% tags=["nbval-check-output"]
def rounded(values, digits=4):
    return [round(float(value), digits) for value in values]


s_hand = torch.tensor([0.0, math.log(2), math.log(3)], dtype=torch.float64)
p_hand = torch.softmax(s_hand, dim=0)

for label, row in (("s", s_hand), ("s + 5", s_hand + 5), ("10 s", 10 * s_hand)):
    print(f"{label:6}", rounded(torch.softmax(row, dim=0)))

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - Adding a constant changes nothing: every exponential and their sum grow by the same factor, $e^5$, and it
#   cancels. Softmax depends only on the *differences* of scores. This small fact will come back again and again.
# - Multiplying does change the shares: the differences grow, and the largest score takes nearly everything. This is
#   why attention scales its scores by $\alpha = 1/\sqrt{D}$ before the softmax.
#
# </details>
#
# Dividing all scores by a number $T$ is known as softmax at the *temperature* $T$. Change $T$ and a shift $c$, and
# watch the shares. Which of the two sliders has no effect? What happens as $T$ becomes very small, and as it becomes
# very large?

# %%
pictures.sliding_softmax(s_hand.tolist())

# %% [markdown]
# ## 2 · It overflows
#
# The formula is right, but it cannot be computed as written. Scores of 1000 are unusual, but scores of 100 do occur,
# and $e^{100} \approx 2.7 \cdot 10^{43}$ is more than fp32 can hold.
#
# **Predict:** the three rows below have the same differences, so they have the same softmax. What does each print?


# %% tags=["nbval-check-output"]
def naive_softmax(s: Tensor) -> Tensor:
    return s.exp() / s.exp().sum()


for start in (0.0, 1000.0, -1000.0):
    s_row = start + torch.tensor([0.0, 1.0, 2.0])
    print(s_row.tolist(), "->", rounded(naive_softmax(s_row)))

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - Large scores: $e^{1000}$ is $\infty$ in fp32, and $\infty / \infty$ is NaN. Very negative scores: all
#   exponentials are 0, and $0/0$ is NaN too. Neither needs an exotic input: a badly scaled row is enough.
# - Nothing warns you. Through the gradient, one such row can turn the weights into NaN at the next step of training.
#
# </details>

# %% [markdown]
# Over which range is the exponential a positive, finite number in each format?

# %%
pictures.exponential_range()

# %% [markdown]
# The remedy is the small fact from above. Only differences count, so subtract something from the whole row first,
# and choose it so that the exponentials stay in range: the row's maximum, $m$.
#
# $$p_k = \frac{e^{s_k - m}}{\sum_l e^{s_l - m}}, \qquad m = \max_l s_l.$$
#
# Now the largest exponential is $e^0 = 1$, so nothing overflows; the sum lies between 1 and $N$, so nothing is
# divided by zero. Shares below about $10^{-45}$ still become 0, which is right to within $10^{-45}$.


# %% tags=["nbval-check-output"]
def safe_softmax(s: Tensor) -> Tensor:
    e = (s - s.max()).exp()
    return e / e.sum()


for start in (0.0, 1000.0, -1000.0):
    s_row = start + torch.tensor([0.0, 1.0, 2.0])
    print(s_row.tolist(), "->", rounded(safe_softmax(s_row)))

# %% [markdown]
# This costs one more pass over the row, and it leaves a question that is easy to overlook. We want to
# *differentiate* softmax, and $m$ depends on the scores as well. Does it add a term to the derivative? Keep this
# question in mind; section 5 answers it.
#
# ## 3 · One derivative, two cases
#
# How does share $k$ change when score $j$ changes? Take a pencil. $p_k = e^{s_k} / Z$ is a quotient, and
#
# $$\left(\frac{u}{Z}\right)' = \frac{u'}{Z} - \frac{u\,Z'}{Z^2}, \qquad u = e^{s_k}, \qquad \frac{\partial Z}{\partial s_j} = e^{s_j}.$$
#
# The score $s_j$ is always in the denominator. It is in the numerator only if $k = j$. So there are two cases.
#
# **$k \ne j$.** The numerator does not change, $u' = 0$:
#
# $$\frac{\partial p_k}{\partial s_j} = -\frac{e^{s_k}\, e^{s_j}}{Z^2} = -\,p_k\, p_j .$$
#
# **$k = j$** is for you. Both change this time, $u' = e^{s_k}$. Write the result as $p_k$ times something, and keep
# the paper: do it before you run the next cell.
#
# Now let sympy do the same. In the next cell $N$ is a symbol and the sum is never expanded, so what it shows holds
# for **every $N$**. The only thing we tell sympy is that $j$ is one of the row's indices.

# %% tags=["nbval-check-output"]
N = sp.Symbol("N", integer=True, positive=True)
j, k, l = sp.symbols("j k l", integer=True)
s = sp.IndexedBase("s", real=True)  # s[0], …, s[N − 1]
Z = sp.Sum(sp.exp(s[l]), (l, 0, N - 1))
j_in_row = sp.Q.ge(j, 0) & sp.Q.le(j, N - 1)


def p_at(index):
    return sp.exp(s[index]) / Z


entry = sp.refine(sp.diff(p_at(k), s[j]).doit(), j_in_row)
entry

# %% [markdown]
# $\delta_{jk}$ is Kronecker's delta: 1 if $j = k$, 0 otherwise. It appears exactly where you needed two cases on
# paper. With 0 in its place, the first case must come out (still for every $N$; an `assert` that holds prints
# nothing):

# %%
delta = sp.KroneckerDelta(j, k)
different, same = entry.subs(delta, 0), entry.subs(delta, 1).subs(k, j)

assert sp.simplify(different - (-p_at(k) * p_at(j))) == 0

# %% [markdown]
# <details><summary><b>If you try this yourself: a trap in sympy</b></summary>
#
# We differentiate with respect to `s[j]`, and the sum in `Z` runs over `l`. If you differentiate with respect to
# `s[l]` instead, the sum's own index, sympy returns a second term of $-p_k$ in place of $-p_k\,p_l$: it confuses the
# $l$ outside the sum with the $l$ inside. There is no error and no warning. Give a sum an index that nothing else
# uses.
#
# </details>

# %% [markdown]
# Once more in numbers, at $N = 3$ and the row $0, \log 2, \log 3$. This cell proves nothing about other sizes, but
# you can check each entry by hand, so do that before you run it: $p = (\frac16, \frac13, \frac12)$, and row $k$,
# column $j$ holds $\partial p_k / \partial s_j$.

# %% tags=["nbval-check-output"]
s3 = sp.symbols("s_0:3", real=True)
p3 = sp.Matrix([sp.exp(score) for score in s3]) / sum(sp.exp(score) for score in s3)
at_hand = dict(zip(s3, (0, sp.log(2), sp.log(3)), strict=True))

J_hand = p3.jacobian(s3).subs(at_hand)
J_hand

# %% [markdown]
# ### Exercise: `softmax_jacobian` · warm-up
#
# You have every entry: one case from above, the other from your paper. Now write the whole matrix, for any $N$, in
# terms of the shares alone: no scores, no exponentials.
#
# `p` is a sympy column, an $N \times 1$ `Matrix`; what you return is $N \times N$. Useful pieces: `sp.diag(*p)` is a
# diagonal matrix with the entries of `p`; `p.T` is the transposed matrix; `*` between matrices is the matrix
# product; `p.rows` is $N$. It can also be done entry by entry: `sp.Matrix(p.rows, p.rows, lambda k, j: …)`. There is
# a form that needs one line and no cases.
#
# The check calls your function with exact fractions first, then with symbols, and shows a counterexample worked out
# in small numbers if it finds one.


# %% exercise="softmax_jacobian"
# HINT: You have both entries already: $-p_k p_j$ where $k \neq j$, and $p_k - p_k p_k$ where $k = j$. Which
#     part do the two cases share, and which part does the diagonal have in addition?
# HINT: $J$ is a diagonal matrix minus an outer product, $N \times N$ both. `sp.diag(*p)` builds the first
#     from a column's entries; for a column $p$, `p * p.T` is a matrix (and `p.T * p` is one number).
# HINT: `sp.diag(*p) - …`: what is taken away is $p_k p_j$ in row $k$, column $j$, on the diagonal and off it.
#     A column times a row has these entries.
def softmax_jacobian(p: sp.Matrix) -> sp.Matrix:
    """J with J[k, j] = ∂p_k/∂s_j: a column [N, 1] → [N, N]."""
    ### BEGIN SOLUTION
    # STUB: raise NotImplementedError("TODO softmax_jacobian: the N × N matrix of both cases, from p alone")
    return sp.diag(*p) - p * p.T
    ### END SOLUTION


# %%
flashlearn.check("softmax_jacobian", softmax_jacobian)

# %%
# flashlearn.hint("softmax_jacobian")

# %% [markdown]
# ## 4 · What the matrix says
#
# *(Read on when your check has passed: this section discusses the result.)*
#
# <details><summary><b>The matrix in one line</b>, once your check has passed</summary>
#
# $\partial p_k / \partial s_k$ is $p_k - p_k\,p_k = p_k\,(1 - p_k)$. So both cases share $-p_k\,p_j$, and the
# diagonal has an additional $p_k$. In one line,
#
# $$J = \mathrm{diag}(p) - p\,p^\top .$$
#
# </details>

# %%
assert sp.simplify(same - p_at(j) * (1 - p_at(j))) == 0

# %% [markdown]
# Here it is for $p = (\frac16, \frac13, \frac12)$. Row $k$ belongs to share $k$, column $j$ to score $j$; blue is
# positive, orange negative.

# %%
pictures.jacobian(p_hand.tolist())

# %% [markdown]
# <details><summary><b>Where its two terms come from</b>, once your check has passed</summary>
#
# The two terms are not an accident of notation. Softmax is a *product* of two things that both depend on the
# scores,
#
# $$p_k = \underbrace{e^{s_k}}_{\text{what } k \text{ is worth}} \cdot \underbrace{\frac{1}{Z}}_{\text{what one unit of worth buys}},$$
#
# and the product rule varies one factor at a time. Vary the first and keep the second: only share $j$ itself
# changes, by $p_j$. That is $\mathrm{diag}(p)$, and it **scales**. Keep the first and vary the second: every share
# shrinks by the same fraction of itself, $p_j$. That is $-p\,p^\top$, and it makes the shares **compete**.
#
# </details>
#
# The next cell varies the two factors of softmax one at a time. It gives the numerator its own scores, $a$, and the denominator its own scores,
# $b$, differentiates with respect to each, and only then sets both to $s$. It holds for **every $N$**.

# %%
a, b = sp.IndexedBase("a", real=True), sp.IndexedBase("b", real=True)
product = sp.exp(a[k]) / sp.Sum(sp.exp(b[l]), (l, 0, N - 1))

numerator_moves = sp.diff(product, a[j]).subs({a: s, b: s})
denominator_moves = sp.refine(sp.diff(product, b[j]).doit(), j_in_row).subs({a: s, b: s})

assert sp.simplify(numerator_moves - p_at(k) * delta) == 0  # scaling
assert sp.simplify(denominator_moves + p_at(k) * p_at(j)) == 0  # competition
assert sp.simplify(numerator_moves + denominator_moves - entry) == 0

# %% [markdown]
# As changes of the shares when $s_1$ rises, that is, column 1 of each matrix:

# %%
pictures.competition(p_hand.tolist(), j=1)

# %% [markdown]
# Read it from left to right. Share 1 gains $\frac13$, which makes the sum too large by $\frac13$. So all shares give
# back in proportion to their size, share 1 included: it gives back a third of its gain of $\frac13$. The changes
# that remain sum to zero, because the shares still sum to 1.
#
# A derivative is a claim about small steps, so take one. **Predict** the three numbers from column 1 before you run
# the cell.

# %% tags=["nbval-check-output"]
step = 1e-6
nudged = s_hand.clone()
nudged[1] += step
change = (torch.softmax(nudged, dim=0) - p_hand) / step
print("measured", rounded(change))
print("column 1", rounded(J_hand[:, 1]))

# %% [markdown]
# ### Compared with a sigmoid
#
# You may know a smaller relative. The *sigmoid* $\sigma(x) = 1 / (1 + e^{-x})$ turns one score into one share, and
# its derivative is $\sigma\,(1 - \sigma)$. The diagonal of $J$ has the same form, and that is no accident: a softmax
# of *two* scores is a sigmoid of their difference.
#
# **Predict** the whole $2 \times 2$ matrix $J$, in terms of $\sigma' = \sigma(1 - \sigma)$ at $s_0 - s_1$.

# %%
x = sp.Symbol("x", real=True)
sigmoid = 1 / (1 + sp.exp(-x))
slope = sigmoid * (1 - sigmoid)
assert sp.simplify(sp.diff(sigmoid, x) - slope) == 0

s2 = sp.symbols("s_0:2", real=True)
p2 = sp.Matrix([sp.exp(score) for score in s2]) / sum(sp.exp(score) for score in s2)
difference_of_scores = {x: s2[0] - s2[1]}
assert sp.simplify(p2[0] - sigmoid.subs(difference_of_scores)) == 0

J2 = p2.jacobian(s2)
in_slopes = (J2 / slope.subs(difference_of_scores)).applyfunc(sp.simplify)
print("J = σ' times", in_slopes.tolist())

# %% [markdown]
# So with two scores there is one number, and what one share gains the other loses. With $N$ scores, keep all but
# $s_k$ fixed: $p_k$ is a sigmoid of $s_k$ again, hence $p_k\,(1 - p_k)$. Then what is the difference between a
# softmax and $N$ sigmoids side by side? The Jacobian of $N$ sigmoids is diagonal. No share pays for another one's
# gain, and they need not sum to 1. **The off-diagonal entries are what makes it a softmax.**

# %%
one_by_one = torch.autograd.functional.jacobian(torch.sigmoid, s_hand)
assert torch.equal(one_by_one, torch.diag(one_by_one.diag()))

z_of_others = s_hand[1].exp() + s_hand[2].exp()
assert torch.allclose(torch.sigmoid(s_hand[0] - z_of_others.log()), p_hand[0])

# %% [markdown]
# ## 5 · Rows that sum to zero
#
# Look at the heat map again: every row of $J$ sums to zero, and so does every column, since $J$ is symmetric. There
# is a separate reason for each.
#
# - **Columns**, $\sum_k \partial p_k / \partial s_j = 0$: the shares always sum to 1, so whichever score changes,
#   their changes cancel.
# - **Rows**, $\sum_j \partial p_k / \partial s_j = 0$: adding the same number to all scores changes nothing. This is
#   the small fact from section 1, *shift invariance*; to prove the statement, differentiate it. Add $c$ to every
#   score and ask how $p_k$ depends on $c$. By the chain rule the derivative is the sum of row $k$; by shift
#   invariance it is zero.
#
# For **every $N$**:

# %%
c = sp.Symbol("c", real=True)
shifted = sp.exp(s[k] + c) / sp.Sum(sp.exp(s[l] + c), (l, 0, N - 1))

assert sp.simplify(shifted - p_at(k)) == 0  # the value does not depend on c
assert sp.simplify(sp.diff(shifted, c).doit()) == 0  # so the sum over row k of J is 0

# %% [markdown]
# In matrix form: $J\,\mathbf 1 = 0$. A square matrix that maps a nonzero vector to zero is *singular*: its
# determinant is 0, and it has no inverse. That is as it should be. From the shares one can recover the differences
# of the scores, but never their common level, because that information is lost.

# %% tags=["nbval-check-output"]
assert J_hand == J_hand.T
assert J_hand * sp.ones(3, 1) == sp.zeros(3, 1)
print("determinant", J_hand.det(), " rank", J_hand.rank(), " null vector", list(J_hand.nullspace()[0]))

# %% [markdown]
# ### The maximum, and its gradient
#
# Now the question from section 2. A kernel computes softmax of $s - m$ with $m = \max_l s_l$. For the value, $m$ is
# just another constant: take $c = -m$ above. For the gradient it is not a constant: $m$ depends on the scores, and
# the chain rule adds a path through it,
#
# $$\frac{d p_k}{d s_j} = \frac{\partial p_k}{\partial s_j} + \frac{\partial p_k}{\partial m} \cdot \frac{\partial m}{\partial s_j} .$$
#
# But $\partial p_k / \partial m$ is minus the sum of row $k$, and that is zero. *Whatever*
# $\partial m / \partial s_j$ may be, it is multiplied by zero. It does not matter which entry is the largest, or
# that the maximum has no derivative where two entries tie. You may treat $m$ as a constant in the backward pass.
#
# The next cell checks that at $N = 3$, for an arbitrary differentiable function $m$ of the three scores.

# %%
m = sp.Function("m")(*s3)
stabilised = sp.Matrix([sp.exp(score - m) for score in s3]) / sum(sp.exp(score - m) for score in s3)

difference = stabilised.jacobian(s3) - p3.jacobian(s3)
assert difference.applyfunc(sp.simplify) == sp.zeros(3, 3)

# %% [markdown]
# ### When a softmax stops learning
#
# **Predict:** the row $0, \log 2, \log 3$ is multiplied by a growing factor. What happens to the largest entry of
# $J$?

# %% tags=["nbval-check-output"]
for factor in (0, 1, 5, 20, 80):
    p_sharp = torch.softmax(factor * s_hand, dim=0)
    J_sharp = torch.diag(p_sharp) - torch.outer(p_sharp, p_sharp)
    print(f"{factor:3} s   p = {rounded(p_sharp)}   largest |J| = {J_sharp.abs().max():.1e}")

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - When one share takes everything, $p_k (1 - p_k)$ is zero for the winner because $1 - p_k$ is, and for the others
#   because $p_k$ is. The softmax is *saturated*: almost no gradient reaches any score of the row, however wrong the
#   scores are.
# - The dot product of two random vectors of length $D$ (independent entries of variance 1) has the standard
#   deviation $\sqrt D$. Unscaled, at $D = 128$, that is 11, and in a long row one share takes most of the whole.
#   This is the reason that the authors of the Transformer give for $1/\sqrt{D}$.
#
# </details>
#
# <details><summary><b>For the curious: J is a covariance</b></summary>
#
# Draw one index at random with probabilities $p$, and write it as a vector $y$ that is 1 at that index and 0
# elsewhere. Then $E[y_k] = p_k$, and $E[y_k y_j]$ is $p_k$ for $k = j$ and 0 otherwise. So
# $\mathrm{Cov}(y_k, y_j) = E[y_k y_j] - E[y_k] E[y_j]$ is exactly $J_{kj}$. Much follows at once: $J$ is symmetric;
# $x^\top J x = \mathrm{Var}_p[x] \ge 0$ for every $x$, so $J$ has no negative eigenvalues; and the variance is 0
# exactly if $x$ is the same wherever $p$ is positive, which gives $\mathbf 1$ as a null vector again.
#
# </details>

# %% [markdown]
# > ### A claim to test: rows written as rows
# >
# > **The claim.** One sometimes reads: with $P_i$ for row $i$ of $P$, the Jacobian of that row's softmax is
# > $\mathrm{diag}(P_i) - P_i P_i^\top$.
# >
# > **The experiment.** A row of a matrix is a row: its shape is $[1, N]$. Take the formula literally. **Predict**
# > the shape of `P_i @ P_i.T`, and whether the line after it raises an error.

# %% tags=["nbval-check-output"]
P_i = torch.tensor([[1.0, 2.0, 3.0]]) / 6  # [1, 3]
print(P_i @ P_i.T)

at_its_word = torch.diag(P_i[0]) - P_i @ P_i.T
print(at_its_word)
print("rows sum to", rounded(at_its_word.sum(dim=1)))

# %% [markdown]
# > **The verdict.** The formula is right where $P_i$ is a column, which is a common convention in papers, and wrong
# > where it is a row, as it is in code. For a row, $P_i P_i^\top$ is a single number, $\sum_k p_k^2$; torch
# > broadcasts it over the matrix and says nothing. Sympy, stricter, would have refused: `ShapeError`. Written for
# > rows it is
# >
# > $$J = \mathrm{diag}(P_i) - P_i^\top P_i .$$
# >
# > What catches it is not the shape, which fits, but a property: the rows must sum to zero. Know a property of every
# > matrix that you write down, and test it.

# %% [markdown]
# ## 6 · A gradient is not a Jacobian
#
# > ### A claim to test: the derivative of softmax is a matrix, so its gradient is one
# >
# > **The claim.** Softmax has $N$ inputs and $N$ outputs, so its derivative is an $N \times N$ matrix. So in the
# > backward pass $dS$ holds a matrix for every row of $S$. (The first sentence is right.)
# >
# > **The experiment.** Let torch say what it computes. **Predict** the two shapes.

# %% tags=["nbval-check-output"]
scores = s_hand.clone().requires_grad_()
dp_hand = torch.tensor([1.0, -2.0, 0.0], dtype=torch.float64)  # ∂L/∂p of some loss L
(ds_torch,) = torch.autograd.grad(torch.softmax(scores, dim=0), scores, grad_outputs=dp_hand)
J_torch = torch.autograd.functional.jacobian(lambda row: torch.softmax(row, dim=0), s_hand)

print("gradient", tuple(ds_torch.shape), rounded(ds_torch))
print("Jacobian", tuple(J_torch.shape))
print("Jᵀ dp   ", tuple((J_torch.T @ dp_hand).shape), rounded(J_torch.T @ dp_hand))

# %% [markdown]
# > **The verdict.** There are two different things here. A *Jacobian* says how a vector depends on a vector, and is
# > a matrix. A *gradient* says how **one number**, the loss $L$, depends on a vector, and has that vector's shape. A
# > backward pass hands gradients on: here it receives $dp = \partial L / \partial p$ and returns
# > $ds = \partial L / \partial s$, each with $N$ numbers. The Jacobian relates the two,
# >
# > $$ds_j = \sum_k \frac{\partial L}{\partial p_k} \frac{\partial p_k}{\partial s_j} = \sum_k dp_k\, J_{kj}, \qquad\text{that is,}\qquad ds = J^\top dp .$$
# >
# > The matrix exists. But it is never what the backward pass hands on, and, as you will now see, it is not even an
# > intermediate result.
#
# It was the same in lesson 01: $dX$ always means $\partial L / \partial X$ and has the shape of $X$, and the product
# $J^\top dp$ is a *vector–Jacobian product*, VJP; every backward pass is made of them.
#
# ### The product without the matrix
#
# What is $\sum_k dp_k\,J_{kj}$ for softmax? Again for **every $N$**. For differentiation the loss may be replaced by
# $\sum_k dp_k\, p_k$ with the $dp_k$ held constant: it has the same derivatives with respect to $p$, hence the same
# gradient.

# %% tags=["nbval-check-output"]
dp = sp.IndexedBase("dp", real=True)
loss = sp.Sum(dp[k] * sp.exp(s[k]), (k, 0, N - 1)) / Z

ds_entry = sp.refine(sp.diff(loss, s[j]).doit(), j_in_row)
ds_entry

# %% [markdown]
# ### Exercise: `softmax_vjp` · core
#
# Read the two terms above: which parts of them are a $p_j$, and what is the sum in the second? Then write $ds$ in
# terms of `p` and `dp`, two sympy columns of length $N$, **without building $J$**. (Only the result is checked, but
# the point of the exercise is how you get it.)
#
# Useful pieces: `p.multiply_elementwise(v)` is $p \circ v$, the product entry by entry; `p.dot(v)` is the number
# $\langle p, v \rangle = \sum_k p_k v_k$; `sp.ones(p.rows, 1)` is a column of ones. (Sympy does not subtract a
# number from a matrix: multiply a column of ones by the number first.)


# %% exercise="softmax_vjp"
# HINT: Multiply $J^\top = \mathrm{diag}(p) - p\,p^\top$ by $dp$, one term at a time, and read $p\,p^\top dp$
#     from the right: which part of it is a single number?
# HINT: `ds` is a column of $N$: each entry is $p_j$ times a difference, $dp_j$ minus one number that all
#     entries share. `p.dot(dp)` is such a number, `p.multiply_elementwise(...)` the product entry by entry.
# HINT: `p.multiply_elementwise(dp - …)`; the dots are a column that has the same number in
#     every entry: the mean of dp under p.
def softmax_vjp(p: sp.Matrix, dp: sp.Matrix) -> sp.Matrix:
    """ds = Jᵀ dp without J: two columns [N, 1] → a column [N, 1]."""
    ### BEGIN SOLUTION
    # STUB: raise NotImplementedError("TODO softmax_vjp: the gradient by the scores, from p and dp")
    return p.multiply_elementwise(dp - sp.ones(p.rows, 1) * p.dot(dp))
    ### END SOLUTION


# %%
flashlearn.check("softmax_vjp", softmax_vjp)

# %%
# flashlearn.hint("softmax_vjp")

# %% [markdown]
# ## 7 · Reading the formula
#
# *(Read on when your check has passed.)*
#
# <details><summary><b>The formula, and how to read it</b>, once your check has passed</summary>
#
# This is what you wrote, or a form of it:
#
# $$ds = p \circ (dp - \langle p, dp \rangle), \qquad\text{entry by entry}\qquad ds_j = p_j \bigl(dp_j - \mathrm{E}_p[dp]\bigr).$$
#
# $\mathrm{E}_p[dp] = \sum_k p_k\, dp_k$ is the *mean of $dp$ under $p$*: the average of the loss's derivatives when
# index $k$ has weight $p_k$. So the formula can be read as a sentence:
#
# > A score's gradient is its share, times the difference between its $dp$ and the weighted average of the row's
# > $dp$.
#
# The two terms are the two of $J$: $p \circ dp$ is the scaling, $-\,p\,\langle p, dp\rangle$ the competition.
#
# </details>
#
# The next cell asserts that this is what sympy found, for **every $N$**:

# %%
mean = sp.Sum(dp[k] * sp.exp(s[k]), (k, 0, N - 1)) / Z  # E_p[dp]

assert sp.expand(ds_entry - p_at(j) * (dp[j] - mean)) == 0

# %% [markdown]
# With $p = (\frac16, \frac13, \frac12)$ and $dp = (1, -2, 0)$, by hand: the mean is
# $\frac16 - \frac23 + 0 = -\frac12$. The deviations from it are $\frac32, -\frac32, \frac12$. Times $p$:
# $ds = (\frac14, -\frac12, \frac14)$. It sums to zero, as every $ds$ of a softmax must (why?).

# %%
pictures.deviations(p_hand.tolist(), dp_hand.tolist())

# %% [markdown]
# **Predict**, without computing: what is $ds$ if every entry of $dp$ is the same number, say 7?

# %% tags=["nbval-check-output"]
vjp = flashlearn.use("softmax_vjp", softmax_vjp)
fractions = sp.Matrix([sp.Rational(1, 6), sp.Rational(1, 3), sp.Rational(1, 2)])

for dp_row in ((1, -2, 0), (7, 7, 7), (8, 5, 7)):
    print("dp =", dp_row, "  ds =", tuple(vjp(fractions, sp.Matrix(dp_row))))

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - A loss that would shrink all shares alike cannot do so, since they sum to 1: the gradient is zero. Without the
#   inner product you would have got $(\frac76, \frac73, \frac72)$, and an optimiser would push all scores down
#   forever.
# - $(8, 5, 7)$ is $(1, -2, 0) + 7$, and gives the same $ds$: only differences of $dp$ count. It is shift invariance
#   again, now in the backward pass, since $J^\top \mathbf 1 = 0$.
# - $ds$ sums to zero for every $dp$: the scores' common level has no influence, so it gets no gradient.
#
# </details>
#
# ### Where you may have met it before
#
# If the loss is the cross-entropy $L = -\log p_y$ for a right answer $y$, then $dp$ is $-1/p_y$ at $y$ and zero
# elsewhere. The mean under $p$ is $p_y \cdot (-1/p_y) = -1$, and the formula collapses: $ds_j = p_j (dp_j + 1)$,
# which is $p_j$ for $j \ne y$ and $p_y - 1$ for $j = y$. That is the well-known "$p$ minus one-hot". It belongs to
# that one loss. In attention $dp$ comes from whatever follows, and there is no shortcut.

# %%
y = 1
dp_cross_entropy = sp.Matrix([-1 / fractions[i] if i == y else 0 for i in range(3)])
one_hot = sp.Matrix([1 if i == y else 0 for i in range(3)])
assert sp.Matrix(vjp(fractions, dp_cross_entropy)) == fractions - one_hot

# %% [markdown]
# ### Exercise: `log_softmax_vjp` · stretch
#
# With such a loss, the gradient divides by $p_y$ only to multiply by it again. So in practice one does not compute
# it from the shares but computes their logarithms directly, $\ell_k = \log p_k = s_k - \log Z$. (In torch this is
# `log_softmax`.) Its gradient is simpler than that of softmax, and different.
#
# Given $d\ell = \partial L / \partial \ell$ as `dlog`, and the shares `p`, both columns of length $N$, return $ds$.
# Begin with $\partial \ell_k / \partial s_j$: again there are two cases, and again you need no matrix.


# %% exercise="log_softmax_vjp"
# HINT: $\ell_k = s_k - \log Z$ is a difference, so differentiate its two terms separately. Which score is in
#     the first one, and which scores are in the second?
# HINT: $\partial \log Z / \partial s_j = p_j$, the same for every $k$. So $\ell_k$ hands all of its gradient
#     to its own score, and takes $p_j$ times as much from every score $j$. Add up over $k$: `sum(dlog)` is
#     one number.
# HINT: `dlog - …`: what is taken from score $j$ is its share $p_j$ of the sum of all entries of `dlog`.
def log_softmax_vjp(p: sp.Matrix, dlog: sp.Matrix) -> sp.Matrix:
    """ds for l = log softmax(s), from p = softmax(s) and dlog = ∂L/∂l: two columns [N, 1] → a column [N, 1]."""
    ### BEGIN SOLUTION
    # STUB: raise NotImplementedError("TODO log_softmax_vjp: the gradient by the scores, from p and dlog")
    return dlog - p * sum(dlog)
    ### END SOLUTION


# %%
flashlearn.check("log_softmax_vjp", log_softmax_vjp)

# %%
# flashlearn.hint("log_softmax_vjp")

# %% [markdown]
# When it passes, the cross-entropy takes one line: $d\ell$ is $-1$ at $y$ and 0 elsewhere. What does your formula
# give?

# %%
log_vjp = flashlearn.use("log_softmax_vjp", log_softmax_vjp)
assert sp.Matrix(log_vjp(fractions, -one_hot)) == fractions - one_hot

# %% [markdown]
# ### What it saves
#
# The Jacobian of a row of $N$ has $N^2$ entries. The formula reads $p$ and $dp$ and writes $ds$: $3N$ numbers,
# about $4N$ operations instead of $2N^2$.

# %%
pictures.bytes_per_row(n=4096, size=4)

# %% [markdown]
# One row of attention over 4096 keys: 64 MiB against 48 KiB. And there are many rows. **Predict** the total size of
# the Jacobians of one head with as many queries as keys, and of a layer with 32 heads.

# %% tags=["nbval-check-output"]
keys = queries = 4096
for heads in (1, 32):
    jacobians = heads * queries * keys**2 * 4 / 2**40  # TiB, in fp32
    rows = heads * queries * 3 * keys * 4 / 2**30  # GiB
    print(f"{heads:2} heads: all Jacobians {jacobians:5.2f} TiB,   all p, dp and ds {rows:4.2f} GiB")

# %% [markdown]
# The structure is what makes it possible: $J$ is a diagonal matrix plus one of *rank one*, and each of the two can
# be multiplied by a vector without being built. (Even $3N$ numbers per row are too many in the end: FlashAttention
# keeps none of the three rows in memory. Lessons 03 to 08 show how.)

# %% [markdown]
# ## 8 · The forward kernel
#
# One program per row, the whole row in one block, as in `row_sum`. The formula becomes five lines, each under its
# own name:
#
# | mathematics | in the kernel | shape |
# |---|---|---|
# | $s_{ij}$, row $i$ of the scores | `s` | `[BLOCK]` |
# | $m_i = \max_j s_{ij}$ | `m_i` | one number |
# | $e^{s_{ij} - m_i}$ | `e` | `[BLOCK]` |
# | $l_i = \sum_j e^{s_{ij} - m_i}$ | `l_i` | one number |
# | $p_{ij} = e^{s_{ij} - m_i} / l_i$ | `p` | `[BLOCK]` |
#
# From here on the sum of the stabilised exponentials is called $l_i$, as in the FlashAttention papers: it is not
# $Z$, but $Z = e^{m_i}\, l_i$.
#
# Our scores are those of lesson 01's small example: four queries, three keys, two numbers each,
# $S = \alpha\, Q K^\top$ with $\alpha = 1/\sqrt 2$. A row of three goes into a block of four, so one lane is
# padding.

# %% tags=["nbval-check-output"]
Q, K = example.tensors(DEVICE)[:2]  # (4, 2), (3, 2); fp32

S = example.ALPHA * Q @ K.T  # (4, 3)
print(S.cpu().numpy().round(3))

# %% [markdown]
# What does the padding lane do to the first row? Here is every lane of program (0, 0, 0), line by line, with two
# different fillers. **Predict** before you look at the second picture: which lines go wrong with `other=0.0`, and is
# the line with the maximum one of them?

# %%
pictures.forward_lanes(S[0].tolist(), block=4, other=-float("inf"))

# %%
pictures.forward_lanes(S[0].tolist(), block=4, other=0.0)

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - With $-\infty$ the idle lane is neutral in both reductions: it is never the maximum, and $e^{-\infty} = 0$ adds
#   nothing to the sum.
# - With 0 the idle lane is a score like any other, and takes $6.5\,\%$ of the row. The result looks like a softmax,
#   is nearly one, but its rows do not sum to 1. The maximum happened to be right here; in a row of negative scores
#   it would be 0. A maximum that is too large does no harm by itself (why?), unless it is too large by about a
#   hundred: then every exponential is 0 in fp32.
# - Nothing here depends on the other rows: programs do not exchange anything.
#
# </details>
#
# ### Exercise: `softmax_forward` · core
#
# Write the kernel; the launcher is given. What the check requires:
#
# - any number of columns; scores around 100 and around $-20\,000$; scores of $-\infty$, which get share 0 (a row has at
#   least one finite score);
# - `s` may be a slice or a transposed view: use both of its strides, and keep the row 64 bits wide, since the row
#   times its stride may pass $2^{31}$. `p` is a new tensor, which the launcher allocates,
#   with strides of its own: store by those;
# - `s` may be fp16 or bf16: compute in fp32 from the load to the store. `tl.store` converts to the dtype of `p`.
#
# Useful pieces: `tl.max(x, axis=0)`, `tl.sum(x, axis=0)`, `tl.exp`, and `-float("inf")`.

# %% exercise="softmax_forward"
# HINT: One program owns one row, and the whole row is in its block. Three passes over registers, none over
#     memory: the maximum, the sum of the exponentials of `s - m_i`, the division. Padded lanes must change
#     neither the maximum nor the sum.
# HINT: Every line but two makes a block of `BLOCK` lanes; `m_i` and `l_i` are single numbers (`tl.max` and
#     `tl.sum` with `axis=0`). Row `i`, column `j` of `s` is at `s_ptr + i * s_row + j * s_col`; the padding
#     of a maximum is `-float("inf")`, and `exp` turns it into 0. Load and store need the mask `j < N`.
# HINT: The load: `s = tl.load(s_ptr + i * s_row + j * s_col, mask=j < N, other=…).to(tl.float32)`. Then `e =
#     tl.exp(s - tl.max(s, axis=0))`, and each share is its `e` over the sum of all of them. The store goes to
#     `p_ptr + i * p_row + j * p_col`, under the same mask.
# INCLUDE: flashlearn/kernels/softmax.py:softmax_forward_kernel


# INCLUDE: flashlearn/kernels/softmax.py:softmax_forward

# %%
flashlearn.check("softmax_forward", softmax_forward)

# %%
# flashlearn.hint("softmax_forward")

# %% [markdown]
# When it passes, break it on purpose, one thing at a time, and read what the check says: `other=0.0`; no maximum;
# `s_row` in the store in place of `p_row`; no `.to(tl.float32)`. One of the four changes nothing: which, and why?
# And which of the other three would be found by a test with a single contiguous fp32 matrix of normally distributed
# numbers, of shape $64 \times 64$?
#
# <details><summary><b>What to notice</b></summary>
#
# - Each score is read once and each share written once, $2 M N$ elements for $M$ rows. Written with separate torch
#   operations (maximum, subtract, exponential, sum, divide), the matrix would be read five times and written three
#   times. Here everything stays in registers between the load and the store. This is *fusion*, and FlashAttention is
#   built on the same idea.
# - There are about five operations per element, for two or four bytes read and as many written: memory is the limit
#   by far, as for every kernel so far.
# - Leaving out `.to(tl.float32)` is the one that changes nothing, and only by luck: `tl.max` returns fp32 even for
#   half-precision input, so `s - m_i` is fp32 already. The other three all pass on $64 \times 64$ normal numbers:
#   there is no padding, no large score, no view. A test finds only what its data can show.
# - The row must fit into one block. Lesson 04 lifts that: maximum and sum can be carried along a row in pieces.
# - A row of nothing but $-\infty$ is excluded here. Then $m_i = -\infty$, and $-\infty - (-\infty)$ is NaN, in this
#   kernel as in `torch.softmax`. In attention such rows exist (a query that may attend to nothing), and from lesson
#   04 on their shares are defined to be zero.
#
# </details>

# %% [markdown]
# ## 9 · The backward kernel
#
# $$ds_{ij} = p_{ij} \bigl(dp_{ij} - \langle p_i, dp_i \rangle\bigr)$$
#
# Look at what it needs: $p$ and $dp$. It does not need the scores, the maximum or the sum. A softmax's derivative is
# a function of its *output*, so the forward pass has to keep only that (and lesson 04 will get rid of even that).
#
# **Predict** what the padding must hold this time. In the forward kernel it was $-\infty$, which is neutral for a
# maximum and for a sum of exponentials. Now there is one reduction, $\sum_j p_{ij}\,dp_{ij}$. What would $-\infty$
# do there?
#
# ### Exercise: `softmax_backward` · core
#
# Write the kernel; the launcher is given. `p` and `dp` are two tensors with strides of their own, either of which
# may be a view; `ds` is a new tensor with its own strides. `p` and `dp` share a dtype, fp32, fp16 or bf16, and `ds`
# has it, too. Compute in fp32 from the loads to the store. `p` may contain zeros. As before, the row times a stride
# may pass $2^{31}$.

# %% exercise="softmax_backward"
# HINT: One program owns one row of p and of dp. All entries of ds share one number, the mean of dp under p:
#     compute it once, then every lane can finish on its own. What must padded lanes hold so that they add
#     nothing to it?
# HINT: Two loads with their own strides, `p_row, p_col` and `dp_row, dp_col`, under the mask `j < N`, padding
#     0; a `tl.sum` over `axis=0` gives one number; `ds` is a block of `BLOCK` lanes, stored under the mask.
# HINT: After the loads (each with `.to(tl.float32)`): `inner = tl.sum(p * dp, axis=0)`, and every lane of ds
#     is its p times the difference of its dp and `inner`. Store at `ds_ptr + i * ds_row + j * ds_col` with `mask=j
#     < N`.
# INCLUDE: flashlearn/kernels/softmax.py:softmax_backward_kernel


# INCLUDE: flashlearn/kernels/softmax.py:softmax_backward

# %%
flashlearn.check("softmax_backward", softmax_backward)

# %%
# flashlearn.hint("softmax_backward")

# %% [markdown]
# Break this one, too: leave out the inner product; take the plain mean; use `other=-float("inf")`; leave out
# `.to(tl.float32)`. The last one fails in two cases, one narrowly and one by far. Look at what is special about
# each.
#
# <details><summary><b>What to notice</b></summary>
#
# - In the case called *dp around 60* the mean of $dp$ is large and the deviations are small.
#   $dp_j - \langle p, dp\rangle$ subtracts two nearly equal numbers, so the rounding error of the inner product
#   dominates what remains. In exact arithmetic a constant in $dp$ changes nothing; in half precision it costs
#   digits. This time there is no such luck: `tl.sum` of fp16 numbers is an fp16 sum.
# - The case in bf16 fails narrowly, and no single element is off by too much. What is too large is the root mean
#   square of all errors: in our run 1.1 times what is allowed, where a kernel that sums in fp32 stays at two thirds
#   of it. In fp16, which keeps three more bits, the same fault stays at nine tenths, and passes. Ordinary random
#   numbers hardly show a sum in half precision; it takes data made for the purpose.
# - Two rows are read and one is written, $3MN$ elements in all. The kernel computes the formula, and builds no
#   Jacobian.
# - `inner` is one number per row. In attention it has a name, $\delta_i$, and lesson 03 shows that it can be
#   computed from $O$ and $dO$, without $p$ or $dp$.
#
# </details>
#
# ### Both together, against autograd
#
# The small example from start to end: $P = \mathrm{softmax}(S)$, then a given gradient $dP$, then $dS$. (How $dP$
# arises in attention is the first question of lesson 03.) Its first row is $(1, -2, 0)$, the one that you have
# worked with by hand.

# %%
dP = torch.tensor([[1, -2, 0], [0, 2, 1], [2, 0, 2], [1, 2, 2]], dtype=torch.float32, device=DEVICE)  # (4, 3)

forward = flashlearn.use("softmax_forward", softmax_forward)
backward = flashlearn.use("softmax_backward", softmax_backward)
P = forward(S)
dS = backward(P, dP)

leaf = S.clone().requires_grad_()
torch.softmax(leaf, dim=-1).backward(dP)

print(dS.cpu().numpy().round(4))
print("rows sum to zero:       ", bool(dS.sum(dim=1).abs().max() < 1e-6))
print("equal to autograd's dS: ", torch.allclose(dS, leaf.grad, atol=1e-6))

# %% [markdown]
# ## 10 · What you have now
#
# | | formula | remember |
# |---|---|---|
# | softmax | $p_k = e^{s_k - m} / \sum_l e^{s_l - m}$ | only differences count, so subtracting the maximum changes nothing |
# | its Jacobian | $\mathrm{diag}(p) - p\,p^\top$ | scaling and competition; symmetric; $J\,\mathbf 1 = 0$ |
# | for a row $P_i$ of shape $[1, N]$ | $\mathrm{diag}(P_i) - P_i^\top P_i$ | $P_i P_i^\top$ is one number |
# | its VJP | $ds = p \circ (dp - \langle p, dp\rangle)$ | share times deviation from the mean under $p$ |
# | its cost | $3N$ numbers, $O(N)$ operations | against $N^2$ |
# | padding forward | $-\infty$ | neutral for the maximum, and $e^{-\infty} = 0$ |
# | padding backward | $0$ | neutral for the inner product |
#
# ### Questions for yourself
#
# Answer before you unfold.
#
# **1.** $p = (\frac12, \frac12)$ and $dp = (3, 1)$. What is $ds$? And for $p = (1, 0)$ and the same $dp$? What does
# the second result mean for training?
#
# <details><summary>Answer</summary>
#
# The mean is 2, so $ds = (\frac12 \cdot 1, \frac12 \cdot (-1)) = (\frac12, -\frac12)$. For $p = (1, 0)$ the mean is
# 3: $ds = (1 \cdot 0, 0 \cdot (-2)) = (0, 0)$. The row is saturated. However wrong it is, no gradient reaches the
# scores, and the row stays as it is.
#
# </details>

# %% [markdown]
# **2.** To save time, someone subtracts one maximum of the *whole matrix* instead of one per row. Is the result
# right in exact arithmetic? In fp32? Which input shows it?
#
# <details><summary>Answer</summary>
#
# In exact arithmetic it is right: any number may be subtracted from a row, wherever it comes from. Nor does the
# gradient change. In fp32 nothing overflows, but a row whose scores all lie more than about 104 below the matrix's
# maximum has exponentials that are all 0 (on hardware that flushes subnormal numbers, more than about 87): $0/0$ is
# NaN. Two rows, $(0, 0)$ and $(200, 200)$, show it.
#
# </details>

# %% [markdown]
# **3.** A backward kernel subtracts the plain mean of $dp$ instead of the mean under $p$. It passes its tests. What
# do the tests have in common, and which property, tested in one line, would have caught it on nearly any other
# input?
#
# <details><summary>Answer</summary>
#
# In every tested row all shares are equal (all scores zero, say), so that both means agree; or all entries of $dp$
# are equal, so that both give zero. The property: $ds$ sums to zero over each row. With the plain mean $\mu$ the sum
# is $\langle p, dp\rangle - \mu$, which is zero only if the two means agree. With $p = (\frac16, \frac13, \frac12)$
# and $dp = (1, -2, 0)$ it is $-\frac12 + \frac13 = -\frac16$.
#
# </details>

# %% [markdown]
# ### Journal
#
# *Two or three sentences in your own words, to be read again in a month. How would you explain to a friend why the
# shares compete? Where did you mix up a gradient and a Jacobian, or a row and a column? Double-click here and
# write.*

# %% [markdown]
# ### What comes next
#
# Lesson 03 puts the softmax between two matrix products: $S = \alpha\,QK^\top$ before it, $O = PV$ after it. The
# formula of this lesson is its middle line, $dS = P \circ (dP - \delta)$, with one surprise: the inner product
# $\delta_i = \langle P_i, dP_i \rangle$ can be computed without $P$ and without $dP$. Lesson 04 comes back to $m_i$
# and $l_i$ and shows that one number per row is enough to compute $P$ again.
#
# **Sources.** Softmax by that name: J. Bridle, *Training stochastic model recognition algorithms as networks can
# lead to maximum mutual information estimation of parameters*, NIPS 1989. Subtracting the maximum, as "safe
# softmax": M. Milakov, N. Gimelshein, *Online normalizer calculation for softmax*, arXiv 1805.02867, section 2; its
# rounding errors: P. Blanchard, D. Higham, N. Higham, *Accurately computing the log-sum-exp and softmax functions*,
# IMA Journal of Numerical Analysis 41, 2021. Saturation and $1/\sqrt{D}$: A. Vaswani et al., *Attention is all you
# need*, NIPS 2017, section 3.2.1. The VJP in attention, written $dS_{ij} = P_{ij}(dP_{ij} - D_i)$: T. Dao et al.,
# *FlashAttention*, NeurIPS 2022, appendix B.2. The fused kernel and its count of traffic: Triton's tutorial 02,
# *Fused Softmax*.
