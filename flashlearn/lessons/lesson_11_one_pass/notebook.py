# %% [markdown]
# # One pass instead of two
#
# Two kernels compute the three gradients in seven products, since both of them compute $S$ and $dP$. This lesson
# needs only five: one pass over the tiles, along columns or along rows. What a program does not own it adds to
# memory, where other programs add as well. You will write both kernels, compute what they cost before you trust them,
# count what a GPU loses without atomics, and at the end make the sum the same to the last bit, every time.
#
# **Afterwards you can**
#
# - write the backward pass as one kernel that owns keys, and as one that owns queries, and say which padding is
#   dangerous in each;
# - compute the cost of a design in products, bytes and memory, and say when saving two products in seven is worth it;
# - distinguish what is lost when two programs add without an atomic from what only changes in the last bits when they
#   add with one, and find a lost update in a design that has atomics in it;
# - make a sum over programs repeatable, and say what that costs;
# - read a CUDA design (shared-memory atomics, warps that own rows, threads mapped to elements) and compare it with
#   what Triton compiles to;
# - choose test data and a tolerance that reveal a missing term.
#
# **You need** lessons 07 and 08, whose loops you will combine, and the sections of lesson 05 on traffic and on two
# programs that write the same element. You need none of the code that you wrote there.
#
# **It takes** about three and a half hours: two kernels of 35 lines that you have mostly written already, a third
# exercise of a few lines in three places, a dozen experiments with a prediction each, and three questions at the end.
# The end of section 4 is a good place for a break.

# %%
import math
import re

import sympy as sp
import torch
import triton
import triton.language as tl
from torch import Tensor

import flashlearn
from flashlearn import DEVICE
from flashlearn.compiler import compile_launch
from flashlearn.compiler.listing import listing
from flashlearn.kernels import fused_backward as packaged  # the course's own, whose blocks can be chosen
from flashlearn.kernels.delta import delta_preprocess
from flashlearn.kernels.flash_backward_dkv import dkv_kernel
from flashlearn.kernels.flash_backward_dq import dq_kernel
from flashlearn.kernels.flash_forward import flash_forward
from flashlearn.kernels.reach import refuse_far_rows
from flashlearn.kernels.repeatable_backward import one_tile
from flashlearn.lessons.lesson_11_one_pass import measured, pictures
from flashlearn.lessons.lesson_11_one_pass.faulty_kernels import faulty
from flashlearn.lessons.lesson_11_one_pass.machine_code import figures
from flashlearn.lessons.shared import backward_pictures, reference

# %% [markdown]
# ## Before you begin
#
# Three questions about what came before. Run the cell to read them, enter a letter for each number, and run it again.
# A wrong choice costs nothing; the reply says what it overlooks.

# %% tags=["recall"]
### BEGIN SOLUTION
# STUB: answers = {1: "", 2: "", 3: ""}
answers = {1: "b", 2: "a", 3: "c"}
### END SOLUTION
flashlearn.recall("11", answers)

# %% [markdown]
# ## 1 · Two designs with one pass
#
# One tile is enough for all three gradients. A program that has $P$ and $dS$ for a block of queries and a block of
# keys in registers can compute this tile's share of each:
#
# $$dV_J \mathrel{+}= P_{IJ}^\top\, dO_I, \qquad dK_J \mathrel{+}= \alpha\, dS_{IJ}^\top\, Q_I, \qquad
# dQ_I \mathrel{+}= \alpha\, dS_{IJ}\, K_J .$$
#
# Two of the sums run over $I$, one runs over $J$. A program that goes down a column of tiles completes the first two
# but not the third; one that goes along a row completes the third but neither of the others.

# %%
pictures.owners()

# %% [markdown]
# What is dashed has no single owner: several programs add to it. Lesson 08 counted the products of the three designs.
# Here is the full cost, per head, for blocks of $B_q$ queries and $B_k$ keys and $b$ bytes per element. The sums in
# memory are in fp32, and an addition counts as a read and a write. That memory has to be zeroed at the start and
# converted at the end.
#
# **Predict**, for $D = 64$, blocks of 64 and half precision: in each step of its loop a program that owns keys loads a
# tile of $Q$ and one of $dO$. How many bytes does it load, and how many does it add to $dQ$, counted in both
# directions?

# %%
S_q, S_k, D, B_q, B_k, b = sp.symbols("S_q S_k D B_q B_k b", positive=True)
product = 2 * S_q * S_k * D
fp32 = 4

scan_keys = 3 * S_q * D * b + (S_q / B_q) * 2 * S_k * D * b  # Q, dO, dQ once; K, V per block of queries
scan_queries = 4 * S_k * D * b + (S_k / B_k) * 2 * S_q * D * b  # K, V, dK, dV once; Q, dO per block of keys
to_dq = (S_k / B_k) * S_q * D * 2 * fp32  # each block of keys adds to all of dQ
to_dkv = (S_q / B_q) * 2 * S_k * D * 2 * fp32  # each block of queries adds to all of dK and of dV
begun_and_ended = {
    "dq": S_q * D * (2 * fp32 + b),
    "dkv": 2 * S_k * D * (2 * fp32 + b),
}  # zeroed; read, converted

bill = {
    "two kernels": (7 * product, scan_keys + scan_queries, 0),
    "own keys, add to dQ": (5 * product, scan_queries + to_dq + begun_and_ended["dq"], S_q * D * fp32),
    "own queries, add to dK, dV": (
        5 * product,
        scan_keys + to_dkv + begun_and_ended["dkv"],
        2 * S_k * D * fp32,
    ),
}
of_step, of_share = 2 * 64 * 64 * 2, 2 * 64 * 64 * fp32  # Q and dO in fp16; dQ in fp32, read and written
print(f"a step of own keys loads {of_step / 1024:.0f} KiB and adds {of_share / 1024:.0f} KiB")
for blocks in (64, 128):
    sizes = {S_q: 4096, S_k: 4096, D: 64, B_q: blocks, B_k: blocks, b: 2}
    print(f"S 4096, D 64, blocks of {blocks}, fp16, per head")
    for name, (operations, moved, extra) in bill.items():
        flop, size, more = (float(sp.sympify(x).subs(sizes)) for x in (operations, moved, extra))
        print(
            f"  {name:27} {flop / 1e9:5.1f} G operations  {size / 2**20:6.1f} MiB requested"
            f"  {flop / size:5.0f} operations per byte  {more / 2**20:4.1f} MiB more memory"
        )

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - A tile of $Q$ and one of $dO$ are $2 \cdot 64 \cdot 64 \cdot 2 = 16$ KiB; the share of $dQ$ is $64 \cdot 64 \cdot
#   4 = 16$ KiB, and 32 in both directions. The atomics request twice as many bytes as the loads. With fp32 inputs
#   both would be equal.
# - One pass saves two products in seven: if the products took all the time it would be 1.4 times as fast. (The next
#   cell counts more than products.) The cost is traffic: the design that owns keys requests half as much again as both
#   kernels together, the other one two and a half times as much.
# - The share's traffic is $S_k / B_k$ per element of $dQ$: doubling the block of *keys* halves the atomics. Larger
#   blocks of queries do not change that traffic. (Lesson 08 found that a larger block of keys also costs more
#   registers.)
# - "Requested" is not HBM traffic. The sums of one head are 1 MiB here, and the L2 cache of an H100 has 50 MiB:
#   atomics are carried out *in L2*, next to the data. Only a measurement can tell how much they cost
#   (section 8).
#
# </details>
#
# Is $7/5$ the upper limit? Two kernels also compute every exponential twice, and an H100 can compute $3.9 \cdot
# 10^{12}$ of them per second, for $989 \cdot 10^{12}$ operations of products (FlashAttention-3, section 3.1).
# **Predict** the limit if both run at their peak, one after the other, for $D = 64$.

# %% tags=["nbval-check-output"]
for width in (64, 128, 256):
    for_product, for_exponential = 2 * width / 989e12, 1 / 3.9e12  # seconds for each score, on an H100
    limit = (7 * for_product + 2 * for_exponential) / (5 * for_product + for_exponential)
    print(f"D {width:3}: one pass is at most {limit:.2f} times as fast")

