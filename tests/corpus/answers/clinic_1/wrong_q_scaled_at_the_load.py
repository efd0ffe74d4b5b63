# label: wrong
# title: q scaled at the load
# says: Q is scaled when it is loaded: dK is right, and S carries alpha twice, so that P is wrong.
# names: alpha twice in S
# base: _clinic_1_kernel

# --- replace
        q = tl.load(q_ptr + query_tile, mask=in_queries[:, None], other=0.0)
# --- with
        q = (alpha * tl.load(q_ptr + query_tile, mask=in_queries[:, None], other=0.0)).to(k.dtype)
