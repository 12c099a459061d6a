"""The first versions of tasks."""

from support.servers.delegation import KEY, payload

from sluicegate.delegation.queue.encryption import PayloadCipher
from sluicegate.delegation.queue.new_tasks import new_task
from sluicegate.delegation.queue.statements import After
from sluicegate.signing.keyring import KeyRing

CIPHER = PayloadCipher(KeyRing((KEY,)))


def test_a_new_task_is_due_at_once() -> None:
    values = new_task(payload("T1", priority=2), "polaris", CIPHER)
    assert (values["status"], values["version"], values["attempt_count"]) == ("SUBMITTED", 1, 0)
    assert (values["due_at"], values["received_at"]) == (After(), After())
    assert (values["priority"], values["submitted_by"], values["realm"]) == (2, "polaris", "prod")
    assert values["sealed"] is None


def test_credentials_are_encrypted() -> None:
    values = new_task(payload("T1", config={"s3.secret-access-key": "hidden"}), "polaris", CIPHER)
    assert b"hidden" not in values["sealed"]
    assert "hidden" not in str(values["payload"])
    assert CIPHER.decrypt(values["sealed"])["config"] == {"s3.secret-access-key": "hidden"}


def test_each_task_has_its_own_id() -> None:
    first, second = (new_task(payload(), "polaris", CIPHER)["id"] for _ in range(2))
    assert first != second
