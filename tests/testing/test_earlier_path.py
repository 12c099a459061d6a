"""`sluicegate.testing`, the earlier path of the kit, leads to its modules, with a warning."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module

import pytest

from sluicegate_testing import fakes
from sluicegate_testing.servers import ports

_EARLIER = "sluicegate.testing"


@pytest.fixture(autouse=True)
def _not_imported_yet(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path])
    yield
    for name in [name for name in sys.modules if name.startswith(_EARLIER)]:
        del sys.modules[name]


def test_a_module_is_the_one_of_the_kit_and_the_warning_names_its_path() -> None:
    message = "sluicegate.testing.fakes is deprecated: import sluicegate_testing.fakes instead"
    with pytest.warns(DeprecationWarning, match=message) as warned:
        from sluicegate.testing.fakes import FakeContext  # type: ignore[import-not-found]
    assert FakeContext is fakes.FakeContext
    assert [warning.filename for warning in warned] == [__file__]


def test_a_module_is_also_found_as_a_member() -> None:
    with pytest.warns(DeprecationWarning, match="import sluicegate_testing.fakes "):
        from sluicegate.testing import fakes as earlier_fakes
    assert earlier_fakes is fakes


@pytest.mark.filterwarnings("default::DeprecationWarning")
def test_each_module_of_a_folder_warns_once(recwarn: pytest.WarningsRecorder) -> None:
    for _ in range(2):
        assert import_module(f"{_EARLIER}.servers.ports") is ports
    assert [str(warning.message).partition(" ")[0] for warning in recwarn] == [
        "sluicegate.testing.servers",
        "sluicegate.testing.servers.ports",
    ]


def test_a_module_that_the_kit_does_not_have_is_not_found() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'sluicegate.testing.nothing'"):
        import_module(f"{_EARLIER}.nothing")


def test_without_the_kit_the_error_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sluicegate_testing", None)
    with pytest.raises(ImportError, match="is not installed: pip install sluicegate-testing, or"):
        import_module(_EARLIER)


def test_the_check_of_the_shape_runs_by_its_earlier_path() -> None:
    command = [sys.executable, "-m", f"{_EARLIER}.shape", "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("usage: python -m sluicegate_testing.shape FOLDER [NAME]")
