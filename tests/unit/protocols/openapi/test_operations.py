"""Operations and path items of the OpenAPI document."""

from __future__ import annotations

from sluicegate.protocols.openapi.operations import ALWAYS, NAMED, SENT, item, operation

OK = {"description": "Done."}


def test_an_operation_with_a_body_refers_to_its_schema() -> None:
    described = operation("send", "Send", OK, errors=SENT, sends="Query")
    content = described["requestBody"]["content"]["application/json"]
    assert content["schema"] == {"$ref": "#/components/schemas/Query"}
    assert described["responses"].keys() == {"200", *SENT}


def test_an_operation_without_a_name_in_its_path_is_always_found() -> None:
    assert "404" not in operation("list", "List", OK, errors=ALWAYS)["responses"]
    assert {"404"} == set(NAMED) - set(ALWAYS)


def test_a_path_item_describes_the_names_in_its_path() -> None:
    described = item(("share", "volume"), get={})
    assert [each["name"] for each in described["parameters"]] == ["share", "volume"]
    assert described["get"] == {}
