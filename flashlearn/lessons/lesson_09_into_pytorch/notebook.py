# %% [markdown]
# # Into PyTorch
#
# You have a forward kernel, a kernel for $dQ$ and one for $dK$ and $dV$. What is missing is everything around them: a
# launcher that accepts whatever tensors a model produces, the few lines that connect your gradients with autograd, a
# test that you can trust, and a model that learns. At the end of this lesson a small transformer is trained on a
# novel by Jane Austen, once with torch's attention and once with yours, and the two loss curves are compared.
#
# **Afterwards you can**
#
# - say what a view does to strides, which copies a launcher can avoid, and which errors it should report to its
#   callers;
# - wrap kernels in a `torch.autograd.Function`, and say what to keep for the backward pass, how to keep it, and how
#   many bytes it takes;
# - say how far a finite difference can be trusted at each precision, and what to compare gradients with instead;
# - train a model with your own attention, and judge whether its loss curve is close enough to another's.
#
# **You need** lessons 06 to 08. Their functions are used here: your own where they have passed, the course's where
# they have not. You also need lesson 02 (softmax and its derivative), lesson 03 ($\delta$), and a little of lesson
# 01's sympy, and from PyTorch `nn.Module`, `loss.backward()` and an optimiser.
#
# **It takes** about three and a half hours: a launcher with its checks, an autograd.Function of about twelve
# lines, a training loop of about ten, three questions at the start and three at the end. On a computer without a GPU
# the training run itself takes a minute or a few. The end of section 3 is a good place for a break.

# %%
import inspect
import math
import time
from functools import partial

import matplotlib.pyplot as plt
import sympy as sp
import torch
import torch.nn.functional as F
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd.function import once_differentiable

import flashlearn
from flashlearn import DEVICE
from flashlearn.course.assembling import assemble
from flashlearn.kernels.attention import flash_attention, refuse_misfits
from flashlearn.kernels.flash_backward_dkv import dkv_kernel, dkv_kernel_causal
from flashlearn.kernels.flash_backward_dq import dq_kernel, dq_kernel_causal
from flashlearn.kernels.flash_forward import flash_forward, flash_forward_causal, flash_forward_kernel
from flashlearn.lessons.lesson_09_into_pytorch import pictures, training
from flashlearn.lessons.shared import reference

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
flashlearn.recall("09", answers)

# %% [markdown]
# ## 1 · Whose kernels are these?
#
# The first cell imported the course's six launchers. Here they are replaced by those that you have written. Each
# notebook is a separate Python session, so your functions are not defined here. They are found as follows:
#
# - If your progress says that an exercise of lessons 06 to 08 has passed, its cell is taken from your notebook in
#   `work/`, run, and checked again, since you may have changed it in the meantime. If it still passes, your function
#   is used. (The file is what is read: save the other notebook, with Ctrl-S, before you run the cell below.)
# - A function whose check passed *in this session* has precedence over all others. So, if your notebooks are
#   elsewhere, paste the cell of an exercise into the empty cell below, run `flashlearn.check("dq_kernel", dq_kernel)`
#   under it, and then run the cell after it.
# - For anything that is missing, the course's function is used, and the list says so.

# %%
# the cell of an exercise goes here, if the list below does not find it

# %%
kernels = assemble(
    "flash_forward",
    "flash_forward_causal",
    "dq_kernel",
    "dq_kernel_causal",
    "dkv_kernel",
    "dkv_kernel_causal",
)
flash_forward, flash_forward_causal = kernels["flash_forward"], kernels["flash_forward_causal"]
dq_kernel, dq_kernel_causal = kernels["dq_kernel"], kernels["dq_kernel_causal"]
dkv_kernel, dkv_kernel_causal = kernels["dkv_kernel"], kernels["dkv_kernel_causal"]
kernels

# %% [markdown]
# From here on these six names refer to the functions in the list. `flash_forward(q, k, v, alpha)` returns $O$ and
# LSE; `dq_kernel(q, k, v, o, do, lse, alpha)` returns $dQ$, and `dkv_kernel` returns $dK$ and $dV$ for the same
# arguments; the causal ones hide later keys, aligned bottom-right.
#
# ## 2 · What a view does to strides
#
# A tensor is a piece of memory and a rule: element $(b, h, s, d)$ is at offset
# $b\,\mathrm{st}_b + h\,\mathrm{st}_h + s\,\mathrm{st}_s + d\,\mathrm{st}_d$. A *view* changes the rule and leaves
# the memory as it is. Attention's inputs are usually views, because models rarely compute $Q$, $K$ and $V$ in the
# layout $[B, H, S, D]$. Often one linear layer writes a row of $3HD$ numbers for every position, and the heads are
# slices of it.
#
# Here are four layouts of a tensor with $H = 2$, $S = 3$, $D = 2$. Each box shows *s d*, and its colour shows the
# head; a dashed box is memory that is not part of the tensor. **Predict** the strides of each before you look: a
# contiguous tensor; one that a projection stored as $[B, S, H, D]$; a $K$ whose memory holds $K^\top$; and one head
# expanded to two.

# %%
numbers = torch.arange(12.0).view(1, 2, 3, 2)
views = {
    "contiguous": numbers,
    "projection": numbers.transpose(1, 2).contiguous().transpose(1, 2),
    "columns": numbers.mT.contiguous().mT,
    "expanded": numbers[:, :1].contiguous().expand(1, 2, 3, 2),
}
pictures.layouts(views)

# %% [markdown]
# All four have the shape $[1, 2, 3, 2]$, and a kernel that is given their strides reads each of them correctly
# without a copy. A kernel that assumes a layout reads something else: other heads' numbers, or memory beyond the end.
# The shape does not show this. Here is a kernel that copies head 1, three positions of two numbers, with the strides
# that it is given. **Predict** which of the four copies go wrong if it is given the strides of the contiguous tensor,
# (12, 6, 2, 1), and whether you would notice.


# %%
@triton.jit
def copy_head_kernel(x_ptr, out_ptr, st_h, st_s, st_d, BLOCK: tl.constexpr):
    s, d = tl.arange(0, BLOCK), tl.arange(0, BLOCK)
    inside = (s < 3)[:, None] & (d < 2)[None, :]
    x = tl.load(x_ptr + 1 * st_h + s[:, None] * st_s + d[None, :] * st_d, mask=inside, other=0.0)
    tl.store(out_ptr + s[:, None] * 2 + d[None, :], x, mask=inside)


