"""What rounding leaves of the sinks' gradient is allowed, in whatever order a kernel adds up."""

from __future__ import annotations

import math

import pytest
import torch

from flashlearn.judging.tolerance import Truth
from flashlearn.lessons.lesson_15_variants.sinks import sinks
from flashlearn.lessons.shared import reference

LOG2_E = math.log2(math.e)
CASES = [case for case in sinks.cases if not case.gpu]


def dlogits_of_a_kernel(q, k, v, do, logits, alpha):
    """dlogits in fp32, with powers of 2, the keys in two halves, and sums over D, B and S from the end."""
    Q, K, V, dO = (x.float() for x in (q, k, v, do))
    s = (Q.flip(-1) @ K.flip(-1).mT) * (alpha * LOG2_E)
    s = s.masked_fill(~reference.visible(q.shape[2], k.shape[2], True), -math.inf)
    sink = (logits * LOG2_E).view(1, -1, 1, 1).expand(*s.shape[:3], 1)
    m = torch.maximum(s.amax(-1, keepdim=True), sink)
    e = torch.exp2(s - m)
    total = e.sum(-1, keepdim=True) + torch.exp2(sink - m)
    half = k.shape[2] // 2
    o = (e[..., half:] @ V[..., half:, :] + e[..., :half] @ V[..., :half, :]) / total
    delta = (o.to(q.dtype).float() * dO).flip(-1).cumsum(-1)[..., -1:]
    own = (logits.view(1, -1, 1, 1) - (m + total.log2()) / LOG2_E).exp()
    return -(own * delta).flip(0, 2).sum((0, 2, 3))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_kernel_that_adds_in_another_order_is_within_what_is_allowed(case):
    of_dlogits = sinks.outputs.index("dlogits")
    for seed in range(30):
        given = sinks.inputs(case, torch.Generator().manual_seed(seed))
        check = Truth(sinks, given).judge(of_dlogits, dlogits_of_a_kernel(**given))
        assert check.ok, seed
