# label: wrong
# title: delta by a scan of its own
# says: The keys are scanned twice, once for delta.
# names: review
# base: right_blocks_of_16_queries_and_32_keys_one_letter_names

# --- replace
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
# --- with
        s = tl.where(at[None, :] < S_k, alpha * tl.dot(q, tl.trans(k), input_precision="ieee"), float("-inf"))
        delta += tl.sum(tl.exp(s - lse[:, None]) * tl.dot(do, tl.trans(v), input_precision="ieee"), axis=1)
    for start in range(0, S_k, BN):
        at = start + n
        theirs = (at[:, None] < S_k) & (d[None, :] < D)
        k = tl.load(K + b * k0 + h * k1 + at[:, None] * k2 + d[None, :] * k3, mask=theirs, other=0.0)
        v = tl.load(V + b * v0 + h * v1 + at[:, None] * v2 + d[None, :] * v3, mask=theirs, other=0.0)
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")

# --- replace
        a += tl.dot(w.to(k.dtype), k, input_precision="ieee")
        c += tl.dot(p.to(k.dtype), k, input_precision="ieee")
        delta += tl.sum(w, axis=1)
    g = alpha * (a - delta[:, None] * c)
# --- with
        a += tl.dot((w - p * delta[:, None]).to(k.dtype), k, input_precision="ieee")
    g = alpha * a
