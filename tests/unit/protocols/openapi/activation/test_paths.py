"""Activation links are described as they respond."""

from __future__ import annotations

from support.clients.described import PATHS, fits

from sluicegate.access.recipients.profile import ACTIVATION_PATH


def test_the_token_is_a_parameter_of_the_query() -> None:
    (token,) = PATHS[ACTIVATION_PATH]["parameters"]
    assert (token["name"], token["in"], token["required"]) == ("token", "query", True)


def test_a_link_is_described_as_json_and_as_a_page() -> None:
    shown = PATHS[ACTIVATION_PATH]["get"]["responses"]["200"]
    assert shown["content"].keys() == {"application/json", "text/html"}
    assert fits("Activation", {"recipient": "acme", "expirationTime": "2026-01-01T00:00:00.000Z"})
    assert not fits("Activation", {"recipient": "acme"})
