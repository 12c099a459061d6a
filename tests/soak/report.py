"""The report of a run, in Markdown."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from soak.run import Result

MARK = "<!-- The rest is written by `python -m soak --report`. -->"
_ROWS_OF_MEMORY = 12
_MB = 1_000_000


def markdown(result: Result, *, machine: str, commit: str) -> str:
    """The report."""
    return "\n".join(_lines(result, machine, commit)) + "\n"


def write(report: str, file: Path) -> None:
    """Write a report into a file: after the mark if the file has it, and otherwise alone."""
    before, mark, _ = file.read_text(encoding="utf-8").partition(MARK) if file.exists() else ("",) * 3
    text = f"{before}{mark}\n\n{report}" if mark else report
    file.write_text(text, encoding="utf-8")


def summary(result: Result) -> str:
    """One line for a terminal."""
    answers = sum(sum(each.values()) for each in result.record.statuses.values())
    return f"{answers:,} responses, {len(result.record.schedule.outages)} outages, {verdict(result)}"


def verdict(result: Result) -> str:
    """How many violations there were."""
    return f"{result.record.violated or 'no'} violation{'s' * (result.record.violated != 1)}"


def _lines(result: Result, machine: str, commit: str) -> Iterator[str]:
    plan = result.plan
    yield f"**Result: {verdict(result)}** in {plan.seconds / 60:.0f} minutes."
    yield ""
    yield "| | |"
    yield "|---|---|"
    yield f"| date | {datetime.now(UTC):%Y-%m-%d} |"
    yield f"| commit | `{commit}` |"
    yield f"| machine | {machine} |"
    yield f"| gateway | processes: {plan.processes}; database: {plan.database} |"
    yield f"| clients | {plan.clients}, on average {plan.think:g} s between two operations |"
    yield f"| seed | {plan.seed} |"
    yield f"| operations completed | {sum(result.operations.values()):,} |"
    yield f"| commits to tables | {result.commits} |"
    yield f"| reloads (SIGHUP) | {result.reloads} |"
    yield ""
    yield from _growths(result)
    yield from _answers(result)
    yield from _faults(result)
    yield from _memory(result)
    yield from _threads(result)
    yield from _violations(result)


def _growths(result: Result) -> Iterator[str]:
    yield f"After a warm-up of {result.plan.warm_up:.0f} s, by the medians of tenths of the time:"
    yield ""
    yield "| process | figure | first | highest | change |"
    yield "|---|---|---|---|---|"
    for watch in result.watches:
        for each in watch.growths(result.plan.warm_up):
            shown = [each.first, each.highest]
            if each.name == "memory":
                texts = [f"{value / _MB:.0f} MB" for value in shown]
            else:
                texts = [f"{value:.0f}" for value in shown]
            yield f"| {watch.name} | {each.name} | {texts[0]} | {texts[1]} | {each.percent:+.1f} % |"
    yield ""
    seconds = result.liveness.seconds or [0.0]
    stalls = result.record.stalls
    yield (
        f"`/livez` was requested {len(seconds):,} times: {len(result.liveness.failures)} failures, "
        f"slowest response {max(seconds):.2f} s. "
        f"The logs have {sum(log.lines for log in result.logs):,} lines; "
        f"lines that show a defect: {sum(log.faulty for log in result.logs)}. "
        f"The machine stopped the test for more than a second {len(stalls)} times, for "
        f"{sum(end - begin for begin, end in stalls):.0f} s in total. "
        f"The last 503 because of an outage was sent for a request "
        f"{result.record.longest_recovery:.0f} s after its end."
    )
    yield ""


def _threads(result: Result) -> Iterator[str]:
    yield "### Threads"
    yield ""
    yield "The most at any time, and how many were left when almost all work had ended, with limits."
    yield ""
    yield "| process | pool | most | limit | at the end | limit |"
    yield "|---|---|---|---|---|---|"
    for watch in result.watches:
        for each in watch.pool_uses():
            yield (
                f"| {watch.name} | `{each.name}`: {each.pool.of} | {each.most} | {each.limit} "
                f"| {each.rested} | {each.rested_limit} |"
            )
    yield ""


def _answers(result: Result) -> Iterator[str]:
    yield "### Responses"
    yield ""
    yield "Durations are those of successful responses, in a process that also does all other work."
    yield ""
    yield "| request | statuses | median | 99 % | slowest |"
    yield "|---|---|---|---|---|"
    for door, statuses in sorted(result.record.statuses.items()):
        counts = ", ".join(f"{status}: {count:,}" for status, count in sorted(statuses.items()))
        seconds = result.record.seconds[door] or [0.0]
        times = [statistics.median(seconds), _percentile(seconds, 99), max(seconds)]
        yield f"| {door} | {counts} | " + " | ".join(f"{each:.3f} s" for each in times) + " |"
    yield ""


def _faults(result: Result) -> Iterator[str]:
    yield "### Outages"
    yield ""
    yield "| server | fault | outages | seconds | connections or parts of responses |"
    yield "|---|---|---|---|---|"
    outages = result.record.schedule.outages
    for target in sorted({each.target for each in outages}):
        for fault in sorted({each.fault for each in outages if each.target == target}):
            chosen = [each for each in outages if (each.target, each.fault) == (target, fault)]
            seconds = sum(each.end - each.begin for each in chosen)
            affected = result.injected[target][fault]
            yield f"| {target} | {fault} | {len(chosen)} | {seconds:.0f} | {affected:,} |"
    yield ""


def _memory(result: Result) -> Iterator[str]:
    yield "### Memory"
    yield ""
    yield "| minute | process | memory | descriptors | threads | database connections |"
    yield "|---|---|---|---|---|---|"
    for watch in result.watches:
        for each in watch.samples[:: max(1, len(watch.samples) // _ROWS_OF_MEMORY)]:
            connections = each.database if watch.database else "-"
            yield (
                f"| {each.at / 60:.1f} | {watch.name} | {each.memory / _MB:.0f} MB "
                f"| {each.descriptors} | {each.threads} | {connections} |"
            )
    yield ""


def _violations(result: Result) -> Iterator[str]:
    yield "### Violations"
    yield ""
    if not result.record.violations:
        yield "None."
    for each in result.record.violations:
        broken = "; ".join(each.broken) or "nothing"
        yield f"- {each.at:.1f} s: {each.request} {each.what} (broken: {broken})".replace("\n", " ")


def _percentile(values: Sequence[float], percent: int) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, len(ordered) * percent // 100)]
