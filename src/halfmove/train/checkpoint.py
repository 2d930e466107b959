"""Checkpoints: a folder each, of safetensors and one JSON, whole or not there.

A tree to be saved is a dict; each of its entries (`variables`, `replay`, ...) becomes a
file of its own, so that a reader can ask for some of them and an old checkpoint can keep
only what is worth keeping:

    checkpoints/00000400/checkpoint.json      numbers, forms, sizes, checksums, the caller's meta
                         variables.safetensors
                         replay.safetensors

All is written under a temporary name, synced, and renamed. `restore` takes the newest one
that is whole; a damaged one is named in a warning and passed over.
"""

import contextlib
import errno
import hashlib
import json
import logging
import os
import re
import shutil
from collections.abc import Collection, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

from halfmove.train import tensors, trees
from halfmove.train.durable import RunError, sync_folder
from halfmove.train.environment import UNKNOWN, version
from halfmove.train.tensors import DamagedError, Seal, Tensor

FORMAT = 1
_log = logging.getLogger(__name__)
_TEMPORARY = ".tmp-"
_NAME = re.compile(r"(\d{8,})(\.old)?")
_FILE = "checkpoint.json"


@dataclass(frozen=True)
class Keep:
    """Which checkpoints stay: the newest, and for good those whose number `every` divides."""

    last: int = 2
    every: int = 0  # 0: none for good
    parts: tuple[str, ...] = ()  # what one kept for good keeps of its tree; (): all

    def __post_init__(self) -> None:
        if self.last < 1:
            raise ValueError(f"last must be at least 1, got {self.last}")
        if self.every < 0:
            raise ValueError(f"every must be at least 0, got {self.every}")


USUAL = Keep()


class Restored(NamedTuple):
    """What a checkpoint held."""

    number: int
    tree: Any
    meta: dict[str, Any]


class _Content(NamedTuple):
    """A checkpoint ready to be written."""

    number: int
    meta: dict[str, Any]
    forms: dict[str, dict[str, trees.Form]]  # part -> leaf -> form
    tensors: dict[str, dict[str, Tensor]]  # part -> leaf -> bytes


def save(
    folder: Path,
    number: int,
    tree: Mapping[str, Any],
    meta: Mapping[str, Any] | None = None,
    *,
    keep: Keep = USUAL,
) -> None:
    """Writes checkpoint `number`, then removes those that `keep` does not name.

    On the disk when it returns. RunError (disk full, folder read-only, ...) leaves all
    checkpoints before it as they were, and no part of the new one.
    """
    _write(folder, _content(number, tree, meta, now=False), keep)


class Writer:
    """Saves from a thread of its own: `save` copies the arrays to the host and returns.

    At most one save is under way; the next waits for it. What went wrong in one is
    raised by the next `save`, `wait` or `close`. The copy takes as much host memory as
    the tree; `save` above needs only that of the largest array.
    """

    def __init__(self, folder: Path, *, keep: Keep = USUAL) -> None:
        self._folder, self._keep = folder, keep
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="checkpoint")
        self._pending: Future[None] | None = None

    def save(
        self, number: int, tree: Mapping[str, Any], meta: Mapping[str, Any] | None = None
    ) -> None:
        """Begins to write checkpoint `number`."""
        self.wait()
        content = _content(number, tree, meta, now=True)
        self._pending = self._pool.submit(_write, self._folder, content, self._keep)

    def wait(self) -> None:
        """Returns when the last save is on the disk; RunError if it failed."""
        if self._pending is not None:
            done, _ = wait([self._pending])  # an interrupt here leaves it to the next call
            self._pending = None
            done.pop().result()

    def close(self) -> None:
        """Waits for the last save and ends the thread."""
        try:
            self.wait()
        finally:
            self._pool.shutdown()


def restore(
    folder: Path,
    like: Mapping[str, Any],
    *,
    expect: Mapping[str, Any] | None = None,
    number: int | None = None,
    optional: Collection[str] = (),
) -> Restored | None:
    """The newest whole checkpoint, or that of `number`, with the structure and devices of `like`.

    `like` may leave out entries of the saved tree; they are not read. A checkpoint may lack
    those that are `optional`, and what is restored then lacks them too. `expect` are entries
    that the saved `meta` must have (the game, the network, ...). None: there is no
    checkpoint. RunError: all are damaged, or this one is of another kind, and how.
    """
    tried = []
    for name in reversed(_listed(folder)):
        if number not in (None, _number(name)):
            continue
        path = folder / name
        try:
            content = _open(path)
            lacking = {part for part in optional if not (path / f"{part}.safetensors").exists()}
            here = {part: like[part] for part in like if part not in lacking}
            _must_match(path, content, here, expect)
            writer = content["halfmove"]
            if UNKNOWN not in (writer, version()) and writer != version():
                _log.warning("checkpoint %s was written by halfmove %s", path, writer)
            parts = {key: _read(path, content, key, here[key]) for key in here}
            return Restored(content["number"], parts, content["meta"])
        except (DamagedError, OSError) as error:
            _log.warning("checkpoint %s is damaged and not used: %s", path, error)
            tried.append(f"{name} ({error})")
    if tried:
        raise RunError(f"no whole checkpoint in {folder}: {'; '.join(tried)}")
    return None


