"""CUDA's device functions in the observed interpreter: triton's own has none of them.

    from triton.language.extra import libdevice
    libdevice.tanh(x)        # __nv_tanhf on a GPU, NumPy's tanh here

Triton's wrappers run as they are, so that argument types are promoted, and refused, as by the compiler;
only the call at their end, to a symbol of libdevice, is answered here. Directed rounding and a few special
functions have no counterpart: a kernel with those needs a GPU. Meanings: libdevice User's Guide (NVIDIA).
"""

from __future__ import annotations

import functools
import inspect
import math
import re
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import triton.language as tl
from triton.language.extra import libdevice
from triton.language.extra.cuda import libdevice as cuda
from triton.runtime import interpreter
from triton.runtime.interpreter import TensorHandle

from flashlearn.interpreter.errors import NeedsGpu
from flashlearn.interpreter.low_precision import numpy_dtype


def _elementwise(function: Callable[..., float]) -> Callable[..., np.ndarray]:
    """A function of numbers for arrays; where Python's raises (overflow, a pole), IEEE's infinity or NaN."""

    def one(*values: float) -> float:
        try:
            return function(*map(float, values))
        except OverflowError:
            return math.inf
        except ValueError:
            return math.nan

    return np.frompyfunc(one, len(inspect.signature(function).parameters), 1)


def _round(x: np.ndarray) -> np.ndarray:
    """To the nearest integer, halves away from zero, where NumPy takes them to the even one."""
    whole = np.trunc(x)
    return whole + np.where(np.abs(x - whole) >= 0.5, np.copysign(1, x), 0).astype(x.dtype)


def _fma(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
    return x.astype(np.float64) * y + z  # a product of fp32 numbers is exact in fp64


_SAME = (
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "sinh", "cosh", "tanh",
    "sqrt", "floor", "ceil", "trunc", "rint", "cbrt", "hypot", "fmod", "copysign", "nextafter", "ldexp",
    "fabs",
)  # fmt: skip
_ARCS = ("sin", "cos", "tan", "sinh", "cosh", "tanh", "tan2")

FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: getattr(np, name) for name in _SAME},
    **{f"a{name}": getattr(np, f"arc{name}") for name in _ARCS},
    **{name: np.abs for name in ("abs", "llabs")},
    **{name: np.power for name in ("pow", "powi")},
    **{name: np.divide for name in ("div_rn", "fdivide")},
    **{name: np.rint for name in ("nearbyint", "llrint")},
    **{name: _round for name in ("round", "llround")},
    **{name: _fma for name in ("fma", "fma_rn", "fmaf_rn")},
    **{name: lambda x: 1 / np.sqrt(x) for name in ("rsqrt", "rsqrt_rn")},
    "exp10": lambda x: np.power(x.dtype.type(10), x),
    "rcbrt": lambda x: 1 / np.cbrt(x),
    "rcp_rn": np.reciprocal,
    "sqrt_rn": np.sqrt,
    "add_rn": np.add,
    "sub_rn": np.subtract,
    "mul_rn": np.multiply,
    "rhypot": lambda x, y: 1 / np.hypot(x, y),
    "fdim": lambda x, y: np.where(x > y, x - y, np.where(np.isnan(x) | np.isnan(y), np.nan, 0)),
    "remainder": _elementwise(lambda x, y: math.remainder(x, y)),
    "saturate": lambda x: np.clip(np.nan_to_num(x, nan=0.0), 0, 1),
    "erf": _elementwise(lambda x: math.erf(x)),
    "erfc": _elementwise(lambda x: math.erfc(x)),
    "lgamma": _elementwise(lambda x: math.lgamma(x)),
    "tgamma": _elementwise(lambda x: math.gamma(x)),
    "normcdf": _elementwise(lambda x: math.erfc(-x / math.sqrt(2)) / 2),
    "isnan": np.isnan,
    "isinf": np.isinf,
    "finite": np.isfinite,
    "isfinite": np.isfinite,
    "signbit": np.signbit,
    "float_as_int": lambda x: x.view(np.int32),
    "int_as_float": lambda x: x.view(np.float32),
}
"""By the name of the symbol, without `__nv_`, `fast_`, the letter of its type and that of its operation."""

