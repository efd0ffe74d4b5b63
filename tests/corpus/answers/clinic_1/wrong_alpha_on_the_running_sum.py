# label: wrong
# title: alpha on the running sum
# says: dk = alpha * (dk + tl.dot(…)) scales the whole running sum in every round, so a tile that came r
#   rounds before the last carries alpha^(r+1); alpha belongs on the share alone, or once on dk at the store.
# names: one edit
# base: _clinic_1_kernel

# --- replace
):  # fmt: skip
# --- with
):

# --- replace
        dk += tl.dot(tl.trans(ds.to(q.dtype)), q, input_precision="ieee")
# --- with
        dk = alpha * (dk + tl.dot(tl.trans(ds.to(q.dtype)), q, input_precision="ieee"))
