# label: right
# title: delta inside the kernel, an if in the loop instead of an end, backwards

# INCLUDE: shared/_delta_inside_kernel


def dq_causal_with_an_if(q, k, v, o, do, lse, alpha):
    q, k, v, o, do = (t.contiguous() for t in (q, k, v, o, do))
    B, H, Sq, D = q.shape
    dq = torch.empty_like(q)
    BD = max(16, triton.next_power_of_2(D))
    grid = (B * H, triton.cdiv(Sq, 32))
    delta_inside_kernel[grid](q, k, v, o, do, lse, dq, alpha, Sq, k.shape[2], D, B=32, BD=BD, causal=True)
    return dq
