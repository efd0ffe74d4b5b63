# label: wrong
# title: hidden score zero
# says: p = tl.exp(tl.where(seen, s - m_new, 0.0)) gives hidden and padded keys the exponent 0, hence p = 1 in
#   the sum l_i; the filler must be -inf (acc is masked afterwards and stays right).
# names: one edit
# base: _clinic_5_kernel

# --- replace
        p = tl.exp(s - m_new[:, None])
# --- with
        p = tl.exp(tl.where(seen, s - m_new[:, None], 0.0))
