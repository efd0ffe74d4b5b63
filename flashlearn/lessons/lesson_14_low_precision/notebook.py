# %% [markdown]
# # Low precision
#
# A Hopper GPU multiplies numbers of eight bits twice as fast as numbers of sixteen (NVIDIA's H100 data sheet). Eight
# bits are not many: from 256 to 448 there are only seven numbers in e4m3. This lesson nevertheless computes attention
# with them, and shows at each step what is lost, how much, and what recovers it.
#
# **Afterwards you can**
#
# - read e4m3 and e5m2 bit by bit, and say what rounding, saturation and subnormal numbers cost;
# - give every block of a matrix its own scale, and say when that helps a floating-point format and when it does not;
# - derive a rotation that leaves $QK^\top$ unchanged and spreads outliers, and write it as a kernel without loading a
#   matrix;
# - say why V must be stored with its keys side by side, and in which order, so that P may stay where it is;
# - write a forward pass whose two products both take e4m3, say which step causes which part of its error, and remove
#   a part of it that no scale and no rotation reaches;
# - say what eight bits do to a gradient.
#
# **You need** lesson 12's forward pass, lesson 04's accumulators that change their unit, and what lesson 05 says
# about memory. **No GPU is needed**: kernels run in the interpreter, with the same eight-bit rounding as the
# hardware, and are compiled for an H100.
#
# **It takes** about four hours, in three sittings: sections 1 to 4, 5 to 7, and the rest.

# %%
import math
from collections.abc import Callable

import sympy as sp
import torch
import triton
import triton.language as tl
from torch import Tensor

import flashlearn
from flashlearn import DEVICE, compiler
from flashlearn.interpreter.route import observing
from flashlearn.kernels.described import block_d, complying, described, heads_together
from flashlearn.kernels.fp8_forward import SCALED_ROWS, as_stored, fp8_shape, keys_last
from flashlearn.kernels.shapes import Shape
from flashlearn.kernels.tuned_forward import LOG2_E
from flashlearn.lessons.lesson_14_low_precision import (
    attention,
    eight_bits,
    gradients,
    joined,
    measured,
    operand_order,
    orders,
    pictures,
    study,
    timed,
)
from flashlearn.lessons.lesson_14_low_precision.eight_bits import E4M3, E5M2
from flashlearn.lessons.shared import reference
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
flashlearn.recall("14", answers)

# %% [markdown]
# ## 1 · Eight bits, one by one
#
# One bit is the sign. e4m3 has four exponent bits and three fraction bits, e5m2 five and two (Micikevicius et al.,
# *FP8 formats for deep learning*, 2022, table 1). With the stored exponent $e$, the fraction $f$ and the bias $b$,
#
# $$\text{value} = \pm\, 2^{\,e-b}\,(1 + f) \quad (e > 0), \qquad \pm\, 2^{\,1-b}\, f \quad (e = 0,\ \text{subnormal}).$$
#
# e5m2 keeps its highest exponent for infinities and NaN, as IEEE formats do. e4m3 has no infinity: at the highest
# exponent only the fraction $\tfrac{7}{8}$ is NaN, so its largest number is $2^8 \cdot 1.75$. Move the slider:

# %%
slider(pictures.bits, value=(0.002, 0.1, 1.0, 3.3, 17.0, 240.0, 448.0))

# %% [markdown]
# **Predict**, before you run the next cell: the largest number of each format, the smallest positive number of each,
# and what 300, 460 and 1000 become in e4m3.

# %% tags=["nbval-check-output"]
for of in (E4M3, E5M2):
    found = eight_bits.numbers(of)
    stored = torch.arange(128, dtype=torch.uint8).view(of.dtype).double()
    assert torch.equal(found, stored[stored.isfinite()])  # torch reads the bits as we do
    print(f"{of.name}: {len(found)} numbers from 0 on, the least {found[1]:.3g}, the largest {found[-1]:g}")

x = torch.tensor([300.0, 460.0, 1000.0])
print("e4m3, saturating:", eight_bits.to_e4m3(x).tolist())

# %%
print("torch's own cast:", x.to(E4M3.dtype).tolist(), "on the CPU, torch", torch.__version__)
if DEVICE == "cuda" and torch.cuda.get_device_capability() >= measured.FIRST_WITH_E4M3:
    print("                 ", x.to(DEVICE).to(E4M3.dtype).tolist(), "on", torch.cuda.get_device_name())

# %%
pictures.ladders()

# %%
pictures.relative_errors()

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - Within one power of two all steps are equal; at the next power they double. So the bound on the *relative* error
#   is constant, a sixteenth in e4m3 and an eighth in e5m2, and grows only where numbers are subnormal.
# - A scale should bring the numbers into that range: from $2^{-6}$ to 448 in e4m3, some 15 powers of two. A
#   floating-point format usually tolerates a scale that is ten times too large. An integer format does not: section 2
#   compares the two.
# - 460 goes to 448 by rounding: the next number of the same spacing would be 480, and the midpoint is 464. 1000 goes to
#   448 since `cvt.rn.satfinite` saturates (PTX ISA, "cvt"). torch's own cast may saturate or give NaN; the cell above
#   shows what your version does, and another may differ. Clamp first, and it does not matter: `eight_bits.to_e4m3`
#   does so.
# - e4m3 is used for operands of the forward pass, where precision matters; e5m2 for gradients, which need the range.
#   (Section 10 asks whether they still do if every block has a scale.)
#
# </details>
#
# A kernel rounds with a cast. Here is one that runs in the interpreter, or on your GPU if it has the format:


# %% tags=["nbval-check-output"]
@triton.jit
def round_kernel(x_ptr, y_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at).to(tl.float8e4nv))


x = torch.tensor([0.3, 17.0, 17.5, 19.0, 0.0009, -1000.0, 464.0, 447.0])
with observing():
    y = torch.empty(8, dtype=torch.float8_e4m3fn)
    round_kernel[(1,)](x, y, BLOCK=8)
assert torch.equal(y.float(), eight_bits.to_e4m3(x).float())
print(y.tolist())

