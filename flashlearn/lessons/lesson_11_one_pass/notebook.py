# %% [markdown]
# # One pass instead of two
#
# Two kernels make the three gradients in seven products, and two of the seven are computed twice. This lesson makes
# them in five: one walk over the tiles, in either direction. What a program cannot own it adds to memory, where others
# add as well. You will write both kernels, price them before you believe in them, lose an update on purpose, and in
# the end make the sum come out the same, to the last bit, every time.
#
# **Afterwards you can**
#
# - write the backward pass as one kernel that owns keys, and as one that owns queries, and say which padding is
#   dangerous in each;
# - price a design in products, in bytes and in memory, and say when two products in seven are worth it;
# - tell what is lost when two programs add without an atomic from what merely changes in the last bits when they add
#   with one;
# - make a sum over programs repeatable, and name the price;
# - read a CUDA design (shared-memory atomics, warps that own rows, threads mapped to elements) beside what Triton
#   compiles to;
# - choose test data and a bar that would notice a missing term.
#
# **You need** lessons 07 and 08, whose loops you will put together, and of lesson 05 the sections on traffic and on two
# programs that meet. No code that you wrote there is needed here.
#
# **It takes** two to two and a half hours: two kernels that are mostly yours already, a third one of two parts, seven
# experiments, three questions at the end.

# %%
import math

import sympy as sp
import torch
import triton
import triton.language as tl
from torch import Tensor

import flashlearn
from flashlearn import DEVICE
from flashlearn.kernels import fused_backward as packaged  # the course's own, whose blocks can be chosen
from flashlearn.kernels.delta import delta_preprocess
from flashlearn.kernels.flash_backward_dkv import dkv_kernel
from flashlearn.kernels.flash_backward_dq import dq_kernel
from flashlearn.kernels.flash_forward import flash_forward
from flashlearn.kernels.reach import refuse_far_rows
from flashlearn.lessons.lesson_11_one_pass import pictures
from flashlearn.lessons.lesson_11_one_pass.faulty_kernels import faulty
from flashlearn.lessons.lesson_11_one_pass.machine_code import figures
from flashlearn.lessons.shared import backward_pictures, reference

# %% [markdown]
# ## Before you begin
#
# Three questions about what came before. Run the cell to read them, put a letter behind each number, and run it
# again. A wrong choice is told what it overlooks, and costs nothing.

# %% tags=["recall"]
### BEGIN SOLUTION
# STUB: answers = {1: "", 2: "", 3: ""}
answers = {1: "b", 2: "a", 3: "c"}
### END SOLUTION
flashlearn.recall("11", answers)

# %% [markdown]
# ## 1 · Two designs with one walk
#
# A tile knows everything. Whoever has $P$ and $dS$ of a block of queries and a block of keys in registers has this
# tile's share of all three gradients at hand:
#
# $$dV_J \mathrel{+}= P_{IJ}^\top\, dO_I, \qquad dK_J \mathrel{+}= \alpha\, dS_{IJ}^\top\, Q_I, \qquad
# dQ_I \mathrel{+}= \alpha\, dS_{IJ}\, K_J .$$
#
# Two of the sums run over $I$, one runs over $J$. A program that walks down a column of tiles finishes the first two
# and cannot finish the third; one that walks along a row finishes the third and neither of the others.

# %%
pictures.owners()

