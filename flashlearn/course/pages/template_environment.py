"""The templates of this folder, as the pages' modules use them."""

from __future__ import annotations

import functools

import jinja2


@functools.cache
def environment() -> jinja2.Environment:
    """Where the pages' templates are found; what they are given is escaped."""
    return jinja2.Environment(
        loader=jinja2.PackageLoader("flashlearn.course.pages"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
