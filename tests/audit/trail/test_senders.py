"""What the audit log says about who sent a request: anybody, recipients, administrators."""

from __future__ import annotations

from typing import Any

import pytest
from support.gateways.audited import AuditedSite

from sluicegate.admin.identity import Role
from sluicegate.audit.records import AuditRecord

pytestmark = pytest.mark.asyncio(loop_scope="module")

_SHARES = "/delta-sharing/shares"
_QUERY = f"{_SHARES}/sales/schemas/eu/tables/orders/query"


def _facts(record: AuditRecord, *names: str) -> dict[str, Any]:
    return {name: getattr(record, name) for name in names}


@pytest.mark.parametrize(
    ("method", "target", "status", "action", "rule"),
    [
        ("GET", _SHARES, 401, "listShares", "authentication"),
        ("HEAD", _SHARES, 401, "listShares", "authentication"),
        ("POST", _QUERY, 401, "queryTable", "authentication"),
        ("DELETE", _SHARES, 405, f"DELETE {_SHARES}", "request"),
        ("INVENTED", _SHARES, 405, f"OTHER {_SHARES}", "request"),
        ("GET", "/delta-sharing/token-in-a-path", 404, "unknown", "name"),
        ("GET", "/iceberg/v1/nothing", 401, "icebergUnknown", "authentication"),
        ("GET", "/iceberg-files/SG/x", 403, "readObject", "signature"),
        ("PUT", "/iceberg-files/SG/x", 403, "refuseUnsignedPut", "request"),
        ("GET", "/admin/v1/shares", 401, "listShares", "authentication"),
        ("GET", "/content/vending-1/orders/x?X-Amz-Expires=1", 403, "readFile", "link"),
        ("GET", "/activate?token=slga_0", 404, "showActivation", "activation link"),
        ("POST", "/oauth/token", 400, "token", "request"),
    ],
)
async def test_requests_of_anybody_are_recorded(
    site: AuditedSite, method: str, target: str, status: int, action: str, rule: str
) -> None:
    answer = await site.send(method, target)
    assert answer.status == status
    [record] = site.log.records
    assert _facts(record, "actor_kind", "actor", "action", "outcome", "status", "rule") == {
        "actor_kind": "anonymous",
        "actor": None,
        "action": action,
        "outcome": "refused",
        "status": status,
        "rule": rule,
    }
    assert "token-in-a-path" not in repr(record)


@pytest.mark.parametrize(
    "path",
    [
        "/livez",
        "/readyz",
        "/healthz",
        "/delta-sharing/openapi.json",
        "/admin/v1/openapi.json",
        "/activate/style.css",
    ],
)
async def test_what_reveals_nothing_is_not_recorded(site: AuditedSite, path: str) -> None:
    await site.send("GET", path)
    assert site.log.records == []


async def test_an_expired_or_revoked_credential_names_its_recipient(site: AuditedSite) -> None:
    old = site.credentials["acme"]
    await site.recipients.revoke("acme")
    await site.recipient("acme", "GET", _SHARES)
    [record] = site.log.records
    assert _facts(record, "actor_kind", "actor", "method", "outcome", "rule") == {
        "actor_kind": "recipient",
        "actor": "acme",
        "method": f"bearer {old.id}",
        "outcome": "refused",
        "rule": "authentication",
    }


async def test_access_tokens_name_their_client_when_issued_and_used(site: AuditedSite) -> None:
    client = await site.new_token("acme", kind="oauth")
    fields = {"grant_type": "client_credentials", "client_id": client.id}
    issued = await site.form("/oauth/token", **fields, client_secret=client.secret)
    await site.send("GET", _SHARES, token=issued.json["access_token"])
    wrong = await site.form("/iceberg/v1/oauth/tokens", **fields, client_secret="wrong")
    assert (issued.status, wrong.status) == (200, 401)
    granted, used, refused = site.log.records
    assert [granted.action, used.action, refused.action] == ["token", "listShares", "icebergToken"]
    assert granted.issued["kind"] == "access token"
    assert {granted.method, used.method} == {f"oauth {client.id}"}
    assert {granted.actor, used.actor} == {"acme"}
    assert _facts(refused, "actor_kind", "actor", "method", "rule") == {
        "actor_kind": "anonymous",
        "actor": client.id,
        "method": "oauth",
        "rule": "authentication",
    }


async def test_a_secret_in_the_field_of_the_client_id_is_not_recorded(site: AuditedSite) -> None:
    fields = {"grant_type": "client_credentials", "client_id": "slgs_secret", "client_secret": "x"}
    await site.form("/oauth/token", **fields)
    [record] = site.log.records
    assert record.actor is None


