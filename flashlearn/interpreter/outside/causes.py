"""What is wrong with an access out of bounds, as a sentence, where the kernel's own text decides it.

Each cause has a key of `flashlearn.explaining.findings.case_status.STEPS`, which has the question to ask.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from flashlearn.interpreter.outside.access import Cause, OutsideAccess
from flashlearn.interpreter.outside.address_terms import taken_apart
from flashlearn.interpreter.outside.index_causes import cause_of_indices
from flashlearn.interpreter.outside.indices import Index, Part, indices_of, merged_size, parts_of
from flashlearn.interpreter.outside.kernel_source import Scope, running_scope
from flashlearn.interpreter.views import View


def cause_of(access: OutsideAccess) -> Cause | None:
    """The cause of an access out of bounds; None where the text does not decide it.

    Nothing that a learner may write is a reason to fail here: the access itself is what is reported.
    """
    try:
        return _cause_of(access)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        return None


def _cause_of(access: OutsideAccess) -> Cause | None:
    scope = running_scope(access.program)
    address = taken_apart(scope, access.region, access.view, access.addresses) if scope is not None else None
    parts = parts_of(address.terms, access.view) if address is not None else None
    if not parts:
        return None
    unknown = [part for part in parts if part.dim is None]
    if unknown:
        return _of_strides(unknown, access, scope)
    indices = indices_of(parts, access.view)
    shared = _shared(indices, access.view)
    if shared is not None:
        return shared
    failing = [(index, outside) for index in indices if (outside := _outside(index, access)).any()]
    if not failing or any(_several(index.dim, access.view) for index, _ in failing):
        return None
    found = cause_of_indices([index for index, _ in failing], access, scope, address.line)
    return found and Cause(found.key, found.sentence, _at(indices, access))


def _outside(index: Index, access: OutsideAccess) -> np.ndarray:
    """The lanes that take part and whose index is outside."""
    numbers = np.broadcast_to(index.numbers, access.addresses.shape)
    return access.lanes & ((numbers < 0) | (numbers >= index.size))


def _several(dim: int, view: View) -> bool:
    """Whether another dimension has the same stride: an index may be one of either."""
    return view.strides.count(view.strides[dim]) > 1


def _at(indices: Sequence[Index], access: OutsideAccess) -> tuple[int, ...] | None:
    """The index of the first lane outside; None where a term stands for several dimensions."""
    view = access.view
    if any(index.size != view.shape[index.dim] for index in indices):
        return None
    if any(_several(index.dim, view) and index.numbers.any() for index in indices):
        return None
    at = [0] * len(view.shape)
    for index in indices:
        at[index.dim] = int(np.broadcast_to(index.numbers, access.addresses.shape)[access.first])
    return tuple(at)


# ---------------------------------------------------------------- strides


def _of_strides(unknown: Sequence[Part], access: OutsideAccess, scope: Scope) -> Cause | None:
    """A term whose stride is none of the tensor's."""
    part, view = unknown[0], access.view
    if len(unknown) > 1 or part.term.value(part.index) is None or not np.any(part.numbers):
        return None  # an index that is 0 here moves nothing, whatever it is multiplied by
    strides = f"stride {view.strides[0]}" if len(view.strides) == 1 else f"strides {view.strides}"
    has = f"{view.name} has the {strides}."
    if not part.stride:
        if not _by_ones(part.numbers):
            return None  # it has another tensor's stride already
        return Cause("stride", f"Where `{part.text}` grows by 1, so does the address, but {has}")
    step = int(np.asarray(part.term.value(part.stride)).flat[0])
    if step in view.strides:
        return None  # a number that is one of them, written out
    like = [v.name for v in access.others if step in v.strides and v.name != view.name]
    whose = f", a stride of {like[0]}" if len(set(like)) == 1 else ""
    passed = scope.parent is None and part.stride_text in scope.runtime_parameters
    is_here = f"for which the launcher passes {step}" if passed else f"which is {step} here"
    if not passed and len(set(like)) != 1:
        return None  # several rows at once, say, in a dimension of them all
    value = "" if part.stride_text == str(step) else f", {is_here}{whose}"
    return Cause("stride", f"The address multiplies `{part.text}` by `{part.stride_text}`{value}, but {has}")


def _by_ones(numbers: np.ndarray) -> bool:
    """Whether lanes beside each other have numbers that are 1 apart, or the same."""
    return all(
        set(np.unique(np.diff(numbers, axis=axis))) <= {0, 1} for axis in range(np.asarray(numbers).ndim)
    )


def _shared(indices: Sequence[Index], view: View) -> Cause | None:
    """Two indices with the stride of one dimension, while another dimension has none."""
    used = {index.dim for index in indices}
    for index in indices:
        merged = merged_size(view, index.dim, used) != view.shape[index.dim]
        free = [d for d, n in enumerate(view.shape) if d not in used and n > 1]
        if len(index.parts) != 2 or not free or merged:
            continue
        one, other = sorted(index.parts, key=lambda part: bool(part.stride))
        which = f"dimension {index.dim} alone; dimension {free[0]} gets no index"
        if one.stride_text == other.stride_text:
            by = f"multiplied by `{one.stride_text}`" if one.stride else "added without a stride"
            both = f"Both `{one.text}` and `{other.text}` are {by}: that moves {view.name} along {which}."
            return Cause("shared stride", both)
        if not one.stride:
            both = f"`{one.text}` is added without a stride, `{other.text}` times `{other.stride_text}`"
            return Cause("shared stride", f"{both}: here both move {view.name} along {which}.")
    return None
