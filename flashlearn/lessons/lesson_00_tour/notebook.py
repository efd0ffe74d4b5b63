# %% [markdown]
# # Tour: from an empty cell to a kernel of your own
#
# A GPU is fast because it does one small thing in very many places at once. A *kernel* is that small
# thing, written down: a function of about ten lines that says what one worker does with its piece of the
# data. In this lesson you write three of them in Triton, a language for kernels that lives inside Python.
#
# **Afterwards you can**
#
# - say what this course is for, in one picture and two numbers;
# - say which elements a program owns, given nothing but its number, and draw it;
# - load and store blocks of numbers through pointers, strides and masks, and give a reason for every mask;
# - write a kernel and the function that launches it, and read what the check says about them.
#
# **You need** Python, and from PyTorch only what a tensor, its shape and its dtype are. You need no CUDA
# and no GPU: everything here works on a laptop.
#
# **It takes** 60 to 90 minutes: a look ahead, ten small experiments of two minutes each, three exercises of
# three to fifteen lines, three questions at the end.
#
# The lesson is a notebook. Click into a cell and press Shift+Enter to run it; run them from the top. Where
# a cell says TODO, it is yours to fill in.

# %%
import torch
import triton
import triton.language as tl
from torch import Tensor

import flashlearn
from flashlearn import DEVICE
from flashlearn.course import environment
from flashlearn.kernels.attention import flash_attention
from flashlearn.lessons.lesson_00_tour import first_look, pictures

# %% [markdown]
# ## 1 · Is everything in place?
#
# The next cell looks at this machine: versions, compilers, a GPU if there is one. Where something is
# missing, its line says what to do. (In a terminal, `flashlearn doctor` prints the same in full detail.)

# %%
for item in environment.report():
    mark = {True: "ok", False: "TO FIX", None: "note"}[item.ok]
    details = [item.found] if item.ok is not True or item.name == "mode" else []
    print(f"{mark:8} {item.name:17}", " · ".join([*details, *filter(None, [item.advice])]))

# %% [markdown]
# The line to remember is the one about the mode.
#
# - **Observed**, on a machine without a GPU. Your kernels are run by Triton's interpreter, one program
#   after another, while an observer watches every address they touch. That is slow, but it misses no
#   access.
# - **Compiled**, on a machine with a GPU. A check first runs your kernel under the observer, on small
#   inputs; then it compiles the kernel and runs it on the GPU, on large inputs as well, and times it.
#
# What you write is the same in both. `DEVICE` is `"cuda"` or `"cpu"` accordingly, and the lessons allocate
# their tensors there.

# %% [markdown]
# ## 2 · What you will have written
#
# Let us begin at the end. A language model reads a text by *attention*: each character (here a token is a
# character) looks at the others, decides how much each of them matters, and takes a weighted mean of what
# they have to say. For $S$ characters that is $S \times S$ weights. The formula is one line of PyTorch,
# and the plain way to compute it writes all these weights to memory. *FlashAttention* gives the same
# result without ever writing them to memory: not in the forward pass, and not when the gradients come
# back.
#
# Here is a model of one layer. It predicts every next character of a short text, and the loss is
# propagated back through it: once with the plain formula, and once with the course's own
# `flash_attention`, which is a handful of Triton kernels and a few lines around them.
#
# **Predict:** do the two losses agree? The gradients? And which of the two keeps more memory?

# %%
text = "to be, or not to be: that is the question"
with_plain = first_look.one_step(text, first_look.plain, DEVICE)
with_flash = first_look.one_step(text, flash_attention, DEVICE)

for name, step in (("plain", with_plain), ("flash", with_flash)):
    print(f"{name}: loss {step.loss:.4f}, attention keeps {step.kept:,} bytes for the backward pass")
print("gradients agree:", torch.allclose(with_plain.gradient, with_flash.gradient, atol=1e-5))
assert torch.allclose(with_plain.gradient, with_flash.gradient, atol=1e-5)

# %% [markdown]
# Same loss, same gradients, three quarters of the memory. For forty characters, that is hardly worth a
# course. So let the text grow. The next cell counts what one head keeps at four lengths and compares the
# counts with two formulas, in bytes, for rows of $D = 64$ numbers in fp32:
#
# $$\text{plain:}\quad 4\,(S^2 + 3SD) \qquad\qquad \text{flash:}\quad 4\,(4SD + S)$$

# %%
D = 64
formulas = {"plain": lambda S: 4 * (S * S + 3 * S * D), "flash": lambda S: 4 * (4 * S * D + S)}
ways = {"plain": first_look.plain, "flash": flash_attention}
counted = {
    name: {S: first_look.kept_bytes(attention, S, D, DEVICE) for S in (32, 64, 128, 256)}
    for name, attention in ways.items()
}
assert all(kept == formulas[name](S) for name in ways for S, kept in counted[name].items())
assert formulas["plain"](65) == formulas["flash"](65)