# %% [markdown]
# The smaller $D$, the more the exponentials count: at $D = 64$ one of them takes as long as two products. Masks,
# subtractions and addresses are saved as well and counted nowhere here. So $7/5$ is what the *products* allow, and not
# a limit.
#
# ## 2 · Own keys, add to dQ
#
# This is lesson 08's kernel with three more lines. `ds` is already computed; one more product turns it into the
# tile's share of $dQ$, and one instruction adds that share.
#
# | mathematics | in the kernel | shape |
# |---|---|---|
# | a block of $K$, $V$ | `k`, `v` | `(BLOCK_K, BLOCK_D)`, loaded once |
# | a tile of $Q$, $dO$, with LSE and $\delta$ | `q`, `do`, `lse_i`, `delta_i` | one per step |
# | $dV$, $dK$ | `dv`, `dk` | `(BLOCK_K, BLOCK_D)`, grow in registers |
# | $\alpha\, dS\, K$ | `share` | `(BLOCK_Q, BLOCK_D)`, added to memory |
#
# ### Both paddings at once
#
# Lesson 07 needed a mask on padded *keys*, since its sum ran over keys. Lesson 08 needed one on padded *queries*, and
# could leave the keys unmasked: an infinite $P$ for a padded key affected only that key's own row of $dK$ and $dV$,
# which is not stored. **Predict** whether the keys can be left unmasked here. The cell takes one tile with two real
# keys and two padded ones, at scores so low that $\mathrm{LSE} = -100$.

# %% tags=["nbval-check-output"]
generator = torch.Generator().manual_seed(0)
q_low = torch.full((3, 4), -5.0) + 0.1 * torch.randn(3, 4, generator=generator)
k_low = torch.full((2, 4), 5.0) + 0.1 * torch.randn(2, 4, generator=generator)
v_low, do_low = torch.randn(2, 4, generator=generator), torch.randn(3, 4, generator=generator)
o_low, lse_low = reference.attention_forward(q_low, k_low, v_low, 1.0)
delta_low = (o_low * do_low).sum(dim=1)

k_padded, v_padded = (torch.cat([t, torch.zeros(2, 4)]) for t in (k_low, v_low))  # loaded with other=0.0
p = torch.exp(q_low @ k_padded.T - lse_low[:, None])
ds = p * (do_low @ v_padded.T - delta_low[:, None])
print("LSE", lse_low.numpy().round(), "  P of query 0", p[0].numpy().round(2))
print("real rows of dV finite:", bool((p.T @ do_low)[:2].isfinite().all()))
print("real rows of dK finite:", bool((ds.T @ q_low)[:2].isfinite().all()))
print("dQ finite:             ", bool((ds @ k_padded).isfinite().all()))

# %% [markdown]
# $dK$ and $dV$ are safe, as in lesson 08. In $dQ$ the infinity meets the padded row of $K$, and $\infty \cdot 0$ is
# NaN. The rule has not changed: *mask the index that is summed over*. This kernel sums over both indices, so it masks
# both.
#
# ### Exercise: `fused_backward_atomic` · core
#
# Write the kernel; the launcher is given. It has computed $\delta$, and `dq_ptr` points to a buffer of fp32 zeros
# that it converts at the end. The check requires:
#
# - any $S_q$, $S_k$ and $D$, each input with its own strides; what the launcher allocates is contiguous;
# - causal or not, in one kernel: `IS_CAUSAL` is a constant, and `if IS_CAUSAL:` is decided when the kernel is
#   compiled. The mask is aligned bottom-right, some queries may see nothing, and tiles in which the mask hides every
#   pair are left out (the check looks at which rows are multiplied; a tile of nothing but padding is not counted);
# - $\alpha$ of either sign, scores near $-120$; fp32, fp16 and bf16, `input_precision="ieee"` for `tl.dot`;
# - each tile of $S$ is computed once, and no share is lost.
#
# Two details about addresses. The offsets of the heads have 64 bits, since `h` and `b` do. Within a head 32 bits are
# enough, and cheaper (lesson 06): `rows` and `columns` are 32-bit numbers here. That holds as long as a head's last
# element is less than $2^{31}$ elements after its first, $(S - 1) \cdot \mathrm{row} + (D - 1) \cdot \mathrm{col} <
# 2^{31}$, and the launcher refuses larger tensors. The grid is (blocks, $H$, $B$), so no division is needed to find
# the head and the sequence, and $H$ and $B$ may each be up to 65535.
#
# `tl.atomic_add(pointers, values, mask=…)` adds lane by lane. With `sem="relaxed"` you say that it does not have to
# order any other access: no program reads these sums before the kernel has finished.

# %% exercise="fused_backward_atomic"
# HINT: Lesson 08's kernel computes `ds` in every step and uses it once. One more product turns it into this
#     tile's share of dQ, for the queries of this step. No program owns these rows: add the share to memory
#     so that no other program's share is lost.
# HINT: The share is $\alpha\, dS\, K$, (BLOCK_Q, BLOCK_D), with nothing transposed.
#     `tl.atomic_add(pointers, share, mask=…)` adds it to the fp32 buffer `dq_ptr`, whose rows have D
#     elements. This kernel sums over queries (into `dk` and `dv`) and over keys (into dQ), so padding along
#     either must add nothing.
# HINT: As in lesson 08: load `k` and `v` once, start two sums at zero, and find the loop's start with `if
#     IS_CAUSAL`. In the loop `lse_i` gets +inf for padding and where it is −inf; `s` is −inf where the key
#     is padding or hidden; cast `ds` once, to q's dtype, and use it twice: transposed with `q` into `dk`,
#     and as it is with `k`, times alpha, for the atomic at `rows[:, None] * D + d[None, :]` under the
#     tile's mask. After the loop multiply `dk` by alpha, and store both.
# INCLUDE: flashlearn/kernels/fused_backward.py:fused_keys_kernel


# INCLUDE: flashlearn/kernels/fused_backward.py:fused_backward_atomic

# %%
flashlearn.check("fused_backward_atomic", fused_backward_atomic)

# %%
# flashlearn.hint("fused_backward_atomic")

# %% [markdown]
# Break it, one thing at a time: leave `in_keys` out of the condition for what is seen; use `torch.empty` for `dq`;
# use `tl.trans(ds)` for the share; leave the share's mask out; give `dq` the dtype of `q` from the start. The check
# rejects all five. Which of them would a test with $S_q = S_k = 64$, $D = 64$ in fp32 have accepted?
#
# <details><summary>Answer</summary>
#
# Three: leaving out `in_keys` (no key is padding), leaving out the mask (every lane exists), and the dtype (it is
# fp32 already). With `torch.empty` such a test may pass as well, by luck: the memory may hold zeros. The check knows
# which memory nobody has written.
#
# </details>
#
# ## 3 · What is lost without an atomic, and what changes with it
#
# Take the same kernel and replace one line: add the share as in Python, with a load, an addition and a store. Lesson
# 05 lost one of two numbers that way, and in lesson 08 the report named the race although the numbers were right,
# because the interpreter finishes one program before it starts the next. How much is lost on a GPU?
#
# To count it exactly, the next cell runs the faulty kernel on inputs for which every share of $dQ$ is 1: with $Q = 0$
# and $\mathrm{LSE} = 0$ all of $P$ is 1; $dO$ and $V$ are 1 in one component and $O = 0$, so $dS = dP = 1$; and the
# keys of a block add up to 1. Then each element of $dQ$ is the number of shares that *arrived*. Each launch is repeated
# twenty times, on your GPU if there is one; otherwise you see what was measured on another.
#
# **Predict** what fraction of the shares is lost, hardly any, half, or nearly all: for one head with two blocks of
# keys, for one with 64, and for 64 such heads. A second kernel differs in one word: its load bypasses L1, the cache of
# a single multiprocessor, and reads from L2, which all of them share. Does that help?

