# %% [markdown]
# # The clinic
#
# Kernels that crash are easy. The ones of this lesson run, return tensors of the right shape, and pass the tests
# that came with them. Ten patients are waiting, each sick in one place, each with the complaint of the person who
# brought it in. You examine, reason, and mend one line. At the end a test suite is put on trial: yours.
#
# **Afterwards you can**
#
# - go from a complaint to a line of code by measuring and crossing out, not by staring;
# - use the error map, watch the tiles of one program from inside, and compare them with a twin in torch line by
#   line;
# - use the dependency argument ("dQ is right, so dS, P, dP and delta are right"), and say when it fails;
# - name ten diseases of attention kernels, and for each the test that does not see it;
# - write tests for what they can show, and not for how many there are.
#
# **You need** lessons 03 to 08: the formulas of both passes, and what each line of a kernel is for. Two proofs use
# sympy's matrix symbols and sums, which lesson 01 introduces.
#
# **It takes** four to five hours, in several sittings: sections 1 to 3 are one, the patients two or three more, the
# trial the last. A patient takes 10 to 25 minutes, and they can be treated in any order.

# %%
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
# Three questions about what came before. Run the cell to read them, put a letter behind each number, and run it
# again. A wrong choice is told what it overlooks, and costs nothing.

# %% tags=["recall"]
### BEGIN SOLUTION
# STUB: answers = {1: "", 2: "", 3: ""}
answers = {1: "b", 2: "c", 3: "c"}
### END SOLUTION
flashlearn.recall("10", answers)

# %% [markdown]
# ## 1 · The ward round
#
# Four questions, in this order. Each is cheap, and each halves what is left.
#
# 1. **Which outputs are wrong, and which are right?** A right output acquits everything that it was made of.
# 2. **Where are they wrong?** Everywhere, in the last block, in one program's rows, above the diagonal? By a constant
#    factor?
# 3. **When are they right?** Find an input on which the fault does not show. What the two inputs differ in is what
#    the sick line depends on.
# 4. **Which line is the first whose value differs** from the same line written in torch?
#
# Reading the source comes *after* these. Whoever begins with reading finds what they expect to find.
#
# All patients are small: one head, contiguous $[S, D]$ matrices, blocks of $16 \times 16$, $D$ a power of two. Names
# are those of the earlier lessons. The instruments run kernels in the observed interpreter, with a GPU as without.
#
# ## 2 · Patient zero, together
#
# A backward kernel in one pass: a program owns 16 keys and scans the queries; what a tile has to say about $dQ$ it
# adds atomically. The complaint: "dQ and dK are nonsense. The loss goes down for a while, then it does not."


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
# You may have seen it already. Pretend that you have not; the next patients are less obvious.
#
# **Questions 1 and 2.** `instruments.inputs` draws inputs, `instruments.errors` compares every output with the fp64 reference. And
# the report of a check has a map for every output: one square for one element, and lines between the programs that
# stored them. (The report itself would name the line, and spoil the examination. Read it at the end of this section.)


# %% tags=["nbval-check-output"]
def examine(name, function, given, bar=1e-4):
    """Which outputs are right, and how far off the others are."""
    for output, error in instruments.errors(name, function, given).items():
        print(f"{output:4}", "right" if error <= bar else f"off by up to {error:.2g}")


examine("clinic_1", patient_zero, instruments.inputs("clinic_1", S_q=40, S_k=56))

# %%
report = flashlearn.check("clinic_1", patient_zero, demo=True)
report.show("dk", case="S 40 × 56, D 16")

# %% [markdown]
# Wrong everywhere, in each program alike, so it is no edge, no mask and no race. And $dV$ is right.
#
# **The dependency argument.** $dV = P^\top dO$ is made of $P$, and $P$ of $S$ and LSE. All of these lines ran, and their
# product is right: cross them out. Both wrong outputs are made of $dS$. So, if exactly one line is sick, it is $dS$ or
# something that $dS$ alone needs:

# %%
left = instruments.suspects(right={"dv"}, wrong={"dq", "dk"})
print("suspect:", ", ".join(left))
pictures.dependencies(right={"dv"}, suspects=left)

# %% [markdown]
# Three lines of thirty. **Question 4** picks one of them. `instruments.watch` runs the kernel and looks at one program from
# inside: for each round of its loop, what every tile held, under the kernel's own name. `instruments.twin` computes the
# same quantities in torch, and `.tile(i, j)` cuts out the block of queries $i$ and of keys $j$. Program (1, 0, 0) in
# round 2 is at tile (2, 1).
#
# **Predict** which of the lines for $S$, $P$, $dP$ and $dS$ agree.

