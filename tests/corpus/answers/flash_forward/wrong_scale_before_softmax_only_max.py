# label: wrong
# title: scale before softmax only max
# says: line `p =`: the exponent uses the unscaled product, alpha only enters the maximum
# names: one edit
# base: wrong_v_tile_with_k_strides

# --- replace
        v = tl.load(v_ptr + columns[:, None] * k_row + d[None, :] * v_col, mask=in_tile, other=0.0)
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
# --- with
        v = tl.load(v_ptr + columns[:, None] * v_row + d[None, :] * v_col, mask=in_tile, other=0.0)
        raw = tl.dot(q, tl.trans(k), input_precision="ieee")
        s = alpha * raw

# --- replace
        p = tl.exp2((s - m_new[:, None]) * LOG2E)
# --- with
        p = tl.exp2((raw - m_new[:, None]) * LOG2E)
