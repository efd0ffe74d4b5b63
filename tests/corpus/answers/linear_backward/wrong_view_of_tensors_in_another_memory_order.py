# label: wrong
# title: view of tensors in another memory order
# says: `.view(-1, K)` refuses tensors whose memory is in another order, which the exercise announces: a
#   batched x that is a transposed view raises a RuntimeError. Use reshape or flatten.
# names: crashed

def linear_backward(x, w, dy):
    K, N = w.shape
    flat_x = x.view(-1, K)
    flat_dy = dy.view(-1, N)
    dw = flat_x.T @ flat_dy
    dx = (flat_dy @ w.T).view(x.shape)
    return dx, dw
