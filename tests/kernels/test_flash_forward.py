"""The yardstick kernel is right, on ragged and unequal sizes too."""

from __future__ import annotations

import pytest
import torch

from flashlearn.interpreter.route import observing
from flashlearn.kernels.flash_forward import flash_forward


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize(("S_q", "S_k"), [(1, 1), (37, 64), (64, 37), (33, 100)])
def test_the_forward_pass_agrees_with_torch(S_q, S_k, dtype):
    generator = torch.Generator().manual_seed(0)
    q, k, v = (torch.randn(1, 2, S, 16, generator=generator).to(dtype) for S in (S_q, S_k, S_k))
    with observing(seed=1) as (session, _):
        o, lse = flash_forward(q, k, v, 0.3)
    scores = 0.3 * q.float() @ k.float().mT
    expected = torch.softmax(scores, dim=-1) @ v.float()
    tolerance = {torch.float32: 1e-5, torch.bfloat16: 2e-2}[dtype]
    torch.testing.assert_close(o.float(), expected, rtol=0, atol=tolerance)
    torch.testing.assert_close(lse, torch.logsumexp(scores, dim=-1), rtol=0, atol=1e-4)
    assert not session.memory.races.found
