# label: wrong
# title: unseen: the mask comes after dS
# says: P is masked after dS has been computed from it, so the mask has no effect: hidden keys add to dQ.
# names: mask forgotten; leak from the future
# base: _dq_block_pointers

# --- replace
        p = tl.where(vis, p, 0.0)
# --- with

# --- replace
        dq += tl.dot(ds.to(k.dtype), k, input_precision="ieee")
# --- with
        p = tl.where(vis, p, 0.0)
        dq += tl.dot(ds.to(k.dtype), k, input_precision="ieee")
