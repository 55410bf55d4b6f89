"""Memory of a contestant that has done its work and waits for input."""

from .processes import Partner, memory, tree

# Appended to a script: says that it is done, then waits until its input ends.
WAIT = '\nimport sys\nprint("{}", flush=True)\nsys.stdin.readline()\n'

# Brumate's processes by their depth below the one that was started.
ROLES = ("server", "warden", "zygote", "machine")


def of_contestant(contestant, script, which, is_brumate):
    """`[(role, memory)]` of all its processes, parents first."""
    with Partner(contestant.execute(script, which)) as partner:
        partner.read()
        processes = tree(partner.pid)
        return [(ROLES[min(depth, 3)] if is_brumate else "process", memory(pid)) for pid, depth in processes]


def add_memory(section, contestants, script, which, out, only=None):
    """Adds a table of memory to a section: of `contestants` (or those in `only`), after `script`."""
    waiting = out / "waiting.py"
    waiting.write_text(script.read_text() + WAIT)
    rows, raw = [], {}
    for contestant in only or contestants:
        processes = of_contestant(contestant, waiting, which, contestant is contestants.brumate)
        raw[contestant.name] = processes
        for role, figures in processes:
            rows.append(
                [f"{contestant.name}: {role}", *(megabytes(figures[key]) for key in ("peak", "resident", "share"))]
            )
        if len(processes) > 1:
            shares = [figures["share"] for _, figures in processes]
            total = None if None in shares else sum(shares)
            rows.append([f"{contestant.name}: all", "", "", megabytes(total)])
    waiting.unlink()
    section.table(["memory", "peak, MB", "resident, MB", "proportional share, MB"], rows)
    section.notes.append(
        "Memory while the script waits for input after its work. Peak and resident count pages that processes share "
        "in each of them; the proportional share divides them among their users."
    )
    section.raw["memory"] = raw


def megabytes(count):
    return "?" if count is None else f"{count / 1e6:.1f}"
