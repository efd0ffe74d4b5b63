# label: wrong
# title: unseen: plus delta, and no alpha
# says: Two mistakes: delta is added instead of subtracted, and alpha is missing from dQ.
# names: delta added + alpha is missing from dQ; delta added; alpha is missing from dQ
# base: _dq_by_the_notebook

# --- replace
        dS = P * (dP - Dl)
        grad = tl.dot(dS.to(Kb.dtype), Kb, grad, input_precision="ieee")
    grad = grad * alpha
# --- with
        dS = P * (dP + Dl)
        grad = tl.dot(dS.to(Kb.dtype), Kb, grad, input_precision="ieee")
