"""The OpenAPI document is the committed one, is one, and says what the API does."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from receipt_reconciler.web.api.application import ROUTES, api_application, document_text
from receipt_reconciler.web.api.openapi import permission_of
from receipt_reconciler.web.api.problems import CODES, PROBLEMS
from receipt_reconciler.web.serving import serving
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from schemathesis.specs.openapi.definitions import OPENAPI_31_VALIDATOR

from tests.api.bench import APPLIED, Api, Caller, api

ROOT = Path(__file__).parents[2]
DOCUMENT: dict[str, Any] = json.loads(document_text())
OPERATIONS = {
    operation["operationId"]: (method, path, operation)
    for path, methods in DOCUMENT["paths"].items()
    for method, operation in methods.items()
}


def test_the_committed_document_is_what_the_routes_generate() -> None:
    committed = (ROOT / "schemas" / "openapi.json").read_text("utf-8")
    assert committed == document_text(), "run `make schemas` and commit the result"


def test_it_is_an_openapi_document() -> None:
    assert DOCUMENT["openapi"].startswith("3.1")
    errors = [f"{list(error.instance_path)}: {error.message}" for error in OPENAPI_31_VALIDATOR.iter_errors(DOCUMENT)]
    assert errors == []
    for schema in DOCUMENT["components"]["schemas"].values():
        jsonschema.Draft202012Validator.check_schema(schema)


def test_every_operation_has_an_id_a_tag_words_its_permission_and_its_problems() -> None:
    assert set(OPERATIONS) == {route.operation_id for route in ROUTES}
    tags = {tag["name"] for tag in DOCUMENT["tags"]}
    for route in ROUTES:
        method, _, operation = OPERATIONS[str(route.operation_id)]
        assert operation["x-permission"] == permission_of(route)
        assert operation["description"]
        assert set(operation["tags"]) <= tags
        assert {"401", "403", "422", "429", "500", "503"} <= set(operation["responses"])
        headers = {one["name"] for one in operation.get("parameters", []) if one["in"] == "header"}
        assert ("Idempotency-Key" in headers) == (method == "post"), route.operation_id
    assert DOCUMENT["security"] == [{"bearer": []}]


def test_the_page_about_the_api_has_every_code_route_and_permission() -> None:
    page = (ROOT / "docs" / "api.md").read_text("utf-8")
    for code in CODES:
        assert f"| `{code}` | {PROBLEMS[code].status} |" in page, code
    for method, path, operation in OPERATIONS.values():
        needed = operation["x-permission"] or "any"
        assert f"| `{method.upper()} {path.removeprefix('/v1')}` | `{needed}` |" in page, path


def fits(name: str, document: Any) -> None:
    """Raises where an answer is not as the document says."""
    schema = {"$ref": f"#/components/schemas/{name}", "components": DOCUMENT["components"]}
    jsonschema.Draft202012Validator(schema).validate(document)


async def test_real_answers_are_as_the_document_says(fresh_database: str) -> None:
    """Those with much in them; Schemathesis sees to what every operation may answer."""
    async with api(fresh_database) as app:
        ana, ben = await app.caller(), await app.caller("ben")
        receipt = await app.uncertain()
        await ana.post(f"/v1/receipts/{receipt}/claim", {})
        await ana.post(f"/v1/receipts/{receipt}/comments", {"text": "c"})
        await ana.put("/v1/rules/all", {"effects": ["shop.charge"]})
        fits("Rules", (await ana.get("/v1/rules")).json())
        dry = await ana.post(f"/v1/receipts/{receipt}/decisions?dryRun=true", APPLIED, headers={"If-Match": '"r2"'})
        fits("DecisionMade", dry.json())
        proposed = await ana.decide(receipt, 2)
        fits("DecisionMade", proposed.json())
        fits("ItemPage", (await ana.get("/v1/receipts")).json())
        fits("ProposalList", (await ana.get("/v1/proposals")).json())
        fits("Receipt", (await ana.get(f"/v1/receipts/{receipt}")).json())
        fits("Receipt", (await ana.post(f"/v1/receipts/{receipt}/reveal", {"reason": "r"})).json())
        one = proposed.json()["proposal"]
        approval = {"decisionHash": one["decisionHash"]}
        fits("Settled", (await ben.post(f"/v1/proposals/{one['proposalId']}/approve", approval)).json())
        settled = (await ana.get(f"/v1/receipts/{receipt}")).json()
        fits("Receipt", settled)
        assert settled["decisions"]
        assert settled["proposal"]["state"] == "approved"
        fits("LinePage", (await ana.get("/v1/audit")).json())
        for path, shape in (("users", "Users"), ("tokens", "Tokens"), ("roles", "Roles"), ("me", "MeShape")):
            fits(shape, (await ana.get(f"/v1/{path}")).json())
        fits("Problem", (await ana.get("/v1/receipts/none")).json())


class Served:
    """The API on a real socket, in a loop and thread of its own: Schemathesis asks it as any client does."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()))
        self.port = 0
        self.secret = ""

    def __enter__(self) -> Served:
        self._thread.start()
        assert self._ready.wait(60)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(60)

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        async with api(self._url, stopping=self._stop) as app:
            ana = await self._filled(app)
            self.secret = ana.secret
            async with serving(api_application(app.desk), "127.0.0.1", 0, self._stop) as port:
                self.port = port
                self._ready.set()
                await self._stop.wait()

    async def _filled(self, app: Api) -> Caller:
        ana = await app.caller()
        await app.uncertain()
        return ana


@pytest.fixture(scope="module")
def served(shared_database: str) -> Iterator[Served]:
    with Served(shared_database) as running:
        yield running


SCHEMA = schemathesis.openapi.from_dict(DOCUMENT).exclude(operation_id="streamQueue")


@SCHEMA.parametrize()
@settings(
    max_examples=4,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
def test_whatever_is_sent_the_answer_is_one_of_the_documented(case: Any, served: Served) -> None:
    case.headers["Authorization"] = f"Bearer {served.secret}"
    case.call_and_validate(
        base_url=f"http://127.0.0.1:{served.port}",
        checks=[not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance],
    )
