# label: wrong
# title: maximum over the queries
# says: The maximum is taken over dim 0, the queries: within a row of P different numbers are subtracted.
# names: one edit

def attention_backward(q, k, v, do, alpha):
    scores = alpha * q @ k.T
    weights = torch.exp(scores - scores.amax(0))
    P = weights / weights.sum(1, keepdim=True)
    dv = P.T @ do
    dP = do @ v.T
    dS = P * (dP - (P * dP).sum(1, keepdim=True))
    return alpha * dS @ k, alpha * dS.T @ q, dv
