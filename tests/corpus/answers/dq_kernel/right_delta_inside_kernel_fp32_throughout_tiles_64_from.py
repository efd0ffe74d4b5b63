# label: right
# title: delta inside the kernel, fp32 throughout, tiles of 64 from the last to the first, dS = P dP − P delta

# INCLUDE: shared/_delta_inside_kernel


def dq_delta_inside(q, k, v, o, do, lse, alpha):
    q, k, v, o, do = (t.contiguous() for t in (q, k, v, o, do))
    B, H, Sq, D = q.shape
    dq = torch.empty_like(q)
    BD = max(16, triton.next_power_of_2(D))
    grid = (B * H, triton.cdiv(Sq, 64))
    delta_inside_kernel[grid](q, k, v, o, do, lse, dq, alpha, Sq, k.shape[2], D, B=64, BD=BD, causal=False)
    return dq
