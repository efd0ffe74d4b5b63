# %% [markdown]
# # Variants, and your own attention
#
# Today's models rarely use attention as the first papers describe it. Heads share keys, a query sees only its last few
# thousand keys, scores are capped or lose a little with every step of distance, sequences of all lengths come in one
# batch, weights are dropped, and a row may attend to nothing at all. None of this needs a new kernel. A variant
# changes a mask, a score, a list of tiles; everything else is what you have written. So this lesson has **one pair of
# kernels with hooks**, and each exercise hands it a few lines.
#
# **Afterwards you can**
#
# - say for a variant which parts of both passes it changes, and derive what the backward pass needs;
# - share a head of K and V among several heads of Q, and say where the gradients of the shared head add up;
# - restrict both passes to a window, and let them visit the tiles of the window only;
# - cap scores, with the derivative of the cap fused into the backward pass;
# - give every head its own preference for near keys, and say which part of it the softmax does not see;
# - run sequences of different lengths in one launch, drop weights without storing which, and add a sink;
# - build one attention with all of this, and measure it.
#
# **You need** lessons 06 to 08 (the pair of kernels is theirs), lesson 03 (the chain rule through the softmax), and
# section 15 of lesson 12 for the idea of shared heads. **No GPU is needed**: kernels run in the interpreter. On a GPU
# they are compiled and timed as well.
#
# **It takes** about five hours, in three sittings: sections 1 to 3, 4 and 5, and the rest.

# %%
import functools
import math

import sympy as sp
import torch
import triton
import triton.language as tl
from torch import Tensor

import flashlearn
from flashlearn import DEVICE
from flashlearn.compiler.listing import listing
from flashlearn.course import leaderboard, own_hooks
from flashlearn.course.assembling import assemble
from flashlearn.kernels import variants
from flashlearn.kernels.delta import delta_preprocess
from flashlearn.kernels.flash_backward_dkv import dkv_kernel_causal
from flashlearn.kernels.flash_backward_dq import dq_kernel_causal
from flashlearn.kernels.flash_forward import flash_forward_causal
from flashlearn.kernels.hooked_backward import hooked_backward
from flashlearn.kernels.hooked_forward import hooked_forward
from flashlearn.kernels.hooks import PLAIN, Hooks, causal_keys, causal_mask, causal_queries
from flashlearn.lessons.lesson_15_variants import alibi as alibi_lesson
from flashlearn.lessons.lesson_15_variants import counted, passes, philox, pictures, ragged_pictures
from flashlearn.lessons.lesson_15_variants.dropout_formulas import dropout_attention
from flashlearn.lessons.shared import backward_pictures
from flashlearn.lessons.shared.slider import slider

# %% [markdown]
# ## Before you begin
#
# Three questions about what came before. Run the cell to read them, enter a letter for each number, and run it again.
# A wrong choice costs nothing; the reply says what it overlooks.

# %% tags=["recall"]
### BEGIN SOLUTION
# STUB: answers = {1: "", 2: "", 3: ""}
answers = {1: "b", 2: "c", 3: "a"}
### END SOLUTION
flashlearn.recall("15", answers)

# %% [markdown]
# ## 1 · One pair of kernels
#
# A tile passes through the same steps in every variant. Forward: $x = \alpha\, q \cdot k$, a score $s$, a mask, the softmax, and
# the product with $v$. Backward: the same steps in reverse. The picture shows where a variant may intervene.

# %%
pictures.hooks_in_place()

# %% [markdown]
# `hooked_forward` is the causal kernel of lesson 06, and `hooked_backward` calls those of lessons 07 and 08, with these
# changes:
#
# | hook | returns | in plain attention |
# |---|---|---|
# | `score(x, …)` | which score the softmax gets | `x` |
# | `score_gradient(ds, x, s, …)` | the derivative with respect to `x`, from the one with respect to `s`, which is not masked | `ds` |
# | `mask(…)` | where query `i` sees key `j` | everywhere |
# | `keys(first, last, …)` | the range of keys that a block of queries visits | `0, S_k` |
# | `queries(first, last, …)` | the range of queries that a block of keys visits | `0, S_q` |
# | `key_head(h, …)` | which head of K and V head `h` of Q reads | `h` |
# | `query_heads(h_k, …)` | which heads of Q read head `h_k`, as a range | `h_k, h_k + 1, 1` |
#
# A few more belong to the second half, `weights` of P among them. A hook is a `@triton.jit` function that is handed
# over as a `tl.constexpr`, as the flag in section 13 of lesson 06 was: the compiler inserts its body where the kernel
# calls it. `i` is a column of queries, `j` a row of keys, so a mask is one line, `j <= i + S_k - S_q`. What a hook needs
# besides, a window or a cap, travels in a tuple, `extras`.
#
# PyTorch's FlexAttention (Dong et al., 2024) is built on the same idea, with one hook for the score and one for the
# mask. It finds the derivative of the score itself; here you derive it. **Predict**: are the results of a kernel with
# hooks close to those of lessons 06 to 08, or equal bit by bit?

# %% tags=["nbval-check-output"]
generator = torch.Generator().manual_seed(0)
q, do = (torch.randn(1, 2, 50, 16, generator=generator).to(DEVICE) for _ in range(2))
k, v = (torch.randn(1, 2, 70, 16, generator=generator).to(DEVICE) for _ in range(2))
alpha = 0.25

causal = Hooks(mask=causal_mask, keys=causal_keys, queries=causal_queries)
with flashlearn.observing():
    o, lse = hooked_forward(q, k, v, alpha, causal)
    dq, dk, dv = hooked_backward(q, k, v, o, do, lse, alpha, causal)
    o_then, lse_then = flash_forward_causal(q, k, v, alpha)
    given = q, k, v, o_then, do, lse_then, alpha
    gradients_then = dq_kernel_causal(*given), *dkv_kernel_causal(*given)

for name, now, then in zip(
    ("o", "lse", "dq", "dk", "dv"), (o, lse, dq, dk, dv), (o_then, lse_then, *gradients_then), strict=True
):
    print(f"{name:3} equal bit by bit: {torch.equal(now, then)}")
    assert torch.equal(now, then)

# %% [markdown]
# And what does a hook cost? **Predict** how many function calls the compiled forward kernel has, and whether a kernel for
# all keys has more or fewer instructions than a causal one.


# %%
@triton.jit
def halved(x, b, h, i, j, S_q, S_k, extras):
    return x * extras[0]


compiled = {}
for name, hooks in {
    "plain": PLAIN,
    "causal": causal,
    "scores halved": Hooks(score=halved, extras=(0.5,)),
}.items():
    with flashlearn.observing() as (session, _):
        hooked_forward(q.half(), k.half(), v.half(), alpha, hooks)
    ptx = listing(session.launches[0])["ptx"]  # for an H100, which need not be here
    compiled[name] = [line.split()[0] for line in ptx.splitlines() if line.rstrip().endswith(";")]
    calls = sum(word.startswith("call") for word in compiled[name])
    print(f"{name:14} {len(compiled[name])} instructions, {calls} calls")
    assert not calls

assert len(compiled["plain"]) < len(compiled["causal"])

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - Equal bit by bit, since the same operations run in the same order.
# - There is no call: the hook's lines are the kernel's lines after compiling. Each set of hooks makes a kernel of its
#   own, compiled at its first launch, as with any constant.
# - So "one pair, not ten kernels" is about source text. What you fix in the pair is fixed in every variant.
#
# </details>

