"""What a run leaves: a text for people, a JSON file for programs."""

import json
from dataclasses import dataclass, field


@dataclass
class Section:
    """One measurement: tables, notes under them, and every raw value."""

    title: str
    tables: list = field(default_factory=list)
    notes: list = field(default_factory=list)
    raw: dict = field(default_factory=dict)

    def table(self, header, rows):
        self.tables.append(([str(cell) for cell in header], [[str(cell) for cell in row] for row in rows]))

    def text(self):
        """Markdown."""
        parts = [f"## {self.title}", *map(grid, self.tables), *self.notes]
        return "\n\n".join(parts) + "\n"


def grid(table):
    """A Markdown table whose columns are aligned for reading as plain text: the first to the left, numbers to the
    right."""
    header, rows = table
    widths = [max(len(line[column]) for line in [header, *rows]) for column in range(len(header))]

    def line(cells):
        first, *others = (cell.rjust(width) for cell, width in zip(cells, widths, strict=True))
        return "| " + " | ".join([first.strip().ljust(widths[0]), *others]) + " |"

    rule = line(["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])])
    return "\n".join([line(header), rule, *map(line, rows)])


def write(directory, heading, sections):
    """Writes `report.md` and `results.json`; returns the text."""
    text = "\n".join([heading, *(section.text() for section in sections)])
    (directory / "report.md").write_text(text)
    results = {section.title: section.raw for section in sections}
    (directory / "results.json").write_text(json.dumps(results, indent=1) + "\n")
    return text
