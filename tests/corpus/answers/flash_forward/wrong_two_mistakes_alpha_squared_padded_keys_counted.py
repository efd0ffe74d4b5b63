# label: wrong
# title: input_precision="ieee") * scale * scale / without st = tl.where(kj[:, None] < Sk, st, float("-inf"))
# says: Two mistakes: alpha is squared, and padded keys are counted.
# names: alpha applied twice + padded keys are not masked
# base: right_tiles_transposed_k_qt_reductions_over_axis_0_16_by

# --- replace
        st = tl.dot(kt, tl.trans(qt), input_precision="ieee") * scale  # (BK, BQ)
        st = tl.where(kj[:, None] < Sk, st, float("-inf"))
# --- with
        st = tl.dot(kt, tl.trans(qt), input_precision="ieee") * scale * scale  # (BK, BQ)
