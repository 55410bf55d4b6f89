"""Texts that are wider than their room: cut, or broken into lines."""

from . import markup


def cut(canvas, label, size, most):
    """Returns a label, cut with an ellipsis when it is wider than `most` pixels."""
    if canvas.measure(label, size)[0] <= most:
        return label
    label = markup.flat(label)
    low, high = 0, len(label)
    while low < high:
        middle = (low + high + 1) // 2
        if canvas.measure(label[:middle] + "…", size)[0] <= most:
            low = middle
        else:
            high = middle - 1
    return label[:low].rstrip() + "…"


def wrapped(canvas, text, size, most):
    """Returns a text with breaks between words, so that its lines are no wider than `most` pixels."""
    if canvas.measure(text, size)[0] <= most:
        return text
    lines, line = [], ""
    for piece in text.split(" "):
        longer = f"{line} {piece}" if line else piece
        if line and canvas.measure(longer, size)[0] > most:
            lines.append(line)
            line = piece
        else:
            line = longer
    return "<br>".join([*lines, line])
