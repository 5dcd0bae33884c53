"""Automatic checks of a figure: no text is cut off, no two texts overlap."""

from itertools import combinations

import numpy as np

TOUCH = 1.0  # pixels that boxes may share: they are a little larger than the letters


def drawn_texts(figure):
    """All texts that are drawn, after the layout."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.text import Text

    canvas = FigureCanvasAgg(figure)
    figure.draw_without_rendering()
    texts = list(figure.texts)
    for ax in figure.axes:
        if not ax.get_visible():
            continue
        texts += [child for child in ax.get_children() if isinstance(child, Text)]
        texts += ax.get_legend().findobj(Text) if ax.get_legend() is not None else []
        if ax.axison:
            for axis in (ax.xaxis, ax.yaxis):
                texts.append(axis.label)
                texts += [label for tick in axis._update_ticks() for label in (tick.label1, tick.label2)]
    seen = {id(text): text for text in texts if text.get_visible() and text.get_text().strip()}
    return list(seen.values()), canvas.get_renderer()


def faults(figure):
    """Describe texts that are cut off or overlap."""
    texts, renderer = drawn_texts(figure)
    width, height = figure.get_size_inches() * figure.dpi
    boxes = [(text.get_text(), text.get_window_extent(renderer)) for text in texts]
    found = [
        f"cut off: {words!r} {np.round(box.extents)} of {width:.0f} × {height:.0f}"
        for words, box in boxes
        if box.x0 < -TOUCH or box.y0 < -TOUCH or box.x1 > width + TOUCH or box.y1 > height + TOUCH
    ]
    for (one, a), (other, b) in combinations(boxes, 2):
        across = min(a.x1, b.x1) - max(a.x0, b.x0)
        along = min(a.y1, b.y1) - max(a.y0, b.y0)
        if across > TOUCH and along > TOUCH:
            found.append(f"{one!r} on {other!r} by {across:.0f} × {along:.0f}")
    return found
