# label: right
# title: einsum with an ellipsis

def layer_by_einsum(x, w, dy):
    return torch.einsum("...mn,kn->...mk", dy, w), torch.einsum("...mk,...mn->kn", x, dy)
