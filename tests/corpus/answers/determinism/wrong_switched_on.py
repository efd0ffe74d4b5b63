# label: wrong
# title: switched on
# says: torch's switch is not about kernels of one's own.
# names: review

from flashlearn.kernels.fused_backward import fused_backward_atomic


def switched_on(q, k, v, o, do, lse, alpha, causal):
    torch.use_deterministic_algorithms(True)
    try:
        return fused_backward_atomic(q, k, v, o, do, lse, alpha, causal)
    finally:
        torch.use_deterministic_algorithms(False)
