"""Policies in files, with the example of the README."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from sluicegate_cedar.config import CedarConfig
from sluicegate_cedar.policy import CedarPolicy
from sluicegate_testing.fakes import FakeContext
from sluicegate_testing.leaks import no_secret_leaks

__all__ = ["no_secret_leaks"]

README = Path(__file__).parents[1].joinpath("README.md").read_text(encoding="utf-8")
(EXAMPLE,) = re.findall(r"```cedar\n(.*?)```", README, re.DOTALL)

Written = Callable[..., CedarPolicy]


@pytest.fixture
def written(tmp_path: Path) -> Written:
    """Writes texts to files, and returns the policy of these files."""

    def written(*texts: str, schema_file: Path | None = None) -> CedarPolicy:
        files = tuple(tmp_path / f"{number}.cedar" for number, _ in enumerate(texts, start=1))
        for file, text in zip(files, texts, strict=True):
            file.write_text(text, encoding="utf-8")
        config = CedarConfig(policy_files=files, schema_file=schema_file)
        return CedarPolicy.configured(config, FakeContext("cedar-1"))

    return written
