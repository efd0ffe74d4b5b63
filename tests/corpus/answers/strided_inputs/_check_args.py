# part: a text that answers include

OK = (torch.float16, torch.bfloat16, torch.float32)


def check_args(q, k, v):
    for name, x in zip("qkv", (q, k, v)):
        if x.dim() != 4:
            raise ValueError(f"{name}: 4 dimensions wanted, shape {tuple(x.shape)} found")
        if x.dtype not in OK or x.dtype != q.dtype:
            raise TypeError(f"{name} has dtype {x.dtype}; q has {q.dtype}, allowed are {OK}")
        if x.device != q.device:
            raise ValueError(f"{name} is on {x.device}, q on {q.device}")
    B, H, N, D = q.shape
    M = k.shape[2]
    for name, x in (("k", k), ("v", v)):
        if x.shape != (B, H, M, D):
            raise ValueError(f"{name} has shape {tuple(x.shape)}, not {(B, H, M, D)}; q has {tuple(q.shape)}")