# %% tags=["nbval-check-output"]
given = instruments.inputs("clinic_1", S_q=40, S_k=56)
seen = instruments.watch(patient_zero, given, program=(1,))
print(len(seen), "rounds; names:", ", ".join(name for name in seen[2] if seen[2][name].ndim == 2))

instruments.line_by_line(seen[2], instruments.twin(given).tile(2, 1))

# %% [markdown]
# The first line that differs is the sick one: what comes after it only inherits. Here it is `dp`. Next come `p` and
# `ds` of both sides as pictures, and then the small example of the course, whose $dP$ you know by now: its row 0 is
# $(1, -2, 0)$.

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
# - $P$ agrees to the last digit, $dP$ in no entry. Row 0 in the kernel is $(1, -1, 0)$, which is
#   $dO_0 K^\top$ with $dO_0 = (1, -1)$: the kernel multiplies with K where V belongs. `dp = tl.dot(do, tl.trans(v), …)`.
# - The complaint spoke of $dQ$ and $dK$, the fault is in neither of their lines. Complaints name where it hurts.
# - We have read one line of source, and it was the right one. The check finds it, too: put `report` into a cell of its
#   own. For the patients below, the check keeps the line to itself as long as you have mended nothing.
#
# </details>
#
# ## 3 · How far the argument carries
#
# > **The claim.** "dQ is right, so dS, P, dP and delta are right. Look at what is left."
# >
# > It is a good argument, and it rests on two assumptions that are seldom said aloud.
#
# **First: that there is one $dS$.** In a one-pass kernel there is. With two kernels, one for $dQ$ and one for $dK$ and
# $dV$, each rebuilds $P$ and $dS$ from $Q$, $K$, LSE and delta *by itself*. A right $dQ$ acquits the lines of the kernel
# that computed it, and says nothing about the same lines of the other. What it does acquit is what both read: LSE
# and delta in memory.
#
# Here are two such kernels on the same inputs: the one of lesson 07 for $dQ$, and for $dK$ and $dV$ one that you will
# meet below.

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
# "dQ is right, so P is right, so dV = Pᵀ dO can only be wrong in that one product." The conclusion is false: the product
# is in perfect health, and the second kernel's $P$ is not.
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
# Does such a $Z$ exist? Each row of $Z$ has to be orthogonal to the $D$ columns of $K$. A row has $S_k$ numbers, so there
# is one whenever $S_k > D$, that is, nearly always: with 4096 keys and $D = 64$, each row of $dS$ may be wrong in 4032
# independent directions (at least), and $dQ$ stays right. In the small example $S_k - D = 1$, and sympy finds the one
# direction. (This cell is about the **small example** only.)

# %% tags=["nbval-check-output"]
exact = example.symbolic()
hidden = exact.K.T.nullspace()[0].T  # one row: orthogonal to both columns of K
Z = sp.Matrix([1, -2, 0, 1]) * hidden  # the same direction in each query's row, with any factors

dq_change = exact.alpha * Z * exact.K
assert dq_change == sp.zeros(4, 2)
print("direction", list(hidden), "  dQ changes by", dq_change.tolist())
print("dK changes by", (exact.alpha * Z.T * exact.Q).tolist())

# %% [markdown]
# The direction need not be exotic. If the keys of a head sum to zero, as after a normalisation over the sequence, then
# any number may be added to a whole row of $dS$: $Z = c\,\mathbf 1^\top$ has $ZK = c \sum_j K_j = 0$. **Predict** which
# gradients notice.