# %% [markdown]
# What is dashed belongs to nobody: every program adds to it. To lesson 08's three designs, then, a bill with all
# entries. Per head, for blocks of $B_q$ queries and $B_k$ keys and $b$ bytes per element; what programs add to is fp32,
# and an addition counts as a read and a write. That memory has to be zeroed first and converted last.
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
# - A tile of $Q$ and one of $dO$ are $2 \cdot 64 \cdot 64 \cdot 2 = 16$ KiB; the share of $dQ$ is
#   $64 \cdot 64 \cdot 4 = 16$ KiB, and 32 in both directions. The atomics ask for twice what the loads do. With fp32
#   inputs it would be as much.
# - One pass saves two products in seven, so it is at most $7/5 = 1.4$ times faster. It pays in traffic: the design that
#   owns keys requests half as much again as both kernels together, the other one two and a half times as much.
# - The share's traffic is $S_k / B_k$ per element of $dQ$: twice as large a block of *keys* is half the atomics. Larger
#   blocks of queries help only the loads of $K$ and $V$, of which there is one. (Lesson 08 found that the block of keys
#   is what costs registers. Everything has its price in the same coin.)
# - "Requested" is no HBM traffic. The sums of one head are 1 MiB here, and L2 holds some dozens of them: atomics are
#   carried out *in L2*, next to the data. Whether they hurt is a question for a clock (section 8).
#
# </details>
#
# ## 2 · Own keys, add to dQ
#
# Lesson 08's kernel, and three lines more. `ds` is at hand; one more product makes it the tile's share of $dQ$; one
# instruction adds it.
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
# could leave the keys alone: an infinite $P$ in the column of a padded key stayed in that key's own row, which is not
# stored. **Predict** what becomes of that freedom here. The cell takes one tile with two real keys and two padded ones,
# at scores so low that $\mathrm{LSE} = -100$.

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
# $dK$ and $dV$ are safe, as in lesson 08. In $dQ$ the infinity meets the padded row of $K$, and $\infty \cdot 0$ is NaN.
# The rule has not changed: *mind the index that is summed over*. This kernel sums over both, so it minds both.
#
# ### Exercise: `fused_backward_atomic` · core
#
# Write the kernel; the launcher is given. It has computed $\delta$, and `dq_ptr` points to a buffer of fp32 zeros that
# it converts at the end. What the check will ask of it:
#
# - any $S_q$, $S_k$ and $D$, every input with strides of its own; what the launcher allocates is contiguous;
# - causal or not, in one kernel: `IS_CAUSAL` is a constant, and `if IS_CAUSAL:` is decided when the kernel is compiled.
#   Bottom-right alignment, queries that see nothing, and no tile without a visible pair is multiplied (it counts);
# - $\alpha$ of either sign, scores near $-120$; fp32, fp16 and bf16, `input_precision="ieee"` for `tl.dot`;
# - each tile of $S$ is computed once, and no share is lost.
#
# Two details of the addresses. From head to head the offsets have 64 bits, `h` and `b` see to that. Within a head 32 are
# enough, and cheaper (lesson 06): `rows` and `columns` are 32-bit numbers here. That holds as long as a head's last
# element lies less than $2^{31}$ elements beyond its first, $(S - 1) \cdot \mathrm{row} + (D - 1) \cdot \mathrm{col}
# < 2^{31}$, and the launcher refuses what does not fit. The grid is (blocks, $H$, $B$): no division has to tell heads
# and sequences apart, and either may number up to 65535.
#
# `tl.atomic_add(pointers, values, mask=…)` adds lane by lane. With `sem="relaxed"` you say that nothing else has to be
# ordered by it: nobody reads these sums before the kernel has ended.

# %% exercise="fused_backward_atomic"
# HINT: Lesson 08's kernel has `ds` at hand in every step, and lets it go. One more product makes of it this
#     tile's share of dQ, for the queries that are just passing. They belong to nobody: add the share to
#     memory so that no other program's share is lost.
# HINT: The share is $\alpha\, dS\, K$, (BLOCK_Q, BLOCK_D), with nothing transposed. `tl.atomic_add(pointers,
#     share, mask=…)` adds it to the fp32 buffer `dq_ptr`, whose rows are D long. Two sums run in this kernel,
#     over queries into `dk` and `dv`, over keys into dQ: padding along both must add nothing.
# HINT: As in lesson 08: `k`, `v` once, two sums of zeros, the loop's start with `if IS_CAUSAL`. In the loop
#     `lse_i` gets +inf for padding and where it is −inf; `s` is −inf where the key is padded or not seen;
#     cast `ds` once, to q's dtype, and use it twice: transposed with `q` into `dk`, and as it is with `k`,
#     times alpha, for the atomic at `rows[:, None] * D + d[None, :]` under the tile's mask. After the loop
#     alpha goes onto `dk`, and two stores.
# INCLUDE: flashlearn/kernels/fused_backward.py:fused_keys_kernel


# INCLUDE: flashlearn/kernels/fused_backward.py:fused_backward_atomic

# %%
flashlearn.check("fused_backward_atomic", fused_backward_atomic)

# %%
# flashlearn.hint("fused_backward_atomic")

