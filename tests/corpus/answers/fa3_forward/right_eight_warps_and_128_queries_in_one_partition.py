# label: right
# title: eight warps and 128 queries in one partition
# base: right_one_partition_does_all_one_slot_natural_exponentials

# --- replace
def lonely(qd, kd, vd, od, lse_ptr, alpha, H, G, S_q, S_k, D: gl.constexpr, BLOCK: gl.constexpr, CAUSAL: gl.constexpr):
    ls: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, BLOCK, 16])
    lo: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, D, 16])
    left: gl.constexpr = gl.DotOperandLayout(0, lo, 2)
    row = gl.program_id(0) * 64
# --- with
def wide(qd, kd, vd, od, lse_ptr, alpha, H, G, S_q, S_k, D: gl.constexpr, BLOCK: gl.constexpr, CAUSAL: gl.constexpr):
    ls: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [8, 1], [16, BLOCK, 16])
    lo: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [8, 1], [16, D, 16])
    left: gl.constexpr = gl.DotOperandLayout(0, lo, 2)
    row = gl.program_id(0) * 128

# --- replace
    qt = gl.allocate_shared_memory(qd.dtype, [1, 1, 64, D], qd.layout)
# --- with
    qt = gl.allocate_shared_memory(qd.dtype, [1, 1, 128, D], qd.layout)

# --- replace
    rows = row + gl.arange(0, 64, layout=gl.SliceLayout(1, ls))
    m = gl.full([64], -float("inf"), gl.float32, layout=gl.SliceLayout(1, ls))
    l = gl.full([64], 0.0, gl.float32, layout=gl.SliceLayout(1, ls))
    acc = gl.zeros([64, D], gl.float32, layout=lo)
# --- with
    rows = row + gl.arange(0, 128, layout=gl.SliceLayout(1, ls))
    m = gl.full([128], -float("inf"), gl.float32, layout=gl.SliceLayout(1, ls))
    l = gl.full([128], 0.0, gl.float32, layout=gl.SliceLayout(1, ls))
    acc = gl.zeros([128, D], gl.float32, layout=lo)

# --- replace
        s = warpgroup_mma(qt.reshape([64, D]), kt.reshape([BLOCK, D]).permute([1, 0]), gl.zeros([64, BLOCK], gl.float32, layout=ls), is_async=True)
# --- with
        s = warpgroup_mma(qt.reshape([128, D]), kt.reshape([BLOCK, D]).permute([1, 0]), gl.zeros([128, BLOCK], gl.float32, layout=ls), is_async=True)

# --- replace
    qt.reshape([64, D]).store(acc.to(od.dtype))
# --- with
    qt.reshape([128, D]).store(acc.to(od.dtype))

# --- replace
    lonely[(triton.cdiv(S_q, 64), H, B)](
        boxes(q, 64), boxes(k, 64), boxes(v, 64), boxes(o, 64), lse, alpha, H, H // H_k, S_q, S_k,
        D=D, BLOCK=64, CAUSAL=causal, num_warps=4)
# --- with
    wide[(triton.cdiv(S_q, 128), H, B)](
        boxes(q, 128), boxes(k, 64), boxes(v, 64), boxes(o, 128), lse, alpha, H, H // H_k, S_q, S_k,
        D=D, BLOCK=64, CAUSAL=causal, num_warps=8)