# %% [markdown]
# ## 2 · A scale for every block
#
# The numbers of a layer rarely match the range $2^{-6} \dots 448$ by themselves. So one stores $x \approx
# \text{value} \cdot s$ with one $s$ for many numbers. The scale that uses the whole range maps the largest magnitude
# to the largest number of the format:
#
# $$s = \max_{\text{block}} |x| \, / \, 448, \qquad \text{value} = \operatorname{e4m3}(x / s).$$
#
# A scale for the whole tensor is determined by a single element of it. A scale per block of rows and columns depends
# only on the elements of that block (FlashAttention-3, section 3.3, has one for each block of rows that a tile
# takes).
#
# ### Exercise: `quantize_blocks` · core
#
# $x$ is `[M, N]` in any dtype, with any strides; $M$ and $N$ need not be multiples of the block. Return the values in
# e4m3, and the scales in fp32, one for each block of `block_m` × `block_n`. A block of zeros has the scale 1, so that
# no 0/0 arises. (Blocks whose numbers are all below $10^{-40}$, where the scale is a subnormal number of few bits, are
# not in the check.) An index times a stride may exceed $2^{31}$, so the given `rows` and `columns` have 64 bits.

# %% exercise="quantize_blocks"
# HINT: A program has its whole block. One number of it determines the scale, and that number should become
#     the largest number of e4m3. Which value may padding have, so that it never determines the scale?
# HINT: scale = largest magnitude / 448, in fp32; the values are x / scale. Two cases need attention: a
#     block of zeros, and a largest number that rounding leaves slightly above 448.
# HINT: `largest = tl.max(tl.abs(x))` of the tile loaded with `other=0.0` and cast to fp32; `scale =
#     tl.where(largest == 0.0, 1.0, largest / 448.0)`; `tl.clamp(x / scale, -448.0, 448.0)` cast to
#     `tl.float8e4nv`; one masked store, and one number at `i * tl.num_programs(1) + j`.
# INCLUDE: flashlearn/kernels/low_precision.py:quantize_blocks_kernel


# INCLUDE: flashlearn/kernels/low_precision.py:quantize_blocks

# %%
flashlearn.check("quantize_blocks", quantize_blocks)

# %%
# flashlearn.hint("quantize_blocks")

# %% [markdown]
# Break it: take the maximum without `tl.abs`; load the tile with `other=1.0`; leave out the guard for zeros.
# **Predict** which cases reveal each of them, then check.
#
# <details><summary>Answer</summary>
#
# - Without `tl.abs`: every case. Some block always has its largest magnitude below zero.
# - With `other=1.0`: where a block reaches beyond the matrix and its own numbers stay below 1. The cases have such
#   blocks wherever sizes are not multiples of the block; 32 × 32 in blocks of 32 × 32 passes.
# - Without the guard: only the two cases with "a block of zeros".
#
# </details>
#
# Now a question whose answer seems obvious. **Predict**: the last quarter of a matrix is $f$ times as large as the
# rest. By what factor is the error of the *small* part larger with one scale than with a scale per block, for $f$ =
# 30, 30,000 and 1,000,000? And for integers of eight bits?


# %%
def in_integers(x, rows):
    """x rounded to integers from −127 to 127, with a scale for every `rows` rows."""
    blocks = x.view(-1, rows, x.shape[1])
    scales = blocks.abs().amax((1, 2), keepdim=True) / 127
    return ((blocks / scales).round() * scales).view_as(x)


# %%
quantize = flashlearn.use("quantize_blocks", quantize_blocks)
generator = torch.Generator().manual_seed(3)
lost = {}
for f in (30, 30_000, 1_000_000):
    x = torch.randn(256, 64, generator=generator)
    x[192:] *= f
    small = slice(0, 192)
    integers = {
        rows: study.relative_error(in_integers(x, rows)[small], x[small].double()) for rows in (256, 64)
    }
    for name, rows in (("one scale", 256), ("per block", 64)):
        with observing():
            values, scales = quantize(x, rows, 64)
        back = eight_bits.dequantized(values, scales, rows, 64)
        lost[f, name] = study.relative_error(back[small], x[small].double())
    print(
        f"f {f:7}: {lost[f, 'one scale']:.3f} with one scale, {lost[f, 'per block']:.3f} with one per block;"
        f" integers: {integers[256]:.3f} and {integers[64]:.3f}"
    )
    assert integers[256] > 5 * integers[64]

assert lost[30, "one scale"] < 1.2 * lost[30, "per block"]
assert lost[1_000_000, "one scale"] > 10 * lost[1_000_000, "per block"]

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - At $f = 30$ nothing is gained: the small numbers are five powers of two lower, where their relative error is the
#   same. A floating-point format has a scale in every number, the exponent.
# - At 30,000 some of the small numbers are subnormal, at a million most are zero, and a scale per block avoids that.
# - So scales per block protect against a range that is too large; they do not improve precision. An eight-bit
#   *integer* has equal steps everywhere: there a scale per block helps at $f = 30$ already.
#
# </details>
#
# ## 3 · A rotation that the scores do not see
#
# Scores are inner products, and an orthogonal matrix $R$ leaves those alone: $(QR)(KR)^\top = Q R R^\top K^\top =
# QK^\top$. So we may rotate $Q$ and $K$ before we round them. A good $R$ turns one large number into many of moderate
# size; matrices without such dominant entries or directions are called *incoherent* (QuIP, Chee et al., 2023).
#
# Sylvester's Hadamard matrices have such rows, and only 1 and −1 in them: $H_1 = (1)$ and
#
# $$H_{2n} = \begin{pmatrix} H_n & H_n \\ H_n & -H_n \end{pmatrix}, \qquad H_{ij} = (-1)^{\text{number of bits that are 1 in both } i \text{ and } j}, \quad i, j \ge 0.$$
#
# Let sympy show three things: that the two definitions agree, that $R = \operatorname{diag}(\sigma) H / \sqrt{D}$ is
# orthogonal for signs $\sigma_i = \pm 1$, and that the scores do not change.

