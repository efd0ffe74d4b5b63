# label: wrong
# title: unseen: the transposed mask reversed
# says: The mask is the wrong way round: in the transposed tile it keeps the keys after the query.
# names: leak from the future
# base: _dkv_transposed

# --- replace
            mask = offs_m[None, :] + N_KV - N_Q >= offs_n[:, None]
# --- with
            mask = offs_m[None, :] + N_KV - N_Q <= offs_n[:, None]
