"""What `halfmove web` was started with."""

import ipaddress
from dataclasses import dataclass
from pathlib import Path

from halfmove.arena.engines import Engine, is_engine


@dataclass(frozen=True)
class Settings:
    """Where the page is served, and what it may reach."""

    runs: Path = Path("runs")  # the only folder of which files are shown
    host: str = "127.0.0.1"
    port: int = 8000
    token: str | None = None  # what a visitor must bring; needed unless the host is loopback
    engines: tuple[str, ...] = ()  # outside engines that visitors may choose, as in the arena
    tables: Path | None = None  # where games are kept; None: in `runs`, under `.web`
    idle: float = 24 * 3600.0  # seconds after which a game that nobody looks at is forgotten

    def __post_init__(self) -> None:
        if self.runs.exists() and not self.runs.is_dir():
            raise ValueError(f"{self.runs} is no folder, so there are no runs in it")
        for line in self.engines:
            if not is_engine(line):
                raise ValueError(f"{line!r} is no outside engine, such as 'gtp:gnugo --level 10'")
            Engine(line)  # says if its program is not there
        if not loopback(self.host) and not self.token:
            raise ValueError(
                f"host {self.host} can be reached from other machines: give a token as well, "
                "which visitors must bring"
            )

    @property
    def kept(self) -> Path:
        """The folder of the games under way."""
        return self.runs / ".web" if self.tables is None else self.tables


def loopback(host: str) -> bool:
    """Whether only this machine reaches that address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