def numbers(folder: Path) -> list[int]:
    """The checkpoints in a folder, damaged or not, ascending."""
    return sorted({_number(name) for name in _listed(folder)})


def meta(folder: Path, number: int) -> dict[str, Any]:
    """The meta of one checkpoint, without its arrays; RunError if it is damaged or gone."""
    path = folder / _name(number)
    try:
        return dict(_open(path)["meta"])
    except (DamagedError, OSError) as error:
        raise RunError(f"checkpoint {path} cannot be read: {error}") from error


def annotate(folder: Path, number: int, entries: Mapping[str, Any]) -> None:
    """Adds entries to the meta of a checkpoint, on the disk when it returns; RunError if it fails.

    Killed at any moment, it leaves the checkpoint as it was or as it will be.
    """
    path = folder / _name(number)
    temporary = path / f"{_TEMPORARY}{_FILE}"
    try:
        content = _open(path)
        content["meta"] |= json.loads(_json(dict(entries)))
        temporary.unlink(missing_ok=True)
        _seal(temporary, content)
        os.replace(temporary, path / _FILE)
        sync_folder(path)
    except (DamagedError, OSError) as error:
        raise RunError(f"checkpoint {path} cannot be changed: {error}") from error


def set_aside(folder: Path, *, after: int) -> None:
    """Takes checkpoints beyond `after`, which are damaged, out of the row.

    The run will write these numbers again. They stay, as `NAME.damaged`.
    """
    for name in _listed(folder):
        if _number(name) > after:
            aside = folder / f"{name}.damaged"
            shutil.rmtree(aside, ignore_errors=True)
            os.rename(folder / name, aside)


# -- writing ---------------------------------------------------------------


def _content(
    number: int, tree: Mapping[str, Any], meta: Mapping[str, Any] | None, *, now: bool
) -> _Content:
    leaves = {part: trees.names(tree[part]) for part in tree}
    for part in leaves:
        if not re.fullmatch(r"\w+", part):
            raise ValueError(f"an entry of the tree names a file: letters, not {part!r}")
    # JSON now and back: what the caller changes later is not saved, and a mistake shows here.
    kept = json.loads(_json(dict(meta or {})))
    forms = {p: {n: trees.form(n, x) for n, x in leaves[p].items()} for p in leaves}
    arrays = {p: {n: trees.tensor(x, now=now) for n, x in leaves[p].items()} for p in leaves}
    return _Content(number, kept, forms, arrays)


def _write(folder: Path, content: _Content, keep: Keep) -> None:
    final = folder / _name(content.number)
    temporary = folder / f"{_TEMPORARY}{final.name}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for left in folder.glob(f"{_TEMPORARY}*"):  # by a process that was killed
            shutil.rmtree(left)
        temporary.mkdir()
        _fill(temporary, content)
        old = folder / f"{final.name}.old"
        if final.exists():
            if old.exists():
                shutil.rmtree(old)
            os.rename(final, old)
        os.rename(temporary, final)
        sync_folder(folder)
    except OSError as error:
        shutil.rmtree(temporary, ignore_errors=True)
        raise RunError(_say_failed(folder, content, error)) from error
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    try:
        _prune(folder, keep)
    except OSError as error:
        _log.warning("old checkpoints in %s could not be removed: %s", folder, error)


def _fill(temporary: Path, content: _Content) -> None:
    parts = {}
    for part, arrays in content.tensors.items():
        seal = tensors.write(temporary / f"{part}.safetensors", arrays)
        parts[part] = {**asdict(seal), "leaves": content.forms[part]}
    body = {
        "format": FORMAT,
        "halfmove": version(),
        "number": content.number,
        "meta": content.meta,
        "parts": parts,
    }
    _seal(temporary / _FILE, body)
    sync_folder(temporary)


