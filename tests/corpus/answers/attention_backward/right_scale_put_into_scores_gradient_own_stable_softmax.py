# label: right
# title: scale put into the scores' gradient, own stable softmax

def attention_backward(
    q, k, v, do, alpha
):
    scores = alpha * torch.einsum("id,jd->ij", q, k)
    top, _ = scores.max(dim=1, keepdim=True)
    weights = (scores - top).exp()
    weights = weights / weights.sum(dim=1, keepdim=True)
    d_weights = torch.einsum("id,jd->ij", do, v)
    mean = torch.einsum("ij,ij->i", weights, d_weights)
    d_unscaled = alpha * weights * (d_weights - mean[:, None])
    return (
        torch.einsum("ij,jd->id", d_unscaled, k),
        torch.einsum("ij,id->jd", d_unscaled, q),
        torch.einsum("ij,id->jd", weights, do),
    )
