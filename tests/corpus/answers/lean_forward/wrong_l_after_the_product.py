# label: wrong
# title: l is updated after the product
# says: the weights in fp32 are kept until l_i is updated, after the product: a thread needs too many registers
#   for three programs
# names: review
# base: right_one_stage_v_last

# --- replace
        l_i = l_i * rescale + tl.sum(p, axis=1)
# --- with

# --- replace
        m_i = m_new
# --- with
        l_i = l_i * rescale + tl.sum(p, axis=1)
        m_i = m_new
