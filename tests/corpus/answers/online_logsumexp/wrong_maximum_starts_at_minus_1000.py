# label: wrong
# title: the running maximum starts at −1000
# says: A row far below −1000 loses its exponentials; it has to start at −∞.
# names: maximum starts at 0; log of zero; one edit
# base: wrong_the_guards_0_carried_on_as_the_maximum

# --- replace
    m_i = tl.full((), -float("inf"), tl.float32)
# --- with
    m_i = tl.full((), -1000.0, tl.float32)

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
