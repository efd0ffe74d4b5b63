# label: wrong
# title: delta as far as it has come
# says: Delta is complete only after the last tile.
# names: delta so far
# base: right_blocks_of_16_queries_and_32_keys_one_letter_names

# --- replace
        a += tl.dot(w.to(k.dtype), k, input_precision="ieee")
        c += tl.dot(p.to(k.dtype), k, input_precision="ieee")
        delta += tl.sum(w, axis=1)
    g = alpha * (a - delta[:, None] * c)
# --- with
        delta += tl.sum(w, axis=1)
        a += tl.dot((w - p * delta[:, None]).to(k.dtype), k, input_precision="ieee")
    g = alpha * a