# %%
D = 8
H = sp.Matrix([[1]])
while H.rows < D:
    H = sp.Matrix(sp.BlockMatrix([[H, H], [H, -H]]))
assert H == sp.Matrix(D, D, lambda i, j: (-1) ** (int(i) & int(j)).bit_count())

sigma = sp.symbols(f"sigma:{D}")
R = sp.diag(*sigma) * H / sp.sqrt(D)
squares = {s**2: 1 for s in sigma}  # all that is known of a sign
assert (R * R.T).applyfunc(sp.expand).subs(squares) == sp.eye(D)
q, k = (sp.Matrix(1, D, sp.symbols(f"{name}:{D}")) for name in "qk")
scores = sp.expand((q * R * (k * R).T)[0]).subs(squares)
assert sp.expand(scores - (q * k.T)[0]) == 0

# for every size, by induction; ⊗ is the Kronecker product, each entry of the left matrix times the right one
induction = sp.Matrix([[1, 1], [1, -1]])
assert induction * induction.T == 2 * sp.eye(2)  # H₂ₙ H₂ₙᵀ = (H₂ H₂ᵀ) ⊗ (Hₙ Hₙᵀ) = 2 I ⊗ n I

# %% [markdown]
# And the outlier: if one entry of a row is $a$ and all others are small, every entry of the rotated row is about $\pm
# a/\sqrt{D}$. The signs matter where *many* entries are large: without them a constant row (1, 1, …, 1) would become
# $(\sqrt{D}, 0, \dots, 0)$, an outlier of our own making. **Predict** what random signs do to it, at $D = 64$.

# %%
D = 64
signs = torch.randint(0, 2, (D,), generator=torch.Generator().manual_seed(5)) * 2.0 - 1.0
one, constant = torch.zeros(1, D), torch.ones(1, D)
one[0, 7] = 8.0
for name, row in (("one entry of 8", one), ("all entries 1", constant)):
    plain, signed = (eight_bits.rotated(row, s).abs().max() for s in (torch.ones(D), signs))
    print(f"{name:15} largest before {row.max():.2f}, rotated {plain:.2f}, with signs {signed:.2f}")
assert eight_bits.rotated(constant, torch.ones(D)).abs().max() > 7.99
assert eight_bits.rotated(constant, signs).abs().max() < 4

# %% [markdown]
# ### Exercise: `hadamard_rotate` · core
#
# $x$ is `[M, D]` and `signs` `[D]`: return $(x \circ \sigma)\, H / \sqrt{D}$ in x's dtype. A program takes a block of
# rows. There are two ways: $\log_2 D$ steps of sums and differences (*butterflies*), or one product with a matrix
# that the program computes from parities, without loading it. The second has more operations, but tensor cores can do
# them. Apply $1/\sqrt{D}$ only after the sum: 1 and −1 are exact in every dtype. (`signs` is fp32, so bring it to x's
# dtype before the product; a product in fp32 needs `input_precision="ieee"`.) A row times its stride may exceed
# $2^{31}$.

# %% exercise="hadamard_rotate"
# HINT: No matrix has to be loaded: its entry (i, j) follows from i and j. What is the sign of an entry, and
#     how can you compute it from the bits?
# HINT: The entry is −1 where i & j has an odd number of ones. n ^ (n >> 4), then the same with 2 and 1,
#     leaves the parity of eight bits in the last one. Then one tl.dot of a tile of rows with the D × D
#     matrix, and 1/√D after it.
# HINT: `common = d[:, None] & d[None, :]`, folded three times; `h = (1 - 2 * (common & 1)).to(x.dtype)`; x is
#     loaded under `in_rows`, times the loaded signs; `tl.dot(x, h, input_precision='ieee') * root`, stored in
#     y's dtype.
# INCLUDE: flashlearn/kernels/low_precision.py:hadamard_rotate_kernel


# INCLUDE: flashlearn/kernels/low_precision.py:hadamard_rotate

# %%
flashlearn.check("hadamard_rotate", hadamard_rotate)

# %%
# flashlearn.hint("hadamard_rotate")

# %%
rotate = flashlearn.use("hadamard_rotate", hadamard_rotate)
q, k = (torch.randn(128, D, generator=generator) for _ in range(2))
q[:, 20] *= 30  # a column that is large in every row, as channels of real models are
k[:, 41] *= 30
with observing():
    q_rotated, k_rotated = rotate(q, signs), rotate(k, signs)
torch.testing.assert_close(q_rotated @ k_rotated.T, q @ k.T, atol=2e-3, rtol=1e-4)
assert q_rotated.abs().max() < q.abs().max() / 3
pictures.outliers(q, q_rotated)

# %% [markdown]
# ## 4 · The study
#
# How much accuracy does attention lose in total? We take four heads, $S$ 512 and $D$ 64 with a causal mask, round P
# to e4m3 too, and compare with fp64. There are three kinds of data. "Normal" is normally distributed. "Outliers" are
# those of FlashAttention-3's study: to one number in a thousand a normal number with standard deviation 10 is added. In
# "large block" the last 128 keys are 300,000 times as large in V; we compare the queries before them, which see none of
# these keys.
# **Predict** for each kind of data which of the methods below is best, and whether rotation helps.

# %%
found = {}
for kind in ("normal", "outliers", "large block"):
    for way, error in study.errors_of(*study.draw(kind), rows=slice(0, 384)).items():
        found.setdefault(way, {})[kind] = error
for way, errors in found.items():
    print(f"{way:32}", {kind: f"{error:.4f}" for kind, error in errors.items()})

for kind in ("normal", "outliers", "large block"):
    best = min((way for way in found if way != "bf16"), key=lambda way: found[way][kind])
    print(
        f"{kind:12} best of e4m3: {best[6:]}, {found[best][kind] / found['bf16'][kind]:.0f} times bf16's error"
    )

blocks, rotated = "e4m3, scale per block", "e4m3, scale per block, rotated"
assert found["bf16"]["normal"] < min(errors["normal"] for way, errors in found.items() if way != "bf16") / 5
assert found[rotated]["outliers"] < 0.9 * found[blocks]["outliers"]
assert found["e4m3, one scale"]["large block"] > 2 * found[blocks]["large block"]

