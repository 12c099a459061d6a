"""Writes the pages that are made from the code: `python docs/generate.py`, or `--check` them.

`reference/configuration.md` comes from the models of the configuration, `reference/commands.md` from
the help texts and options of the commands, `reference/openapi.json` is the document that the gateway
serves, `plugins/hooks.md` comes from the hooks and base classes that plugins implement,
`plugins/values.md` from the other names of `sluicegate.api`, `plugins/kit.md` from the conformance kit,
`quickstart/recipients` from the snippets of the activation page, and `architecture.svg` is drawn from
the imports of the core.
"""

from __future__ import annotations

import sys
from pathlib import Path

DOCS = Path(__file__).resolve().parent
sys.path.insert(0, str(DOCS))

from generators.architecture import architecture_picture  # noqa: E402 - found next to this script
from generators.commands import commands_page  # noqa: E402
from generators.configuration import configuration_page  # noqa: E402
from generators.hooks import hooks_page  # noqa: E402
from generators.kit import kit_page  # noqa: E402
from generators.openapi import openapi_page  # noqa: E402
from generators.snippets import snippet_pages  # noqa: E402
from generators.values import values_page  # noqa: E402

PAGES = {
    "architecture.svg": architecture_picture,
    "reference/commands.md": commands_page,
    "reference/configuration.md": configuration_page,
    "reference/openapi.json": openapi_page,
    "plugins/hooks.md": hooks_page,
    "plugins/kit.md": kit_page,
    "plugins/values.md": values_page,
    **snippet_pages(),
}


def main(arguments: list[str]) -> int:
    """Write the pages, or with `--check` tell which are not current."""
    outdated = []
    for name, make in PAGES.items():
        path, text = DOCS / name, make()
        if arguments == ["--check"]:
            if not path.exists() or path.read_text(encoding="utf-8") != text:
                outdated.append(name)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    sys.stderr.writelines(f"docs/{name} is not current: run docs/generate.py\n" for name in outdated)
    return 1 if outdated else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
