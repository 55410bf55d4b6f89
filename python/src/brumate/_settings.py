"""Settings of a sandbox, as arguments of the binary."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How a sandbox is set up. Sandboxes with equal settings share one process."""

    packages: tuple[str, ...] = ()
    timeout: float | None = None
    cpu_timeout: float | None = None
    memory: str | int | None = None
    output_limit: str | int | None = None
    offline: bool = False
    index: str | None = None
    find_links: tuple[str, ...] = ()
    session_timeout: float | None = None
    data_dir: str | None = None
    cache_dir: str | None = None
    arguments: tuple[str, ...] = ()

    def command_line(self) -> tuple[str, ...]:
        """Returns the arguments that say the same to the binary."""
        options: list[str] = []

        def option(name: str, value: object) -> None:
            if value is not None:
                options.append(f"--{name}={value}")

        if self.packages:
            option("deps", ",".join(self.packages))
        for name, seconds in (
            ("timeout", self.timeout),
            ("cpu-timeout", self.cpu_timeout),
            ("session-timeout", self.session_timeout),
        ):
            option(name, None if seconds is None else f"{round(seconds * 1000)}ms")
        option("memory", self.memory)
        option("output-limit", self.output_limit)
        option("index", self.index)
        for place in self.find_links:
            option("find-links", place)
        option("data-dir", self.data_dir)
        option("cache-dir", self.cache_dir)
        if self.offline:
            options.append("--offline")
        return (*options, *self.arguments)


class Configured:
    """The constructor of sandboxes. `Sandbox` describes its arguments."""

    def __init__(
        self,
        *,
        packages: Sequence[str] = (),
        timeout: float | None = None,
        cpu_timeout: float | None = None,
        memory: str | int | None = None,
        output_limit: str | int | None = None,
        offline: bool = False,
        index: str | None = None,
        find_links: Sequence[str | os.PathLike[str]] = (),
        session_timeout: float | None = None,
        data_dir: str | os.PathLike[str] | None = None,
        cache_dir: str | os.PathLike[str] | None = None,
        arguments: Sequence[str] = (),
    ) -> None:
        for name, value in (("packages", packages), ("find_links", find_links), ("arguments", arguments)):
            if isinstance(value, str):
                raise TypeError(f"`{name}` is a list of texts, such as [{value!r}]")
        self._settings = Settings(
            packages=tuple(packages),
            timeout=timeout,
            cpu_timeout=cpu_timeout,
            memory=memory,
            output_limit=output_limit,
            offline=offline,
            index=index,
            find_links=tuple(os.fspath(place) for place in find_links),
            session_timeout=session_timeout,
            data_dir=None if data_dir is None else os.fspath(data_dir),
            cache_dir=None if cache_dir is None else os.fspath(cache_dir),
            arguments=tuple(arguments),
        )
