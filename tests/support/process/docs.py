"""Runs the samples of a page as a reader would: from its top to its end, in one folder.

| block | what happens |
|---|---|
| `yaml` beginning `# gateway.yaml` | written, then `sluicegate config check` |
| `yaml` beginning `# shares.yaml` | written, then `sluicegate apply --dry-run` |
| `yaml` beginning `# delta-sharing-server.yaml` | written, then `sluicegate import` elsewhere |
| the same with more words in that line | a variant: checked, but not used by what follows |
| `console` | each `$ command` is run, and must print the lines below it (`…` stands for any text) |
| `python` | run; one beginning `# name.py` is saved, and run by pytest where it is a test |
| `json`, `toml` | parsed |
| `text` | after a comment `<!-- output -->` it is what the block before printed; else nothing to run |

Any other block needs `<!-- not run: reason -->` above it.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import orjson
from support.gateways.gateway import running_gateway
from support.process.ending import LEAVE
from support.process.forked import completed
from support.process.installs import install

from sluicegate_testing.servers.ports import free_port

ROOT = Path(__file__).resolve().parents[3]
PAGES = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md")))

_FENCE = re.compile(
    r"^(?P<indent> *)```(?P<language>[\w-]*)\n(?P<text>.*?)^(?P=indent)```$", re.MULTILINE | re.DOTALL
)
_COMMENT = re.compile(r"<!-- (?P<text>[^>]*) -->\n\s*\Z")
_TITLE = re.compile(r"# (?P<file>[\w.-]+)(?P<more>.*)\n")
_REFERENCE = re.compile(r"\{(?P<kind>env|file): (?P<target>[^}]+)\}")
_CHECKS = {
    "gateway.yaml": ("config", "check"),
    "shares.yaml": ("apply", "--dry-run", "--offline"),
    "delta-sharing-server.yaml": ("import", "--output", "checked", "--force"),
}
_SECONDS = 120
_SHELL = re.compile(r"[|&;<>()$`*?~{}]")  # what only a shell understands
_NOT_RUN = "not run: "
_RUN_FILE = f"import runpy, sys; runpy.run_path(sys.argv[1]){LEAVE}"
_ENVIRONMENT = {
    "DATABASE_URL": "postgresql://sluicegate@db.internal/sluicegate",
    "SIGNING_KEY": "0123456789abcdef" * 4,
}


@dataclass(frozen=True)
class Block:
    """A fenced block, the section that it stands in, and the comment right above it."""

    page: Path
    line: int
    section: str
    language: str
    text: str
    comment: str

    @property
    def place(self) -> str:
        """`page:line`."""
        return f"{self.page.relative_to(ROOT)}:{self.line}"

    @property
    def is_excused(self) -> bool:
        """A comment says why it is not run."""
        return self.comment.startswith(_NOT_RUN) and len(self.comment) > len(_NOT_RUN) + 10

    @property
    def title(self) -> re.Match[str] | None:
        """The file's name in the first line, and what follows it."""
        return _TITLE.match(self.text)


def blocks(page: Path) -> Iterator[Block]:
    """The fenced blocks of a page, from top to end."""
    source = page.read_text(encoding="utf-8")
    for found in _FENCE.finditer(source):
        before = source[: found.start()]
        comment = _COMMENT.search(before)
        yield Block(
            page,
            before.count("\n") + 1,
            before.rpartition("\n## ")[2].partition("\n")[0],
            found["language"],
            re.sub(rf"^{found['indent']}", "", found["text"], flags=re.MULTILINE),
            comment["text"] if comment else "",
        )


