# label: wrong
# title: = for +=
# says: A tile replaces the sum.
# names: only the last tile
# base: right_blocks_of_16_queries_and_32_keys_one_letter_names

# --- replace
        a += tl.dot(w.to(k.dtype), k, input_precision="ieee")
        c += tl.dot(p.to(k.dtype), k, input_precision="ieee")
        delta += tl.sum(w, axis=1)
# --- with
        a = tl.dot(w.to(k.dtype), k, input_precision="ieee")
        c = tl.dot(p.to(k.dtype), k, input_precision="ieee")
        delta = tl.sum(w, axis=1)
