# label: wrong
# title: mask before alpha
# says: the padded keys get −inf before the product with alpha (`z = tl.where(...) * alpha`): a negative alpha
#   turns −inf into +inf.
# names: one edit
# base: right_k_loaded_transposed

# --- replace
        z = tl.dot(q, kt, input_precision="ieee") * alpha
        z = tl.where(okk[None, :], z, float("-inf"))
# --- with
        z = tl.dot(q, kt, input_precision="ieee")
        z = tl.where(okk[None, :], z, float("-inf")) * alpha

# --- replace
    out = out * (1.0 / run_sum)[:, None]
# --- with
    out = out / run_sum[:, None]
