"""The first verdict of a session does not wait for what a verdict does not need."""

from __future__ import annotations

import subprocess
import sys

CHECK = """
import sys
import flashlearn
from flashlearn.lessons import find
for name in ("row_sum", "flash_forward"):
    exercise = find(name)
    known = exercise.explained.mistakes.values()
    kernel = next(m.launcher for m in known if m.launcher and m.status.name == "WRONG")
    report = flashlearn.check(name, kernel, demo=True)
    assert not report.passed and report.finding is not None
print([name for name in ("torch._dynamo", "torch._inductor", "matplotlib", "pandas") if name in sys.modules])
"""


def test_a_check_that_fails_imports_neither_torch_s_compiler_nor_matplotlib():
    done = subprocess.run([sys.executable, "-c", CHECK], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"