# %%
for case in measured.lost():
    print(f"B·H {case['heads']}, S {case['S']}: {case['S'] // 64} shares for each element of dQ")
    for way, fractions in case["ways"].items():
        mean, unharmed = sum(fractions) / len(fractions), fractions.count(0.0)
        print(
            f"  {way:26} lost: {mean:7.2%} on average, {min(fractions):7.2%} to {max(fractions):7.2%};"
            f" nothing in {unharmed} of {len(fractions)} runs"
        )
    assert set(case["ways"]["atomic add"]) == {0.0}

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - With an atomic nothing is lost, in any run. What is lost without one is not a rounding error but whole shares, and
#   nothing says that the next run loses as many.
# - If a load sees what is in memory, a share is lost only where one program stores between another one's load and
#   store. All programs of a head begin at query 0 and visit the same blocks of $dQ$ in the same order, so those that
#   start together meet at the same addresses. With one head and two blocks of keys only two programs can collide.
# - A plain load may be answered by the L1 cache, and L1 caches of different multiprocessors are not kept coherent: it
#   may hold what was in memory *before* other programs stored (PTX ISA, cache operators). Compare the first two lines
#   of each launch: what remains of the loss with a load from L2 is lost between load and store.
# - The size of the loss decides who finds it. If most shares are missing, any test that compares numbers fails. If one
#   in a million were, most tests would pass. The race is the same; so look for the race (the check does), not for the
#   loss.
#
# </details>
#
# ### The last bits
#
# Now run the right kernel several times in the interpreter, on a machine with a GPU too, with the programs in a
# different order each time (`seed` shuffles them; a GPU's scheduler promises no order either). Every share arrives.
# **Predict** for each gradient whether it is the same, bit for bit, in all five runs.

# %%
one_pass = flashlearn.use("fused_backward_atomic", fused_backward_atomic)
generator = torch.Generator().manual_seed(3)
q, k, v, do = (torch.randn(1, 1, 256, 32, generator=generator).to(DEVICE) for _ in range(4))
alpha = 1 / math.sqrt(32)
o, lse = flash_forward(q, k, v, alpha)
saved = (q, k, v, o, do, lse, alpha)
dq_true, dk_true, dv_true = reference.attention_gradients(*(t.double() for t in saved[:-1]), alpha)


def in_orders(function, *arguments, seeds=range(1, 6)):
    """The gradients of one call for each seed: the programs run in another order each time."""
    runs = []
    for seed in seeds:
        with flashlearn.observing(seed=seed):
            runs.append(function(*arguments))
    return runs


def steady(runs):
    """By gradient, whether all runs agree in every bit."""
    return {
        name: all(torch.equal(first, other) for other in others)
        for name, first, *others in zip(("dQ", "dK", "dV"), *runs, strict=True)
    }


runs = in_orders(one_pass, *saved, False)
moved = (runs[0][0] != runs[1][0]).float().mean()
print("the same in five orders:", steady(runs))
print(
    f"dQ of two runs: {moved:.0%} of the elements differ, by {(runs[0][0] - runs[1][0]).abs().max():.0e} at most"
)
assert steady(runs) == {"dQ": False, "dK": True, "dV": True}

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - $dK$ and $dV$ have an owner: one program sums them in registers, from its first tile to its last, and nothing
#   depends on other programs. $dQ$ is a sum of eight shares (256 keys in the launcher's
#   blocks of 32 for fp32) in the order in which they arrive, and $(a + b) + c$ is
#   not $a + (b + c)$ in floating point.
# - The differences are as large as fp32's rounding, and no larger: all results are equally right.
# - A gradient whose bits never change probably has an owner. This is a cheap test of a design that you did not write.
#
# </details>
#
# The launcher converts $dQ$ to the dtype of $Q$ at the end. **Predict** how many of a million sums of eight shares
# still differ after that, in fp16 and in bf16.

# %%
terms = torch.randn(8, 2**20, generator=torch.Generator().manual_seed(8))
forwards, backwards = (sum(list(terms)[::step], torch.zeros(2**20)) for step in (1, -1))
print(f"of {2**20:,} sums {int((forwards != backwards).sum()):,} differ in fp32", end="")
for dtype in (torch.float16, torch.bfloat16):
    print(f", {int((forwards.to(dtype) != backwards.to(dtype)).sum()):,} in {dtype}", end="")
assert (forwards.bfloat16() != backwards.bfloat16()).any()

# %% [markdown]
# Conversion hides nearly all of the differences, but not all: a number near the midpoint of two bf16 numbers may be
# rounded either way. That is one way in which two training runs from the same seed diverge.
#
# ### Why the sum is in fp32
#
# Could the programs add in bf16, to $dQ$ itself? Then no buffer would have to be zeroed in fp32 and converted, and half
# as many bytes would move. **Predict** two things: does a GPU have such an atomic, and what does it cost in accuracy?


