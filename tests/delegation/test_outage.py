"""The database crashes and is away for a while: nothing is lost, and all goes on by itself."""

from __future__ import annotations

import asyncio

import pytest
from support.servers.delegation import SECRET
from support.servers.delegation_outage import EACH, RUNNING, VENDED, WAITING, Outage, watch_outage
from support.servers.postgres import running_postgres

pytestmark = pytest.mark.slow  # half a minute, and little of the processor

CALLED = {
    *(f"{name}-{number}" for name in RUNNING for number in range(EACH)),
    *(f"waiting-{number}" for number in range(WAITING)),
}
# The queue and the audit log are in the same database; a request that comes early reaches the first.
_AWAY = (
    "the gateway's database does not respond; try again later",
    "the audit log can't be written; try again later",
)
RAN = ["SUBMITTED", "ACQUIRING_RESOURCES", "RUNNING", "SUCCESS"]


@pytest.fixture(scope="module")
def outage(tmp_path_factory: pytest.TempPathFactory) -> Outage:
    with running_postgres() as server:
        return asyncio.run(watch_outage(tmp_path_factory.mktemp("outage"), server))


def test_the_outage_comes_when_tasks_are_at_each_kind_of_work(outage: Outage) -> None:
    for table in (f"{name}-{number}" for name in RUNNING for number in range(EACH)):
        acquiring = table.startswith("acquiring")
        record = outage.before[table]
        assert record["status"] == ("ACQUIRING_RESOURCES" if acquiring else "RUNNING"), table
        assert record["stages"] == [], table
    assert len({record["leased_by"] for record in outage.before.values()} - {None}) == 2


def test_every_accepted_task_ends_exactly_once(outage: Outage) -> None:
    assert outage.records.keys() == CALLED | outage.refused.keys()
    for table, history in outage.histories.items():
        assert history == RAN, table
        stages = ["content"] if table.startswith("at-a-stage") else []
        assert outage.notes(table) == ["attempt 1", *stages, "done"]
        assert outage.records[table]["stages"] == stages


def test_leases_and_what_was_begun_stay_with_their_workers(outage: Outage) -> None:
    for table, before in outage.before.items():
        after = outage.records[table]
        assert after["attempt_count"] == 1, table
        assert before["leased_by"] in (None, after["leased_by"]), table


def test_callers_who_waited_get_their_answers(outage: Outage) -> None:
    assert outage.answers.keys() == CALLED
    for table, answer in outage.answers.items():
        assert answer.status_code == 200, table
        assert answer.json() == {
            "delegation_task_id": outage.records[table]["task_id"],
            "status": "COMPLETED_SUCCESS",
            "message": "the table was purged",
            "execution_result": {"files_deleted": 7, "bytes_deleted": 70},
        }


def test_the_service_says_503_meanwhile_and_recovers(outage: Outage) -> None:
    first, *meanwhile, last = outage.ready
    assert (first, set(meanwhile), last) == (200, {503}, 200)
    assert set(outage.live) == {200}
    for answer in outage.refused.values():
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
        body = answer.json()
        assert body.pop("message") in _AWAY
        assert body == {"error_code": "TEMPORARILY_UNAVAILABLE"}


def test_logs_tell_of_it_without_tracebacks_and_secrets(outage: Outage) -> None:
    assert "waits for the database" in outage.logs
    for unwanted in ("Traceback", SECRET, VENDED, "Bearer ey"):
        assert unwanted not in outage.logs
    assert outage.exit_codes == [0, 0, 0]
