"""What a launcher would launch on a GPU, for tensors of any size: nothing runs, and no GPU need be here.

    >>> launches = planned(lambda given: flash_forward(**given), {"q": q, "k": k, "v": v, "alpha": 0.125})
    >>> launches[0].constexprs["BLOCK_Q"]      # as the launcher chooses it for a CUDA tensor of this dtype
    64

The launcher gets torch's fake tensors: they say that they are on a GPU, and have a shape and a dtype alone.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from flashlearn.interpreter.arguments import bind, check_grid, describe_launch
from flashlearn.interpreter.deadline import deadline
from flashlearn.interpreter.errors import NeedsGpu
from flashlearn.interpreter.observation import Launch
from flashlearn.interpreter.rewrite import python_function
from flashlearn.interpreter.route import apart
from flashlearn.interpreter.session import Session
from flashlearn.interpreter.specialised import specialise


def planned(
    call: Callable[[dict[str, Any]], Any], inputs: dict[str, Any], limit: float, fake: bool = True
) -> list[Launch]:
    """The launches of `call(inputs)`, of whose tensors, on whatever device, only shapes and strides matter.

    With `fake` tensors in their place no GPU need be here, and a call that looks at data finds none; without,
    the call gets the inputs as they are. Raises whatever the call raises.
    """
    session = _Plan()
    mode = FakeTensorMode() if fake else contextlib.nullcontext()
    with warnings.catch_warnings(), mode:
        warnings.filterwarnings("ignore", message=".*data pointer of FakeTensor")
        given = {n: _faked(v) if fake and isinstance(v, torch.Tensor) else v for n, v in inputs.items()}
        with apart(session=session), deadline(limit):
            call(given)
    return session.launches


class _Plan(Session):
    """Notes launches and runs none."""

    def _launch(self, kernel: Any, grid: Any, args: tuple, kwargs: dict[str, Any]) -> None:
        if getattr(kernel, "is_gluon", bool)():
            raise NeedsGpu("Gluon kernels cannot be interpreted: this one needs a GPU.")
        function = python_function(kernel)
        values, options = bind(function, args, kwargs, self.devices)
        specialised = specialise(kernel, args, kwargs)
        shape = check_grid(grid, values)
        record = describe_launch(kernel, function, values, shape, options, specialised)
        self.launches.append(replace(record, specialised=specialised))


def _faked(tensor: torch.Tensor) -> torch.Tensor:
    """A fake tensor on a GPU with the shape, the strides and the dtype of another one."""
    return torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device="cuda")
