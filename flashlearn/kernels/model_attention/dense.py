"""Every variant of attention by torch's own operations, with S and P stored: for CPUs, and to compare with.

    >>> o, lse = dense_forward(q, k, v, options, extras)
    >>> dq, dk, dv, dsinks = dense_backward(q, k, v, o, do, lse, options, extras)

Everything is computed in fp32, or in fp64 for inputs in fp64. The formulas are those of the kernels, and
dropout keeps the same weights for the same seed. With `rounded`, P and dS are rounded to that dtype before
they are multiplied, as the kernels round them.
"""

from __future__ import annotations

import torch
from torch import Tensor

from flashlearn.kernels.model_attention.forward import Extras
from flashlearn.kernels.model_attention.options import Options

__all__ = ["dense_backward", "dense_forward", "kept_weights"]

LOW = 0xFFFFFFFF
ROUNDS = 7


def dense_forward(
    q: Tensor, k: Tensor, v: Tensor, options: Options, extras: Extras, rounded: torch.dtype | None = None
) -> tuple[Tensor, Tensor]:
    """O and LSE as `variant_forward` returns them."""
    o = torch.zeros(q.shape, dtype=q.dtype, device=q.device)
    lse = torch.full(q.shape[:3], -torch.inf, dtype=torch.float32, device=q.device)
    with torch.autocast(q.device.type, enabled=False):
        for z, queries, keys in _sequences(q, k, extras):
            one = _Sequence(q[:, :, queries], k[:, :, keys], v[:, :, keys], options, extras, z)
            o[:, :, queries] = (_near(one.dropped(one.p), rounded) @ one.v).to(o.dtype)
            lse[:, :, queries] = one.lse.squeeze(-1).to(lse.dtype)
    return o, lse


