# label: wrong
# title: tensors
# says: Tensors were returned, not trials.
# names: shape; launcher; crashed

def tensors(q, k, v, do, alpha):
    return torch.cat([q, k]), torch.cat([v, do])
