"""The files of deploy/, against the schemas that can be had without a network."""

import json
import re
import shlex
from importlib import resources
from pathlib import Path

import jsonschema
import kubernetes_validate
import pytest
import yaml

from halfmove.cli import _parser

ROOT = Path(__file__).parents[2]
DEPLOY, DOCS = ROOT / "deploy", ROOT / "docs" / "cluster.md"


def documents(name):
    return list(yaml.safe_load_all((DEPLOY / name).read_text()))


def test_the_cloud_file_is_one_of_rays_launcher():
    schema = json.loads((resources.files("ray") / "autoscaler/ray-schema.json").read_text())
    (config,) = documents("cloud.yaml")
    jsonschema.validate(config, schema)
    assert config["head_node_type"] in config["available_node_types"]


def pods():
    job = next(x for x in documents("kuberay.yaml") if x["kind"] == "RayJob")
    cluster = job["spec"]["rayClusterSpec"]
    yield cluster["headGroupSpec"]["template"]
    for group in cluster["workerGroupSpecs"]:
        assert group["minReplicas"] <= group["replicas"] <= group["maxReplicas"]
        yield group["template"]


def test_pods_are_pods():
    """Those of a RayJob are core/v1 templates."""
    for pod in pods():
        whole = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, **pod}
        kubernetes_validate.validate(whole, "1.30", strict=True)


# What KubeRay's API (ray-operator/apis/ray/v1) says of the fields that we use; its whole schema is
# not to be had without a network.
STRINGS = {"type": "object", "additionalProperties": {"type": "string"}}
GROUP = {"rayStartParams": STRINGS, "template": {"type": "object"}}
COUNT = {"type": "integer", "minimum": 0}


def only(required, **fields):
    return {
        "type": "object", "properties": fields, "required": required, "additionalProperties": False
    }  # fmt: skip


PLAYERS = only(
    ["groupName", "minReplicas", "maxReplicas", *GROUP],
    groupName={"type": "string"}, replicas=COUNT, minReplicas=COUNT, maxReplicas=COUNT, **GROUP,
)  # fmt: skip
RAY_CLUSTER = only(
    ["headGroupSpec"],
    headGroupSpec=only(list(GROUP), **GROUP),
    workerGroupSpecs={"type": "array", "items": PLAYERS},
    rayVersion={"type": "string"},
    authOptions=only(["mode"], mode={"enum": ["disabled", "token"]}),
    enableInTreeAutoscaling={"type": "boolean"},
    autoscalerOptions=only([], idleTimeoutSeconds=COUNT),
)
RAY_JOB = only(
    ["entrypoint", "rayClusterSpec"],
    entrypoint={"type": "string"},
    entrypointNumCpus={"type": "number"},
    entrypointResources={"type": "string"},
    backoffLimit=COUNT,
    shutdownAfterJobFinishes={"type": "boolean"},
    rayClusterSpec=RAY_CLUSTER,
)


def test_the_job_is_one_of_kuberay():
    (job,) = (x for x in documents("kuberay.yaml") if x["kind"] == "RayJob")
    assert job["apiVersion"] == "ray.io/v1"
    jsonschema.validate(job["spec"], RAY_JOB)
    json.loads(job["spec"]["entrypointResources"])


def test_the_rest_is_kubernetes_own():
    others = [x for x in documents("kuberay.yaml") if x["kind"] != "RayJob"]
    assert {x["kind"] for x in others} == {"PersistentVolumeClaim", "NetworkPolicy"}
    for document in others:
        kubernetes_validate.validate(document, "1.30", strict=True)


def test_clusters_are_closed():
    """A token everywhere, and no way in from outside."""
    text = (DEPLOY / "kuberay.yaml").read_text()
    job = next(x for x in documents("kuberay.yaml") if x["kind"] == "RayJob")
    assert job["spec"]["rayClusterSpec"]["authOptions"] == {"mode": "token"}
    assert not re.search("hostPort|hostNetwork|LoadBalancer|NodePort|Ingress$", text)
    (cloud,) = documents("cloud.yaml")
    for commands in ("head_start_ray_commands", "worker_start_ray_commands"):
        starts = [x for x in cloud[commands] if "ray start" in x]
        assert starts
        assert all("RAY_AUTH_MODE=token" in x and "RAY_AUTH_TOKEN=" in x for x in starts)


def test_one_version_of_ray():
    texts = [(DEPLOY / name).read_text() for name in ("Dockerfile", "cloud.yaml", "kuberay.yaml")]
    found = {x for text in texts for x in re.findall(r"(?:==|rayVersion: \")(\d+\.\d+\.\d+)", text)}
    assert len(found) == 1
    assert tuple(map(int, found.pop().split("."))) >= (2, 52, 0)  # the first with tokens


def commands():
    """Every `halfmove train` and `halfmove resume` of these files and of the documentation."""
    for path in [DOCS, *DEPLOY.iterdir()]:
        text = re.sub(r"\\?\n\s*(#\s*)?(?=--|')", " ", path.read_text())
        for line in re.findall(r"halfmove ((?:train|resume) [^;`'\n#|]*)", text):
            yield pytest.param(line.strip(), id=f"{path.name}: {line[:40]}")


@pytest.mark.parametrize("line", list(commands()))
def test_commands_are_known(line):
    options, rest = _parser().parse_known_args(shlex.split(line))
    assert options.cluster or "--workers" not in line
    assert all("." in word or not word.startswith("--") for word in rest), rest


def test_prometheus_takes_what_we_export():
    (config,) = documents("prometheus.yaml")
    (rule,) = config["scrape_configs"][0]["metric_relabel_configs"]
    pattern = re.compile(rule["regex"])
    assert pattern.fullmatch("ray_halfmove_run_positions")
    assert pattern.fullmatch("halfmove_run_positions")
    assert not pattern.fullmatch("ray_gcs_storage_operation_latency_ms")