class Reader:
    """Somebody who follows a page in a folder of their own.

    Where pages say `/srv/tables`, `/run/secrets` or port 8080, places of this reader are meant; a clone
    of the repository lies in the folder as `sluicegate`.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._port = free_port()
        self._places = {
            "/srv/tables": str(folder / "tables"),
            "/run/secrets": str(folder / "secrets"),
            ":8080": f":{self._port}",
        }
        self._environment = {
            **os.environ,
            **_ENVIRONMENT,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        }
        self._running = ExitStack()
        self._printed = ""
        self._runs: Mapping[str, Callable[[Block, str], object]] = {
            "yaml": self._yaml,
            "console": self._console,
            "python": self._python,
            "json": lambda _, text: orjson.loads(text),
            "toml": lambda _, text: tomllib.loads(text),
            "text": self._text,
        }
        (folder / "tables").mkdir()
        (folder / "sluicegate").symlink_to(ROOT)

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *_: object) -> None:
        self._running.close()

    def follow(self, block: Block) -> None:
        """Do what a block says."""
        if block.is_excused:
            return
        run = self._runs.get(block.language)
        assert run, f"{block.place}: a block of '{block.language}' needs <!-- not run: reason -->"
        run(block, self._here(block.text))

    def _here(self, text: str) -> str:
        for place, mine in self._places.items():
            text = text.replace(place, mine)
        return text

    def _yaml(self, block: Block, text: str) -> None:
        title = block.title
        assert title, f"{block.place}: begin with '# gateway.yaml' or '# shares.yaml'"
        name = f"variant-{block.line}.yaml" if title["more"].strip() else title["file"]
        self._provide_references(text)
        (self.folder / name).write_text(text, encoding="utf-8")
        if not (self.folder / "gateway.yaml").exists():
            (self.folder / "gateway.yaml").write_text("catalogs: {raw: {type: paths}}")
        self._sh(block, shlex.join(["sluicegate", *_CHECKS[title["file"]], name]))

    def _provide_references(self, text: str) -> None:
        for found in _REFERENCE.finditer(text):
            if found["kind"] == "env":
                self._environment.setdefault(found["target"], "a-value-for-this-sample")
            else:
                path = self.folder / found["target"]
                path.parent.mkdir(exist_ok=True)
                path.write_text("0123456789abcdef" * 4)
                path.chmod(0o600)

    def _console(self, block: Block, text: str) -> None:
        for step in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
            command, _, expected = step.partition("\n")
            while command.endswith("\\"):
                line, _, expected = expected.partition("\n")
                command = command[:-1] + line.strip()
            self._command(block, command)
            if expected.strip():
                _compare(block, expected, self._printed)

    def _command(self, block: Block, command: str) -> None:
        self._printed = ""
        if command.startswith("pip install "):
            installation, _, command = command.partition(" && ")
            for path in install(shlex.split(installation)[2:], self.folder):
                self._environment["PYTHONPATH"] = str(path)
        if command == "sluicegate serve":
            self._serve()
        elif command:
            self._sh(block, command.removeprefix("uv run "))

    def _serve(self) -> None:
        self._running.close()
        gateway = running_gateway(self.folder, port=self._port, env=self._environment)
        self._running.enter_context(gateway)

    def _python(self, block: Block, text: str) -> None:
        name = block.title["file"] if block.title else "sample.py"
        (self.folder / name).write_text(text, encoding="utf-8")
        if name.startswith("test_"):
            self._sh(block, f"python -m pytest -q -p no:cacheprovider {name}")
        else:
            self._sh(block, shlex.join(["python", "-c", _RUN_FILE, name]))

    def _text(self, block: Block, text: str) -> None:
        if block.comment == "output":
            _compare(block, text, self._printed)

    def _sh(self, block: Block, command: str) -> None:
        done = self._completed(command)
        self._printed = done.stdout
        expected = (0, 2) if "--dry-run" in command else (0,)  # 2: there are differences
        assert done.returncode in expected, f"{block.place}: {command}\n{done.stdout}"

    def _completed(self, command: str) -> subprocess.CompletedProcess[str]:
        words = shlex.split(command)
        if words[0] == "sluicegate" and not _SHELL.search(command):
            return completed(
                self.folder, *words[1:], seconds=_SECONDS, env=self._environment, joined=True
            )
        return subprocess.run(
            ["/bin/bash", "-c", command],
            cwd=self.folder,
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=_SECONDS,
            check=False,
        )


def _compare(block: Block, expected: str, printed: str) -> None:
    pattern = ".*".join(re.escape(part) for part in expected.strip().split("…"))
    found = re.fullmatch(pattern, printed.strip(), re.DOTALL)
    assert found, f"{block.place}: expected\n{expected}\nbut it printed\n{printed}"
