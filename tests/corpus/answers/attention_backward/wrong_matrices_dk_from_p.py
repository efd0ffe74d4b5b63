# label: wrong
# title: matrices, dk from p
# says: P stands where dS belongs in dK.
# names: P in place of dS in dK
# base: right_einsum_logsumexp_delta_from_o

# --- replace
    dk = torch.einsum("ij,id->jd", d_scores, q) * alpha
# --- with
    dk = torch.einsum("ij,id->jd", p, q) * alpha