for name, view in views.items():
    given_strides = []
    for strides in (view.stride(), (12, 6, 2, 1)):
        copied = torch.empty(3, 2)
        try:
            with flashlearn.observing():
                copy_head_kernel[(1,)](view, copied, *strides[1:], BLOCK=4)
            given_strides.append("right" if torch.equal(copied, view[0, 1]) else "wrong")
        except flashlearn.OutOfBounds:
            given_strides.append("reads beyond the end")
    print(f"{name:11} with its own strides: {given_strides[0]:6} with (12, 6, 2, 1): {given_strides[1]}")

# %% [markdown]
# The easy way out is `.contiguous()`, which copies. **Predict** what it would move, for $Q$, $K$ and $V$ of one layer
# at $B = 32$, $H = 8$, $S = 1024$, $D = 64$ in 16 bits, and compare it with the least that attention itself must
# move.

# %% tags=["nbval-check-output"]
B, H, S, D, size = 32, 8, 1024, 64, 2
one = B * H * S * D * size
print(f"one tensor               {one / 2**20:4.0f} MiB")
print(f"copying q, k and v       {3 * 2 * one / 2**20:4.0f} MiB: each is read and written")
print(f"the forward pass itself  {(4 * one + B * H * S * 4) / 2**20:4.0f} MiB at least: q, k, v, o and LSE")

# %% [markdown]
# So three copies move more bytes than the attention must. That is why your kernels take strides, four for each
# tensor. Here are three more places where a layout can be surprising. **Predict** each line: is it contiguous, and
# what are its strides?

# %% tags=["nbval-check-output"]
q = torch.randn(1, 3, 2, 4).transpose(1, 2).requires_grad_()  # [1, 2, 3, 4], as a projection leaves it
seen = {}
o = q * 2.0
o.register_hook(lambda do: seen.update(do=do))
o.sum().backward()

print("dO of o.sum()        ", tuple(seen["do"].stride()), seen["do"].is_contiguous())
print("torch.empty_like(q)  ", tuple(torch.empty_like(q).stride()), torch.empty_like(q).is_contiguous())
print("torch.empty(q.shape) ", tuple(torch.empty(q.shape).stride()), torch.empty(q.shape).is_contiguous())

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - The gradient of a sum is one number, expanded: all strides 0. A backward kernel that reads $dO$ with the strides
#   of $O$ is wrong at the first `o.sum().backward()`, a common first test.
# - `empty_like` keeps the strides of a dense view. If a kernel then assumes that its output is contiguous, or if a
#   launcher passes `q.stride()` for `o`, it works with one of the two allocations and not with the other. Decide
#   which you mean, the shape or the layout.
# - An expanded *output* would be worse: several programs would write the same element. So outputs should be newly
#   allocated.
# - On a GPU, neighbouring threads should read neighbouring memory. A last stride of 1 does that; with other strides
#   the answer is right, but the loads can be slower (lesson 05). FlashAttention's own package requires a last stride
#   of 1, and calls `.contiguous()` on a tensor that does not have it.
#
# </details>
#
# ### What does not fit
#
# A launcher should accept every view, but not every combination of tensors. A kernel gets only addresses and numbers,
# and cannot know that a tensor does not fit. **Predict** what happens when
# $Q$ has 16 columns, and $K$ and $V$ have 32. None of the course's six launchers checks this.

# %% tags=["nbval-check-output"]
generator = torch.Generator().manual_seed(1)
q = torch.randn(1, 1, 8, 16, generator=generator).to(DEVICE)
k, v = (torch.randn(1, 1, 8, 32, generator=generator).to(DEVICE) for _ in range(2))

o, lse = flash_forward(q, k, v, 0.25)
print("o has shape", tuple(o.shape), "and is finite:", bool(o.isfinite().all()))

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# There is no error. The launcher takes $D$ from $Q$, the kernel reads the first 16 columns of each key, and the
# result is a plausible tensor. If two tensors were mixed up, it may take a week to find out. With fewer *values* than
# keys the kernel would read beyond the end of $V$: here that is reported in a sentence, on a GPU the result may be
# garbage, or the program may crash far from the cause. And `q` in fp16 with `k` in fp32 gives a compiler error about
# `tl.dot`, several frames away from the line that is wrong.
#
# A launcher runs once per call, and such checks cost only microseconds. It is the last place where an error can be
# reported in terms that the caller understands: *what was found, what was expected, what to do*.
#
# </details>
#
# ### Exercise: `strided_inputs` · warm-up
#
# Write a launcher from scratch, around the course's `flash_forward_kernel` (the first kernel of lesson 06, without a
# mask). `strided_inputs(q, k, v, alpha=None)` returns $O$ and LSE.
#
# - q, k and v may have any strides, 0 included, and each may have different ones; nothing is copied. `o` is
#   contiguous, in q's dtype; `lse` is contiguous, fp32.
# - alpha is $1/\sqrt{D}$ if it is `None`. D need not be a power of two, and 0.0 is a valid alpha.
# - `refuse_misfits(q, k, v)` raises `TypeError` for dtypes and `ValueError` for the rest: a tensor that does not have
#   four dimensions; a dtype other than float32, float16, bfloat16; different dtypes or devices; shapes that do not
#   fit. The message names the argument and says what was found. Raise, do not `assert`: asserts vanish under
#   `python -O`.
#
# The kernel's signature:
#
# ```python
# flash_forward_kernel[grid](q, k, v, o, lse, alpha, H, S_q, S_k, D,
#     <four strides of q>, <of k>, <of v>, <of o>, BLOCK_Q=…, BLOCK_K=…, BLOCK_D=…)
# ```
#
# Program (i, h, b) computes block i of the queries of head h and batch entry b. Blocks of 32 are fine; `BLOCK_D` is a
# power of two, at least D and at least 16. The check runs the launcher on inputs in many layouts, and then on inputs
# that do not fit.