# %% tags=["nbval-check-output"]
given = instruments.inputs("clinic_1", S_q=40, S_k=56)
q64, k64 = given["q"].double(), given["k"].double()
k64 = k64 - k64.mean(dim=0)
dS = torch.randn(40, 56, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
wrong_dS = dS + 5.0

for name, right, wrong in (("dQ", dS @ k64, wrong_dS @ k64), ("dK", dS.T @ q64, wrong_dS.T @ q64)):
    print(name, "notices" if (right - wrong).abs().max() > 1e-9 else "does not notice")

# %% [markdown]
# > **The verdict.** Half right. A right $dQ$ makes a right $dS$ *likely*: random faults do not fall into the null space of
# > $K$. It proves nothing about another kernel's $dS$. Use the argument to decide where to look first, and then look.
#
# ## 4 · The patients
#
# Each has its own cell, with a line at the top that says `tl.static_assert(False, "TODO …")`. Take that line out when
# you begin. Then mend the sick line, and leave the rest alone: the check runs the kernel *and* compares its source
# with what was brought in. Four lines may differ, comments and blank lines do not count.
#
# `instruments.patient("clinic_1")` is the sick kernel itself, to be examined before you touch anything; `instruments.watch`,
# `instruments.line_by_line` and `instruments.show` work on it as above. Before each patient you see the test that it came with,
# which passed.

# %% [markdown]
# ### Patient 1 · warm-up
#
# *"I ported the backward pass from a paper, in one pass. dQ and dV agree with autograd. dK does not. My unit test on a
# small case is green, so I do not understand it."*
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
# Use the dependency argument. (One pass: here it holds.)

# %% exercise="clinic_1"
# HINT: It is a one-pass kernel: dQ, dK and dV come from the same `p` and the same `ds`. dQ and dV are right.
#     Cross out every line that they depend on.
# HINT: Two lines are left, the one that adds to `dk` and the one that stores it. Divide the wrong dK by the
#     right one: which number is it, in every element?
# HINT: $dK = \alpha\, dS^\top Q$, and $dQ = \alpha\, dS\, K$ has its alpha. One factor is missing, and the
#     last line that touches dk is the place for it.
# INCLUDE: flashlearn/lessons/lesson_10_clinic/backward_patients.py:clinic_1_kernel


# INCLUDE: flashlearn/lessons/lesson_10_clinic/backward_patients.py:clinic_1

# %%
flashlearn.check("clinic_1", clinic_1)

# %%
# flashlearn.hint("clinic_1")

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - `instruments.suspects(right={"dq", "dv"}, wrong={"dk"})` leaves `dk` alone. The ratio of wrong to right is 4 in every
#   element, and $1/\alpha = \sqrt{16} = 4$. That is the whole diagnosis: which output, and by which factor.
# - With $\alpha = 1$ no mistake with the scale is visible: not a scale that is missing, not one that is applied twice,
#   not one in the wrong place. There is no worse value to test with. $1/\sqrt D$ alone is not enough either: it does not
#   show a kernel that computes $1/\sqrt D$ itself and ignores its argument.
# - Putting $\alpha$ into $dS$ "mends" $dK$ and breaks $dQ$, which had its own. Look at *all* outputs after a cure.
#
# </details>

# %% [markdown]
# ### Patient 2 · core
#
# *"dK changes from run to run, in the third digit, sometimes more. dV never does. On my laptop, in Triton's
# interpreter, everything is right."*
#
# To use more of the GPU, two programs share a block of keys, and each scans half of the queries. The test in the
# interpreter:

# %% tags=["nbval-check-output"]
examine("clinic_2", instruments.patient("clinic_2"), instruments.inputs("clinic_2", S_q=40, S_k=56))

# %% [markdown]
# The interpreter runs one program after another, so nobody can come in between. On a GPU somebody can. Take one element
# of dK that holds 0, program (j, 0, 0) that has 3 to add, and program (j, 1, 0) that has 5. In which order of loads and
# stores is the sum not 8? (Lesson 08 played one such order out.) The check does not wait for bad luck: it knows which
# program has touched which address, and says when two of them are not ordered.

# %% exercise="clinic_2"
# HINT: A result that changes from run to run depends on who comes first. Who else writes the memory that this
#     program writes?
# HINT: Programs (j, 0) and (j, 1) own the same block of keys. Both add their half to dK and to dV. Compare
#     how the two outputs are added to.
# HINT: Load, add and store are three steps, and another program may come in between. `tl.atomic_add` is one
#     step, and dV uses it already. It takes the share, not the sum.
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
# - "Changes from run to run" is a diagnosis of its own: arithmetic does not do that, only order does. Ask who else
#   writes there.
# - After the cure the last bits may still change from run to run, since $a + b + c$ depends on the order in floating
#   point. That is the price of atomics (lesson 11 pays it back). A share that is *lost* is no rounding.
# - An element that belongs to one program needs no atomic. Where two programs share a tile, *every* output of that tile
#   needs one.
#
# </details>

# %% [markdown]
# ### Patient 3 · core
#
# *"dK and dV point in the right direction: their cosine with autograd's is 1.0000, that is what our regression test
# looks at. But training needs a four times smaller learning rate than it used to."*
#
# This kernel shares a block of keys among four programs. It does use atomics.


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
# Dividing the results would hide it. The check counts products, too: together the programs of a block do the work of one.

# %% exercise="clinic_3"
# HINT: All elements, every time, the same factor: nothing is lost and nothing is random. What is there four
#     times?
# HINT: Four programs share each block of keys. Watch `rows` in programs (0, 0) and (0, 1): do they scan
#     different queries?
# HINT: Part p takes the tiles p, p + PARTS, p + 2·PARTS, … A `range` can do that by its start and its step,
#     both counted in queries.
# INCLUDE: flashlearn/lessons/lesson_10_clinic/backward_patients.py:clinic_3_kernel


# INCLUDE: flashlearn/lessons/lesson_10_clinic/backward_patients.py:clinic_3

# %%
flashlearn.check("clinic_3", clinic_3)

# %%
# flashlearn.hint("clinic_3")

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - Patients 2 and 3 have the same build and opposite diseases. There, shares were lost, at random; here, everything is
#   counted four times, always. Atomics make sums safe, they do not say what is to be summed.
# - A constant factor that is a small integer is a number of something: programs, warps, heads, passes. It is an
#   old bug of CUDA kernels as well, where every warp of a block adds the block's tile.
# - Dividing by 4 gives the right numbers. The check does not take it: each program would still do the work of all.
#   (`PARTS = 1` is right as well, and gives up what the four programs were there for.)
# - A cosine, a correlation, a loss that goes down: none of them sees a factor, so none of them sees this disease.
#
# </details>

# %% [markdown]
# ### Patient 4 · core
#
# *"Wrong gradients for some batches. It took me a week to see that it is the length: 48 is fine, 64 is fine, 49 is
# not."*
#
# Instead of masking its loads, this kernel lets row numbers stop at the last query, so that every load is legal.
# No memory is read that should not be.

# %% tags=["nbval-check-output"]
for length in (48, 49, 56):
    print("S_q =", length)
    examine("clinic_4", instruments.patient("clinic_4"), instruments.inputs("clinic_4", S_q=length, S_k=56))

# %% [markdown]
# Lesson 08 asked when padded queries leak. Look at the rows of `p` that no query belongs to; the small example has four
# queries in a tile of 16, so there are plenty. **Predict** what stands in them.

# %% tags=["nbval-check-output"]
seen = instruments.watch(instruments.patient("clinic_4"), instruments.example())
print(seen[0]["p"][:7, :4].numpy().round(3))
instruments.line_by_line(seen[0], instruments.twin(instruments.example()).tile(0, 0))

# %% exercise="clinic_4"
# HINT: Only ragged lengths fail, and all keys are wrong, not only the last ones. So it is not the keys' edge.
# HINT: Row numbers beyond the last query are replaced by the last query's. Nothing is read out of bounds, but
#     what do those rows add to `dv` and `dk`?
# HINT: Their P must be 0, and it is their row that says so, not their column: `tl.where` with a condition on
#     `rows`, brought to the shape of the tile.
# INCLUDE: flashlearn/lessons/lesson_10_clinic/backward_patients.py:clinic_4_kernel


# INCLUDE: flashlearn/lessons/lesson_10_clinic/backward_patients.py:clinic_4

# %%
flashlearn.check("clinic_4", clinic_4)

# %%
# flashlearn.hint("clinic_4")

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - Line by line the patient agrees with the twin: a twin has no padding. Comparing what exists cannot find what
#   should not exist. When all lines agree and the sum is wrong, look at the lanes that you did not compare.
# - With loads masked to zero the padded rows of $P$ would be harmless for $dV$, since $dO$ is zero there (lesson 08).
#   Here $dO$ is the last query's, once more for each missing row. A rule like "P of 1 leaks" depends on the filler.
# - The sum tells to which axis a mask belongs: $dV$ and $dK$ sum over *queries*, so the query must exist. The columns
#   of keys that do not exist end in rows that are never stored.
# - Lengths of 16, 32, 64, 128 are what one types without thinking. They are all multiples of a block.
#
# </details>

# %% [markdown]
# ### Patient 5 · core
#
# *"Our causal attention underestimates early tokens. Generation, token by token, is perfect."*
#
# A test of generation has one query that sees all keys, and a cache of 64 of them:

# %% tags=["nbval-check-output"]
for S_q_, S_k_ in ((1, 64), (64, 64)):
    print(f"S_q = {S_q_}, S_k = {S_k_}")
    examine("clinic_5", instruments.patient("clinic_5"), instruments.inputs("clinic_5", S_q=S_q_, S_k=S_k_))

# %% [markdown]
# Where is it wrong, and by how much? Wrong over right, for a few queries, three components each:

# %% tags=["nbval-check-output"]
given = instruments.inputs("clinic_5", S_q=64, S_k=64)
with flashlearn.observing():
    o, lse = instruments.patient("clinic_5")(*given.values())
right_o, right_lse = reference.attention_forward(*given.values(), causal=True)

for i in (0, 1, 10, 62, 63):
    ratio = (o / right_o)[i, :3].numpy().round(3)
    print(f"query {i:2}   O: {ratio}   exp(LSE): {float((lse - right_lse)[i].exp()):.3f}")

# %% [markdown]
# One factor per query, the same for all components, and $e^{\mathrm{LSE}}$ is off by exactly its inverse. What is one
# number per query, divides $O$, and is in LSE?

# %% exercise="clinic_5"
# HINT: Divide the wrong O by the right one: one factor per query, the same for all its components. Which of
#     the running quantities is one number per query?
# HINT: O = acc / l. A factor below 1 means that l is too large: something is counted in it that acc does not
#     hold. Read the order of the lines.
# HINT: Both lines are right, and they stand in the wrong order: what is hidden must be gone before anything
#     is summed.
# INCLUDE: flashlearn/lessons/lesson_10_clinic/forward_patients.py:clinic_5_kernel


# INCLUDE: flashlearn/lessons/lesson_10_clinic/forward_patients.py:clinic_5

# %%
flashlearn.check("clinic_5", clinic_5)

# %%
# flashlearn.hint("clinic_5")

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - $l$ was the sum over all keys, $acc$ that over the visible ones. $O$ was the right answer times the share of the
#   softmax that falls on visible keys.
# - In the cure, the *maximum* is still taken over hidden keys. In exact arithmetic that is harmless: any number may be
#   subtracted, as the next cell shows for **every** set of visible keys. The hidden keys may raise $m$, and $m$ cancels.
# - In floating point it has a limit, and the cell after the next finds it. Masking $s$ itself, before the maximum, has
#   no such limit, and needs a guard for rows that see nothing (lesson 06).
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
# Now with rounding. Let the largest hidden score lie so and so far above the largest visible one. Every visible $p$ is
# smaller by $e^{-\text{gap}}$ then, and in half precision $P$ is rounded before it meets $V$. **Predict** from which gap
# on $O$ loses digits, in fp32, bf16 and fp16.

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
# In fp16 the first digits go at a gap of some 10; from 12 on the error is a hundred times what rounding costs
# otherwise, and beyond 16 hardly anything is left of $P$. bf16 and fp32 hold out until their exponents end, near 90. At
# 110 every visible exponential is 0 even in fp32. Without a guard $O$ would be 0/0; this kernel divides by 1 where $l$ is
# 0, so $O$ is 0 and LSE is $-\infty$: a query that sees a great deal is treated as one that sees nothing.

# %% [markdown]
# ### Patient 6 · core
#
# *"The forward kernel is the fast one, in powers of two, and agrees with SDPA to the last digit. The backward kernel
# passes its own tests. Together they produce garbage."*

# %% tags=["nbval-check-output"]
given = instruments.inputs("clinic_6", S_q=40, S_k=56)
examine("clinic_6", instruments.patient("clinic_6"), given)

# %% [markdown]
# SDPA does not return LSE, so their test compared $O$ alone. What the backward kernel makes of it: it rebuilds
# $P = e^{S - \mathrm{LSE}}$, and the rows of $P$ should sum to 1.

# %% tags=["nbval-check-output"]
with flashlearn.observing():
    _, lse = instruments.patient("clinic_6")(*given.values())
right_lse = reference.attention_forward(*given.values())[1]
S = reference.attention_scores(given["q"], given["k"], given["alpha"])
print("rows of P sum to", (S - lse[:, None]).exp().sum(dim=1)[:5].numpy().round(3))
print("LSE over the right LSE", (lse / right_lse)[:5].numpy().round(4))

# %% exercise="clinic_6"
# HINT: O is right, so s, p, l and acc are consistent with each other. LSE is one line. By which factor is it
#     wrong?
# HINT: The factor is 1.4427 = log2 e. This kernel counts in powers of two: its `m_i` is a maximum of $s
#     \log_2 e$, and its logarithm has base 2.
# HINT: The sum $m + \log_2 l$ is right, in base 2. Convert it once, as a whole, where LSE is stored: is it a
#     product or a quotient that brings a smaller number?
# INCLUDE: flashlearn/lessons/lesson_10_clinic/forward_patients.py:clinic_6_kernel


# INCLUDE: flashlearn/lessons/lesson_10_clinic/forward_patients.py:clinic_6

# %%
flashlearn.check("clinic_6", clinic_6)

# %%
# flashlearn.hint("clinic_6")

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - Two healthy kernels, and a disease between them: one writes in powers of two, the other reads in powers of $e$.
#   Neither convention is wrong. What was missing is one sentence that says which one is stored, and a test that
#   checks the thing that is handed over.
# - "The rows of $P$ sum to 1" is a test without a reference, and takes one line. It finds this, and patient 5.
# - Constants to know by sight: $1.4427 = \log_2 e$, $0.6931 = \ln 2$, $2.0814 = (\log_2 e)^2$.
#
# </details>

# %% [markdown]
# ### Patient 7 · core
#
# *"All tests pass, with the tolerance that everybody uses. The model trains worse than with SDPA, and I have no idea
# why."*
#
# > **The claim.** "The largest difference is below 5e-3, so the kernel is right."
# >
# > **The experiment.** Their test: 128 queries and keys, $D = 64$, values uniform in $[-\frac12, \frac12]$. The bar is
# > 0.005. **Predict** how large $dQ$ itself is.


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
# > **The verdict.** A bar without a unit says nothing. 0.005 is more than half of the largest entry of this $dQ$, and
# > several times the error of a kernel that lacks a whole term. Compare with the size of the right answer, or, as this
# > course does, with what plain torch achieves at the same precision.
#
# So $dQ$ is wrong. Line by line, then:

# %% tags=["nbval-check-output"]
seen = instruments.watch(instruments.patient("clinic_7"), given, program=(2,))
instruments.line_by_line(seen[3], instruments.twin(given).tile(2, 3))

# %% exercise="clinic_7"
# HINT: Its test passes because of its tolerance: 5e-3 against a dQ that is hardly larger. Compare with the
#     size of dQ instead, and then line by line with the twin.
# HINT: s, p and dp agree with the twin, ds does not. A row of dS sums to zero: does it here? And which loaded
#     value is never used?
# HINT: $dS = P \circ (dP - \delta)$: one number per row is subtracted from the tile `dp`, before p is
#     multiplied on.
# INCLUDE: flashlearn/lessons/lesson_10_clinic/backward_patients.py:clinic_7_kernel


# INCLUDE: flashlearn/lessons/lesson_10_clinic/backward_patients.py:clinic_7

# %%
flashlearn.check("clinic_7", clinic_7)

# %%
# flashlearn.hint("clinic_7")

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - `delta_i` was loaded and never used. A linter that warns of unused names would have found this patient in no time;
#   so would reading for *what is there and does nothing*.
# - The error of a forgotten delta is $\alpha\,\delta_i \sum_j P_{ij} K_j$: delta times the mean of the keys. With small
#   random values both are small. It is not the softmax's structure that hides the fault, only the test's data.
# - Property tests that need no reference: rows of $dS$ sum to zero; all values equal ($V_j = c$) gives $dQ = 0$.
#
# </details>

# %% [markdown]
# ### Patient 8 · core
#
# *"In fp32 it is perfect. In fp16 it was perfect too, for a year, until a colleague's model came along. Now: inf."*

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
# HINT: O itself is about 10⁴ and fits into fp16, whose largest number is 65504. Something on the way to it
#     does not fit.
# HINT: Before the division acc is about l · V, up to S_k times as large as O. Which dtype does acc have, and
#     which line decides it?
# HINT: The line that creates `acc` takes its dtype from V. A sum is carried in fp32, whatever is summed.
# INCLUDE: flashlearn/lessons/lesson_10_clinic/forward_patients.py:clinic_8_kernel


# INCLUDE: flashlearn/lessons/lesson_10_clinic/forward_patients.py:clinic_8

# %%
flashlearn.check("clinic_8", clinic_8)

# %%
# flashlearn.hint("clinic_8")

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - The result fits, the way to it does not. $acc$ is $O$ times $l$, and $l$ grows with the number of keys that matter.
#   Long context and flat scores are the worst case; a short test with sharp scores sees nothing.
# - bf16 would not overflow, having fp32's range, and would be wrong in the third digit instead. An accumulator needs
#   both, range and precision: fp32.
# - With values near 1 the sick kernel passes even the check's noise bound here: with four tiles, rounding $acc$ four
#   times is hardly more than rounding $O$ once. Few tiles hide coarse accumulators. Data must be chosen for the fault.
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
# Another test that does not see it, with any number of tiles. **Predict** why it passes:

# %% tags=["nbval-check-output"]
given = instruments.inputs("clinic_9", S_q=40, S_k=56)
examine("clinic_9", instruments.patient("clinic_9"), {**given, "q": torch.zeros_like(given["q"])})

# %% exercise="clinic_9"
# HINT: LSE is right. Cross out everything that it depends on.
# HINT: l is right, so `rescale` is. O = acc / l is wrong, so acc is. Compare the lines that update the two
#     sums.
# HINT: When the maximum moves, what has been summed so far changes its unit. `l_i` is multiplied by a factor
#     there; `acc` has a row for each number of that factor.
# INCLUDE: flashlearn/lessons/lesson_10_clinic/forward_patients.py:clinic_9_kernel


# INCLUDE: flashlearn/lessons/lesson_10_clinic/forward_patients.py:clinic_9

# %%
flashlearn.check("clinic_9", clinic_9)

# %%
# flashlearn.hint("clinic_9")

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - LSE $= m + \log l$ is right, which acquits `s`, `m_new`, `rescale`, `p` and `l_i`. $O = acc / l$ is left with `acc`.
#   The dependency argument works forward as well.
# - With $Q = 0$ all scores are 0, the maximum is 0 in every tile, and `rescale` is 1. Whatever keeps the maximum where
#   it is hides this fault: one tile, equal scores, the largest key first.
# - `l_i` and `acc` are two sums over the same keys in the same unit. They are rescaled together or not at all: write
#   the two lines under each other and compare.
#
# </details>

# %% [markdown]
# ### Patient 10 · core
#
# *"Self-attention works. With the encoder's keys it sometimes crashes, and sometimes it does not and is wrong."*

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
# Read the message of the check as a measurement: which tensor, which index, which bound. How long does the kernel
# believe this tensor to be?

# %% exercise="clinic_10"
# HINT: It depends on nothing but whether S_q and S_k differ. Which lines use S_q, and which use S_k?
# HINT: Inside the kernel every line uses the right one. So the kernel is told something else than it thinks.
#     Arguments go by position.
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
# - The kernel is healthy. Every line of it is right, and it was told a wrong story: arguments go by position.
# - $S_q > S_k$ with full blocks is the dangerous half: nothing crashes, and for 80 queries and 48 keys the last 32
#   queries are silently missing. On a GPU, reading a little beyond a tensor often does not crash either.
# - Square tests cannot tell rows from columns, $S_q$ from $S_k$, $A$ from $A^\top$, top-left from bottom-right. If you
#   change one thing in your tests after this course, let it be this one.
#
# </details>

# %% [markdown]
# ## 5 · What hid them
#
# | | disease | what shows it | what hid it |
# |---|---|---|---|
# | 1 | scale missing in $dK$ | any $\alpha \ne 1$ | $\alpha = 1$ |
# | 2 | load, add, store by two programs | a race detector; many runs on a GPU | programs that run one after another |
# | 3 | the same tile added four times | absolute size | a cosine |
# | 4 | padded queries repeat the last | a length that is no multiple of the block | 16, 32, 64, 128 |
# | 5 | mask after the sum | a query that sees few keys | a query that sees all |
# | 6 | LSE in base 2 | comparing LSE, or rows of $P$ | comparing $O$ alone |
# | 7 | delta forgotten | error relative to the answer | an absolute bar, small values |
# | 8 | accumulator in fp16 | large values, flat scores, many keys | values near 1 |
# | 9 | acc not rescaled | several tiles, a maximum that moves | one tile, or equal scores |
# | 10 | $S_q$ and $S_k$ swapped | $S_q \ne S_k$ | square matrices |
#
# None of the tests in the last column is foolish. Each is what one writes first. In all of them the data satisfies an
# assumption that the code makes, too.
#
# ## 6 · Tests on trial
#
# Now the other way round. Before the court stand fifteen backward kernels, all with the signature of patient 1 (and a causal
# mask): twelve *mutants*, each right on most inputs, and three right kernels that merely round differently. You write
# the inputs. A `Trial(q, k, v, do, alpha, causal)` is one test: its tensors are fp32 matrices of any strides,
# $[S_q, D]$ and $[S_k, D]$; the court computes $O$, LSE and the true gradients, runs a kernel, and kills it if a
# gradient is off by more than 1 % of its largest entry, is not finite, or if the kernel leaves its tensors.
#
# `draw(S_q, S_k, D, alpha, causal)` makes a trial of normally distributed numbers, and `trial._replace(k=…)` changes
# one part of it. Here is what four trials do to the fifteen.


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
# - The second test kills nobody whom the first had spared: twice the tests, the same two dead. The third differs from
#   the first in one number, and kills one more. What counts is not the number of tests, but the number of *different
#   assumptions* that they break.
# - The last one kills eleven of the twelve, and all three innocents. Scores of some millions have rounding errors of
#   a half and more in fp32: no kernel can be right. A test that right code fails gets switched off, and then it protects
#   nobody.
#
# </details>
#
# ### Exercise: `tests_on_trial` · stretch
#
# Return a list of at most eight trials, S and D at most 64, that together kill all twelve mutants and spare the three
# right kernels. `q, k, v, do, alpha` are those of the first row above; keep that trial or not. The report has a case
# for each kernel, and says of a survivor what it is wrong about.
#
# How few trials can you do with?


# %% exercise="tests_on_trial"
# HINT: A mutant survives if every trial satisfies what it takes for granted. List what the first trial takes
#     for granted: S_q = S_k, both multiples of 16, D = 16, alpha = 1/√D, no mask, contiguous, values near 1.
# HINT: One trial can break several assumptions: odd lengths, an odd D, an unusual alpha, `causal=True`, and a
#     transposed copy for k (`k.T.contiguous().T`). Take S_q > S_k in one trial and S_q < S_k in another.
#     Large values need trials of their own: they must not drown the rest, nor ask for more digits than fp32
#     has.
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
# When it passes, look at who died of what:
# `kill_matrix({str(i): t for i, t in enumerate(tests_on_trial(*first[:5]))})`.
#
# <details><summary><b>What to notice</b></summary>
#
# - One trial can break many assumptions at once, and that is good for *finding* that something is wrong: odd lengths,
#   an odd $D$, an odd $\alpha$ and an odd layout do not get in each other's way. For finding *what* is wrong you want
#   trials that differ in one thing. A suite is for the first, an examination for the second.
# - Large values have to be kept apart: next to a $dO$ of $10^6$ no one notices an error of 1. And they have to be
#   fair: large enough for the careless kernel, small enough for the careful one.
# - Four trials are enough. This course's own cases for attention (lesson 06) break the same assumptions, and its named
#   mistakes are mutants that must be killed: that is how we know that the checks check something.
#
# </details>

# %% [markdown]
# ## 7 · What you have now
#
# | instrument | answers | does not see |
# |---|---|---|
# | right and wrong outputs, suspects | which lines can still be sick | a second kernel's lines; $Z$ with $ZK = 0$ |
# | error map | edges, programs, diagonals, constant factors | which line it is |
# | an input without the symptom | what the sick line depends on | |
# | watch and line by line | the first line that differs | lanes that the twin does not have |
# | properties (rows of $P$, of $dS$) | faults without any reference | faults that keep the property |
# | mutants | whether a suite sees anything | mutants that nobody thought of |
#
# ### Questions to yourself
#
# Answer before you unfold.
#
# **1.** In a two-kernel backward pass $dQ$ is right, and $dK$ and $dV$ are both wrong. Somebody crosses out $P$, "because
# $dQ$ is right". What would you say, and what is the cheapest next measurement?
#
# <details><summary>Answer</summary>
#
# $dQ$ comes from another kernel, with a $P$ of its own. What is acquitted is what both read: $Q$, $K$, $V$, $dO$, LSE and
# delta in memory. In the second kernel $dV$ is wrong, and it needs only $P$ and $dO$: so `s`, `p` or a load of
# theirs, or the lines that both sums share (bounds, masks). Watch `p`.
#
# </details>

# %% [markdown]
# **2.** A gradient is wrong by a factor of $1.0442$, for all elements and all inputs. With $D = 64$ and $\alpha$ right, which
# measurements would you make before reading any code?
#
# <details><summary>Answer</summary>
#
# Which outputs have it (one, or all that contain $dS$)? Does it change with $D$, with $\alpha$, with $S_k$, with the block
# size, with the dtype? $1.0442$ is $2^{1/16}$, so look for something that is raised to a sixteenth, or counted in
# powers of two; if it depends on $S_k$, it may be $(S_k + \text{something})/S_k$: for $S_k = 113$ and five padded keys,
# $118/113 = 1.0442$, too. Two numbers that fit are two hypotheses. The next input decides between them.
#
# </details>

# %% [markdown]
# **3.** Your suite kills all twelve mutants with four trials. Is it a good suite? Name a fault of this lesson that none of
# its trials can see.
#
# <details><summary>Answer</summary>
#
# It is good against these twelve. All its trials are in fp32 with one head, and are run once: it sees no accumulator in
# half precision (patient 8), no LSE that only another kernel reads (6), no race that did not happen (2), no wrong
# stride between heads. A suite is measured by the mutants that it was measured with.
#
# </details>

# %% [markdown]
# ### Journal
#
# *Two or three sentences in your own words, for yourself in a month. Which patient took you longest, and which question
# of the ward round did you skip? Which of your own tests would have passed all ten? Double-click here and write.*

# %% [markdown]
# ### What comes next
#
# Part III makes kernels fast. Each step is a chance to catch one of these diseases: sums that several programs share
# (lesson 11, patients 2 and 3), powers of two (12, patient 6), masks split into two loops (12, patients 4 and 5), low
# precision (14, patient 8). Keep your suite.
#
# **Sources.** The dependency argument, the tile that every warp adds, and the bar of 5e-3: debugging notes of CUDA and
# Triton backward kernels, retold and tested here. Mutation testing: R. DeMillo, R. Lipton, F. Sayward, *Hints on test
# data selection*, IEEE Computer 11(4), 1978. Debugging by bisection and by minimal differences between inputs: A. Zeller,
# *Why Programs Fail*, 2nd edition, 2009. Tolerances relative to plain torch: the tests of FlashAttention
# (`tests/test_flash_attn.py`). LSE in base 2 in fast kernels: Triton's tutorial 06. Algorithm 2 with its atomic
# additions to $dQ$: T. Dao, *FlashAttention-2*, arXiv 2307.08691.