# %% [markdown]
# Break it, one thing at a time: leave `in_keys` out of what is seen; take `torch.empty` for `dq`; use `tl.trans(ds)` for
# the share; leave the share's mask out; give `dq` the dtype of `q` from the start. All five are refused. Which of them
# would a test with $S_q = S_k = 64$, $D = 64$ in fp32 have accepted?
#
# <details><summary>Answer</summary>
#
# Three: `in_keys` (no key is padded), the mask (every lane exists), and the dtype (it is fp32 already).
#
# </details>
#
# ## 3 · What is lost without the atomic, and what changes with it
#
# Here is the same kernel with one line exchanged: the share is added as one would in Python, load, add, store.
# **Predict** whether its $dQ$ is right in this interpreter, and what the report will say.

# %%
generator = torch.Generator().manual_seed(3)
q, k, v, do = (torch.randn(1, 1, 256, 32, generator=generator).to(DEVICE) for _ in range(4))
alpha = 1 / math.sqrt(32)
o, lse = flash_forward(q, k, v, alpha)
saved = (q, k, v, o, do, lse, alpha)
dq_true, dk_true, dv_true = reference.attention_gradients(*(t.double() for t in saved[:-1]), alpha)

with flashlearn.observing() as (session, _):
    dq_plain = faulty("fused_backward_atomic", "load, add, store")(*saved, False)[0]
race = session.memory.races.found[0]
print(f"largest error of dQ here: {(dq_plain - dq_true).abs().max():.0e}")
print(race.sentence)
print("the line:", race.place.text.strip() if race.place else "")

# %% [markdown]
# The interpreter runs one program to its end before the next begins, so no update is lost, and it tells you that this
# was luck: it looks at who touched what. On a GPU many programs are under way at once. Let us play that out in torch,
# with the shares of sixteen blocks of keys: $W$ programs at a time load what is there, and then store, one after the
# other, what they loaded plus their share. **Predict** how much of $dQ$ is left for $W = 2$.


# %%
def shares_of_dq(saved, block):
    """The share of dQ that each block of keys has, in fp64: [blocks, 256, 32]."""
    q, k, v, o, do, lse = (t[0, 0].double().cpu() for t in saved[:-1])
    p = torch.exp(saved[-1] * q @ k.T - lse[:, None])
    ds = p * (do @ v.T - (o * do).sum(dim=1)[:, None])
    return torch.stack([saved[-1] * ds[:, at] @ k[at] for at in torch.arange(len(k)).split(block)])


def in_waves(shares, at_once):
    """Load, add, store by so many programs at once: of a wave, the last one's store remains."""
    memory = torch.zeros_like(shares[0])
    for wave in shares.split(at_once):
        loaded = memory.clone()
        for share in wave:
            memory = loaded + share
    return memory


shares = shares_of_dq(saved, 16)
missing = {
    at_once: float((in_waves(shares, at_once) - shares.sum(dim=0)).norm() / shares.sum(dim=0).norm())
    for at_once in (1, 2, 4, 8, 16)
}
assert missing[1] < 1e-12 and all(error > 0.3 for at_once, error in missing.items() if at_once > 1)
pictures.lost(missing)

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - Of every wave one share survives. With two at a time half of the shares are gone, and since shares of random data
#   point in random directions, what is missing is some seven tenths of $dQ$'s length.
# - A GPU is not so orderly: mostly the moments between load and store are short, and *nearly* everything arrives. That
#   is worse. An error that comes once in a thousand runs passes every test.
#
# </details>
#
# ### The last bits
#
# Now the right kernel, several times, with the programs in another order each time (`seed` shuffles them, as a GPU's
# scheduler would). Every share arrives. **Predict** for each gradient whether it is the same, bit for bit, in all five
# runs; and whether it still differs once it has been converted to bf16.