pictures.memory_kept(counted, formulas)

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - One formula has a square in it, and the other does not. At 65 characters they are equal: had the two
#   been compared only there, there would have been no reason for FlashAttention.
# - At 65,536, a long document, the plain way keeps 16 GiB. That is *one* head; models have dozens of heads
#   in dozens of layers, and an H100 has 80 GB in all. The other way keeps 64 MiB.
# - What flash keeps is its inputs, its output, and one number for each row. From these the backward pass
#   computes the weights again, one tile at a time. Why that number is enough, and why computing twice can
#   be *faster* than storing once, is what you will learn in this course.
#
# </details>
#
# In lesson 09 you will put this function together from kernels that you have written yourself. There are a
# few things to learn before that; the first is what happens when a kernel goes wrong.
#
# ## 3 · A cell that breaks on purpose
#
# The kernel below is meant to compute `z = a·x + y` for vectors of any length. Do not try to understand
# every line yet. Notice only that it is given the length of the vectors, `n`, and never uses it.


# %%
@triton.jit
def careless_kernel(a, x_ptr, y_ptr, z_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets)
    y = tl.load(y_ptr + offsets)
    tl.store(z_ptr + offsets, a * x + y)


def careless_add(a: float, x: Tensor, y: Tensor) -> Tensor:
    n = x.numel()
    z = torch.empty_like(x)
    careless_kernel[(triton.cdiv(n, 256),)](a, x, y, z, n, BLOCK=256)
    return z


flashlearn.check("scaled_add", careless_add, demo=True)

# %% [markdown]
# That is a *report*. Its first sentence names the program, the tensor, and the element that the program
# tried to access; below that is the line of your cell where it happened. The kernel works on blocks of 256
# elements, whose positions the report calls *lanes*. The vector of the first case has 1000 elements. The
# fourth block begins at 768 and would end at 1023: its last 24 lanes have no element. That block belongs
# to program (3, 0, 0). (Programs are counted from 0, and they have three numbers because they may be laid
# out in three dimensions. Ours are laid out in one, so only the first number varies. Programs are written
# like this everywhere in the course.)
#
# `demo=True` says that this is a demonstration: nothing is recorded, and no case counts against you.
#
# Without the observer the same mistake can end in three ways, and you cannot choose which. The load may
# return whatever lies beyond the vector, and nothing tells you. The process may crash, and the notebook's
# Python with it. On a GPU it may be an *illegal memory access*, after which every further CUDA call of the
# process fails as well. Here it is a sentence, and you can carry on.
#
# The same holds for launches of your own, outside any check. On a machine without a GPU they are always
# observed; on a GPU `with flashlearn.observing():` asks for it.

# %%
five = torch.ones(5)
try:
    with flashlearn.observing():
        careless_kernel[(1,)](2.0, five, five, torch.empty(5), 5, BLOCK=8)
except flashlearn.OutOfBounds as error:
    print(error)

# %% [markdown]
# ## 4 · Programs and blocks
#
# The rest of the lesson alternates between experiments and exercises. An experiment is a kernel of a few
# lines and a launch. Do each in this order:
#
# 1. read the cell, and **predict** the output: say it aloud or write it down;
# 2. run it;
# 3. open *What to notice*. Where your prediction was wrong, you have learned something; that is what it is
#    for.
#
# ### Experiment 1: one kernel, many programs
#
# A kernel is launched with a *grid*: `kernel[grid](arguments)`. The grid is a tuple, and `(4,)` asks for
# four *programs*. All four run the same code; `tl.program_id(0)` is what tells them apart. A tensor
# arrives in a kernel as a *pointer*, the address of its first element: `out_ptr + pid` is the address of
# element `pid`, and `tl.store` writes there.
#
# **Predict:** there are six slots and four programs. What is printed?


# %% tags=["nbval-check-output"]
@triton.jit
def who_am_i(out_ptr):
    pid = tl.program_id(0)
    tl.store(out_ptr + pid, 10 * pid)


out = torch.zeros(6, dtype=torch.int32, device=DEVICE)
who_am_i[(4,)](out)
print(out.tolist())

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - There is no loop over programs. The grid is the loop, and on a GPU its iterations run in parallel.
# - Each program knew only its number, and computed its slot from that: a number goes in, a piece of the
#   data comes out. Nearly every kernel of this course begins like this.
# - No program wrote the last two slots. They are 0 because `torch.zeros` made them so; with `torch.empty`
#   they could hold anything. A check fills outputs beforehand with values that no right answer contains,
#   so that a slot that was never written cannot look right.
# - The kernel returned nothing. It leaves its results in memory that the caller allocated.
# - Nothing is guaranteed about the order in which programs run. The check shuffles it.
#
# </details>

# %% [markdown]
# ### Experiment 2: a block
#
# One number per program would be a waste of a GPU. A Triton program works on a *block*: a small array
# whose elements are computed together. We call its places *lanes*. `tl.arange(0, BLOCK)` is the block
# $[0, 1, \dots, \text{BLOCK} - 1]$, and arithmetic on it happens in every lane at once.
#
# **Predict:** one program. What is printed?


