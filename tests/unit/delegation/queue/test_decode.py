import pytest
from support.tasks.records import PAYLOAD, task_record

from sluicegate.api.delegation.tasks import TableIdentity, TaskFailed, TaskProgress
from sluicegate.delegation.queue.encryption import PayloadCipher, open_task
from sluicegate.signing.keyring import KeyRing

CIPHER = PayloadCipher(KeyRing((b"a key",)))


def test_a_task_names_its_table_and_its_attempt() -> None:
    task = open_task(task_record(attempt_count=3, correlation_id="c1", stages=("listed",)), CIPHER)
    assert task.table == TableIdentity("e1", "lake", ("sales", "emea"), "orders")
    assert (task.id, task.operation, task.realm) == ("t1", "TABLE_PURGE", "default")
    assert (task.attempt, task.correlation_id, task.stages) == (3, "c1", ("listed",))


def test_a_task_without_optional_parts_has_defaults() -> None:
    task = open_task(task_record(), CIPHER)
    assert (task.progress, task.properties, task.metadata_location) == (None, {}, None)
    assert (task.metadata, task.config, task.further) == (None, None, {})


def test_the_progress_of_earlier_attempts_is_kept() -> None:
    stored = {"stage": "deleting", "files_done": 4, "files_total": 9, "bytes_done": 77}
    assert open_task(task_record(progress=stored), CIPHER).progress == TaskProgress(
        "deleting", 4, 9, 77
    )


def test_parameters_of_the_operation_are_passed_on() -> None:
    parameters = PAYLOAD["operation_parameters"] | {
        "properties": {"dry-run": "true"},
        "metadata_location": "s3://lake/t/metadata/v1.json",
    }
    task = open_task(task_record(payload={"operation_parameters": parameters}), CIPHER)
    assert task.properties == {"dry-run": "true"}
    assert task.metadata_location == "s3://lake/t/metadata/v1.json"


def test_encrypted_parts_are_decrypted_into_their_fields() -> None:
    hidden = {"metadata": {"uuid": "u"}, "config": {"token": "t"}, "storage-credentials": []}
    task = open_task(task_record(sealed=CIPHER.encrypt(hidden)), CIPHER)
    assert task.metadata == {"uuid": "u"}
    assert task.config == {"token": "t"}
    assert task.further == {"storage-credentials": []}


def test_secrets_are_not_in_the_representation() -> None:
    hidden = {"config": {"token": "hunter2"}, "storage-credentials": ["hunter3"]}
    shown = repr(open_task(task_record(sealed=CIPHER.encrypt(hidden)), CIPHER))
    assert "hunter" not in shown


def test_a_task_that_another_key_encrypted_fails() -> None:
    sealed = PayloadCipher(KeyRing((b"another key",))).encrypt({"config": {}})
    with pytest.raises(TaskFailed):
        open_task(task_record(sealed=sealed), CIPHER)
