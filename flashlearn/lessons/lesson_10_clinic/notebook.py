# %% [markdown]
# # The clinic
#
# A kernel that crashes at least shows that it is wrong. Nearly all kernels of this lesson run, return tensors of the
# right shape, and pass the tests that came with them. There are ten patients, each with one fault and with a
# complaint from the person who wrote it. You examine, reason, and fix one place. At the end a test suite is put on
# trial: yours.
#
# **Afterwards you can**
#
# - get from a complaint to a line of code by measuring and ruling out, instead of staring at the source;
# - use the error map, look at the tiles of one program while it runs, and compare them line by line with a reference
#   in torch;
# - use the dependency argument ("dQ is right, so dS, P, dP and delta are right"), and say when it fails;
# - name ten typical faults of attention kernels, and for each a test that does not detect it;
# - choose tests for what they can detect, not for their number.
#
# **You need** lessons 03 to 08: the formulas of both passes, and what each line of a kernel is for. Two proofs use
# sympy's matrix symbols and sums, which lesson 01 introduces.
#
# **It takes** four to five hours, in several sittings: sections 1 to 3 are one, the patients two or three more, the
# trial the last. A patient takes about 10 to 25 minutes, and you can treat them in any order.

# %%
import math

import matplotlib.pyplot as plt
import sympy as sp
import torch
import triton
import triton.language as tl
from torch import Tensor

import flashlearn
from flashlearn.kernels.flash_backward_dq import dq_kernel
from flashlearn.lessons.lesson_10_clinic import instruments, pictures
from flashlearn.lessons.lesson_10_clinic.instruments import Trial, draw
from flashlearn.lessons.shared import example, reference

# %% [markdown]
# ## Before you begin
#
# Three questions about what came before. Run the cell to read them, enter a letter for each number, and run it again.
# A wrong choice costs nothing; the reply says what it overlooks.

# %% tags=["recall"]
### BEGIN SOLUTION
# STUB: answers = {1: "", 2: "", 3: ""}
answers = {1: "b", 2: "c", 3: "c"}
### END SOLUTION
flashlearn.recall("10", answers)

# %% [markdown]
# ## 1 · The ward round
#
# Ask four questions, in this order. Each is cheap to answer, and each narrows down where the fault can be.
#
# 1. **Which outputs are wrong, and which are right?** If an output is right, the lines from which it was computed are
#    probably right.
# 2. **Where are they wrong?** Everywhere, in the last block, in one program's rows, above the diagonal? By a constant
#    factor?
# 3. **When are they right?** Find an input on which the fault does not show. The faulty line depends on something in
#    which the two inputs differ.
# 4. **Which line is the first whose value differs** from the same line written in torch?
#
# Read the source *after* these. If you begin with the source, you tend to find what you expect to find.
#
# All patients are small: one head, contiguous $[S, D]$ matrices, blocks of $16 \times 16$, $D$ a power of two. Names
# are those of the earlier lessons. The instruments run kernels in the observed interpreter, with or without a GPU.
#
# ## 2 · Patient zero, together
#
# A backward kernel in one pass: a program owns 16 keys and scans the queries; each tile's contribution to $dQ$ is
# added atomically. The complaint: "dQ and dK are nonsense. The loss goes down for a while, then it does not."


