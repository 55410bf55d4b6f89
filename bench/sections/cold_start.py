"""Cold start: a whole process from its start to the first result, files in the page cache, compiled code in ours."""

from harness.contestants import BENCH
from harness.figures import Summary, decimal, paired_ratio
from harness.memory import add_memory
from harness.processes import run_once
from harness.report import Section

SCRIPT = BENCH / "inside" / "first_result.py"


def measure(contestants, options):
    first = {contestant.name: [] for contestant in contestants}
    whole = {contestant.name: [] for contestant in contestants}
    for _ in range(options.starts):
        for contestant in contestants:
            run = run_once(contestant.execute(SCRIPT), "2")
            first[contestant.name].append(run.first)
            whole[contestant.name].append(run.whole)
    result = Section("Cold process start")
    ours = contestants.brumate.name
    rows = []
    for name in first:
        ratio = paired_ratio(first[name], first[ours])
        rows.append(
            [name, Summary.of(first[name]).milliseconds(), Summary.of(whole[name]).milliseconds(), decimal(ratio)]
        )
    result.table(
        ["`print(1 + 1)`", "to the first result, ms", "to the process's end, ms", "first result ÷ Brumate"], rows
    )
    result.notes.append(f"Median and quartiles of {options.starts} processes each, in turns.")
    result.raw = {"first_seconds": first, "whole_seconds": whole}
    add_memory(result, contestants, SCRIPT, "plain", options.out)
    return result
