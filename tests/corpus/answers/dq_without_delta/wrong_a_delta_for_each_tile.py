# label: wrong
# title: a delta for each tile
# says: Each tile has a delta of its own.
# names: delta of the tile alone
# base: right_blocks_of_16_queries_and_32_keys_one_letter_names

# --- replace
        a += tl.dot(w.to(k.dtype), k, input_precision="ieee")
        c += tl.dot(p.to(k.dtype), k, input_precision="ieee")
        delta += tl.sum(w, axis=1)
    g = alpha * (a - delta[:, None] * c)
# --- with
        a += tl.dot((w - p * tl.sum(w, axis=1)[:, None]).to(k.dtype), k, input_precision="ieee")
    g = alpha * a