# %% tags=["nbval-check-output"]
@triton.jit
def squares(out_ptr, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    tl.store(out_ptr + lanes, lanes * lanes)


out = torch.zeros(8, dtype=torch.int32, device=DEVICE)
squares[(1,)](out, BLOCK=8)
print(out.tolist())

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - `out_ptr + lanes` is a pointer plus a block of numbers: a block of eight addresses, one per lane.
#   `tl.store` writes to all eight.
# - `BLOCK` is marked `tl.constexpr`: it is fixed when the kernel is compiled. The size of every block must
#   be fixed then, since it decides how many registers (the GPU's fastest and scarcest memory) a program
#   takes. For a new value of `BLOCK` the kernel is compiled again. Other arguments, such as a vector's
#   length, may differ from launch to launch.
# - Try `BLOCK=4`: the second half stays 0.
#
# </details>

# %% [markdown]
# ### Experiment 3: blocks are powers of two
#
# **Predict:** the same kernel with 48 lanes instead of 8. What is different about 48?

# %%
out = torch.zeros(48, dtype=torch.int32, device=DEVICE)
try:
    squares[(1,)](out, BLOCK=48)
except Exception as error:
    print(error)

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - A block's length must be a power of two: 1, 2, 4, …, 64, 128. The compiler spreads a block over threads
#   that come in groups of 32, and powers of two divide evenly at every step.
# - Your data can have any length. So you take the next power of two, here 64
#   (`triton.next_power_of_2(48)`), and 16 lanes have nothing to do. Or you take several shorter blocks,
#   and the last one may not be full. Either way some lanes must be kept from touching memory. That is what
#   a mask is for.
#
# </details>

# %% [markdown]
# ### Experiment 4: a mask
#
# `mask=` takes a block of truth values. Where it is false, that lane's store does not happen.
#
# **Predict:** eight lanes, `n` is 5. What is printed?


# %% tags=["nbval-check-output"]
@triton.jit
def count_up(out_ptr, n, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    tl.store(out_ptr + lanes, lanes + 1, mask=lanes < n)


out = torch.zeros(8, dtype=torch.int32, device=DEVICE)
count_up[(1,)](out, 5, BLOCK=8)
print(out.tolist())

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - `lanes < n` compares a block with one number: a block of eight truth values. A single number takes part
#   in every lane; this is called *broadcasting*, and it works as in NumPy and PyTorch.
# - All eight lanes computed `lanes + 1`. A mask does not save work: it decides which lanes may touch
#   memory.
#
# </details>

# %% [markdown]
# ### Many programs, and a ragged tail
#
# Put the pieces together. A vector of `n` elements is cut into blocks; program $p$ owns the elements
#
# $$p \cdot \text{BLOCK} + \ell \qquad \text{for the lanes} \qquad \ell = 0,\; 1,\; \dots,\; \text{BLOCK} - 1,$$
#
# as long as they are less than `n`. Here are 10 elements and blocks of 4. Run the cell, and you can change
# both numbers:

# %%
pictures.sliding_programs()

# %% [markdown]
# Three programs are needed, not two: $10 / 4$ is *rounded up*, which in Python is `triton.cdiv(10, 4)`.
# Two elements are left for program (2, 0, 0): they are the *ragged tail* of the vector. Its other two
# lanes lie beyond the end. The dashed lanes are the ones that the careless kernel did not mask.
#
# Move `n` and `block`. When is the tail not ragged? What if `n` is smaller than `block`? How many dashed
# lanes can there be at most?
#
# <details><summary>Answer</summary>
#
# The tail is not ragged where `block` divides `n`. If `n` is smaller than `block`, there is one program,
# and `block - n` of its lanes are dashed. Every program owns at least one element, so at most `block - 1`
# lanes are dashed, all of them in the last program.
#
# </details>
#
# ### Exercise: `program_ids` · warm-up
#
# Fill a vector so that every element holds the number of the program that owns it. For 10 elements in
# blocks of 4 that is
#
# $$[0, 0, 0, 0, 1, 1, 1, 1, 2, 2].$$
#
# The *launcher*, the Python function that allocates the output, rounds the number of programs up and
# launches the kernel, is given. The vector `x` is there only for its length and its device; its values do
# not matter. Write the kernel: three lines.
#
# (A heading says what kind of exercise follows. *Warm-up*: a few minutes, to get your hands on something.
# *Core*: later lessons build on it. *Stretch*: it goes further, and nothing later depends on it.)
#
# Run the cell and the check below it **before** you change anything.

# %% exercise="program_ids"
# HINT: A program knows one thing that tells it apart: its number. Program $p$ owns `BLOCK` consecutive
#     elements, the first of which is `p * BLOCK`. The last program may own fewer than `BLOCK`, so the store
#     needs a mask.
# HINT: `tl.arange(0, BLOCK)` has shape `[BLOCK]`. Adding `pid * BLOCK` keeps the shape and gives element
#     numbers; comparing those with `n` gives the mask, `[BLOCK]` too. The value to store is a single number,
#     and Triton broadcasts it over the lanes.
# HINT: `offsets = pid * BLOCK + tl.arange(0, BLOCK)`, and then `tl.store(ids_ptr + offsets, pid, mask=offsets
#     < n)`. One line is left for you: where `pid` comes from.
# INCLUDE: flashlearn/kernels/tour.py:program_ids_kernel


# INCLUDE: flashlearn/kernels/tour.py:program_ids

# %%
flashlearn.check("program_ids", program_ids)

# %% [markdown]
# With the stub still in place the check says *not started* and repeats what the stub asks for. That is not
# a failure.
#
# Now replace the line with `tl.static_assert` by your three lines, run both cells, and read what the
# report says. Wrong answers are welcome here: the report tries to name the mistake, and an attempt costs
# nothing.
#
# If you are stuck for more than a few minutes, ask for a hint. There are three for every exercise: the
# first gives the concept, the second the shape of the answer, the third nearly the line. Remove the `#`
# and run:

# %%
# flashlearn.hint("program_ids")

# %% [markdown]
# What you have passed and which hints you took is stored on this machine, in `.flashlearn/` beside the
# course unless `FLASHLEARN_HOME` names another folder. To see it:

# %%
flashlearn.status()

# %% [markdown]
# (In a terminal, `flashlearn status` says the same, and `flashlearn check 00` runs this whole notebook
# without opening it.)

# %% [markdown]
# ## 5 · Addresses
#
# So far everything was a vector. A matrix lies in memory as a vector too: one row after the other, which
# is called *row-major*. A pair of *strides* turns a pair of indices into an address:
# ```text
# address of x[i, j]  =  x_ptr  +  i * stride_row  +  j * stride_column
# ```
#
# A stride says how many elements further on the next row, or the next column, begins. In PyTorch,
# `x.stride()` returns them. For a row-major matrix with 6 columns it is `(6, 1)`.

# %% [markdown]
# ### Experiment 5: one memory, two matrices
#
# `x.T` is the transposed matrix. PyTorch does not move a single number to make it: it returns a view of
# the same memory with the strides swapped.
#
# **Predict:** what are the two numbers, and the two pairs of strides?


# %% tags=["nbval-check-output"]
@triton.jit
def pick(x_ptr, out_ptr, i, j, stride_row, stride_column):
    tl.store(out_ptr, tl.load(x_ptr + i * stride_row + j * stride_column))


x = torch.arange(18, dtype=torch.int32, device=DEVICE).reshape(3, 6)  # x[i, j] = 6 i + j
for matrix in (x, x.T):
    out = torch.zeros((), dtype=torch.int32, device=DEVICE)
    pick[(1,)](matrix, out, 1, 2, matrix.stride(0), matrix.stride(1))
    print(out.item(), matrix.stride())

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - A kernel gets only the address of a tensor's first element. Shape and strides do not come with it:
#   those that the kernel needs, you pass as numbers.
# - `x_ptr + 1` is the next *element*, not the next byte: the pointer knows that an int32 has four.
# - The kernel did not change. A kernel that uses strides also works for transposed matrices, columns,
#   every second element and windows into larger matrices. One that computes `i * columns + j` instead gets
#   wrong numbers for such views, and a GPU usually reports no error, because the addresses are valid.
#   Tensors that are not row-major are common; the exercises have some.
#
# </details>

# %% [markdown]
# ### Experiment 6: a tile
#
# Kernels for matrices work on two-dimensional blocks, *tiles*. There is no two-dimensional `tl.arange`:
# you build one by broadcasting. `rows[:, None]` has shape `[2, 1]`, `columns[None, :]` has shape `[1, 4]`,
# and their sum has shape `[2, 4]`: every row number is combined with every column number.
#
# **Predict:** which eight numbers of `x` are loaded, and how are they arranged? (`x[i, j]` is `6 i + j` as
# before.)


# %% tags=["nbval-check-output"]
@triton.jit
def copy_tile(x_ptr, out_ptr, stride_row, stride_column):
    rows = 1 + tl.arange(0, 2)  # [2]
    columns = 1 + tl.arange(0, 4)  # [4]
    tile = tl.load(x_ptr + rows[:, None] * stride_row + columns[None, :] * stride_column)  # [2, 4]
    slots = tl.arange(0, 2)[:, None] * 4 + tl.arange(0, 4)[None, :]  # [2, 4]: 0 … 7, row by row
    tl.store(out_ptr + slots, tile)


out = torch.zeros(2, 4, dtype=torch.int32, device=DEVICE)
copy_tile[(1,)](x, out, x.stride(0), x.stride(1))
print(out.tolist())

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - The pointer block has the shape of the tile. Each lane has an address of its own, and the addresses
#   need not be adjacent.
# - It is `x[1:3, 1:5]`, with the addresses computed by hand. If you write `rows[None, :]` instead of
#   `rows[:, None]`, the shapes `[1, 2]` and `[1, 4]` do not match: broadcasting stretches only dimensions
#   of length 1.
#
# </details>

# %% [markdown]
# Where does such a tile lie? Each square shows its element's offset, in the matrix above and in memory
# below.

# %%
pictures.sliding_strides()

# %% [markdown]
# Change the strides: `(8, 1)` is a window into a matrix with 8 columns, `(12, 2)` takes every second
# column of one with 12, and `(1, 3)` is a matrix that is stored column by column, as a transposed one is.
# Elements that are not part of the view are dashed. Which of these layouts keep the four numbers of a
# tile's row adjacent in memory?
#
# <details><summary>Answer</summary>
#
# Those whose second stride is 1: `(6, 1)` and `(8, 1)`. With `(12, 2)` every second element is not part of
# the view, and with `(1, 3)` it is the columns whose elements are adjacent.
#
# </details>
#
# The kernel is `copy_tile` for all of them. On a GPU the difference is one of speed: memory is fetched in
# runs of neighbouring bytes, so lanes that read neighbouring elements share a fetch. Lesson 05 measures
# it.
#
# ## 6 · Reductions and fillers
#
# A *reduction* turns a block into something smaller: a sum, a maximum. In Triton these are
# `tl.sum(tile, axis=…)` and `tl.max(tile, axis=…)`. Attention's softmax needs both.
#
# ### Experiment 7: which axis disappears
#
# **Predict:** the tile is $\begin{pmatrix} 1 & 2 & 3 & 4 \\ 10 & 20 & 30 & 40 \end{pmatrix}$. What are the
# sums with `axis=0`, and how many are there?


# %% tags=["nbval-check-output"]
@triton.jit
def both_sums(x_ptr, over_0_ptr, over_1_ptr):
    i, j = tl.arange(0, 2), tl.arange(0, 4)
    x = tl.load(x_ptr + i[:, None] * 4 + j[None, :])  # [2, 4]
    tl.store(over_0_ptr + j, tl.sum(x, axis=0))
    tl.store(over_1_ptr + i, tl.sum(x, axis=1))


tile = torch.tensor([[1, 2, 3, 4], [10, 20, 30, 40]], dtype=torch.int32, device=DEVICE)
over_0 = torch.zeros(4, dtype=torch.int32, device=DEVICE)
over_1 = torch.zeros(2, dtype=torch.int32, device=DEVICE)
both_sums[(1,)](tile, over_0, over_1)
print("axis=0:", over_0.tolist())
print("axis=1:", over_1.tolist())

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - The axis that you name is the one that disappears. `axis=0` runs down the rows and leaves one number
#   per column; `axis=1` runs along the columns and leaves one per row. As in NumPy and PyTorch.
# - A block with one dimension, shape `[BLOCK]`, has only `axis=0`, and its sum is a single number.
#
# </details>

# %% [markdown]
# ### Experiment 8: what the idle lanes hold
#
# A masked *load* raises a question that a masked store does not. The lanes whose mask is false do not read
# memory, but they exist, and a reduction will include them. What do they hold? You choose it with
# `other=`.
#
# **Predict:** the vector is $[-3, -1, -2, -5, -4]$ in a block of 8. What is its maximum with `other=0.0`,
# and with `other=-inf`?


# %% tags=["nbval-check-output"]
@triton.jit
def largest(x_ptr, out_ptr, n, OTHER: tl.constexpr, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + lanes, mask=lanes < n, other=OTHER)
    tl.store(out_ptr, tl.max(x, axis=0))


numbers = torch.tensor([-3.0, -1.0, -2.0, -5.0, -4.0], device=DEVICE)
for other in (0.0, -float("inf")):
    out = torch.zeros((), device=DEVICE)
    largest[(1,)](numbers, out, 5, OTHER=other, BLOCK=8)
    print(f"other = {other:4}: the maximum is {out.item()}")

# %%
pictures.masked_lanes([-3, -1, -2, -5, -4], block=8, other=-float("inf"))

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - With zeros in the idle lanes, the maximum of five negative numbers is 0, which is not one of them. With
#   positive data the same kernel is right, so a careless test passes.
# - The right filler is the one that changes nothing, the *neutral element* of the reduction:
#
# | reduction | filler | because |
# |---|---|---|
# | sum | $0$ | $s + 0 = s$ |
# | maximum | $-\infty$ | $\max(m, -\infty) = m$ |
# | minimum | $+\infty$ | $\min(m, +\infty) = m$ |
# | product | $1$ | $p \cdot 1 = p$ |
#
# - Softmax needs both at once: a maximum, then a sum of exponentials. Load with $-\infty$, and the sum is
#   right too, because $e^{-\infty} = 0$. You will write exactly that in lesson 02.
# - Without `other=` the values of the idle lanes are undefined. That is harmless where they are never
#   used: where nothing is reduced, and the store has the same mask.
#
# </details>

# %% [markdown]
# ### Experiment 9: a row that is longer than a block
#
# A block lives in registers, of which there are few. A row of a million elements does not fit, so a
# program goes through it in a loop, block by block. Inside a kernel, `for` and `range` work as usual.
#
# **Predict:** the numbers 1 to 100, in blocks of 32. How many iterations does the loop have, and how many
# lanes are idle in the last one? What is printed?


# %% tags=["nbval-check-output"]
@triton.jit
def total(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    sums = tl.zeros((BLOCK,), dtype=tl.float32)  # one running sum per lane
    for start in range(0, n, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        sums += tl.load(x_ptr + offsets, mask=offsets < n, other=0.0)
    tl.store(out_ptr, tl.sum(sums, axis=0))  # the lanes' sums are added once, at the end


hundred = torch.arange(1, 101, dtype=torch.float32, device=DEVICE)
out = torch.zeros((), device=DEVICE)
total[(1,)](hundred, out, 100, BLOCK=32)
print(out.item())

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - Four iterations, and in the last one 28 of 32 lanes are idle: $4 \cdot 32 - 100 = 28$. Their zeros do
#   not change any sum.
# - The sums are kept separate, one per lane, until the end: adding across lanes needs communication,
#   adding within a lane does not.
# - The loop runs inside one program, which carries its sums from one iteration to the next. The programs
#   of a grid cannot pass anything on like that: none of them waits for another. This loop, with a maximum
#   and a sum carried along, is the heart of FlashAttention (lessons 04 and 06).
#
# </details>

# %% [markdown]
# ### Experiment 10: half precision cannot count far
#
# Attention usually runs in fp16 or bf16, numbers of 16 bits. They are good for storing values and bad for
# adding them up.
#
# **Predict:** in fp16, what is 2048 + 1? In bf16, what is 256 + 1?

# %% tags=["nbval-check-output"]
for dtype, start in ((torch.float16, 2048), (torch.bfloat16, 256)):
    count = torch.tensor(start, dtype=dtype)
    print(dtype, (count + 1).item())

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - The 1 is lost. fp16 keeps 11 significant bits: from 2048 on it has only even numbers, and $2049$ is
#   rounded back to $2048$. bf16 keeps 8 bits and reaches that point at 256. Counting by ones in fp16 never
#   gets beyond $2048$.
# - So kernels load half precision, **convert to fp32, compute there,** and convert back when they store:
#   `x.to(tl.float32)` after the load; `tl.store` converts to the pointer's type by itself.
# - `tl.sum` adds floating-point numbers in the type that it is given. Converting to fp32 first is up to
#   you.
#
# </details>

# %% [markdown]
# ### Exercise: `row_sum` · core
#
# For a matrix `x` with `rows` rows and `columns` columns, compute $s_i = \sum_j x_{ij}$: one program per
# row, the whole row in one block. The launcher is given. What your kernel has to handle:
#
# - `columns` is any number; `BLOCK` is the smallest power of two that is not less. What do the idle lanes
#   hold, and why?
# - `x` may be a transposed matrix, a window into a wider one, or every second column of one. Both strides
#   are passed.
# - `x` may be fp16 or bf16. Sum in fp32; the store converts back, since `s` has the dtype of `x`.
#
# Before you write, complete these sentences: program $i$ loads the addresses …; lane $j$ may load if …;
# the other lanes hold …, because ….

# %% exercise="row_sum"
# HINT: One program per row: the program's number is the row's number. It loads the whole row as one block.
#     Since a block's length is a power of two, some lanes have no column. What must they hold so that they do
#     not change a sum?
# HINT: `j = tl.arange(0, BLOCK)` are the columns, shape `[BLOCK]`, and $x_{ij}$ lies at `x_ptr + i *
#     stride_row + j * stride_column`. `tl.sum(…, axis=0)` turns `[BLOCK]` into one number, which goes to
#     `s_ptr + i`. Convert to fp32 before the sum.
# HINT: `x = tl.load(x_ptr + i * stride_row + j * stride_column, mask=j < columns, other=…)`, then the sum of
#     `x.to(tl.float32)`, then one `tl.store` without a mask: a program writes exactly one element. Replace
#     the dots with a value that adds nothing.
# INCLUDE: flashlearn/kernels/tour.py:row_sum_kernel


# INCLUDE: flashlearn/kernels/tour.py:row_sum

# %%
flashlearn.check("row_sum", row_sum)

# %%
# flashlearn.hint("row_sum")

# %% [markdown]
# When it passes: well done, that is the skeleton of every row-wise kernel to come. Now break it on
# purpose, one thing at a time, and read what the check says: `other=1.0`; `j <= columns`; `i * columns`
# instead of `i * stride_row`; no conversion to fp32. Half of debugging is knowing which symptom belongs to
# which cause, and this is the cheapest place to learn it.

# %% [markdown]
# ## 7 · The whole thing
#
# ### Exercise: `scaled_add` · stretch
#
# Compute $z = a \cdot x + y$ for two vectors, the operation that numerical libraries have called *axpy*
# since 1979. You saw it done carelessly at the top of this lesson. Now write it well, kernel and launcher,
# without looking back. (It is a stretch because you write the launcher too; from here to lesson 09
# launchers are given.)
#
# - `x` and `y` have `n` elements, `n` any positive number; `a` is a Python float, positive or negative.
# - `x` and `y` share a dtype: fp32, fp16 or bf16. `z` is a new tensor, and has that dtype, too. Compute in
#   fp32 and round once: `y` may nearly cancel `a * x`.
# - `x` and `y` may be *strided*: `x[::2]` is every second element of a longer vector, and its stride is 2.
#   There are two good ways to deal with that, and the check accepts both. You can pass `x.stride(0)` and
#   multiply the offsets by it: one multiplication per address, no extra memory. Or the launcher can call
#   `x.contiguous()` first, which copies the vector if it has gaps: a simpler kernel, at the price of
#   reading and writing `x` once more. The kernel's signature below is for the first way.
# - The launcher allocates `z`, chooses `BLOCK` (256 to 1024 are good values here), rounds the grid up,
#   launches, and returns `z`. `x` and `y` stay as they are.

# %% exercise="scaled_add"
# HINT: Cut the vectors into blocks of `BLOCK` elements, one program each, and round the number of programs
#     up. Every program does four things with its block: find the addresses, load x and y, compute, store.
# HINT: Offsets and mask have shape `[BLOCK]`, as in `program_ids`. `x[i]` lies at `x_ptr + i * stride_x`,
#     `y[i]` at `y_ptr + i * stride_y`. Both loads and the store take the mask. The launcher needs
#     `torch.empty(n, dtype=…, device=…)`, the grid `(triton.cdiv(n, BLOCK),)`, and the strides, `x.stride(0)`
#     and `y.stride(0)`.
# HINT: `x = tl.load(x_ptr + offsets * stride_x, mask=offsets < n).to(tl.float32)`, y likewise with its own
#     stride, and one store of the sum under the same mask: `z` is contiguous. The launch is
#     `scaled_add_kernel[grid](…, BLOCK=BLOCK)`, with the kernel's other arguments in their order.
# INCLUDE: flashlearn/kernels/tour.py:scaled_add_kernel


# INCLUDE: flashlearn/kernels/tour.py:scaled_add

# %%
flashlearn.check("scaled_add", scaled_add)

# %%
# flashlearn.hint("scaled_add")

# %% [markdown]
# <details><summary><b>What to notice</b>, once it has passed</summary>
#
# Did you convert `x` and `y` to fp32? It passes without that, too. A Python float arrives in a kernel as
# an fp32 number, and fp16 times fp32 is fp32. So `a * x` is computed in fp32 whether you ask for it or
# not, and the sum with it. That is luck: without `a`, `x + y` would have been added in fp16. Write the
# conversion explicitly. The next kernel has no `a`.
#
# </details>
#
# ### Reading a whole report
#
# Here is the report on a right `scaled_add`: yours if it has passed, the course's own otherwise. (That is
# what `flashlearn.use` is for. You will see it again wherever a lesson builds on an earlier exercise.)

# %%
report = flashlearn.check("scaled_add", flashlearn.use("scaled_add", scaled_add), demo=True)
report

# %% [markdown]
# At the top are the verdict, one sentence and the next step; after a pass, also one headline figure. Cases
# are run even after one has failed (only a slow kernel that keeps failing skips its longest ones), and the
# sentence is about what has to be fixed first. Everything else is folded below it. Click on each part:
#
# - **Cases**, with a dot for each: what is special about it, the largest error, and how much error is
#   allowed. The bound is not a constant: it comes from how far plain PyTorch at the same precision is from
#   the same answer in fp64.
# - **Time**: on a GPU it is measured, and compared with PyTorch's own function for the same task;
#   elsewhere it is a prediction from bytes and operations for three well-known GPUs, and labelled as one.
# - **Memory traffic** (in the text form of a report, *Traffic*): how many bytes your programs loaded and
#   stored, tensor by tensor. These are *requested* bytes: idle lanes do not count, and what is requested
#   twice counts twice. If some bytes are, a second column counts each of them *once* (*unique*): at least
#   that much has to be moved. Where the two are far apart, programs read the same data again and again,
#   and caches decide what that costs.
# - **On a GPU**, the budget: your kernel, as Triton's compiler translates it for an A100 (sm_80), an
#   H100 (sm_90) and your GPU, else an RTX 4090 (sm_89), for the types and constants given there. You need no
#   GPU for that. *Registers* are per thread, at most 255. *Spilled* is what did not fit into them and goes to
#   slower memory; it should be nothing. *Shared memory* and *occupancy* say how many programs one
#   multiprocessor can hold at a time.
#   Lesson 05 explains them; until then it is enough that nothing is spilled.
#
# **Predict:** the first case has 1000 elements in fp32, four bytes each. How many bytes does a right
# kernel load and store?

# %% tags=["nbval-check-output"]
observation = report.outcomes[0].observation
print("requested:", observation.bytes_requested, " unique:", observation.bytes_unique)

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - Two vectors are read and one is written: $3 \cdot 1000 \cdot 4 = 12\,000$ bytes. Requested and unique
#   agree: every byte is touched once.
# - The last block has idle lanes, and they cost no traffic.
# - Per element there are two operations and twelve bytes. In the time it takes to move one byte, an A100
#   can do about ten operations in fp32, and an H100 about twenty (by their data sheets). So `scaled_add`
#   waits for memory nearly all the time, and no cleverness in its arithmetic would help. Whether a kernel
#   waits for memory or for arithmetic is the first question to ask about its speed, and the answer is why
#   FlashAttention exists.
#
# </details>

# %% [markdown]
# ## 8 · What you have now
#
# | | in Triton | remember |
# |---|---|---|
# | who am I | `tl.program_id(0)` | the grid is the loop; no order is guaranteed |
# | which elements are mine | `pid * BLOCK + tl.arange(0, BLOCK)` | powers of two, `tl.constexpr` |
# | where are they | `x_ptr + i * stride_row + j * stride_column` | elements, not bytes; strides come as arguments |
# | do they exist | `mask=offsets < n` | round the grid up, mask the tail |
# | what if they do not | `other=` | the neutral element of the reduction that follows |
# | a tile | `rows[:, None]`, `columns[None, :]` | dimensions of length 1 stretch |
# | one number out of many | `tl.sum(x, axis=…)` | the axis you name disappears; convert to fp32 first |
#
# ### Questions for yourself
#
# Answer before you unfold.
#
# **1.** A vector has 1000 elements, and blocks have 256. How many programs are there? How many lanes are
# idle in all? And if someone writes the grid as `(n // BLOCK,)`, which elements of the result are wrong?
#
# <details><summary>Answer</summary>
#
# $\lceil 1000 / 256 \rceil = 4$ programs, $4 \cdot 256 - 1000 = 24$ idle lanes, all in program (3, 0, 0).
# Rounded down there are three programs, and elements 768 to 999 are never written: they hold whatever was
# in that memory. If `n` is a multiple of 256, the mistake does not show.
#
# </details>

# %% [markdown]
# **2.** A colleague's row maximum loads with `other=0.0` and passes all of its tests. What must be true of
# the tests, and which test would you add?
#
# <details><summary>Answer</summary>
#
# Every tested row either has an element that is at least 0 or fills its block exactly. With random normal
# data that is almost certain: all 37 numbers of a row are negative once in $2^{37}$ draws. Add a row of
# negative numbers whose length is not a power of two.
#
# </details>

# %% [markdown]
# **3.** A kernel adds two vectors with `x_ptr + offsets` and is given `x[::2]` of a vector with 2000
# elements. Compiled, on a GPU, it does not crash. Why not, and what does it compute? Why does the check
# still reject it?
#
# <details><summary>Answer</summary>
#
# Offsets 0 to 999 from the first element are valid addresses: they are in the memory that the view shares
# with the longer vector. The kernel reads the first 1000 elements of that vector instead of every second
# one of all 2000. The observer knows the view as well as the memory: reading an element that does not
# belong to `x[::2]` is out of bounds.
#
# </details>

# %% [markdown]
# ### Journal
#
# *Two or three sentences in your own words, to be read again in a month. Which prediction was wrong, and
# what did you believe before? What is still unclear? Double-click here and write.*

# %% [markdown]
# ### What comes next
#
# You can now say what a kernel does with memory. What it should compute, in FlashAttention's backward
# pass, takes a derivation. Lesson 01 begins it: what a Jacobian is, why it is never written out in
# practice, and what is computed instead. There you also meet the small example that runs through the whole
# course, four queries and three keys of two numbers each, small enough to follow by hand.
#
# **Sources.** Blocks as a program's unit of work: P. Tillet, H. T. Kung, D. Cox, *Triton: an intermediate
# language and compiler for tiled neural network computations*, MAPL 2019. The vector kernel with its mask
# and the row-wise kernel with its filler: Triton's tutorials 01 (vector addition) and 02 (fused softmax);
# `arange`, `load`, `store`, `sum`: the reference of `triton.language`. Strides and views: PyTorch's
# documentation, *Tensor Views* and `torch.Tensor.stride`. Axpy: C. Lawson, R. Hanson, D. Kincaid, F.
# Krogh, *Basic linear algebra subprograms for Fortran usage*, ACM TOMS 5(3), 1979. The bits of fp16: IEEE
# 754-2019, section 3.6.