# %%
pictures.errors(found)

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - Eight bits cost about an order of magnitude compared with bf16, with every method shown here and on these data:
#   three fraction bits are four fewer than bf16 has.
# - Where the whole tensor fits the format's range, one scale is as good as many: after rotation it is even slightly
#   better, for normal data and for outliers. Scales per block help only where the range is too small, as in the third
#   kind of data.
# - Rotation changes hardly anything for normal data, and removes a good part of the error where there are outliers.
#   Why does it help, if the relative error of a floating-point format does not depend on size? Because it is the
#   *absolute* error of a score that enters the exponential: the error of one product of two outliers changes a score
#   by more than the errors of many moderate products, which partly cancel.
# - FlashAttention-3 reports 2.6 times less error than a baseline with a scale per tensor (its section 4.3). Such a
#   figure depends on the baseline and on the data; ours are above.
#
# </details>
#
# Which step causes which part? We round Q and K alone, then P, then V, and compare with fp64 each time. **Predict** the
# order of the three for normal data, and which of them the outliers make worse.

# %%
parts = {kind: study.errors_by_step(*study.draw(kind)) for kind in ("normal", "outliers")}
for kind, errors in parts.items():
    print(f"{kind:9}", {step: f"{error:.4f}" for step, error in errors.items()})
    of_parts = math.hypot(*(errors[step] for step in ("Q and K", "P", "V")))
    without_p = math.hypot(errors["Q and K"], errors["V"])
    print(f"          the root of the sum of the three squares: {of_parts:.4f}, without P {without_p:.4f}")
    assert 0.9 < of_parts / errors["all"] < 1.1

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - The three errors are independent, so their squares add up: halving the smallest hardly changes the whole.
# - The scores lose most. Outliers double the part of Q and K, and not the other two; so it is Q and K that one rotates.
# - The parts tell what a remedy can gain. Suppose that P were kept as two numbers, the rounded one and what rounding
#   lost, with a product for each: that would remove the smallest of the three parts, and the figure without P would
#   remain, nine tenths of the whole for normal data. $PV$ in bf16 would remove P's part and V's, and only one product
#   would be twice as fast.
#
# </details>
#
# ## 5 · What the accumulator keeps
#
# The product of two e4m3 numbers has at most eight significant bits, and fp32 has 24 to add many of them. But Hopper's
# tensor cores keep only about 14 bits while they add eight-bit products, according to DeepSeek-V3's report (2024,
# section 3.3, which also gives a remedy: move the sum into fp32 after every 128 products). The PTX specification does
# not say so. First we simulate what *would* follow: 32 products at a time are aligned with the sum so far and truncated
# to 14 bits. P is positive, V has both signs. **Predict** how the error grows with the length of the sum, if all
# products are positive, as with a V of ones; if V is normally distributed; and if its mean is then not 0 but 1.

# %%
lengths = (128, 512, 2048)
kinds = {"14 bits": 0, "fp32 after 128": 128}
errors = {f"{name}, {of}": {} for of in ("V = 1", "V with mean 0", "V with mean 1") for name in kinds}
for length in lengths:
    p = torch.rand(length, 200, generator=generator)
    v = torch.randn(length, 200, generator=generator)
    for of, products in (("V = 1", p), ("V with mean 0", p * v), ("V with mean 1", p * (v + 1))):
        for name, promoted in kinds.items():
            summed = eight_bits.summed(products, promoted)
            errors[f"{name}, {of}"][length] = study.relative_error(summed, products.double().sum(0))
for name, by_length in errors.items():
    print(f"{name:30}", {length: f"{error:.1e}" for length, error in by_length.items()})
grown = {name: by_length[2048] / by_length[128] for name, by_length in errors.items()}
assert grown["14 bits, V = 1"] > 8 and grown["fp32 after 128, V = 1"] < 1.5
assert 2 < grown["14 bits, V with mean 0"] < grown["14 bits, V = 1"] / 2
assert errors["14 bits, V with mean 1"][2048] > 10 * errors["14 bits, V with mean 0"][2048]
pictures.accumulators(errors)

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - Truncation always rounds towards zero, so the errors of positive products do not cancel: relative to the sum they
#   grow with the length, almost in proportion. Where V has both signs and the mean 0, they partly cancel: the error
#   starts lower and grows more slowly, but grows. A V with mean 1 has both signs too, and is almost as bad as a V of
#   ones.
# - Promoting to fp32 keeps the error at its level after 128 products. In Triton write `acc += tl.dot(a, b)` with a
#   block of 128 instead of `acc = tl.dot(a, b, acc)`: for eight bits the compiler keeps the two sums separate. That
#   costs a second set of accumulators, and additions on the ordinary units.
# - $QK^\top$ sums only over $D \le 128$. $PV$ sums over all keys. The online softmax does multiply the sum by a
#   factor after each tile, in fp32 registers, but that does not help: the sum goes back into the tensor core, and is
#   aligned with the next products.
#
# </details>
#
# Does the hardware behave like that? The next cell sums in both ways on a Hopper GPU, positive products and those of a
# V with both signs; without such a GPU it shows what is stored of an H200's sums.

