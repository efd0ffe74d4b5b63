# %% [markdown]
# # Gradients of matrix expressions
#
# A backward pass is a handful of matrix products, sums and broadcasts, and it is easy to get one of them almost
# right. Here you learn where they come from: what the derivative of a matrix with respect to a matrix is, why it is
# never built in practice, and the five rules that are used instead. With them you can write the backward pass of
# anything in this course, and check it before you run it.
#
# **Afterwards you can**
#
# - say what a Jacobian is, and draw that of a matrix product: where its entries are zero, and where they are not;
# - send a gradient back through $Y = XW$ with two matrix products, and say where the transposes go and why;
# - name the five rules (product, element-wise product, scaling, reduction, broadcast), and say what happens to
#   something that is used $k$ times;
# - use shapes to check every formula that you write, and say when that check is worth nothing;
# - write the backward pass of a linear layer in torch without autograd, and the gradient of its bias as a kernel.
#
# **You need** lesson 00, above all tiles with `[:, None]`, masks and `other=`, and the mathematics of matrix
# products and partial derivatives. You need not know *sympy*, the library that does algebra in Python: section 3
# begins with the ten lines of it that this course uses most.
#
# **It takes** about two hours: three symbolic answers and a function of one to three lines each, a kernel of eight
# lines, three questions at the beginning and three at the end.

# %%
import matplotlib.pyplot as plt
import sympy as sp
import torch
import triton
import triton.language as tl
from torch import Tensor

import flashlearn
from flashlearn import DEVICE
from flashlearn.lessons.lesson_01_gradients import pictures
from flashlearn.lessons.shared import example

# %% [markdown]
# ## Before you begin
#
# Three questions about what came before. Run the cell to read them, enter a letter for each number, and run it
# again. A wrong choice costs nothing; the reply says what it overlooks.

# %% tags=["recall"]
### BEGIN SOLUTION
# STUB: answers = {1: "", 2: "", 3: ""}
answers = {1: "b", 2: "c", 3: "a"}
### END SOLUTION
flashlearn.recall("01", answers)

# %% [markdown]
# ## 1 · A kernel, nudged
#
# Before any theory, an experiment. The kernel below adds a bias $b$ to every row of a matrix,
# $Y_{ij} = X_{ij} + b_j$. The loss is a weighted sum of the result, $L = \sum_{ij} w_{ij} Y_{ij}$, with given
# weights $w_{ij}$.
#
# **Predict:** by how much does $L$ change when $b_1$, and nothing else, grows by 1? The weights are in the cell.


