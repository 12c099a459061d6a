"""A request for a page of the console, and the responses to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response

from sluicegate.admin.call import name_in_path, refused_input
from sluicegate.admin.conditions import Conditions
from sluicegate.admin.console.messages import Message
from sluicegate.admin.console.responses import Pages
from sluicegate.admin.console.sessions.forms import Form
from sluicegate.admin.console.sessions.service import Session
from sluicegate.admin.identity import Admin
from sluicegate.config.yaml import JsonDocument, validate

_Model = TypeVar("_Model", bound=BaseModel)
_LONGEST_PARAMETER = 1000


@dataclass(frozen=True, slots=True)
class ConsoleCall:
    """A request of an administrator who is logged in.

    Attributes:
        form: The fields of a POST, which a page of this session has sent; otherwise empty.
    """

    request: Request
    session: Session
    form: Form
    pages: Pages

    @property
    def admin(self) -> Admin:
        """The administrator."""
        return self.session.admin

    def name(self, parameter: str) -> str:
        """A name in the path."""
        return name_in_path(self.request, parameter)

    def query(self, parameter: str) -> str:
        """A query parameter without surrounding white space; empty if it is missing."""
        return self.request.query_params.get(parameter, "").strip()[:_LONGEST_PARAMETER]

    @property
    def conditions(self) -> Conditions:
        """The precondition of a form: its field `revision` is an entity tag of what the page showed."""
        revision = self.form.text("revision")
        return Conditions(match=(revision,) if revision else None)

    def parse(self, model: type[_Model], *names: str) -> _Model:
        """Fields of the form as a model. Empty fields are left out."""
        values = {name: self.form.text(name) for name in names}
        with refused_input():
            return validate(model, JsonDocument({name: each for name, each in values.items() if each}))

    def page(self, template: str, *, status: int = 200, **values: Any) -> Response:
        """A page."""
        return self.pages.page(self.request, template, values, session=self.session, status=status)

    def confirmation(
        self, heading: str, lines: Sequence[str], button: str, *, back: str, revision: str = ""
    ) -> Response:
        """A page that says what a form of this address does, with a button that sends it."""
        return self.page(
            "confirm.html",
            heading=heading,
            lines=lines,
            button=button,
            revision=revision,
            back=back,
        )

    def redirect(self, *names: str, message: str | None = None, **query: str | int | None) -> Response:
        """The response to a form: the browser loads a page, which shows a message once."""
        shown = None if message is None else Message(message)
        return self.pages.redirect(self.pages.url(*names, **query), message=shown, to=self.session)

    def url(self, *names: str, **query: str | int | None) -> str:
        """The address of a page; see `Addresses.of`."""
        return self.pages.url(*names, **query)

    @property
    def parameters(self) -> Mapping[str, str]:
        """All query parameters, for links to other pages of a listing."""
        return dict(self.request.query_params)
