"""The checks of the browser find what they are for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.clients.visitor import visitor

if TYPE_CHECKING:
    from playwright.sync_api import Browser

URL = "http://127.0.0.1:9/page"
HEADERS = {"content-security-policy": "default-src 'none'", "content-type": "text/html"}
PAGE = """\
<!DOCTYPE html><html lang="en"><title>A page</title>
<main><h1>A page</h1>{content}</main></html>"""


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("<script>document.title = 'other'</script>", "Content Security Policy"),
        ("<img alt='A picture' src='/picture.png'>", "Content Security Policy"),
        ("<p>Nothing is wrong here.</p>", None),
    ],
)
def test_what_the_policy_of_a_page_forbids_is_a_problem(
    browser: Browser, content: str, problem: str | None
) -> None:
    with visitor(browser) as visiting:
        body = PAGE.format(content=content)
        visiting.page.route(URL, lambda route: route.fulfill(headers=HEADERS, body=body))
        visiting.open(URL)
        found, visiting.problems = visiting.problems, []
    assert [each for each in found if problem is None or problem not in each] == []
    assert bool(found) == (problem is not None)


@pytest.mark.parametrize(
    ("content", "rule"),
    [
        ("<input>", "label"),
        ("<details><summary>More</summary><input></details>", "label"),
        ("<p style='color: #ccc; background: #fff'>Pale text</p>", "color-contrast"),
        ("<p style='width: 400px'>A wide paragraph</p>", "pixels are outside of the window"),
    ],
)
def test_barriers_are_found(browser: Browser, content: str, rule: str) -> None:
    with visitor(browser) as visiting:
        visiting.page.set_content(PAGE.format(content=content))
        assert [each for each in visiting.barriers() if rule in each]


def test_a_problem_of_a_page_fails_the_test(browser: Browser) -> None:
    with pytest.raises(AssertionError, match="went wrong"), visitor(browser) as visiting:
        visiting.page.evaluate("console.error('it went wrong')")