# %% [markdown]
# ## 2 · Shared heads
#
# A model that generates text keeps K and V of all earlier tokens, for each layer and each head, and reads all of it for
# every new token. Fewer heads of K and V make that smaller: one for all heads of Q (*multi-query attention*; Shazeer,
# 2019), or one for each group of them (*grouped-query attention*; Ainslie et al., 2023). Heads of a group are adjacent.

# %%
slider(pictures.heads, H_k=(1, 2, 4, 8))

# %% [markdown]
# **Predict** how much memory K and V need in fp16 for a sequence of 8192 tokens in a model with 32 layers and heads of
# $D = 128$, once with 32 heads of K and V, once with 8, and once with 1.

# %% tags=["nbval-check-output"]
for H_k in (32, 8, 1):
    size = 2 * 32 * H_k * 8192 * 128 * 2  # K and V, layers, heads, tokens, D, bytes
    print(f"H_k = {H_k:2}: {size / 2**20:6.0f} MiB")

# %% [markdown]
# Forward, that is one line: head $h$ of Q reads another address. Backward, it is a sum. A head of K takes part in the
# scores of each head of its group, and what is used several times gets the sum of its gradients (lesson 01). For a
# group of two, at any size:

# %%
S_q, S_k, D = sp.symbols("S_q S_k D", integer=True, positive=True)
Q_0, Q_1, K_ = sp.MatrixSymbol("Q_0", S_q, D), sp.MatrixSymbol("Q_1", S_q, D), sp.MatrixSymbol("K", S_k, D)
dS_0, dS_1 = sp.MatrixSymbol("dS_0", S_q, S_k), sp.MatrixSymbol("dS_1", S_q, S_k)

terms = [sp.Trace(dS_0.T * Q_0 * K_.T), sp.Trace(dS_1.T * Q_1 * K_.T)]  # ⟨dS, Q Kᵀ⟩; the loss has their sum
assert [term.diff(K_) for term in terms] == [dS_0.T * Q_0, dS_1.T * Q_1]

# %% [markdown]
# There is another way to see it. The two terms are one product if the two heads' queries are stacked:
# $dS_0^\top Q_0 + dS_1^\top Q_1 = \binom{dS_0}{dS_1}^\top \binom{Q_0}{Q_1}$. So, without a mask, a group of $G$ heads
# that share K is **one head with $G \cdot S_q$ queries**. The cell checks it with all five results:

# %% tags=["nbval-check-output"]
many, many_do = (torch.randn(1, 4, 20, 16, generator=generator, dtype=torch.float64) for _ in range(2))
one_k, one_v = (torch.randn(1, 1, 37, 16, generator=generator, dtype=torch.float64) for _ in range(2))

as_group = passes.both(many, one_k, one_v, many_do, alpha)
as_one_head = passes.both(many.reshape(1, 1, 80, 16), one_k, one_v, many_do.reshape(1, 1, 80, 16), alpha)
for name, group, stacked in zip(("o", "lse", "dq", "dk", "dv"), as_group, as_one_head, strict=True):
    print(f"{name:3}", "the same" if torch.allclose(group.flatten(), stacked.flatten()) else "differs")
    torch.testing.assert_close(group.flatten(), stacked.flatten())

# %% [markdown]
# A kernel that owns keys therefore has one more loop: over the heads of the group, and in it over the queries. It loads
# its block of K and V once for all of them. In the pair the loop is
# `for h in range(first_head, end_head, step)`, and a hook says which range it is.
#
# ### Exercise: `gqa` · warm-up
#
# Two hooks: which head of K and V a head of Q reads, and which heads of Q add up in a head of K and V. `H` and `H_k`
# are the numbers of heads, and `H_k` divides `H`. The launcher, which runs both passes, is given.

# %% exercise="gqa"
# HINT: Two questions, one for each hook: which head of K does a head of Q read, and who reads a head of K?
# HINT: A group has H // H_k heads, and they are adjacent. The second hook gives the ends of a `range`, and its step.
# HINT: `h // (H // H_k)`; from `h_k` times the size of a group to `h_k + 1` times it, in steps of 1.
# INCLUDE: flashlearn/kernels/variants.py:group_key_head


# INCLUDE: flashlearn/kernels/variants.py:group_query_heads


# INCLUDE: flashlearn/kernels/variants.py:gqa

# %%
flashlearn.check("gqa", gqa)

# %%
# flashlearn.hint("gqa")

# %% [markdown]
# What the group saves, counted: the traffic counter of an observed run says how many bytes of each tensor the programs
# requested. **Predict**: if a head of K serves four heads of Q, by which factor does the traffic of K fall in the
# forward pass, in dQ, and in dK and dV? (All three kernels request tiles of K; look at who owns what.)

# %% tags=["nbval-check-output"]
grouped = flashlearn.use("gqa", gqa)
q, do = (torch.randn(1, 8, 64, 16, generator=generator).to(DEVICE) for _ in range(2))
for H_k in (8, 2):
    k, v = (torch.randn(1, H_k, 64, 16, generator=generator).to(DEVICE) for _ in range(2))
    counts = counted.loaded(grouped, q, k, v, do, 0.25)
    print(
        f"{H_k} heads of K, KiB:",
        {part: f"K {of['k'] // 1024}, Q {of['q'] // 1024}" for part, of in counts.items()},
    )
    if H_k == 8:
        own = counts

assert counts["forward"] == own["forward"] and counts["dQ"] == own["dQ"]
assert counts["dK, dV"]["k"] * 4 == own["dK, dV"]["k"]

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - In the forward pass and in dQ a program owns queries of one head, and requests K for that head alone: as many bytes
#   as before. But four programs request *the same* bytes, so three of them may find K in the L2 cache. For that they
#   have to run at about the same time.
# - In dK and dV a program owns keys, loads them once for the whole group, and requests a quarter.
# - There are only a quarter as many programs for dK and dV, and each has four times the work. With few keys and few
#   heads of K a GPU has too few programs.
# - The heads of Q could be stacked in the forward pass, too, as above: that is how K can be read once per group when
#   there is a single query.
#
# </details>

# %% [markdown]
# ## 3 · A window
#
# In a *sliding window* of $W$ a query sees the last $W$ keys up to its own place, itself included (the causal form of
# Beltagy et al., *Longformer*, 2020). With $s = S_k - S_q$, query $i$ is at the place of key $i + s$, and it sees
#
# $$i + s - W < j \le i + s .$$
#
# The mask is one line. What makes a window fast is the other part: tiles in which nothing is seen are not visited.

# %%
slider(pictures.window_tiles, window=(1, 16, 32, 33, 64, 96, 160))

# %% [markdown]
# The work falls from quadratic in $S$ to linear, but it comes in whole tiles. **Predict** for $S = 16\,384$ and
# $W = 1024$: by which factor are there fewer pairs than with a causal mask, and fewer tiles of $64 \times 64$? Are
# larger tiles better or worse?

