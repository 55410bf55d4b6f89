"""Results of runs, and what comes while they go on."""

from __future__ import annotations

import base64
import html
import json
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Literal

from ._errors import CodeError

Stream = Literal["stdout", "stderr"]


@dataclass(frozen=True)
class Output:
    """A piece of text that the code wrote."""

    stream: Stream
    text: str


@dataclass(frozen=True)
class Figure:
    """A picture that the code showed."""

    data: bytes = field(repr=False)
    #: `image/png`, `image/jpeg`, `image/gif` or `image/svg+xml`
    mime: str
    #: In a session, the file that it is kept in.
    name: str | None = None

    @property
    def png(self) -> bytes:
        """The bytes of a PNG.

        Raises:
            ValueError: the picture is of another type.
        """
        if self.mime != "image/png":
            raise ValueError(f"the picture is {self.mime}")
        return self.data

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        if self.mime == "image/svg+xml":
            return {self.mime: self.data.decode(errors="replace")}
        return {self.mime: base64.b64encode(self.data).decode()}


@dataclass(frozen=True)
class File:
    """A file in a session's working directory."""

    name: str
    size: int
    mime: str


@dataclass(frozen=True)
class Result:
    """What became of a run. A failure of the code is a result too; `raise_for_error` makes an exception of it."""

    #: Whether the code ran to its end.
    success: bool
    #: The value of the last expression: what JSON can express, in Python's types; None where there is no value.
    value: Any
    #: The value as text; None where there is no value.
    text: str | None
    stdout: str
    stderr: str
    #: The traceback of the exception, or what ended the code.
    error: str | None
    figures: tuple[Figure, ...]
    #: In a session, the files that the code made or changed.
    files: tuple[File, ...]
    #: The requirements that were loaded for the code.
    packages: tuple[str, ...]
    #: Seconds from the call to its answer.
    duration: float
    #: `run-error` or `install-error` when it failed.
    status: str
    #: `time-limit`, `cpu-limit` or `cancelled` when that ended the code.
    stopped: str | None = None
    #: In a session: the code ended its interpreter, and the session is as it was before.
    rolled_back: bool = False

    def raise_for_error(self) -> Result:
        """Returns this result if the code ran to its end.

        Raises:
            CodeError: it did not.
        """
        if not self.success:
            raise CodeError(self.error or self.status, self.status)
        return self

    def _repr_html_(self) -> str:
        parts = [
            f"<pre>{html.escape(text)}</pre>" for text in (self.stdout, self.stderr, self.text, self.error) if text
        ]
        for figure in self.figures:
            encoded = base64.b64encode(figure.data).decode()
            parts.append(f'<img src="data:{figure.mime};base64,{encoded}">')
        return "\n".join(parts)


Event = Output | Figure | Result


class Gatherer:
    """Makes a result of the frames of one run."""

    def __init__(self) -> None:
        self.stdout: list[str] = []
        self.stderr: list[str] = []
        self.figures: list[Figure] = []
        self.packages: list[str] = []

    def take(self, event: dict[str, Any], data: bytes) -> Output | Figure | None:
        """Takes an event; returns what of it a caller sees."""
        kind = event["event"]
        if kind == "stdout":
            self.stdout.append(event["text"])
            return Output("stdout", event["text"])
        if kind == "stderr":
            self.stderr.append(event["text"])
            return Output("stderr", event["text"])
        if kind == "figure":
            figure = Figure(data, event["mime"], event.get("name"))
            self.figures.append(figure)
            return figure
        if kind == "packages":
            self.packages += [wheel for wheel in event["wheels"] if wheel not in self.packages]
        return None

    def finish(self, answer: dict[str, Any], duration: float) -> Result:
        """Returns the result."""
        value = answer["value"]
        return Result(
            success=answer["success"],
            value=None if value is None else json.loads(value, parse_int=_integer),
            text=answer["text"],
            stdout="".join(self.stdout),
            stderr="".join(self.stderr),
            error=answer["error"],
            figures=tuple(self.figures),
            files=tuple(file_of(file) for file in answer.get("files", ())),
            packages=tuple(answer["packages"] or self.packages),
            duration=duration,
            status=answer["status"],
            stopped=answer["stopped"],
            rolled_back=answer.get("rolled_back", False),
        )


def _integer(digits: str) -> int:
    """Returns an integer of any length. `int` refuses more than 4,300 digits; the sandbox writes at most 100,000."""
    return int(digits) if len(digits) <= 4000 else int(Decimal(digits))


def file_of(answer: dict[str, Any]) -> File:
    """Returns the file that an answer describes."""
    return File(answer["name"], answer["size"], answer["mime"])
