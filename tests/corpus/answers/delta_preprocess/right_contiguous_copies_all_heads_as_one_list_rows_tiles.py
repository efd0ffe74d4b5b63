# label: right
# title: contiguous copies, all heads as one list of rows, tiles transposed

@triton.jit
def _flat_rows(o_ptr, do_ptr, out_ptr, rows, D, BR: tl.constexpr, BD: tl.constexpr):
    r = tl.program_id(0) * BR + tl.arange(0, BR)
    d = tl.arange(0, BD)
    at = r[None, :] * D + d[:, None]  # [BD, BR]: components down
    ok = (r[None, :] < rows) & (d[:, None] < D)
    o = tl.load(o_ptr + at, mask=ok, other=0.0).to(tl.float32)
    do = tl.load(do_ptr + at, mask=ok, other=0.0).to(tl.float32)
    tl.store(out_ptr + r, tl.sum(o * do, axis=0), mask=r < rows)


def rows_of_all_heads(o, do):
    o, do = o.contiguous(), do.contiguous()
    delta = torch.empty(o.shape[:3])
    rows = delta.numel()
    _flat_rows[(triton.cdiv(rows, 32),)](
        o, do, delta, rows, o.shape[3], BR=32, BD=triton.next_power_of_2(o.shape[3])
    )
    return delta
