"""How the manual becomes a site: ``python -m sphinx -W docs build/site``, without network."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

import array_names  # noqa: F401 - before the package

from residualplanner import __version__

project = "residualplanner"
author = "The residualplanner authors"
version = release = __version__
language = "en"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "contents",
    "docstrings",
    "gpu_figures",
    "mathml",
    "public_names",
    "search_order",
]
nitpicky = True
#: What the package keeps to itself, though an attribute or a signature may name it.
INTERNAL = [
    "Accuracy",
    "AnyPath",
    "AxisMap",
    "Blocks",
    "Candidate",
    "Centered",
    "Closure",
    "Coarsening",
    "Comparisons",
    "Codes",
    "Contributions",
    "Days",
    "DerivedColumn",
    "Description",
    "EqualWeights",
    "Estimates",
    "Facts",
    "Folder",
    "FormatName",
    "IntegerMap",
    "Layout",
    "LedgerStage",
    "Listed",
    "Loss",
    "NoisyAnswers",
    "OneHot",
    "PartFile",
    "PathLike",
    "PlainRows",
    "ProfileName",
    "Provenance",
    "QueryBlock",
    "Relaxation",
    "ResidualNumbers",
    "Residuals",
    "Room",
    "Scale",
    "SchemaColumn",
    "Sensitivity",
    "ShownTable",
    "Simulation",
    "Stage",
    "StatedTable",
    "StatedZeros",
    "Statistic",
    "Steps",
    "ThresholdTable",
    "Tile",
    "Unit",
    "Values",
    "VerifiedFile",
    "WeightedCells",
    "WrittenQuery",
    "loss.Loss",
]
#: Types of Python and of other libraries have their pages elsewhere.
nitpick_ignore_regex = [
    ("py:.*", r"(ArrayLike|NDArray|Figure)"),
    ("py:.*", r"(collections|concurrent|datetime|decimal|fractions|numpy|os|pathlib|pandas|pd|pl|scipy|xr)\..*"),
    ("py:.*", rf"(.*\.)?({'|'.join(INTERNAL)}|ObjectStore(\.\w+)?)"),
]

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
suppress_warnings = ["misc.highlighting_failure"]

autodoc_typehints = "signature"
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True, "exclude-members": "to_json, from_json"}
maximum_signature_line_length = 80
python_use_unqualified_type_names = True
napoleon_numpy_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True
default_role = "py:obj"

html_theme = "furo"
html_title = f"residualplanner {version}"  # of versions before, Read the Docs keeps the manual and has a menu
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_favicon = "_static/favicon.svg"
html_math_renderer = "mathml"
#: What is copied of a block with prompts: the lines behind them, not what they print.
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False