CONVERSION = re.compile(r"(?:float|double)2(?:u?int|u?ll)_(r[nzdu])|u?(?:int|ll)2(?:float|double)_rn")
ROUNDING = {"rn": np.rint, "rz": np.trunc, "rd": np.floor, "ru": np.ceil, None: lambda x: x}


def function_of(symbol: str) -> Callable[..., Any]:
    """What a symbol of libdevice computes. Raises NeedsGpu where there is no counterpart here."""
    name = symbol.removeprefix("__nv_").removeprefix("fast_")
    converts = CONVERSION.fullmatch(name)
    if converts:
        return ROUNDING[converts[1]]
    typed = (name, name[:-1] if name[-1] in "fd" else "", name[1:] if name[0] in "fd" else "")
    for candidate in typed:
        if candidate in FUNCTIONS:
            return FUNCTIONS[candidate]
    raise NeedsGpu(f"libdevice's {symbol} has no counterpart in the interpreter: this kernel needs a GPU.")


def evaluate(symbol: str, arguments: list[TensorHandle], result: tl.dtype) -> TensorHandle:
    """The handle that a call of `symbol` returns, of the dtype that triton's wrapper expects."""
    out = function_of(symbol)(*(handle.data for handle in arguments))
    return TensorHandle(np.asarray(out).astype(numpy_dtype(result.scalar)), result.scalar)


@functools.cache
def substitutes() -> tuple[tuple[Any, dict[str, Callable]], ...]:
    """(owner, its members by name) for all that must know the interpreter while a launch runs."""
    known = {n: _checked(n, member) for n, member in vars(cuda).items() if tl.core.is_builtin(member)}
    public = [n for n, member in vars(libdevice).items() if inspect.isfunction(member)]
    return (
        (cuda, known),
        (libdevice, {name: known.get(name) or _missing(name) for name in public}),
        (tl.tensor, {name: _with_semantic(f) for name, f in vars(tl.tensor).items() if _bare(f)}),
    )


def _bare(member: Any) -> bool:
    """True for x.exp() and its like: members of tl.tensor that triton's own interpreter leaves out."""
    function = inspect.isfunction(member) and not tl.core.is_builtin(member)
    return function and "_semantic" in inspect.signature(member).parameters


def imported(names: dict[str, Any]) -> dict[str, Any]:
    """Those of a kernel's names that were imported out of triton.language one by one, as they are now."""
    return {
        key: getattr(sys.modules[value.__module__], value.__name__, value)
        for key, value in names.items()
        if inspect.isfunction(value) and (value.__module__ or "").startswith("triton.language")
    }


def _with_semantic(function: Callable) -> Callable:
    @functools.wraps(function)
    def called(*args: Any, _semantic: Any = None, **kwargs: Any) -> Any:
        return function(*args, **kwargs, _semantic=interpreter.interpreter_semantic)

    return called


def _checked(name: str, function: Callable) -> Callable:
    """The same, with a sentence where triton has no version for the arguments' types."""
    bound = _with_semantic(function)

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        try:
            return bound(*args, **kwargs)
        except KeyError as error:
            kinds = ", ".join(map(str, error.args[0])) if isinstance(error.args[0], tuple) else error
            raise TypeError(
                f"libdevice.{name} has no version for {kinds}: convert first, x.to(tl.float32)"
            ) from None

    return called


def _missing(name: str) -> Callable:
    def called(*_args: Any, **_options: Any) -> Any:
        raise TypeError(f"libdevice.{name} is not there for NVIDIA GPUs: a compiled kernel cannot call it")

    return called
