"""What a run ran on: versions, devices, the source's revision, the command."""

import datetime
import importlib.metadata
import platform
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import jax

UNKNOWN = "(not installed)"  # the version of a program that runs from its sources
_PACKAGES = ("halfmove", "jax", "jaxlib", "numpy", "flax", "optax")


def version(package: str = "halfmove") -> str:
    """The version of an installed package."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return UNKNOWN


def describe() -> dict[str, Any]:
    """What is needed to know, later, where figures came from. Starts JAX's backend."""
    return {
        "time": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "command": shlex.join(sys.argv),
        "packages": {name: version(name) for name in _PACKAGES},
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.release()} {platform.machine()}",
        "backend": jax.default_backend(),
        "devices": [device.device_kind for device in jax.devices()],
        "revision": _revision(Path(__file__).parent),
    }


def summary(here: dict[str, Any]) -> str:
    """What `describe` found, in one line."""
    kinds = sorted(set(here["devices"]))
    devices = ", ".join(f"{here['devices'].count(kind)} × {kind}" for kind in kinds)
    packages = here["packages"]
    return f"halfmove {packages['halfmove']}, jax {packages['jax']} on {devices}"


def _revision(folder: Path) -> str | None:
    """The commit that `folder` is at, with `-dirty` if files differ; None outside a checkout."""
    command = ["git", "-C", str(folder), "describe", "--always", "--dirty", "--abbrev=40"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() or None
