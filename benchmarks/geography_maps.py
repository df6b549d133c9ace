"""The maps of the tutorial on geographies, made anew by running its code.

``python -m benchmarks.geography_maps`` writes docs/geography-estimates.svg and docs/geography-variation.svg.
"""

import contextlib
import re
import tempfile
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parents[1] / "docs"


def main() -> None:
    """Run the page's code up to its maps in a folder of its own, and keep these."""
    page = (DOCS / "tutorial-geography.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(?!>>>)(.*?)```", page, flags=re.DOTALL)
    names: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for block in blocks:
            exec(block, names)
            if "variation.svg" in block:
                break
        for name in ("estimates", "variation"):
            (DOCS / f"geography-{name}.svg").write_bytes(Path(f"{name}.svg").read_bytes())


if __name__ == "__main__":
    main()
