# label: wrong
# title: alpha divided
# says: line `return`: dK is divided by alpha instead of multiplied
# names: factor

from flashlearn.lessons.lesson_03_attention_backward.one_walk import dq


def attention_dq_dk(q: sp.Matrix, k: sp.Matrix, ds: sp.Matrix, alpha: sp.Expr) -> tuple[sp.Matrix, sp.Matrix]:
    dq = (ds * alpha) * k
    dk = ds.T * q / alpha
    return dq, dk
