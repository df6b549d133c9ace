"""The labels of ticks stand apart, whatever the size of the numbers."""

from itertools import pairwise

import numpy as np
import pytest

from residualplanner.publish import pictures

pytest.importorskip("matplotlib")

POWERS = [7, 15]
#: The least gap between two labels, in pixels, and how much wider than here fonts of readers may be.
GAP, WIDER = 2, 1.05


def boxes_of_ticks(figure, which):
    """The labels of one axis of each panel that are seen, with where they stand: (low, high) along the axis."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    for panel in figure.axes:
        axis = panel.xaxis if which == "x" else panel.yaxis
        low, high = sorted(axis.get_view_interval())
        labels = [
            tick.label1
            for tick in axis.get_major_ticks()
            if low <= tick.get_loc() <= high and tick.label1.get_visible()
        ]
        boxes = [(label.get_window_extent(canvas.get_renderer()), label.get_text()) for label in labels]
        ends = [(box.x0, box.x1) if which == "x" else (box.y0, box.y1) for box, _ in boxes]
        yield sorted(ends), [text for _, text in boxes]


def require_apart(figure, *, fewest=2):
    for which in "xy":
        for ends, texts in boxes_of_ticks(figure, which):
            room = (WIDER - 1) * max((high - low for low, high in ends), default=0) if which == "x" else 0
            gaps = [right[0] - left[1] for left, right in pairwise(ends)]
            assert min(gaps, default=GAP + room) >= (GAP + room if which == "x" else 0), texts
            assert len(set(texts)) == len(texts), texts
            assert not texts or len(texts) >= fewest or which == "y", texts


@pytest.mark.parametrize("power", POWERS)
@pytest.mark.parametrize("name", ["F", "Lake district and many islands in the north"])
def test_labels_of_intervals_stand_apart(power, name):
    labels = tuple((f"{number} {name}",) for number in range(3))
    for estimates, std_err in (([-1, 1.3, -0.97], 1e-6), ([1, 1, 1], 0.3)):
        numbers, errors = 10.0**power * np.array(estimates), np.full(3, 10.0**power * std_err)
        shown = pictures.plots.ShownTable(("area",), 3, labels, numbers, errors, 0.95, "US dollars a year")
        with pictures.drawing.drawing():
            require_apart(pictures.plots.draw_intervals(shown, labels=("95%", "all at once")))
