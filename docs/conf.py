"""How the documentation is built: ``python -m sphinx -W --keep-going -b html docs docs/_build/html``, without network."""

import os
import sys
import warnings
from pathlib import Path

import matplotlib

HERE = Path(__file__).parent
# The tables are small; threads that wait for each other on a busy machine take longer than one.
os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(HERE / "_ext"))
matplotlib.use("Agg")

import versions  # noqa: E402

from fcca import __version__  # noqa: E402

project = "fcca"
author = "The fcca developers"
copyright = f"2026, {author}"
release = version = __version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
    "sphinx_design",
    "sphinx_copybutton",
    "executed",
    "command_help",
    "benchmark_records",
    "one_record",
    "selection_study",
    "live_report",
]
exclude_patterns = ["_build", "generated/README*", "Thumbs.db", "**/GALLERY_HEADER.rst"]
templates_path = ["_templates"]
root_doc = "index"
nitpicky = False

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
copybutton_prompt_text = r"\$ |>>> |\.\.\. "
copybutton_prompt_is_regexp = True

# Where intersphinx is wanted it has to be asked for: a build must not need the network.
if os.environ.get("FCCA_DOCS_INTERSPHINX"):
    extensions.append("sphinx.ext.intersphinx")
    intersphinx_mapping = {
        "python": ("https://docs.python.org/3", None),
        "sklearn": ("https://scikit-learn.org/stable", None),
    }

# --- the API ----------------------------------------------------------------------------------------------------------

autosummary_generate = True
autosummary_imported_members = True
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

# --- the gallery ------------------------------------------------------------------------------------------------------

CREDIT_EXAMPLE = HERE.parent / "examples" / "plot_credit_scoring.py"


def _examples_to_run() -> str:
    """All examples; without its data, the walk-through is shown without output."""
    if not Path(os.environ.get("FCCA_DATA", ""), "german_credit.csv").is_file():
        print("The credit-scoring walk-through is not run: german_credit.csv is not in the folder FCCA_DATA.")
        return rf"/plot_(?!{CREDIT_EXAMPLE.stem.removeprefix('plot_')})"
    return r"/plot_"


sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": _examples_to_run(),
    "within_subsection_order": "FileNameSortKey",
    "show_memory": False,
    "download_all_examples": False,
    "remove_config_comments": True,
    "plot_gallery": "True",
    "capture_repr": ("_repr_html_", "__repr__"),
    "ignore_repr_types": r"matplotlib|NoneType|.*Display",
    "default_thumb_file": None,
    "copyfile_regex": "",
    "nested_sections": False,
    "min_reported_time": 1e9,
    "show_signature": False,
    "write_computation_times": False,
}
warnings.filterwarnings("ignore", message=".*FigureCanvasAgg is non-interactive.*")

# --- the pages --------------------------------------------------------------------------------------------------------

html_theme = "pydata_sphinx_theme"
html_title = "fcca"
html_short_title = "fcca"
html_static_path = ["_static"]
html_css_files = ["fcca.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "fcca"},
    "show_prev_next": True,
    "navigation_with_keys": False,
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "header_links_before_dropdown": 6,
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
} | versions.theme_options(os.environ.get("DOCS_VERSION"))
html_sidebars = {"index": [], "start": [], "one_hour": [], "method": [], "changelog": [], "upgrading": [], "benchmarks": []}
html_context = {"default_mode": "auto"}
html_favicon = "_static/favicon.svg"