# %% exercise="strided_inputs"
# HINT: Two parts that have nothing to do with each other. First look at the arguments, and raise before
#     anything is launched: number of dimensions, dtypes, devices, shapes, in this order, since each question
#     only makes sense once the one before it has been answered. Then launch: whatever a view did to the strides,
#     `t.stride()` knows.
# HINT: Only S may differ between q and k: k and v have the shape `(B, H, S_k, D)`, with the B, H and D of
#     q. The kernel wants sixteen strides, four each of q, k, v and o in this order; `*t.stride()` writes
#     four. o is `torch.empty((B, H, S_q, D), …)`: `empty_like(q)` would copy q's layout. The grid is
#     `(triton.cdiv(S_q, BLOCK), H, B)`.
# HINT: The launch passes the five tensors, alpha, H, S_q, S_k, D, then four times `*t.stride()` in the order
#     q, k, v, o, then the three blocks by name, `BLOCK_D` with `triton.next_power_of_2` and at least 16. A
#     misfit is refused by a line such as `raise ValueError(f"k has shape {found}, expected {wanted}")`: one
#     for each kind of misfit, with TypeError for dtypes.
# INCLUDE: flashlearn/kernels/attention.py:refuse_misfits


# INCLUDE: flashlearn/kernels/attention.py:strided_inputs

# %%
flashlearn.check("strided_inputs", strided_inputs)

# %%
# flashlearn.hint("strided_inputs")

# %% [markdown]
# These are the messages that a caller gets (from your launcher, if it has passed):

# %%
launcher = flashlearn.use("strided_inputs", strided_inputs)
ones = torch.ones(1, 2, 8, 16, device=DEVICE)

for wrong in (ones[0], ones.half(), ones.expand(3, 2, 8, 16), ones[..., :12]):
    try:
        launcher(ones, wrong, wrong)
    except (TypeError, ValueError) as error:
        print(f"{type(error).__name__}: {error}")

# %% [markdown]
# The exercises that follow are not about this, so from here on the course's `refuse_misfits` is used. (If yours has
# passed and you would rather keep it, skip the next cell.)

# %%
from flashlearn.kernels.attention import refuse_misfits

# %% [markdown]
# ## 3 · What autograd needs to know
#
# `o = flash_forward(q, k, v, alpha)[0]` is a computation that autograd does not see: `o` is not part of a graph, and
# no gradient passes through it. With `torch.autograd.Function` you define a node of the graph yourself. It has two
# static methods:
#
# - `forward(ctx, *arguments)` computes the result, and stores on `ctx` what the backward pass will need;
# - `backward(ctx, *gradients)` gets one gradient per *output* of forward, and returns one per *argument* of forward,
#   in the same order, with `None` for an argument that has no gradient.
#
# A small but useful example is the softmax of lesson 02, whose derivative is a function of its output.


# %% tags=["nbval-check-output"]
class Softmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx, s):
        p = reference.softmax(s)
        ctx.save_for_backward(p)  # the output, not the input: lesson 02
        return p

    @staticmethod
    def backward(ctx, dp):
        (p,) = ctx.saved_tensors
        return reference.softmax_backward(p, dp)  # ds = p ∘ (dp − ⟨p, dp⟩)


s = torch.tensor([[0.0, math.log(2), math.log(3)]], requires_grad=True)
p = Softmax.apply(s)
(ds,) = torch.autograd.grad(p, s, torch.tensor([[1.0, -2.0, 0.0]]))
print("p ", p.detach().numpy().round(4), " ds", ds.numpy().round(4))
print("its node in the graph:", type(p.grad_fn).__name__)

# %% [markdown]
# (You computed $ds = (\frac14, -\frac12, \frac14)$ by hand in lesson 02.)
#
# `Softmax.apply` makes a fresh `ctx` for each call. **Predict** what this variant gives, which keeps `p` on the class
# instead. It looks almost the same, and a test with one call passes.


# %% tags=["nbval-check-output"]
class KeptOnTheClass(torch.autograd.Function):
    @staticmethod
    def forward(ctx, s):
        KeptOnTheClass.p = reference.softmax(s)
        return KeptOnTheClass.p.clone()

    @staticmethod
    def backward(ctx, dp):
        return reference.softmax_backward(KeptOnTheClass.p, dp)


p_first = KeptOnTheClass.apply(s)
p_second = KeptOnTheClass.apply(torch.zeros(1, 3, requires_grad=True))  # another layer, say
print(torch.autograd.grad(p_first, s, torch.tensor([[1.0, -2.0, 0.0]]))[0].numpy().round(4))

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - The first call's gradient is computed from the second call's $p$. Every model with two such layers calls the
#   function in this order: all forward passes come before the first backward pass.
# - `ctx.p = p` would give the right gradient here, but it is a bad habit. `save_for_backward` does three things that
#   an attribute does not: it lets autograd free the tensor together with the graph, it avoids a reference cycle if
#   the tensor is an output (which only the garbage collector would free), and it detects that the tensor has been
#   changed in between.
#
# </details>

# %% [markdown]
# Here is an experiment with the last of these. **Predict** which of the two lines prints a wrong gradient, and which
# raises an error.


# %% tags=["nbval-check-output"]
class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, properly):
        ctx.save_for_backward(x) if properly else setattr(ctx, "x", x)
        return x * x

    @staticmethod
    def backward(ctx, dy):
        (x,) = ctx.saved_tensors or (ctx.x,)
        return 2 * x * dy, None


for properly in (False, True):
    leaf = torch.tensor(3.0, requires_grad=True)
    x = leaf * 1.0
    y = Square.apply(x, properly)
    with torch.no_grad():
        x.zero_()  # an in-place operation somewhere else in the model
    try:
        print("gradient of x² at 3:", float(torch.autograd.grad(y, leaf)[0]))
    except RuntimeError as error:
        print("RuntimeError:", str(error).split(":")[0])

# %% [markdown]
# ### What to keep
#
# The backward pass needs $P$, and lesson 04 has shown how to get it without keeping it: $P = e^{S - \mathrm{LSE}}$,
# from $Q$, $K$ and one number per query. It needs $\delta = \sum_d dO_d\, O_d$, and for that $O$. So five tensors are
# kept: $Q$, $K$, $V$, $O$ and LSE. Four of them exist anyway (three are the caller's, and $O$ is the input of the
# next layer), so keeping them needs no copy; only LSE is extra.
#
# How many bytes is that? The cell has the formulas for $S$ queries and keys and $c$ bytes per number, and solves for
# the length above which keeping $P$ takes more memory:

