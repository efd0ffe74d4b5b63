# label: right
# title: integers of 64 bits, whose sum does not depend on the order
# base: right_two_programs_per_head_each_with_part_own_added_by

# --- replace
    for block in range(tl.program_id(1), tl.cdiv(M, BLOCK), tl.num_programs(1)):
# --- with
    for block in range(tl.program_id(1).to(tl.int64), tl.cdiv(M, BLOCK), tl.num_programs(1)):

# --- replace
def two_parts(q, k, v, o, do, lse, alpha, causal):
    parts = torch.zeros((2, *q.shape), dtype=torch.float32, device=q.device)
    dk, dv = _walk(q, k, v, o, do, lse, alpha, causal, parts, 2, False)
    return (parts[0] + parts[1]).to(q.dtype), dk, dv
# --- with
def fixed_point(q, k, v, o, do, lse, alpha, causal):
    total = torch.zeros(q.shape, dtype=torch.int64, device=q.device)
    dk, dv = _walk(q, k, v, o, do, lse, alpha, causal, total, triton.cdiv(k.shape[2], 32), True)
    return (total.double() * 2.0**-40).to(q.dtype), dk, dv
