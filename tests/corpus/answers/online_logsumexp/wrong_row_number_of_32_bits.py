# label: wrong
# title: the row's number has 32 bits
# says: The row times its stride may pass 2³¹ and wraps around.
# names: 32-bit offset
# base: wrong_the_guards_0_carried_on_as_the_maximum

# --- replace
    i = tl.program_id(0).to(tl.int64)
# --- with
    i = tl.program_id(0)

# --- replace
        m_new = tl.where(m_new == -float("inf"), 0.0, m_new)
        l_i = l_i * tl.exp(m_i - m_new) + tl.sum(tl.exp(x - m_new), axis=0)
# --- with
        shift = tl.where(m_new == -float("inf"), 0.0, m_new)
        l_i = l_i * tl.exp(m_i - shift) + tl.sum(tl.exp(x - shift), axis=0)

# --- replace
def online_logsumexp(x):
# --- with
def online_logsumexp(x: Tensor) -> Tensor:
