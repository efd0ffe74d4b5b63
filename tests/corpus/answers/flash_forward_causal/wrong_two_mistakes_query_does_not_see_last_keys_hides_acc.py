# label: wrong
# title: unseen: >= hides, and acc is not rescaled
# says: Two mistakes: a query does not see the last of its keys (>= hides it), and acc is not rescaled.
# names: the diagonal is hidden + acc not rescaled; the diagonal is hidden; acc not rescaled
# base: _in_the_notebook

# --- replace
        hidden = (cols[None, :] > rows[:, None] + (S_k - S_q)) | (cols[None, :] >= S_k)
# --- with
        hidden = (cols[None, :] >= rows[:, None] + (S_k - S_q)) | (cols[None, :] >= S_k)

# --- replace
        acc = r[:, None] * acc + tl.dot(p.to(v.dtype), v, input_precision="ieee")
# --- with
        acc = acc + tl.dot(p.to(v.dtype), v, input_precision="ieee")
