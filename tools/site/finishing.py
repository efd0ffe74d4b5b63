"""What the theme leaves out, added to the finished pages: names for landmarks, keys for what scrolls.

Each is something that an accessibility checker (axe) reports in pages of Sphinx and Furo as they come.
"""

from __future__ import annotations

import re
from pathlib import Path

_CHANGES = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r'role="heading"(?! aria-level)', 'role="heading" aria-level="2"'),
        (r'<aside class="sidebar-drawer">', '<aside class="sidebar-drawer" aria-label="All pages">'),
        (r'<aside class="toc-drawer', '<aside aria-label="On this page" class="toc-drawer'),
        (r'<form class="sidebar-search-container"', r'\g<0> aria-label="All pages"'),
        # what is wider than the page scrolls, and then the keyboard must reach it
        (r"<pre(?![^>]*\btabindex)", r'<pre tabindex="0"'),
        (r'<div class="table-wrapper', r'<div tabindex="0" class="table-wrapper'),
        (
            r'<div class="cell_output docutils container">',
            r'<div class="cell_output docutils container" tabindex="0">',
        ),
        # the first cell of a table's head may be empty, and then heads nothing
        (r"<th\b[^>]*>(?:<p></p>)?</th>", "<td></td>"),
        # it is shown after scrolling up, and lies outside of every landmark
        (r'(?s)<a [^>]*class="back-to-top .*?</a>', r'<nav aria-label="To the top">\g<0></nav>'),
        (r'<div id="search-results">', '<h1>Search</h1>\n<div id="search-results">'),
    )
)


def finish(site: Path) -> None:
    """Change every page of the site in place."""
    for path in site.rglob("*.html"):
        page = path.read_text(encoding="utf-8")
        for pattern, replacement in _CHANGES:
            page = pattern.sub(replacement, page)
        path.write_text(page, encoding="utf-8")
