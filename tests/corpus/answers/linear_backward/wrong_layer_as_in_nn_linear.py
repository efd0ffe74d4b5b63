# label: wrong
# title: layer as in nn linear
# says: dw has the layout of nn.Linear's weight, [N, K].
# names: dw transposed; shape

def layer_as_in_nn_linear(x, w, dy):
    dw = torch.einsum("...n,...k->nk", dy, x)
    return torch.einsum("...n,kn->...k", dy, w), dw