# %%
@triton.jit
def add_kernel(out_ptr, x_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.atomic_add(out_ptr + at, tl.load(x_ptr + at), sem="relaxed")


for dtype in (torch.float32, torch.float16, torch.bfloat16):
    with flashlearn.observing() as (session, _):
        add_kernel[(1,)](torch.zeros(1024, dtype=dtype), torch.ones(1024, dtype=dtype), BLOCK=1024)
    for target, name in ((80, "A100"), (90, "H100")):
        ptx = listing(session.launches[-1], target)["ptx"]
        print(f"{dtype!s:15} {name}: {sorted(set(re.findall(r'atom[.][a-z0-9._]+', ptx)))}")

terms = torch.randn(64, 4096, generator=torch.Generator().manual_seed(9))  # 64 shares of 4096 elements
exact = terms.double().sum(dim=0)
for dtype in (torch.float32, torch.float16, torch.bfloat16):
    total = torch.zeros(4096, dtype=dtype)
    for term in terms:
        total += term.to(dtype)
    errors = [(x.double() - exact).norm() / exact.norm() for x in (total, exact.to(dtype))]
    print(f"{dtype!s:15} error of 64 additions {errors[0]:.1e}, of one rounding at the end {errors[1]:.1e}")

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - An H100 adds in bf16, eight numbers per instruction. An A100 has no such instruction: the compiler writes `cas`,
#   compare and swap, inside a loop that repeats until no other program has come in between.
# - It is possible, and a bad bargain. Every one of the 64 additions rounds to 8 significant bits, and the error grows
#   with the number of blocks of keys; an fp32 sum is rounded once. The check would reject it: its error would be
#   several times that of plain torch.
#
# </details>
#
# ## 4 · Own queries, add to dK and dV
#
# Now exchange the roles. The program keeps `q`, `do`, LSE and $\delta$ and loops over keys; `dq` is summed in
# registers; every tile has a share of $dK$ and a share of $dV$. **Predict** from section 1's formulas: how many times
# as many bytes go through atomics?
#
# And the paddings? A padded query of this program is a row of `p`. In lesson 07, which has the same block of queries,
# that row was harmless, since it was not stored. Is it here?
#
# ### Exercise: `fused_backward_rows` · core
#
# This is lesson 07's kernel with two shares per tile. The check requires the same as before, with the roles
# exchanged: the program owns `dq`, and `dk_ptr` and `dv_ptr` point to fp32 zeros. With a causal mask the loop over
# keys ends early.

# %% exercise="fused_backward_rows"
# HINT: Lesson 07's kernel: load q, do, LSE and delta once, loop over keys, keep `dq` in registers. What
#     does each tile contribute to the gradients of its keys, and which other programs add to them?
# HINT: Two shares per tile, both (BLOCK_K, BLOCK_D): $P^\top dO$ for dV, $\alpha\, dS^\top Q$ for dK. Each
#     goes to its fp32 buffer with `tl.atomic_add`, at the tile's *keys*, under the tile's mask. A padded
#     query of this program would add its P to every key. Which LSE prevents that?
# HINT: Before the loop: `q`, `do`, `delta_i`, and `lse_i` with other=+inf, and +inf where it is −inf. The
#     loop ends at S_k, or, with a causal mask, at `(tl.program_id(0) + 1) * BLOCK_Q + S_k - S_q` if that is
#     less. In it compute `s`, `p`, `dp` and the cast `ds` as in lesson 07; add `ds` times `k` to `dq`; two
#     atomics add the transposed `p` times `do`, and alpha times the transposed `ds` times `q`. After the
#     loop multiply `dq` by alpha and store it.
# INCLUDE: flashlearn/kernels/fused_backward.py:fused_rows_kernel


# INCLUDE: flashlearn/kernels/fused_backward.py:fused_backward_rows

# %%
flashlearn.check("fused_backward_rows", fused_backward_rows)

# %%
# flashlearn.hint("fused_backward_rows")

# %% [markdown]
# ### The traffic, counted
#
# The counter records every access of your kernels: 128 queries and keys, $D = 64$, fp16, blocks of 32; an atomic
# counts as a read and a write. The cell compares its figures with section 1's formulas, to the byte. (The comparison
# leaves out what is small, $\delta$ and LSE, and what torch does, zeroing and converting.)

# %%
other_pass = flashlearn.use("fused_backward_rows", fused_backward_rows)
generator = torch.Generator().manual_seed(4)
small = [
    torch.randn(1, 1, 128, 64, generator=generator).half() for _ in range(4)
]  # q, k, v, do: not on a GPU
o_small, lse_small = (t.cpu() for t in flash_forward(*(t.to(DEVICE) for t in small[:3]), 0.125))
given = (*small[:3], o_small, small[3], lse_small, 0.125)

TENSORS = {
    "q_ptr": "Q",
    "k_ptr": "K",
    "v_ptr": "V",
    "do_ptr": "dO",
    "dq_ptr": "dQ",
    "dk_ptr": "dK",
    "dv_ptr": "dV",
}


def traffic(function, *arguments):
    """Products, and bytes by tensor, that the kernels of one call asked for, but for what makes delta."""
    with flashlearn.observing() as (session, _):
        function(*arguments)
    seen = session.observation()
    of_delta = small[3].numel() * 2  # delta_preprocess reads dO once
    moved = {
        short: seen.traffic[name].loaded + seen.traffic[name].stored + 2 * seen.traffic[name].atomic
        for name, short in TENSORS.items()
        if name in seen.traffic
    }
    moved["dO"] -= of_delta
    return seen.operations["dot"] / (2 * 128 * 128 * 64), moved


counted = {
    "dQ alone": traffic(dq_kernel, *given),
    "dK and dV alone": traffic(dkv_kernel, *given),
    "own keys": traffic(one_pass, *given, False),
    "own queries": traffic(other_pass, *given, False),
}
for name, (products, moved) in counted.items():
    print(f"{name:16} {products:.0f} products, {sum(moved.values()) / 1024:4.0f} KiB requested")

at = {S_q: 128, S_k: 128, D: 64, B_q: 32, B_k: 32, b: 2}
assert sum(counted["own keys"][1].values()) == (scan_queries + to_dq).subs(at)
assert sum(counted["own queries"][1].values()) == (scan_keys + to_dkv).subs(at)

# %%
TOGETHER = {"what is loaded": ("Q", "K", "V", "dO"), "dQ": ("dQ",), "dK": ("dK",), "dV": ("dV",)}


def in_kib(*parts):
    """Traffic of one or several kernels, by what belongs together."""
    return {
        name: sum(part.get(tensor, 0) for part in parts for tensor in tensors) / 1024
        for name, tensors in TOGETHER.items()
    }


backward_pictures.requested(
    {
        "two kernels": in_kib(counted["dQ alone"][1], counted["dK and dV alone"][1]),
        "own keys": in_kib(counted["own keys"][1]),
        "own queries": in_kib(counted["own queries"][1]),
    }
)

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - One pass loads half as much as two passes. What it adds to memory outweighs that: with own keys there are 22 % more
#   bytes than with two kernels, with own queries 87 % more.
# - Owning queries sends twice as much through atomics as owning keys: two sums to add to instead of one. That is a
#   good reason for FlashAttention-2's choice to own keys.
# - Is there a case for the other one? Look at the formulas for $S_q \ne S_k$: $dQ$'s traffic is $8 D\, S_q S_k / B_k$
#   bytes and $dK$'s with $dV$'s is $16 D\, S_q S_k / B_q$. Both depend on the lengths only through their product, so
#   the block sizes decide, not the lengths: for $B_q > 2 B_k$ owning queries adds less. And where one block holds all
#   queries (a few queries that attend to many keys), no other program adds to $dK$ and $dV$.
#
# </details>
#
# ## 5 · A CUDA design, compared with what Triton compiles to
#
# In CUDA the same algorithm is written at a lower level, and its author has to decide what each thread does. One of
# this course's sources is the design of such a kernel. It is section 4's: a block of threads owns $B_r$ queries and
# goes through the keys in tiles of $B_c$. Here are its three techniques, and what each is for:
#
# **Shared memory for the tile of keys.** $K$, $V$ and the tile's sums for $dK$ and $dV$ are kept there in fp32: four
# arrays of $B_c \times d$, $4 B_c d$ floats. For $B_c = d = 64$ that is 64 KiB. A kernel gets 48 KiB unless it asks
# for more (`cudaFuncAttributeMaxDynamicSharedMemorySize`): without that call such a launch fails.
#
# **Threads mapped to elements, and warps to rows.** If a warp owns whole rows of the tile, then what belongs to a row
# (LSE, $\delta$, a sum along keys) stays in the warp: 32 threads exchange it by *shuffles*, and wait only for each
# other (a warp barrier, `__syncwarp`). $dQ$ sums along a row: it stays in the warp as well, in registers, and is
# written once. $dK$ and $dV$ sum down the columns, over rows of *all* warps.
#
# **Atomics on shared memory.** So several warps add to the same elements of $dK$ and $dV$, and each adds its part
# with `atomicAdd` on shared memory: correct, in no particular order, and slow where lanes wait for the same word.
# Between the phases a block barrier, `__syncthreads`, is needed, or one warp may read what another has not finished.
# (Atomics alone are not enough: in patient 3 of lesson 10 every warp adds the *same* tile.)
#
# > ### Sources corrected: "write dQ, dK and dV"
# >
# > **The claim**, in that design: $dK$ and $dV$ of a tile are summed in shared memory, by atomics, until all warps have
# > added their part. Then $dQ$, $dK$ and $dV$ are written to global memory.
# >
# > **The experiment.** Section 4's kernel, with a plain store to `dk` and `dv` where its atomics are. A program's sum
# > over its own queries is complete and right. **Predict** which of the three gradients are right with one block of
# > queries, and which with two.

# %%
stored = faulty("fused_backward_rows", "stored, not added")
for block in (256, 128):
    with flashlearn.observing() as (session, _):
        found = stored(*saved, False, block=block)
    errors = {
        name: f"{(mine - right).norm() / right.norm():.0e}"
        for name, mine, right in zip(("dQ", "dK", "dV"), found, (dq_true, dk_true, dv_true), strict=True)
    }
    print(f"{256 // block} block{'s' if block < 256 else ''} of queries, relative errors {errors}")
    for race in session.memory.races.found[:1]:
        print(" ", race.sentence)

# %% [markdown]
# > **The verdict.** It is right as long as a head has one block of queries. With two, each program stores its own sum
# > over the other's, and of every element of $dK$ and $dV$ half the sum is lost. $dQ$ may be stored: a program owns it.
# > The atomics in the source keep the *warps* of one block of threads from overwriting each other. The same question
# > comes up again between blocks of threads, and there the answer has to be an atomic on global memory, or a kernel
# > that owns keys. An addition in place of the store, `dk[j] += …`, would be section 3's mistake.
#
# And Triton? You wrote `tl.dot(tl.trans(ds), q)`. **Predict**, for blocks of 64, $D = 64$ and four warps on an H100:
# how many atomics on shared memory does the compiler generate; how many rows of a tile does a warp own; how many
# shuffles are there; and how many instructions per thread add the share of $dQ$, 4096 numbers, in the kernel that owns
# keys?


# %%
def compiled_figures(launcher, *more, target=90):
    """What the compiler makes of a launcher's last kernel in fp16, blocks of 64, D 64."""
    tensors = [torch.zeros(1, 1, 64, 64, dtype=torch.float16, device=DEVICE) for _ in range(5)]
    lse = torch.zeros(1, 1, 64, device=DEVICE)
    with flashlearn.observing() as (session, _):
        launcher(*tensors, lse, 0.125, *more, block=64)
    return figures(session.launches[-1], target)


def forward_figures(target=90):
    """The same of the forward pass."""
    q, k, v = (torch.zeros(1, 1, 64, 64, dtype=torch.float16, device=DEVICE) for _ in range(3))
    with flashlearn.observing() as (session, _):
        flash_forward(q, k, v, 0.125)
    return figures(session.launches[-1], target)


for name, launcher, target in (
    ("own keys, A100", packaged.fused_backward_atomic, 80),
    ("own keys, H100", packaged.fused_backward_atomic, 90),
    ("own queries, H100", packaged.fused_backward_rows, 90),
):
    found = compiled_figures(launcher, False, target=target)
    print(f"{name}: warps {found.warps}, {found.rows_of_a_warp} rows of a tile each at a time")
    print(f"  atomics on shared memory {found.shared_atomics}, on global memory {found.atomics}")
    print(f"  what the assembler makes of them: {found.assembled}")
    print(
        f"  block barriers {found.barriers}, shuffles {found.shuffles}, changes of layout {found.conversions}"
    )
    print(
        f"  shared memory {found.shared_bytes / 1024:.0f} KiB, registers {found.registers}, spilled {found.spill_bytes} B"
    )
    assert found.shared_atomics == found.shuffles == 0 < found.barriers
print("the forward pass, H100: shuffles", forward_figures().shuffles)
assert forward_figures().shuffles > 0

# %% [markdown]
# | in the CUDA source | what it is for | in Triton, own queries |
# |---|---|---|
# | $4 B_c d$ floats of shared memory | a tile of $K$, $V$, and its sums for $dK$, $dV$, where all threads can access them | tiles of $K$ and $V$ in shared memory, in the inputs' dtype; a tile's share of $dK$ and of $dV$ in *registers*, spread over the threads |
# | a warp owns rows | row-wise numbers need no other warp | the same: `warps` says (4, 1), four warps one below the other, 16 rows each per instruction |
# | shuffles | sums along a row | none here: LSE and $\delta$ are *loaded*. The forward pass has them, for its maximum and its sum |
# | atomics on shared memory | sums down the columns, across warps | none: `tl.trans(ds)` goes through shared memory, and the product that follows sums over all queries of the block by itself |
# | `__syncthreads` | between writes to shared memory and reads of it | `bar.sync`, inserted by the compiler |
# | thread ↔ element, twice | one mapping for $S$, another for $dK$ | `convert_layout`: the compiler changes the mapping between two statements |
# | missing: `atomicAdd` on global memory | $dK$ and $dV$, across blocks | `tl.atomic_add`: the one thing here that *you* must write |
#
# <details><summary><b>What to notice</b></summary>
#
# - 4096 numbers and 128 threads make 32 numbers per thread. On an A100 that is 32 instructions, one per number. On an
#   H100 it is 8: `v4` adds four neighbours at once, 16 bytes. Which elements a thread
#   has after a product is up to the tensor cores, so for either target the share may be converted to another layout
#   first; it is among the changes of layout that are counted above.
# - `atom` returns the old value, which is not used here. The assembler sees that: what it writes is `RED` for an A100
#   and `REDG` for an H100, a reduction that returns nothing, so the thread need not wait for an answer.
# - None of this makes the sum over *programs* safe.
#
# </details>
#
# One thing in the right-hand column has a limit. The compiler inserts the barriers that *shared* memory needs. Does it
# do the same for *global* memory? A small kernel stores a tile and loads it again in reverse order, so that each thread
# reads what another thread of the same program has stored. **Predict** where a `bar.sync` appears.


# %%
@triton.jit
def read_back_kernel(x_ptr, twice_ptr, BLOCK: tl.constexpr, BARRIER: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(twice_ptr + at, 2.0 * tl.load(x_ptr + at))
    if BARRIER:
        tl.debug_barrier()
    tl.store(x_ptr + at, tl.load(twice_ptr + BLOCK - 1 - at))


for barrier in (False, True):
    with flashlearn.observing() as (session, _):
        read_back_kernel[(1,)](torch.arange(512.0), torch.zeros(512), BLOCK=512, BARRIER=barrier)
    ptx = listing(session.launches[-1])["ptx"]
    print(f"debug_barrier: {barrier};", ", ".join(re.findall(r"\b(?:ld|st)\.global|bar\.sync", ptx)))
    for caution in session.memory.cautions.found.values():
        print("  the observer:", caution.sentence)

# %% [markdown]
# It does not: between the store and the loads there is nothing, and on a GPU the result can depend on which warp comes
# first (triton-lang/triton, issue 10924, is such a case). `tl.debug_barrier()` orders them. None of the kernels so far
# reads back what it has stored; the stretch of section 7 does.
#
# ## 6 · Two tests, and a tolerance that misses the error
#
# One of this course's sources tests such a kernel in two ways. Both tests are good to have, and both are weaker than
# they look.
#
# **Test A, 4 × 4.** Four queries, four keys, $D = 4$; $Q = K = I$, so that $S = \alpha I$ and $P$ has two different
# numbers. The exact values can be computed by hand:

# %% tags=["nbval-check-output"]
alpha_id = sp.Rational(1, 2)  # 1/√4
S_id = alpha_id * sp.eye(4)
total = sp.exp(alpha_id) + 3
P_id = S_id.applyfunc(sp.exp) / total
assert all(sp.simplify(sum(P_id.row(i)) - 1) == 0 for i in range(4))
print(
    "P_ii =",
    P_id[0, 0],
    "=",
    round(float(P_id[0, 0]), 4),
    "  P_ij =",
    P_id[0, 1],
    "=",
    round(float(P_id[0, 1]), 4),
)

# %% [markdown]
# $D = 4$ is less than the 16 that `tl.dot` needs here, so `BLOCK_D` is 16 and twelve columns are padding. In fp32 the
# launchers take blocks of 32 rows: 28 of them are padding too. **Predict** what share of the multiplications of
# `tl.dot(q, tl.trans(k))` involves no padding.
#
# **Test B, 128 × 128.** $D = 64$, all values uniform in $[-\frac12, \frac12]$. Both tests report three figures against
# a reference: the largest difference, the mean difference, and how many differences are *large*. In the source, large
# was above $5 \cdot 10^{-3}$.


# %%
def test_a():
    """q, k, v, do [1, 1, 4, 4]: Q and K are the identity, V and dO random."""
    generator = torch.Generator().manual_seed(6)
    v, do = (torch.randn(1, 1, 4, 4, generator=generator) for _ in range(2))
    return torch.eye(4)[None, None], torch.eye(4)[None, None], v, do


def test_b(S=128, scale=0.5):
    """q, k, v, do [1, 1, S, 64], uniform in [−scale, scale]."""
    draw = torch.rand(4, 1, 1, S, 64, generator=torch.Generator().manual_seed(0))
    return tuple(scale * (2 * draw - 1))


def forward_of(q, k, v, do):
    """What the backward pass is given, on this machine's device."""
    q, k, v, do = (t.to(DEVICE) for t in (q, k, v, do))
    alpha = 1 / math.sqrt(q.shape[-1])
    o, lse = flash_forward(q, k, v, alpha)
    return q, k, v, o, do, lse, alpha


def three_figures(mine, truth, bar):
    """Largest and mean difference, and how many are above the bar."""
    differences = (mine.double() - truth.double()).abs()
    return float(differences.max()), float(differences.mean()), int((differences > bar).sum())


print("real multiplications in test A:", f"{4 * 4 * 4 / (32 * 32 * 16):.2%}")
for name, given in (("A", forward_of(*test_a())), ("B", forward_of(*test_b()))):
    truth = reference.attention_gradients(*(t.double() for t in given[:-1]), given[-1])
    for kernel_name, function in (("own keys", one_pass), ("own queries", other_pass)):
        with flashlearn.observing():
            mine = function(*given, False)
        for gradient, one, right in zip(("dQ", "dK", "dV"), mine, truth, strict=True):
            largest, mean, large = three_figures(one, right, 5e-3)
            print(
                f"test {name}, {kernel_name:11}, {gradient}: largest {largest:.0e}, mean {mean:.0e},"
                f" large {large} of {one.numel()}"
            )

# %% [markdown]
# **Predict** what the tests say about section 5's kernel, which stores its $dK$ and $dV$. Test A has one block of
# queries. For test B it depends on the block.

# %%
for name, drawn, block in (("A", test_a(), 32), ("B", test_b(), 128), ("B", test_b(), 64)):
    given = forward_of(*drawn)
    truth = reference.attention_gradients(*(t.double() for t in given[:-1]), given[-1])
    with flashlearn.observing():
        mine = stored(*given, False, block=block)
    for gradient, one, right in zip(("dK", "dV"), mine[1:], truth[1:], strict=True):
        largest, mean, large = three_figures(one, right, 5e-3)
        print(
            f"test {name}, blocks of {block:3}, {gradient}: largest {largest:.0e}, mean {mean:.0e},"
            f" large {large} of {one.numel()}"
        )

# %% [markdown]
# A lost update shows in neither test if a block has all queries. With blocks of 64 half of each sum is missing in test
# B, and the count of large differences says so clearly for $dV$, but hardly for $dK$, whose entries are small.
#
# > ### Sources corrected: a tolerance of 5e-3 for values of ±½
# >
# > **The claim.** No difference of test B is large, so the kernel is right.
# >
# > **The experiment.** Take a kernel that forgets $\delta$. We need not write it: with $O = 0$ the launcher computes
# > $\delta = 0$. **Predict** the three figures for $dQ$. Which tolerance would have revealed the mistake?

# %%
given = forward_of(*test_b())
truth = reference.attention_gradients(*(t.double() for t in given[:-1]), given[-1])
without_delta = (*given[:3], torch.zeros_like(given[3]), *given[4:])
with flashlearn.observing():
    right, forgot = one_pass(*given, False), one_pass(*without_delta, False)

exact = truth[0]
size = float(exact.abs().max())
fine = 16 * 2.0**-23 * size  # some rounding errors of fp32, at the size of the result
print(f"the largest entry of dQ is {size:.4f}")
for name, dq in (
    ("right kernel", right[0]),
    ("without delta", forgot[0]),
    ("zeros", torch.zeros_like(right[0])),
):
    largest, mean, large = three_figures(dq, exact, 5e-3)
    seen = three_figures(dq, exact, fine)[2]
    print(
        f"{name:14} largest {largest:.1e}, mean {mean:.1e}, above 5e-3: {large:3} ({large / dq.numel():.1%}),"
        f" above {fine:.0e}: {seen} of {dq.numel()}"
    )
assert three_figures(forgot[0], exact, 5e-3)[2] == 0 and three_figures(forgot[0], exact, fine)[2] > 7000

# %% [markdown]
# The test passes a kernel that lacks a whole term, and for a $dQ$ of nothing but zeros it calls only two differences
# in a hundred large. Why is the missing term so small? Without $\delta$, $dS_{ij}$ is too large by
# $P_{ij}\,\delta_i$. The next cell shows what that does to $dQ$, entry by entry, for 2 × 3:

# %% tags=["nbval-check-output"]
P_s = sp.Matrix(2, 3, lambda i, j: sp.Symbol(f"P_{i}{j}"))
dP_s = sp.Matrix(2, 3, lambda i, j: sp.Symbol(f"dP_{i}{j}"))
K_s = sp.Matrix(3, 2, lambda j, d: sp.Symbol(f"K_{j}{d}"))
delta_s = sp.Matrix(2, 1, lambda i, _: sp.Symbol(f"delta_{i}"))
alpha_s = sp.Symbol("alpha")

full = P_s.multiply_elementwise(dP_s - delta_s * sp.ones(1, 3))
forgotten = P_s.multiply_elementwise(dP_s)
too_much = alpha_s * (forgotten - full) * K_s
assert sp.expand(too_much - alpha_s * sp.diag(*delta_s) * (P_s * K_s)) == sp.zeros(2, 2)
too_much[0, 0].factor()

# %% [markdown]
# The error of row $i$ is $\alpha\, \delta_i \sum_j P_{ij} K_j$: $\delta_i$ times *the mean key under $P$*. With
# values around 0 and scores near 0, $P$ is nearly uniform, and the mean of $S$ random keys is of order $1/\sqrt{S}$.
# So is $O$, the mean value, and with it $\delta = \langle dO, O\rangle$. The error is a product of two small numbers,
# of order $1/S$; $dQ$ itself falls as $1/\sqrt{S}$. **Predict**: does a longer test show the mistake more clearly?

# %%
lengths, errors, sizes = (64, 128, 256, 512, 1024), [], []
for length in lengths:
    q_, k_, v_, do_ = (t.double() for t in test_b(length))
    o_, lse_ = reference.attention_forward(q_, k_, v_, 0.125)
    exact = reference.attention_gradients(q_, k_, v_, o_, do_, lse_, 0.125)[0]
    lacking = reference.attention_gradients(q_, k_, v_, torch.zeros_like(o_), do_, lse_, 0.125)[0]
    errors.append(float((lacking - exact).abs().max()))
    sizes.append(float(exact.abs().max()))
assert max(errors) < 5e-3 and errors[0] > 4 * errors[-1] and sizes[-2] < 5e-3
pictures.errors_by_length(lengths, errors, sizes)

# %% [markdown]
# > **The verdict.** The tolerance is absolute and the numbers shrink: the longer the sequences of such a test, the
# > less it detects. "No large differences" was true for every length here, with a term missing; from 512 on it would
# > even be true for a $dQ$ that is zero.
#
# Three things help: a tolerance that follows from the size of the result and from the precision (the check measures
# against plain torch's own error); data whose mean is not zero, so that mean keys and mean values are not small (one
# column of $V$ is 64 in a case of the check, for this reason); and properties, which only have to allow for rounding.
# Lesson 08 had one that fits: the rows of $dK$ sum to zero, because a vector that is added to every key changes no
# probability. **Predict** whether the kernel without $\delta$ keeps this property, and how clear the answer is.

# %%
for name, gradients in (("right kernel", right), ("without delta", forgot)):
    dk = gradients[1].double()
    print(
        f"{name:14} sums of the rows of dK: {dk.sum(dim=2).abs().max():.0e} at most,"
        f" entries of dK: {dk.abs().max():.0e}"
    )
assert forgot[1].double().sum(dim=2).abs().max() > 1000 * right[1].double().sum(dim=2).abs().max()

# %% [markdown]
# No reference, no tolerance to argue about: one sum is rounding, the other is not. The sum of all rows is $\alpha
# \sum_i (\sum_j dS_{ij})\, Q_i$. With $\delta$ each bracket is 0; without it, it is $\delta_i$. (The converse does not
# hold: rows that sum to zero do not prove that $dK$ is right.)
#
# The source has a third idea: a $V$ that counts, 0, 1, 2, …, row by row. **Predict** $O$ for $Q = 0$ under a causal
# mask, and what it becomes if the mask lets each query see one key too many. Would a random $V$ have told you which
# keys were seen?

# %% tags=["nbval-check-output"]
counting = torch.arange(8.0)[:, None].expand(8, 4)  # row j holds the number j
nothing = torch.zeros(8, 4)
for name, hidden in (("right mask", 1), ("one key too many", 2)):
    s = (nothing @ nothing.T).masked_fill(torch.ones(8, 8).triu(hidden).bool(), -math.inf)
    print(
        f"{name:16} O, a number for each query: {[round(float(o), 2) for o in (s.softmax(1) @ counting)[:, 0]]}"
    )
same = reference.attention_forward(nothing, nothing, counting, 1.0, True)[0]
torch.testing.assert_close(same[:, 0], torch.arange(8.0) / 2)

# %% [markdown]
# $O_i$ is the mean number of the keys that query $i$ sees, so it says *which* keys these are; a random $V$ only says
# that something is wrong. And since the values are not centred, $\delta$ is not small.
#
# ## 7 · The same bits every time
#
# Section 3 left a problem: the last bits of $dQ$ depend on the order of the programs. Sometimes that is not
# acceptable. If two runs should agree and do not, the cause may be a bug or just the order, and you cannot tell
# which; with a repeatable kernel you can.
#
# A sum is repeatable if its terms are added in a fixed order. Two steps achieve that. First, every share is written
# to *a place of its own* with a plain store. Then one program adds the shares, one place after the other.

# %%
pictures.parts()

# %% [markdown]
# The cost is memory, and the traffic to write and read it. **Predict** how many bytes the parts of one head take, as
# a formula in $S_q$, $S_k$, $D$ and $B_k$, and compare with $P$ in fp32, $4\, S_q S_k$ bytes, which FlashAttention
# exists to avoid storing.

# %% tags=["nbval-check-output"]
parts = (S_k / B_k) * S_q * D * fp32
of_p = S_q * S_k * fp32
print("parts / P =", sp.simplify(parts / of_p))
print("written and read:", sp.simplify(2 * parts), "  by atomics, both ways:", sp.simplify(to_dq))

for length in (1024, 4096, 16384):
    at = {S_q: length, S_k: length, D: 64, B_k: 64}
    one = float(parts.subs(at)) / 2**20
    print(f"S {length:5}: dQ in fp32 {length * 64 * 4 / 2**20:5.2f} MiB, its parts {one:7.1f} MiB per head")

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - $D / B_k$: with blocks of 64 keys and $D = 64$ the parts take *exactly as much as* $P$ *in fp32*. We are back to
#   memory that grows with $S^2$.
# - The traffic is as much as that of the atomics, no more. But atomics go to a buffer of 1 MiB per head that L2 can
#   hold, while the parts are written once and read once, and for long sequences no cache holds them.
# - About half of them are never used if the mask is causal. They are allocated nevertheless.
#
# </details>
#
# ### Exercise: `determinism` · core
#
# The first kernel is that of exercise 1, and is given up to the point where the atomic was. Its step is called
# `one_tile` (imported at the top), and returns the sums and the tile's share of $dQ$, with $\alpha$ in it: you
# write what comes after it, and say where each share goes. You also write the line of the launcher that allocates the
# shares, in a shape that you choose, and the second kernel, in which a program owns a block of queries and adds their
# shares, one block of keys after another. (You may replace what is given.) The parts are $S_k / B_k$ times as large
# as $dQ$, so offsets *between* them need 64 bits: `head` has them, `S_q * D` alone has not. The check requires, in
# addition to what exercise 1 requires:
#
# - the same bits, whatever order the programs run in. It runs your kernels in several orders, with many keys, with
#   many queries, and with a causal mask, and compares the bits. In some of these runs huge numbers cancel, so that even
#   a sum in fp64 depends on the order of its terms; there only the bits count, and no accuracy;
# - each tile of $S$ is computed only once: scanning twice is repeatable too, but is not the aim here;
# - where a causal program has not stored a share, the memory from `torch.empty` may contain anything: do not add it.

# %% exercise="determinism"
# HINT: Atomics leave the order open. Two things fix it: every share gets a place of its own, so no two
#     programs write the same element; then one program adds the shares of a block of queries, always in the
#     same order.
# HINT: The shares of dQ form a tensor [B, H, blocks of keys, S_q, D] in fp32, and program (i, h, b) stores
#     into part i of head h: a plain `tl.store`. The second kernel owns a block of queries and loops over
#     the parts. With a causal mask a block of keys that these queries do not see has stored nothing, and
#     memory from `torch.empty` may contain anything.
# HINT: First kernel: the part begins at (head · blocks + block) · S_q · D, in 64 bits since `head` has them,
#     and the number of blocks is `tl.num_programs(0)`. Second kernel: start at `head * blocks * S_q * D` with
#     `dq` at zero; for each part add one masked load, and advance the pointer by `S_q * D`. With a causal mask
#     take only the first `cdiv((program + 1) * BLOCK_Q + S_k - S_q, BLOCK_K)` parts, at least none and at most
#     all. The launcher's shares are `torch.empty` of five sizes, in fp32.
# INCLUDE: flashlearn/kernels/repeatable_backward.py:shares_kernel


# INCLUDE: flashlearn/kernels/repeatable_backward.py:sum_of_shares_kernel


# INCLUDE: flashlearn/kernels/repeatable_backward.py:determinism

# %%
flashlearn.check("determinism", determinism)

# %%
# flashlearn.hint("determinism")

# %%
repeatable = flashlearn.use("determinism", determinism)
runs = in_orders(repeatable, *saved, False)
print("the same in five orders:", steady(runs))
print(
    f"largest error {(runs[0][0] - dq_true).abs().max():.0e}, with atomics {(one_pass(*saved, False)[0] - dq_true).abs().max():.0e}"
)
assert all(steady(runs).values())

# %% [markdown]
# ### Fewer parts · stretch, ungraded
#
# (This exercise has no check of its own; `flashlearn.check("determinism", …)` accepts such a kernel, and `steady` above
# tests it too.) There need not be a part for every block of keys. Let a head have $G$ programs, and let program $g$ own
# the blocks $g$, $g + G$, $g + 2G$, … one after another. It adds its shares of $dQ$ to part $g$ with a load, an
# addition and a store. Is that a race? Does it need a barrier? How much memory do the parts take now, and what does it
# cost?
#
# <details><summary>Answer</summary>
#
# Not between programs: only program $g$ ever accesses part $g$. But *within* the program, a thread may load an element
# that another thread stored for the block of keys before, and Triton does not order the two (section 5). If the tiles
# are the same lane by lane, load and store are likely to get the same layout, and then each thread reads what it stored
# itself; but that is the compiler's choice and not a promise (and where it holds the observer does not warn). So write
# `tl.debug_barrier()` after the last store of one block of keys and before the first load of the next.
#
# The parts have to start at zero, or the first block stores instead of adding. They take $4\, G\, S_q D$ bytes, which
# is linear in $S$ again. The cost is parallelism, $G$ programs per head instead of $S_k / B_k$; a load, an addition and
# a store of an fp32 tile in every step, one waiting for the other; and with a causal mask programs that have unequally
# much to do. FlashAttention's CUDA kernels have an option `deterministic`, "slightly slower and uses more memory".
#
# </details>
#
# ## 8 · Measured times
#
# Are two products in seven worth the atomics? Counting cannot decide that. **Predict** how the four designs rank, for
# $S = 4096$ and $D = 64$ in fp16, before you run the cell on a GPU. It takes medians of many runs with an emptied L2,
# runs the designs alternately, and shows the spread of the runs.


# %%
def contest(rounds=3):
    """Median milliseconds of each design, and the spread of the medians of several rounds."""
    from triton.testing import do_bench

    draws = (torch.randn(4, 16, 4096, 64, device="cuda", dtype=torch.float16) for _ in range(4))
    arguments = forward_of(*draws)
    designs = {
        "two kernels": lambda: (dq_kernel(*arguments), dkv_kernel(*arguments)),
        "own keys": lambda: packaged.fused_backward_atomic(*arguments, False),
        "own queries": lambda: packaged.fused_backward_rows(*arguments, False),
        "parts": lambda: repeatable(*arguments, False),
    }
    times = {name: [] for name in designs}
    for _ in range(rounds):
        for name, run in designs.items():
            times[name].append(do_bench(run, return_mode="median"))
    return {
        name: (sorted(found)[len(found) // 2], max(found) / min(found) - 1) for name, found in times.items()
    }


if DEVICE == "cuda":
    contestants = contest()
    for name, (median, spread) in contestants.items():
        ratio = contestants["two kernels"][0] / median
        note = "" if spread < 0.05 else f", spread {spread:.0%}: do not trust the last digit"
        print(f"{name:12} {median:6.2f} ms, {ratio:.2f} times as fast as two kernels{note}")
else:
    print("No GPU here, so nothing is timed: a CPU's time for these kernels says nothing about a GPU's.")

# %% [markdown]
# <details><summary><b>What to think about</b></summary>
#
# - On an H100 a thread adds its share of 64 × 64 with eight instructions per step, on an A100 with 32 (section 5). The
#   same design can win on one and lose on the other.
# - "Parts" writes and reads $2 \cdot 4\, S_q S_k D / B_k$ bytes per head. At $S = 4096$, 64 heads and blocks of 64
#   that is 8 GiB, far more than L2 holds. Divide by your GPU's bandwidth to see what that means.
#
# </details>
#
# ### Where does the time go?
#
# For an H100 section 1 allowed for more than 1.4 times the speed. Two suspects can be examined. The first needs no GPU:
# a program of the one pass keeps two sums, and in every step a share of the third gradient as well, so it is larger.
# **Predict** how many programs fit on a multiprocessor of an H100, for each of the three kernels.


# %%
def budget_of(launcher, *more):
    """What the compiler says of a launcher's last kernel on an H100, in fp16, blocks of 64, D 64."""
    with flashlearn.observing() as (session, _):
        launcher(*measured.shares_of_one(1, 64, DEVICE)[:-1], *more, block=64)
    return compile_launch(session.launches[-1], targets=(90,))[0]


for name, made in (
    ("dQ alone", budget_of(dq_kernel)),
    ("dK and dV alone", budget_of(dkv_kernel)),
    ("own keys", budget_of(packaged.fused_backward_atomic, False)),
):
    print(
        f"{name:16} {made.registers:3} registers, {made.shared_bytes // 1024:2} KiB of shared memory:"
        f" {made.occupancy:.1%} of the warps, {made.occupancy * 64 / 4:.0f} programs of 4 warps"
    )

# %% [markdown]
# The second suspect is the atomics. All programs of a head begin at query 0, so those that run at the same time add to
# the same rows, and L2 carries out additions to one address one after another. A change of three lines lets program $j$
# begin at block $j$ of the queries and wrap around at the end; the sums are the same. For comparison there is a kernel
# that *stores* its share of $dQ$ where the atomic was: it is wrong, and shows what the same program takes if nothing
# is added.
#
# **Predict** what is faster by how much, for 64 heads with 64 blocks of keys each, and for two heads with 256.

# %%
for case in measured.times():
    print(f"B·H {case['heads']}, S {case['S']}, D 64, fp16, blocks of 64")
    together = sum(case["ms"][name] for name in list(case["ms"])[:2])
    for name, median in case["ms"].items():
        ratio = f"{together / median:5.2f} times as fast as two kernels" if "one pass" in name else ""
        spread = case["spread"][name] or 0.0
        print(f"  {name:34} {median:7.3f} ms, spread {spread:4.0%}  {ratio}")

# %% [markdown]
# <details><summary><b>How to read it</b></summary>
#
# - *Stored* against *all start at query 0* is what the additions cost beyond writing the same bytes. *Starts elsewhere*
#   against *all start at query 0* is what the collisions cost: a difference smaller than the spread is none.
# - *Stored* against $dK$ *and* $dV$ *alone* is what the fifth product, the share's way to memory and the smaller number
#   of programs cost together. Where the time is *there*, no order of starting helps.
# - Fewer programs on a multiprocessor means that fewer warps hide each other's waits, and that less overlaps: while one
#   program computes exponentials, another one could multiply. Section 1's limit assumed that both run at their peak.
# - FlashAttention-3 takes the addition out of the computing warps: they put the tile of $dQ$ into shared memory, and a
#   warp of its own adds it to global memory (its appendix B.1). On Hopper the copy engine can do that with a single
#   instruction for a whole tile (lesson 13). With `red` each thread needs eight instructions, and registers for the
#   addresses.
#
# </details>
#
# ## 9 · What you have now
#
# | | | remember |
# |---|---|---|
# | one pass | five products instead of seven, exponentials once | the cost is traffic, and larger programs |
# | own keys | $dK$, $dV$ in registers, $dQ$ by atomics | $S_k / B_k$ additions per element |
# | own queries | $dQ$ in registers, $dK$, $dV$ by atomics | twice as much to add |
# | padding | both indices are summed over | padded keys $-\infty$ in $s$, padded queries $+\infty$ in LSE |
# | no atomic | shares are lost | not a rounding error; how many, a GPU says |
# | atomics in shared memory | add up what the warps of one block have | between blocks the sum needs another atomic |
# | atomics | nothing is lost, the order is open | the last bits of a sum without an owner may change |
# | repeatable | a place per share, a sum in order | parts take $D / B_k$ times what $P$ would |
# | inside a program | Triton orders shared memory | global memory that is read back needs `tl.debug_barrier()` |
# | addresses | 64 bits to the head, 32 within it | up to $2^{31}$ elements from a head's first to its last |
# | an absolute tolerance | detects less the longer the test | measure against the result's size |
#
# ### Questions for yourself
#
# Answer before you unfold.
#
# **1.** Someone makes $dQ$ repeatable by adding *integers*: each share is multiplied by $2^{40}$, rounded to 64-bit
# integers, and added with integer atomics; at the end the sum is divided by $2^{40}$. Is it repeatable? What can go
# wrong?
#
# <details><summary>Answer</summary>
#
# Yes: integer addition is associative, even when it wraps around. No parts are needed, only 8 bytes per element
# instead of 4. But the range is fixed: a share below $2^{-41}$ is lost, and from $2^{23}$ on the sum silently wraps
# around to the wrong sign. A loss scale of $2^{16}$, as in half-precision training, brings the upper end that much
# closer.
#
# </details>

# %% [markdown]
# **2.** The atomic kernel is run twice on a GPU and gives the same bits both times. Is it repeatable? It is run with
# $S_k = 64$ and blocks of 64, a hundred times, and never differs. And with two blocks of keys?
#
# <details><summary>Answer</summary>
#
# Two runs prove nothing; the programs may have run in the same order by chance. With one block of keys every element
# of $dQ$ gets one share, so there is nothing to reorder. With two it gets $0 + a + b$ or $0 + b + a$, and addition is
# commutative, so it is repeatable as well. With three or more it is not. A test of repeatability needs at least three
# shares.
#
# </details>

# %% [markdown]
# **3.** In a one-pass kernel $dV$ is right, but $dK$ and $dQ$ are wrong. In another one $dV$ and $dK$ are right, but
# $dQ$ is wrong. Where do you look in each? Why could you not conclude as much from two separate kernels?
#
# <details><summary>Answer</summary>
#
# First kernel: $P$ is right, since $dV$ is, so look at $dS$: $dP$, $\delta$, or alpha. Second kernel: $dS$ and $P$
# are right where it matters to $dK$ and $dV$; what remains is the product for $dQ$, its alpha, address or mask, or
# padded keys, which only $dQ$ sums over. Two separate kernels each compute their own $P$ and $dS$, so if one is right
# that says nothing about the other.
#
# </details>

# %% [markdown]
# ### Journal
#
# *Two or three sentences in your own words, for yourself in a month. When would you ship the fast kernel, and when
# the repeatable one? Which of your own tests has an absolute tolerance? Double-click here and write.*

# %% [markdown]
# ### What comes next
#
# Lesson 12 makes attention fast, one change at a time, each predicted before it is measured. There you can choose
# between both designs, two scans and one pass with atomics.
#
# **Sources.** One pass that owns keys and adds to $dQ$: T. Dao, *FlashAttention-2*, arXiv 2307.08691, section 3.1,
# Algorithm 2 (one of this course's sources calls it Algorithm 5); parallel over blocks of keys, and why the additions
# have to be atomic: section 3.2; warps that split rows: section 3.3. The instructions `atom` and `red`, with and
# without vectors: NVIDIA's PTX ISA manual. Opting in to more than 48 KiB of shared memory: the CUDA C++ Programming
# Guide. Global memory within a program: triton-lang/triton, issue 10924. Peak figures of an H100, and the warp that
# adds $dQ$: J. Shah and others, *FlashAttention-3*, 2024, section 3.1 and appendix B.1. The option `deterministic`: the
# documentation of the flash-attn package. Which of torch's operations are not deterministic: PyTorch's notes on
# reproducibility.