# %% tags=["nbval-check-output"]
S_, D_, c_ = sp.symbols("S D c", positive=True)
with_P = 3 * S_ * D_ * c_ + S_**2 * c_  # Q, K, V and P, per head
with_LSE = 4 * S_ * D_ * c_ + 4 * S_  # Q, K, V, O and LSE (fp32)

(break_even,) = sp.solve(sp.Eq(with_P, with_LSE), S_)
assert sp.simplify(break_even - (D_ + 4 / c_)) == 0  # for every D and c
ratio = sp.simplify(with_P / with_LSE)
for length in (128, 1024, 8192, 65536):
    print(
        f"S {length:6}: keeping P takes {float(ratio.subs({S_: length, D_: 64, c_: 2})):6.1f} times as much"
    )

# %%
pictures.kept()

# %% [markdown]
# Where you can measure memory, do not rely on a formula alone. With `saved_tensors_hooks` you can see what autograd
# keeps. **Predict** the two lines, for $B = 1$, $H = 2$, $S = 128$, $D = 16$ in fp32: attention from its formula, and
# one call of the course's `flash_attention`. (A tensor has 16 KiB, and $P$ of both heads 128 KiB.)


# %% tags=["nbval-check-output"]
def kept_bytes(function, *arguments):
    """Bytes that autograd keeps for the backward pass of one call, every piece of memory counted once."""
    pieces = {}

    def keep(tensor):
        pieces[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        held = function(*arguments)  # while the result is alive, so is its graph
    return sum(pieces.values()) if held is not None else 0


q, k, v = (torch.randn(1, 2, 128, 16, device=DEVICE, requires_grad=True) for _ in range(3))


def from_the_formula(q, k, v):
    return torch.softmax(0.25 * q @ k.mT, dim=-1) @ v


for label, function in (("formula", from_the_formula), ("flash_attention", flash_attention)):
    print(f"{label:16} keeps {kept_bytes(function, q, k, v) / 1024:.0f} KiB")

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - $4 \cdot 16$ KiB for $Q, K, V, O$, and 1 KiB for LSE: 65 KiB. With the formula, $P$ is kept twice, as the output
#   of the softmax and as an operand of the product with $V$, but that is the same piece of memory and is counted
#   once. $V$, $K$ and the scaled $Q$ are kept as well.
# - With views, the whole underlying buffer is kept. If $q$, $k$ and $v$ are slices of one projection, the whole
#   projection is kept until the backward pass; but since all three are needed, nothing is wasted.
# - The alternative is to keep only the inputs and to run the forward pass again: `torch.utils.checkpoint`.
#   FlashAttention recomputes only $P$, the one part that is large.
#
# </details>
#
# ### Exercise: `flash_attention` · core
#
# Write the Function and the function that calls it. `flash_attention(q, k, v, causal=False, alpha=None)` returns $O$,
# and autograd can compute gradients through it.
#
# - Forward: `flash_forward` or `flash_forward_causal`. Backward: `dq_kernel` and `dkv_kernel`, or the causal ones. alpha
#   is $1/\sqrt{D}$ if it is `None`.
# - Tensors are kept with `ctx.save_for_backward`, other things as attributes of `ctx`.
# - `backward` returns as many values as `forward` has arguments besides `ctx`.
# - Each of `q`, `k` and `v` may be the only one that requires a gradient.
# - Two calls may come before the first backward pass; $dO$ may be any view; a causal call may have rows that see no key.
#
# `@once_differentiable` says that `backward` itself is not differentiable: if a gradient of the gradient is
# requested, torch then raises an error instead of returning a wrong result.

# %% exercise="flash_attention"
# HINT: Three small functions. `forward` calls one launcher and puts on `ctx` what the backward pass will ask
#     for; `backward` calls two launchers and returns as many values as `forward` had arguments besides `ctx`;
#     `flash_attention` settles alpha and calls `FlashAttention.apply`. Which of the two kinds of kernel to
#     call, causal or not, is the same question in both passes.
# HINT: `ctx.save_for_backward` takes tensors, all in one call: q, k, v, o, lse; `ctx.saved_tensors` gives
#     them back in this order. What is not a tensor becomes an attribute: `ctx.causal = causal`. A gradient that does
#     not exist is `None`.
# HINT: `forward` chooses one of two launchers by `causal`, keeps five tensors and two attributes, and returns
#     o alone. `backward` unpacks the five, chooses again, calls two launchers with the same seven arguments,
#     and returns three gradients and a `None` for each of the other two arguments. In `flash_attention` test
#     alpha with `is None`; `apply` takes its arguments by position.
# INCLUDE: flashlearn/kernels/attention.py:FlashAttention


# INCLUDE: flashlearn/kernels/attention.py:flash_attention

# %%
flashlearn.check("flash_attention", flash_attention)

# %%
# flashlearn.hint("flash_attention")

# %% [markdown]
# When it passes, note what is *not* there: a formula. The Function is bookkeeping, and so are its mistakes: something
# is kept in the wrong place, returned in the wrong order, or forgotten in the backward pass. Try two of them: leave
# out `ctx.causal` in the backward pass, and write `alpha = alpha or 1 / math.sqrt(q.shape[-1])`.
#
# <details><summary><b>What to notice</b></summary>
#
# - Without the mask in the backward pass, $P = e^{S - \mathrm{LSE}}$ is computed for hidden keys too. They are not
#   part of the LSE, so these numbers can exceed 1; where a row sees nothing, LSE is $-\infty$ and they can be
#   infinite.
# - `alpha or …` treats 0.0 as missing. Who would pass 0? Someone who tries a range of alphas, or a test.
# - $\delta$ is computed twice here, once in each backward launcher, since each of them can be used alone. So $O$ and
#   $dO$ are read once more. For long sequences that is little compared with the $K$ and $V$ that every program loads,
#   but it is easy to avoid when speed matters.
#
# </details>

# %% [markdown]
# From here on `flash_attention` is yours if it has passed, and the course's otherwise:

# %%
yours = flashlearn.use("flash_attention", flash_attention) is flash_attention
flash_attention = flashlearn.use("flash_attention", flash_attention)
print("flash_attention is", "yours" if yours else "the course's")
if yours:
    print("and calls", kernels, sep="\n")

# %% [markdown]
# ### Only the gradients that are needed · stretch, ungraded
#
# (No check requires fewer kernels. The cell below counts launches, and the check of `flash_attention` says whether a
# gradient is missing if only one of the three tensors requires one.) The $K$ and $V$ of a frozen encoder need no
# gradient. Autograd says so in `ctx.needs_input_grad`, which has one truth value per argument of `forward`. How many
# kernels does a call with its backward pass launch when only $Q$ requires a gradient? **Predict**, then run the cell.

# %%
leaf, k_frozen, v_frozen = (torch.randn(1, 1, 16, 16, device=DEVICE) for _ in range(3))
leaf.requires_grad_()
with flashlearn.observing() as (session, _):
    flash_attention(leaf, k_frozen, v_frozen).sum().backward()
print(len(session.launches), "launches:", ", ".join(launch.name for launch in session.launches))

# %% [markdown]
# Reduce the course's five launches to three, without losing a gradient that is needed:
# `flashlearn.check("flash_attention", flash_attention)` must still pass. What has to be returned for a gradient that
# is not needed?

# %% [markdown]
# ## 4 · Is the gradient right?
#
# The check has compared your gradients with reference gradients. How can you do that without this course? The
# textbook answer is a finite difference. Choose a direction $u$, take a small step each way, and
#
# $$\frac{L(x + h u) - L(x - h u)}{2h} \approx \langle \nabla L, u \rangle .$$
#
# Its advantage is that it needs only the forward pass. How small should $h$ be? According to Taylor's theorem the
# error is about $\frac{h^2}{6} M$, where $M$ is the third derivative along $u$: the smaller $h$, the better. But each
# $L$ is computed with a rounding error of about $\varepsilon$, and the difference is divided by $2h$: in the worst
# case this adds an error of $\varepsilon / h$. Let sympy find the best compromise, for any $\varepsilon$ and $M$:

# %% tags=["nbval-check-output"]
h, eps, M = sp.symbols("h epsilon M", positive=True)
error = eps / h + M * h**2 / 6

(best_h,) = sp.solve(sp.diff(error, h), h)
least = sp.simplify(error.subs(h, best_h))
assert sp.simplify(best_h**3 - 3 * eps / M) == 0
assert sp.simplify(least**3 - sp.Rational(9, 8) * eps**2 * M) == 0  # it grows like ε^(2/3)

for name, unit in (("fp64", 2.0**-53), ("fp32", 2.0**-24), ("fp16", 2.0**-11), ("bf16", 2.0**-8)):
    at = {eps: unit, M: 1}
    print(f"{name}: h about {float(best_h.subs(at)):.0e}, error about {float(least.subs(at)):.0e}")

# %% [markdown]
# **Predict** from this table: in fp16, could a finite difference tell a gradient that is right to three digits from one
# that is 1 % off? And in bf16?
#
# Now we measure it. $L = \langle O, dO \rangle$ for one head of $16 \times 16$, and $u$ is a random direction of $Q$.
# fp64 uses the reference's formulas, the other formats use `flash_attention`. The dashed lines are the error of the
# gradient that the backward pass computes, along the same direction and at the same precision.

# %%
generator = torch.Generator().manual_seed(0)
q64, k64, v64, do64, u = (
    torch.randn(1, 1, 16, 16, generator=generator, dtype=torch.float64).to(DEVICE) for _ in range(5)
)


def attention_at(dtype):
    """Attention at a precision: by the reference's formulas in fp64, by kernels else."""
    if dtype == torch.float64:
        return lambda q, k, v: reference.attention_forward(q, k, v, 0.25)[0]
    return lambda q, k, v: flash_attention(q, k, v)


def loss_at(q, dtype):
    o = attention_at(dtype)(q.to(dtype), k64.to(dtype), v64.to(dtype))
    return float((o.double() * do64).sum())


def gradient_at(dtype):
    leaf = q64.to(dtype, copy=True).requires_grad_()
    o = attention_at(dtype)(leaf, k64.to(dtype), v64.to(dtype))
    return torch.autograd.grad(o, leaf, do64.to(dtype))[0].double()


dQ_true = gradient_at(torch.float64)
slope = float((dQ_true * u).sum())  # ⟨∇L, u⟩, to fifteen digits
formats = {"fp64": torch.float64, "fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}
steps = [10.0**e for e in range(-7, 1)]

differences = {
    name: [(loss_at(q64 + h * u, dtype) - loss_at(q64 - h * u, dtype)) / (2 * h) for h in steps]
    for name, dtype in formats.items()
}
errors = {name: [abs(d - slope) / abs(slope) for d in values] for name, values in differences.items()}
own = {
    name: abs(float((gradient_at(dtype) * u).sum()) - slope) / abs(slope) for name, dtype in formats.items()
}
del own["fp64"]  # the truth itself
pictures.finite_differences(steps, errors, own)

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - To the right of their minima the curves coincide: that is Taylor's $h^2$. To the left of it each curve rises, at a
#   different place for each format: that is rounding. Below a step of about $10^{-3}$ the fp16 curve is noise, for a
#   second reason that the formula ignores: $x + h u$ itself is rounded, and a step of less than half a unit of the
#   last digit has no effect.
# - In our measurements the gradient itself (dashed) was about as good as the best finite difference or better, at
#   every precision below fp64. So the finite difference is not accurate enough to test the gradient.
# - The best $h$ depends on the function, and in practice the true gradient that this picture needs is not known.
#
# </details>

# %% [markdown]
# What does that mean for a wrong gradient? Take one with a realistic mistake: a loop ends too early, so that the last
# of the 16 keys does not contribute to $dQ$. A test with finite differences has a tolerance. It should accept the
# right gradient with some margin, say a factor of two, and reject the wrong one. **Predict** for each format: at how
# many of the eight steps does such a tolerance exist?

# %%
S_true = 0.25 * q64 @ k64.mT
P_true = torch.softmax(S_true, dim=-1)
dS_true = reference.softmax_backward(P_true, do64 @ v64.mT)
dQ_wrong = 0.25 * dS_true[..., :-1] @ k64[..., :-1, :]  # one key short
wrong_slope = float((dQ_wrong * u).sum())
print(f"the wrong gradient's slope is {abs(wrong_slope / slope - 1):.1%} off\n")

print("h    ", "  ".join(f"{h:5.0e}" for h in steps))
for name, values in differences.items():
    tells = [abs(d - wrong_slope) > 2 * abs(d - slope) for d in values]
    print(f"{name} ", "  ".join("tells" if one else "  no " for one in tells))

print()
for name, gradient in (("right", gradient_at(torch.float16)), ("wrong", dQ_wrong.half().double())):
    print(
        f"{name} dQ in fp16 against fp64, entry by entry: off by up to {(gradient - dQ_true).abs().max():.1e}"
    )

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - In half precision there are few steps, or none, at which the test can distinguish right from wrong, and which ones
#   depends on the function. At any other step the tolerance has to be so large, in order not to reject a right
#   kernel, that a kernel that lacks a key passes.
# - A finite difference gives *one number*, for one direction. A comparison with the true gradient gives all entries,
#   and shows which rows or columns are off. There the error of the wrong gradient in fp16 is far larger than that of
#   the right one: about two hundred times in our measurement.
# - `torch.autograd.gradcheck` makes a finite difference for each entry, and it expects fp64 inputs for this very
#   reason. With its default tolerances, kernels that compute in fp32 cannot be expected to pass it, even if they are
#   right.
#
# </details>

# %% [markdown]
# **What to compare with instead.** The same formula, written once more in plain torch, in fp64, and differentiated by
# autograd: `reference.attention_forward` is a few lines. *This* reference can be tested by finite differences, in
# fp64, where they agree to about ten digits. "How close is close enough?" is then answered by an experiment instead
# of an arbitrary number: compute the same thing with torch at the kernel's own precision, measure the error of *that*
# result, and allow the kernel two or three times as much. FlashAttention's tests do it this way, and the checks of
# this course use the same idea.
#
# ## 5 · Against SDPA
#
# Now compare your function with torch's own `scaled_dot_product_attention` (SDPA), in fp16, with and without a causal
# mask. On a GPU the cell uses the sizes of a real layer: $B = 32$, $H = 8$, $D = 64$, and $S$ of 128, 500 and 1024;
# on a CPU it uses a size that the interpreter can handle. The reference is SDPA in fp32 on the same numbers, and the
# errors of both are measured against it. **Predict** the last column: is yours closer to the reference than torch's,
# or farther away?


# %%
def with_gradients(attention, q, k, v, do):
    leaves = [t.detach().requires_grad_() for t in (q, k, v)]
    o = attention(*leaves)
    return o.detach(), *torch.autograd.grad(o, leaves, do)


def errors_of(got, truth):
    return [float((mine.float() - true).abs().max()) for mine, true in zip(got, truth, strict=True)]


B, H, lengths = (32, 8, (128, 500, 1024)) if DEVICE == "cuda" else (1, 2, (64, 100, 128))
generator = torch.Generator().manual_seed(5)
worst = 0.0
print("largest errors of o, dq, dk, dv")

for S in lengths:
    drawn = [torch.randn(B, H, S, 64, generator=generator).to(DEVICE, torch.float16) for _ in range(4)]
    for is_causal in (False, True):
        by_torch = partial(F.scaled_dot_product_attention, is_causal=is_causal)
        truth = with_gradients(by_torch, *(t.float() for t in drawn))
        mine = errors_of(with_gradients(partial(flash_attention, causal=is_causal), *drawn), truth)
        theirs = errors_of(with_gradients(by_torch, *drawn), truth)
        ratio = max(a / b for a, b in zip(mine, theirs, strict=True))
        worst = max(worst, ratio)
        print(f"B {B}, H {H}, S {S:4}, D 64, {'causal' if is_causal else 'full':6}", end="   ")
        print(" ".join(f"{error:.1e}" for error in mine), f"  at most {ratio:.2f} times SDPA's")

assert worst < 3

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - Ratios around 1: two right answers that round in different places. A forgotten $\delta$, or a forgotten key, would
#   make the ratio far larger.
# - `is_causal` and your `causal=True` agree because $S_q = S_k$ here. Otherwise they differ. torch aligns the mask
#   *top-left*: the first query sees one key, and with more keys than queries no query sees the last keys. Ours is
#   aligned bottom-right, as in FlashAttention: the last query sees all keys, which is needed for generating text with
#   a cache of keys.
#
# </details>

# %% tags=["nbval-check-output"]
q, k, v = (torch.randn(1, 1, n, 16, generator=generator).to(DEVICE) for n in (2, 5, 5))
ours = flash_attention(q, k, v, causal=True)
top_left = F.scaled_dot_product_attention(q, k, v, is_causal=True)
keep = reference.visible(2, 5, causal=True, device=DEVICE)  # bottom-right
bottom_right = F.scaled_dot_product_attention(q, k, v, attn_mask=keep)

print(keep.int().tolist())
print("same as is_causal=True:          ", torch.allclose(ours, top_left, atol=1e-5))
print("same as the mask written out:    ", torch.allclose(ours, bottom_right, atol=1e-5))

# %% [markdown]
# ## 6 · A model that learns
#
# Finally, a character-level transformer, a small version of GPT's architecture. It reads *Persuasion* by Jane Austen
# (1818, in the public domain; 467 thousand characters, 75 different ones) and learns to predict the next character.
# Attention is a *parameter*: the model calls `attention(q, k, v)` and works with any implementation. This is the part
# that calls it:

# %% tags=["nbval-check-output"]
print(inspect.getsource(training.Block.forward))

# %% [markdown]
# `q`, `k` and `v` are three views of one buffer, with last stride 1 and strides of $3HD$ between positions: section 2.
#
# How large can the model be? In the interpreter a tile takes a few milliseconds, almost independently of its size.
# For each kernel, a training step processes (batch entries) × (heads) × (layers) × (tiles per head) tiles, so on a
# CPU the context is 32: one tile, and one program per head. On a GPU the same code trains a much larger model:

# %%
size = training.SIZE
print(size)
parameters = training.initial(size, seed=0)
print(f"{parameters.numel():,} parameters, {size.batch * size.context:,} characters a step")
print(repr("".join(training.characters()[i] for i in training.text()[:168].tolist())))

# %% [markdown]
# ### How close must two curves be?
#
# A training run is a long chain of steps, each of which starts from the result of the one before, so rounding errors
# propagate. So before comparing yours with torch's, compare torch with itself: run SDPA twice, run the plain formula,
# $\mathrm{softmax}(\alpha QK^\top)V$ in torch, twice, and compare the two. Both are known to be right. The start is the
# same, and so are the batches and their order.
#
# **Predict:** how far do the losses drift apart? In one more run attention is switched off ($O = 0$): how much of
# what the model learns is due to attention?

# %%
if DEVICE == "cpu":
    torch.set_num_threads(1)  # these products are so small that two threads would wait for each other

start = training.initial(size, seed=0).to(DEVICE)
data = training.batches(training.text(), size, seed=0).to(DEVICE)  # (steps, batch, context + 1)

model = training.Transformer(size, start)
clock = time.perf_counter()
with_sdpa = training.train(size, start, data, training.sdpa, model)
print(f"SDPA: {len(data)} steps in {time.perf_counter() - clock:.1f} s")

again = float((training.train(size, start, data, training.sdpa) - with_sdpa).abs().max())
with_formula = training.train(size, start, data, training.plain)
formula_again = float((training.train(size, start, data, training.plain) - with_formula).abs().max())
other = float((with_formula - with_sdpa).abs().max())
without = training.train(size, start, data, lambda q, k, v: torch.zeros_like(v))

last = slice(-len(data) // 8, None)
print(f"SDPA against itself:      losses differ by {again:.1e} at most")
print(f"formula against itself:   losses differ by {formula_again:.1e} at most")
print(f"SDPA against the formula: losses differ by {other:.1e} at most")
print(f"last steps, on average:   {with_sdpa[last].mean():.3f}, without attention {without[last].mean():.3f}")

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - On a CPU, in fp32, the losses of two right attentions agree to about six digits over the whole run.
# - On a GPU, in bf16, they need not. Compare the third line with the first two: if SDPA differs from *itself* as much
#   as from the formula, there is nothing to choose between them. Where a run differs from itself, some sum's order is
#   left open. Which one? If the formula repeats itself and SDPA does not, it is in attention, whose fast backward passes
#   add with atomics; if the formula differs from itself as well, other operations of the model do it too (the gradient
#   of an embedding, for example, adds up rows that many positions share).
# - The drift between right answers is the standard by which to judge another one, and it has to be measured in the same
#   setting: same model, same precision, same number of steps.
# - A similar drift can happen on a CPU. If the learning rate is too high, steps amplify differences instead of
#   damping them: with three times the rate, and a less careful start, two of our runs of a model of two layers
#   drifted apart by 0.1 within 200 steps, because of rounding alone. That two curves are not exactly equal proves
#   nothing in itself; a gap a thousand times larger than that caused by rounding does.
# - Without attention, the model can only learn what a single character and its position say about the next one. Any
#   lower loss is learnt through attention, forward and backward.
#
# </details>
#
# ### Exercise: `train_with_your_kernel` · core
#
# Write the training loop. `train_with_your_kernel(size, start, batches)` returns the losses, one per batch.
#
# - `model = training.Transformer(size, start)` is the model, `training.optimizer(model)` its optimiser (AdamW).
# - `batches` is a tensor (steps, B, S + 1) of characters. From each sequence of a batch the model reads all but the
#   last character and has to predict all but the first: `model(read, attention)` returns logits (B, S, characters),
#   and the loss is `F.cross_entropy` over all positions.
# - `attention` is a function of q, k and v alone. It must be causal, or the model reads the answer.
# - Record the loss of each batch, computed before the step, without its graph (`loss.detach()`), and return all of
#   them as one tensor.
#
# The check trains a model of one layer for eight steps, one of two layers for five, and compares the curves with
# SDPA's in fp64; it also checks that kernels ran at all. This takes several seconds.


# %% exercise="train_with_your_kernel"
# HINT: Every step does five things: a forward pass and the loss, the gradients cleared, the backward pass,
#     the optimiser's step, the loss recorded. The model is `training.Transformer(size, start)`, and takes your
#     attention as its second argument: a function of q, k and v.
# HINT: `batch[:, :-1]` is what the model reads, `batch[:, 1:]` what it is to predict. `F.cross_entropy` wants
#     logits of shape (B · S, characters) and targets of shape (B · S,): `.flatten(0, 1)` and `.flatten()`.
#     Append `loss.detach()` to a list, and `torch.stack` the list at the end.
# HINT: Attention is a `lambda q, k, v:` around `flash_attention` with `causal=True`. In the loop: the model
#     reads `batch[:, :-1]`; the loss compares the flattened logits with the flattened rest; the optimiser
#     clears its gradients, the loss's backward pass runs, the optimiser steps; the list gets the detached loss.
def train_with_your_kernel(size: training.Size, start: Tensor, batches: Tensor) -> Tensor:
    """The loss before each step, [steps]: one step per batch, attention by flash_attention."""
    ### BEGIN SOLUTION
    # STUB: raise NotImplementedError("TODO train_with_your_kernel: model, optimiser, five lines per batch")
    model = training.Transformer(size, start)
    adam = training.optimizer(model)
    losses = []
    for batch in batches:
        logits = model(batch[:, :-1], lambda q, k, v: flash_attention(q, k, v, causal=True))
        loss = F.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten())
        adam.zero_grad()
        loss.backward()
        adam.step()
        losses.append(loss.detach())
    return torch.stack(losses)
    ### END SOLUTION


# %%
flashlearn.check("train_with_your_kernel", train_with_your_kernel)

# %%
# flashlearn.hint("train_with_your_kernel")

# %% [markdown]
# ### The run
#
# Every function of yours that has passed is used. For anything that is missing, the course's function is used; the
# cell says which. On a CPU, attention runs in the interpreter, forward and backward, one program after another. Two
# steps are timed first, after two that compile the kernels on a GPU, so that you know how long the run will take.


# %%
def causal(q, k, v):
    return flash_attention(q, k, v, causal=True)


def course_s_loop(size, start, batches):
    return training.train(size, start, batches, causal)


own_loop = flashlearn.use("train_with_your_kernel", train_with_your_kernel) is train_with_your_kernel
run = train_with_your_kernel if own_loop else course_s_loop
print("the loop:", "yours" if own_loop else "the course's")
print("flash_attention:", "yours" if yours else "the course's")
print(kernels if yours else "its kernels: the course's")

run(size, start, data[:2])  # the first steps compile
clock = time.perf_counter()
run(size, start, data[:2])
print(f"\n{len(data)} steps will take about {(time.perf_counter() - clock) / 2 * len(data):.0f} s")

# %%
clock = time.perf_counter()
with_yours = run(size, start, data)
print(f"{len(data)} steps in {time.perf_counter() - clock:.0f} s")

# %% [markdown]
# **Predict** where the largest gap will be, early or late, and how it compares with the drift between torch's own
# runs.

# %%
gap = (with_yours - with_sdpa).abs()
drift = max(again, formula_again, other)
print(f"largest gap to SDPA: {gap.max():.1e}, at step {int(gap.argmax())}; torch's own drift: {drift:.1e}")

bound = max(0.05, 3 * drift) if size.half else 1e-4  # bf16 on a GPU, fp32 on a CPU
assert gap.max() < bound
assert gap[: len(gap) // 10].max() < 0.002  # before rounding errors have had time to grow
pictures.loss_curves(with_sdpa.tolist(), with_yours.tolist(), without.tolist(), bound)

# %% [markdown]
# <details><summary><b>What to notice</b></summary>
#
# - The two curves are hardly distinguishable. They agree not only on average but step by step: the fluctuations come
#   from the batches, and both runs see the same ones.
# - The first loss is near $\log 75 \approx 4.3$: at the start all characters are about equally likely.
# - A curve that goes down is no proof. A model learns with $\delta$ forgotten, too, and without the mask its loss
#   falls even faster. The evidence is the lower picture, together with section 5. Try it: let `backward` return
#   `0.9 * dk` and run this section again. Adam divides each gradient by its own typical size, so a constant factor in
#   $dK$ has little effect: in our run of the small model the last losses were the same to three digits, and yet the
#   gap was a thousand times larger.
#
# </details>
#
# ### The weights work with either attention
#
# This is the model that was trained with SDPA, now generating text with `flash_attention`: each character is drawn
# from the distribution that the model predicts, from a context that grows from 1 to its full length. (Expect
# something that looks like English, but is not. The larger model that a GPU trains comes closer.)

# %%
print(training.sample(model, causal, length=160 if DEVICE == "cpu" else 600, seed=1))

# %% [markdown]
# ## 7 · What you have now
#
# | | | remember |
# |---|---|---|
# | a view | shape, strides, shared memory | pass four strides per tensor, each tensor its own |
# | `o.sum().backward()` | $dO$ with strides 0 | read $dO$ by its own strides |
# | inputs that do not fit | found, expected, what to do | the launcher is the last place to report it |
# | kept for backward | $Q, K, V, O$, LSE | nothing that grows with $S^2$; on `ctx`, never on the class |
# | `backward` returns | one value per argument of `forward` | `None` for an argument that is not a tensor |
# | finite differences | error $\sim \varepsilon^{2/3}$ | for the fp64 reference, not for a kernel |
# | how close | 2 to 3 times the error of torch at the same precision | measured, not guessed |
# | causal, $S_q \ne S_k$ | bottom-right here, top-left in `is_causal` | equal only for squares |
# | loss curves | same start, same batches, gap on a log scale | compare with the drift between two right answers |
#
# ### Questions for yourself
#
# Answer before you unfold.
#
# **1.** Someone saves memory: `ctx.save_for_backward(q, k, v, lse)`, without $O$, and computes $\delta$ in the backward pass
# as $\sum_j P_{ij}\,dP_{ij}$ from rebuilt tiles. Is it right? What does it save, and what does it cost?
#
# <details><summary>Answer</summary>
#
# It is right: that is the delta identity of lesson 03, read in the other direction. It saves nothing in most models,
# since $O$ is the input of the next layer and is kept there anyway. Computed in a scan of its own, it costs two
# products over all tiles before the real work starts, because $\delta_i$ is a sum over all keys and is needed by the
# first tile.
#
# </details>

# %% [markdown]
# **2.** A test compares gradients in fp16 by finite differences with $h = 10^{-3}$ and a tolerance of 50 %, "since fp16 is
# noisy". Which mistakes can it find?
#
# <details><summary>Answer</summary>
#
# Perhaps a missing alpha or a wrong sign, with luck: at this step the noise alone can be as large as the slope. It
# cannot reliably find a missing key, a mask that is off by one, or a forgotten row at the end. And when it does fail,
# it does not say where. It is worse than no test, because it gives false confidence.
#
# </details>

# %% [markdown]
# **3.** With causal attention and $S_q = S_k$ everything agrees with SDPA. In production, keys come from a cache:
# $S_q = 1$, $S_k = 1000$, and the model generates nonsense when it is switched to SDPA with `is_causal=True`. Why,
# and why not with yours?
#
# <details><summary>Answer</summary>
#
# torch's `is_causal` is aligned top-left: the one query is treated as the *first* position and sees only the first of
# the thousand keys. Yours is aligned bottom-right: the query is the last position and sees all of them. (With SDPA
# one leaves `is_causal` out when $S_q = 1$, or passes a mask.) A test with $S_q = S_k$ could not have found it, which
# is why this course tests causal kernels with both.
#
# </details>

# %% [markdown]
# ### Journal
#
# *Two or three sentences in your own words, for yourself in a month. What did you believe about gradients and their
# tests before this lesson that you no longer believe? Double-click here and write.*

# %% [markdown]
# ### What comes next
#
# Lesson 10 is about kernels that do not work: ten faulty kernels, each with one fault and a symptom, and the
# reasoning that finds the line. Part III then makes the kernels fast.
#
# **Sources.** What is kept and what is rebuilt: T. Dao, *FlashAttention-2*, arXiv 2307.08691, section 3.1. Custom
# functions: PyTorch's note *Extending PyTorch* and the documentation of `torch.autograd.Function`. Tolerances from a
# same-precision reference: the tests of the FlashAttention repository. The step of finite differences: any text on
# numerical analysis, for example N. Higham, *Accuracy and Stability of Numerical Algorithms*. The model: A. Radford
# and others, *Language Models are Unsupervised Multitask Learners* (GPT-2), in the spirit of A. Karpathy's nanoGPT.
# The text: Jane Austen, *Persuasion*, John Murray, 1818; `flashlearn/lessons/lesson_09_into_pytorch/data/README.md`
# says where this copy comes from.
