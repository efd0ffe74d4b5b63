# label: wrong
# title: unseen: no transposes
# says: Neither P nor dS is transposed: dV is P dO and dK is dS Q; that runs since the tiles are square.
# names: dS not transposed + P not transposed; dS not transposed; P not transposed
# base: _dkv_by_the_notebook

# --- replace
        gv += tl.dot(tl.trans(pp).to(oo.dtype), oo, input_precision="ieee")
# --- with
        gv += tl.dot(pp.to(oo.dtype), oo, input_precision="ieee")

# --- replace
        gk += tl.dot(tl.trans(ds).to(qq.dtype), qq, input_precision="ieee")
# --- with
        gk += tl.dot(ds.to(qq.dtype), qq, input_precision="ieee")