# %%
one_pass = flashlearn.use("fused_backward_atomic", fused_backward_atomic)


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
narrow = (runs[0][0].bfloat16() != runs[1][0].bfloat16()).float().mean()
print("the same in five orders:", steady(runs))
print(
    f"dQ of two runs: {moved:.0%} of the elements differ, by {(runs[0][0] - runs[1][0]).abs().max():.0e} at most"
)
print(f"converted to bf16: {narrow:.2%} differ")
assert steady(runs) == {"dQ": False, "dK": True, "dV": True}

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - $dK$ and $dV$ are owned: one program adds up, from its first tile to its last, in registers. Nothing about them
#   depends on the others. $dQ$ is a sum of eight shares in the order in which they come, and $(a + b) + c$ is not
#   $a + (b + c)$ in floating point.
# - The differences are as large as fp32's rounding, and no larger: both results are equally right. Conversion to half
#   precision hides nearly all of them and not quite all: a number near the middle between two bf16 numbers falls to
#   either side. Two training runs from one seed part company there.
# - Whose bits change tells you who is owned. It is a cheap test of a design that you did not write.
#
# </details>
#
# ## 4 · Own queries, add to dK and dV
#
# The same, turned. The program keeps `q`, `do`, LSE and $\delta$ and lets keys come by; `dq` grows in registers; every
# tile has a share for $dK$ and another one for $dV$. **Predict** from section 1's bill: how many times as many bytes go
# through atomics?
#
# And the paddings? A padded query of this program is a row of `p`, and both shares sum over rows. In lesson 07, where
# this block of queries came from, that row was harmless, since nobody stored it.
#
# ### Exercise: `fused_backward_rows` · core
#
# Lesson 07's kernel with two shares per tile. The check asks for the same things as before, with the roles exchanged:
# `dq` is yours, `dk_ptr` and `dv_ptr` point to fp32 zeros. Causal, the loop over keys ends early.

# %% exercise="fused_backward_rows"
# HINT: Lesson 07's kernel: q, do, LSE and delta once, keys come by, `dq` stays in registers. What does each
#     tile know of the keys that are passing, and who else has something to add to them?
# HINT: Two shares per tile, both (BLOCK_K, BLOCK_D): $P^\top dO$ for dV, $\alpha\, dS^\top Q$ for dK. Each
#     goes to its fp32 buffer with `tl.atomic_add`, at the tile's *keys*, under the tile's mask. A padded
#     query of this program would add its P to every key: what must its LSE be?
# HINT: Before the loop: `q`, `do`, `delta_i`, and `lse_i` with other=+inf, and +inf where it is −inf. The
#     loop ends at S_k, or, causal, at `(tl.program_id(0) + 1) * BLOCK_Q + S_k - S_q` if that is less. In it
#     `s`, `p`, `dp` and the cast `ds` as in lesson 07, `dq` grows by `ds` times `k`, and two atomics take the
#     transposed `p` times `do`, and alpha times the transposed `ds` times `q`. Then alpha onto `dq`, one
#     store.
# INCLUDE: flashlearn/kernels/fused_backward.py:fused_rows_kernel


# INCLUDE: flashlearn/kernels/fused_backward.py:fused_backward_rows

# %%
flashlearn.check("fused_backward_rows", fused_backward_rows)

# %%
# flashlearn.hint("fused_backward_rows")