# %%
kept = measured.kept()
assert kept["in the tensor core"][32768] > 10 * kept["fp32 after 128"][32768]
pictures.accumulators(kept)

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - Over many positive products the tensor core's own sum loses far more than e4m3's rounding: a product that is small
#   compared with the sum is lost completely. In attention the sum for $PV$ over a long row is as long; how much of this
#   happens there depends on V, as the simulation shows.
# - So `fp8_forward` adds each tile's $PV$ to the accumulator itself. The online softmax multiplies the accumulator
#   there anyway, and a multiplication together with an addition is one instruction.
#
# </details>
#
# ## 6 · Both operands k-major
#
# For sixteen bits, `wgmma` reads an operand from shared memory in either order. For eight bits it accepts only one
# order: elements along the summed dimension must be adjacent ("k-major": PTX ISA, `wgmma.mma_async`).
#
# | product | sums over | left operand | right operand |
# |---|---|---|---|
# | $S = QK^\top$ | $D$ | $Q$ `[S, D]`: k-major | $K$ `[S, D]`: k-major |
# | $O = PV$ | keys | $P$: in registers | $V$ `[S, D]`: adjacent along $D$, **the wrong order** |
#
# The other order is called mn-major: adjacent along $M$ or $N$, the dimension that remains. V's is that. Let the
# compiler say so. A small kernel in lesson 13's Gluon multiplies two tiles in shared memory, with its right operand in
# one order or the other,
#
# ```python
# acc = warpgroup_mma(a_tile, b_tile.permute((1, 0)), acc)  # b_tile [N, K]: k-major
# acc = warpgroup_mma(a_tile, b_tile, acc)                  # b_tile [K, N]: mn-major
# ```
#
# and is compiled for an H100, in sixteen bits and in eight:

# %%
for dtype in (torch.bfloat16, E4M3.dtype):
    for k_major in (True, False):
        made = operand_order.compiled(dtype, k_major)
        order = "k-major" if k_major else "mn-major"
        print(f"{str(dtype)[6:]:14} {order:9}", made.error or f"compiles to wgmma of {made.operands[0]}")
assert made.error and not operand_order.compiled(E4M3.dtype, True).error

# %% [markdown]
# Triton's compiler only says that it failed: it has no instruction to write. NVIDIA's assembler, which comes with it,
# is more exact. In PTX two numbers at the end of `wgmma` say which operands in shared memory are mn-major ("imm-trans":
# PTX ISA, `wgmma.mma_async`):

# %%
for kind in ("bf16", "e4m3"):
    for transposed in (False, True):
        message = operand_order.assembled(kind, transposed)
        print(f"{kind}  {'mn-major' if transposed else 'k-major ':8}  {message or 'accepted'}")
        assert bool(message) == (kind == "e4m3" and transposed)

# %% [markdown]
# So V has to be transposed: tile by tile inside the kernel, through registers and back; or once, before the kernel,
# as `[B, H, D, S]`, at the cost of reading and writing one byte per number of V. If you write `tl.dot(p, v)` with V as
# it is, Triton does the former without a word. Here are the instructions of both kernels, compiled for an H100:

# %%
instructions = orders.tile_by_tile()
for name, found in instructions.items():
    print(f"{name:25}", found)
assert instructions["V as it is"]["st.shared"] > 5 * instructions["V stored along the keys"]["st.shared"]

# %% [markdown]
# `prmt` rearranges bytes within a thread, `st.shared` writes to shared memory what `wgmma` will read there. We
# transpose once. And P, whose `shfl.sync` exchange data between threads? The first product leaves it in registers, and
# the second one reads it from registers. But of 16 keys of a row, each of four threads has one set after the first
# product, and needs another set for the second (PTX ISA, `wgmma`, register fragments). Thread $t$ has two neighbours
# among the first eight keys, $2t$ and $2t + 1$, and the same two places among the second eight; it needs four
# neighbours, $4t$ to $4t + 3$:

# %%
pictures.registers()

# %% [markdown]
# Exchanging them takes shuffles between threads in every tile. There is a way to avoid that: *a sum over keys does
# not depend on their order.* Leave P where it is, relabel its columns, and store V's keys in the same order when it
# is transposed anyway (FlashAttention-3 permutes V in a similar way, section 3.3).
#
# ### Exercise: `key_order` · warm-up
#
# Sixteen numbers: which key is stored at place `place`, 0 to 15? Places 0 to 3 are what thread 0 must have for the
# second product, 4 to 7 those of thread 1, and so on; every thread should find there the keys that it already has, in
# ascending order. A table is as good as a formula (index it by `int(place)`, since `place` is one of sympy's integers).


# %% exercise="key_order"
# HINT: The picture's two rows have colours for threads. For a place of the lower row you look for a key of
#     the upper row with the same colour.
# HINT: A thread has two pairs of neighbours in the upper row, eight keys apart. Which pair is thread t's
#     first one? Places 4t to 4t + 3 take the first pair, then the second.
# HINT: Thread `place // 4` has the keys 2t, 2t + 1, 2t + 8 and 2t + 9: the last bit of `place` chooses
#     within a pair, and the bit before it chooses the pair.
def key_order(place):
    ### BEGIN SOLUTION
    # STUB: raise NotImplementedError("TODO key_order: the key at a place of 16")
    return place // 4 * 2 + place % 4 // 2 * 8 + place % 2
    ### END SOLUTION


# %%
flashlearn.check("key_order", key_order)

# %%
# flashlearn.hint("key_order")

# %% [markdown]
# Now compile the forward pass for an H100 with P's columns in your order, in the order in which they come, and in the
# inverse of yours. **Predict** how many of the shuffles remain, and whether any must.

# %%
in_places = flashlearn.use("key_order", key_order)
order = [int(in_places(sp.Integer(place))) for place in range(16)]
inverse = sorted(range(16), key=lambda place: order[place])
remaining = {
    name: orders.shuffles(keys)
    for name, keys in (("as they come", range(16)), ("your order", order), ("its inverse", inverse))
}
print(remaining)
assert remaining["your order"] < remaining["its inverse"] == remaining["as they come"]

p, v = torch.rand(4, 16, generator=generator), torch.randn(16, 8, generator=generator)
torch.testing.assert_close(p[:, order] @ v[order], p @ v)  # the sum does not mind
with observing():
    stored = keys_last(torch.arange(16.0).view(1, 1, 16, 1).expand(1, 1, 16, 16).to(E4M3.dtype))
