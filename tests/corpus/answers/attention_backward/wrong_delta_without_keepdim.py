# label: wrong
# title: delta without keepdim
# says: `.sum(dim=-1)` gives delta the shape [S_q], and dp − delta lines it up with the keys: an error for S_q
#   ≠ S_k, and silently wrong for S_q = S_k. keepdim=True (or [:, None]).
# names: crashed; one edit

def attention_backward(
    q, k, v, do, alpha
):
    s = alpha * (q @ k.T)
    p = s.softmax(dim=1)
    o = p @ v
    dv = p.T @ do
    dp = do @ v.T
    delta = (o * do).sum(dim=-1)
    ds = p * (dp - delta)
    dq = alpha * (ds @ k)
    dk = alpha * (ds.T @ q)
    return dq, dk, dv
