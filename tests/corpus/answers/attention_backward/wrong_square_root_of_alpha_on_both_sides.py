# label: wrong
# title: square root of alpha on both sides
# says: The scale is split as alpha ** 0.5 on q and k: for a negative alpha, which the exercise allows, that
#   is a complex number and the softmax fails. Multiply the scores by alpha itself.
# names: crashed

def attention_backward(
    q, k, v, do, alpha
):
    root = alpha**0.5
    qs, ks = q * root, k * root
    p = torch.softmax(qs @ ks.mT, dim=-1)
    dv = p.mT @ do
    dp = do @ v.mT
    ds = p * (dp - (p * dp).sum(-1, keepdim=True))
    dq = (ds @ ks) * root
    dk = (ds.mT @ qs) * root
    return dq, dk, dv