# %%
@triton.jit
def patient_zero_kernel(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dq_ptr, dk_ptr, dv_ptr, alpha, S_q, S_k,
    D: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    columns = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    d = tl.arange(0, D)
    in_keys = columns < S_k
    key_tile = columns[:, None] * D + d[None, :]
    k = tl.load(k_ptr + key_tile, mask=in_keys[:, None], other=0.0)
    v = tl.load(v_ptr + key_tile, mask=in_keys[:, None], other=0.0)  # noqa: F841
    dk = tl.zeros((BLOCK, D), tl.float32)
    dv = tl.zeros((BLOCK, D), tl.float32)
    for start in range(0, S_q, BLOCK):
        rows = start + tl.arange(0, BLOCK)
        in_queries = rows < S_q
        query_tile = rows[:, None] * D + d[None, :]
        q = tl.load(q_ptr + query_tile, mask=in_queries[:, None], other=0.0)
        do = tl.load(do_ptr + query_tile, mask=in_queries[:, None], other=0.0)
        lse_i = tl.load(lse_ptr + rows, mask=in_queries, other=float("inf"))
        delta_i = tl.load(delta_ptr + rows, mask=in_queries, other=0.0)
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
        s = tl.where(in_keys[None, :], s, -float("inf"))
        p = tl.exp(s - lse_i[:, None])
        dv += tl.dot(tl.trans(p.to(do.dtype)), do, input_precision="ieee")
        dp = tl.dot(do, tl.trans(k), input_precision="ieee")
        ds = p * (dp - delta_i[:, None])
        dk += tl.dot(tl.trans(ds.to(q.dtype)), q, input_precision="ieee")
        dq = alpha * tl.dot(ds.to(k.dtype), k, input_precision="ieee")
        tl.atomic_add(dq_ptr + query_tile, dq, mask=in_queries[:, None])
    tl.store(dk_ptr + key_tile, alpha * dk, mask=in_keys[:, None])
    tl.store(dv_ptr + key_tile, dv, mask=in_keys[:, None])


def patient_zero(q: Tensor, k: Tensor, v: Tensor, o: Tensor, do: Tensor, lse: Tensor, alpha: float):
    (S_q, D), S_k, BLOCK = q.shape, k.shape[0], 16
    delta = (o.float() * do.float()).sum(-1)
    dq = torch.zeros((S_q, D), dtype=torch.float32, device=q.device)
    dk, dv = torch.empty_like(k), torch.empty_like(v)
    grid = (triton.cdiv(S_k, BLOCK),)
    patient_zero_kernel[grid](q, k, v, do, lse, delta, dq, dk, dv, alpha, S_q, S_k, D=D, BLOCK=BLOCK)
    return dq.to(q.dtype), dk, dv


# %% [markdown]
# You may have seen the fault already. Pretend that you have not; the next patients are less obvious.
#
# **Questions 1 and 2.** `instruments.inputs` draws inputs, `instruments.errors` compares every output with the fp64
# reference. The report of a check has a map for every wrong output: one square per element, and lines between the
# programs that stored them. (The report itself would name the line and spoil the examination. Read it at the end of
# this section.)


# %% tags=["nbval-check-output"]
def examine(name, function, given, bar=1e-4):
    """Which outputs are right, and how far off the others are."""
    for output, error in instruments.errors(name, function, given).items():
        print(f"{output:4}", "right" if error <= bar else f"off by up to {error:.2g}")


examine("clinic_1", patient_zero, instruments.inputs("clinic_1", S_q=40, S_k=56))

# %%
report = flashlearn.check("clinic_1", patient_zero, demo=True)
report.show("dk", case="S 40 × 56, D 16, alpha 0.4")

# %% [markdown]
# $dK$ is wrong everywhere, and equally so in each program. So an edge, a mask or a race is unlikely. And $dV$ is
# right.
#
# **The dependency argument.** $dV = P^\top dO$ is computed from $P$, and $P$ from $S$ and LSE. All of these lines
# ran, and their product is right: cross them out. Both wrong outputs are computed from $dS$. So, if exactly one line
# is wrong, it computes $dS$ or something that only $dS$ needs:

# %%
left = instruments.suspects(right={"dv"}, wrong={"dq", "dk"})
print("suspect:", ", ".join(left))
pictures.dependencies(right={"dv"}, suspects=left)

# %% [markdown]
# Of all the lines, these few are left. **Question 4** selects one of them. `instruments.watch` runs the kernel and
# records the variables of one program: for each iteration of its loop (a *round*), the value of every tile, under the
# name that it has in the kernel. `instruments.twin` computes the same quantities in torch, as a reference, and
# `.tile(i, j)` selects the block of queries $i$ and of keys $j$. Program (1, 0, 0) in round 2, counted from 0, is at
# tile (2, 1).
#
# **Predict** which of the lines for $S$, $P$, $dP$ and $dS$ agree.

# %% tags=["nbval-check-output"]
given = instruments.inputs("clinic_1", S_q=40, S_k=56)
seen = instruments.watch(patient_zero, given, program=(1,))
print(len(seen), "rounds; names:", ", ".join(name for name in seen[2] if seen[2][name].ndim == 2))

instruments.line_by_line(seen[2], instruments.twin(given).tile(2, 1))

# %% [markdown]
# The first line that differs is the faulty one: the lines after it only inherit the error. Here it is `dp`. The next
# cells show `p` and `ds` of both sides as pictures, and then the small example of the course, whose $dP$ you know by
# now: its row 0 is $(1, -2, 0)$.

# %%
tile = instruments.twin(given).tile(2, 1)
pictures.side_by_side({name: (seen[2][name], tile[name]) for name in ("p", "ds")})

# %% tags=["nbval-check-output"]
small = instruments.example()
seen_small = instruments.watch(patient_zero, small)
twin_small = instruments.twin(small).tile(0, 0)
for name in ("p", "dp", "ds"):
    instruments.show(seen_small[0], twin_small, name)

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - $P$ agrees up to rounding, $dP$ does not. In the small example row 0 in the kernel is $(1, -1, 0)$, which is
#   $dO_0 K^\top$ with $dO_0 = (1, -1)$: the kernel multiplies by K instead of V. The fix is
#   `dp = tl.dot(do, tl.trans(v), …)`.
# - The complaint mentions $dQ$ and $dK$, but the fault is in neither of their lines. A complaint names the symptom,
#   not the cause.
# - We have read one line of source, and it was the right one. The check finds it, too: run `report` in a separate
#   cell. For the patients below, the check does not reveal the line as long as you have not changed anything.
#
# </details>
#
# ### All of P, tile by tile
#
# A program sees one tile at a time, and no attention kernel of ours has $P$ in memory. How do you look at all of it? One
# of this course's sources, a debugging log, gives the kernel an array of $S_q \times S_k$ for that purpose, to which
# every program adds its tile. That costs $4\,B H S_q S_k$ bytes, its index can exceed 32 bits (lesson 06), and a tile that
# is visited twice is counted twice. Recording what `p` held has none of these problems: run the kernel once per program,
# put the tiles together *outside*, and note how often each was visited.
#
# **Predict** for patient zero what the two pictures show: the largest error of each tile of $P$, and of $dS$.


# %%
def dump(function, given, name, programs, block=16):
    """A matrix of the kernel put together from its tiles, and how often each tile was visited."""
    S_q, S_k = given["q"].shape[0], given["k"].shape[0]
    whole, visits = torch.full((S_q, S_k), math.nan), torch.zeros(-(-S_q // block), programs, dtype=torch.int)
    for j in range(programs):
        for seen in instruments.watch(function, given, program=(j,)):
            i = int(seen["rows"][0]) // block
            rows, columns = slice(i * block, (i + 1) * block), slice(j * block, (j + 1) * block)
            place = whole[rows, columns]
            place.copy_(seen[name][: place.shape[0], : place.shape[1]])
            visits[i, j] += 1
    return whole, visits


given = instruments.inputs("clinic_1", S_q=40, S_k=56)
right = instruments.twin(given)
for name in ("p", "ds"):
    whole, visits = dump(patient_zero, given, name, programs=4)
    wrong = (whole - right[name]).abs()
    print(f"{name}: largest error of each tile, queries down, keys across")
    for i, row in enumerate(wrong.split(16)):
        print(
            "  ",
            "  ".join(f"{tile.nan_to_num(math.inf).max():7.0e}" for tile in row.split(16, dim=1)),
            visits[i].tolist(),
        )
assert (visits == 1).all()

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - $P$ is right in every tile, $dS$ in none. Had only the last column of tiles been wrong, you would look at the mask of
#   the keys; had it been the tiles of one program, at what distinguishes its address; the upper triangle, at the causal
#   mask. The pattern of a dump is worth as much as its numbers.
# - The list on the right counts visits. A 0 is a tile that the loop leaves out, and its elements are NaN; a 2 is one that
#   is visited twice.
# - `report.dump(tile=(1, 0))` prints one block of a wrong *output* beside the right one, and `report.show("dk")` draws
#   where an output is off. A dump of `p` goes one level deeper, to what no output shows.
#
# </details>
#
# ## 3 · When the argument fails
#
# > **The claim.** "dQ is right, so dS, P, dP and delta are right. Look at what is left."
# >
# > It is a good argument, but it rests on two assumptions that are rarely stated.
#
# **First: that there is one $dS$.** In a one-pass kernel there is. With two kernels, one for $dQ$ and one for $dK$
# and $dV$, each rebuilds $P$ and $dS$ from $Q$, $K$, LSE and delta *by itself*. A right $dQ$ speaks for the lines of
# the kernel that computed it, and says nothing about the same lines of the other one. It does speak for what both
# kernels read: LSE and delta in memory.
#
# Here are two such kernels on the same inputs: lesson 07's kernel for $dQ$, and for $dK$ and $dV$ one of the patients
# below.

# %% tags=["nbval-check-output"]
given = instruments.inputs("clinic_4", S_q=49, S_k=56)
heads = {name: x[None, None] if isinstance(x, Tensor) else x for name, x in given.items()}  # [1, 1, S, D]
with flashlearn.observing():
    dq = dq_kernel(**heads)[0, 0]

print(
    "dq  ", "right" if torch.allclose(dq, reference.attention_gradients(**given)[0], atol=1e-5) else "wrong"
)
examine("clinic_4", instruments.patient("clinic_4"), given)

# %% [markdown]
# "dQ is right, so P is right, so dV = Pᵀ dO can only be wrong in that one product." The conclusion is false: the
# product is right, and the second kernel's $P$ is not.
#
# **Second: that a right $dQ$ needs a right $dS$.** $dQ = \alpha\, dS\, K$ is a product, and products lose information.
# Add to $dS$ any $Z$ with $ZK = 0$. Then $dQ$ stays the same. For **every size**, with matrix symbols:

# %%
S_q, S_k, D = sp.symbols("S_q S_k D", integer=True, positive=True)
dS_, Z_ = sp.MatrixSymbol("dS", S_q, S_k), sp.MatrixSymbol("Z", S_q, S_k)
K_, Q_ = sp.MatrixSymbol("K", S_k, D), sp.MatrixSymbol("Q", S_q, D)

assert ((dS_ + Z_) * K_).expand() == dS_ * K_ + Z_ * K_  # so dQ changes by alpha Z K
assert ((dS_ + Z_).T * Q_).expand() == dS_.T * Q_ + Z_.T * Q_  # and dK by alpha Zᵀ Q

# %% [markdown]
# Does such a $Z$ exist? Each row of $Z$ has to be orthogonal to the $D$ columns of $K$. A row has $S_k$ numbers, so
# such a row exists whenever $S_k > D$, that is, nearly always: with 4096 keys and $D = 64$, each row of $dS$ may be
# wrong in at least 4032 independent directions, and $dQ$ stays right. In the small example $S_k - D = 1$, and sympy
# finds the only direction. (This cell is about the **small example** only.)

# %% tags=["nbval-check-output"]
exact = example.symbolic()
hidden = exact.K.T.nullspace()[0].T  # one row: orthogonal to both columns of K
Z = sp.Matrix([1, -2, 0, 1]) * hidden  # the same direction in each query's row, with any factors

dq_change = exact.alpha * Z * exact.K
assert dq_change == sp.zeros(4, 2)
print("direction", list(hidden), "  dQ changes by", dq_change.tolist())
print("dK changes by", (exact.alpha * Z.T * exact.Q).tolist())

# %% [markdown]
# The direction need not be exotic. If the keys of a head sum to zero, for example because their mean was subtracted,
# then any number may be added to a whole row of $dS$: $Z = c\,\mathbf 1^\top$ has $ZK = c \sum_j K_j = 0$.
# **Predict** which gradients change.

# %% tags=["nbval-check-output"]
given = instruments.inputs("clinic_1", S_q=40, S_k=56)
q64, k64 = given["q"].double(), given["k"].double()
k64 = k64 - k64.mean(dim=0)
dS = torch.randn(40, 56, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
wrong_dS = dS + 5.0

for name, right, wrong in (("dQ", dS @ k64, wrong_dS @ k64), ("dK", dS.T @ q64, wrong_dS.T @ q64)):
    print(name, "notices" if (right - wrong).abs().max() > 1e-9 else "does not notice")

# %% [markdown]
# > **The verdict.** Half right. A right $dQ$ makes a right $dS$ *likely*, because a fault rarely changes $dS$ only in
# > directions that $K$ maps to zero. It proves nothing about another kernel's $dS$. Use the argument to decide where
# > to look first, and then look.
#
# ## 4 · The patients
#
# Each has its own cell, with a line at the top that says `tl.static_assert(False, "TODO …")`. Remove that line when
# you begin. Then fix the faulty line, and leave the rest as it is: the check runs the kernel *and* compares its
# source with the original. At most four lines may differ; comments and blank lines do not count.
#
# `instruments.patient("clinic_1")` is the faulty kernel itself, to be examined before you change anything;
# `instruments.watch`, `instruments.line_by_line` and `instruments.show` work on it as above. For most patients you
# first see a test that does not detect the fault.

# %% [markdown]
# ### Patient 1 · warm-up
#
# *"I ported a one-pass backward kernel from a paper. dQ and dV agree with autograd. dK does not. My unit test on a
# small case passes, so I do not understand it."*
#
# The unit test uses `alpha = 1`, "to keep things simple":


# %% tags=["nbval-check-output"]
def with_alpha(given, alpha):
    """The same q, k, v and do with another scale, and the o and lse that belong to it."""
    o, lse = reference.attention_forward(given["q"], given["k"], given["v"], alpha)
    return {**given, "o": o, "lse": lse, "alpha": alpha}


given = instruments.inputs("clinic_1", S_q=40, S_k=56)
print("their test, alpha = 1")
examine("clinic_1", instruments.patient("clinic_1"), with_alpha(given, 1.0))
print("alpha = 1/√D")
examine("clinic_1", instruments.patient("clinic_1"), given)

# %% [markdown]
# Use the dependency argument. (In a one-pass kernel its first assumption holds.)

# %% exercise="clinic_1"
# HINT: It is a one-pass kernel: dQ, dK and dV are computed from the same `p` and the same `ds`. dQ and dV are
#     right. Cross out every line that they depend on.
# HINT: Two lines are left, the one that adds to `dk` and the one that stores it. Divide the wrong dK by the
#     right one: which number do you get, for every element?
# HINT: $dK = \alpha\, dS^\top Q$, and $dQ = \alpha\, dS\, K$ has its alpha. One factor is missing, and it can
#     be added in the last line that uses dk.
# INCLUDE: flashlearn/lessons/lesson_10_clinic/backward_patients.py:clinic_1_kernel


# INCLUDE: flashlearn/lessons/lesson_10_clinic/backward_patients.py:clinic_1

# %%
flashlearn.check("clinic_1", clinic_1)

# %%
# flashlearn.hint("clinic_1")

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - `instruments.suspects(right={"dq", "dv"}, wrong={"dk"})` leaves only `dk`. The ratio of wrong to right is 4 in
#   every element, and $1/\alpha = \sqrt{16} = 4$. The output and the factor are the whole diagnosis.
# - With $\alpha = 1$ a scale that is missing, applied twice or applied in the wrong place is not visible. Do not test
#   with this value only. $1/\sqrt D$ alone is not enough either: it does not reveal a kernel that computes
#   $1/\sqrt D$ itself and ignores its argument.
# - Multiplying $dS$ by $\alpha$ fixes $dK$ but breaks $dQ$, which already had its factor. Look at *all* outputs after
#   a fix.
#
# </details>

# %% [markdown]
# ### Patient 2 · core
#
# *"dK changes from run to run, in the third digit, sometimes more. dV never does. On my laptop, in Triton's
# interpreter, everything is right."*
#
# To use more of the GPU, two programs share a block of keys, and each scans half of the queries. This is the test in
# the interpreter:

# %% tags=["nbval-check-output"]
examine("clinic_2", instruments.patient("clinic_2"), instruments.inputs("clinic_2", S_q=40, S_k=56))

# %% [markdown]
# The interpreter runs one program after another, so no other program can come in between. On a GPU this can happen.
# Take one element of dK that holds 0, program (j, 0, 0), which adds 3, and program (j, 1, 0), which adds 5. For which
# order of loads and stores is the sum not 8? (Lesson 08 went through one such order.) The check does not depend on
# luck: it records which program accessed which address, and reports accesses of two programs that are not ordered.

# %% exercise="clinic_2"
# HINT: A result that changes from run to run depends on which program comes first. Which other program writes
#     the memory that this program writes?
# HINT: Programs (j, 0) and (j, 1) own the same block of keys. Both add their half to dK and to dV. Compare
#     the lines that add to the two outputs.
# HINT: Load, add and store are three steps, and another program may come in between. `tl.atomic_add` is one
#     step, and dV uses it already. Its operand is the share, not the sum.
# INCLUDE: flashlearn/lessons/lesson_10_clinic/backward_patients.py:clinic_2_kernel


# INCLUDE: flashlearn/lessons/lesson_10_clinic/backward_patients.py:clinic_2

# %%
flashlearn.check("clinic_2", clinic_2)

# %%
# flashlearn.hint("clinic_2")

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - One such order: (j, 0, 0) loads 0, (j, 1, 0) loads 0, (j, 0, 0) stores 3, (j, 1, 0) stores 5. The 3 is lost.
# - "Changes from run to run" is a strong hint: the same arithmetic in the same order gives the same result. Ask which
#   other program writes there.
# - With atomics the last bits of a sum may in general change from run to run, since $a + b + c$ depends on the order
#   in floating point (lesson 11 shows how to avoid this). A share that is *lost* is not a rounding error.
# - An element that only one program writes needs no atomic. If two programs add to the same block, *every* output of
#   that block needs one.
#
# </details>

# %% [markdown]
# ### Patient 3 · core
#
# *"dK and dV point in the right direction: their cosine with autograd's is 1.0000, and that is what our regression
# test checks. But training needs a learning rate four times smaller than before."*
#
# In this kernel four programs share a block of keys. They do use atomics.


# %% tags=["nbval-check-output"]
def cosines(name, given):
    """The test that came with the patient: the angle between its outputs and the right ones."""
    function, judge = instruments.patient(name), flashlearn.lessons.find(name).reference
    with flashlearn.observing():
        got = function(*given.values())
    for label, a, b in zip(("dk", "dv"), got, judge(**given), strict=True):
        print(label, f"cosine {torch.cosine_similarity(a.flatten(), b.flatten(), dim=0):.4f}")


given = instruments.inputs("clinic_3", S_q=40, S_k=56)
cosines("clinic_3", given)
examine("clinic_3", instruments.patient("clinic_3"), given)

# %% [markdown]
# Compare two programs of one block of keys, (0, 0, 0) and (0, 1, 0). **Predict** which queries each of them scans.

# %% tags=["nbval-check-output"]
for program in ((0, 0), (0, 1)):
    rounds = instruments.watch(instruments.patient("clinic_3"), given, program=program)
    print(f"program {(*program, 0)} scans the queries from", [int(r["rows"][0]) for r in rounds])

# %% [markdown]
# Dividing the results by a factor would only hide the fault. The check also counts products: together the programs of
# a block have to do the work of one program, not more.

# %% exercise="clinic_3"
# HINT: All elements are wrong by the same factor, every time: nothing is lost and nothing is random. Of what
#     are there four?
# HINT: Four programs share each block of keys. Watch `rows` in programs (0, 0) and (0, 1): do they scan
#     different queries?
# HINT: Part p takes the tiles p, p + PARTS, p + 2·PARTS, … A `range` with the right start and step does that;
#     both are counted in queries.
# INCLUDE: flashlearn/lessons/lesson_10_clinic/backward_patients.py:clinic_3_kernel


# INCLUDE: flashlearn/lessons/lesson_10_clinic/backward_patients.py:clinic_3

# %%
flashlearn.check("clinic_3", clinic_3)

# %%
# flashlearn.hint("clinic_3")

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - Patients 2 and 3 have the same structure and opposite faults. There, shares could be lost at random; here,
#   everything is always counted four times. Atomics make additions safe, but they do not decide what is added.
# - A constant factor that is a small integer is often the number of something: programs, warps, heads, passes. A
#   similar bug is known from CUDA kernels, in which every warp of a block adds the block's tile.
# - Dividing by 4 gives the right numbers, but the check does not accept it: each program would still do the work of
#   all. (`PARTS = 1` is right as well, but it gives up the parallelism for which the four programs were introduced.)
# - A cosine or a correlation does not depend on a factor, and a loss may go down in spite of one, so none of them
#   reveals this fault.
#
# </details>

# %% [markdown]
# ### Patient 4 · core
#
# *"Wrong gradients for some batches. It took me a week to see that it is the length: 48 is fine, 64 is fine, 49 is
# not."*
#
# Instead of masking its loads, this kernel clamps row numbers to the last query, so that every load is in bounds.

# %% tags=["nbval-check-output"]
for length in (48, 49, 56):
    print("S_q =", length)
    examine("clinic_4", instruments.patient("clinic_4"), instruments.inputs("clinic_4", S_q=length, S_k=56))

# %% [markdown]
# Lesson 08 asked when padded queries leak. Look at the rows of `p` beyond the last query; the small example has four
# queries in a tile of 16, so there are twelve. **Predict** what they contain.

# %% tags=["nbval-check-output"]
seen = instruments.watch(instruments.patient("clinic_4"), instruments.example())
print(seen[0]["p"][:7, :4].numpy().round(3))
instruments.line_by_line(seen[0], instruments.twin(instruments.example()).tile(0, 0))

# %% exercise="clinic_4"
# HINT: Only ragged lengths fail, and all keys are wrong, not only the last ones. So it is not the edge of the
#     keys.
# HINT: Row numbers beyond the last query are replaced by that of the last query. Nothing is read out of
#     bounds, but what do those rows add to `dv` and `dk`?
# HINT: Their P must be 0, and this depends on the row, not on the column: use `tl.where` with a condition on
#     `rows`, expanded to the shape of the tile.
# INCLUDE: flashlearn/lessons/lesson_10_clinic/backward_patients.py:clinic_4_kernel


# INCLUDE: flashlearn/lessons/lesson_10_clinic/backward_patients.py:clinic_4

# %%
flashlearn.check("clinic_4", clinic_4)

# %%
# flashlearn.hint("clinic_4")

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - Line by line the patient agrees with the reference, because the reference has no padding. Such a comparison does
#   not see rows that should contribute nothing. If all lines agree and the sum is wrong, look at the lanes that you
#   did not compare.
# - With loads masked to zero the padded rows of $P$ would be harmless for $dV$, since $dO$ is zero there (lesson 08).
#   Here each padded row contains $dO$ of the last query again. Whether padded rows leak depends on what they are
#   filled with.
# - The axis that is summed over needs the mask: $dV$ and $dK$ sum over *queries*, so padded queries must be masked.
#   Padded keys only affect rows of $dK$ and $dV$ that are never stored.
# - Lengths of 16, 32, 64 and 128 are the first that come to mind. They are all multiples of the block.
#
# </details>

# %% [markdown]
# ### Patient 5 · core
#
# *"Our causal attention gives values that are too small for early tokens. Generation, token by token, is perfect."*
#
# A test of generation has one query that sees all keys, and a cache of 64 of them:

# %% tags=["nbval-check-output"]
for S_q_, S_k_ in ((1, 64), (64, 64)):
    print(f"S_q = {S_q_}, S_k = {S_k_}")
    examine("clinic_5", instruments.patient("clinic_5"), instruments.inputs("clinic_5", S_q=S_q_, S_k=S_k_))

# %% [markdown]
# Where is it wrong, and by how much? The cell divides the wrong output by the right one, for a few queries and three
# components each.

# %% tags=["nbval-check-output"]
given = instruments.inputs("clinic_5", S_q=64, S_k=64)
with flashlearn.observing():
    o, lse = instruments.patient("clinic_5")(*given.values())
right_o, right_lse = reference.attention_forward(*given.values(), causal=True)

for i in (0, 1, 10, 62, 63):
    ratio = (o / right_o)[i, :3].numpy().round(3)
    print(f"query {i:2}   O: {ratio}   exp(LSE): {float((lse - right_lse)[i].exp()):.3f}")

# %% [markdown]
# One factor per query, the same for all components, and $e^{\mathrm{LSE}}$ is off by exactly its inverse. Which
# quantity is one number per query, divides $O$, and is contained in LSE?

# %% exercise="clinic_5"
# HINT: Divide the wrong O by the right one: one factor per query, the same for all its components. Which of
#     the running quantities is one number per query?
# HINT: O = acc / l. A factor below 1 means that l is too large: it counts something that acc does not
#     contain. Look at the order of the lines.
# HINT: Both lines are right, but in the wrong order: hidden scores must be removed before anything is summed.
# INCLUDE: flashlearn/lessons/lesson_10_clinic/forward_patients.py:clinic_5_kernel


# INCLUDE: flashlearn/lessons/lesson_10_clinic/forward_patients.py:clinic_5

# %%
flashlearn.check("clinic_5", clinic_5)

# %%
# flashlearn.hint("clinic_5")

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - $l$ was the sum over all keys, $acc$ the sum over the visible ones. So $O$ was the right answer times the fraction
#   of the unmasked softmax that belongs to visible keys.
# - After the fix, the *maximum* is still taken over hidden keys, too. In exact arithmetic that is harmless: any
#   number may be subtracted, as the next cell shows for **every** set of visible keys. The hidden keys may raise $m$,
#   and $m$ cancels.
# - In floating point this has a limit, and the cell after the next one finds it. Masking $s$ itself, before the
#   maximum, has no such limit, but needs a guard for rows that see nothing (lesson 06).
#
# </details>

# %%
N = sp.Symbol("N", integer=True, positive=True)
j = sp.Symbol("j", integer=True)
M, m = sp.symbols("M m", real=True)
s, seen_, v = (sp.IndexedBase(name, real=True) for name in ("s", "seen", "v"))  # seen[j] is 1 or 0


def output(shift):
    total = sp.Sum(seen_[j] * sp.exp(s[j]) * sp.exp(-shift), (j, 1, N))
    weighted = sp.Sum(seen_[j] * sp.exp(s[j]) * sp.exp(-shift) * v[j], (j, 1, N))
    return sp.factor_terms(weighted) / sp.factor_terms(total)


assert sp.simplify(output(M) - output(m)) == 0  # whatever is subtracted, for any N and any mask

# %% [markdown]
# Now with rounding. Let the largest hidden score exceed the largest visible one by some gap. Every visible $p$ is
# then multiplied by $e^{-\text{gap}}$, and in half precision $P$ is rounded before it is multiplied by $V$.
# **Predict** from which gap on $O$ loses digits, in fp32, bf16 and fp16.

# %%
generator = torch.Generator().manual_seed(0)
visible_s, values = torch.randn(64, generator=generator), torch.randn(64, 16, generator=generator)
right_o = torch.softmax(visible_s.double(), 0) @ values.double()

in_fp16 = {}
print("gap  ", "  ".join(f"{str(dtype)[6:]:>8}" for dtype in (torch.float32, torch.bfloat16, torch.float16)))
for gap in (0, 8, 10, 12, 14, 16, 88, 96, 110):
    p_small = torch.exp(visible_s - visible_s.max() - gap)  # relative to the hidden maximum
    l_small = p_small.sum()
    off = []
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        o_small = (p_small.to(dtype).float() @ values) / torch.where(l_small == 0, 1.0, l_small)  # as guarded
        off.append(float((o_small - right_o).abs().max() / right_o.abs().max()))
    in_fp16[gap] = off[-1]
    print(f"{gap:3}  ", "  ".join(f"{error:8.1e}" for error in off))

assert in_fp16[8] < 10 * in_fp16[0] and in_fp16[12] > 50 * in_fp16[0]

# %% [markdown]
# In fp16 the error begins to grow at a gap of about 10; from 12 on it is roughly a hundred times the usual rounding
# error, and beyond 16 hardly anything is left of $P$. bf16 and fp32 work until their exponent range ends, near 90. At
# 110 every visible exponential is 0 even in fp32. Without a guard $O$ would be 0/0; this kernel divides by 1 where
# $l$ is 0, so $O$ is 0 and LSE is $-\infty$: a query that sees many keys is treated like one that sees nothing.

# %% [markdown]
# ### Patient 6 · core
#
# *"The forward kernel is the fast one, in powers of two, and agrees with SDPA to the last digit. The backward kernel
# passes its own tests. Together they produce garbage."*

# %% tags=["nbval-check-output"]
given = instruments.inputs("clinic_6", S_q=40, S_k=56)
examine("clinic_6", instruments.patient("clinic_6"), given)

# %% [markdown]
# SDPA does not return LSE, so their test compared only $O$. The backward kernel uses LSE to rebuild
# $P = e^{S - \mathrm{LSE}}$, and the rows of $P$ should sum to 1.

# %% tags=["nbval-check-output"]
with flashlearn.observing():
    _, lse = instruments.patient("clinic_6")(*given.values())
right_lse = reference.attention_forward(*given.values())[1]
S = reference.attention_scores(given["q"], given["k"], given["alpha"])
print("rows of P sum to", (S - lse[:, None]).exp().sum(dim=1)[:5].numpy().round(3))
print("LSE over the right LSE", (lse / right_lse)[:5].numpy().round(4))

# %% exercise="clinic_6"
# HINT: O is right, so s, p, l and acc are consistent with each other. LSE is computed in one line. By which
#     factor is it wrong?
# HINT: The factor is 1.4427 = log2 e. This kernel uses powers of two: its `m_i` is a maximum of $s \log_2 e$,
#     and its logarithm has base 2.
# HINT: The sum $m + \log_2 l$ is right, in base 2. Convert it once, as a whole, where LSE is stored: does it
#     take multiplying or dividing by log2 e to get the smaller number that is needed?
# INCLUDE: flashlearn/lessons/lesson_10_clinic/forward_patients.py:clinic_6_kernel


# INCLUDE: flashlearn/lessons/lesson_10_clinic/forward_patients.py:clinic_6

# %%
flashlearn.check("clinic_6", clinic_6)

# %%
# flashlearn.hint("clinic_6")

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - Each kernel is consistent in itself, and the fault is between them: one stores LSE in base 2, the other reads it
#   in base $e$. Neither convention is wrong. What was missing is a sentence that says which one is stored, and a test
#   that checks the value that is passed on.
# - "The rows of $P$ sum to 1" is a test that needs no reference and only one line. It finds this fault, and that of
#   patient 5.
# - Constants that are worth recognising: $1.4427 = \log_2 e$, $0.6931 = \ln 2$, $2.0814 = (\log_2 e)^2$.
#
# </details>

# %% [markdown]
# ### Patient 7 · core
#
# *"All tests pass, with the usual tolerance. The model trains worse than with SDPA, and I have no idea why."*
#
# > **The claim.** "The largest difference is below 5e-3, so the kernel is right."
# >
# > **The experiment.** Their test: 128 queries and keys, $D = 64$, values uniform in $[-\frac12, \frac12]$. The
# > tolerance is 0.005. **Predict** how large $dQ$ itself is.


# %% tags=["nbval-check-output"]
def uniform(scale, S=128, D=64):
    """Their test's inputs: values uniform in [−scale, scale]."""
    generator = torch.Generator().manual_seed(0)
    q, k, v, do = (scale * (2 * torch.rand(S, D, generator=generator) - 1) for _ in range(4))
    o, lse = reference.attention_forward(q, k, v, D**-0.5)
    return {"q": q, "k": k, "v": v, "o": o, "do": do, "lse": lse, "alpha": D**-0.5}


given = uniform(0.5)
error = instruments.errors("clinic_7", instruments.patient("clinic_7"), given)["dq"]
size = float(reference.attention_gradients(**given)[0].abs().max())
print(f"largest error {error:.4f}: the test", "passes" if error < 5e-3 else "fails")
print(f"largest entry of dQ {size:.4f}: off by {100 * error / size:.0f} % of it")

# %% [markdown]
# > **The verdict.** An absolute tolerance says little. 0.005 is more than half of the largest entry of this $dQ$, and
# > several times the error of a kernel that lacks a whole term. Compare the error with the size of the right answer,
# > or, as this course does, with what plain torch achieves at the same precision.
#
# So $dQ$ is wrong. Now compare line by line:

# %% tags=["nbval-check-output"]
seen = instruments.watch(instruments.patient("clinic_7"), given, program=(2,))
instruments.line_by_line(seen[3], instruments.twin(given).tile(2, 3))

# %% exercise="clinic_7"
# HINT: Its test passes because of its tolerance: 5e-3 for a dQ that is hardly larger. Compare with the size
#     of dQ instead, and then line by line with the reference.
# HINT: s, p and dp agree with the reference, ds does not. A row of dS should sum to zero: does it here? And
#     which loaded value is never used?
# HINT: $dS = P \circ (dP - \delta)$: one number per row is subtracted from the tile `dp`, before it is
#     multiplied by p.
# INCLUDE: flashlearn/lessons/lesson_10_clinic/backward_patients.py:clinic_7_kernel


# INCLUDE: flashlearn/lessons/lesson_10_clinic/backward_patients.py:clinic_7

# %%
flashlearn.check("clinic_7", clinic_7)

# %%
# flashlearn.hint("clinic_7")

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - `delta_i` was loaded and never used. A linter that warns about unused names would have found this fault
#   immediately; so would reading the source for *code that has no effect*.
# - The error of a forgotten delta is $\alpha\,\delta_i \sum_j P_{ij} K_j$: delta times the mean of the keys. With
#   small random values both are small. The fault is hidden only by the data of the test.
# - Property tests that need no reference: rows of $dS$ sum to zero; all values equal ($V_j = c$) gives $dQ = 0$.
#
# </details>

# %% [markdown]
# ### Patient 8 · core
#
# *"In fp32 it is perfect. In fp16 it was perfect too, for a year, until a colleague used it in another model. Now we
# get inf."*

# %% tags=["nbval-check-output"]
for dtype, data in (
    (torch.float32, "V near 2500"),
    (torch.float16, "normal"),
    (torch.float16, "V near 2500"),
):
    print(str(dtype).removeprefix("torch."), data)
    given = instruments.inputs("clinic_8", S_q=20, S_k=64, dtype=dtype, data=data)
    examine("clinic_8", instruments.patient("clinic_8"), given, bar=0.01)

# %% [markdown]
# $O$ is a mean of values near 2500, so it should be near 2500 and fit into fp16, whose largest number is 65504.
# **Predict** the largest entry of `acc` after each of the four tiles of keys, given that all scores are nearly equal.

# %% tags=["nbval-check-output"]
seen = instruments.watch(instruments.patient("clinic_8"), given)
for number, tiles in enumerate(seen):
    acc, l_i = tiles["acc"][0].max(), tiles["l_i"][0]
    print(f"query 0 after tile {number}: largest acc {acc:8.0f}, l {l_i:5.1f}")

# %% exercise="clinic_8"
# HINT: O itself is at most about 10⁴ here and fits into fp16, whose largest number is 65504. An intermediate
#     value does not fit.
# HINT: Before the division acc is about l · V, up to S_k times as large as O. Which dtype does acc have, and
#     which line decides it?
# HINT: The line that creates `acc` takes its dtype from V. A sum has to be accumulated in fp32, whatever is
#     summed.
# INCLUDE: flashlearn/lessons/lesson_10_clinic/forward_patients.py:clinic_8_kernel


# INCLUDE: flashlearn/lessons/lesson_10_clinic/forward_patients.py:clinic_8

# %%
flashlearn.check("clinic_8", clinic_8)

# %%
# flashlearn.hint("clinic_8")

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - The result fits, but an intermediate value does not. $acc$ is $O$ times $l$, and $l$ grows with the number of keys
#   that matter. A long context with nearly equal scores is the worst case; a short test with very different scores
#   does not detect the fault.
# - bf16 would not overflow, having fp32's range, and would be wrong in the third digit instead. An accumulator needs
#   both, range and precision: fp32.
# - With values near 1 the faulty kernel even stays within the tolerance of the check here: with four tiles, rounding
#   $acc$ four times is hardly worse than rounding $O$ once. With few tiles an inaccurate accumulator does not show.
#   Test data must be chosen with the possible faults in mind.
#
# </details>

# %% [markdown]
# ### Patient 9 · warm-up
#
# *"Right for prompts of up to 16 tokens, wrong beyond. LSE is always right."*

# %% tags=["nbval-check-output"]
for length in (16, 17, 56):
    print("S_k =", length)
    examine("clinic_9", instruments.patient("clinic_9"), instruments.inputs("clinic_9", S_q=40, S_k=length))

# %% [markdown]
# Here is another test that does not detect the fault, with any number of tiles. **Predict** why it passes:

# %% tags=["nbval-check-output"]
given = instruments.inputs("clinic_9", S_q=40, S_k=56)
examine("clinic_9", instruments.patient("clinic_9"), {**given, "q": torch.zeros_like(given["q"])})

# %% exercise="clinic_9"
# HINT: LSE is right. Cross out everything that it depends on.
# HINT: l is right, so `rescale` is right. O = acc / l is wrong, so acc is wrong. Compare the lines that
#     update the two sums.
# HINT: When the maximum changes, what has been summed so far has to be rescaled. `l_i` is multiplied by a
#     factor there; `acc` has a row for each element of that factor.
# INCLUDE: flashlearn/lessons/lesson_10_clinic/forward_patients.py:clinic_9_kernel


# INCLUDE: flashlearn/lessons/lesson_10_clinic/forward_patients.py:clinic_9

# %%
flashlearn.check("clinic_9", clinic_9)

# %%
# flashlearn.hint("clinic_9")

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - LSE $= m + \log l$ is right, which speaks for `s`, `m_new`, `rescale`, `p` and `l_i`. In $O = acc / l$ only `acc`
#   remains. The dependency argument works for the forward pass as well.
# - With $Q = 0$ all scores are 0, the maximum is 0 in every tile, and `rescale` is 1. The fault is hidden whenever
#   the maximum does not change after the first tile: one tile, equal scores, or the largest score in the first tile.
# - `l_i` and `acc` are two sums over the same keys relative to the same maximum. They must be rescaled together:
#   write the two lines below each other and compare them.
#
# </details>

# %% [markdown]
# ### Patient 10 · core
#
# *"Self-attention works. With the encoder's keys it sometimes crashes, and sometimes it runs and is wrong."*

# %% tags=["nbval-check-output"]
for S_q_, S_k_ in ((40, 40), (80, 48)):
    print(f"S_q = {S_q_}, S_k = {S_k_}")
    examine(
        "clinic_10", instruments.patient("clinic_10"), instruments.inputs("clinic_10", S_q=S_q_, S_k=S_k_)
    )

try:
    instruments.errors(
        "clinic_10", instruments.patient("clinic_10"), instruments.inputs("clinic_10", S_q=40, S_k=56)
    )
except flashlearn.OutOfBounds as error:
    print("S_q = 40, S_k = 56")
    print("q has 40 rows, and the kernel reads beyond them:", "q_ptr" in str(error))

# %% [markdown]
# Read the message of the check as a measurement: which tensor, which index, which bound. How long is this tensor
# according to the kernel?

# %% exercise="clinic_10"
# HINT: It only matters whether S_q and S_k differ. Which lines use S_q, and which use S_k?
# HINT: Inside the kernel every line uses the right one. So the kernel does not get the values that its
#     parameter names suggest. Arguments are passed by position.
# HINT: Read the kernel's parameters and the launch's arguments side by side, from `delta` on: at which
#     position do the names stop matching?
# INCLUDE: flashlearn/lessons/lesson_10_clinic/backward_patients.py:clinic_10_kernel


# INCLUDE: flashlearn/lessons/lesson_10_clinic/backward_patients.py:clinic_10

# %%
flashlearn.check("clinic_10", clinic_10)

# %%
# flashlearn.hint("clinic_10")

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - Every line of the kernel is right. The launch passes two arguments in the wrong order, and arguments are matched
#   by position.
# - $S_q > S_k$ with full blocks of keys is the dangerous case here: nothing crashes, and for 80 queries and 48 keys
#   the last 32 queries are silently ignored. On a GPU, reading a little beyond a tensor often does not crash either.
# - Square tests cannot tell rows from columns, $S_q$ from $S_k$, $A$ from $A^\top$, top-left from bottom-right. If you
#   change one thing in your tests after this course, let it be this one.
#
# </details>

# %% [markdown]
# ## 5 · What hid them
#
# | | fault | what shows it | what hid it |
# |---|---|---|---|
# | 1 | scale missing in $dK$ | any $\alpha \ne 1$ | $\alpha = 1$ |
# | 2 | load, add, store by two programs | a race detector; many runs on a GPU | programs that run one after another |
# | 3 | the same tile added four times | absolute size | a cosine |
# | 4 | padded queries repeat the last | a length that is not a multiple of the block | 16, 32, 64, 128 |
# | 5 | mask after the sum | a query that sees few keys | a query that sees all |
# | 6 | LSE in base 2 | comparing LSE, or rows of $P$ | comparing only $O$ |
# | 7 | delta forgotten | error relative to the answer | an absolute tolerance, small values |
# | 8 | accumulator in fp16 | large values, nearly equal scores, many keys | values near 1 |
# | 9 | acc not rescaled | several tiles, a maximum that changes | one tile, or equal scores |
# | 10 | $S_q$ and $S_k$ swapped | $S_q \ne S_k$ | square matrices |
#
# None of the tests in the last column is unreasonable. Each is a natural first test. But each of them shares an
# assumption with the faulty code.
#
# ## 6 · Tests on trial
#
# Now the other way round: the kernels are given, and you write the tests. There are fifteen backward kernels, all
# with the signature of patient 1 (and a causal mask): twelve *mutants*, each right on some inputs and wrong on
# others, and three right kernels that only round differently. A `Trial(q, k, v, do, alpha, causal)` is one test: its
# tensors are fp32 matrices of any strides, $[S_q, D]$ and $[S_k, D]$. For a trial, $O$, LSE and the true gradients
# are computed, and a kernel is run. It is *killed* if a gradient is off by more than 1 % of its largest entry or is
# not finite, or if the kernel accesses memory outside its tensors.
#
# `draw(S_q, S_k, D, alpha, causal)` makes a trial of normally distributed numbers, and `trial._replace(k=…)` changes
# one part of it. Here is which of the fifteen kernels four trials kill.


# %%
def kill_matrix(trials):
    """Who kills whom, as a picture: a row per trial, a column per kernel."""
    killed = [
        [instruments.kills(trial, d.fault) for d in instruments.DEFENDANTS] for trial in trials.values()
    ]
    names = [
        f"mutant {i + 1}" if d.guilty else f"right {i - 11}" for i, d in enumerate(instruments.DEFENDANTS)
    ]
    return pictures.kills(list(trials), names, killed, guilty=12)


first = draw(32, 32)
kill_matrix(
    {
        "32 × 32, what one writes first": first,
        "48 × 48, another seed": draw(48, 48, seed=1),
        "32 × 48": draw(32, 48),
        "32 × 32, q and k times 1000": first._replace(q=1000 * first.q, k=1000 * first.k),
    }
)

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - The second trial kills no mutant that survives the first: two tests instead of one, and the same two mutants are
#   killed. The third differs from the first in one number, and kills one more. What counts is not the number of
#   tests, but the number of *different assumptions* that they break.
# - The last one kills eleven of the twelve mutants, but also all three right kernels. Scores of several millions have
#   rounding errors of a half and more in fp32, so these kernels cannot be accurate. A test that right code fails gets
#   switched off, and then it is of no use.
#
# </details>
#
# ### Exercise: `tests_on_trial` · stretch
#
# Return a list of at most eight trials, S and D at most 64, that together kill all twelve mutants and spare the three
# right kernels. `q, k, v, do, alpha` are those of the first row above; keep that trial or not. The report has a case
# for each kernel, and for each mutant that survives it says what its fault is.
#
# What is the smallest number of trials that you need?


# %% exercise="tests_on_trial"
# HINT: A mutant survives if every trial satisfies its assumptions. List the assumptions that the first trial
#     satisfies: S_q = S_k, both multiples of 16, D = 16, alpha = 1/√D, no mask, contiguous, values near 1.
# HINT: One trial can break several assumptions: ragged lengths, a D that is not a power of two, an unusual
#     alpha, `causal=True`, and a transposed copy for k (`k.T.contiguous().T`). Take S_q > S_k in one trial
#     and S_q < S_k in another. Large values need separate trials: they must not hide other errors, nor
#     require more digits than fp32 has.
# HINT: Four trials are enough: one that breaks all assumptions on sizes, alpha, mask and layout at once, with
#     S_q < S_k; a causal one with S_q > S_k; the first one with scores around 100; the first one with a very
#     large do.
def tests_on_trial(q: Tensor, k: Tensor, v: Tensor, do: Tensor, alpha: float) -> list[Trial]:
    """Trials that kill twelve mutants and spare three right kernels."""
    first = Trial(q, k, v, do, alpha)
    ### BEGIN SOLUTION
    # STUB: raise NotImplementedError("TODO tests_on_trial: return a list of trials, [first, draw(…), …]")
    more_keys = draw(20, 40, 24, alpha=0.4, causal=True)  # ragged, odd D, odd alpha, S_q < S_k
    return [
        more_keys._replace(k=more_keys.k.T.contiguous().T),  # k laid out by columns, unlike q
        draw(40, 20, causal=True),  # queries that see nothing
        first._replace(q=10 * first.q, k=10 * first.k),  # scores around 100
        first._replace(do=1e6 * first.do),
    ]
    ### END SOLUTION


# %%
flashlearn.check("tests_on_trial", tests_on_trial)

# %%
# flashlearn.hint("tests_on_trial")

# %% [markdown]
# When it passes, look at which trial killed which kernel:
# `kill_matrix({str(i): t for i, t in enumerate(tests_on_trial(*first[:5]))})`.
#
# <details><summary><b>What to notice</b></summary>
#
# - One trial can break many assumptions at once, and that is good for *finding* that something is wrong: ragged
#   lengths, a $D$ that is not a power of two, an unusual $\alpha$ and an unusual layout do not interfere with each
#   other. For finding *what* is wrong you need trials that differ in one thing. A test suite serves the first
#   purpose, an examination the second.
# - Large values need separate trials: next to a $dO$ of $10^6$ an error of 1 does not show. And they have to be
#   chosen carefully: large enough that a faulty kernel fails, small enough that a right one passes.
# - Four trials are enough. This course's own cases for attention (lesson 06) break the same assumptions, and its
#   declared mistakes are mutants that must be killed: that is how the checks themselves are tested.
#
# </details>

# %% [markdown]
# ## 7 · What you have now
#
# | instrument | answers | does not see |
# |---|---|---|
# | right and wrong outputs, suspects | which lines can still be wrong | a second kernel's lines; $Z$ with $ZK = 0$ |
# | error map | edges, programs, diagonals, constant factors | which line it is |
# | an input without the symptom | what the faulty line depends on | |
# | watch and line by line | the first line that differs | lanes that the reference does not have |
# | properties (rows of $P$, of $dS$) | faults without any reference | faults that keep the property |
# | mutants | whether a suite detects faults | faults for which there is no mutant |
#
# ### Questions for yourself
#
# Answer before you unfold.
#
# **1.** In a two-kernel backward pass $dQ$ is right, and $dK$ and $dV$ are both wrong. Someone crosses out $P$,
# "because $dQ$ is right". What would you reply, and what is the cheapest next measurement?
#
# <details><summary>Answer</summary>
#
# $dQ$ comes from another kernel, which computes its own $P$. Only what both kernels read can be crossed out: $Q$,
# $K$, $V$, $dO$, LSE and delta in memory. In the second kernel $dV$ is wrong, and it needs only $P$ and $dO$. So
# suspect `s`, `p`, their loads, or what both sums share (bounds, masks). Watch `p`.
#
# </details>

# %% [markdown]
# **2.** A gradient is wrong by a factor of $1.0442$, for all elements and all inputs. $D$ is 64, and $\alpha$ is
# right. Which measurements would you make before reading any code?
#
# <details><summary>Answer</summary>
#
# Which outputs have it (one, or all that contain $dS$)? Does it change with $D$, with $\alpha$, with $S_k$, with the
# block size, with the dtype? $2^{1/16}$ is $1.0443$, so it may be an exponent that is off by a sixteenth, in powers
# of two; if the factor depends on $S_k$, it may be $(S_k + \text{something})/S_k$: for $S_k = 113$ and five padded
# keys, $118/113 = 1.0442$, too. Within a measurement's accuracy both explanations fit. The next input decides between
# them.
#
# </details>

# %% [markdown]
# **3.** Your suite kills all twelve mutants with four trials. Is it a good suite? Name a fault of this lesson that
# none of its trials can detect.
#
# <details><summary>Answer</summary>
#
# It is good against these twelve. All its trials use fp32 and one head and are run once, and they test only backward
# kernels. So they do not detect an accumulator in half precision (patient 8), an LSE in base 2 from a forward kernel
# (6), a race that does not happen in this run (2), or a wrong stride between heads. The score of a suite depends on
# the mutants that were used.
#
# </details>

# %% [markdown]
# ### Journal
#
# *Two or three sentences in your own words, for yourself in a month. Which patient took you longest, and which
# question of the ward round did you skip? Which of your own tests would have detected none of the ten? Double-click
# here and write.*

# %% [markdown]
# ### What comes next
#
# Part III makes kernels fast. Each step is an opportunity for one of these faults: sums that several programs share
# (lesson 11, patients 2 and 3), powers of two (12, patient 6), masks split into two loops (12, patients 4 and 5), low
# precision (14, patient 8). Keep your suite.
#
# **Sources.** The dependency argument, the tile that every warp adds, and the bar of 5e-3: debugging notes of CUDA and
# Triton backward kernels, retold and tested here. Mutation testing: R. DeMillo, R. Lipton, F. Sayward, *Hints on test
# data selection*, IEEE Computer 11(4), 1978. Debugging by bisection and by minimal differences between inputs: A. Zeller,
# *Why Programs Fail*, 2nd edition, 2009. Tolerances relative to plain torch: the tests of FlashAttention
# (`tests/test_flash_attn.py`). LSE in base 2 in fast kernels: Triton's tutorial 06. Algorithm 2 with its atomic
# additions to $dQ$: T. Dao, *FlashAttention-2*, arXiv 2307.08691.