# %% [markdown]
# ### The bill, counted
#
# The counter has seen every access of your kernels. 128 queries and keys, $D = 64$, fp16, blocks of 32; atomics in both
# directions. The cell compares section 1's formulas with it, to the byte. (They leave out what is small: $\delta$ and
# LSE; and what torch does: zeroing and converting.)

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
# - One walk loads half of what two walks load. What it adds to memory outweighs that, here by far.
# - Owning queries sends twice as much through atomics as owning keys: two sums to add to instead of one. That, and not
#   any elegance, is why FlashAttention-2 owns keys.
# - Is there a case for the other one? Look at the formulas for $S_q \ne S_k$: $dQ$'s traffic is
#   $8 D\, S_q S_k / B_k$ bytes and $dK$'s with $dV$'s is $16 D\, S_q S_k / B_q$. They depend on the product of the
#   lengths alone, so it is not the lengths that decide, but the blocks: from $B_q > 2 B_k$ on. And where one block
#   holds all queries, a few that attend to a long memory, its program is alone: nobody else adds to $dK$ and $dV$.
#
# </details>
#
# ## 5 · A CUDA design, read beside what Triton compiles to
#
# In CUDA the same algorithm is written a level lower. A block of threads owns a block of $B_c$ keys, and somebody has
# to decide what each of its threads does. Three things that you will meet in such a source, and what each is for:
#
# **Shared memory as the workplace.** $K$, $V$ and the two sums, $dK$ and $dV$, lie there in fp32: four arrays of
# $B_c \times d$, $4 B_c d$ floats. For $B_c = d = 64$ that is 64 KiB. A kernel gets 48 KiB unless it asks for more
# (`cudaFuncAttributeMaxDynamicSharedMemorySize`): such a launch fails until somebody opts in.
#
# **Threads mapped to elements, and warps to rows.** If a warp owns rows of the tile, one row after another, then what
# belongs to a row (LSE, $\delta$, a sum along keys) stays in the warp: 32 threads exchange it by *shuffles*, and wait
# for nobody but each other (a warp barrier, `__syncwarp`). $dQ$ sums along a row: it stays in the warp as well. $dK$ and
# $dV$ sum down the columns, over rows of *all* warps.
#
# **Atomics on shared memory.** So the warps meet in $dK$ and $dV$, and each adds its part with `atomicAdd` on shared
# memory: right, in no particular order, and slow where lanes queue for one word. Between the phases stands a block
# barrier, `__syncthreads`, or one warp reads what another has not finished. (The debugging log that this course
# began with forgot the other half: every warp added the *same* tile. Lesson 10, patient 3.)
#
# And Triton? You wrote `tl.dot(tl.trans(ds), q)`. **Predict**, for blocks of 64, $D = 64$ and four warps on an H100: how
# many atomics on shared memory does the compiler write; how many rows of a tile does a warp own; how many shuffles are
# there; and how many instructions add the share of $dQ$, 4096 numbers, if each thread does its part?


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
# | in the CUDA source | what it is for | in Triton |
# |---|---|---|
# | $4 B_c d$ floats of shared memory | $K$, $V$, $dK$, $dV$ where all threads reach them | $K$, $V$ and the tiles that come by in shared memory, in the inputs' dtype; $dK$, $dV$ in *registers*, spread over the threads |
# | a warp owns rows | row-wise numbers need nobody else | the same: `warps` says (4, 1), four warps below one another, 16 rows each per instruction |
# | shuffles | sums along a row | none here: LSE and $\delta$ are *loaded*. The forward pass has them, for its maximum and its sum |
# | atomics on shared memory | sums down the columns, across warps | none: `tl.trans(ds)` goes through shared memory, and the product that follows sums over all queries by itself |
# | `__syncthreads` | between who writes shared memory and who reads it | `bar.sync`, put there by the compiler |
# | thread ↔ element, twice | one mapping for $S$, another for $dK$ | `convert_layout`: the compiler changes the mapping between two statements |
# | `atomicAdd` on global memory | $dQ$, across blocks | `tl.atomic_add`: the one thing here that *you* must write |
#
# <details><summary><b>What to notice</b></summary>
#
# - 4096 numbers, 128 threads: 32 for each. On an A100 that is 32 instructions, one per number. On an H100 it is 8:
#   `v4` adds four neighbours at once, 16 bytes. For that the share is brought into another layout first, in which each
#   thread has four neighbours of a row.
# - `atom` returns the old value, and nobody here wants it. The assembler sees that and writes `RED`, a reduction that
#   returns nothing: the thread goes on at once.
# - Nothing of this makes the sum over *programs* safe. Inside a program Triton orders everything, between programs
#   nothing. The line between the two is the launch grid.
#
# </details>
#
# ## 6 · Two tests with names, and a bar that sees nothing
#
# The source of this design came with two tests. Both are good to have, and both are weaker than they look.
#
# **Test A, 4 × 4.** Four queries, four keys, $D = 4$; $Q = K = I$, so that $S = \alpha I$ and $P$ has two different
# numbers. By hand, exactly:

# %% tags=["nbval-check-output"]
half = sp.Rational(1, 2)  # alpha = 1/√4
S_id = half * sp.eye(4)
total = sp.exp(half) + 3
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
# $D = 4$ is less than the 16 that a tensor core takes, so `BLOCK_D` is 16 and twelve columns are padding; so are 28 of
# 32 rows. **Predict** how many of the multiplications of `tl.dot(q, tl.trans(k))` are real.
#
# **Test B, 128 × 128.** $D = 64$, all values uniform in $[-\frac12, \frac12]$. Both tests report three figures against
# a reference: the largest difference, the mean difference, and how many differences are *large*. In the source, large
# was above $5 \cdot 10^{-3}$.


