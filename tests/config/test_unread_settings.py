"""Each setting that is accepted is also read: no key of `gateway.yaml` is without effect."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
_SOURCES = ("gateway/sluicegate", "plugins/*/src", "catalog_adapters/*/src")
# The classes that all models of settings inherit.
_BASES = {"SettingsModel", "PluginConfig"}
# Models that are read by the names of their fields, and the modules that have these names.
BY_NAME = {
    "LimitsEntry": "access/limits/models.py",  # limits of the shares file
    "StorageConfig": "plugins/instances.py",  # `config` of an instance
    "TelemetrySettings": "telemetry/setup.py",  # arguments of `configure`
}
# Values from which modules read a model without its name.
HANDED_ON = {"Settings": "GatewayParts"}
# Models with more than one place in the configuration. All fields must have an effect at each of them.
AT_SEVERAL_PLACES = {"SourceConfig"}  # read through one property, `CopyConfig.tables`


@dataclass(frozen=True)
class Module:
    """A module of the sources."""

    reads: frozenset[str]
    names: frozenset[str]
    models: dict[str, tuple[list[str], dict[str, str]]]

    @classmethod
    def of(cls, source: str) -> Module:
        tree = ast.parse(source)
        names = set(re.findall(r"\w+", source))
        reads = {node.attr for node in _outside_of_validators(tree) if isinstance(node, ast.Attribute)}
        models = {node.name: _model(node) for node in tree.body if isinstance(node, ast.ClassDef)}
        return cls(frozenset(reads), frozenset(names), models)


def _outside_of_validators(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        decorators = getattr(child, "decorator_list", ())
        if not any("validator" in ast.unparse(each) for each in decorators):
            yield child
            yield from _outside_of_validators(child)


def _model(node: ast.ClassDef) -> tuple[list[str], dict[str, str]]:
    fields = {
        each.target.id: ast.unparse(each.annotation)
        for each in node.body
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)
    }
    public = {name: kind for name, kind in fields.items() if name[0] != "_" and "ClassVar" not in kind}
    return [ast.unparse(base) for base in node.bases], public


class Sources:
    """Modules, by their paths, and the models of settings that they declare."""

    def __init__(self, modules: dict[str, Module]) -> None:
        self.modules = modules
        classes = [(name, *found) for each in modules.values() for name, found in each.models.items()]
        self.parents: dict[str, set[str]] = {base: set() for base in _BASES}
        self.fields: dict[str, dict[str, str]] = {}
        remaining = classes
        while added := [each for each in remaining if self.parents.keys() & each[1]]:
            for name, bases, fields in added:
                self.parents[name] = {above for base in bases for above in (base, *self._above(base))}
                self.fields.setdefault(name, {}).update(fields)
            remaining = [each for each in remaining if each not in added]

    def _above(self, model: str) -> set[str]:
        return self.parents.get(model, set())

    def places(self, model: str) -> list[str]:
        """The fields whose values are of the model."""
        return [
            f"{owner}.{field}"
            for owner, fields in self.fields.items()
            for field, annotation in fields.items()
            if re.search(rf"\b{model}\b", annotation)
        ]

    def unread(self, by_name: dict[str, str]) -> list[str]:
        """Fields that no module reads which mentions their model, or a field of this model."""
        found = []
        for model, fields in self.fields.items():
            related = {model, HANDED_ON.get(model, model), *self.parents[model]} - _BASES
            related |= {name for name, parents in self.parents.items() if model in parents}
            related |= {place.partition(".")[2] for each in related for place in self.places(each)}
            near = [module for module in self.modules.values() if module.names & related]
            read = frozenset[str]().union(*(module.reads for module in near))
            if model in by_name:
                read |= self.modules[f"gateway/sluicegate/{by_name[model]}"].names
            found += [f"{model}.{field}" for field in fields if field not in read]
        return found


@cache
def sources() -> Sources:
    files = [
        file
        for pattern in _SOURCES
        for folder in sorted(ROOT.glob(pattern))
        for file in sorted(folder.rglob("*.py"))
    ]
    texts = ((file, file.read_text(encoding="utf-8")) for file in files)
    return Sources({file.relative_to(ROOT).as_posix(): Module.of(text) for file, text in texts})


def test_each_setting_is_read() -> None:
    assert len(sources().fields) > 60
    assert sources().unread(BY_NAME) == []


def test_each_exception_is_needed() -> None:
    unread = {each.partition(".")[0] for each in sources().unread({})}
    assert unread == set(BY_NAME)


def test_a_model_has_one_place_in_the_configuration() -> None:
    """What reads one place can ignore a field that another place needs."""
    models = sources()
    several = {model: models.places(model) for model in models.fields if len(models.places(model)) > 1}
    assert several.keys() == AT_SEVERAL_PLACES, several


_SECTION = """
class Inner(SettingsModel):
    size: int
    LIMIT: ClassVar[int] = 1

    @model_validator(mode="after")
    def _small(self) -> Self:
        assert self.size < 9
        return self

class Outer(SettingsModel):
    inner: Inner | None
"""


@pytest.mark.parametrize(
    ("reader", "unread"),
    [
        ("settings.inner.size", []),
        ("def use(inner: Inner): return inner.size", []),
        ("inner", ["Inner.size"]),
        ("file.size", ["Inner.size"]),
        ("settings.inner.size = 1; settings.inner", []),
    ],
)
def test_what_reads_a_setting(reader: str, unread: list[str]) -> None:
    outer = Module.of("Outer; settings.inner")
    modules = {"section": Module.of(_SECTION), "outer": outer, "reader": Module.of(reader)}
    assert Sources(modules).unread({}) == unread


def test_a_model_at_two_places_is_found() -> None:
    text = f"{_SECTION}\nclass Other(Outer):\n    inners: tuple[Inner, ...]"
    assert Sources({"section": Module.of(text)}).places("Inner") == ["Outer.inner", "Other.inners"]
