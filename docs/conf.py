"""How Sphinx builds the documentation: ``sphinx-build -W -b html docs docs/_build``."""

import sys
from pathlib import Path

import widemargin

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_extensions"))

from api_pages import CONTEXT  # noqa: E402

import widemargin.report.skore_check  # noqa: E402

# The name is that of a function and of the folder it is in; its page is about the function.
widemargin.report = widemargin.report.report  # type: ignore[assignment,attr-defined]

project = "widemargin"
author = "The widemargin developers"
copyright = f"2026, {author}"
version = release = widemargin.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
    "mathml",
    "benchmark_results",
]
exclude_patterns = ["_build", "_extensions", "**/*.ipynb", "**.py"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
language = "en-GB"
smartquotes = False
default_role = "code"
toc_object_entries_show_parents = "hide"

myst_enable_extensions = ["dollarmath", "deflist"]
myst_heading_anchors = 3
# Results of benchmarks are included as they are; the context of the API pages holds functions.
suppress_warnings = ["myst.header", "config.cache"]

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the numpydoc sections name the types
autosummary_generate = True  # a page for each name of docs/api/index.rst
autosummary_context = CONTEXT
templates_path = ["_templates"]
numpydoc_show_class_members = False

sphinx_gallery_conf = {
    "examples_dirs": [str(HERE.parent / "examples")],
    "gallery_dirs": ["gallery"],
    "filename_pattern": r"/plot_",
    "subsection_order": ["../examples/tasks", "../examples/background"],
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_signature": False,
    "show_memory": False,
    "remove_config_comments": True,
    "abort_on_example_error": True,
    "matplotlib_animations": False,
}

html_theme = "pydata_sphinx_theme"
html_title = "widemargin"
html_static_path = ["_static"]
html_css_files = ["widemargin.css"]
html_js_files = ["sort_tables.js"]
html_show_sourcelink = False
html_sidebars = {"index": [], "benchmarks/index": [], "changelog": []}
html_theme_options = {
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "header_links_before_dropdown": 7,
    "footer_start": ["copyright"],
    "footer_end": [],
}
