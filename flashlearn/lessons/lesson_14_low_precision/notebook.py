# %% [markdown]
# # Low precision
#
# A Hopper GPU multiplies numbers of eight bits twice as fast as numbers of sixteen (NVIDIA's H100 data sheet). Eight bits
# are not many: between 256 and 448 there are seven numbers. This lesson makes attention of them all the same, and says
# at each step what is lost, by how much, and what gets it back.
#
# **Afterwards you can**
#
# - read e4m3 and e5m2 bit by bit, and say what rounding, saturation and subnormal numbers cost;
# - give every block of a matrix its scale, and say when that helps a floating format and when it does not;
# - derive a rotation that leaves $QK^\top$ as it is and spreads outliers, and write it as a kernel without loading a matrix;
# - say why V must be stored with its keys side by side, and why P's registers come in another order than they are wanted;
# - write a forward pass whose two products both take e4m3, and tell what of its error comes from where.
#
# **You need** lesson 12's forward pass, lesson 04's accumulators that change their unit, and lesson 05's memory. **No GPU is
# needed**: kernels are observed here, with eight-bit rounding as the hardware does it, and compiled for an H100.
#
# **It takes** about three hours, in two sittings: sections 1 to 4, and the rest.

# %%
import math

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
from flashlearn.lessons.lesson_14_low_precision import attention, eight_bits, measured, pictures, study
from flashlearn.lessons.lesson_14_low_precision.eight_bits import E4M3, E5M2
from flashlearn.lessons.shared.slider import slider

# %% [markdown]
# ## Before you begin
#
# Three questions about what came before. Run the cell to read them, put a letter behind each number, and run it
# again. A wrong choice is told what it overlooks, and costs nothing.

# %% tags=["recall"]
### BEGIN SOLUTION
# STUB: answers = {1: "", 2: "", 3: ""}
answers = {1: "b", 2: "c", 3: "a"}
### END SOLUTION
flashlearn.recall("14", answers)

# %% [markdown]
# ## 1 · Eight bits, one by one
#
# One bit is the sign. e4m3 has four bits of exponent and three of fraction, e5m2 five and two (Micikevicius et al., *FP8
# formats for deep learning*, 2022, table 1). With the stored exponent $e$, the fraction $f$ and the bias $b$,
#
# $$\text{value} = \pm\, 2^{\,e-b}\,(1 + f) \quad (e > 0), \qquad \pm\, 2^{\,1-b}\, f \quad (e = 0,\ \text{subnormal}).$$
#
# e5m2 keeps its highest exponent for infinities and NaN, as IEEE formats do. e4m3 has no infinity: of the highest exponent
# only the fraction $\tfrac{7}{8}$ is NaN, and so its largest number is $2^8 \cdot 1.75$. Move the value:

# %%
slider(pictures.bits, value=(0.002, 0.1, 1.0, 3.3, 17.0, 240.0, 448.0))

# %% [markdown]
# **Predict**, before you run the next cell: the largest number of both formats, the smallest that is not zero, and what 300,
# 460 and 1000 become in e4m3.

# %% tags=["nbval-check-output"]
for of in (E4M3, E5M2):
    found = eight_bits.numbers(of)
    stored = torch.arange(128, dtype=torch.uint8).view(of.dtype).double()
    assert torch.equal(found, stored[stored.isfinite()])  # torch reads the bits as we do
    print(f"{of.name}: {len(found)} numbers from 0 on, the least {found[1]:.3g}, the largest {found[-1]:g}")

x = torch.tensor([300.0, 460.0, 1000.0])
print("e4m3, saturating:", eight_bits.to_e4m3(x).tolist())

# %%
pictures.ladders()

