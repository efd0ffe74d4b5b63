"""Values as bytes and back: a small typed encoding of arrays, records and expressions, and no pickles.

    >>> decode(encode({"x": torch.ones(2), "how": Observed(seed=3)}))

A message is a tree in JSON, and the bytes of tensors and arrays after it. What comes from a process that is
not trusted can give wrong values here, and nothing else: classes are taken from `RECORDS` and from sympy, and
whatever does not fit raises `Malformed`.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import json
import math
import struct
import types
import typing
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import sympy as sp
import torch
from sympy.matrices.matrixbase import MatrixBase
from sympy.tensor.array.ndim_array import NDimArray

from flashlearn.processes import expressions

RECORDS: dict[str, type] = {}
"""Dataclasses, named tuples and enumerations that may travel, by their names."""

HEAD = struct.Struct("<4sQI")
MAGIC = b"FLe1"
MOST = 1 << 31
"""Bytes of one message."""
PLAIN = {str: str, bool: bool, int: int, float: (int, float), bytes: bytes, type(None): type(None)}


class Malformed(ValueError):
    """Bytes that are no message of ours."""


def register(*kinds: type) -> None:
    """Let these classes travel. Raises ValueError for a second class of the same name."""
    for kind in kinds:
        if RECORDS.setdefault(kind.__name__, kind) is not kind:
            raise ValueError(f"there are two records called {kind.__name__}")


def encode(value: Any) -> bytes:
    """One message. Raises TypeError for a value that cannot travel."""
    writer = _Writer()
    tree = json.dumps(writer.node(value)).encode()
    blobs = b"".join(writer.blobs)
    return HEAD.pack(MAGIC, len(tree) + len(blobs), len(tree)) + tree + blobs


def decode(message: bytes) -> Any:
    """The value of a whole message. Raises Malformed."""
    magic, total, size = HEAD.unpack_from(message) if len(message) >= HEAD.size else (b"", 0, 0)
    body = memoryview(message)[HEAD.size :]
    if magic != MAGIC or total != len(body) or size > total:
        raise Malformed("this is no message")
    try:
        return _Reader(body[size:]).value(json.loads(bytes(body[:size])))
    except Malformed:
        raise
    except Exception as error:
        raise Malformed(f"a message that cannot be read: {type(error).__name__}: {error}") from error


@functools.cache
def _hints(kind: type) -> dict[str, Any]:
    """The types of a record's fields; names that only type checkers import are those of records."""
    return typing.get_type_hints(kind, localns=RECORDS)


def fits(value: Any, hint: Any) -> bool:
    """True if a value has the type that a record's field declares; what is not understood is let through."""
    if hint is Any:
        return True
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return any(fits(value, one) for one in inner)
    if hint in PLAIN:
        return isinstance(value, PLAIN[hint]) and (hint is bool or not isinstance(value, bool) or hint is int)
    if origin is tuple:
        return isinstance(value, tuple) and (
            len(inner) != 2 or inner[1] is not Ellipsis or all(fits(one, inner[0]) for one in value)
        )
    if origin in (list, dict, frozenset, set):
        return isinstance(value, origin)
    if isinstance(hint, type):
        return isinstance(value, dict if issubclass(hint, dict) else hint)
    return True


def body_size(head: bytes) -> int:
    """How many bytes follow a message's head. Raises Malformed."""
    magic, total, _ = HEAD.unpack(head)
    if magic != MAGIC or total > MOST:
        raise Malformed("this is no message")
    return total


