"""What a launcher would launch on a GPU, for tensors of any size: nothing runs, and no GPU need be here.

    >>> launches = planned(lambda given: flash_forward(**given), {"q": q, "k": k, "v": v, "alpha": 0.125})
    >>> launches[0].constexprs["BLOCK_Q"]      # as the launcher chooses it for a CUDA tensor of this dtype
    64

The launcher gets tensors on "meta", which have a shape and a dtype alone, and say that they are on a GPU.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from flashlearn.interpreter.arguments import bind, check_grid, describe_launch
from flashlearn.interpreter.deadline import deadline
from flashlearn.interpreter.rewrite import python_function
from flashlearn.interpreter.route import apart
from flashlearn.interpreter.session import Session
from flashlearn.interpreter.specialization import specialize
from flashlearn.observation import Launch

THERE = torch.device("cuda", 0)
ENGINE = "_engine_run_backward"


def planned(
    call: Callable[[dict[str, Any]], Any], inputs: dict[str, Any], limit: float, fake: bool = True
) -> list[Launch]:
    """The launches of `call(inputs)`, of whose tensors, on whatever device, only shapes and strides matter.

    With `fake` tensors in their place no GPU need be here, and a call that looks at data finds none; without,
    the call gets the inputs as they are. Raises whatever the call raises.
    """
    session = _Plan()
    given = {n: _faked(v) if fake and isinstance(v, torch.Tensor) else v for n, v in inputs.items()}
    mode = _OnAGpu() if fake else contextlib.nullcontext()
    backward = _also_backward(mode) if fake else contextlib.nullcontext()
    with mode, backward, apart(session=session), deadline(limit):
        call(given)
    return session.launches


class _Plan(Session):
    """Notes launches and runs none."""

    def _launch(self, kernel: Any, grid: Any, args: tuple, kwargs: dict[str, Any]) -> None:
        function = python_function(kernel)
        values, options = bind(function, args, kwargs, self.devices)
        specialised = specialize(kernel, args, kwargs)
        shape = check_grid(grid, values)
        record = describe_launch(kernel, function, values, shape, options, specialised)
        self.launches.append(replace(record, specialised=specialised))


class _OnAGpu(TorchFunctionMode):
    """Tensors on "meta" say that they are on a GPU, and what is made there is made on "meta"."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        asked = getattr(func, "__self__", None)
        if asked is torch.Tensor.device:
            return THERE
        if asked is torch.Tensor.is_cuda:
            return True
        if func is torch.Tensor.cuda:
            return args[0]
        given = {name: _meta(value) if name == "device" else value for name, value in (kwargs or {}).items()}
        if func is torch.Tensor.to:
            args = tuple(map(_meta, args))
        return func(*args, **given)


@contextlib.contextmanager
def _also_backward(mode: TorchFunctionMode) -> Iterator[None]:
    """The mode is in force in a backward pass too: torch leaves it where it meets `grad` or `backward`."""
    run_backward = getattr(torch.autograd, ENGINE, None)
    if run_backward is None:  # another torch: a backward pass is not planned
        yield
        return

    def run_in_mode(*args: Any, **kwargs: Any) -> Any:
        with mode:
            return run_backward(*args, **kwargs)

    setattr(torch.autograd, ENGINE, run_in_mode)
    try:
        yield
    finally:
        setattr(torch.autograd, ENGINE, run_backward)


def _meta(value: Any) -> Any:
    """ "meta" in place of a GPU; all else as it is."""
    there = isinstance(value, torch.device | str) and str(value).startswith("cuda")
    return "meta" if there else value


def _faked(tensor: torch.Tensor) -> torch.Tensor:
    """A tensor without data, with the shape, the strides and the dtype of another one."""
    there = torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device="meta")
    return there.requires_grad_(tensor.requires_grad)
