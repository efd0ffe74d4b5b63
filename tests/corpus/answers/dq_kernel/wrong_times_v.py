# label: wrong
# title: times v
# says: `total += tl.dot(dz, v)`: dQ is dS times K, not times V; the shapes agree.
# names: dQ from V
# base: wrong_tile_delta_no_alpha

# --- replace
    total = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
# --- with
    delta = tl.load(delta_ptr + rows, mask=okq, other=0.0)
    total = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)

# --- replace
        delta = tl.sum(prob * dprob, axis=1)
        dz = prob * (dprob - delta[:, None])
        total += tl.dot(dz.to(k.dtype), k, input_precision="ieee")
# --- with
        dz = prob * (dprob - delta[:, None])
        total += tl.dot(dz.to(v.dtype), v, input_precision="ieee")
    total = total * alpha
