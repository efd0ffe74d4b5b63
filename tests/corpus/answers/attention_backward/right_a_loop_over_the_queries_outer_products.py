# label: right
# title: a loop over the queries, outer products

def attention_backward(q, k, v, do, alpha):
    # a query at a time, as one would with pencil and paper
    dq, dk, dv = torch.zeros_like(q), torch.zeros_like(k), torch.zeros_like(v)
    for i in range(q.shape[0]):
        s = alpha * (k @ q[i])
        e = torch.exp(s - s.max())
        p = e / e.sum()
        dp = v @ do[i]
        delta = p.dot(dp)
        ds = p * (dp - delta)
        dq[i] = alpha * (k.T @ ds)
        dk += alpha * torch.outer(ds, q[i])
        dv += torch.outer(p, do[i])
    return dq, dk, dv