async def test_an_activation_link_is_recorded_before_and_after_its_use(site: AuditedSite) -> None:
    link = await site.links.rotate("acme")
    for method in ("GET", "POST", "POST"):
        await site.send(method, f"/activate?token={link.token}")
    shown, announced, used, again = site.log.records
    assert [each.status for each in site.log.records] == [200, None, 200, 410]
    assert {each.actor for each in site.log.records} == {"acme"}
    assert {each.rule for each in site.log.records} == {"activation link"}
    assert (shown.action, used.action) == ("showActivation", "useActivation")
    assert announced.changes == ()
    assert announced.request_id == used.request_id
    assert used.issued["kind"] == "profile"
    assert used.changes == (f"+ credential {used.issued['credential']} of recipient acme",)
    assert again.outcome == "refused"
    assert link.token not in repr(site.log.records)


async def test_a_file_link_is_recorded_with_its_file(site: AuditedSite) -> None:
    query = await site.recipient("acme", "POST", _QUERY, {})
    url = query.lines[2]["file"]["url"].removeprefix("https://share.example")
    site.log.records.clear()
    answer = await site.send("GET", url)
    assert answer.status == 200
    [record] = site.log.records
    path = url.partition("?")[0].removeprefix("/content/")
    assert _facts(record, "actor_kind", "method", "action", "resource", "rule") == {
        "actor_kind": "anonymous",
        "method": "link",
        "action": "readFile",
        "resource": path,
        "rule": "link",
    }


ADMIN: list[tuple[str, str, Any, int, str, str | None, tuple[str, ...]]] = [
    ("PUT", "/shares/more", {}, 201, "putShare", "more", ("+ share",)),
    ("POST", "/recipients/acme/tokens", {}, 201, "issueCredential", "acme", ("+ act", "~ older")),
    ("POST", "/recipients/acme/revoke", None, 200, "revokeRecipient", "acme", ("~ recipient",)),
    ("POST", "/recipients/acme/restore", None, 204, "restoreRecipient", "acme", ("~ recipient",)),
    ("DELETE", "/recipients/acme", None, 204, "deleteRecipient", "acme", ("- recipient", "- grant")),
    (
        "POST",
        "/admins",
        {"name": "ada", "role": "viewer", "shares": ["sales"]},
        201,
        "createAdmin",
        "ada",
        ("+ administrator ada: viewer for sales",),
    ),
    (
        "DELETE",
        "/shares/secret",
        None,
        204,
        "deleteShare",
        "secret",
        ("- share", "- schema", "- table"),
    ),
    ("POST", "/apply", {}, 200, "applySharesFile", None, ()),
]


@pytest.mark.parametrize(("method", "path", "body", "status", "action", "resource", "changes"), ADMIN)
async def test_an_administrator_is_recorded_before_and_after_a_change(
    site: AuditedSite,
    method: str,
    path: str,
    body: Any,
    status: int,
    action: str,
    resource: str | None,
    changes: tuple[str, ...],
) -> None:
    token = await site.admin("owner")
    answer = await site.send(method, f"/admin/v1{path}", body, token=token)
    assert answer.status == status, answer.body
    announced, made = site.log.records
    common = {"actor_kind": "admin", "actor": "owner", "action": action, "rule": "role owner"}
    assert _facts(announced, *common, "outcome", "status") == {
        **common,
        "outcome": "allowed",
        "status": None,
    }
    assert _facts(made, *common, "resource", "status") == {
        **common,
        "resource": resource,
        "status": status,
    }
    lines = [each for each in made.changes if not each.startswith(" ")]
    assert len(lines) == len(changes)
    assert all(line.startswith(start) for line, start in zip(lines, changes, strict=True)), lines
    secrets = [value for value in answer.body.decode().split('"') if "slg" in value]
    assert not any(secret in repr(site.log.records) for secret in secrets)


@pytest.mark.parametrize(
    ("role", "shares", "method", "path", "rule"),
    [
        ("viewer", (), "DELETE", "/shares/sales", "role"),
        ("admin", ("secret",), "DELETE", "/shares/sales", "role"),
    ],
)
async def test_a_role_that_does_not_suffice_is_the_rule(
    site: AuditedSite, role: Role, shares: tuple[str, ...], method: str, path: str, rule: str
) -> None:
    token = await site.admin(role, *shares)
    answer = await site.send(method, f"/admin/v1{path}", token=token)
    assert answer.status == 403
    record = site.log.records[-1]
    assert _facts(record, "actor", "outcome", "rule", "share", "changes") == {
        "actor": role,
        "outcome": "refused",
        "rule": rule,
        "share": "sales",
        "changes": (),
    }
