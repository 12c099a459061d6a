from __future__ import annotations

from pathlib import Path

from sluicegate_cedar.policy import PolicyFiles

ALL = "permit (principal, action, resource);\n"


async def test_files_are_checked_once_a_second(tmp_path: Path) -> None:
    now, file = 100.0, tmp_path / "1.cedar"
    file.write_text(ALL)
    files = PolicyFiles((file,), None, clock=lambda: now)
    assert len((await files.current()).positions) == 1
    file.write_text(ALL * 2)
    for pause, expected in ((0.9, 1), (0.1, 1), (0.9, 1), (0.1, 2)):
        now += pause
        assert len((await files.current()).positions) == expected