def dense_backward(
    q: Tensor, k: Tensor, v: Tensor, o: Tensor, do: Tensor, lse: Tensor, options: Options, extras: Extras,
    rounded: torch.dtype | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:  # fmt: skip
    """dQ, dK, dV and the gradient of the sinks as `variant_backward` returns them."""
    dq, dk, dv = (torch.zeros(t.shape, dtype=t.dtype, device=t.device) for t in (q, k, v))
    dsinks = None if extras.sinks is None else torch.zeros_like(extras.sinks)
    with torch.autocast(q.device.type, enabled=False):
        for z, queries, keys in _sequences(q, k, extras):
            one = _Sequence(q[:, :, queries], k[:, :, keys], v[:, :, keys], options, extras, z)
            dO = do[:, :, queries].to(one.q.dtype)
            delta = (dO * o[:, :, queries].to(dO.dtype)).sum(-1, keepdim=True)
            dv[:, :, keys] = one.by_group(_near(one.dropped(one.p), rounded).mT @ dO).to(dv.dtype)
            ds = one.p * (one.dropped(dO @ one.v.mT) - delta) * one.slope_of_cap * options.alpha
            ds = _near(ds, rounded)
            dq[:, :, queries] = (ds @ one.k).to(dq.dtype)
            dk[:, :, keys] = one.by_group(ds.mT @ one.q).to(dk.dtype)
            if dsinks is not None:
                dsinks -= (one.of_sinks * delta).sum(dim=(0, 2, 3)).to(dsinks.dtype)
    return dq, dk, dv, dsinks


class _Sequence:
    """Scores and weights of one batch, or of one packed sequence: k and v repeated for their groups."""

    def __init__(self, q: Tensor, k: Tensor, v: Tensor, options: Options, extras: Extras, z: int) -> None:
        wide = torch.promote_types(q.dtype, torch.float32)
        self.H_k, self.group = k.shape[1], q.shape[1] // k.shape[1]
        self.q = q.to(wide)
        self.k, self.v = (t.to(wide).repeat_interleave(self.group, dim=1) for t in (k, v))
        B, H, S_q, S_k = *q.shape[:3], k.shape[2]
        rows = torch.arange(S_q, device=q.device)[:, None] + S_k - S_q
        columns = torch.arange(S_k, device=q.device)[None, :]
        s = options.alpha * (self.q @ self.k.mT)
        self.slope_of_cap: Tensor | float = 1.0
        if options.softcap is not None:
            s = options.softcap * torch.tanh(s / options.softcap)
            self.slope_of_cap = 1 - (s / options.softcap) ** 2
        if extras.slopes is not None:
            slopes = extras.slopes.to(wide)
            slopes = slopes if extras.cu_q is None else slopes[z : z + 1]
            s = s - slopes[:, :, None, None] * (rows - columns).abs()
        hidden = torch.zeros((S_q, S_k), dtype=torch.bool, device=q.device)
        if options.left is not None:
            hidden |= columns < rows - options.left
        if options.right is not None:
            hidden |= columns > rows + options.right
        s = s.masked_fill(hidden, -torch.inf)
        self.lse = torch.logsumexp(s, dim=-1, keepdim=True)  # of nothing: −inf
        self.of_sinks: Tensor | None = None
        if extras.sinks is not None:
            sinks = extras.sinks.to(wide)[:, None, None].expand_as(self.lse)
            self.lse = torch.logaddexp(self.lse, sinks)
            self.of_sinks = torch.exp(sinks - _finite(self.lse))
        self.p = torch.exp(s - _finite(self.lse))
        self.keep: Tensor | None = None
        if extras.seed is not None:
            self.keep = kept_weights(extras.seed, range(z * H, (z + B) * H), S_q, S_k, options.threshold)
            self.keep = self.keep.view(B, H, S_q, S_k) * options.kept_scale

    def dropped(self, t: Tensor) -> Tensor:
        """t where dropout keeps a weight, scaled; 0 elsewhere."""
        return t if self.keep is None else t * self.keep

    def by_group(self, t: Tensor) -> Tensor:
        """The sum over the queries' heads that share a head of k and v."""
        return t.unflatten(1, (self.H_k, self.group)).sum(2)


def _near(t: Tensor, rounded: torch.dtype | None) -> Tensor:
    return t if rounded is None else t.to(rounded).to(t.dtype)


def _finite(lse: Tensor) -> Tensor:
    """+inf where it was −inf: a query that sees nothing has weights of 0."""
    return lse.masked_fill(lse == -torch.inf, torch.inf)


def _sequences(q: Tensor, k: Tensor, extras: Extras) -> list[tuple[int, slice, slice]]:
    if extras.cu_q is None:
        return [(0, slice(q.shape[2]), slice(k.shape[2]))]
    of_q, of_k = extras.cu_q.tolist(), extras.cu_k.tolist()
    return [
        (z, slice(*of_q[z : z + 2]), slice(*of_k[z : z + 2])) for z in range(len(of_q) - 1)
    ]  # fmt: skip


def kept_weights(seed: Tensor, heads: range, S_q: int, S_k: int, threshold: int) -> Tensor:
    """Whether dropout keeps each weight, [heads, S_q, S_k]: what `hooks.kept` decides tile by tile."""
    where = seed.device
    i = torch.arange(S_q, device=where)[None, :, None]
    eighths = torch.arange(-(-S_k // 8), device=where)[None, None, :]
    h = torch.arange(heads.start, heads.stop, device=where)[:, None, None]
    shape = torch.broadcast_shapes(i.shape, eighths.shape, h.shape)
    words = _philox(seed, [t.expand(shape) for t in (i, eighths, h, torch.zeros_like(h))])
    halves = torch.stack([part for word in words for part in (word & 0xFFFF, word >> 16)], dim=-1)
    return (halves >= threshold).flatten(-2)[..., :S_k]


def _philox(seed: Tensor, counters: list[Tensor]) -> list[Tensor]:
    """Four words of 32 bits, in int64, of Philox4x32 (Salmon et al., 2011, section 3.3)."""
    c0, c1, c2, c3 = counters
    k0, k1 = seed & LOW, seed >> 32 & LOW
    for _ in range(ROUNDS):
        # products of two 32-bit numbers wrap in int64; their bits are right
        first, second = 0xD2511F53 * c0, 0xCD9E8D57 * c2
        c0, c1, c2, c3 = second >> 32 & LOW ^ c1 ^ k0, second & LOW, first >> 32 & LOW ^ c3 ^ k1, first & LOW
        k0, k1 = k0 + 0x9E3779B9 & LOW, k1 + 0xBB67AE85 & LOW
    return [c0, c1, c2, c3]
