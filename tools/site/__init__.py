"""The course as a website: static files in build/site, from the notebooks, declarations and docs.

`python -m tools.site` writes Markdown and notebooks to build/site-source, and Sphinx makes pages of them. The
pages ask no other host for anything, and can be read without JavaScript.
"""