class _Writer:
    def __init__(self) -> None:
        self.blobs: list[bytes] = []
        self.at = 0
        self.known: dict[int, tuple[int, Any]] = {}

    def node(self, value: Any) -> Any:
        kind = type(value)
        if value is None or kind in (bool, str):
            return value
        if kind is int:
            return value if abs(value) < 1 << 53 else {"i": str(value)}
        if kind is float:
            return value if math.isfinite(value) else {"f": repr(value)}
        if RECORDS.get(kind.__name__) is kind:
            return {"r": self._record(value)}
        if kind is type or isinstance(value, type):
            return {"k": self._class(value)}
        for tag, kinds, write in self._KINDS:
            if isinstance(value, kinds):
                return {tag: write(self, value)}
        raise TypeError(f"a {kind.__name__} cannot be sent")

    def blob(self, data: bytes) -> list[int]:
        self.blobs.append(data)
        self.at += len(data)
        return [self.at - len(data), len(data)]

    def _list(self, value: Any) -> list:
        return [self.node(part) for part in value]

    def _dict(self, value: Mapping) -> Any:
        """A dictionary that is met again is written once."""
        if id(value) in self.known:
            return self.known[id(value)][0]
        self.known[id(value)] = (len(self.known), value)
        return [[self.node(k), self.node(v)] for k, v in value.items()]

    def _record(self, value: Any) -> list:
        if isinstance(value, enum.Enum):
            return [type(value).__name__, value.name]
        if dataclasses.is_dataclass(value):  # what its own __init__ does not take, the reader's makes anew
            parts = {f.name: getattr(value, f.name) for f in dataclasses.fields(value) if f.init}
        else:
            parts = value._asdict()
        return [type(value).__name__, {name: self.node(part) for name, part in parts.items()}]

    def _class(self, value: type) -> str:
        if RECORDS.get(value.__name__) is not value:
            raise TypeError(f"the class {value.__name__} cannot be sent")
        return value.__name__

    def _tensor(self, value: torch.Tensor) -> list:
        dtype = str(value.dtype).removeprefix("torch.")
        if value.device.type == "meta":
            return [dtype, list(value.shape), list(value.stride()), None]
        span = 1 + sum((n - 1) * s for n, s in zip(value.shape, value.stride(), strict=True))
        flat = value.detach().as_strided((span if value.numel() else 0,), (1,), value.storage_offset())
        data = flat.contiguous().cpu().view(torch.uint8).numpy().tobytes() if value.numel() else b""
        return [dtype, list(value.shape), list(value.stride()), self.blob(data)]

    def _array(self, value: np.ndarray) -> list:
        data = np.ascontiguousarray(value)
        return [data.dtype.str, list(value.shape), self.blob(data.tobytes())]

    def _expression(self, value: Any) -> Any:
        return expressions.taken_apart(value, self.node)

    _KINDS: tuple[tuple[str, Any, Callable], ...] = (
        ("T", torch.Tensor, _tensor),
        ("g", np.generic, lambda self, v: [v.dtype.str, self.blob(v.tobytes())]),
        ("A", np.ndarray, _array),
        ("y", torch.dtype, lambda self, v: str(v).removeprefix("torch.")),
        ("s", (sp.Basic, MatrixBase, NDimArray, sp.Poly), _expression),
        ("c", complex, lambda self, v: [repr(v.real), repr(v.imag)]),
        ("q", Fraction, lambda self, v: [str(v.numerator), str(v.denominator)]),
        ("b", bytes, lambda self, v: self.blob(v)),
        ("l", list, _list),
        ("t", tuple, _list),
        ("S", (set, frozenset), lambda self, v: [isinstance(v, frozenset), self._list(v)]),
        ("d", dict, _dict),
    )


def _dtype(name: str) -> torch.dtype:
    dtype = getattr(torch, name, None)
    if not isinstance(dtype, torch.dtype):
        raise Malformed(f"no dtype {name!r}")
    return dtype


class _Reader:
    def __init__(self, blobs: memoryview):
        self.blobs = blobs
        self.known: list[dict] = []

    def value(self, node: Any) -> Any:
        if node is None or isinstance(node, bool | int | float | str):
            return node
        (tag, part), *rest = node.items()
        if rest or tag not in self._READERS:
            raise Malformed(f"an unknown part {tag!r}")
        return self._READERS[tag](self, part)

    def blob(self, where: list[int]) -> bytes:
        start, size = where
        if not 0 <= start <= start + size <= len(self.blobs):
            raise Malformed("bytes that are not there")
        return bytes(self.blobs[start : start + size])

    def _list(self, parts: list) -> list:
        return [self.value(part) for part in parts]

    def _dict(self, parts: Any) -> dict:
        if isinstance(parts, int):
            return self.known[parts]
        made: dict = {}
        self.known.append(made)
        for key, part in parts:
            made[self.value(key)] = self.value(part)
        return made

    def _class(self, name: str) -> type:
        if name not in RECORDS:
            raise Malformed(f"an unknown record {name!r}")
        return RECORDS[name]

    def _record(self, part: list) -> Any:
        name, parts = part
        kind = self._class(name)
        if issubclass(kind, enum.Enum):
            return kind[parts]
        values = {field: self.value(one) for field, one in parts.items()}
        if not dataclasses.is_dataclass(kind):
            return kind(**values)
        derived = {f.name for f in dataclasses.fields(kind) if not f.init}
        hints = _hints(kind)
        for field, one in values.items():
            if not fits(one, hints.get(field, Any)):
                raise Malformed(f"{name}.{field} is a {type(one).__name__}")
        return kind(**{field: one for field, one in values.items() if field not in derived})

    def _tensor(self, part: list) -> torch.Tensor:
        name, shape, strides, where = part
        dtype = _dtype(name)
        if where is None:
            return torch.empty_strided(shape, strides, dtype=dtype, device="meta")
        data = bytearray(self.blob(where))
        flat = torch.frombuffer(data, dtype=torch.uint8).view(dtype) if data else torch.empty(0, dtype=dtype)
        return flat.as_strided(shape, strides)

    def _array(self, part: list) -> np.ndarray:
        dtype, shape, where = part
        return np.frombuffer(self.blob(where), np.dtype(dtype)).reshape(shape).copy()

    def _set(self, part: list) -> Any:
        frozen, parts = part
        return (frozenset if frozen else set)(self._list(parts))

    _READERS: Mapping[str, Callable] = {
        "i": lambda self, p: int(p),
        "f": lambda self, p: float(p),
        "c": lambda self, p: complex(float(p[0]), float(p[1])),
        "q": lambda self, p: Fraction(int(p[0]), int(p[1])),
        "b": blob,
        "y": lambda self, p: _dtype(p),
        "g": lambda self, p: np.frombuffer(self.blob(p[1]), np.dtype(p[0]))[0],
        "l": _list,
        "t": lambda self, p: tuple(self._list(p)),
        "S": _set,
        "d": _dict,
        "r": _record,
        "k": _class,
        "T": _tensor,
        "A": _array,
        "s": lambda self, p: expressions.put_together(p, self.value),
    }
