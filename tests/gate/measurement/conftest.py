"""How measuring cuts its work into batches, and what it draws, where a test needs both otherwise."""

import pytest

from inner_parts import discrete, gaussian


@pytest.fixture
def in_batches(monkeypatch):
    """Work on so many cells at a time, and draw noise for so many, by so many threads, and with another sampler."""

    def cut(cells=1, noise_cells=2, threads=discrete.THREADS, draw=discrete.draw_flat):
        changed = {"BATCH_CELLS": cells, "NOISE_CELLS": noise_cells, "THREADS": threads, "draw_flat": draw}
        for module in (discrete, gaussian):
            for name in changed.keys() & vars(module).keys():
                monkeypatch.setattr(module, name, changed[name])

    return cut
