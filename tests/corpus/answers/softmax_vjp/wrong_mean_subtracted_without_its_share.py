# label: wrong
# title: mean subtracted without its share
# says: The inner product is subtracted from p ∘ dp with weight 1: it has to be multiplied by p_j too, ds = p
#   ∘ (dp − ⟨p, dp⟩). Wrong for every row of more than one entry with a mean that is not zero.
# names: p on dp alone

def softmax_vjp(p: sp.Matrix, dp: sp.Matrix) -> sp.Matrix:
    scaling = p.multiply_elementwise(dp)
    competition = sp.ones(p.rows, 1) * p.dot(dp)
    return scaling - competition
