"""The lines that decide an access: its own, those that compute its index, and the launch."""

from flashlearn.explaining.edits.address_slice import READS, WRITES, address_slice
from flashlearn.running.answer_source import Section

KERNEL = """@triton.jit
def f_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    offs = pid * BLOCK + tl.arange(0, BLOCK)
    inside = offs < n
    x = tl.load(x_ptr + offs, mask=inside, other=0.0)
    scale = 2.0
    x = x * scale
    tl.store(y_ptr + pid, x)
"""
LAUNCHER = """def f(x):
    n = x.numel()
    unused = 3
    y = torch.empty_like(x)
    grid = (n,)
    f_kernel[grid](x, y, n, BLOCK=16)
    return y
"""
FOUND = [Section("f_kernel", "file", 11, KERNEL), Section("f", "file", 31, LAUNCHER)]


def test_the_lines_of_a_load_are_those_of_its_index_and_mask():
    kernel, launcher = address_slice(FOUND, READS, None)
    assert kernel == {3, 4, 5, 6}
    assert launcher == {2, 4, 5, 6}


def test_the_lines_of_a_store_leave_out_the_value_that_is_stored():
    assert address_slice(FOUND, WRITES, None)[0] == {3, 9}


def test_a_learner_s_line_selects_the_access():
    assert address_slice(FOUND, (*READS, *WRITES), 19)[0] == {3, 9}
