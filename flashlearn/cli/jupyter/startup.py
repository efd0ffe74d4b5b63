"""What kernels run when they start in a JupyterLab that `flashlearn lab` started: PYTHONSTARTUP names it.

It runs in the notebook's namespace, and leaves no name there.
"""


def _flashlearn_starts() -> None:
    import contextlib
    import importlib.util
    import os
    from pathlib import Path

    with contextlib.suppress(Exception):  # a kernel must start
        # by its path: importing the package would import torch into every kernel
        file = Path(__file__).parents[2] / "course" / "unrun_cells.py"
        spec = importlib.util.spec_from_file_location("flashlearn_unrun_cells", file)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        module.install()
    own = os.environ.get("FLASHLEARN_PYTHONSTARTUP", "")
    if own and Path(own).is_file():  # the learner's own, which this file took the place of
        exec(compile(Path(own).read_text(encoding="utf-8"), own, "exec"), globals())


_flashlearn_starts()
del _flashlearn_starts
