"""Pure-Python programs: the speed of the interpreter itself.

A round starts one interpreter of each contestant; then each program runs in all of them, one after the other, while
the others wait for input. Of a program's repetitions within an interpreter the best counts.
"""

from contextlib import ExitStack
from statistics import median

from harness.contestants import BENCH
from harness.figures import decimal, geometric_mean, paired_ratio
from harness.processes import Failed, Partner
from harness.report import Section


def programs():
    return sorted((BENCH / "programs").glob("*.py"))


def measure(contestants, options):
    best = {contestant.name: {path.stem: [] for path in programs()} for contestant in contestants}
    versions = {}
    for _ in range(options.rounds):
        one_round(contestants, options.repeat, best, versions)
    return section(contestants, best, versions)


def one_round(contestants, repeat, best, versions):
    with ExitStack() as stack:
        partners = {}
        for contestant in contestants:
            partner = stack.enter_context(Partner(contestant.serve()))
            partners[contestant.name] = partner
            versions[contestant.name] = partner.read()["version"]
        for path in programs():
            request = {"name": path.name, "source": path.read_text(), "repeat": repeat}
            checks = {}
            for name, partner in partners.items():
                answer = partner.ask(request)
                partner.settle()
                best[name][path.stem].append(min(answer["seconds"]))
                checks[name] = answer["check"]
            if any(check != checks[contestants.native.name] for check in checks.values()):
                raise Failed(f"{path.name}: results differ: {checks}")


def section(contestants, best, versions):
    ours, v8, native = (best[contestant.name] for contestant in contestants)
    rows, against_v8, against_native = [], [], []
    for program in ours:
        # Speed, not time: above one is in our favour.
        against_v8.append(paired_ratio(v8[program], ours[program]))
        against_native.append(paired_ratio(native[program], ours[program]))
        times = (decimal(1000 * median(side[program])) for side in (ours, v8, native))
        rows.append([program, *times, f"{against_v8[-1]:.2f}", f"{against_native[-1]:.2f}"])
    means = [geometric_mean(against_v8), geometric_mean(against_native)]
    rows.append(["geometric mean", "", "", "", *(f"{mean:.2f}" for mean in means)])
    result = Section("Pure-Python programs")
    names = [f"{contestant.name}, ms" for contestant in contestants]
    result.table(["program", *names, "speed ÷ V8", "speed ÷ native"], rows)
    rounds = len(next(iter(ours.values())))
    result.notes.append(
        f"Best of the repetitions in one interpreter, median of {rounds} rounds. Ratios are medians of the rounds' "
        "ratios; above 1 Brumate is faster. Python: "
        + ", ".join(f"{name} {version}" for name, version in versions.items())
        + "."
    )
    result.raw = {"best_seconds": best, "speed_over_v8": means[0], "speed_over_native": means[1]}
    return result
