"""How much torch computes in a launcher of what comes from its inputs, before and after its kernels.

    >>> work = LauncherWork([x])
    >>> work.operated(torch.ops.aten.sum.dim_IntList, (x, [1]), {}, [out])
    >>> work.observation().before
    (('sum', 444),)

A memory is *given* if elements of the inputs are in it, however they were moved or converted, and also if
torch computed what is in it from such elements; it is *stored* once a kernel had it among its arguments, or
could have its address. What moves elements is no work, unless it adds them up. All other operations count,
with the elements that they take or give, whichever are more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._pytree import tree_flatten

from flashlearn.interpreter.launcher_watch import EMPTY, FILLED
from flashlearn.processes.encoding import register

MOVES = frozenset({
    "_reshape_alias", "_to_copy", "_unsafe_view", "alias", "as_strided", "cat", "clone", "constant_pad_nd",
    "contiguous", "copy_", "detach", "diagonal", "expand", "fill_", "flip", "lift", "lift_fresh", "narrow",
    "permute", "repeat", "reshape", "roll", "select", "slice", "slice_backward", "select_backward", "split",
    "split_with_sizes", "squeeze", "stack", "t", "transpose", "unbind", "unfold", "unsqueeze", "view",
    "view_as_complex", "view_as_real", "zero_", "set_", "resize_", "tril", "triu", "new_empty_strided",
    "index_select", "movedim", "unsafe_split", "unsafe_chunk", "chunk", "masked_fill", "masked_fill_",
})  # fmt: skip
"""Operations that move, convert or blank elements."""
CHOOSES = frozenset({"where", "index", "index_select", "gather", "index_put_", "index_copy_", "masked_fill"})
"""The same, unless elements of the inputs say where."""
BY_VALUE = frozenset({"bernoulli", "linspace"})
"""Operations that make a tensor of numbers, or of other tensors' elements: these they copy, and may add."""
MAKES = EMPTY | FILLED | BY_VALUE | {
    "arange", "empty_quantized", "eye", "rand", "rand_like", "randint", "randn", "randn_like",
    "scalar_tensor",
}  # fmt: skip
"""Operations of which no element depends on a tensor's, but for those in `BY_VALUE`."""


@dataclass(frozen=True)
class WorkOfTorch:
    """What torch did, each operation with a number of elements: `before` to what was given, or to what it
    made of that itself; `after` to what kernels had stored, and to nothing given."""

    before: tuple[tuple[str, int], ...] = ()
    after: tuple[tuple[str, int], ...] = ()


register(WorkOfTorch)


class LauncherWork:
    """Follows memories through the steps of a launcher."""

    def __init__(self, inputs: Iterable[torch.Tensor]):
        self.given = {_memory(one) for one in inputs if one.is_floating_point()}
        self.stored: set[int] = set()
        self.before: Counter[str] = Counter()
        self.after: Counter[str] = Counter()
        self._kept: list[Any] = []

    def launched(self, tensors: Iterable[torch.Tensor]) -> None:
        """A kernel could store into these tensors."""
        self.stored |= {_memory(one) for one in tensors} - self.given

    def operated(self, operation: Any, args: tuple, named: dict, outputs: list[torch.Tensor]) -> None:
        """Torch did an operation."""
        name = operation.overloadpacket.__name__
        taken = [one for one in tree_flatten((args, named))[0] if isinstance(one, torch.Tensor)]
        given, stored = self._any(taken, self.given), self._any(taken, self.stored)
        if name in MAKES - BY_VALUE or not (given or stored):
            return
        if adds(name, args, named) or not _moves(operation, name, taken, self.given | self.stored):
            count = max((one.numel() for one in (*taken, *outputs)), default=0)
            (self.before if given else self.after)[name] += count
        for one in outputs:
            (self.given if given else self.stored).add(_memory(one))
            self._kept.append(one.untyped_storage())

    def _any(self, tensors: list[torch.Tensor], memories: set[int]) -> bool:
        return any(_memory(one) in memories for one in tensors)

    def observation(self) -> WorkOfTorch:
        """What was counted."""
        return WorkOfTorch(tuple(sorted(self.before.items())), tuple(sorted(self.after.items())))


def _moves(operation: Any, name: str, taken: list[torch.Tensor], tainted: set[int]) -> bool:
    """Whether an operation moves elements; one that chooses does where nothing tainted says which."""
    if name in CHOOSES:
        by = [one for one in taken if not one.is_floating_point()]
        return not any(_memory(one) in tainted for one in by)
    return name in MOVES or operation.is_view


def adds(name: str, args: tuple, named: dict) -> bool:
    """Whether an operation that puts elements into places adds them to what is there."""
    return name == "index_put_" and bool(named.get("accumulate", args[3] if len(args) > 3 else False))


def _memory(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage()._cdata