# %%
def test_a():
    """q, k, v, do [1, 1, 4, 4]: identity-like Q and K, random V and dO."""
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
# > ### Sources corrected: a bar of 5e-3 on values of ±½
# >
# > **The claim.** No difference of test B is large, so the kernel is right.
# >
# > **The experiment.** A kernel that forgot $\delta$. We need not write it: with $O = 0$ the launcher computes
# > $\delta = 0$. **Predict** the three figures for $dQ$. Then, which bar would have seen it?

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
        f"{name:14} largest {largest:.1e}, mean {mean:.1e}, above 5e-3: {large:3} of {dq.numel()},"
        f" above {fine:.0e}: {seen} of {dq.numel()}"
    )
assert three_figures(forgot[0], exact, 5e-3)[2] == 0 and three_figures(forgot[0], exact, fine)[2] > 7000

# %% [markdown]
# The test passes a kernel that lacks a whole term, and of a $dQ$ of nothing but zeros it calls two elements in a hundred
# large. Why is the missing term so small? Forget $\delta$, and $dS$ has $P_{ij}\,\delta_i$ too much. What that makes of
# $dQ$, entry by entry, at 2 × 3:

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
# The error of row $i$ is $\alpha\, \delta_i \sum_j P_{ij} K_j$: $\delta_i$ times *the mean key under $P$*. With values
# around 0 and scores near 0, $P$ is nearly uniform, and the mean of $S$ random keys is of order $1/\sqrt{S}$. So is $O$,
# the mean value, and with it $\delta = \langle dO, O\rangle$. The error is a product of two small numbers, of order
# $1/S$; $dQ$ itself falls as $1/\sqrt{S}$. **Predict**: does a longer test see the fault better?

# %%
lengths, errors, sizes = (64, 128, 256, 512, 1024), [], []
for length in lengths:
    q_, k_, v_, do_ = (t.double() for t in test_b(length))
    o_, lse_ = reference.attention_forward(q_, k_, v_, 0.125)
    exact = reference.attention_gradients(q_, k_, v_, o_, do_, lse_, 0.125)[0]
    forgot = reference.attention_gradients(q_, k_, v_, torch.zeros_like(o_), do_, lse_, 0.125)[0]
    errors.append(float((forgot - exact).abs().max()))
    sizes.append(float(exact.abs().max()))
assert max(errors) < 5e-3 and errors[0] > 4 * errors[-1] and sizes[-2] < 5e-3
pictures.errors_by_length(lengths, errors, sizes)

# %% [markdown]
# > **The verdict.** The bar is absolute and the numbers shrink: the longer the sequences of such a test, the less it
# > sees. "No large differences" was true of every length here, with a term missing; and from 512 on it would be true of a
# > $dQ$ that is zero.
#
# What helps: a bar that follows from the size of the result and from the precision (the check takes plain torch's own
# error as its measure); data with a mean, so that mean keys and mean values are not small (one column of $V$ is 64 in a
# case of the check, for this very reason); and the properties of lesson 03, which need no bar: the rows of $dK$ sum to
# zero only if $\delta$ is there.
#
# ## 7 · The same bits every time
#
# Section 3 left a wound: $dQ$ depends on who comes first. Sometimes one wants it not to. Two runs that should agree and
# do not may be a bug or may be the order, and you cannot tell; with a repeatable kernel you can.
#
# A sum is repeatable if its terms are added in an order that is written down somewhere. Two steps do it. First, every
# share gets *a place of its own*, and a plain store. Then one program takes the places in turn.

# %%
pictures.parts()

