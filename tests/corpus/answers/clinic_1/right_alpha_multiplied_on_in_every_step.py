# label: right
# title: alpha multiplied on in every step
# base: _clinic_1_kernel

# --- replace
        dk += tl.dot(tl.trans(ds.to(q.dtype)), q, input_precision="ieee")
# --- with
        dk += alpha * tl.dot(tl.trans(ds.to(q.dtype)), q, input_precision="ieee")
