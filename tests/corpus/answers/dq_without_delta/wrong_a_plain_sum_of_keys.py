# label: wrong
# title: a plain sum of keys
# says: The second sum forgets P.
# names: keys summed without P
# base: right_blocks_of_16_queries_and_32_keys_one_letter_names

# --- replace
        c += tl.dot(p.to(k.dtype), k, input_precision="ieee")
# --- with
        c += tl.sum(k.to(tl.float32), axis=0)[None, :]