assert stored[0, 0, 0].float().tolist() == order  # the course's kernel stores V's keys in your order
pictures.registers(order)

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - The shuffles that remain compute the maximum and the sum of a row, which four threads share. No order of keys
#   removes those.
# - In the kernel below, `keys_last(v)` transposes V and stores its keys in your order, and `as_stored(p)` relabels P's
#   columns: `reshape` and `permute` exchange the bits of a column's number. The compiler recognises that no value
#   moves.
# - The inverse is an order as well, for keys instead of places, and saves nothing: the exchange only takes another way.
#
# </details>
#
# ## 7 · P in eight bits, and V's unit
#
# $P = 2^{s - m} \le 1$. The normal numbers of e4m3 start at $2^{-6}$: in a long row most probabilities may be
# smaller. Multiplying by 256 first gives them eight more powers of two. Any factor is free: it is a number added in the
# exponent, 8 for 256, $2^{s - m + 8}$, and 8.807 for 448. If the row's sum is computed from the same numbers, the
# factor cancels in $O$; from LSE (in base 2) its logarithm has to be subtracted. **Predict** how much better 448, the
# largest factor that P ≤ 1 allows, is than 256.

# %%
p = torch.rand(4096, generator=generator) * 2e-3
lost = {}
for factor in (1, 256, 448):
    lost[factor] = study.relative_error(eight_bits.to_e4m3(p * factor).float() / factor, p.double())
    print(f"probabilities below 0.002, stored as {factor:3} · P: {lost[factor]:.3f}")
assert lost[1] > 10 * lost[256] and 0.8 < lost[256] / lost[448] < 1.25

# %% [markdown]
# A power of two is exact, and 256 leaves room below 448 for a P that comes out slightly above 1. In precision the two
# hardly differ.
#
# The scales of Q and K are one number per tile and are combined with $\alpha \log_2 e$. V's scale is the same for all
# of a tile's keys, but changes from block to block, so it cannot be applied at the end; multiplying each tile's
# product by it would cost an operation per element of O. But the accumulator is already multiplied in every step.
# Keep it in the *unit* of the current block: when the unit changes from $u$ to $u'$,
#
# $$\mathrm{acc} \leftarrow \mathrm{acc} \cdot \left( 2^{m - m'} \, \frac{u}{u'} \right) + P V_8, \qquad O = \mathrm{acc} \cdot u / \ell .$$
#
# Sympy confirms it for three blocks of one key each:

# %%
m = sp.symbols("m0:4", real=True)
s = sp.symbols("s1:4", real=True)
u, v8 = sp.symbols("u1:4", positive=True), sp.symbols("v1:4", real=True)
acc, unit = sp.Integer(0), sp.Integer(1)
for j in range(3):
    acc = acc * sp.Pow(2, m[j] - m[j + 1]) * unit / u[j] + sp.Pow(2, s[j] - m[j + 1]) * v8[j]
    unit = u[j]
wanted = sum(sp.Pow(2, s[j] - m[3]) * u[j] * v8[j] for j in range(3))
assert sp.simplify(sp.expand(acc * unit) - wanted) == 0

# %% [markdown]
# ### Exercise: `fp8_forward` · core
#
# $Q$, $K$, $V$ in e4m3, `[B, H, S, D]`, with any strides; the scales are `[B, H, ⌈S/128⌉]`, one for every 128 rows of
# a head. Return $O$ in bf16, and LSE (natural logarithm) in fp32. The mask is causal (aligned bottom-right) or
# absent; some queries may see nothing ($O = 0$, LSE $= -\infty$); $\alpha$ may have either sign. Both products must
# take e4m3: the check compiles your kernel for an H100 and looks at the instructions. The launcher and the first and
# last steps of a program are given; you write the loop over keys, and compute $O$ and LSE.
#
# `t_desc` describes V as `keys_last` has stored it: the keys from `start` on are at `[b, h, 0, start]`, and the tile is
# `[1, 1, BLOCK_D, BLOCK_K]`. Apply `as_stored` to P in e4m3, `[queries, keys]`. Add each tile's $PV$ to `acc` yourself
# (section 5). Before the first block `acc` is 0, so it does not matter that `unit` is 1 there.

# %% exercise="fp8_forward"
# HINT: It is lesson 12's loop with three scales. Those of Q and K are one number per tile, and the scores
#     are multiplied by a number anyway. V's changes from block to block: by what is the accumulator already
#     multiplied in every step?
# HINT: c = scale · k_scale of the tile. For 256 · P subtract 8 from the shift in the exponent, and compute
#     l_i from the same numbers. Keep acc in the unit of the current block of V: multiply acc by rescale ·
#     unit / v_scale, then set unit to v_scale. Section 5 says why the tile's product is summed separately.
# HINT: `p = tl.exp2(s * c - (shift[:, None] - 8.0))`, `l_i = l_i * rescale + tl.sum(p, axis=1)`, `new =
#     tl.dot(as_stored(p.to(t.dtype)), t.T)`, `acc = acc * (rescale * (unit / v_scale))[:, None] + new`. At
#     the end `o = acc * (unit / l_i)[:, None]`, `lse = (m_i + tl.log2(l_i) - 8.0)` times ln 2.
# INCLUDE: flashlearn/kernels/fp8_forward.py:scan_keys_fp8


# INCLUDE: flashlearn/kernels/fp8_forward.py:fp8_forward_kernel


# INCLUDE: flashlearn/kernels/fp8_forward.py:fp8_forward

# %%
flashlearn.check("fp8_forward", fp8_forward)

# %%
# flashlearn.hint("fp8_forward")

# %%
made = {D: attention.needs(D) for D in (64, 128)}
for D, budget in made.items():
    print(
        f"D {D:3}: {budget.registers} registers, {budget.spill_bytes} bytes spilled, wgmma of {budget.operands}"
    )
    assert budget.spill_bytes == 0 and budget.operands == ("e4m3",)
print("for an A100:", attention.needs(64, target=80).error)

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - Both products are `wgmma` of e4m3, and no register spills. For $D$ 128 the kernel asks for at most 160 registers, so
#   that three programs share a multiprocessor, as in lesson 12.
# - For an A100, whose tensor cores do not support e4m3, this kernel does not compile.
#
# </details>
#
# ## 8 · All of it, and a surprise
#
# Rotate Q and K, give every 128 rows of a head their scale, and call `fp8_forward`: that is the whole method of
# FlashAttention-3's section 3.3. This is how the three exercises go together:

