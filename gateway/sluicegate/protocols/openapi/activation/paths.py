"""Activation links, with which recipients download their profile once."""

from __future__ import annotations

from sluicegate.access.recipients.profile import ACTIVATION_PATH
from sluicegate.protocols.openapi.parameters import in_query
from sluicegate.protocols.openapi.responses import json_answer, refusals, request_id
from sluicegate.protocols.openapi.schemas import Schema, instant, mapping, record, text

_PAGE: Schema = {"text/html": {"schema": {"type": "string"}}}
_ERRORS = ("403", "404", "410", "429", "500", "503")


def paths() -> dict[str, Schema]:
    """Path items, by complete paths."""
    token = in_query("token", text("The secret of the link."), required=True)
    return {
        ACTIVATION_PATH: {
            "parameters": [token],
            "get": {
                "operationId": "showActivation",
                "summary": "Show an activation link without using it",
                "security": [],
                "responses": {"200": _shown(), **_refused()},
            },
            "post": {
                "operationId": "useActivation",
                "summary": "Use an activation link: issue a credential and download the profile",
                "security": [],
                "responses": {
                    "200": json_answer("The profile, `config.share`.", "Profile"),
                    **_refused(),
                },
            },
        },
        f"{ACTIVATION_PATH}/style.css": {
            "get": {
                "operationId": "activationStyle",
                "summary": "Get the style sheet of the page",
                "security": [],
                "responses": {
                    "200": {
                        "description": "A style sheet.",
                        "headers": request_id(),
                        "content": {"text/css": {"schema": {"type": "string"}}},
                    },
                    **refusals(("500",)),
                },
            }
        },
    }


def schemas() -> dict[str, Schema]:
    """The responses."""
    return {
        "Activation": record(
            "A link that was not used yet.",
            {
                "recipient": text("Name of the recipient."),
                "expirationTime": instant("When the link expires."),
            },
        ),
        "Profile": mapping({}, "A profile of version 1 or 2 (Delta Sharing protocol)."),
    }


def _shown() -> Schema:
    described = json_answer("The link was not used yet.", "Activation")
    return {**described, "content": {**described["content"], **_PAGE}}


def _refused() -> dict[str, Schema]:
    """Errors, which are pages for clients that accept them."""
    return refusals(_ERRORS)