# %% [markdown]
# The price is memory, and the bytes to fill and empty it. **Predict** how many bytes the parts of one head take, as a
# formula in $S_q$, $S_k$, $D$ and $B_k$, and compare with $P$ in fp32, $4\, S_q S_k$ bytes, which all of
# FlashAttention is there not to store.

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
# - $D / B_k$: with blocks of 64 keys and $D = 64$ the parts take *exactly as much as* $P$ *in fp32*. The memory that
#   grows with $S^2$ is back, by another door.
# - The bytes are those of the atomics, no more. But atomics hit a buffer of 1 MiB per head that L2 holds, and parts are
#   written once and read once, far too many for any cache.
# - About half of them are never touched if the mask is causal. They are allocated all the same.
#
# </details>
#
# ### Exercise: `determinism` · core
#
# Two kernels and the middle of a launcher. The first is exercise 1's, with a store where the atomic was; the second owns
# a block of queries and adds their shares, block of keys after block of keys. What the check will ask, beyond exercise 1:
#
# - the same bits, whatever order the programs run in. It runs your kernels in several orders, with many keys, with many
#   queries, and causal, and compares. Huge numbers that cancel are among them: on such data even a sum in fp64 shows
#   the order in which it was added;
# - each tile of $S$ computed once: scanning twice is repeatable, too, and is not what is asked for;
# - where a causal program has not stored a share, the memory of `torch.empty` holds anything. Do not add it.

# %% exercise="determinism"
# HINT: Atomics leave the order open. Two things fix it: every share gets a place of its own, so nobody meets
#     anybody; and then one program adds the shares of a block of queries, one after the other, always in the
#     same order.
# HINT: The shares of dQ form a tensor [B, H, blocks of keys, S_q, D] in fp32, and program (i, h, b) stores
#     into part i of head h: a plain `tl.store`. The second kernel owns a block of queries and walks along the
#     parts. Causal: a block of keys that these queries do not see has stored nothing there, and the memory of
#     `torch.empty` holds anything.
# HINT: First kernel: move `shares_ptr` by (head · blocks + block) · S_q · D, all in 64 bits since `head` is,
#     and store where the atomic was. Second kernel: from `head * blocks * S_q * D` on, `dq` of zeros grows by
#     one masked load per part, and the pointer moves by `S_q * D`. Causal: only the first `cdiv((program + 1)
#     * BLOCK_Q + S_k - S_q, BLOCK_K)` parts, at least none and at most all. The launcher allocates the shares
#     and launches twice.
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
# (No check waits for this one; `steady` above is the judge.) There need not be a part for every block of keys. Let a head
# have $G$ programs, and let program $g$ own the blocks $g$, $g + G$, $g + 2G$, … one after another. It adds its shares of
# $dQ$ to part $g$, with load, add, store: is that a race? How much memory do the parts take now, and what is the price?
#
# <details><summary>Answer</summary>
#
# No race: only program $g$ ever touches part $g$, and its own accesses are ordered. (A barrier inside the program is
# needed where one thread reads what another one stored; Triton puts `bar.sync` there.) The parts take
# $4\, G\, S_q D$ bytes, linear in $S$ again. The price is parallelism: $G$ programs per head instead of $S_k / B_k$. With
# $B \cdot H$ large enough to fill the GPU anyhow, a small $G$ costs nothing. FlashAttention's CUDA kernels have an option
# `deterministic`, "slightly slower and uses more memory".
#
# </details>
#
# ## 8 · What the clock says
#
# Two products in seven against atomics: arithmetic cannot decide that. **Predict** an order of the four designs, for
# $S = 4096$ and $D = 64$ in fp16, before you run the cell on a GPU. It takes medians of many runs with an emptied L2, the
# contestants in turns, and says how far the runs spread.


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
    measured = contest()
    for name, (median, spread) in measured.items():
        ratio = measured["two kernels"][0] / median
        note = "" if spread < 0.05 else f", spread {spread:.0%}: do not trust the last digit"
        print(f"{name:12} {median:6.2f} ms, {ratio:.2f} times as fast as two kernels{note}")
else:
    print("No GPU here, so nothing is timed: a CPU's time for these kernels says nothing about a GPU's.")

