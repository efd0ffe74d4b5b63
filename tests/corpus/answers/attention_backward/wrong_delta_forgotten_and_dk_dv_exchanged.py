# label: wrong
# title: delta forgotten and dk, dv exchanged
# says: Two mistakes: ds = p * dp lacks − delta (the rows of dS must sum to zero), and the function returns
#   dq, dv, dk where dq, dk, dv is asked for.
# names: delta forgotten + outputs exchanged

def attention_backward(
    q, k, v, do, alpha
):
    p = torch.softmax(alpha * q @ k.T, dim=-1)
    dv = p.T @ do
    dp = do @ v.T
    ds = p * dp
    dq = alpha * ds @ k
    dk = alpha * ds.T @ q
    return dq, dv, dk
