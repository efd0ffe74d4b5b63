# label: wrong
# title: layer by autograd
# says: autograd computed them.
# names: review; crashed; not_yours

def layer_by_autograd(x, w, dy):
    with torch.enable_grad():
        x, w = x.detach().requires_grad_(), w.detach().requires_grad_()
        return torch.autograd.grad(x @ w, (x, w), dy)