# %% [markdown]
# <details><summary><b>What to think about</b></summary>
#
# - If "own keys" does not win by much, do not be surprised: $7/5$ is the upper limit, the atomics ask for more bytes, and
#   this kernel holds more in registers than either of the two. Lesson 12 takes it from there.
# - On an H100 the share goes out by eight instructions per thread and step, on an A100 by 32 (section 5). The same
#   design can win on one and lose on the other. Lesson 13's copy engine adds a whole tile with a single instruction.
# - "Parts" writes and reads $2 \cdot 4\, S_q S_k D / B_k$ bytes per head. At $S = 4096$, 64 heads and blocks of 64 that is
#   8 GiB, far beyond L2. Divide by your GPU's bandwidth before you wonder.
#
# </details>
#
# ## 9 · What you have now
#
# | | | remember |
# |---|---|---|
# | one pass | five products of seven | at most 1.4 times faster, paid for in traffic |
# | own keys | $dK$, $dV$ in registers, $dQ$ by atomics | $S_k / B_k$ additions per element |
# | own queries | $dQ$ in registers, $dK$, $dV$ by atomics | twice as much to add |
# | padding | both indices are summed over | padded keys $-\infty$ in $s$, padded queries $+\infty$ in LSE |
# | no atomic | a share is lost | no rounding error, and rarely seen |
# | atomics | nothing is lost, the order is open | the last bits of what nobody owns |
# | repeatable | a place per share, a sum in order | parts take $D / B_k$ times what $P$ would |
# | inside a program | Triton orders threads and warps | transposes through shared memory, no atomics there |
# | addresses | 64 bits to the head, 32 within it | up to $2^{31}$ elements from a head's first to its last |
# | an absolute bar | sees less the longer the test | measure against the result's size |
#
# ### Questions to yourself
#
# Answer before you unfold.
#
# **1.** Someone makes $dQ$ repeatable by adding *integers*: each share is multiplied by $2^{40}$, rounded to 64-bit
# integers, and added with integer atomics; at the end the sum is divided by $2^{40}$. Is it repeatable? What can go
# wrong?
#
# <details><summary>Answer</summary>
#
# It is: integer addition is associative, even when it wraps round. No part is needed, and 8 bytes per element instead
# of 4. But the range is fixed: what is below $2^{-41}$ is lost, and from $2^{23}$ on the sum wraps round to a wrong sign,
# silently. A loss scale of $2^{16}$, usual in half-precision training, brings the upper end that much closer.
#
# </details>

# %% [markdown]
# **2.** The atomic kernel is run twice on a GPU and gives the same bits both times. Is it repeatable? It is run with
# $S_k = 64$ and blocks of 64, a hundred times, and never differs. And with two blocks of keys?
#
# <details><summary>Answer</summary>
#
# Two runs prove nothing; the scheduler may have repeated itself. With one block of keys every element of $dQ$ gets one
# share: nothing to reorder. With two it gets $0 + a + b$ or $0 + b + a$, and addition of two numbers does not care about
# their order, so it is repeatable as well. From three on it is not. A test of repeatability needs three shares at least.
#
# </details>

# %% [markdown]
# **3.** In a one-pass kernel $dV$ is right, $dK$ and $dQ$ are wrong. In another one $dV$ and $dK$ are right and $dQ$ is
# wrong. Where do you look, in each? Why could you not conclude as much from two separate kernels?
#
# <details><summary>Answer</summary>
#
# First kernel: $P$ is right, since $dV$ is, so it is $dS$: $dP$, $\delta$, or alpha put into it. Second kernel: $dS$ is
# right, since $dK$ is, and so is $P$; what is left is the share's own product, its alpha, its address, its mask, or the
# padded keys, which only $dQ$ sums over. In two kernels each computes its own $P$ and $dS$: one being right says
# nothing about the other.
#
# </details>

# %% [markdown]
# ### Journal
#
# *Two or three sentences in your own words, for yourself in a month. Would you ship the fast one or the repeatable one,
# and to whom? Which of your own tests has an absolute bar? Double-click here and write.*

# %% [markdown]
# ### What comes next
#
# Lesson 12 makes all of this fast, one change at a time, each predicted before it is measured. Both designs, two scans
# and one pass with atomics, go into the race there.
#
# **Sources.** One pass that owns keys and adds to $dQ$: T. Dao, *FlashAttention-2*, arXiv 2307.08691, section 3.1,
# Algorithm 2; parallel over blocks of keys, and why the additions have to be atomic: section 3.2; warps that split
# rows: section 3.3. The instructions `atom` and `red`, with and without vectors: NVIDIA's PTX ISA manual. Opting in to
# more than 48 KiB of shared memory: the CUDA C++ Programming Guide. The option `deterministic`: the documentation of the
# flash-attn package. Which of torch's operations add in an order of their own: PyTorch's notes on reproducibility.
