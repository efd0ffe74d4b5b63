"""Sphinx's configuration: a copy of it lies beside the sources, in build/site-source."""

from __future__ import annotations

project = "FlashLearn"
author = "FlashLearn contributors"
copyright = author
html_title = project
language = "en"

extensions = ["myst_nb", "tools.site.mathml"]
source_suffix = {".md": "myst-nb", ".ipynb": "myst-nb"}
nb_execution_mode = "off"
nb_merge_streams = True
myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence"]
myst_heading_anchors = 4
myst_links_external_new_tab = False
# a URL with a scheme that looks like one of a program is no reference
myst_url_schemes = ["http", "https", "mailto"]

html_theme = "furo"
html_math_renderer = "mathml"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = [("filter.js", {"defer": "defer"}), ("scroll.js", {"defer": "defer"})]
html_favicon = "_static/favicon.svg"
html_copy_source = False
html_use_index = False
html_show_sphinx = False
html_show_copyright = False
html_theme_options = {"navigation_with_keys": True}
pygments_style = "a11y-light"
pygments_dark_style = "a11y-dark"
exclude_patterns = ["_static"]
# a page may begin with a smaller heading; an excerpt of code need not parse
suppress_warnings = ["myst.header", "misc.highlighting_failure"]
highlight_language = "python"