# %%
pictures.relative_errors()

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - Within one power of two all steps are equal; at the next power they double. So the *relative* error is flat, at most a
#   sixteenth in e4m3 and an eighth in e5m2, and only where numbers become subnormal does it grow.
# - That flat stretch is what a scale needs to hit: from $2^{-6}$ to 448 in e4m3, some 15 powers of two. A number format
#   with an exponent forgives a scale that is off by a factor of ten. An integer format does not.
# - 460 goes to 448, and 1000 too, since `cvt.rn.satfinite` saturates (PTX ISA, "cvt"). torch's own cast on the CPU may
#   make NaN of it: clamp first where you cannot be sure.
# - e4m3 for operands of the forward pass, where precision counts; e5m2 is for gradients, which need the range.
#
# </details>
#
# A kernel rounds by a cast. Here is one that is observed on the CPU, or runs on your GPU if it has the format:


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
# Numbers of a layer rarely fill $2^{-6} \dots 448$ by themselves. So one stores $x \approx \text{value} \cdot s$ with one $s$
# for many numbers. The scale that wastes no exponent sends the largest magnitude to the largest number:
#
# $$s = \max_{\text{block}} |x| \, / \, 448, \qquad \text{value} = \operatorname{e4m3}(x / s).$$
#
# A scale per tensor is one number, and one number of the tensor decides it. A scale per block of rows and columns lets
# neighbours decide (FlashAttention-3, section 3.3, has one per block of rows that a tile takes).
#
# ### Exercise: `quantize_blocks` · core
#
# $x$ `[M, N]` in any dtype, any strides, ragged at both edges. Return the values in e4m3, and the scales in fp32, one for
# each block of `block_m` × `block_n`. A block of zeros has the scale 1. Nothing may become NaN. An index times a stride may
# pass $2^{31}$: `rows` and `columns` have 64 bits, as given.

# %% exercise="quantize_blocks"
# HINT: A program sees its whole block. One number of it decides the scale, and that number should end where
#     e4m3 ends. What may padding be, so that it never decides?
# HINT: scale = largest magnitude / 448, in fp32; the values are x / scale. Two cases need a thought: a block
#     of zeros, and a largest number that rounding leaves a hair above 448.
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
# Break it: take the maximum without `tl.abs`; load the tile with `other=1.0`; leave the guard for zeros out. Which cases see
# each of them?
#
# Now a question that sounds settled. **Predict**: a matrix of which the last quarter is $f$ times as large as the rest. By what
# factor is the error of the *small* part larger with one scale than with a scale per block, for $f$ = 30? For a thousand times that? For a million?

# %%
quantize = flashlearn.use("quantize_blocks", quantize_blocks)
generator = torch.Generator().manual_seed(3)
lost = {}
for f in (30, 30_000, 1_000_000):
    x = torch.randn(256, 64, generator=generator)
    x[192:] *= f
    small = slice(0, 192)
    for name, rows in (("one scale", 256), ("per block", 64)):
        with observing():
            values, scales = quantize(x, rows, 64)
        back = eight_bits.dequantized(values, scales, rows, 64)
        lost[f, name] = study.relative_error(back[small], x[small].double())
    print(
        f"f {f:7}: {lost[f, 'one scale']:.3f} with one scale, {lost[f, 'per block']:.3f} with one per block"
    )

assert lost[30, "one scale"] < 1.2 * lost[30, "per block"]
assert lost[1_000_000, "one scale"] > 10 * lost[1_000_000, "per block"]

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - At $f = 30$ nothing is gained: the small numbers sit five powers of two lower, and their relative error is the same there.
#   A floating format has a scale of its own, the exponent.
# - At 30,000 part of the small numbers are subnormal, at a million most are zero, and a scale per block brings it back.
# - So scales per block are an insurance against the range, not a gain in precision. An eight-bit *integer* has equal steps
#   everywhere, and there the same block scale gains at every $f$.
#
# </details>
#
# ## 3 · A rotation that the scores do not see
#
# Scores are inner products, and an orthogonal matrix $R$ leaves those alone: $(QR)(KR)^\top = Q R R^\top K^\top = QK^\top$. So
# we may rotate $Q$ and $K$ before we round them. A good $R$ makes of one large number many of middling size; statisticians
# call data without directions that stick out *incoherent* (QuIP, Chee et al., 2023).
#
# Sylvester's Hadamard matrices have such rows, and only 1 and −1 in them: $H_1 = (1)$ and
#
# $$H_{2n} = \begin{pmatrix} H_n & H_n \\ H_n & -H_n \end{pmatrix}, \qquad H_{ij} = (-1)^{\text{number of bits that } i \text{ and } j \text{ share}}.$$
#
# Let sympy show three things: that the two definitions agree, that $R = \operatorname{diag}(\sigma) H / \sqrt{D}$ is orthogonal for
# signs $\sigma_i = \pm 1$, and that the scores stay.

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

