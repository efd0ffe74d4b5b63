# label: right
# title: a launch per head, a program per query, D in chunks of 8

@triton.jit
def delta_of_query(o_ptr, do_ptr, delta_ptr, S, D, o_s, o_d, do_s, do_d, CHUNK: tl.constexpr):
    # one program per query of one head; the launcher moves the pointers to the head
    i = tl.program_id(0)
    acc = tl.zeros([CHUNK], tl.float32)
    for start in range(0, D, CHUNK):
        d = start + tl.arange(0, CHUNK)
        o = tl.load(o_ptr + i * o_s + d * o_d, mask=d < D, other=0.0)
        g = tl.load(do_ptr + i * do_s + d * do_d, mask=d < D, other=0.0)
        acc += o.to(tl.float32) * g.to(tl.float32)
    tl.store(delta_ptr + i, tl.sum(acc))


def delta_preprocess(o, do):
    B, H, S, D = o.shape
    delta = torch.empty((B, H, S), dtype=torch.float32)
    for b in range(B):
        for h in range(H):
            delta_of_query[(S,)](
                o[b, h], do[b, h], delta[b, h], S, D, *o.stride()[2:], *do.stride()[2:], CHUNK=8
            )
    return delta
