"""Reads forms, and makes sure that a page of this session has sent them."""

from __future__ import annotations

import base64
import binascii
import hmac
import secrets
from collections.abc import Iterator, Mapping
from urllib.parse import parse_qsl, urlsplit

from starlette.requests import Request

from sluicegate.api.errors import InvalidRequest, PermissionDenied
from sluicegate.http.bodies import read_body
from sluicegate.signing.keyring import KeyRing

FIELD = "form_token"
_CONTENT_TYPE = "application/x-www-form-urlencoded"
_MOST_FIELDS = 1000
_TAG = 32


class Form(Mapping[str, str]):
    """The fields of a form. A field that occurs several times has its last value."""

    def __init__(self, fields: list[tuple[str, str]]) -> None:
        self._fields = fields
        self._values = dict(fields)

    def __getitem__(self, name: str) -> str:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def text(self, name: str) -> str:
        """The value of a field without surrounding white space; empty without the field."""
        return self._values.get(name, "").strip()

    def all(self, name: str) -> list[str]:
        """All values of a field, such as those of checkboxes."""
        return [value for each, value in self._fields if each == name]


class FormTokens:
    """Tokens of forms. Only pages of the same session contain a valid one."""

    def __init__(self, keys: KeyRing) -> None:
        self._keys = keys

    def issue(self, session: bytes) -> str:
        """A token for a form of a session, different for each page.

        Pages are compressed. If they contained the same token each time, its length would reveal the
        token to those who can add text to the page (BREACH).
        """
        mask = secrets.token_bytes(_TAG)
        tag = hmac.digest(self._keys.signing, session, "sha256")
        return base64.urlsafe_b64encode(mask + _xor(mask, tag)).decode()

    def check(self, token: str, session: bytes) -> None:
        """Check the token of a form."""
        try:
            raw = base64.b64decode(token, altchars=b"-_", validate=True)
        except (binascii.Error, ValueError):
            raw = b""
        presented = _xor(raw[:_TAG], raw[_TAG:])
        if len(raw) != 2 * _TAG or not self._keys.accepts(
            presented, lambda key: hmac.digest(key, session, "sha256")
        ):
            raise PermissionDenied(
                "the form was not sent by a page of this session: go back, load the page again, and "
                "repeat the change"
            )


async def read_form(request: Request, limit: int) -> Form:
    """The fields of a form."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _CONTENT_TYPE:
        raise InvalidRequest(f"the content type of forms is {_CONTENT_TYPE}")
    body = await read_body(request, limit)
    try:
        fields = parse_qsl(
            body.decode("ascii"), keep_blank_values=True, max_num_fields=_MOST_FIELDS, errors="strict"
        )
    except ValueError:
        raise InvalidRequest("the form is not encoded correctly, or has too many fields") from None
    if any("\0" in name or "\0" in value for name, value in fields):
        raise InvalidRequest("the form contains a null character")
    # Browsers send line breaks as two characters.
    return Form([(name, value.replace("\r\n", "\n")) for name, value in fields])


def check_origin(request: Request, public_url: str) -> None:
    """Check that a page of this gateway has sent a request."""
    site = request.headers.get("sec-fetch-site")
    origin = request.headers.get("origin")
    own = {f"{urlsplit(public_url).scheme}://{urlsplit(public_url).netloc}", _served(request)}
    if site is not None and site not in ("same-origin", "none"):
        raise PermissionDenied("another site has sent this form")
    if origin is not None and origin not in own:
        raise PermissionDenied("another site has sent this form")
    if site is None and origin is None:
        raise PermissionDenied(
            "the browser does not say which site has sent this form: it must send the header Origin or "
            "Sec-Fetch-Site"
        )


def _served(request: Request) -> str:
    return f"{request.url.scheme}://{request.headers.get('host', '')}"


def _xor(left: bytes, right: bytes) -> bytes:
    return bytes(one ^ other for one, other in zip(left, right, strict=False))
