"""The Dockerfile, the compose file and the Helm chart agree with the repository and the gateway."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest
from ruamel.yaml import YAML
from support.gateways.gateway import sluicegate
from support.process.external_files import skip_without

from sluicegate import __version__
from sluicegate_testing.secrets import keep_secret

ROOT = Path(__file__).resolve().parents[2]
COMPOSE = ROOT / "deploy" / "compose"
CHART = ROOT / "deploy" / "helm" / "sluicegate"
# It needs a JDK and jars, so workers have another image.
NOT_IN_THE_IMAGE = {"plugins/spark", "plugins/testing"}
OPTIONS = (
    *("gateway.autoscaling.enabled", "delegation.enabled", "worker.enabled"),
    *("ingress.enabled", "metrics.enabled"),
)


def read(path: Path) -> Any:
    return YAML(typ="safe").load(path)


def read_all(text: str) -> list[Any]:
    return [each for each in YAML(typ="safe").load_all(text) if each]


def test_the_image_contains_each_plugin() -> None:
    text = (ROOT / "deploy" / "docker" / "Dockerfile").read_text()
    found = {
        str(file.parent.relative_to(ROOT))
        for folder in ("plugins", "catalog_adapters")
        for file in (ROOT / folder).glob("*/pyproject.toml")
    }
    installed = {word.removeprefix("./") for word in text.split() if word.startswith("./")}
    assert installed == found - NOT_IN_THE_IMAGE


def test_the_image_is_built_from_files_that_are_not_ignored() -> None:
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    included = {line[1:] for line in lines if line.startswith("!")}
    assert all((ROOT / name).exists() for name in included)
    assert included >= {"pyproject.toml", "constraints.txt", "LICENSE", "README.md", "gateway"}


def test_the_base_of_the_image_is_the_same_in_each_build() -> None:
    text = (ROOT / "deploy" / "docker" / "Dockerfile").read_text()
    [base] = re.findall("^ARG PYTHON=(.*)$", text, re.MULTILINE)
    assert re.fullmatch(r"3\.\d+-slim-\w+@sha256:[0-9a-f]{64}", base)
    assert re.findall("^FROM (.*)$", text, re.MULTILINE) == [
        "python:${PYTHON} AS build",
        "python:${PYTHON}",
    ]


@pytest.fixture
def prepared(tmp_path: Path) -> Path:
    """The folder of the compose file after `prepare.sh`."""
    folder = tmp_path / "compose"
    shutil.copytree(COMPOSE, folder, ignore=shutil.ignore_patterns("secrets"))
    subprocess.run([folder / "prepare.sh"], check=True, capture_output=True)
    for file in (folder / "secrets").iterdir():
        keep_secret(file.read_text())
    return folder


def test_the_gateway_of_the_compose_file_accepts_its_configuration(prepared: Path) -> None:
    compose = read(COMPOSE / "compose.yaml")
    for secret in compose["services"]["gateway"]["secrets"]:
        source = prepared / compose["secrets"][secret["source"]]["file"]
        target = prepared / "config" / Path(secret["target"]).relative_to("/etc/sluicegate")
        target.parent.mkdir(exist_ok=True)
        shutil.copy(source, target)
    assert sluicegate(prepared / "config", "config", "check") == "gateway.yaml: ok\n"


def test_each_secret_of_the_compose_file_is_created_once_and_used(prepared: Path) -> None:
    compose = read(COMPOSE / "compose.yaml")
    used = {
        each if isinstance(each, str) else each["source"]
        for service in compose["services"].values()
        for each in service.get("secrets", [])
    }
    assert used == set(compose["secrets"])
    for secret in compose["secrets"].values():
        file = prepared / secret["file"]
        assert file.stat().st_mode & 0o077 == 0
    before = (prepared / "secrets" / "signing-key").read_text()
    subprocess.run([prepared / "prepare.sh"], check=True, capture_output=True)
    assert (prepared / "secrets" / "signing-key").read_text() == before
    json.loads((prepared / "secrets" / "realm.json").read_text())
    json.loads((prepared / "secrets" / "s3.json").read_text())


def schema() -> Any:
    return json.loads((CHART / "values.schema.json").read_text())


def test_the_values_of_the_chart_satisfy_their_schema() -> None:
    values = read(CHART / "values.yaml")
    jsonschema.validate(values, schema())
    assert set(values) == set(schema()["properties"]) - {"global", "nameOverride"}


@pytest.mark.parametrize(
    "changed",
    [
        {"config": {"database": "postgresql://u:p@h/d", "signing_key": {"file": "k"}}},
        {"config": {"database": {"file": "d"}, "signing_key": {"file": "k"}, "server": {"port": 1}}},
        {"gatway": {}},
        {"gateway": {"replica": 3}},
        {"image": {"repository": "sluicegate", "digest": "sha256:0"}},
    ],
)
def test_values_with_a_mistake_or_a_secret_are_rejected(changed: dict[str, Any]) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(read(CHART / "values.yaml") | changed, schema())


def test_the_gateway_accepts_the_configuration_of_the_chart(tmp_path: Path) -> None:
    (tmp_path / "gateway.yaml").write_text(json.dumps(read(CHART / "values.yaml")["config"]))
    secrets = tmp_path / "secrets" / "sluicegate"
    secrets.mkdir(parents=True)
    contents = {"database-url": "postgresql://u@db/sluicegate", "signing-key": "k" * 64}
    for name, content in contents.items():
        (secrets / name).touch(mode=0o600)
        (secrets / name).write_text(content)
    assert sluicegate(tmp_path, "config", "check") == "gateway.yaml: ok\n"


@skip_without("helm", also_in_ci=True)
@pytest.mark.parametrize("enabled", [(), OPTIONS])
def test_the_chart_renders_pods_that_need_no_privileges(enabled: tuple[str, ...]) -> None:
    found = rendered(enabled)
    kinds = [each["kind"] for each in found]
    assert {"Deployment", "Service", "ConfigMap", "Job", "PodDisruptionBudget"} <= set(kinds)
    assert ("HorizontalPodAutoscaler" in kinds) == bool(enabled)
    pods = [each["spec"]["template"]["spec"] for each in found if each["kind"] in ("Deployment", "Job")]
    assert len(pods) == (4 if enabled else 2)
    for pod in pods:
        assert pod["securityContext"]["runAsNonRoot"]
        assert not pod["automountServiceAccountToken"]
        for container in pod["containers"]:
            assert container["securityContext"]["readOnlyRootFilesystem"]
            assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}


def test_pods_accept_connections_only_to_their_services_by_default() -> None:
    assert read(CHART / "values.yaml")["networkPolicy"]["enabled"] is True


@skip_without("helm", also_in_ci=True)
def test_metrics_have_a_port_of_each_pod_and_of_no_service() -> None:
    found = rendered(OPTIONS)
    services = [each["spec"]["ports"] for each in found if each["kind"] == "Service"]
    assert {port["name"] for ports in services for port in ports} == {"http"}
    deployments = [each["spec"]["template"]["spec"] for each in found if each["kind"] == "Deployment"]
    for pod in deployments:
        (container,) = pod["containers"]
        assert {"name": "metrics", "containerPort": 9464} in container["ports"]
    configurations = [each["data"]["gateway.yaml"] for each in found if each["kind"] == "ConfigMap"]
    listener = {"host": "0.0.0.0", "port": 9464}  # noqa: S104  (of a pod)
    assert all(read_all(each)[0]["telemetry"]["prometheus"] == listener for each in configurations)
    (policy,) = (each["spec"]["ingress"] for each in found if each["kind"] == "NetworkPolicy")
    assert [port for rule in policy for port in rule["ports"]] == [{"port": 8080}, {"port": 8182}]


@skip_without("helm", also_in_ci=True)
def test_pods_run_the_image_of_the_digest() -> None:
    """The worker's image has another digest, or none."""
    digests = [f"sha256:{digit * 64}" for digit in "ab"]
    both = (*OPTIONS, f"image.digest={digests[0]}", "worker.image.repository=spark")
    images = images_of(rendered(both))
    assert images - {f"spark:{__version__}"} == {f"sluicegate:{__version__}@{digests[0]}"}
    assert f"spark:{__version__}" in images
    images = images_of(rendered((*both, f"worker.image.digest={digests[1]}")))
    assert images == {f"sluicegate:{__version__}@{digests[0]}", f"spark:{__version__}@{digests[1]}"}


def images_of(found: list[Any]) -> set[str]:
    pods = [each["spec"]["template"]["spec"] for each in found if each["kind"] in ("Deployment", "Job")]
    return {container["image"] for pod in pods for container in pod["containers"]}


def rendered(enabled: tuple[str, ...]) -> list[Any]:
    helm = shutil.which("helm") or "helm"
    settings = [each if "=" in each else f"{each}=true" for each in enabled]
    options = [option for each in settings for option in ("--set", each)]
    done = subprocess.run(
        [helm, "template", "release", str(CHART), "--kube-version", "1.31.0", *options],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return read_all(done.stdout)
