"""What a block needs, before there is any code: as much as the compiled kernel has, within the bound."""

import pytest
import torch

from flashlearn.compiler import compile_launch
from flashlearn.compiler.shared_memory import bound, needed, upper_bound
from flashlearn.interpreter.dry_run import planned
from flashlearn.kernels.flash_backward_dkv import dkv_kernel
from flashlearn.kernels.flash_forward import flash_forward
from flashlearn.kernels.matmul import tiled_matmul
from flashlearn.kernels.tuned_forward import tuned_forward


def launches(dtype):
    q = torch.empty(1, 2, 130, 64, dtype=dtype)
    lse = torch.empty(1, 2, 130)
    calls = {
        "flash_forward": lambda g: flash_forward(g["q"], g["q"], g["q"], 0.1),
        "dkv": lambda g: dkv_kernel(g["q"], g["q"], g["q"], g["q"], g["q"], g["lse"], 0.1),
        "tuned": lambda g: tuned_forward(g["q"], g["q"], g["q"], True),
        "matmul": lambda g: tiled_matmul(g["q"][0, 0], g["q"][0, 0].mT),
    }
    return [one for call in calls.values() for one in planned(call, {"q": q, "lse": lse}, 20.0)]


def test_the_compiled_kernel_has_as_much_shared_memory():
    launch = launches(torch.float16)[0]
    budgets = compile_launch(launch, targets=(80, 90))
    assert [b.shared_bytes for b in budgets] == [needed(launch.specialised, t) for t in (80, 90)]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_no_kernel_needs_more_than_its_bound(dtype):
    for launch in launches(dtype):
        most = bound(launch.specialised)
        assert all(needed(launch.specialised, target) <= most for target in (89, 90, 120)), launch.name


def test_tiles_that_are_loaded_in_a_loop_count_once_for_each_stage():
    ttir = """
      %q = tt.load %p : tensor<64x64x!tt.ptr<f16>> -> tensor<64x64xf16>
      scf.for %i = %a to %b step %c {
        %k = tt.load %p : tensor<32x64xf16>
      }
      %v = tt.load %p : tensor<32x64xf16>
    """
    tile = 32 * 64 * 2
    assert upper_bound(ttir, 3) == 2 * tile + 3 * tile + tile + 2 * 2 * tile
