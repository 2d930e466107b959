"""How every test runs: on the CPU unless asked, and where keys are handled none is used twice."""

import importlib.util
import mmap
import os
from collections.abc import Iterator
from pathlib import Path

ON_GPU = os.environ.get("HALFMOVE_TEST_GPU", "") not in ("", "0")


def _known(flag: str) -> bool:
    """Whether this jaxlib's XLA has such a flag; one that it has not ends the process."""
    found = importlib.util.find_spec("jaxlib")
    for library in Path((found and found.origin) or ".").parent.glob("libjax_common.so"):
        with library.open("rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as bits:
            return bits.find(flag.encode() + b"\0") >= 0
    return False


# Compiling is most of what the tests do. The machine code is left plain and made the shorter
# way, for the processes that tests start too; `XLA_FLAGS= make test` runs them as users do.
PLAIN = {"xla_backend_optimization_level": "0", "xla_cpu_use_fusion_emitters": "false"}
if not ON_GPU and "XLA_FLAGS" not in os.environ:
    flags = [f"--{name}={value}" for name, value in PLAIN.items() if _known(name)]
    os.environ["XLA_FLAGS"] = " ".join(flags)

import hypothesis  # noqa: E402
import jax  # noqa: E402
import pytest  # noqa: E402

if not ON_GPU:
    jax.config.update("jax_platforms", "cpu")
    os.environ["JAX_PLATFORMS"] = "cpu"  # for the processes that tests start
os.environ["MPLBACKEND"] = "agg"

jax.config.update("jax_numpy_dtype_promotion", "standard")

# The first call of a test compiles, which no deadline survives.
hypothesis.settings.register_profile("local", deadline=None)
hypothesis.settings.register_profile("ci", deadline=None, derandomize=True, database=None)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "local")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skips tests marked `gpu` unless HALFMOVE_TEST_GPU=1."""
    if ON_GPU:
        return
    skip = pytest.mark.skip(reason="needs a GPU and HALFMOVE_TEST_GPU=1")
    for item in items:
        if item.get_closest_marker("gpu"):
            item.add_marker(skip)


# The rooms in which keys are drawn and passed on. To look after every key costs a fifth of the
# time to trace a program, so elsewhere it is done by `make test-all` alone.
KEYED = {"contracts", "search", "models", "selfplay", "replay", "learn", "train"}
EVERYWHERE = os.environ.get("HALFMOVE_TEST_KEYS", "") not in ("", "0")


@pytest.fixture(autouse=True, scope="module")
def _no_key_is_used_twice(request: pytest.FixtureRequest) -> Iterator[None]:
    """A key that is used twice is an error, in the rooms that handle them."""
    with jax.debug_key_reuse(EVERYWHERE or request.path.parent.name in KEYED):
        yield


@pytest.fixture(autouse=True, scope="module")
def _forgets_what_was_compiled() -> Iterator[None]:
    """Frees the compiled programs of a file after its tests.

    Each takes several memory maps, of which Linux gives a process 65,530; past them XLA crashes.
    """
    yield
    jax.clear_caches()
