# label: right
# title: what meets K stays in fp32, and K comes to it
# base: right_blocks_of_16_queries_and_32_keys_one_letter_names

# --- replace
        a += tl.dot(w.to(k.dtype), k, input_precision="ieee")
        c += tl.dot(p.to(k.dtype), k, input_precision="ieee")
# --- with
        k32 = k.to(tl.float32)
        a += tl.dot(w, k32, input_precision="ieee")
        c += tl.dot(p, k32, input_precision="ieee")
