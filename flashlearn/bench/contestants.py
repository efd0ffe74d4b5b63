"""What is timed: the course's kernels, and other implementations of attention in this environment.

    >>> calls = contestants()[0].prepare(problem.draw())
    >>> dq, dk, dv = calls["backward"]()

A contestant's calls are "forward", "backward" from what a forward pass saved, "both", and "autograd": both
as a user of autograd calls them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn.attention import SDPBackend

from flashlearn.bench.flash_attn_4 import attend_by_flash_attn_4
from flashlearn.bench.problems import Inputs
from flashlearn.kernels.fast_attention import fast_backward, fast_forward
from flashlearn.kernels.flash_backward_dkv import dkv_kernel, dkv_kernel_causal
from flashlearn.kernels.flash_backward_dq import dq_kernel, dq_kernel_causal
from flashlearn.kernels.flash_forward import flash_forward, flash_forward_causal
from flashlearn.kernels.gluon.fa3_attention import hopper_backward, hopper_forward, is_hopper
from flashlearn.kernels.torch_attention import Attend, by_backend, eager, flexible, gradients

Calls = dict[str, Callable[[], Any]]
CUDNN = "sdpa cudnn"
"""Whom ratios are relative to."""


@dataclass(frozen=True)
class Contestant:
    """`prepare` makes its calls for one draw of inputs; `longest` is the S at which it still makes sense.

    Those that are `compiled` launch Triton kernels of ours. A contestant is in the `table` of large shapes,
    in that of `small` ones, or in both. `allowance` is for those that keep S and P in the inputs' precision:
    their error may be this many times that of the others.
    """

    name: str
    title: str
    prepare: Callable[[Inputs], Calls]
    longest: int = 1 << 30
    allowance: float = 1.0
    compiled: bool = False
    table: bool = True
    small: bool = True


def contestants(flex: bool = False, fa4: bool = False) -> list[Contestant]:
    """The course's, those for Hopper where there is one, and torch's.

    FlexAttention and FlashAttention-4 where they are asked for.
    """
    found = [
        Contestant("plain", "lessons 06–08", launchers(plain_forward, plain_backward), compiled=True),
        Contestant("tuned", "lesson 12", launchers(fast_forward, fast_backward), compiled=True),
        Contestant("eager", "torch, eager", through_autograd(eager), longest=4096, allowance=8.0),
        Contestant("sdpa flash", "SDPA, flash", through_autograd(by_backend(SDPBackend.FLASH_ATTENTION))),
        Contestant(CUDNN, "SDPA, cuDNN", through_autograd(by_backend(SDPBackend.CUDNN_ATTENTION))),
        Contestant("sdpa", "SDPA, torch's choice", through_autograd(by_backend(None)), table=False),
    ]
    if is_hopper():
        hopper = launchers(hopper_forward, hopper_backward)
        found.insert(2, Contestant("hopper", "lesson 13", hopper, compiled=True))
    if flex:
        found.append(Contestant("flex", "FlexAttention", through_autograd(flexible), small=False))
    if fa4:
        found.append(Contestant("flash-attn-4", "FlashAttention-4", by_flash_attn_4))
    return found


# ---------------------------------------------------------------- ours


def plain_forward(q: Tensor, k: Tensor, v: Tensor, causal: bool, alpha: float) -> tuple[Tensor, Tensor]:
    """The kernels of lesson 06."""
    return (flash_forward_causal if causal else flash_forward)(q, k, v, alpha)


def plain_backward(
    q: Tensor, k: Tensor, v: Tensor, o: Tensor, do: Tensor, lse: Tensor, causal: bool, alpha: float
) -> tuple[Tensor, Tensor, Tensor]:
    """Those of lessons 07 and 08, each with its delta."""
    dq = (dq_kernel_causal if causal else dq_kernel)(q, k, v, o, do, lse, alpha)
    dk, dv = (dkv_kernel_causal if causal else dkv_kernel)(q, k, v, o, do, lse, alpha)
    return dq, dk, dv


def launchers(forward: Callable[..., Any], backward: Callable[..., Any]) -> Callable[[Inputs], Calls]:
    """A contestant of two launchers: (q, k, v, causal, alpha) → (o, lse), and the pass back from these."""

    def prepare(given: Inputs) -> Calls:
        q, k, v, do, causal, alpha = given.q, given.k, given.v, given.do, given.causal, given.alpha
        ahead = functools.partial(forward, q, k, v, causal, alpha)
        saved = functools.cache(ahead)

        def back(keep: Callable[[], Any]) -> Any:
            o, lse = keep()
            return backward(q, k, v, o, do, lse, causal, alpha)

        attend = functools.partial(_Attention.apply, forward, backward)
        through = _graph(lambda q, k, v, causal, alpha: attend(causal, alpha, q, k, v), given)
        return {
            "forward": lambda: ahead()[:1],
            "backward": lambda: back(saved),
            "both": lambda: back(ahead),
            "autograd": through["both"],
        }

    return prepare


class _Attention(torch.autograd.Function):
    """Two launchers as autograd calls them."""

    @staticmethod
    def forward(ctx, forward, backward, causal, alpha, q, k, v):
        o, lse = forward(q, k, v, causal, alpha)
        ctx.save_for_backward(q, k, v, o, lse)
        ctx.how = backward, causal, alpha
        return o

    @staticmethod
    @once_differentiable
    def backward(ctx, do):
        q, k, v, o, lse = ctx.saved_tensors
        backward, causal, alpha = ctx.how
        return (None, None, None, None, *backward(q, k, v, o, do, lse, causal, alpha))


# ---------------------------------------------------------------- others'


def through_autograd(attend: Attend) -> Callable[[Inputs], Calls]:
    """A contestant whose backward pass autograd knows."""
    return functools.partial(_graph, attend)


def by_flash_attn_4(given: Inputs) -> Calls:
    """FlashAttention-4's calls. Raises NotInstalled where its package is not."""
    return _graph(attend_by_flash_attn_4(), given)


def _graph(attend: Attend, given: Inputs) -> Calls:
    leaves = [t.detach().requires_grad_() for t in (given.q, given.k, given.v)]
    ahead = functools.partial(attend, *leaves, given.causal, given.alpha)
    kept = functools.cache(functools.partial(gradients, attend, *leaves, given.do, given.causal, given.alpha))

    def forward() -> tuple[Tensor]:
        with torch.no_grad():
            return (ahead(),)

    def both() -> tuple[Tensor, ...]:
        return torch.autograd.grad(ahead(), leaves, given.do)

    return {"forward": forward, "backward": lambda: kept()(), "both": both, "autograd": both}