def _seal(path: Path, body: dict[str, Any]) -> None:
    """A new file of JSON with its own checksum, synced."""
    text = _json({**body, "sha256": hashlib.sha256(_json(body).encode()).hexdigest()})
    with open(path, "x", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def _say_failed(folder: Path, content: _Content, error: OSError) -> str:
    size = sum(x.nbytes for part in content.tensors.values() for x in part.values())
    room, whole = "", []
    with contextlib.suppress(OSError):  # the folder may not even be readable
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            room = f", {shutil.disk_usage(folder).free / 1e6:.1f} MB free"
        whole = numbers(folder)
    before = f"the last one there is {whole[-1]}" if whole else "there is none before it"
    return (
        f"checkpoint {content.number} was not written to {folder}: "
        f"{error.strerror or error} ({size / 1e6:.1f} MB to write{room}); {before}"
    )


def _prune(folder: Path, keep: Keep) -> None:
    listed = _listed(folder)
    current = [x for x in listed if x.removesuffix(".old") not in listed or not x.endswith(".old")]
    for name in set(listed) - set(current[-keep.last :]):
        path = folder / name
        if name in current and keep.every and _number(name) % keep.every == 0:
            for file in path.glob("*.safetensors"):
                if keep.parts and file.stem not in keep.parts:
                    file.unlink()
        else:
            # Renamed first: a checkpoint that is half removed must not look like one.
            gone = folder / f"{_TEMPORARY}{name}"
            os.rename(path, gone)
            shutil.rmtree(gone)


# -- reading ---------------------------------------------------------------


def _open(path: Path) -> dict[str, Any]:
    """A checkpoint's JSON. DamagedError: not as it was written. RunError: of another format."""
    try:
        content = json.loads((path / _FILE).read_text(encoding="utf-8"))
        seal = content.pop("sha256")
    except FileNotFoundError:
        raise DamagedError(f"{_FILE} is missing") from None
    except (ValueError, KeyError, AttributeError, TypeError):
        raise DamagedError(f"{_FILE} is no JSON of a checkpoint") from None
    if hashlib.sha256(_json(content).encode()).hexdigest() != seal:
        raise DamagedError(f"{_FILE} has another SHA-256 than when it was written")
    if content["format"] != FORMAT:
        raise RunError(
            f"checkpoint {path} has format {content['format']}, written by halfmove "
            f"{content['halfmove']}; this is halfmove {version()}, which reads format {FORMAT}"
        )
    return dict(content)


def _must_match(
    path: Path, content: dict[str, Any], like: Mapping[str, Any], expect: Mapping[str, Any] | None
) -> None:
    lines = _unlike(content["meta"], json.loads(_json(dict(expect or {}))))
    for part in like:
        if part not in content["parts"]:
            lines.append(f"{part}: not in the checkpoint, which has {', '.join(content['parts'])}")
    if not lines:
        stored, wanted = {}, {}
        for part in like:
            leaves = trees.names(like[part])
            wanted.update({f"{part}/{n}": trees.form(n, x) for n, x in leaves.items()})
            stored.update({f"{part}/{n}": x for n, x in content["parts"][part]["leaves"].items()})
        lines = trees.differences(stored, wanted)
    if lines:
        by = "" if content["halfmove"] == version() else f" (halfmove {content['halfmove']})"
        listed = "\n  ".join(lines)
        raise RunError(f"checkpoint {path}{by} is of another kind:\n  {listed}")


def _unlike(stored: Any, wanted: Any, where: str = "") -> list[str]:
    """Lines that say where `stored` lacks or contradicts what `wanted` has."""
    if isinstance(stored, dict) and isinstance(wanted, dict):
        return [
            line
            for key, value in wanted.items()
            for line in _unlike(stored.get(key), value, f"{where}.{key}" if where else key)
        ]
    if stored == wanted:
        return []
    return [f"{where}: {stored!r} in the checkpoint, {wanted!r} now"]


def _read(path: Path, content: dict[str, Any], part: str, like: Any) -> Any:
    record = content["parts"][part]
    seal = Seal(record["bytes"], record["sha256"])
    return trees.fill(like, tensors.read(path / f"{part}.safetensors", seal))


def _listed(folder: Path) -> list[str]:
    """Names of checkpoints, the best to restore last."""
    if not folder.is_dir():
        return []
    found = [entry.name for entry in folder.iterdir() if _NAME.fullmatch(entry.name)]
    return sorted(found, key=lambda name: (_number(name), not name.endswith(".old")))


def _name(number: int) -> str:
    return f"{number:08d}"


def _number(name: str) -> int:
    return int(name.removesuffix(".old"))


def _json(value: Any) -> str:
    return json.dumps(value, indent=1, sort_keys=True, allow_nan=False)
