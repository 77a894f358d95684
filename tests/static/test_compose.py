"""compose.yaml against the Compose schema, and the few things about it that a schema does not know."""

from __future__ import annotations

from typing import Any

import pytest
from ruamel.yaml import YAML

from tests.static.project import ROOT, SCRIPTS, pyproject, run

SERVICES = ("turn-runner", "outbox-relay", "receipt-reconciler")


def _services() -> dict[str, dict[str, Any]]:
    services: dict[str, dict[str, Any]] = YAML(typ="safe").load((ROOT / "compose.yaml").read_text("utf-8"))["services"]
    return services


def test_compose_yaml_fits_the_compose_schema() -> None:
    run(SCRIPTS / "check-jsonschema", "--builtin-schema", "vendor.compose-spec", "compose.yaml")


def test_compose_holds_both_stores_the_migration_the_inventory_and_the_three_services() -> None:
    assert set(_services()) == {"postgres", "kafka", "migrate", "inventory", *SERVICES}


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_runs_once_the_stores_answer_and_the_migration_is_done(name: str) -> None:
    service = _services()[name]
    assert service["command"] == [name, "run"]
    conditions = {other: needed["condition"] for other, needed in service["depends_on"].items()}
    assert conditions["postgres"] == conditions["kafka"] == "service_healthy"
    assert conditions["migrate"] == "service_completed_successfully"


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_has_longer_to_stop_than_it_takes_for_itself(name: str) -> None:
    service = _services()[name]
    assert int(service["stop_grace_period"].removesuffix("s")) > int(service["environment"]["INTENTION_GRACE_SECONDS"])


@pytest.mark.parametrize("name", SERVICES)
def test_the_health_check_of_a_service_asks_the_port_that_it_is_given(name: str) -> None:
    service = _services()[name]
    assert f"127.0.0.1:{service['environment']['INTENTION_HTTP_PORT']}/readyz" in service["healthcheck"]["test"][-1]


def test_those_who_share_a_network_listen_on_different_ports() -> None:
    services = _services()
    sharing = [each for each in services.values() if each.get("network_mode") == "service:inventory"]
    ports = {each["environment"]["INTENTION_HTTP_PORT"] for each in sharing} | {"8090"}
    assert "8090" in services["inventory"]["command"]
    assert len(ports) == len(sharing) + 1
    assert all(each["environment"]["FAN7_INVENTORY_URL"] == "http://127.0.0.1:8090" for each in sharing)


def test_published_ports_are_bound_to_loopback() -> None:
    published = [port for service in _services().values() for port in service.get("ports", [])]
    assert published
    assert all(port.startswith("127.0.0.1:") for port in published)


def test_the_image_carries_the_version_of_the_distributions() -> None:
    version = pyproject("shared")["project"]["version"]
    images = {service["image"] for service in _services().values() if "build" in service}
    assert images == {f"intention-kernel:{version}"}
