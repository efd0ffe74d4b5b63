# label: wrong
# title: the maximum starts at minus a million
# says: m starts at −10⁶: where all scores of a row are below, every exponential is 0.
# names: log of zero; one edit
# base: wrong_maximum_starts_at_minus_1000

# --- replace
    m_i = tl.full((), -1000.0, tl.float32)
# --- with
    m_i = tl.full((), -1.0e6, tl.float32)
