"""The reference of commands, from their help texts and options."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from importlib.metadata import entry_points

import click

from sluicegate.cli.discovery import COMMANDS, MODULES
from sluicegate.cli.main import build_cli

ROOT = "sluicegate"
# Described once for all commands.
COMMON = ("--config", "--server", "--token-file", "--help")
_EXAMPLES = re.compile("^\b\nExamples?:\n((?:  .+\n?)+)", re.MULTILINE)  # \b: click wraps no lines
_DEFAULT = re.compile(r"\s*\[default: (?P<default>[^]]+)\]")


class MissingExamples(Exception):
    """The help of a command has no examples. A test of helps checks that commands accept them."""


def commands_page() -> str:
    """The page's Markdown."""
    group = build_cli()
    context = click.Context(group, info_name=ROOT, **group.context_settings)
    for name in MODULES:
        group.get_command(context, name)
    for entry in entry_points(group=COMMANDS):
        entry.load().sluicegate_register_commands(group)
    return page_of(group)


def page_of(group: click.Group) -> str:
    """The Markdown of a page with all commands of a group."""
    context = click.Context(group, info_name=ROOT, **group.context_settings)
    lines = [
        *("# Reference of commands", "", "<!-- Made by docs/generate.py: do not edit. -->", ""),
        "What `sluicegate COMMAND --help` shows. [Commands](../operators/commands.md) describes what",
        "they have in common: output for programs, exit codes, and managing a gateway elsewhere.",
        *("", "## Common options", ""),
        "All commands accept `--config` and `--help`. Those that can manage a gateway over its Admin",
        "API also accept `--server` and `--token-file`. For these, the page says so.",
        *("", *_options(context, [each for each in _shown(context) if _is_common(each)])),
    ]
    for name, command in sorted(group.commands.items()):
        lines += _command(click.Context(command, info_name=name, parent=context))
    return "\n".join(lines).rstrip() + "\n"


def _command(context: click.Context) -> Iterator[str]:
    command = context.command
    help_text = inspect.cleandoc(command.help or "") + "\n"
    examples = _examples(help_text, context)
    level = "##" if context.parent is not None and context.parent.parent is None else "###"
    yield from ("", f"{level} `{context.command_path}`", "")
    for paragraph in _EXAMPLES.sub("", help_text).replace("\b\n", "").split("\n\n"):
        if paragraph.strip():
            yield from (_escaped(" ".join(paragraph.split())), "")
    yield from ("```text", *_usage(context), "```")
    yield from ("", "Examples:" if len(examples) > 1 else "Example:", "", "```text", *examples, "```")
    own = [each for each in _shown(context) if not _is_common(each)]
    if own:
        yield from ("", *_options(context, own))
    if any("--server" in each.opts for each in _shown(context)):
        yield from ("", "Accepts `--server`.")
    if isinstance(command, click.Group):
        for name, below in sorted(command.commands.items()):
            if not below.hidden:
                yield from _command(click.Context(below, info_name=name, parent=context))


def _usage(context: click.Context) -> list[str]:
    return [f"{context.command_path} {' '.join(context.command.collect_usage_pieces(context))}"]


def _examples(help_text: str, context: click.Context) -> list[str]:
    found = _EXAMPLES.search(help_text)
    lines = [line.strip() for line in found[1].splitlines()] if found else []
    if not lines:
        raise MissingExamples(f"{context.command_path}: the help has no examples")
    return lines


def _shown(context: click.Context) -> list[click.Option]:
    parameters = context.command.get_params(context)
    return [each for each in parameters if isinstance(each, click.Option) and not each.hidden]


def _is_common(option: click.Option) -> bool:
    return any(name in option.opts for name in COMMON)


def _options(context: click.Context, options: list[click.Option]) -> Iterator[str]:
    yield from ("| option | value | default | |", "|---|---|---|---|")
    for option in options:
        names = ", ".join(f"`{name}`" for name in [*option.opts, *option.secondary_opts])
        text, default = _described(context, option)
        yield f"| {names} | {_value(context, option)} | {default} | {_escaped(text)} |"


def _value(context: click.Context, option: click.Option) -> str:
    if isinstance(option.type, click.Choice):
        *others, last = (f"`{choice}`" for choice in option.type.choices)
        return f"{', '.join(others)} or {last}" if others else last
    if isinstance(option.type, click.IntRange):
        bounds = (("from", option.type.min), ("to", option.type.max))
        return " ".join(["number", *(f"{word} {bound}" for word, bound in bounds if bound is not None)])
    if option.is_flag:
        return ""
    return _escaped(option.make_metavar(context))


def _described(context: click.Context, option: click.Option) -> tuple[str, str]:
    """The description of an option, and its default."""
    text = " ".join((option.help or "").split())
    extra = option.get_help_extra(context)
    written = _DEFAULT.search(text)
    default = written["default"] if written else extra.get("default", "")
    text = _DEFAULT.sub("", text)
    if option.multiple and "repeated" not in text:
        text += " Can be repeated."
    if "required" in extra:
        text += " Required."
    return text, _escaped(" or ".join([default, *(f"${each}" for each in extra.get("envvars", ()))]))


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")
