"""The table of docs/cpython.md: what became of CPython's own tests, by cause."""

import collections

from outcomes import CAUSES, UNEXPLAINED

BEGIN, END = "<!-- outcomes: begin -->", "<!-- outcomes: end -->"


def write(path, outcomes, version):
    """Puts the table between its marks in a document."""
    before, _, rest = path.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    path.write_text(f"{before}{BEGIN}\n{text(outcomes, version)}{END}{after}")


def text(outcomes, version):
    """The table and what is said of it."""
    results = collections.defaultdict(list)
    for module, outcome in sorted(outcomes.items()):
        results[outcome.result].append(module)
    passed = sum(outcome.passed for outcome in outcomes.values())
    skipped = sum(outcome.skipped for outcome in outcomes.values())
    lines = [
        f"Of {len(outcomes)} modules of CPython {version}'s tests, {len(results['passed'])} pass, {len(results['failed'])} "
        f"have tests that fail, {len(results['crashed'])} have tests that end the interpreter or take too long, and "
        f"{len(results['skipped'])} skip themselves. {passed:,} tests pass, {count(outcomes)} do not, {skipped:,} are skipped.",
        "",
        "| cause | tests | modules |",
        "|---|---|---|",
    ]
    by_cause = collections.defaultdict(dict)
    for module, outcome in sorted(outcomes.items()):
        for cause, tests in outcome.failed.items():
            by_cause[cause][module] = len(tests)
        if outcome.crashed:
            by_cause["crash"][module] = len(outcome.crashed)
    reasons = [(cause["name"], cause["why"]) for cause in CAUSES]
    reasons += [
        (UNEXPLAINED, UNEXPLAINED),
        ("crash", "the interpreter ends (natively by a segmentation fault), or the time is up"),
    ]
    for name, why in reasons:
        modules = by_cause.get(name)
        if modules:
            named = ", ".join(f"{short(module)} {number}" for module, number in modules.items())
            lines.append(f"| {why} | {sum(modules.values())} | {named} |")
    skipped_modules = collections.defaultdict(list)
    for module in results["skipped"]:
        skipped_modules[outcomes[module].why or "each of its tests is skipped"].append(short(module))
    lines += ["", "| modules that skip themselves | why |", "|---|---|"]
    lines += [f"| {', '.join(modules)} | {escaped(why)} |" for why, modules in skipped_modules.items()]
    lines += ["", f"**These pass:** {', '.join(short(module) for module in results['passed'])}.", ""]
    return "\n".join(lines)


def count(outcomes):
    return sum(len(outcome.failures()) for outcome in outcomes.values())


def short(module):
    return module.removeprefix("test_")


def escaped(why):
    return why.replace("|", "\\|")
