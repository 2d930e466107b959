"""One cluster of this machine for the tests of a process; they share what they compile."""

import os

import pytest

from halfmove.cluster.start import closed

os.environ.pop("RAY_ADDRESS", None)
closed()  # before the tests import Ray


@pytest.fixture(scope="session")
def cluster(tmp_path_factory):
    """Ray, with room for any number of small roles."""
    shared = {
        "JAX_COMPILATION_CACHE_DIR": str(tmp_path_factory.mktemp("compiled")),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    }
    before = {name: os.environ.get(name) for name in shared}
    os.environ.update(shared)
    import ray

    ray.init(
        num_cpus=16, object_store_memory=150_000_000, include_dashboard=False,
        log_to_driver=False, logging_level="ERROR",
    )  # fmt: skip
    yield ray
    ray.shutdown()
    for name, value in before.items():
        if value is None:
            del os.environ[name]
        else:
            os.environ[name] = value