# %% tags=["nbval-check-output"]
S, window = 16384, 1024
pairs = {"causal": S * (S + 1) // 2, "window": window * S - window * (window - 1) // 2}
print(f"pairs: {pairs['causal'] / pairs['window']:.2f} times fewer")
wasted = {}
for block in (32, 64, 128, 256):
    blocks, back = S // block, -(-(window - 1) // block)  # a block of queries reaches so many blocks back
    causal_tiles = blocks * (blocks + 1) // 2
    window_tiles = sum(min(i, back) + 1 for i in range(blocks))
    wasted[block] = 1 - pairs["window"] / (window_tiles * block**2)
    print(
        f"tiles of {block:3}: {causal_tiles / window_tiles:.2f} times fewer, {wasted[block]:.0%} of them hidden"
    )
assert sorted(wasted.values()) == list(wasted.values())

# %% [markdown]
# A query that sees $W$ keys in each layer is still influenced by older ones, through the layers below: its keys have
# seen others. **Predict** how far back a query of layer $L$ reaches.

# %% tags=["nbval-check-output"]
seen = passes.visible(64, 64, torch.empty(0), window=5).double()
reach = torch.eye(64, dtype=torch.float64)
for layer in (1, 2, 3, 4):
    reach = seen @ reach  # [query, key]: in how many ways the key gets there
    oldest = int(reach[63].nonzero().min())
    print(f"after layer {layer}, query 63 reaches back {63 - oldest} tokens")
    assert 63 - oldest == layer * (5 - 1)

# %% [markdown]
# $L\,(W - 1)$ tokens (Jiang et al., *Mistral 7B*, 2023, section 2, say about $L\,W$).
#
# ### Exercise: `sliding_window` · core
#
# A mask and two lists of tiles. `keys` is asked by a program that owns the queries `first` to `last` (the last one that
# exists, not the block's end), `queries` by one that owns the keys `first` to `last`. Both return a range, the first
# and one past the last; the pair rounds the start down to a whole tile. If the list is too long, the result is right;
# the check then counts the tiles that your kernels multiply, and says so.

# %% exercise="sliding_window"
# HINT: Solve i + S_k − S_q − window < j ≤ i + S_k − S_q once for j and once for i: the tiles are those of all
#     queries, or all keys, of the block.
# HINT: Of the queries first … last the first sees the oldest key and the last sees the newest. Of the keys, the
#     first is seen first and the last is seen longest. No list begins below 0, none ends beyond S_k or S_q.
# HINT: Keys from `first + S_k - S_q - window + 1` to `last + S_k - S_q + 1`; queries from `first - (S_k - S_q)` to
#     `last - (S_k - S_q) + window`, with `tl.maximum(0, …)` and `tl.minimum(S_k, …)` or `tl.minimum(S_q, …)`.
# INCLUDE: flashlearn/kernels/variants.py:window_mask


# INCLUDE: flashlearn/kernels/variants.py:window_keys


# INCLUDE: flashlearn/kernels/variants.py:window_queries


# INCLUDE: flashlearn/kernels/variants.py:sliding_window

# %%
flashlearn.check("sliding_window", sliding_window)

# %%
# flashlearn.hint("sliding_window")

# %% [markdown]
# The traffic counter again, with a head of 512 queries and keys and blocks of 32. A tile of K is 2 KiB here, so the
# bytes say how many tiles were visited. **Predict** the number for windows of 32 and 33.

# %% tags=["nbval-check-output"]
windowed = flashlearn.use("sliding_window", sliding_window)
q, k, v, do = (torch.randn(1, 1, 512, 16, generator=generator).to(DEVICE) for _ in range(4))
kib = {}
for window in (32, 33, 128, 512):
    counts = counted.loaded(functools.partial(windowed, window=window, alpha=0.25), q, k, v, do)
    visited = {part: of["q" if part == "dK, dV" else "k"] // 2048 for part, of in counts.items()}
    needed = int(pictures.tiles_of(512, 512, window, 32)[0].sum())
    print(f"window {window:3}: tiles visited {visited}, needed {needed}")
    kib[f"window {window}"] = {part: sum(of.values()) / 1024 for part, of in counts.items()}
    assert all(needed <= count <= needed + 16 for count in visited.values())  # one too many per block passes

# %%
backward_pictures.requested(kib)

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - A window of 32 needs two tiles per block of 32 queries, a window of 33 still two: the block's first query reaches 32
#   keys back, to the first key of the block before. With 34 it would be three. (Your list may start a tile
#   earlier than needed and still pass; the count above shows it.)
# - All three kernels visit the same tiles, seen from two sides. If only the forward pass skipped tiles, the larger part of
#   the work would remain.
# - A window as long as the sequence is the causal mask, with its 136 of 256 tiles.
#
# </details>

# %% [markdown]
# ## 4 · A soft cap
#
# A few very large scores can make a softmax nearly one-hot, and then hardly any gradient flows. Gemma 2 caps its scores
# (Gemma Team, 2024, section 2): with $x = \alpha\, q \cdot k$,
#
# $$s = \mathrm{cap} \cdot \tanh\!\left(\frac{x}{\mathrm{cap}}\right).$$
#
# For small $x$ that is $x$; for large ones it approaches $\pm\mathrm{cap}$ (50 in Gemma 2).

# %%
slider(pictures.cap_curve, cap=(5.0, 20.0, 50.0, 200.0))

# %% [markdown]
# The backward pass computes $dS$, the derivative by $s$. $dQ$ and $dK$ belong to $x$, so the chain rule multiplies
# $dS$ by $ds/dx$, element by element. **Derive** it on paper before you read the next cell, and write it with $s$ instead
# of $x$.

# %%
x_, cap_ = sp.symbols("x cap", positive=True)
s_ = cap_ * sp.tanh(x_ / cap_)

assert sp.simplify(s_.diff(x_) - (1 - (s_ / cap_) ** 2)) == 0
assert sp.limit(s_, x_, sp.oo) == cap_ and sp.limit(s_, cap_, sp.oo) == x_
assert s_.diff(x_).subs(x_, 0) == 1

# %% [markdown]
# The derivative needs no second tanh: $s$ is at hand. So the pair hands both `x` and `s` to the hook, and nothing is
# stored. The whole chain, for a row of three keys with $D = 1$ and every number a symbol:

# %%
xs, vs = sp.symbols("x_0:3", real=True), sp.symbols("v_0:3", real=True)
do_ = sp.Symbol("do", real=True)
capped_ = [cap_ * sp.tanh(x / cap_) for x in xs]
total_ = sum(sp.exp(s) for s in capped_)
p_ = [sp.exp(s) / total_ for s in capped_]
loss = do_ * sum(p * v for p, v in zip(p_, vs, strict=True))

dp_ = [do_ * v for v in vs]
delta_ = sum(p * dp for p, dp in zip(p_, dp_, strict=True))
numbers = {xs[0]: 1.5, xs[1]: -0.3, xs[2]: 4, vs[0]: 2, vs[1]: -1, vs[2]: 0.5, do_: 0.7, cap_: 2}
for p, dp, s, x in zip(p_, dp_, capped_, xs, strict=True):
    dx = p * (dp - delta_) * (1 - (s / cap_) ** 2)  # dS, and then the cap
    assert abs((loss.diff(x) - dx).subs(numbers).evalf()) < 1e-12

# %% [markdown]
# ### Where the mask belongs
#
# The pair masks after `score`. **Predict** what a hidden key weighs, beside a key with score 0, if the cap comes last:

# %% tags=["nbval-check-output"]
for cap in (2.0, 10.0, 50.0):
    hidden = cap * math.tanh(-math.inf / cap)
    print(f"cap {cap:2.0f}: a hidden key has score {hidden:g}, and weight {math.exp(hidden):.1e}")
assert math.exp(-50) < torch.finfo(torch.float32).eps

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - $\tanh(-\infty)$ is $-1$, so the cap brings every hidden key back with score $-\mathrm{cap}$.
# - With Gemma's cap of 50 the weight is $10^{-22}$: no comparison of ordinary results sees it. Only a test with
#   a small cap can find this mistake; the check's caps begin at 2.
#
# </details>
#
# ### What the derivative loses
#
# Triton's language has no tanh; `tl.sigmoid` serves: $\tanh y = 2\sigma(2y) - 1$. And $1 - \tanh^2 y$ subtracts two
# numbers that are nearly equal where the cap bites. **Predict** at which $y = x / \mathrm{cap}$ the fp32 derivative has
# no correct digit left, and whether that does harm.

# %% tags=["nbval-check-output"]
for y in (0.01, 1.0, 4.0, 8.0, 10.0):
    exact = 1 / math.cosh(y) ** 2
    in_fp32 = torch.tensor(y)
    tanh = 2 * torch.sigmoid(2 * in_fp32) - 1
    factors = {
        "1 − tanh²": 1 - tanh**2,
        "4 σ(2y) σ(−2y)": 4 * torch.sigmoid(2 * in_fp32) * torch.sigmoid(-2 * in_fp32),
    }
    errors = {name: abs(float(found) - exact) for name, found in factors.items()}
    print(
        f"y {y:5}: exact {exact:.1e},",
        {name: f"off by {error / exact:.0e} of it" for name, error in errors.items()},
    )
    assert max(errors.values()) < 3e-7 and errors["4 σ(2y) σ(−2y)"] < 1e-6 * exact

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - At $y = 8$ a twentieth of the derivative is rounding, and at 10 it is all rounding. But the *absolute* error is below
#   $3 \cdot 10^{-7}$, of a factor that is at most 1 elsewhere in the row: the sums do not notice.
# - $4\,\sigma(2y)\,\sigma(-2y)$ is the same number without the subtraction. It needs $x$ and a second exponential.
#
# </details>
#
# ### Exercise: `softcap` · core
#
# The score and its gradient. The mask is causal and given. `cap` is the first entry of `extras`.

# %% exercise="softcap"
# HINT: Two hooks: f(x) = cap · tanh(x / cap), and the product of dS with f′(x).
# HINT: tanh y = 2 σ(2y) − 1, and `tl.sigmoid` is at hand. f′ is 1 − tanh², and `s / cap` is the tanh.
# HINT: `cap * (2 * tl.sigmoid(2 * x / cap) - 1)` and `ds * (1 - (s / cap) * (s / cap))`.
# INCLUDE: flashlearn/kernels/variants.py:capped_score


# INCLUDE: flashlearn/kernels/variants.py:capped_gradient


# INCLUDE: flashlearn/kernels/variants.py:softcap

# %%
flashlearn.check("softcap", softcap)

# %%
# flashlearn.hint("softcap")

# %% [markdown]
# What the cap costs: the interpreter counts exponentials, logarithms and the like as *special* operations. **Predict**
# for each of the three kernels how many per score the cap adds, and how many its derivative adds.

# %%
capping = flashlearn.use("softcap", softcap)
q, k, v, do = (torch.randn(1, 1, 64, 16, generator=generator).to(DEVICE) for _ in range(4))
special = {}
for name, run in {
    "causal": lambda: hooked_forward(q, k, v, 0.25, causal),
    "causal, both passes": lambda: (lambda o, lse: hooked_backward(q, k, v, o, do, lse, 0.25, causal))(
        *hooked_forward(q, k, v, 0.25, causal)
    ),
    "capped, both passes": lambda: capping(q, k, v, do, 20.0, 0.25),
}.items():
    with flashlearn.observing() as (session, _):
        run()
    special[name] = session.observation().operations["special"] / (
        3 * 32 * 32
    )  # per score of the three tiles
    print(f"{name:20} {special[name]:.2f} special operations per score")
assert special["capped, both passes"] > special["causal, both passes"]

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - Each of the three kernels computes the score again, and the cap with it. The derivative adds none, since it is made
#   of $s$.
# - Written as separate steps in torch, the cap alone reads and writes matrices of $S_q \times S_k$, forward and
#   backward. Here it is a few instructions between two products: what is called a *fused* activation.
# - On a GPU exponentials are scarce (lesson 13). The hardware has a `tanh.approx` as well, with fewer correct bits.
#
# </details>

# %% [markdown]
# ## 5 · A slope for every head
#
# *ALiBi* (Press et al., 2022) has no position embedding. Instead, head $h$ takes off its slope $m_h$ times the distance
# of the key:
#
# $$s_{ij} = \alpha\, q_i \cdot k_j - m_h\,(i + S_k - S_q - j), \qquad j \le i + S_k - S_q .$$
#
# The slopes are not trained: for 8 heads $2^{-1}, 2^{-2}, \dots, 2^{-8}$, for $H$ of them $2^{-8/H}, 2^{-16/H}, \dots$

# %%
pictures.weights_by_distance()

# %% [markdown]
# Each term of the bias is a number of its own, and $ds/dx = 1$: the backward pass changes only in that it rebuilds $P$
# with the same bias. But one part of the bias is not seen at all. $-m\,(i + s - j) = m\,j - m\,(i + s)$, and the second
# term is the same for the whole row. **Predict** which of $O$, LSE, $dQ$, $dK$, $dV$ change if you add $m\,j$ instead.

# %%
m_, place = sp.symbols("m i", positive=True)
by_distance = [x - m_ * (place - j) for j, x in enumerate(xs)]
by_place = [x + m_ * j for j, x in enumerate(xs)]
softmax_ = [[sp.exp(s) / sum(map(sp.exp, row)) for s in row] for row in (by_distance, by_place)]
sums_ = [sum(map(sp.exp, row)) for row in (by_distance, by_place)]  # LSE is their logarithm

assert all(sp.simplify(one / other) == 1 for one, other in zip(*softmax_, strict=True))
assert sp.simplify(sums_[1] / sums_[0]) == sp.exp(m_ * place)

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - The softmax is the same, so $O$ is, and with it all gradients: a shift of a whole row is what a softmax does not see
#   (lesson 02). Only LSE differs, by $m\,(i + S_k - S_q)$.
# - LSE is saved for the backward pass. As long as both passes use the same bias, either one is right. If one pass used
#   the distance and the other the place, $P = e^{S - \mathrm{LSE}}$ would be off by a factor $e^{m i}$.
# - $m\,j$ alone grows without bound over a long sequence, and costs digits: at $j = 8192$ and $m = \tfrac12$ it is 4096,
#   where fp32 numbers are $2^{-11}$ apart.
#
# </details>
#
# The same property makes a derivative shorter. If the slopes *were* trained, the gradient would be
# $dm_h = -\sum_{ij} dS_{ij}\,(i + s - j)$. **Predict** what becomes of the part with $i$, remembering what a row of $dS$
# sums to.

# %%
slopes = alibi_lesson.slopes_of(2).double().requires_grad_()
q, do = (torch.randn(1, 2, 12, 8, generator=generator, dtype=torch.float64) for _ in range(2))
k, v = (torch.randn(1, 2, 20, 8, generator=generator, dtype=torch.float64) for _ in range(2))
bias = alibi_lesson.bias_of(q, k, slopes)
S = (alpha * q @ k.mT + bias).masked_fill(~passes.visible(12, 20, q), -math.inf)
(dS, dm) = torch.autograd.grad(torch.softmax(S, -1) @ v, (S, slopes), do)

assert dS.sum(-1).abs().max() < 1e-12
torch.testing.assert_close((dS * torch.arange(20)).sum((0, 2, 3)), dm)
print("dm by autograd:   ", dm.tolist())
print("Σ dS_ij · j alone:", (dS * torch.arange(20)).sum((0, 2, 3)).tolist())

# %% [markdown]
# ### Exercise: `alibi` · core
#
# One hook. `slopes` `[H]` is a tensor in fp32, and its pointer is the first entry of `extras`. The mask is causal and
# given. LSE is that of the scores with the distance, as above.

# %% exercise="alibi"
# HINT: One number per head, loaded from memory; the distance is that of key j from the place of query i.
# HINT: Query i is at the place of key i + S_k − S_q. i is a column and j a row, so their difference is a tile.
# HINT: `tl.load(slopes_ptr + h)` times `i + S_k - S_q - j`, taken off x.
# INCLUDE: flashlearn/kernels/variants.py:score_with_distance


# INCLUDE: flashlearn/kernels/variants.py:alibi

# %%
flashlearn.check("alibi", alibi)

# %%
# flashlearn.hint("alibi")

# %% [markdown]
# ### All at once
#
# None of the four variants knows of the others, and each changes other hooks. So a model with shared heads, a
# window, a cap and slopes needs no fifth kernel:


# %%
cap_score, cap_gradient, prefer_near = (
    variants.capped_score,
    variants.capped_gradient,
    variants.score_with_distance,
)


@triton.jit
def capped_with_distance(x, b, h, i, j, S_q, S_k, extras):
    s = cap_score(x, b, h, i, j, S_q, S_k, (extras[1],))
    return prefer_near(s, b, h, i, j, S_q, S_k, (extras[2],))


@triton.jit
def capped_with_distance_gradient(ds, x, s, b, h, i, j, S_q, S_k, extras):
    s = cap_score(x, b, h, i, j, S_q, S_k, (extras[1],))  # before the distance was taken off
    return cap_gradient(ds, x, s, b, h, i, j, S_q, S_k, (extras[1],))


q, do = (torch.randn(1, 4, 50, 16, generator=generator).to(DEVICE) for _ in range(2))
k, v = (torch.randn(1, 2, 70, 16, generator=generator).to(DEVICE) for _ in range(2))
slopes = alibi_lesson.slopes_of(4).to(DEVICE)
everything = Hooks(
    key_head=variants.group_key_head, query_heads=variants.group_query_heads,
    mask=variants.window_mask, keys=variants.window_keys, queries=variants.window_queries,
    score=capped_with_distance, score_gradient=capped_with_distance_gradient,
    extras=(24, 2.0, slopes),
)  # fmt: skip
o, lse = hooked_forward(q, k, v, alpha, everything)
found = o, lse, *hooked_backward(q, k, v, o, do, lse, alpha, everything)

bias = alibi_lesson.bias_of(q, k, slopes).double()
exact = passes.both(
    *(t.double() for t in (q, k, v, do)), alpha,
    score=lambda x: 2 * torch.tanh(x / 2) + bias, derivative=lambda x: 1 - torch.tanh(x / 2) ** 2,
    seen=passes.visible(50, 70, q, window=24),
)  # fmt: skip
for name, one, other in zip(("o", "lse", "dq", "dk", "dv"), found, exact, strict=True):
    print(f"{name:3} off by {float((one - other).abs().max()):.0e} at most")
    torch.testing.assert_close(one.double(), other, rtol=1e-4, atol=1e-5)

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - Heads, tiles, mask and score are independent. Only scores have to be composed by hand, and with them their
#   gradients: the chain rule goes through them in reverse order.
# - `score_gradient` is handed the final $s$. The cap's derivative needs the score *before* the distance was taken
#   off, so the hook computes that again. $1 - (s/\mathrm{cap})^2$ with the final $s$ would be wrong.
#
# </details>
#
# This is a good place for a break.

# %% [markdown]
# ## 6 · Sequences of several lengths
#
# The texts of a batch have different lengths, and a tensor $[B, H, S, D]$ has one $S$. So short texts are padded to the
# longest, and the kernel computes the padding too. **Predict** for lengths of 37, 5, 60 and 20: how much of the batch is
# padding, and how much of the *pairs* of a query and a key?

# %% tags=["nbval-check-output"]
lengths = [37, 5, 60, 20]
longest = max(lengths)
tokens = sum(lengths) / (len(lengths) * longest)
pairs = sum(length**2 for length in lengths) / (len(lengths) * longest**2)
print(f"of the tokens {1 - tokens:.1%} are padding, of the pairs {1 - pairs:.1%}")
assert pairs < tokens

# %%
ragged_pictures.padded_and_packed(lengths)

# %% [markdown]
# *Packed*, sequences lie one after another in a single batch, $[1, H, T, D]$ with $T = \sum_b S_b$, and a tensor of
# borders says where each begins: `cu_seqlens` (cumulative sequence lengths), here `[0, 37, 42, 102, 122]`. Libraries
# call this *varlen*. Queries and keys have borders of their own, since $S_q$ and $S_k$ may differ.
#
# There is nothing to derive. Under a mask that shows each query its own sequence alone, the batch is one long sequence,
# and every row's softmax is that of its own sequence, forward and backward:

# %% tags=["nbval-check-output"]
generator = torch.Generator().manual_seed(6)
packed_qkv = [torch.randn(1, 2, sum(lengths), 8, generator=generator, dtype=torch.float64) for _ in range(4)]
own_keys = torch.block_diag(*(torch.ones(length, length) for length in lengths)).bool()

together = passes.both(*packed_qkv, 0.3, seen=own_keys)
pieces = zip(*(tensor.split(lengths, dim=2) for tensor in packed_qkv), strict=True)
one_by_one = [
    torch.cat(parts, 2) for parts in zip(*(passes.both(*piece, 0.3) for piece in pieces), strict=True)
]
for name, mine, right in zip(("o", "lse", "dq", "dk", "dv"), together, one_by_one, strict=True):
    torch.testing.assert_close(mine, right)
    print(f"{name:3} of the packed batch: that of the sequences, one by one")

# %% [markdown]
# But a mask alone visits $T^2$ pairs. Three hooks of the pair leave out the rest:
#
# - `sequence` gives a sequence's first query, its first key, and how many it has of each. The pair adds the first two to
#   its pointers and takes the others for $S_q$ and $S_k$, so that everything after it (masks, loops, causal diagonals)
#   counts within the sequence.
# - `query_block` and `key_block` say which block of which sequence a program takes. Without them the grid is what it was:
#   blocks, heads, batch. Then every sequence gets as many programs as the longest one needs.
#
# **Predict** how many programs per head that is, in blocks of 32, for a sequence of 200 and seven of 2 to 5, and how
# many of them have rows to compute.

# %% tags=["nbval-check-output"]
skewed = [200, 3, 5, 2, 4, 3, 2, 5]
grid = len(skewed) * triton.cdiv(max(skewed), 32)
needed = sum(triton.cdiv(length, 32) for length in skewed)
print(f"{grid} programs, {needed} of them with rows to compute")
assert needed < grid / 3

# %% [markdown]
# So the launcher makes a list of the blocks that there are, one row for each program: the block, counted within its
# sequence, and the sequence. Program $n$ looks up row $n$. A sequence of 40 has two blocks of 32, the second with 8
# rows; a sequence without queries has none.
#
# ### Exercise: `varlen` · core
#
# Three hooks and the list. `extras` has `cu_seqlens_q`, `cu_seqlens_k` and the two lists, of the blocks of queries and of
# keys. The launcher is given; it launches a program for each entry and each head. Some sequences have no queries, and
# some have no keys.

# %% exercise="varlen"
# HINT: A sequence's first row is a number of rows to skip; the pair of kernels adds it to its pointers. All that follows
#     counts rows from there.
# HINT: Sequence b lies between cu_seqlens[b] and cu_seqlens[b + 1]. The list has ceil(length / BLOCK) entries for each
#     sequence, none for an empty one: the block's number within the sequence, and the sequence's.
# HINT: blocks = [(block, b) for b, length in enumerate(lengths) for block in range(triton.cdiv(length, BLOCK))], and a
#     hook loads blocks_ptr + 2 * n and the number after it.
# INCLUDE: flashlearn/kernels/varlen_attention.py:packed_sequence


# INCLUDE: flashlearn/kernels/varlen_attention.py:listed_query_block


# INCLUDE: flashlearn/kernels/varlen_attention.py:listed_key_block


# INCLUDE: flashlearn/kernels/varlen_attention.py:block_list


# INCLUDE: flashlearn/kernels/varlen_attention.py:varlen

# %%
flashlearn.check("varlen", varlen)

# %%
# flashlearn.hint("varlen")

# %% [markdown]
# The traffic counter says what packing saves. The same four sequences three times: packed; as one sequence under a mask,
# which visits all pairs; and padded to the longest. **Predict** the order of the three, and the factors.

# %% tags=["nbval-check-output"]
ragged = flashlearn.use("varlen", varlen)
borders = torch.tensor([0, 37, 42, 102, 122], dtype=torch.int32, device=DEVICE)
one = torch.tensor([0, 122], dtype=torch.int32, device=DEVICE)
q, k, v, do = (torch.randn(1, 2, 122, 16, generator=generator).to(DEVICE) for _ in range(4))


def padded(q, k, v, do):
    o, lse = hooked_forward(q, k, v, 0.25)
    return hooked_backward(q, k, v, o, do, lse, 0.25)


many = [torch.randn(4, 2, 60, 16, generator=generator).to(DEVICE) for _ in range(4)]
kib = {
    "packed": counted.loaded(ragged, q, k, v, do, borders, borders, False, 0.25),
    "under a mask": counted.loaded(ragged, q, k, v, do, one, one, False, 0.25),
    "padded": counted.loaded(padded, *many),
}
for how, parts in kib.items():
    print(f"{how:13} KiB of K: forward {parts['forward']['k'] // 1024}, dQ {parts['dQ']['k'] // 1024}")

assert kib["packed"]["forward"]["k"] < kib["padded"]["forward"]["k"] <= kib["under a mask"]["forward"]["k"]

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - Packed, a block of queries requests its own sequence's keys alone. Under a mask it requests all 122; padded, it
#   requests the 60 of the longest.
# - The counter counts bytes, not tiles: keys beyond a sequence's end are masked lanes, which request nothing. Their share
#   of the products is still computed.
# - `cu_seqlens.tolist()` waits until the GPU has computed `cu_seqlens`, and the list is then copied back. Where that wait
#   counts, a launcher is given the greatest length as a number, as `torch.nn.attention.varlen` is, or builds the list
#   once for all layers.
# - Which blocks start last: lesson 12 started the longest ones first, and here that means sorting the list by the
#   sequence's length.
#
# </details>
#
# ## 7 · Dropout
#
# Dropout in attention drops weights: with $M_{ij} = 1$ with probability $1 - p$ and 0 otherwise,
#
# $$W = P \circ \frac{M}{1 - p}, \qquad O = W V .$$
#
# The division keeps the mean of each weight. Softmax comes first, and LSE stays that of all scores. The backward pass
# needs the same $M$. **Predict** its size for 64 heads (over the batch) with $S = 8192$, at a byte for each weight.

# %% tags=["nbval-check-output"]
print(f"{64 * 8192**2 / 2**30:.0f} GiB, per layer")

# %% [markdown]
# FlashAttention stores no matrix of $S^2$ numbers, and not this one either: it makes the random numbers again (Dao et
# al., 2022, appendix B). For that they must not come from a generator that remembers where it was. *Philox* (Salmon et
# al., 2011) computes a random number from a **seed and a position** alone, in ten rounds of two multiplications and some
# exclusive ors. `tl.rand(seed, position)` is Philox, and `philox.uniform` of this lesson the same in torch. **Predict**
# whether the numbers depend on the size of the blocks that ask for them.


# %% tags=["nbval-check-output"]
@triton.jit
def random_kernel(u_ptr, seed, n, BLOCK: tl.constexpr):
    position = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(u_ptr + position, tl.rand(seed, position), mask=position < n)


formula = philox.uniform(7, torch.arange(100))
for BLOCK in (16, 64):
    u = torch.empty(100, device=DEVICE)
    random_kernel[(triton.cdiv(100, BLOCK),)](u, 7, 100, BLOCK=BLOCK)
    print(f"blocks of {BLOCK}: {[round(x, 4) for x in u[:4].tolist()]} …")
    assert torch.equal(u.cpu(), formula)

# %% [markdown]
# So each weight gets a number of its own, which every kernel that owns it can compute:
#
# $$n(b, h, i, j) = \big((b\,H + h)\,S_q + i\big)\,S_k + j .$$
#
# The kernel that owns keys meets the weight $(i, j)$ in another tile than the one that owns queries, and at another time;
# the number is the same. Numbering the weights within a tile is the classic mistake. Each tile then drops the same weights:

# %%
slider(ragged_pictures.dropped, p=(0.1, 0.3, 0.5))

# %% [markdown]
# Now the derivative. For one query and three keys, with $c = 1/(1-p)$ and each $M_j$ a constant:

# %% tags=["nbval-check-output"]
s = sp.symbols("s_0:3", real=True)
M = sp.symbols("M_0:3")
dW = sp.symbols("dw_0:3")  # the loss's derivative by w_j: do · v_j
c = sp.Symbol("c", positive=True)

P = [sp.exp(s_j) / sum(map(sp.exp, s)) for s_j in s]
loss = sum(c * M_j * p_j * dw_j for M_j, p_j, dw_j in zip(M, P, dW, strict=True))

dP = [c * M_j * dw_j for M_j, dw_j in zip(M, dW, strict=True)]
delta = sum(p_j * dp_j for p_j, dp_j in zip(P, dP, strict=True))
for j in range(3):
    assert sp.simplify(sp.diff(loss, s[j]) - P[j] * (dP[j] - delta)) == 0
print("dS = P ∘ (dP − delta), with dP = c M ∘ dW")

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - $dS = P \circ (dP - \delta)$ as ever. The $P$ in front has no gaps: a dropped weight took its share of the softmax's
#   sum, so its score still gets the gradient $-P_{ij}\,\delta_i$.
# - Only $dP$ is different: $dP = dW \circ M / (1 - p)$ with $dW = dO\, V^\top$. And $dV = W^\top dO$ has the gaps too.
# - $\delta$ needs nothing new: the loss above is $\delta$, so $\delta_i = \sum_d dO_{id}\, O_{id}$ with the $O$ that
#   dropout left.
#
# </details>
#
# So the same linear map, $x \mapsto x \circ M / (1 - p)$, is applied to $P$ before it meets $V$, in both passes, and to
# $dO\,V^\top$. That is what the hook `weights` of the pair does, and its one place is after the sum: what is dropped
# stays in $l$. Here is why the division is there. The mean over seeds goes to attention without dropout:

# %% tags=["nbval-check-output"]
q, k, v, do = (torch.randn(1, 1, 16, 8, generator=generator, dtype=torch.float64) for _ in range(4))
without = passes.both(q, k, v, do, 0.35)
errors = []
for seeds in (4, 32, 256):
    mean = sum(dropout_attention(q, k, v, do, 0.3, seed, 0.35)[0] for seed in range(seeds)) / seeds
    errors.append(float((mean - without[0]).abs().max()))
    print(f"mean of O over {seeds:3} seeds: off by at most {errors[-1]:.3f}")

assert errors[2] < errors[1] < errors[0]

# %% [markdown]
# The error of a mean of $n$ independent draws falls like $1/\sqrt{n}$: with eight times as many seeds, to about a third.
#
# ### Exercise: `dropout` · core
#
# The hook, and a launcher that hands it to both passes. A weight is kept where its random number is $p$ or more.
# (Another choice drops as many; but one is needed so that results can be compared.) `tl.rand` takes a scalar seed and a
# tile of positions. The hook finds $p$, the seed and $H$ in `extras`: hand them over in this order.

# %% exercise="dropout"
# HINT: The hook is called with P in the forward pass, and with P and dP in the backward pass. All three times it must
#     keep the same weights, so it may depend on the seed and on the weight's own number alone.
# HINT: Compute the number of each weight of the tile from b, h, i and j, ask tl.rand for its random numbers, and
#     choose between x / (1 − p) and 0.
# HINT: position = ((b * H + h) * S_q + i) * S_k + j, kept where tl.rand(seed, position) >= p. The launcher gives
#     extras=(p, seed, q.shape[1]) to both passes.
# INCLUDE: flashlearn/kernels/dropout_attention.py:kept_weights


# INCLUDE: flashlearn/kernels/dropout_attention.py:dropout

# %%
flashlearn.check("dropout", dropout)

# %%
# flashlearn.hint("dropout")

# %% [markdown]
# With $V = I$, $O$ is $W$ itself, and its zeros are what was dropped. They are where the formula says:

# %% tags=["nbval-check-output"]
drop = flashlearn.use("dropout", dropout)
q, k, do = (torch.randn(1, 2, 32, 32, generator=generator).to(DEVICE) for _ in range(3))
identity = torch.eye(32, device=DEVICE).expand(1, 2, 32, 32).contiguous()
with flashlearn.observing():
    W, *_ = drop(q, k, identity, do, 0.3, 7, 0.2)
expected = philox.uniform(7, philox.positions(1, 2, 32, 32)) < 0.3
print(
    f"dropped {(W == 0).float().mean().item():.1%} of the weights; rows sum to "
    f"{W.sum(-1).min().item():.2f} … {W.sum(-1).max().item():.2f}"
)
assert torch.equal((W == 0).cpu(), expected)

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - Rows do not sum to 1 any more; they do so on average.
# - Ten rounds of Philox cost integer instructions for each weight, forward once, backward once in dQ and twice in the
#   kernel of dK and dV, which calls the hook for $P$ and for $dP$. Philox makes four words at a time, of which `tl.rand`
#   uses one; `tl.randint4x` returns all four.
# - Positions are 64-bit here, since $B\,H\,S_q\,S_k$ passes $2^{31}$ soon. In 32 bits they would wrap, and heads would
#   share their masks.
#
# </details>
#
# This is a good place for a break.

# %% [markdown]
# ## 8 · A sink
#
# A softmax always hands out a total weight of 1, whether or not a key deserves it. Models put what is left on the first
# tokens, which became known as *attention sinks* (Xiao et al., *Efficient streaming language models with attention
# sinks*, 2023). A model can be given a place for it instead: one learned logit $z_h$ per head that joins the denominator
# and has no value. (Miller, *Attention is off by one*, 2023, has $z = 0$; gpt-oss learns $z_h$, OpenAI, 2025.)
#
# $$P_{ij} = \frac{e^{s_{ij}}}{e^{z_h} + \sum_l e^{s_{il}}}, \qquad \mathrm{LSE}_i = \log\Big(e^{z_h} + \sum_l e^{s_{il}}\Big).$$

# %%
slider(ragged_pictures.sink_share, logit=(-2, 0, 1, 2, 4))

# %% [markdown]
# The scan begins with a maximum and a sum. Without a sink they are $-\infty$ and 0, a row that has seen nothing. **Before
# you read on**: what are they with a sink?
#
# A row that has seen its sink alone has the maximum $z_h$ and the sum $e^{z_h - z_h} = 1$. That is one hook, `start`. The
# sink must be in the *maximum* as well: with a maximum of the scores alone, $e^{z_h - m}$ overflows for a large $z_h$.
#
# The backward pass of $Q$, $K$ and $V$ needs no line. It rebuilds $P = e^{S - \mathrm{LSE}}$, and LSE has the sink in it.
# New is the gradient of $z_h$. For a row of three keys:

# %% tags=["nbval-check-output"]
z = sp.Symbol("z", real=True)
dp = sp.symbols("dp_0:3")  # do · v_j
total = sp.exp(z) + sum(map(sp.exp, s))
P = [sp.exp(s_j) / total for s_j in s]
p_sink = sp.exp(z) / total
loss = sum(p_j * dp_j for p_j, dp_j in zip(P, dp, strict=True))
delta = loss  # Σ P dP

for j in range(3):
    assert sp.simplify(sp.diff(loss, s[j]) - P[j] * (dp[j] - delta)) == 0
assert sp.simplify(sp.diff(loss, z) + p_sink * delta) == 0
print("dS = P ∘ (dP − delta) as ever, and dz = −p_sink · delta")

# %% [markdown]
# It is the same formula: $dz = p_z\,(dP_z - \delta)$ with $dP_z = 0$, for a sink has no value. A logit occurs in every
# row of its head, so $dz_h = -\sum_{b,i} e^{z_h - \mathrm{LSE}_{bhi}}\, \delta_{bhi}$: two numbers per query that the
# backward pass has in memory anyway.
#
# A sink can also be added *after* an attention without one, from its O and LSE alone. **Predict**, before you read the
# next cell, what O is multiplied by, as a function of $\mathrm{LSE} - z$.

# %% tags=["nbval-check-output"]
plain = sp.log(sum(map(sp.exp, s)))  # LSE without the sink
factor = 1 / (1 + sp.exp(z - plain))  # the logistic function of LSE − z
for j in range(3):
    assert sp.simplify(P[j] - factor * sp.exp(s[j] - plain)) == 0
print("O with a sink = σ(LSE − z) · O without one")

# %% [markdown]
# That is how frameworks without a hook in the kernel get sinks: at the price of reading and writing O once more.
#
# ### Exercise: `sinks` · core
#
# The start of a row, and the gradient of the logits: one program per head, which reads LSE and delta, both
# $[B, H, S]$. The launcher is given, and causal. Some queries see no key: they have their sink.

# %% exercise="sinks"
# HINT: The scan of lesson 06 begins with a row that has seen nothing. This one begins with a row that has seen one
#     score, the logit, whose value vector is 0.
# HINT: After one score the maximum is that score, and the sum is exp(0). For the gradient sum exp(logit − LSE) · delta
#     over the queries of every batch, in one program per head.
# HINT: return tl.load(logits_ptr + h), 1.0. In the gradient, row (b * H + h) * S + rows of LSE and delta; fill LSE with
#     +inf where there is no row; store minus the sum.
# INCLUDE: flashlearn/kernels/sink_attention.py:sink_start


# INCLUDE: flashlearn/kernels/sink_attention.py:sink_gradient_kernel


# INCLUDE: flashlearn/kernels/sink_attention.py:sinks

# %%
flashlearn.check("sinks", sinks)

# %%
# flashlearn.hint("sinks")

# %% [markdown]
# What does a query that finds nothing do with a sink? **Predict** the length of O's rows for queries that are opposed to
# every key, with and without one:

# %% tags=["nbval-check-output"]
with_sinks = flashlearn.use("sinks", sinks)
k, v, do = (torch.randn(1, 1, 32, 16, generator=generator).to(DEVICE) for _ in range(3))
k = k + 1
lengths_of_o = {}
for name, q in {
    "random": torch.randn(1, 1, 32, 16, generator=generator),
    "opposed": -3 * torch.ones(1, 1, 32, 16),
}.items():
    for logit in (-30.0, 0.0):
        with flashlearn.observing():
            o, *_ = with_sinks(q.to(DEVICE), k, v, do, torch.full((1,), logit, device=DEVICE), 0.25)
        lengths_of_o[name, logit] = o[0, 0, -8:].norm(dim=-1).mean().item()
        print(f"{name:8} queries, logit {logit:5}: rows of O have the length {lengths_of_o[name, logit]:.2f}")

assert lengths_of_o["opposed", 0.0] < 0.2 * lengths_of_o["opposed", -30.0]

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - A logit of −30 is no sink in effect: every row sums to 1, also that of a query that no key suits.
# - With the sink such a row is nearly 0: the head says nothing.
# - A query that sees no key has $O = 0$ and $\mathrm{LSE} = z_h$, a finite number. The guards for $-\infty$ of lesson 06
#   are not needed any more.
#
# </details>

# %% [markdown]
# ## 9 · Your own attention
#
# Each variant was right on its own. A model wants several at once: gpt-oss has shared heads, windows and sinks (OpenAI,
# 2025, its section on the architecture), Gemma 2 shared heads, windows and soft caps (Gemma Team, 2024, section 2). The
# last exercise is **one attention with everything**, and it is
# the one to make fast.
#
# Which of the exercises so far are yours? The cell looks in this session and in your notebooks, and runs what it finds
# there once more:

# %%
parts = assemble("gqa", "sliding_window", "softcap", "alibi", "varlen", "dropout", "sinks")
own_hooks.take(parts)
parts

# %% [markdown]
# From here on `own_hooks` has the hooks of these functions: yours where they passed, the course's elsewhere. Features meet
# in three places, and the exercise says what is right there:
#
# - a score is capped first, and then the slope's term is subtracted: $s = c \tanh(x / c) - a_h\,(i + S_k - S_q - j)$. So the
#   score is not $c$ times a tanh any more. **Predict** from which number the cap's derivative must be computed.
# - a sink is a score already: it is neither capped nor sloped, and takes part in every row's softmax.
# - the number of a weight for dropout counts packed rows and columns, $(h\,T_q + \text{row})\,T_k + \text{column}$, so
#   that two sequences of the same length do not drop the same weights.

# %% tags=["nbval-check-output"]
x, cap, bias = sp.symbols("x c b", real=True)
capped = cap * sp.tanh(x / cap)
score = capped - bias
assert sp.simplify(sp.diff(score, x) - (1 - (capped / cap) ** 2)) == 0
t = sp.Symbol("t")  # tanh(x / c)
print(
    "with s in place of the capped score it is wrong by", sp.factor((1 - t**2) - (1 - (t - bias / cap) ** 2))
)

# %% [markdown]
# A tuple may hold tuples, so every hook of an exercise can be called with `extras` of its own. A feature that is absent
# is 0 (the window, the cap, $p$, the slopes), or $-\infty$ for the logits: a row that begins with the maximum $-\infty$
# and the sum 1 is rescaled to a sum of 0 by the first tile in which it sees a key. A window comes only with a causal mask.
#
# ### Exercise: `capstone` · stretch
#
# The cell begins with your own hooks. Its stubs are one way to put them together; you may replace all of it, the pair of
# kernels included. What is judged: O, LSE and four gradients, in declared cases and then in **hidden draws** of shapes
# and features, new in every check. Then it is timed.

# %% exercise="capstone"
# HINT: Each hook calls the one of its own exercise. A tuple may hold tuples, so that every hook finds its own extras
#     where it looks for them.
# HINT: The score is capped first, then the slope's term is subtracted, so the derivative of the cap needs the capped score
#     before that. Dropout's numbers count packed rows and columns: place in the sequence plus the sequence's first row.
# HINT: any_gradient computes capped_score(x, …) again and gives it to capped_gradient in place of s. any_weights calls
#     kept_weights(w, b * 0, h, row_0 + i, key_0 + j, T_q, T_k, extras[3]).
from flashlearn.course.own_hooks import (  # yours where their exercise has passed, the course's elsewhere
    block_list,
    capped_gradient,
    capped_score,
    group_key_head,
    group_query_heads,
    kept_weights,
    listed_key_block,
    listed_query_block,
    packed_sequence,
    score_with_distance,
    sink_gradient_kernel,
    sink_start,
    window_keys,
    window_mask,
    window_queries,
)

# INCLUDE: flashlearn/kernels/capstone_attention.py:any_mask


# INCLUDE: flashlearn/kernels/capstone_attention.py:any_keys


# INCLUDE: flashlearn/kernels/capstone_attention.py:any_queries


# INCLUDE: flashlearn/kernels/capstone_attention.py:sloped_score


# INCLUDE: flashlearn/kernels/capstone_attention.py:capped_and_sloped_score


# INCLUDE: flashlearn/kernels/capstone_attention.py:any_gradient


# INCLUDE: flashlearn/kernels/capstone_attention.py:any_weights


# INCLUDE: flashlearn/kernels/capstone_attention.py:any_start


# INCLUDE: flashlearn/kernels/capstone_attention.py:any_sequence


# INCLUDE: flashlearn/kernels/capstone_attention.py:any_query_block


# INCLUDE: flashlearn/kernels/capstone_attention.py:any_key_block


# INCLUDE: flashlearn/kernels/capstone_attention.py:capstone

# %%
flashlearn.check("capstone", capstone)

# %%
# flashlearn.hint("capstone")

# %% [markdown]
# ### The leaderboard
#
# It is local: a file beside your progress, which only you see. An entry is checked first, in new draws. On a GPU six
# large draws are then timed beside SDPA, both passes, alternately in the same run, and the entry is the **geometric mean of
# the six ratios**. SDPA gets the same sequences padded to the longest, and leaves out what it does not have (windows,
# caps, slopes, sinks), so a ratio above 1 is possible where much is padding or outside a window. Give each version a name.
# (Without a GPU the cell checks your answer and enters nothing.)

# %%
leaderboard.enter(flashlearn.use("capstone", capstone), "hooks, put together")

# %% [markdown]
# In a terminal, `flashlearn leaderboard` lists the entries of each device, and `flashlearn leaderboard --page ladder.html`
# draws the ladder over time.
#
# Where to look for time: the pair is lesson 06's, 07's and 08's kernels, so all of lesson 12 is still ahead of it: two
# loops (tiles that need no mask are most of them), larger blocks and more stages per shape, $\log_2 e$ folded into the
# scale, descriptors, the heaviest blocks first, and for ragged batches a list sorted by length. A cap costs a tanh for
# each score. Change one thing at a time, enter it, and keep what pays.

# %% [markdown]
# ### Journal
#
# *Two or three sentences for yourself in a month. Which hook would your own model need next? Double-click here and
# write.*
#
# ### What comes next
#
# This is the last lesson. What it takes to change the attention of a model is in your notebooks: derive it, write it as
# a hook, compare both passes with fp64, and measure. `flashlearn status --all` shows what you left out on the way, and
# `flashlearn bench` times the course's kernels beside torch's on your GPU.
