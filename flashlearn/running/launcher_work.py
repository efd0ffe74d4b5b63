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
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._pytree import tree_flatten

from flashlearn.interpreter.dispatch_mode import LightDispatchMode
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
PRODUCTS = frozenset({
    "addbmm", "addmm", "addmv", "addr", "baddbmm", "bmm", "dot", "mm", "mv", "vdot",
})  # fmt: skip
ALGEBRA = frozenset({
    "abs", "add", "amax", "amin", "argmax", "argmin", "bitwise_and", "bitwise_not", "bitwise_or",
    "bitwise_xor", "ceil", "clamp", "clamp_max", "clamp_min", "cummax", "cumsum", "div", "eq", "floor",
    "floor_divide", "fmax", "fmin", "ge", "gt", "isfinite", "isinf", "isnan", "le", "logical_and",
    "logical_not", "logical_or", "logical_xor", "lt", "max", "maximum", "mean", "min", "minimum", "mul", "ne",
    "neg", "reciprocal", "relu", "remainder", "round", "rsub", "sign", "sub", "sum", "trunc",
})  # fmt: skip
"""Operations that hardware does in a cycle; all others that are no products count as transcendental."""
STEPS = {"_softmax": 5, "_log_softmax": 5, "logsumexp": 4}
"""So many operations are what torch does in one, where it is not one."""


@dataclass(frozen=True)
class WorkOfTorch:
    """What torch did, each operation with a number of elements: `before` to what was given, or to what it
    made of that itself; `after` to what kernels had stored, and to nothing given."""

    before: tuple[tuple[str, int], ...] = ()
    after: tuple[tuple[str, int], ...] = ()


register(WorkOfTorch)


@dataclass(frozen=True)
class Elements:
    """Elements by kind of operation: what is neither a product nor a move, and of that the transcendental."""

    computed: int = 0
    transcendental: int = 0

    def __add__(self, other: Elements) -> Elements:
        return Elements(self.computed + other.computed, self.transcendental + other.transcendental)


def elements(work: WorkOfTorch) -> Elements:
    """How many elements torch computed, by kind."""
    found = Elements()
    for name, count in (*work.before, *work.after):
        if name not in PRODUCTS:
            special = name.rstrip("_") not in ALGEBRA and name not in CHOOSES | MOVES
            found += Elements(STEPS.get(name, 1) * count, count if special else 0)
    return found


def work_of(function: Callable[..., Any], inputs: dict[str, Any]) -> WorkOfTorch:
    """What a function computes in torch of its inputs' elements."""
    tensors = [one for one in tree_flatten(inputs)[0] if isinstance(one, torch.Tensor)]
    with _Counting(LauncherWork(tensors)) as counting:
        function(**inputs)
    return counting.work.observation()


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
            count = _count(name, taken, outputs)
            (self.before if given else self.after)[name] += count
        for one in outputs:
            (self.given if given else self.stored).add(_memory(one))
            self._kept.append(one.untyped_storage())

    def _any(self, tensors: list[torch.Tensor], memories: set[int]) -> bool:
        return any(_memory(one) in memories for one in tensors)

    def observation(self) -> WorkOfTorch:
        """What was counted."""
        return WorkOfTorch(tuple(sorted(self.before.items())), tuple(sorted(self.after.items())))


def _count(name: str, taken: list[torch.Tensor], outputs: list[torch.Tensor]) -> int:
    """Elements that an operation takes or gives, whichever are more; of a product, what it does with pairs.

    A complex number is two: their product is four of real ones, of which an inner product needs two.
    """
    both = [*taken, *outputs]
    parts = 2 if any(one.is_complex() for one in both) else 1
    most = parts * max((one.numel() for one in both), default=0)
    if name in PRODUCTS and taken and outputs:
        return max(
            most,
            2
            * parts
            * max(one.numel() for one in outputs)
            * max(one.shape[-1] for one in taken if one.dim()),
        )
    return most


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


class _Counting(LightDispatchMode):
    """Has every operation counted, and done."""

    def __init__(self, work: LauncherWork):
        super().__init__()
        self.work = work

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        out = func(*args, **kwargs)
        self.work.operated(func, args, kwargs, [one for one in tree_flatten(out)[0] if _is_tensor(one)])
        return out


def _is_tensor(value: Any) -> bool:
    return isinstance(value, torch.Tensor)