# %%
# INCLUDE: flashlearn/lessons/lesson_14_low_precision/joined.py:prepared

# %% [markdown]
# The next cell runs your kernels, or the course's where yours have not passed, on the study's data, compiled where a
# GPU has e4m3, observed elsewhere. A third kind of data is new: all keys of a head have a row in common, about five
# times as large as what is their own. Real models have such keys: J. Zhang et al. (*SageAttention*, 2024) plot them.
# **Predict** for the new kind: what becomes of the error, and does rotation help?

# %%
forward = flashlearn.use("fp8_forward", fp8_forward)
where = joined.place()
signs = torch.randint(0, 2, (64,), generator=torch.Generator().manual_seed(1)) * 2.0 - 1.0


def error_in_eight_bits(kind, rotated=True, centred=False):
    q, k, v = (x[:, :2] for x in study.draw(kind))  # two heads
    exact, _ = reference.attention_forward(q.double(), k.double(), v.double(), 64**-0.5, True)
    q, k, v, sigma = (x.to(where) for x in (q, k, v, signs))
    with joined.launches(where):
        given = prepared(q, k, v, sigma if rotated else None, rotate, quantize, centred)
        o, _ = forward(**given, causal=True, alpha=64**-0.5)
    return study.relative_error(o.cpu(), exact)


def error_in_bf16(kind):
    q, k, v = (x[:, :2] for x in study.draw(kind))
    exact, _ = reference.attention_forward(q.double(), k.double(), v.double(), 64**-0.5, True)
    halves = (x.bfloat16() for x in (q, k, v))
    return study.relative_error(reference.attention_forward_rounded(*halves, 64**-0.5, True)[0], exact)


results = {}
for kind in ("normal", "outliers", "common part"):
    results[kind] = {
        "bf16": error_in_bf16(kind),
        "e4m3": error_in_eight_bits(kind, rotated=False),
        "e4m3, rotated": error_in_eight_bits(kind),
    }
    print(f"{kind:12}", {way: f"{error:.4f}" for way, error in results[kind].items()})
assert results["outliers"]["e4m3, rotated"] < 0.9 * results["outliers"]["e4m3"]
assert results["common part"]["e4m3, rotated"] > 2 * results["normal"]["e4m3, rotated"]

# %% [markdown]
# Rotation removes outliers and does nothing for the common part: all rotated keys have the rotated row in common, and
# no number in it stands out. Each key is rounded relative to its own size, so an error of a sixteenth at most refers to
# the large common part, and the score's error is that large.
#
# But which share of a score does the common part have? Write $k_j = c + k'_j$. In row $i$ it is $\alpha\, q_i \cdot c$,
# the same number for every key, and softmax is shift invariant (lesson 02):
#
# $$\operatorname{softmax}_j\left(\alpha\, q_i \cdot (k_j - c)\right) = \operatorname{softmax}_j\left(\alpha\, q_i \cdot k_j - \alpha\, q_i \cdot c\right) = \operatorname{softmax}_j(\alpha\, q_i \cdot k_j).$$
#
# So we may subtract any row $c$ from all keys, before anything is rounded, and change nothing but the errors. The best
# guess at the common part is the mean key. **Predict** the error of all three kinds of data with it.

# %%
for kind, errors in results.items():
    errors["e4m3, rotated, mean key subtracted"] = error_in_eight_bits(kind, centred=True)
    print(f"{kind:12}", {way: f"{error:.4f}" for way, error in errors.items()}, end=", ")
    print(f"{errors['e4m3, rotated, mean key subtracted'] / errors['bf16']:.0f} times bf16's error")
centred = {kind: errors["e4m3, rotated, mean key subtracted"] for kind, errors in results.items()}
assert centred["common part"] < 0.5 * results["common part"]["e4m3, rotated"]
assert centred["common part"] < 1.1 * centred["normal"]
pictures.errors({way: {kind: results[kind][way] for kind in results} for way in results["normal"]})

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - The common part costs nothing any more: the error is what it is for normal data. Where there is no common part, the
#   mean key is small, and subtracting it changes little.
# - bf16 suffers from the common part as well. "An order of magnitude" in section 4 was a statement about those data and
#   those methods: with a common part, eight bits with the mean key subtracted come closer to plain bf16, as the last
#   column shows. (Would bf16 gain from the same subtraction, and by how much?)
# - LSE does change, by $-\alpha\, q_i \cdot c$. The backward pass recomputes P from the same $k_j - c$ and needs
#   this one; for the LSE of the original scores add $\alpha\, q_i \cdot c$.
# - Under a causal mask the mean contains later keys. That lets nothing through, since every $c$ gives the same P. With
#   a cache of keys one keeps the $c$ with which it began.
# - SageAttention (2024) does this for eight-bit integers and calls it smoothing K. A rotation is for single large
#   numbers, a mean for what all keys share: two different faults of the data, two remedies.
#
# </details>
#
# ## 9 · The clock
#
# At peak rate the products take half the time that they take in bf16; the exponentials take as long as before. In bf16,
# how the time divides between the two was printed in lesson 12, section 1, for $D$ 64 and 128. **Predict** from it how
# many times as fast `fp8_forward` is as the same kernel in bf16, lesson 12's `tuned_forward`, if nothing overlaps; then
# what you expect to measure, and what remains of it if the tensors arrive in bf16 and have to be prepared each time:

# %%
predicted = {64: None, 128: None}  # by D; type a factor for each None, 1.1 for a tenth faster

# %% [markdown]
# The next cell times your kernel on a Hopper GPU, without a mask, in turns with bf16 on bf16 tensors: lesson 12's
# kernel, lesson 13's, and cuDNN through `scaled_dot_product_attention`. Nobody casts inside the timed region. "Prepared
# from bf16" subtracts the mean key, rotates and quantises each time. Storing V along the keys is part of both.