induction = sp.Matrix([[1, 1], [1, -1]])
assert induction * induction.T == 2 * sp.eye(2)  # H₂ₙ H₂ₙᵀ = (H₂ H₂ᵀ) ⊗ (Hₙ Hₙᵀ) = 2 I ⊗ n I

# %% [markdown]
# And the outlier: if one entry of a row is $a$ and all others are small, every entry of the rotated row is about
# $\pm a/\sqrt{D}$. The signs matter where *many* entries are large: without them a constant row (1, 1, …, 1) would become
# $(\sqrt{D}, 0, \dots, 0)$, an outlier made by ourselves. **Predict** what random signs make of it, at $D = 64$.

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
# $x$ `[M, D]`, `signs` `[D]`: return $(x \circ \sigma)\, H / \sqrt{D}$ in x's dtype. A program takes a block of rows. There are two
# ways: $\log_2 D$ steps of sums and differences (*butterflies*), or one product with a matrix that the program makes of
# parities, without loading anything. The second has more operations and needs no exchange between threads; tensor cores do
# them. Keep $1/\sqrt{D}$ until after the sum: 1 and −1 are exact in every dtype. A row times its stride may pass $2^{31}$.

# %% exercise="hadamard_rotate"
# HINT: No matrix has to be loaded: its entry (i, j) is known from i and j. What is the sign of an entry, and
#     how does one get it from the bits?
# HINT: The entry is −1 where i & j has an odd number of ones. n ^ (n >> 4), then the same with 2 and 1,
#     brings the parity of eight bits into the last one. Then one tl.dot of a tile of rows with the D × D
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
# What does attention lose, in all? Four heads, $S$ 512, $D$ 64, causal, the truth in fp64; P in e4m3 too, and for the first
# three blocks of queries only, since in the third kind of data the last 128 keys are 300,000 times as large in V, and those queries
# see none of them. "Outliers" are those of FlashAttention-3's study: one number in a thousand gets a further share of
# standard deviation 10. **Predict** for each kind of data which of the ways below is best, and whether rotation pays.

# %%
found = {}
for kind in ("normal", "outliers", "large block"):
    for way, error in study.errors_of(*study.draw(kind), rows=slice(0, 384)).items():
        found.setdefault(way, {})[kind] = error
for way, errors in found.items():
    print(f"{way:32}", {kind: f"{error:.4f}" for kind, error in errors.items()})

best = "e4m3, scale per block, rotated"
assert found["bf16"]["normal"] < found[best]["normal"] / 5
assert found[best]["outliers"] < 0.9 * found["e4m3, scale per block"]["outliers"]
assert found["e4m3, one scale"]["large block"] > 2 * found["e4m3, scale per block"]["large block"]

# %%
pictures.errors(found)

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - Eight bits cost an order of magnitude against bf16, whatever one does: three bits of fraction are three bits.
# - Rotation changes nothing for normal data, and a good part of the error where outliers are. Why does it help, if the relative
#   error of a floating format does not depend on size? Because it is the *absolute* error of a score that goes into the
#   exponential: one product of two outliers, rounded once, moves a score by more than many middling ones, whose errors average.
# - Scales per block help where the range is short, and only there.
# - FlashAttention-3 reports 2.6 times less error than a baseline with a scale per tensor (its section 4.3). The baseline
#   and the data decide such a figure; yours are above.
#
# </details>
#
# ## 5 · What the accumulator keeps
#
# The product of two e4m3 numbers has at most eight significant bits: fp32 would add a few of them without loss. But
# Hopper's tensor cores keep around 14 bits while they add eight-bit products, as DeepSeek-V3's report says (2024, section 3.3,
# which also gives a remedy: move the sum into fp32 after every 128 products). It is no part of the PTX specification.
# First we simulate what *would* follow: 32 products at a time are aligned with the sum so far and cut to 14 bits.
# **Predict** how the error grows with the length of the sum, if all products are positive.

# %%
lengths = (128, 512, 2048)
kinds = {"14 bits": 0, "14 bits, fp32 after 512": 512, "14 bits, fp32 after 128": 128}
errors = {name: {} for name in kinds}
for length in lengths:
    products = torch.rand(length, 200, generator=generator)
    for name, promoted in kinds.items():
        summed = eight_bits.summed(products, promoted)
        errors[name][length] = study.relative_error(summed, products.double().sum(0))
