"""What kernels print is shown as far as it can be read, and counted."""

from __future__ import annotations

import sys

import pytest
import torch
import triton
import triton.language as tl

import flashlearn
from flashlearn.interpreter import printing


@triton.jit
def talkative_kernel(x_ptr, s_ptr, columns, stride_row, stride_column, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * stride_row + offsets * stride_column, mask=offsets < columns, other=0.0)
    print("row", row)
    tl.device_print("x", x)
    tl.store(s_ptr + row, tl.sum(x.to(tl.float32), axis=0))


def talkative(x: torch.Tensor) -> torch.Tensor:
    s = torch.empty(x.shape[0], dtype=x.dtype)
    block = triton.next_power_of_2(x.shape[1])
    talkative_kernel[(x.shape[0],)](x, s, x.shape[1], *x.stride(), BLOCK=block)
    return s


def test_a_launch_of_ones_own_prints_the_first_lines_and_how_many_there_were(capsys):
    talkative(torch.ones(50, 4))
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == printing.LINES + 1
    assert lines[-1].startswith(f"… 100 lines were printed, and the first {printing.LINES} are shown")


def test_what_fits_is_printed_as_it_is(capsys):
    talkative(torch.ones(3, 4))
    assert len(capsys.readouterr().out.splitlines()) == 6


def test_all_cases_of_a_check_print_together_and_experiments_in_silence(capsys):
    flashlearn.check("row_sum", lambda x: 2 * talkative(x))
    lines = [line for line in capsys.readouterr().out.splitlines() if line]
    assert len(lines) == printing.LINES + 1, "experiments run the kernel again, and print nothing"


def test_a_line_without_an_end_is_cut(capsys):
    with printing.capped():
        for _ in range(100):
            sys.stdout.write("x" * 1000)
    assert len(capsys.readouterr().out) < 2 * printing.LONGEST


def test_stdout_is_put_back_when_a_kernel_fails():
    before = sys.stdout
    with pytest.raises(ZeroDivisionError), printing.capped():
        raise ZeroDivisionError
    assert sys.stdout is before
