"""What newer releases of Triton name or preset otherwise: kernels keep one text, that of the oldest one.

This is the only place for such names. `route` calls `adapt` before anything is launched, and the compiler's
worker, which does not import this package, is sent `RENAMED`:

- **Names.** Triton 3.6 and 3.7 have the older names only, so the course uses those. From 3.8 on Gluon's
  copies by TMA have newer ones; in 3.9 the older ones raise an error, or are gone. Here they are the newer
  functions, as they were in 3.8.
- **Fused multiply-add.** It is the default until 3.9 and will not be from 3.10 on; 3.9 warns of that at the
  first launch. The course's results, budgets and times are with it: it stays on, unless the variable is set.
"""

from __future__ import annotations

import contextlib
import importlib
import os

from triton import knobs

LANGUAGE = "triton.experimental.gluon.language"
RENAMED = (
    (f"{LANGUAGE}.nvidia.hopper.tma", "", "async_copy_global_to_shared", "async_load"),
    (f"{LANGUAGE}.nvidia.hopper.tma", "", "async_copy_shared_to_global", "async_store"),
    (f"{LANGUAGE}._core", "shared_memory_descriptor", "_reinterpret", "reinterpret"),
)
"""What a newer Triton renamed: the module, a class in it or none, the older name and the newer one.

Both take the arguments that the older one took.
"""

FUSED = "TRITON_DEFAULT_FP_FUSION"


def adapt() -> None:
    """Give what was renamed its older names, and keep the default of fused multiply-add."""
    if hasattr(knobs.language, "fp_fusion_enabled"):  # where that default is about to change
        os.environ.setdefault(FUSED, "1")
    for module, kind, older, newer in RENAMED:
        with contextlib.suppress(ImportError):  # a Triton without Gluon
            owner = importlib.import_module(module)
            owner = getattr(owner, kind) if kind else owner
            if hasattr(owner, newer):
                setattr(owner, older, getattr(owner, newer))