assert errors["14 bits"][2048] > 8 * errors["14 bits"][128]
assert errors["14 bits, fp32 after 128"][2048] < 1.5 * errors["14 bits, fp32 after 128"][128]
pictures.accumulators(errors)

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - Cutting always goes one way, so errors of positive products do not average: they grow with the length. P and V's absolute
#   values are of that kind; scores, whose terms have both signs, suffer less.
# - Promoting keeps the error where it was after 128 products. In Triton one writes `acc += tl.dot(a, b)` with a block of 128
#   in place of `acc = tl.dot(a, b, acc)`: for eight bits the compiler keeps the two apart. That costs a second set of
#   accumulators and additions on the ordinary units.
# - $QK^\top$ sums over $D \le 128$ and ends. $PV$ sums over all keys; but the online softmax multiplies the sum by its factor after each
#   tile, in fp32 registers. That keeps it from nothing: the sum goes back in, and is aligned with the next products.
#
# </details>
#
# Is the hardware like that? The next cell has a Hopper GPU sum positive products both ways; without one it shows what an H200 gave.

# %%
kept = measured.kept()
assert kept["in the tensor core"][32768] > 10 * kept["fp32 after 128"][32768]
pictures.accumulators(kept)

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - Over many products the tensor core's own sum loses far more than e4m3's rounding: a product that is small beside the sum is cut
#   away whole. For attention such a sum is $PV$ over a long row.
# - So `fp8_forward` adds each tile's $PV$ to the accumulator itself. The online softmax multiplies the accumulator there anyway, and a
#   multiplication with an addition is one instruction.
#
# </details>
#
# ## 6 · Both operands k-major
#
# For sixteen bits, `wgmma` reads an operand from shared memory in either order. For eight bits it reads one order only:
# neighbours along the summed dimension side by side ("k-major": PTX ISA, `wgmma.mma_async`).
#
# | product | sums over | left operand | right operand |
# |---|---|---|---|
# | $S = QK^\top$ | $D$ | $Q$ `[S, D]`: k-major | $K$ `[S, D]`: k-major |
# | $O = PV$ | keys | $P$: in registers | $V$ `[S, D]`: neighbours are along $D$ — **the wrong way** |
#
# So V has to be transposed: tile by tile inside the kernel, through registers and back; or once, before the kernel, as
# `[B, H, D, S]`, at the price of reading and writing a byte per number of V. We take the second.
#
# And P? It comes out of the first product in registers, and goes into the second one from registers. But where a thread of
# four has its share of 16 keys of a row is not the same on both sides:

# %%
pictures.registers()

# %% [markdown]
# Exchanging them takes shuffles between threads in every tile. There is a way around it, and it is one sentence: *a sum over keys
# does not mind their order.* Leave P where it is, call its columns by other names, and store V's keys in that order when it is
# transposed anyway (FlashAttention-3 permutes V in a like way, section 3.3). `keys_last(v)` does both, and `as_stored(p)` renames.
# **Predict:** how many of the shuffles in the kernel's text are left?

# %%
reshuffled = attention.shuffles()
print(reshuffled)
assert reshuffled["renamed"] < reshuffled["in order"]

# %% [markdown]
# What is left belongs to the maximum and to the sum of a row, which four threads share.
#
# ## 7 · P in eight bits, and V's unit
#
# $P = 2^{s - m} \le 1$. e4m3 has its normal numbers from $2^{-6}$ on: in a long row most probabilities lie below. Multiply by 256
# first, and they have eight powers of two more; 256 rather than 448, since a power of two costs nothing: it is an 8 in
# the exponent, $2^{s - m + 8}$. If the row's sum is made of the same numbers, it cancels in $O$; LSE has to give 8 back.

# %%
p = torch.rand(4096, generator=generator) * 2e-3
for name, factor in (("P", 1), ("256 · P", 256)):
    lost = study.relative_error(eight_bits.to_e4m3(p * factor).float() / factor, p.double())
    print(f"probabilities below 0.002, stored as {name:7}: {lost:.3f}")
assert lost < 0.05

