"""Reading the weights P out of an attention kernel, whatever it does inside: P as its results show it.

O = P V is linear in V, and dV = Pᵀ dO in dO, so one-hot columns bring out P itself, D columns per call.
dQ is linear in V through dP: with V = e_0 for some keys and 0 for the others, dO = e_0 and delta = 0, a row
of dQ is alpha Σ_j P_ij K_j over those keys, and solving for P_ij reads them off.

    >>> weights = forward_weights(flash_forward, inputs)     # [B, H, S_q, S_k]
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable

import torch
from torch import Tensor

from flashlearn.exercise import Inputs
from flashlearn.explaining.weights import Readout
from flashlearn.lessons.shared import reference

Launcher = Callable[..., tuple[Tensor, ...] | Tensor]


def _first(outputs: tuple[Tensor, ...] | Tensor) -> Tensor:
    return outputs[0] if isinstance(outputs, tuple | list) else outputs


def _last(outputs: tuple[Tensor, ...] | Tensor) -> Tensor:
    return outputs[-1] if isinstance(outputs, tuple | list) else outputs


def _one_hot(like: Tensor, start: int) -> Tensor:
    """Zeros in `like`'s shape but for ones at row start + d, column d."""
    out = torch.zeros_like(like)
    rows, columns = like.shape[-2:]
    count = min(columns, rows - start)
    index = torch.arange(count)
    out[..., start + index, index] = 1.0
    return out


def forward_weights(launcher: Launcher, inputs: Inputs) -> Tensor:
    """P [..., S_q, S_k] of a forward kernel, from as many calls as S_k / D rounded up."""
    v, parts = inputs["v"], []
    for start in range(0, v.shape[-2], v.shape[-1]):
        o = _first(launcher(**{**inputs, "v": _one_hot(v, start)}))
        parts.append(o[..., : min(v.shape[-1], v.shape[-2] - start)].double())
    return torch.cat(parts, dim=-1)


def dv_weights(launcher: Launcher, inputs: Inputs) -> Tensor:
    """P [..., S_q, S_k] of a kernel that returns dV last, from as many calls as S_q / D rounded up."""
    do, parts = inputs["do"], []
    for start in range(0, do.shape[-2], do.shape[-1]):
        dv = _last(launcher(**{**inputs, "do": _one_hot(do, start)}))
        parts.append(dv[..., : min(do.shape[-1], do.shape[-2] - start)].double().mT)
    return torch.cat(parts, dim=-2)


def dq_weights(launcher: Launcher, inputs: Inputs) -> Tensor:
    """P [..., S_q, S_k] of a kernel that returns dQ first; half as many keys per call as D has columns."""
    k, do, alpha = _for_heads("k", inputs), inputs["do"], inputs["alpha"]
    unit = torch.zeros_like(do)
    unit[..., 0] = 1.0
    step, parts = max(1, k.shape[-1] // 2), []
    for start in range(0, k.shape[-2], step):
        keys = slice(start, start + step)
        v = torch.zeros_like(inputs["v"])
        v[..., keys, 0] = 1.0
        dq = _first(launcher(**{**inputs, "v": v, "do": unit, "o": torch.zeros_like(inputs["o"])}))
        parts.append(dq.double() / alpha @ torch.linalg.pinv(k[..., keys, :]))
    return torch.cat(parts, dim=-1)


def readout(read: Callable[[Launcher, Inputs], Tensor], causal: bool = False) -> Readout:
    """What `exercise.explained.weights` holds: how to read P out, what proves it, and what is right."""
    return dataclasses.replace(READOUTS[read], right_of=functools.partial(right_weights, causal=causal))


def gradient_readouts(causal: bool = False) -> tuple[Readout, Readout]:
    """Both ways of reading a kernel that returns dQ first and dV last."""
    return readout(dv_weights, causal), readout(dq_weights, causal)


def right_weights(inputs: Inputs, causal: bool) -> tuple[Tensor, Tensor, Tensor]:
    """P, and S without a mask, in fp64, [..., S_q, S_k], and which pairs are visible, [S_q, S_k].

    Inputs that say themselves whether a mask is causal are believed.
    """
    q, k = inputs["q"].double(), _for_heads("k", inputs)
    causal = bool(inputs.get("causal", causal))
    s, hidden = (reference.attention_scores(q, k, _alpha(inputs), masked) for masked in (False, causal))
    return reference.softmax(hidden), s, reference.visible(q.shape[-2], k.shape[-2], causal)


def _for_heads(name: str, inputs: Inputs) -> Tensor:
    """K or V in fp64, with a head for each of Q's where groups of these share one."""
    t, heads = inputs[name].double(), inputs["q"].shape[-3:-2]
    return t.repeat_interleave(heads[0] // t.shape[-3], dim=-3) if heads else t


def _alpha(inputs: Inputs) -> float:
    alpha = inputs.get("alpha")
    return 1 / math.sqrt(inputs["q"].shape[-1]) if alpha is None else alpha


# ---------------------------------------------------------------- what proves a reading


def _o_of(weights: Tensor, inputs: Inputs) -> Tensor:
    """O = P V."""
    return weights @ _for_heads("v", inputs)


def _dv_of(weights: Tensor, inputs: Inputs) -> Tensor:
    """dV = Pᵀ dO."""
    return weights.mT @ inputs["do"].double()


def _dq_of(weights: Tensor, inputs: Inputs) -> Tensor:
    """dQ = alpha (P ∘ dP) K where delta is 0."""
    k, v, do = _for_heads("k", inputs), _for_heads("v", inputs), inputs["do"].double()
    return inputs["alpha"] * (weights * (do @ v.mT)) @ k


def _without_o(inputs: Inputs) -> Inputs:
    """O = 0, so that delta is 0."""
    return {**inputs, "o": torch.zeros_like(inputs["o"])}


READOUTS = {
    forward_weights: Readout(
        forward_weights, right_weights, _first, dict, _o_of, moved="v", by="key", scans="keys", shows="o"
    ),
    dv_weights: Readout(
        dv_weights, right_weights, _last, dict, _dv_of, moved="do", by="query", scans="queries", shows="dv"
    ),
    dq_weights: Readout(
        dq_weights, right_weights, _first, _without_o, _dq_of, moved="v", by="key", scans="keys", shows="dq"
    ),
}
"""For each way of reading: what its weights give, and what is moved to see who looks."""
