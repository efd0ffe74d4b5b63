# label: wrong
# title: dw keeps the batch dimension
# says: The einsum keeps the dots in its output, so for a batched x dw is [B, K, N] instead of [K, N]: all
#   sequences used w, so their gradients must be added.
# names: dw for each batch element

def linear_backward(x, w, dy):
    dx = torch.einsum("...mn,kn->...mk", dy, w)
    dw = torch.einsum("...mk,...mn->...kn", x, dy)
    return dx, dw
