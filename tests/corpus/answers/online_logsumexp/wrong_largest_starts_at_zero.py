# label: wrong
# title: largest starts at zero
# says: line m_i = tl.full((), 0.0, ...): the running maximum begins at 0, so rows near -100 underflow and
#   give -inf
# names: one edit
# base: wrong_the_guards_0_carried_on_as_the_maximum

# --- replace
@triton.jit
# --- with
from torch import Tensor


@triton.jit

# --- replace
    m_i = tl.full((), -float("inf"), tl.float32)
# --- with
    m_i = tl.full((), 0.0, tl.float32)

# --- replace
        m_new = tl.where(m_new == -float("inf"), 0.0, m_new)
# --- with

# --- replace
def online_logsumexp(x):
# --- with
def online_logsumexp(x: Tensor) -> Tensor:
