# label: wrong
# title: the maximum along the wrong axis
# says: The maxima are those of the tile's columns: right as long as nothing under- or overflows.
# names: one edit; zero over zero
# base: right_acc_rescaled_in_place_before_the_product_is_added

# --- replace
        m_new = tl.maximum(m_i, tl.max(s, axis=1))
# --- with
        m_new = tl.maximum(m_i, tl.max(s, axis=0))
