# label: wrong
# title: elementwise dp
# says: line `dP`: uses P ∘ (dO Vᵀ), already the worth weighted by P
# names: dP multiplied by P

def attention_dv_dp(p: sp.Matrix, v: sp.Matrix, do: sp.Matrix) -> tuple[sp.Matrix, sp.Matrix]:
    dV = p.T * do
    dP = p.multiply_elementwise(do * v.T)
    return dV, dP