# %% tags=["nbval-check-output"]
@triton.jit
def add_bias(x_ptr, b_ptr, y_ptr, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    i, j = tl.arange(0, BLOCK_M), tl.arange(0, BLOCK_N)
    # both must hold; & binds before <, so keep the brackets
    inside = (i < M)[:, None] & (j < N)[None, :]
    place = i[:, None] * N + j[None, :]
    x = tl.load(x_ptr + place, mask=inside)
    b = tl.load(b_ptr + j, mask=j < N)
    tl.store(y_ptr + place, x + b[None, :], mask=inside)


weights = torch.tensor([[1.0, -2.0, 0.0], [0.0, 2.0, 1.0], [2.0, 0.0, 2.0], [1.0, 2.0, 2.0]], device=DEVICE)


def loss_of(b: Tensor) -> float:
    x = torch.zeros(4, 3, device=DEVICE)
    y = torch.empty_like(x)
    add_bias[(1,)](x, b, y, 4, 3, BLOCK_M=4, BLOCK_N=4)
    return (weights * y).sum().item()


before = loss_of(torch.zeros(3, device=DEVICE))
for j in range(3):
    nudged = torch.zeros(3, device=DEVICE)
    nudged[j] = 1.0
    print(f"b_{j} + 1: the loss changes by {loss_of(nudged) - before}")

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - The change for $b_1$ is 2: column 1 of the weights is $(-2, 2, 0, 2)$, and *all four* count. The kernel used
#   $b_1$ in four rows, so there are four paths from $b_1$ to the loss.
# - You have just measured a gradient, $\partial L / \partial b$, with one launch for each of its entries. For the
#   parameters of a large model that would be billions of forward passes for one step of training. A backward pass
#   computes the whole gradient for about the price of two.
# - Forward, the kernel *broadcasts* one number to a column. What has to be done with a column of gradients in the
#   backward pass? In section 8 you write the kernel that does it.
#
# </details>

# %% [markdown]
# ## 2 · A Jacobian, and a gradient
#
# A function with several inputs and several outputs has a derivative for each pair of them. Written as a matrix,
# they are its *Jacobian*:
#
# > **Row $k$ holds the derivatives of output $k$.** Column $j$ holds those with respect to input $j$:
# > $J_{kj} = \partial y_k / \partial x_j$.
#
# So $J$ has as many rows as there are outputs and as many columns as there are inputs. An example with two inputs
# and three outputs:
#
# $$y = (x_0 x_1,\; x_0 + x_1^2,\; 3 x_0).$$
#
# **Predict** all six entries, then the shape, and then $J$ at the point $x = (2, 5)$.

# %% tags=["nbval-check-output"]
x = sp.symbols("x_0:2", real=True)
y = sp.Matrix([x[0] * x[1], x[0] + x[1] ** 2, 3 * x[0]])

J = y.jacobian(x)
at_2_5 = J.subs({x[0]: 2, x[1]: 5})
print(J)
print(at_2_5, at_2_5.shape)

# %% [markdown]
# A derivative is a claim about small steps. Column 1 says how each output changes when $x_1$ changes by a little and
# $x_0$ does not. Let us test that:


# %% tags=["nbval-check-output"]
def f(x0: float, x1: float) -> Tensor:
    return torch.tensor([x0 * x1, x0 + x1**2, 3 * x0], dtype=torch.float64)


step = 1e-6
print("measured", ((f(2, 5 + step) - f(2, 5)) / step).round(decimals=3).tolist())
print("column 1", [float(entry) for entry in at_2_5[:, 1]])

# %% [markdown]
# ### What training needs
#
# Training minimises one number, the loss $L$, and asks of everything else: *how does $L$ change if this changes?*
# The answer for a vector $x$ is the *gradient* of $L$ with respect to $x$, written $dx$ in this course:
#
# $$dx_j = \frac{\partial L}{\partial x_j}.$$
#
# **$dX$ always means $\partial L / \partial X$, and always has the shape of $X$:** one number for each entry.
#
# Say that $x$ affects the loss only through $y$, and that the gradient with respect to $y$ is already known, since a
# backward pass starts at the loss. Then the chain rule sums over all paths from $x_j$ to $L$, one through each
# output:
#
# $$dx_j = \sum_k \frac{\partial L}{\partial y_k} \frac{\partial y_k}{\partial x_j} = \sum_k dy_k\, J_{kj}, \qquad\text{that is,}\qquad dx = J^\top dy.$$
#
# This is called a *vector–Jacobian product*, VJP. A backward pass is made of nothing else.
#
# **Predict** $dx$ at the point $(2, 5)$ for $dy = (1, -2, 0)$, by hand.

# %% tags=["nbval-check-output"]
dy_hand = sp.Matrix([1, -2, 0])
print("Jᵀ dy   ", list(at_2_5.T * dy_hand))

leaf = torch.tensor([2.0, 5.0], dtype=torch.float64, requires_grad=True)
y_torch = torch.stack([leaf[0] * leaf[1], leaf[0] + leaf[1] ** 2, 3 * leaf[0]])
y_torch.backward(torch.tensor([1.0, -2.0, 0.0], dtype=torch.float64))
print("autograd", leaf.grad.tolist())

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - $1 \cdot 5 + (-2) \cdot 1 + 0 \cdot 3 = 3$ and $1 \cdot 2 + (-2) \cdot 10 + 0 \cdot 0 = -18$. Each entry of $dx$
#   is a column of $J$, weighted by $dy$.
# - `backward` takes $dy$ and leaves $dx$ in `.grad`. There is no matrix in its interface, and, as you will see,
#   none inside either.
#
# </details>
#
# ## 3 · A matrix as a function of a matrix
#
# ### Ten lines of sympy
#
# What follows is proved for matrices of *every* size. On paper you write $\sum_{i=0}^{n-1} x_i^2$ without saying
# what $n$ is. Sympy can do that as well, and these are the functions that the proofs use most:

# %% tags=["nbval-check-output"]
n = sp.Symbol("n", integer=True, positive=True)  # a size, never fixed
i, b = sp.symbols("i b", integer=True)  # two indices
x = sp.IndexedBase("x", real=True)  # has entries: x[i], for any index

total = sp.Sum(x[i] ** 2, (i, 0, n - 1))  # written down, not added up: from 0 to n − 1
slope = sp.diff(total, x[b])  # with respect to one entry, x[b]
print(slope)

done = slope.doit()  # evaluate the sum, as far as that is possible
print(done)

b_is_an_index = sp.Q.ge(b, 0) & sp.Q.le(b, n - 1)  # what we know and sympy does not: 0 ≤ b ≤ n − 1
print(sp.refine(done, b_is_an_index))

# %% [markdown]
# Read the three lines. `KroneckerDelta(b, i)` is 1 where $b = i$ and 0 elsewhere: only one term of the sum depends
# on $x_b$. `Piecewise` says "$2x_b$ if there is such an entry at all, and 0 otherwise". `sp.refine` is told that
# there is, and what remains is what you would have written yourself. Apart from that, `sp.Matrix` is a matrix with
# as many entries as you give it, `.T` its transpose, and `.subs({x: 2})` substitutes a number for a symbol.
#
# ### The example of this course
#
# Attention is made of matrix products, so from now on inputs and outputs are matrices. Here is the small example
# that runs through the whole course: four queries, three keys, two numbers each.

# %% tags=["nbval-check-output"]
print("Q, 4 queries:", example.Q.tolist())
print("K, 3 keys:   ", example.K.tolist())
print("V, 3 values: ", example.V.tolist())
print("dO:          ", example.dO.tolist())
print("scores Q Kᵀ: ", (example.Q @ example.K.T).tolist())

# %% [markdown]
# $S_q = 4$, $S_k = 3$ and $D = 2$ are three different numbers, and that is on purpose (section 6). Attention's
# scores are $S = \alpha\, Q K^\top$ with $\alpha = 1/\sqrt D$, so row 0 of $S$ is $(1, 2, 3)/\sqrt 2$. $V$ and $dO$
# are used below and in later lessons.
#
# The scores are an instance of a product of two matrices,
#
# $$Y = X W, \qquad Y_{ij} = \sum_l X_{il} W_{lj}, \qquad [M \times K] \cdot [K \times N] = [M \times N],$$
#
# with $X = Q$ and $W = K^\top$. (The inner size of a matrix product is usually called $K$, and so are the keys. In
# this lesson $M$, $K$, $N$ are sizes; the keys appear as `example.K`.)
#
# How does $Y_{ij}$ change when one entry $X_{ab}$ changes? In the next cell the sizes are symbols and the sum is
# never expanded: what it shows holds for **every $M$, $K$, $N$**. All that sympy is told is that $b$ is one of the
# columns of $X$.

# %% tags=["nbval-check-output"]
M, K, N = sp.symbols("M K N", integer=True, positive=True)
i, j, l, a, b = sp.symbols("i j l a b", integer=True)
X, W = sp.IndexedBase("X", real=True), sp.IndexedBase("W", real=True)


def within(index, size):
    return sp.Q.ge(index, 0) & sp.Q.le(index, size - 1)


Y_ij = sp.Sum(X[i, l] * W[l, j], (l, 0, K - 1))

by_X = sp.refine(sp.diff(Y_ij, X[a, b]).doit(), within(b, K))
by_X

# %% [markdown]
# $\delta_{ai}$ is Kronecker's delta: 1 if $a = i$, 0 otherwise. So $\partial Y_{ij} / \partial X_{ab}$ is $W_{bj}$
# if $Y_{ij}$ is in row $a$, and zero otherwise. **Row $i$ of $Y$ depends on row $i$ of $X$ and on no other row.**
#
# To see it as a matrix, inputs and outputs have to be written as vectors. We take them row by row, *row-major*, as
# they are in memory: $\mathrm{vec}(X) = (X_{00}, X_{01}, X_{02}, X_{10}, \dots)$. For a $2 \times 3$ matrix times a
# $3 \times 4$ matrix that is 6 inputs and 8 outputs.
#
# **Predict:** how many of the 48 entries can be nonzero, and which pattern do they form?

# %%
pictures.product_jacobian(M=2, K=3, N=4, by="X", labels=False)

# %% [markdown]
# The matrix is *block-diagonal*: one block for each row of $X$, and zeros elsewhere. No row of $Y$ mixes rows of
# $X$, so the derivatives do not either. What the coloured squares contain is for you to find.
#
# ### Exercise: `matmul_jacobian` · warm-up
#
# Write this matrix for any sizes. `X` is a sympy `Matrix` of shape $M \times K$, `W` one of shape $K \times N$; what
# you return is $MN \times MK$, with rows and columns in row-major order.
#
# Useful pieces: `W.T` is the transposed matrix; `X.rows` is $M$; `sp.diag(A, B)` puts two matrices on a diagonal,
# and `sp.diag(*matrices)` a whole list of them; `sp.eye(n)` is the identity. The *Kronecker product* $A \otimes B$,
# `sp.kronecker_product(A, B)`, puts $A_{ij} B$ where $A$ has $A_{ij}$.
#
# The check calls your function with numbers first, then with symbols, and shows a counterexample worked out in
# small numbers if it finds one.


# %% exercise="matmul_jacobian"
# HINT: Row $i$ of $Y$ is row $i$ of $X$ times $W$, and no other row of $X$ takes part. So cut $J$ into $M
#     \times M$ blocks, one for each pair of a row of $Y$ and a row of $X$. Which blocks are zero, and what do
#     the others have in common?
# HINT: A block that is not zero has the $N$ outputs of a row of $Y$ as its rows and the $K$ inputs of a row
#     of $X$ as its columns: entry $(j, l)$ is $\partial Y_{ij} / \partial X_{il} = W_{lj}$. `sp.diag(A, B,
#     …)` puts matrices on a diagonal, and `[A] * 3` is a list of three of them.
# HINT: `sp.diag(*[…] * X.rows)`: the same block for every row of X. Which block? Its rows are outputs, its
#     columns inputs, so it has $N$ rows and $K$ columns.
def matmul_jacobian(X: sp.Matrix, W: sp.Matrix) -> sp.Matrix:
    """J[Y_ij, X_ab] = ∂Y_ij/∂X_ab of Y = X W, both row by row: [M, K], [K, N] → [M N, M K]."""
    ### BEGIN SOLUTION
    # STUB: raise NotImplementedError("TODO matmul_jacobian: the M N × M K matrix, its blocks made from W")
    return sp.diag(*[W.T] * X.rows)
    ### END SOLUTION


# %%
flashlearn.check("matmul_jacobian", matmul_jacobian)

# %%
# flashlearn.hint("matmul_jacobian")

# %% [markdown]
# Your function is a formula. What does sympy find when it is given the eight outputs and the six inputs and
# differentiates every output with respect to every input? This proves the claim for $2 \times 3 \cdot 3 \times 4$
# only; the derivation above was for all sizes. Once your check has passed, look at the picture again, this time with
# the entries filled in.

# %%
X23 = sp.Matrix(2, 3, sp.symbols("X_:2(:3)", real=True))
W34 = sp.Matrix(3, 4, sp.symbols("W_:3(:4)", real=True))
vec_Y = sp.Matrix(list(X23 * W34))  # list() of a Matrix goes row by row

differentiated = vec_Y.jacobian(list(X23))
blocks = sp.Matrix(flashlearn.use("matmul_jacobian", matmul_jacobian)(X23, W34))
assert differentiated == blocks

# %%
pictures.product_jacobian(M=2, K=3, N=4, by="X")

# %% [markdown]
# <details><summary><b>What to notice</b>, once your check has passed</summary>
#
# - All blocks are the same, and each is $W^\top$, not $W$: outputs are rows, inputs are columns, and
#   $\partial Y_{ij} / \partial X_{il}$ is $W_{lj}$ with the indices in the other order.
# - As a Kronecker product, $\partial\, \mathrm{vec}(Y) / \partial\, \mathrm{vec}(X) = I_M \otimes W^\top$. Try it
#   with `sp.kronecker_product`.
#
# </details>

# %% [markdown]
# ### With respect to the other factor
#
# Now keep $X$ fixed and vary $W$. By symmetry one might expect a block diagonal again. For **every $M$, $K$, $N$**:

# %% tags=["nbval-check-output"]
by_W = sp.refine(sp.diff(Y_ij, W[a, b]).doit(), within(a, K))
by_W

# %% [markdown]
# **Predict** the picture for $2 \times 3 \cdot 3 \times 4$: 8 outputs, 12 inputs. Is it block-diagonal?

# %%
pictures.product_jacobian(M=2, K=3, N=4, by="W")

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - It is not block-diagonal: no block is zero; each of the $2 \times 3$ blocks is $X_{ia}$ times an identity. As a
#   Kronecker product, $X \otimes I_N$.
# - The reason is which entries depend on which. A row of $Y$ uses one row of $X$, but **all** of $W$. Column $j$ of
#   $Y$, on the other hand, uses only column $j$ of $W$.
# - So the structure is there, in columns, and row-major order hides it: it puts the entries of one column far apart.
#   With inputs and outputs taken column by column, the same Jacobian is block-diagonal with $X$ in each block. The
#   next cell does that.
#
# </details>

# %%
assert vec_Y.jacobian(list(W34)) == sp.kronecker_product(X23, sp.eye(4))

columns_of_Y = sp.Matrix(list((X23 * W34).T))  # row by row of the transpose: column by column
assert columns_of_Y.jacobian(list(W34.T)) == sp.diag(X23, X23, X23, X23)

# %% [markdown]
# > ### A claim to test: ∂S/∂Q = α Kᵀ
# >
# > **The claim.** One sometimes reads: since $S = \alpha\,QK^\top$, the derivative is
# > $\partial S / \partial Q = \alpha K^\top$, as it would be for numbers.
# >
# > **The experiment.** Count, at the example's sizes. **Predict** how many entries $\partial S / \partial Q$ has, and
# > how many $K^\top$ has.

# %% tags=["nbval-check-output"]
full = torch.autograd.functional.jacobian(lambda Q: example.ALPHA * Q @ example.K.T, example.Q)
print("∂S/∂Q has the shape", tuple(full.shape), "and", full.numel(), "entries")
print("Kᵀ    has the shape", tuple(example.K.T.shape), "   and ", example.K.numel(), "entries")

as_matrix = full.reshape(4 * 3, 4 * 2)
print("I ⊗ K, times alpha:", torch.equal(as_matrix, torch.kron(torch.eye(4), example.ALPHA * example.K)))

# %% [markdown]
# > **The verdict.** The derivative of a $4 \times 3$ matrix with respect to a $4 \times 2$ matrix has four indices
# > and 96 entries. As a matrix it is $\alpha\,(I \otimes K)$: your Jacobian with $W = K^\top$, so its blocks are
# > $W^\top = K$, and not $K^\top$. What the claim has in mind is one factor of a VJP,
# > $dQ = dS \cdot \partial S / \partial Q$. Read like that, it gives $\alpha\,dS\,K^\top$, whose shapes do not
# > match: $[4 \times 3] \cdot [2 \times 3]$. Section 5 derives the right one. The derivative of a matrix with
# > respect to a matrix is not "the other factor"; only its *product with a gradient* is nearly that simple.

# %% [markdown]
# ## 4 · Never built
#
# In the small example the Jacobian is $12 \times 8$. Now a real layer: one of the matrices in the feed-forward part
# of a 7-billion-parameter language model has $K = 4096$ inputs and $N = 11008$ outputs. Send a sequence of 4096
# tokens through it, so that $M = 4096$, at two bytes per number.
#
# **Predict**, to the nearest power of a thousand: how many bytes does $\partial Y / \partial X$ take? And how many
# do $X$ and $W$ take?

# %% tags=["nbval-check-output"]
tokens, features_in, features_out, size = 4096, 4096, 11008, 2
matrices = {
    "∂Y/∂X": (tokens * features_out, tokens * features_in),
    "∂Y/∂W": (tokens * features_out, features_in * features_out),
    "W    ": (features_in, features_out),
    "X    ": (tokens, features_in),
}
for name, (rows, columns) in matrices.items():
    print(f"{name}  {rows:>10,} × {columns:<10,}  {pictures.in_words(rows * columns * size):>8}")

bytes_of_X, bytes_of_W = tokens * features_in * size, features_in * features_out * size
assert 2 * bytes_of_X < bytes_of_W < 3 * bytes_of_X

# %%
pictures.sizes(M=4096, K=4096, N=11008)

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - The axis is logarithmic: the long bars are tens of millions of times as long as the short ones. No GPU can store
#   such a matrix, and it would be almost entirely zeros: one entry in 4096 of $\partial Y / \partial X$ is in a
#   block, and the blocks are 4096 copies of the same $W^\top$.
# - What a backward pass needs of $\partial Y / \partial X$ is in $W$, and what it needs of $\partial Y / \partial W$
#   is in $X$. The forward pass has just used both. This is why training usually keeps the *activations* $X$ of every
#   layer until the backward pass needs them.
# - Which of the two takes more memory depends on the batch. $X$ has a row for every token, and $W$ does not: with one
#   sequence of this length $W$ is the larger one, with three sequences $X$ is (the cell asserts both). Besides, training
#   keeps a gradient and the optimiser's numbers for every weight. With few tokens these are most of the memory; with
#   many tokens the activations are.
#
# </details>
#
# ## 5 · The product with the Jacobian
#
# So multiply first, and look at what remains. $dX_{ab} = \sum_{ij} dY_{ij}\, \partial Y_{ij} / \partial X_{ab}$, and
# the derivative is $\delta_{ai} W_{bj}$. Sum over $i$: the delta picks $i = a$, and a single sum is left. For
# **every $M$, $K$, $N$**:

# %% tags=["nbval-check-output"]
dY = sp.IndexedBase("dY", real=True)


def collapse(term, index, size, known):
    """Σ over `index` from 0 to size − 1, where a delta picks one term."""
    return sp.refine(sp.Sum(term, (index, 0, size - 1)).doit(), known)


dX_ab = sp.Sum(collapse(dY[i, j] * by_X, i, M, within(a, M)), (j, 0, N - 1))
dW_ab = sp.Sum(collapse(dY[i, j] * by_W, j, N, within(b, N)), (i, 0, M - 1))

print("dX[a, b] =", dX_ab)
print("dW[a, b] =", dW_ab)

# %% [markdown]
# Matrices of more than a petabyte have become sums over one index. Sums over one index are matrix products; read off
# which ones.
#
# ### Exercise: `matmul_vjp` · core
#
# Write both gradients as products of matrices. `X` is $M \times K$, `W` is $K \times N$, `dY` is $M \times N$, all
# sympy matrices; return the pair `dX, dW`. `*` between matrices is the matrix product; `.T` transposes.
#
# Do it twice, if you like: once from the sums above, and once from the shapes alone. $dX$ must be $M \times K$, and
# you have an $M \times N$ and a $K \times N$ matrix to make it from.


# %% exercise="matmul_vjp"
# HINT: Read the two sums that sympy found as matrix products. In $\sum_j dY_{aj} W_{bj}$ the summed index
#     is last in both factors; a matrix product has it last in the first factor and first in the second.
# HINT: dX is $M \times K$ and made of dY ($M \times N$) and W ($K \times N$); dW is $K \times N$ and made of
#     X ($M \times K$) and dY. In each product one factor has to be transposed: `.T`.
# HINT: dY is first in one product and last in the other: `dY * …` is dX and `… * dY` is dW. Each gap
#     is one factor, transposed, and only one of the two has a shape that fits.
def matmul_vjp(X: sp.Matrix, W: sp.Matrix, dY: sp.Matrix) -> tuple[sp.Matrix, sp.Matrix]:
    """dX [M, K] and dW [K, N] of Y = X W, from X [M, K], W [K, N] and dY [M, N]."""
    ### BEGIN SOLUTION
    # STUB: raise NotImplementedError("TODO matmul_vjp: dX and dW, each a product of two matrices")
    return dY * W.T, X.T * dY
    ### END SOLUTION


# %%
flashlearn.check("matmul_vjp", matmul_vjp)

# %%
# flashlearn.hint("matmul_vjp")

# %% [markdown]
# The same once more with whole matrices, again for **every $M$, $K$, $N$**. For differentiation a loss may be
# replaced by $\sum_{ij} dY_{ij} Y_{ij}$ with $dY$ held constant: it has the same gradient with respect to $Y$, hence
# with respect to everything before $Y$. That sum is a trace, $\mathrm{tr}(dY^\top Y)$, and sympy can differentiate
# traces. It is a quick test of a formula for a gradient, so remember the line. Run it once your check has passed: it
# prints what sympy finds, and compares it with yours at $2 \times 3 \cdot 3 \times 4$.

# %%
Xm, Wm = sp.MatrixSymbol("X", M, K), sp.MatrixSymbol("W", K, N)
dYm = sp.MatrixSymbol("dY", M, N)
pretend_loss = sp.Trace(dYm.T * Xm * Wm)

small = {M: 2, K: 3, N: 4}
X_, W_, dY_ = (sp.Matrix(symbol.subs(small).as_explicit()) for symbol in (Xm, Wm, dYm))
yours = flashlearn.use("matmul_vjp", matmul_vjp)(X_, W_, dY_)

for matrix, gradient_of_it in zip((Xm, Wm), yours, strict=True):
    found = pretend_loss.diff(matrix)
    print(f"d{matrix} =", found)
    assert sp.expand(sp.Matrix(found.subs(small).as_explicit()) - sp.Matrix(gradient_of_it)).is_zero_matrix

# %% [markdown]
# And it is $J^\top dY$, as it must be. The next cell compares your two functions with each other, at
# $2 \times 3 \cdot 3 \times 4$:

# %%
dY24 = sp.Matrix(2, 4, sp.symbols("dY_:2(:4)", real=True))
dX23, dW34 = map(sp.Matrix, flashlearn.use("matmul_vjp", matmul_vjp)(X23, W34, dY24))

assert sp.expand(blocks.T * sp.Matrix(list(dY24)) - sp.Matrix(list(dX23))) == sp.zeros(6, 1)
by_W34 = sp.kronecker_product(X23, sp.eye(4))
assert sp.expand(by_W34.T * sp.Matrix(list(dY24)) - sp.Matrix(list(dW34))) == sp.zeros(12, 1)

# %% [markdown]
# <details><summary><b>What to notice</b>, once your check has passed</summary>
#
# - Read $dX_{ab} = \sum_j dY_{aj} W_{bj}$ as a sentence: *every output that used $X_{ab}$ reports what it is worth,
#   times the weight with which it used it.* Nothing else is in the formula.
# - The transpose has a meaning. Forward, $W_{bj}$ carries input $b$ to output $j$. Backward, the same number carries
#   the gradient from output $j$ to input $b$: the same connection, in the opposite direction.
# - Two products backward for one forward: the backward pass of a network of matrix products takes about twice as
#   many operations as its forward pass.
#
# </details>
#
# ## 6 · Checking shapes, a habit
#
# $dX$ has the shape of $X$. If you know only that, and the two matrices it is made of, how much is left to guess?
# The next cell tries all eight products of $dY$ and $W$, each transposed or not, in both orders, and prints those
# whose result has the shape of $X$.
#
# **Predict** how many there are for sizes 4, 2, 3; for $M = 4$ and $K = N = 3$; and for three equal sizes.


# %% tags=["nbval-check-output"]
def products_of_shape(wanted: tuple[int, int], **matrices: tuple[int, int]) -> list[str]:
    """All products of two matrices, transposed or not, in either order, that have the wanted shape."""
    spellings = [
        [(name, shape), (name + "ᵀ", shape[::-1])] for name, shape in matrices.items()
    ]  # two spellings of each
    found = []
    for first, second in (spellings, spellings[::-1]):
        for left, (rows, inner) in first:
            for right, (inner_too, columns) in second:
                if inner == inner_too and (rows, columns) == wanted:
                    found.append(f"{left} {right}")
    return found


for m, k, n in ((4, 2, 3), (4, 3, 3), (3, 3, 3)):
    fitting = products_of_shape((m, k), dY=(m, n), W=(k, n))
    print(f"M={m} K={k} N={n}: {len(fitting)} fit: {', '.join(fitting)}")

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - With three different sizes a single candidate is left, and it is the right one. You need not remember where the
#   transpose goes or in which order: the shapes determine both.
# - With two equal sizes there are two, and with three equal sizes all eight. **A shape check is only as good as your
#   sizes are different.** This is why the example of this course has 4, 3 and 2, and why a test that uses only
#   square matrices tests little.
# - A scalar factor does not change a shape. Nothing here would notice a forgotten $\alpha$, a missing sign, or a
#   mean in place of a sum.
#
# </details>

# %% [markdown]
# > ### A claim to test: dK = dS · Q
# >
# > **The claim.** One sometimes reads: with $S = \alpha\,QK^\top$, the gradient with respect to the keys is
# > $dK = dS \cdot Q$. It is easily believed where there are as many queries as keys.
# >
# > **The experiment.** First with four queries and *four* keys. **Predict** whether torch objects, and whether the
# > numbers are right. Then with the example's three keys.

# %% tags=["nbval-check-output"]
four_keys = torch.cat([example.K, torch.tensor([[2.0, -1.0]], dtype=torch.float64)])  # (4, 2)
dS_square = torch.tensor([[1, -2, 0, 3], [0, 1, 1, 0], [2, 0, -1, 1], [0, 4, 0, 1]], dtype=torch.float64)

leaf = four_keys.clone().requires_grad_()
(example.ALPHA * example.Q @ leaf.T).backward(dS_square)
claimed = dS_square @ example.Q
print("claimed", claimed.tolist())
print("torch, divided by alpha", (leaf.grad / example.ALPHA).round(decimals=6).tolist())

dS = example.dO @ example.V.T  # (4, 3), any gradient by S will do
try:
    dS @ example.Q
except RuntimeError as error:
    print("three keys:", error)

# %% [markdown]
# > **The verdict.** It is wrong in two places, and with $S_q = S_k$ no shape reveals it. At $4 \times 3$ the first
# > mistake cannot be made: `dS @ Q` does not exist. The second, the missing $\alpha$, never shows in a shape. Choose
# > sizes that differ, in derivations, in tests, and in your head.
# >
# > Which formula is right? Row $j$ of $dK$ collects from all queries that attended to key $j$. Lesson 03 asks you
# > for it, but your `matmul_vjp` already computes it: take $X = Q$ and $W = K^\top$, and remember that $d(K^\top)$
# > is $dK$ transposed.

# %%
numbers = example.symbolic()
dY_scaled = numbers.alpha * numbers.dO * numbers.V.T  # S = alpha Y, so dY = alpha dS
_, dK_transposed = flashlearn.use("matmul_vjp", matmul_vjp)(numbers.Q, numbers.K.T, dY_scaled)

leaf = example.K.clone().requires_grad_()
(example.ALPHA * example.Q @ leaf.T).backward(dS)
from_yours = torch.tensor(sp.Matrix(dK_transposed).T.evalf().tolist(), dtype=torch.float64)
assert torch.allclose(leaf.grad, from_yours)

# %% [markdown]
# ### Exercise: `linear_backward` · core
#
# Now with numbers: the backward pass of a linear layer $y = x\,w$ in plain torch, without autograd.
#
# - `w` is `[K, N]`; `x` is `[M, K]` and `dy` is `[M, N]`, or both have a leading batch dimension: `[B, M, K]` and
#   `[B, M, N]`;
# - return `dx` in the shape of `x` and `dw` in the shape of `w`, whatever the batch. (How often is an entry of `w`
#   used?);
# - the three share a dtype, fp32, fp16 or bf16, and `dx` and `dw` have it, too;
# - `x` and `dy` may be views whose memory is in another order: `.reshape` and `.flatten` can handle that, `.view` may
#   not.
#
# Useful pieces: `@` multiplies matrices in the last two dimensions and repeats over the leading ones; `t.mT`
# transposes the last two; `t.flatten(0, -2)` turns `[B, M, K]` into `[B·M, K]`.


# %% exercise="linear_backward"
# HINT: It is `matmul_vjp` with tensors. What is new are the leading dimensions: x may be $[B, M, K]$, and w
#     serves all $B \cdot M$ rows. What happens to the gradient of something that is used that often?
# HINT: `dy @ w.mT` works for any number of leading dimensions (`.mT` transposes the last two). For dw turn x
#     and dy into matrices of $B \cdot M$ rows first: `t.flatten(0, -2)` does that for 2 dimensions and for 3.
# HINT: `dx = dy @ w.mT`. For dw, write `rows_of_x = x.flatten(0, -2)` and the same for dy: these two are the
#     $X$ and the $dY$ of `matmul_vjp`.
def linear_backward(x: Tensor, w: Tensor, dy: Tensor) -> tuple[Tensor, Tensor]:
    """dx [..., M, K] and dw [K, N] of y = x w, from x [..., M, K], w [K, N] and dy [..., M, N]."""
    ### BEGIN SOLUTION
    # STUB: raise NotImplementedError("TODO linear_backward: dx in the shape of x, dw in the shape of w")
    dx = dy @ w.mT
    dw = x.flatten(0, -2).mT @ dy.flatten(0, -2)  # every row of every sequence used w: gradients add
    return dx, dw
    ### END SOLUTION


# %%
flashlearn.check("linear_backward", linear_backward)

# %%
# flashlearn.hint("linear_backward")

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - $X^\top dY = \sum_m X_m^\top dY_m$, a sum over rows: each token adds its contribution to the gradient of $w$. A
#   batch dimension only means more rows. If yours came out as `[B, K, N]`, the last sum was missing.
# - `torch.nn.Linear` stores its weight as `[N, K]` and computes $x\,w^\top$. Then $dx = dy\,w$ and $dw = dy^\top x$.
#   It is the same rule with other letters: do not learn the transposes by heart; the shapes tell you.
#
# </details>
#
# ## 7 · Five rules
#
# The matrix product was the hard one. Every backward pass in this course is built from five kinds of steps (and the
# derivatives of scalar functions such as the exponential); the product is the first of them:
#
# | rule | forward |
# |---|---|
# | product | $Y = X W$ |
# | element-wise product | $C_{ij} = A_{ij} B_{ij}$, written $C = A \circ B$ |
# | scaling | $C = \alpha A$ |
# | reduction | $s_i = \sum_j A_{ij}$ |
# | broadcast | $C_{ij} = b_j$ |
#
# The other four, for **every $M$ and $N$**. The helper computes
# $\sum_{ij} dC_{ij}\, \partial C_{ij} / \partial(\text{entry})$ one sum at a time, as above. **Predict** what it
# prints for an element-wise product and for a scaling. Which of the two needs a matrix that has to be kept?

# %% tags=["nbval-check-output"]
A, B, dC = sp.IndexedBase("A", real=True), sp.IndexedBase("B", real=True), sp.IndexedBase("dC", real=True)
alpha = sp.Symbol("alpha", real=True)
at_a_b = within(a, M) & within(b, N)


def gradient(C_ij, entry):
    along_the_row = collapse(dC[i, j] * sp.diff(C_ij, entry), j, N, at_a_b)
    return collapse(along_the_row, i, M, at_a_b)


by_elements = gradient(A[i, j] * B[i, j], A[a, b])
by_scaling = gradient(alpha * A[i, j], A[a, b])
print("element-wise product: dA[a, b] =", by_elements)
print("scaling:              dA[a, b] =", by_scaling)

# %% [markdown]
# Reduction and broadcast are next. **Predict** both results before you run the cell: on which indices does the
# gradient with respect to $A_{ab}$ depend, and on which the one with respect to $b_b$? How are the two rules
# related?

# %% tags=["nbval-check-output"]
ds, bias = sp.IndexedBase("ds", real=True), sp.IndexedBase("b", real=True)

s_i = sp.Sum(A[i, l], (l, 0, N - 1))  # reduction: a row becomes one number
ds_i_by_A = sp.refine(sp.diff(s_i, A[a, b]).doit(), at_a_b)
dA_ab = collapse(ds[i] * ds_i_by_A, i, M, at_a_b)

db_b = gradient(bias[j], bias[b])  # broadcast: one number becomes a column

print("reduction: dA[a, b] =", dA_ab)
print("broadcast: db[b]    =", db_b)

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - $dA_{ab} = ds_a$, with no $b$ in it: every entry of a row contributes equally to the sum, so every entry gets the
#   same gradient. A sum forward is a broadcast backward.
# - $db_b = \sum_i dC_{ib}$: the bias was broadcast to every row, so it is used $M$ times, and $M$ gradients add.
# - So each of the two is the other's backward pass.
# - torch broadcasts silently when you add a `[N]` to an `[M, N]`. Its backward pass has to sum, so every such
#   addition in the forward pass means a reduction in the backward pass.
#
# </details>
#
# All five together, drawn with $M = 4$, $K = 2$, $N = 3$. Forward is on the left, backward on the right; a gradient
# has the shape and the colour of its matrix.

# %%
pictures.five_rules()

# %% [markdown]
# | rule | forward | backward |
# |---|---|---|
# | product | $Y = X W$ | $dX = dY\,W^\top$, $\;dW = X^\top dY$ |
# | element-wise product | $C = A \circ B$ | $dA = dC \circ B$, $\;dB = A \circ dC$ |
# | scaling | $C = \alpha A$ | $dA = \alpha\,dC$ |
# | reduction | $s_i = \sum_j A_{ij}$ | $dA_{ij} = ds_i$: the gradient broadcasts |
# | broadcast | $C_{ij} = b_j$ | $db_j = \sum_i dC_{ij}$: the gradient reduces |

# %%
assert by_elements == dC[a, b] * B[a, b] and by_scaling == alpha * dC[a, b]
assert dA_ab == ds[a] and db_b == sp.Sum(dC[i, b], (i, 0, M - 1))

# %% [markdown]
# And one sentence for everything that appears more than once:
#
# > **What is used $k$ times gets $k$ gradients, and they add.**
#
# The rule for broadcasts is this sentence, with $k = M$. Here is a less obvious example. Let one matrix be both
# factors: $Y = X X^\top$, where queries and keys are the same. **Predict** $dX$ for **every size**. Then see how it
# is done: name the two uses differently, send the gradient back to each, and add.

# %%
dYs = sp.MatrixSymbol("dY", M, M)
first, second = sp.MatrixSymbol("X_1", M, K), sp.MatrixSymbol("X_2", M, K)
two_uses = sp.Trace(dYs.T * first * second.T)
one_matrix = sp.Trace(dYs.T * Xm * Xm.T)

by_first = two_uses.diff(first).subs(second, Xm).subs(first, Xm)
by_second = two_uses.diff(second).subs(second, Xm).subs(first, Xm)
print("by the first use ", by_first)
print("by the second use", by_second)
print("dX =             ", one_matrix.diff(Xm))
assert one_matrix.diff(Xm) == by_first + by_second

# %% [markdown]
# ### Exercise: `reduce_and_broadcast_vjp` · stretch
#
# Three of the rules at once: scaling, reduction and broadcast. From each row of $X$ its mean is subtracted, and a
# bias is added that all rows share. (Layer normalisation also begins by subtracting the mean.)
#
# $$Y_{ij} = X_{ij} - \frac{1}{N} \sum_l X_{il} + b_j .$$
#
# Given `dY`, $M \times N$, return `dX`, $M \times N$, and `db`, $1 \times N$. Go through it backwards, one operation
# at a time, and count how often $X$ is used. (Neither $X$ nor $b$ is an argument. Why not?)
#
# Useful pieces: `dY.rows` is $M$ and `dY.cols` is $N$; `sp.ones(m, n)` is a matrix of ones. A product with a column
# of ones sums each row, and a column times a row of ones is a broadcast: `dY * sp.ones(dY.cols, 1)` is $M \times 1$.
# Entry by entry works as well: `sp.Matrix(rows, columns, lambda i, j: …)`.


# %% exercise="reduce_and_broadcast_vjp"
# HINT: Go backwards, one operation at a time. Y is a sum of three terms, and each gets all of dY. The first
#     is X itself. The second went X → sum of a row → times −1/N → broadcast along the row. The third is b,
#     broadcast to all rows.
# HINT: Backwards, a sum becomes a broadcast and a broadcast becomes a sum. The second term: sum dY along each
#     row (that is $[M, 1]$), multiply by −1/N, broadcast the number along the row ($[M, N]$). Then add the
#     two gradients of X. `dY * sp.ones(N, 1)` sums rows, `v * sp.ones(1, N)` broadcasts a column.
# HINT: `row_means = dY * sp.ones(dY.cols, 1) / dY.cols` has one number for each row. Broadcast it along the
#     row and subtract it from dY: that is dX. For db put the ones on the other side of dY.
def reduce_and_broadcast_vjp(dY: sp.Matrix) -> tuple[sp.Matrix, sp.Matrix]:
    """dX [M, N] and db [1, N] of Y_ij = X_ij − mean of row i of X + b_j, from dY [M, N]."""
    ### BEGIN SOLUTION
    # STUB: raise NotImplementedError("TODO reduce_and_broadcast_vjp: dX by two paths that add, db by a sum")
    row_means = dY * sp.ones(dY.cols, 1) / dY.cols
    dX = dY - row_means * sp.ones(1, dY.cols)
    db = sp.ones(1, dY.rows) * dY
    return dX, db
    ### END SOLUTION


# %%
flashlearn.check("reduce_and_broadcast_vjp", reduce_and_broadcast_vjp)

# %%
# flashlearn.hint("reduce_and_broadcast_vjp")

# %% [markdown]
# Has your check passed? Then let sympy derive the same for **every $M$ and $N$**, and compare it with yours at
# $2 \times 3$. After that come numbers: the gradient $dO\,V^\top$ of the running example, whose row 0 is
# $(1, -2, 0)$. **Predict** row 0 of $dX$, and the sum of each row.

# %% tags=["nbval-check-output"]
centred = flashlearn.use("reduce_and_broadcast_vjp", reduce_and_broadcast_vjp)

Y_centred = A[i, j] - s_i / N + bias[j]
by_A = sp.refine(sp.diff(Y_centred, A[a, b]).doit(), at_a_b)
through_both = collapse(collapse(dC[i, j] * by_A, j, N, at_a_b), i, M, at_a_b)
print("dX[a, b] =", sp.expand(through_both))

dX_yours = sp.Matrix(centred(sp.Matrix(2, 3, lambda row, column: dC[row, column]))[0])
for row in range(2):
    for column in range(3):
        derived = through_both.subs({N: 3, a: row, b: column}).doit()
        assert sp.expand(derived - dX_yours[row, column]) == 0

numbers = example.symbolic()
dX_hand, db_hand = map(sp.Matrix, centred(numbers.dO * numbers.V.T))
print("row 0 of dX", list(dX_hand[0, :]))
print("sums of its rows", [sum(dX_hand[row, :]) for row in range(4)])
print("db", list(db_hand))

# %% [markdown]
# <details><summary><b>What to notice</b>, once your check has passed</summary>
#
# - $dX = dY$ minus its row means: centring a row in the forward pass centres its gradient in the backward pass. The
#   mean of $(1, -2, 0)$ is $-\frac13$.
# - Every row of $dX$ sums to zero. It has to: adding a constant to a row of $X$ changes nothing in $Y$, so the loss
#   does not depend on the row's mean. Lesson 02 finds the same for softmax.
# - $X$ and $b$ are not needed, because $Y$ depends on them linearly. The element-wise product and the matrix product
#   are different: their backward passes need the factors, so the factors must be kept (or computed again).
#
# </details>

# %% [markdown]
# ## 8 · The gradient of a bias, as a kernel
#
# A linear layer with a bias, $Y = XW + b$, has three gradients. Two are matrix products; the third is the broadcast
# rule, $db_j = \sum_i dY_{ij}$: the sum of every column, which you measured in section 1. $M$ is the number of
# tokens in the batch, which can be any number, so it need not be a multiple of a block size.
#
# In lesson 00 a program took a whole row. A column of a batch can be much longer, 4096 or a million, and then it
# does not fit into a block. Instead, a program takes a block of columns, goes down the rows one tile after another,
# and carries a running sum for each of its columns.

# %%
pictures.column_walk(M=10, N=7, block_m=4, block_n=4)

# %% [markdown]
# **Predict** from the picture: how many programs are there? How many lanes of the tile in the lower right corner
# are padding, and what must they hold? How many times is `db` written?
#
# <details><summary>Answer</summary>
#
# Two programs, one for each block of columns, with three iterations each. In the last tile of program (1, 0, 0)
# there are $2 \cdot 3$ numbers, so 10 of its 16 lanes are padding; they must hold 0, which adds nothing to a sum.
# Each entry of `db` is written once, after the loop.
#
# </details>

# %% [markdown]
# | mathematics | in the kernel | shape |
# |---|---|---|
# | rows $i$ of this iteration | `i` | `[BLOCK_M]` |
# | columns $j$ of this program | `j` | `[BLOCK_N]` |
# | $dY_{ij}$ | `dy` | `[BLOCK_M, BLOCK_N]` |
# | $db_j$, the running sum | `db` | `[BLOCK_N]` |
#
# ### Exercise: `bias_gradient` · core
#
# Write the kernel. The launcher is given, and fits the picture. What the check requires:
#
# - any $M$ and $N$; neither need be a multiple of the block;
# - `dy` may be a window into a wider matrix or a transposed view: use both of its strides, and make both indices 64
#   bits wide, since an index times a stride may pass $2^{31}$;
# - `dy` may be fp16 or bf16: add up in fp32. `tl.store` converts to the dtype of `db`.
#
# A loop in a kernel is an ordinary `for start in range(0, M, BLOCK_M):`, and `tl.zeros([BLOCK_N], tl.float32)` makes
# the running sum. `tl.sum(tile, axis=0)` sums over the rows of a tile and leaves `[BLOCK_N]`.
#
# Other designs are allowed. If you would rather have one program per *tile*, change the launcher and use
# `tl.atomic_add`, or let every program store its partial sums and add those up in a second kernel. All three can be
# right.

# %% exercise="bias_gradient"
# HINT: Give each program a block of columns and let it go from the top of the matrix to the bottom, one tile
#     of `BLOCK_M` rows at a time. It carries a vector of `BLOCK_N` running sums. What must the lanes
#     below the last row hold?
# HINT: `db = tl.zeros([BLOCK_N], tl.float32)` before the loop; inside it `i` of shape `[BLOCK_M]`, a pointer
#     block and a mask of shape `[BLOCK_M, BLOCK_N]` made of `i[:, None]` and `j[None, :]`, and `tl.sum(…,
#     axis=0)`, which turns `[BLOCK_M, BLOCK_N]` into `[BLOCK_N]`. The store comes after the loop, under `j <
#     N`.
# HINT: `for start in range(0, M, BLOCK_M):` then `i = start + tl.arange(0, BLOCK_M)`, and `dy =
#     tl.load(dy_ptr + i[:, None] * dy_row + j[None, :] * dy_col, …)` under the mask `(i < M)[:, None] & (j <
#     N)[None, :]`. What is left is to add this tile's column sums to `db`, in fp32, and the store.
# INCLUDE: flashlearn/kernels/bias_gradient.py:bias_gradient_kernel


# INCLUDE: flashlearn/kernels/bias_gradient.py:bias_gradient

# %%
flashlearn.check("bias_gradient", bias_gradient)

# %%
# flashlearn.hint("bias_gradient")

# %% [markdown]
# When it passes, break it on purpose, one thing at a time, and read what the check says: leave the rows out of the
# mask; use `range(0, M // BLOCK_M * BLOCK_M, BLOCK_M)`; leave out `.to(tl.float32)`; divide by $M$. Which of the
# four would pass a test with $64 \times 64$ normally distributed fp32 numbers?
#
# <details><summary><b>What to notice</b></summary>
#
# - The first three pass on $64 \times 64$: all tiles are full, and the numbers are fp32 already. Only the mean
#   fails, by a factor of 64.
# - Without `.to(tl.float32)` two cases fail, *fp16, cancelling* among them: its last row cancels the sum of all
#   others, numbers above a thousand, where neighbouring fp16 numbers are 1 apart. The small difference that should
#   remain is lost. Gradients can be like that: sums of large contributions of both signs.
# - No two programs write the same element: each owns its columns. That makes the result the same on every run, but
#   it can leave much of a GPU idle: with 64 columns per program, 4096 columns are 64 programs, and an H100 has 132
#   multiprocessors. One program per tile keeps all of them busy, but then many programs add to the same `db`. With
#   `tl.atomic_add` that is correct, but the order of additions, and with it the last digits, can change from run to
#   run. With a load and a store it is a race, even if it looks right on your machine. You meet this choice again in
#   lesson 08, where it matters: for $dK$ and $dV$.
# - It reads $MN$ numbers, does about as many additions, and writes $N$ numbers. Memory is the limit. (It also
#   matters in which order neighbours in memory are read: lesson 05.)
#
# </details>
#
# **Something to tune**, with a GPU or without. A taller tile means fewer iterations of the loop: with 32 rows at a
# time, 16,384 tokens take 512 iterations. Double `BLOCK_M` or `BLOCK_N`, run the check, and unfold *On a GPU* in its
# report. How few iterations can you get by with before the compiler runs out of registers on one of the two GPUs? (A
# tile lives in registers. What does not fit is *spilled* to memory, and then the kernel waits for its own loads.)
#
# <details><summary>How far we got</summary>
#
# With Triton 3.7, $32 \times 64$ takes 32 registers per thread on both GPUs. $64 \times 128$ spills nothing either,
# but takes 249 of 255 on the H100. $128 \times 128$ is too much there: 88 bytes per thread are spilled. But
# $128 \times 32$ takes 48, and $256 \times 16$ takes 48 as well: 64 iterations instead of 512. Whether that is
# *faster* is another question, since a narrow tile reads fewer neighbours in memory at a time. Lesson 05 gives you
# the means to answer it.
#
# </details>
#
# ### All three together, against autograd
#
# The small example as a layer: $Y = XW + b$ with $X = Q$, $W = \alpha K^\top$ and a bias, and with $dO\,V^\top$ as
# the gradient of its output.

# %%
x, w, v, do = example.tensors(device=DEVICE)
w = example.ALPHA * w.T  # (2, 3)
dy = do @ v.T  # (4, 3)

backward = flashlearn.use("linear_backward", linear_backward)
column_sums = flashlearn.use("bias_gradient", bias_gradient)
dx, dw = backward(x, w, dy)
db = column_sums(dy)

leaves = [t.clone().requires_grad_() for t in (x, w, torch.zeros(3, device=DEVICE))]
(leaves[0] @ leaves[1] + leaves[2]).backward(dy)

for name, ours, leaf in zip(("dx", "dw", "db"), (dx, dw, db), leaves, strict=True):
    print(f"{name} {tuple(ours.shape)!s:7} equal to autograd's: {torch.allclose(ours, leaf.grad)}")
assert all(torch.allclose(ours, leaf.grad) for ours, leaf in zip((dx, dw, db), leaves, strict=True))

# %% [markdown]
# ## 9 · What you have now
#
# | | formula | remember |
# |---|---|---|
# | Jacobian | $J_{kj} = \partial y_k / \partial x_j$ | row $k$ belongs to output $k$; never built |
# | gradient | $dX = \partial L / \partial X$ | has the shape of $X$ |
# | VJP | $dx = J^\top dy$ | what a backward pass is made of |
# | of a product, with respect to $X$ | $I \otimes W^\top$ | block-diagonal: a row of $Y$ uses one row of $X$ |
# | of a product, with respect to $W$ | $X \otimes I$ | not block-diagonal: a row of $Y$ uses all of $W$ |
# | their VJPs | $dX = dY\,W^\top$, $dW = X^\top dY$ | only one way fits, if the sizes differ |
# | reduction, broadcast | each is the other's backward pass | what is used $k$ times gets $k$ gradients, which add |
#
# ### Questions for yourself
#
# Answer before you unfold.
#
# **1.** $C = u\,v^\top$ with a column $u$ of $M$ and a column $v$ of $N$ numbers. What are $du$ and $dv$? And what
# are the shape and the structure of the Jacobian $\partial C / \partial u$?
#
# <details><summary>Answer</summary>
#
# It is a product with $X = u$ and $W = v^\top$, inner size 1. $du = dC\,(v^\top)^\top = dC\,v$, which is
# $[M \times N] \cdot [N \times 1]$; and $d(v^\top) = u^\top dC$, so $dv = dC^\top u$. The Jacobian
# $\partial C / \partial u$ is $MN \times M$, block-diagonal with $v$ in each of $M$ blocks.
#
# </details>

# %% [markdown]
# **2.** A colleague computes $dW$ of a linear layer in a loop over the sequences of a batch and writes
# `dw = x[n].T @ dy[n]` in its body. Every shape is right. Which rule was broken? Which test finds it, and which does
# not?
#
# <details><summary>Answer</summary>
#
# $W$ is used by every sequence, so its gradients add: `dw += …`, with zeros to start from. As written, only the last
# sequence counts. A batch of two different sequences finds it. A batch of one does not, and neither does any check
# of shapes.
#
# </details>

# %% [markdown]
# **3.** $Z = (A B) \circ C$, where $A$ is $4 \times 2$ and $B$ is $2 \times 3$. Write $dA$, $dB$ and $dC$. What has
# to be kept from the forward pass?
#
# <details><summary>Answer</summary>
#
# From the outside in. Element-wise product: $dC = AB \circ dZ$, and the product $Y = AB$ gets $dY = dZ \circ C$.
# Then $dA = dY\,B^\top = (dZ \circ C)\,B^\top$ and $dB = A^\top (dZ \circ C)$. $A$, $B$ and $C$ have to be kept;
# $AB$ is needed as well, and may either be kept or be computed again. Computing again what would be expensive to
# keep is the subject of lesson 04.
#
# </details>

# %% [markdown]
# ### Journal
#
# *Two or three sentences in your own words, to be read again in a month. Why is one of the two Jacobians
# block-diagonal and the other not? Which of the five rules would you have got wrong this morning? Double-click here
# and write.*

# %% [markdown]
# ### What comes next
#
# All functions of this lesson are made of sums and products. Softmax is not: every output of a row depends on every
# input of the row, through a quotient. Lesson 02 finds its Jacobian, which is dense, and a VJP that still needs no
# matrix. Lesson 03 then goes backwards through attention with the five rules and that one formula; four of its five
# steps are products like those that you have just written.
#
# **Sources.** Vectorisation and the Kronecker product, $\mathrm{vec}(AXB)$: J. Magnus, H. Neudecker, *Matrix
# Differential Calculus with Applications in Statistics and Econometrics*, 3rd edition, Wiley 2019, chapters 2 and 9
# (their vec goes column by column, hence $W^\top \otimes I$ there and $I \otimes W^\top$ here). Gradients of matrix
# expressions by traces: M. Giles, *Collected matrix derivative results for forward and reverse mode algorithmic
# differentiation*, in Advances in Automatic Differentiation, Springer 2008. Reverse mode as a chain of
# vector–Jacobian products: A. Baydin et al., *Automatic differentiation in machine learning: a survey*, JMLR 18,
# 2018. The real layer's sizes: H. Touvron et al., *LLaMA: open and efficient foundation language models*, arXiv
# 2302.13971, the 7B model (4096 features; the inner size of its feed-forward part is 11008).
