"""The endpoint suite passes a correct endpoint and fails each broken one in the check that names its rule."""

from __future__ import annotations

import asyncio

import httpx2
import pytest

from realtime_harness.conformance.broken.endpoints import ENDPOINT_DEFECTS, KEY, EndpointDefect, ScriptedEndpoint
from realtime_harness.conformance.endpoint.checks import CHECKS
from realtime_harness.conformance.endpoint.suite import EndpointOptions, run_suite
from realtime_harness.conformance.html import to_html
from realtime_harness.conformance.report import Report, to_json
from realtime_harness.errors import ConfigError, ConnectFailed


def check(endpoint: ScriptedEndpoint, *only: str) -> Report:
    def handle(request: httpx2.Request) -> httpx2.Response:
        path = request.url.path.removeprefix("/v1/")
        key = request.headers.get("authorization", "").removeprefix("Bearer ")
        reply = endpoint.answer(request.method, path, key, request.content)
        return httpx2.Response(reply.status, content=reply.body, headers={"content-type": reply.content_type})

    async def run() -> Report:
        transport = httpx2.MockTransport(handle)
        async with httpx2.AsyncClient(base_url="http://scripted.test/v1/", transport=transport) as http:
            return await run_suite(http, KEY, EndpointOptions(only))

    return asyncio.run(run())


def test_a_correct_endpoint_passes_every_check() -> None:
    report = check(ScriptedEndpoint())

    assert [str(fault) for result in report.results for fault in result.faults] == []
    assert [result.check for result in report.results] == list(CHECKS)
    assert report.model == "scripted"
    assert next(result for result in report.results if result.check == "image").grades == {"image": "seen"}


@pytest.mark.parametrize("defect", ENDPOINT_DEFECTS.values(), ids=lambda defect: defect.name)
def test_a_broken_endpoint_fails_in_the_check_that_names_its_rule(defect: EndpointDefect) -> None:
    report = check(defect.endpoint(), defect.check)

    (result,) = report.results
    assert result.status == "failed"
    assert defect.rule in {fault.rule for fault in result.faults}, [str(fault) for fault in result.faults]


def test_there_are_more_than_twenty_defects() -> None:
    assert len(ENDPOINT_DEFECTS) >= 30
    assert all(defect.check in CHECKS and defect.says for defect in ENDPOINT_DEFECTS.values())


def test_a_report_has_no_key_in_it_and_shows_its_requests() -> None:
    report = check(ScriptedEndpoint(), "auth", "answer_vasrating")

    assert KEY not in to_json(report).decode()
    page = to_html(report)
    assert KEY not in page
    assert "POST /chat/completions" in page


def test_nobody_there_is_said() -> None:
    async def run() -> None:
        def refuse(request: httpx2.Request) -> httpx2.Response:
            raise httpx2.ConnectError("refused")

        transport = httpx2.MockTransport(refuse)
        async with httpx2.AsyncClient(base_url="http://nobody.test/v1/", transport=transport) as http:
            with pytest.raises(ConnectFailed, match=r"Nothing answers at http://nobody\.test/v1/"):
                await run_suite(http, KEY, EndpointOptions())

    asyncio.run(run())


def test_an_unknown_check_names_what_there_is() -> None:
    with pytest.raises(ConfigError, match="no check 'answers'"):
        check(ScriptedEndpoint(), "answers")
