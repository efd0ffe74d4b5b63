# label: wrong
# title: batch gradients averaged
# says: For three dimensions dw takes `.mean(dim=0)` over the sequences; gradients of one weight used in B
#   sequences add. Wrong by a factor B for every batch of more than one.
# names: constant factor

def linear_backward(x, w, dy):
    dx = torch.matmul(dy, w.mT)
    per_sequence = torch.matmul(x.mT, dy)
    if x.dim() == 3:
        dw = per_sequence.mean(dim=0)
    else:
        dw = per_sequence
    return dx, dw