# %% [markdown]
# The scales of Q and K are one number per tile and join $\alpha \log_2 e$. V's scale is the same for all of a tile's keys, and
# changes from block to block, so it cannot wait until the end; multiplying each tile's product by it would cost an operation per
# element of O. But the accumulator is multiplied in every step already. Keep it in the *unit* of the present block: where the unit
# changes from $u$ to $u'$,
#
# $$\mathrm{acc} \leftarrow \mathrm{acc} \cdot \left( 2^{m - m'} \, \frac{u}{u'} \right) + P V_8, \qquad O = \mathrm{acc} \cdot u / \ell .$$
#
# Sympy agrees, for three blocks of one key each:

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
# $Q$, $K$, $V$ in e4m3, `[B, H, S, D]`, any strides; scales `[B, H, ⌈S/128⌉]`, one for 128 rows of a head. Return $O$ in bf16, and
# LSE, natural, in fp32. Causal bottom-right or not; queries that see nothing; $\alpha$ of either sign. Both products take e4m3:
# the check compiles your kernel for an H100 and looks. The launcher is given, and what a program does first and last; the loop over
# keys, and $O$ and LSE, are yours.

# %% exercise="fp8_forward"
# HINT: It is lesson 12's loop with three scales. Q's and K's are one number per tile, and the scores meet a
#     number per tile anyway. V's changes from block to block: what else is already multiplied into the
#     accumulator in every step?
# HINT: c = scale · k_scale of the tile. P as 256 · P: take 8 off the shift in the exponent, and sum l_i of
#     the same numbers. Keep acc in the unit of the present block of V: acc has to be multiplied by rescale ·
#     unit / v_scale, then unit is v_scale. Section 5 says why the tile's product is summed apart.
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

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - The products take half the time that they take in bf16; the exponentials take as long as before. At $D = 64$ they were half of
#   the time before (lesson 12, section 1). **Predict** from that how much faster the whole can be at most, for $D = 64$ and 128, if
#   nothing overlaps: $(1 + 1)/(\tfrac12 + 1)$ and $(2 + 1)/(1 + 1)$. The first is 1.33, the second 1.5. Overlap moves both.
# - Preparing costs too: Q, K and V have to be rounded, and V transposed. A model would do that where they are made, in the kernel
#   that writes them; rotation can join a rotary embedding (FlashAttention-3, section 3.3).
# - An A100 has no e4m3: there this kernel does not compile, and the card says so.
#
# </details>
#
# ### Questions to yourself
#
# Answer before you unfold.
#
# **1.** You rotate Q and K. May you rotate V as well?
#
# <details><summary>Answer</summary>
#
# $P (V R) = (P V) R$: O comes out rotated, and must be turned back, by $R^\top$, or by a weight matrix after it that takes $R^\top$ in
# beforehand. Q and K need nothing of the kind, since their rotations meet and cancel.
#
# </details>

# %% [markdown]
# **2.** A colleague's e4m3 kernel takes `largest / 256` for the scale. Is that wrong? What does it lose?
#
# <details><summary>Answer</summary>
#
# Values then end at 256, and the numbers above it are not used: not quite a power of two of the range. The relative error
# stays, unless small numbers become subnormal for it. A scale that is a power of two even has a merit: dividing by it
# rounds nothing.
#
# </details>

# %% [markdown]
# **3.** Why is l summed from P before P is rounded?
#
# <details><summary>Answer</summary>
#
# It costs nothing, and rounding errors of single probabilities do not get into LSE, which the backward pass rebuilds P from. One
# could argue for the other way: then the rounded weights would sum to exactly 1. Try both, and measure.
#
# </details>

# %% [markdown]
# ### Journal
#
# *Two or three sentences for yourself in a month. Where did you expect a scale or a rotation to help, and it did not? What would you look
# at first in a model whose loss is worse in eight bits? Double-click here and write.*

# %% [markdown]
# ### What comes next
#
# One kernel, and many kinds of attention: grouped heads, windows, soft caps, biases, lengths that differ. Lesson 15 writes them as
# hooks of one forward and one backward pass.
#
# **Sources.** Formats: P. Micikevicius et al., *FP8 formats for deep learning*, 2022. Block scales, rotation before rounding,
# V's layout and P's registers: J. Shah et al., *FlashAttention-3*, 2024, sections 3.3 and 4.3. Incoherence by random orthogonal
# matrices: J. Chee et al., *QuIP*, 2023; by Hadamard matrices with signs: A. Tseng et al., *QuIP#*, 2024. Accumulators: DeepSeek-AI,
# *DeepSeek-V3 technical report*, 2024, section 3.3. Operand layouts and casts: NVIDIA, PTX ISA, `wgmma.mma_async` and `cvt`.
