# label: wrong
# title: backward by autograd
# says: autograd computed it.
# names: review; not_yours; crashed

def backward_by_autograd(q, k, v, do, alpha):
    leaves = [t.detach().clone().requires_grad_(True) for t in (q, k, v)]
    with torch.enable_grad():
        o = torch.softmax(alpha * leaves[0] @ leaves[1].T, -1) @ leaves[2]
    o.backward(do)
    return tuple(t.grad for t in leaves)
