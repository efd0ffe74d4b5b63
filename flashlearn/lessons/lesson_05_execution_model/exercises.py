"""The name under which the lesson's text imports `buffers_of`."""

from __future__ import annotations

from flashlearn.lessons.lesson_05_execution_model.compiled_budget import buffers_of

__all__ = ["buffers_of"]
