"""How triton would bind a launch's arguments on a GPU: types, constants, options, as its compiler gets them.

    >>> bound = specialize(kernel, (x, 100), {"BLOCK": 64})
    >>> bound.signature                      # {"x_ptr": "*fp32", "n": "i32", "BLOCK": "constexpr"}

Triton's own binder is asked, so that annotations, tuples, `do_not_specialize` and an argument of 1 mean here
what they mean there. It needs no GPU: the types do not depend on which one it is.
"""

from __future__ import annotations

import functools
import inspect
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from triton.compiler import ASTSource
from triton.runtime import jit
from triton.runtime.jit import JITFunction

from flashlearn.interpreter.errors import KernelCrash

TARGET = 90
"""Compute capability that launches are bound and lowered for."""
_binders: dict[int, tuple[weakref.ref, Callable]] = {}


@dataclass(frozen=True)
class Specialization:
    """A launch as triton's compiler gets it; `key` is equal for launches that compile to one kernel.

    `constexprs` are by path: (2,) is the third argument, (2, 1) the second entry of a tuple there.
    """

    kernel: JITFunction
    signature: Mapping[str, Any]
    constexprs: Mapping[tuple[int, ...], Any]
    attributes: Mapping[tuple[int, ...], Any]
    options: Any
    key: tuple

    @property
    def text_key(self) -> str | None:
        """Equal for launches of which the compiler says the same, also in a later check.

        It holds the kernel's text and that of all it calls, and what they are compiled for. None if triton
        cannot follow what the kernel calls; to be asked of kernels that its front end has accepted, since
        triton remembers half a search as a whole one.
        """
        try:
            text = self.kernel.cache_key
        except Exception:
            self.kernel.hash = None
            return None
        return repr((text, self.signature, self.constexprs, self.attributes, self.options))


@functools.cache
def backend() -> Any:
    """Triton's backend for NVIDIA GPUs; None where this triton has none, or another way of binding."""
    if not hasattr(jit, "create_function_from_signature") or not hasattr(JITFunction, "_pack_args"):
        return None
    try:
        from triton.backends.compiler import GPUTarget
        from triton.compiler.compiler import make_backend

        return make_backend(GPUTarget("cuda", TARGET, 32))
    except Exception:
        return None


def specialize(kernel: Any, args: tuple, kwargs: dict[str, Any]) -> Specialization | None:
    """The launch `kernel[grid](*args, **kwargs)` as triton binds it; None where that cannot be known.

    Raises KernelCrash for arguments and options that triton refuses.
    """
    if not isinstance(kernel, JITFunction) or backend() is None:
        return None
    given = dict(kwargs, debug=False, instrumentation_mode="")
    try:
        bound, kinds, _ = _binder(kernel)(*args, **given)
    except Exception as error:
        _refuse_argument(kernel, args, kwargs, error)
        return None
    options = {name: value for name, value in given.items() if name not in bound}
    telling = [k if k[0] == "constexpr" or isinstance(k[0], tuple) else k[0] for k in kinds]
    try:
        packed = kernel._pack_args(backend(), given, bound, kinds, options)
    except Exception as error:
        _refuse_options(kernel, kwargs, error)
        return None
    options, signature, constexprs, attributes = packed
    key = (id(kernel), repr(telling), repr(options))
    return Specialization(kernel, signature, constexprs, attributes, options, key)


def declared(kernel: Any) -> dict[str, str]:
    """The types that parameters are annotated with, `n: tl.int64` say, by name."""
    parameters = kernel.params if isinstance(kernel, JITFunction) else ()
    return {p.name: p.annotation_type for p in parameters if not p.is_constexpr and p.annotation_type}


def _binder(kernel: JITFunction) -> Callable:
    known = _binders.get(id(kernel))
    if known is not None and known[0]() is kernel:
        return known[1]
    binder = jit.create_function_from_signature(kernel.signature, kernel.params, backend())
    forget = functools.partial(_binders.pop, id(kernel), None)
    _binders[id(kernel)] = (weakref.ref(kernel, lambda _: forget()), binder)
    return binder


def _refuse_argument(kernel: JITFunction, args: tuple, kwargs: dict[str, Any], error: Exception) -> None:
    """Raise KernelCrash if it was the type of an argument that triton would not take."""
    if "failed to specialize" not in str(error):
        return
    given = kernel.signature.bind(*args, **{k: v for k, v in kwargs.items() if k in kernel.arg_names})
    for parameter in kernel.params:
        value = given.arguments.get(parameter.name)
        if parameter.is_constexpr or parameter.name not in given.arguments:
            continue
        try:
            jit.native_specialize_impl(type(backend()), value, False, True, True)
        except TypeError:
            spoken = _misfit(parameter.name, value)
            raise KernelCrash(f"{parameter.name} of {kernel.fn.__name__} is {spoken}") from None
        except Exception:
            return


def _misfit(name: str, value: Any) -> str:
    """What was handed over for a parameter that triton cannot take, and what to hand over instead."""
    kind = type(value)
    home = kind.__module__.split(".")[0]
    if isinstance(value, list):
        return f"a list, {_short(value)}: a kernel takes tensors and numbers. Pass each number by itself."
    if isinstance(value, str):
        constant = f"a compile-time constant is declared as `{name}: tl.constexpr`"
        return f"text, {_short(value)}: a number is written without quotes, and {constant}."
    if inspect.isroutine(value):
        own = getattr(value, "__name__", name)
        return f"a function: are the parentheses missing, as in x.{own}(0)?"
    if kind.__name__ == "dtype":
        return "a dtype: a kernel learns a tensor's dtype from its pointer, `x_ptr.dtype.element_ty`."
    if home == "numpy" and kind.__name__ == "ndarray":
        return "a NumPy array: a kernel takes torch tensors; convert it with `torch.from_numpy(x)`."
    if home == "numpy":
        return f"a NumPy number, {kind.__name__}: convert it to a Python number, `int(n)` or `float(n)`."
    article = "an" if kind.__name__[0] in "aeiouAEIOU" else "a"
    return f"{article} {kind.__name__}: a kernel takes tensors and numbers. Pass what is in it, one by one."


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) < 40 else text[:38] + " …"


def _refuse_options(kernel: JITFunction, kwargs: dict[str, Any], error: Exception) -> None:
    """Raise KernelCrash if it was the number of warps that triton would not take."""
    warps = kwargs.get("num_warps")
    if warps is None or "num_warps" in kernel.arg_names:
        return
    if "power of 2" in str(error) or not isinstance(warps, int):
        raise KernelCrash(
            f"{kernel.fn.__name__} was launched with num_warps={warps!r}: the number of warps "
            "must be a power of two, "
            "1, 2, 4, 8, 16 or 32."
        ) from None


def is_gluon(kernel: Any) -> bool:
    """True for a kernel that is written in Gluon."""
    return bool(getattr(kernel, "is_gluon", bool)())


def source_of(kernel: Any, signature: Any, constexprs: Any, attributes: Any) -> ASTSource:
    """The source of a kernel that is launched with these types and constants."""
    if not is_gluon(kernel):
        return ASTSource(kernel, signature, constexprs, attributes)
    from triton.experimental.gluon._runtime import GluonASTSource

    return GluonASTSource(kernel, signature, constexprs, attributes)