# %%
record = timed.kept(forward=forward, rotate=rotate, quantize=quantize)
if record:
    print(timed.table(record))
    print(timed.comparison(record, predicted))

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - In units of the exponentials' time, the products take 1 at $D$ 64 and 2 at $D$ 128 in bf16, and half of that in
#   e4m3. If nothing overlaps, that makes $(1 + 1)/(\tfrac12 + 1) = 1.33$ and $(2 + 1)/(1 + 1) = 1.5$. Programs that
#   share a multiprocessor do overlap, and there are the maximum, the sums and the scaling, which do not become faster
#   either: so the measured factors can lie on both sides.
# - Compare with the fastest kernel in bf16, not only with your own: what eight bits gain must not be confused with what
#   another way of writing the kernel gains.
# - Preparation reads and writes Q, K and V several times. A model would do that in the kernel that computes them; the
#   rotation can be combined with a rotary embedding (FlashAttention-3, section 3.3).
#
# </details>
#
# ## 10 · What eight bits do to $dQ$
#
# So far this was a forward pass. The three products behind $dQ$ (lesson 03),
#
# $$S = \alpha\, Q K^\top, \qquad dP = dO\, V^\top, \qquad dQ = \alpha\, dS\, K \quad\text{with}\quad dS = P \circ (dP - \delta),$$
#
# have the operands Q, K, V, dO and dS. We round them one at a time, each 128 rows with a scale of their own, and
# compute the rest in fp64: an emulation in torch, no kernel. **Predict** which costs most, whether e5m2 is better for
# dS and dO, and what the keys with a common part do, with and without their mean.

# %%
of_dq = {}
for kind, centred in (("normal", False), ("common part", False), ("common part", True)):
    name = f"{kind}{', mean key subtracted' if centred else ''}"
    of_dq[name] = gradients.errors_of(kind, centred)
for way in gradients.WAYS:
    print(f"{way:16}", {name: f"{errors[way]:.4f}" for name, errors in of_dq.items()})
normal, common, subtracted = of_dq.values()
assert normal["all in e4m3"] > 10 * normal["all in bf16"]
assert normal["dS in e5m2"] > 1.5 * normal["dS in e4m3"] and normal["dO in e5m2"] > 1.5 * normal["dO in e4m3"]
assert (
    common["dS in e4m3"] > 3 * normal["dS in e4m3"] and subtracted["dS in e4m3"] < 1.1 * normal["dS in e4m3"]
)

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - With everything in e4m3, $dQ$ loses about fifteen times as much as in bf16, and more than O did: more operands are
#   rounded on the way. Q, K and V cost most, dS least.
# - e5m2 has a fraction bit fewer, and here twice the error. Its range is not needed: a scale for every 128 rows brings
#   each block into that of e4m3. One scale for a whole tensor of gradients is another matter (section 2).
# - dS alone loses five times as much where keys have a common part. Rows of dS sum to zero (lesson 02), so in
#   $dS\, K$ the common part cancels: $\sum_j dS_{ij}\, k_j = \sum_j dS_{ij}\,(k_j - c)$. Rounded numbers do not sum to
#   zero, and what remains is multiplied by $c$. Subtract $c$ first, and there is nothing to multiply.
# - bf16 gains from it as well, a factor of four here. The mean key is worth remembering beyond eight bits.
# - The emulation adds in fp64. Section 5 says what a tensor core's sums would add to that.
#
# </details>
#
# ### Questions for yourself
#
# Answer before you unfold.
#
# **1.** You rotate Q and K. May you rotate V as well?
#
# <details><summary>Answer</summary>
#
# Yes, but $P (V R) = (P V) R$: O is rotated, and must be rotated back by $R^\top$, or by the next weight matrix, with
# which $R^\top$ can be multiplied beforehand. Q and K need nothing of the kind, since their rotations cancel.
#
# </details>

# %% [markdown]
# **2.** A colleague's e4m3 kernel uses `largest / 256` as the scale. Is that wrong? What does it lose?
#
# <details><summary>Answer</summary>
#
# It is not wrong. The largest value is then 256, and the numbers above it are not used, which loses not quite one
# power of two of the range. The relative error stays the same, except for small numbers that become subnormal. (A
# scale that is itself a power of two even has an advantage: dividing by it does not round.)
#
# </details>

# %% [markdown]
# **3.** Why is `l_i` summed from P before P is rounded?
#
# <details><summary>Answer</summary>
#
# It costs nothing, and the rounding errors of the probabilities do not affect LSE, from which the backward pass
# recomputes P. There is an argument for the other way: then the rounded weights would sum to 1. Try both, and
# measure.
#
# </details>

# %% [markdown]
# **4.** A V whose mean is not 0 loses more, in section 5 and wherever it is rounded. May you subtract the mean value
# from V, as you did with K?
#
# <details><summary>Answer</summary>
#
# Yes, but O does see it: rows of P sum to 1, so $P (V - 1 c^\top) = PV - 1 c^\top$. Subtract the mean value before
# rounding, and add it to O at the end, once per row. With rows that see no key, add nothing.
#
# </details>

# %% [markdown]
# ### Journal
#
# *Two or three sentences for yourself in a month. Where did you expect a scale or a rotation to help, although it did
# not? What would you look at first in a model whose loss is worse with eight bits? Double-click here and write.*

# %% [markdown]
# ### What comes next
#
# Lesson 15 returns to the kernels of lessons 06 to 08 and changes a few of their lines at a time: shared heads, windows,
# soft caps, biases, and sequences of different lengths. The last exercise is an attention of your own.
#
# **Sources.** Formats: P. Micikevicius et al., *FP8 formats for deep learning*, 2022. Block scales, rotation before
# rounding, V's layout and P's registers: J. Shah et al., *FlashAttention-3*, 2024, sections 3.3 and 4.3. Incoherence by
# random orthogonal matrices: J. Chee et al., *QuIP*, 2023; by Hadamard matrices with signs: A. Tseng et al., *QuIP#*,
# 2024. Accumulators: DeepSeek-AI, *DeepSeek-V3 technical report*, 2024, section 3.3. The mean key: J. Zhang et al.,
# *SageAttention*, 2024. Operand layouts and casts: NVIDIA, PTX ISA, `wgmma.mma_async` and `cvt`.
