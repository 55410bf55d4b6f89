"""fortran.py <output directory> <file.f ...>: LAPACK's fixed-form Fortran in the dialect that f2c reads.

f2c knows FORTRAN 77. LAPACK 3.12 uses a few things of Fortran 90 in its fixed-form files, which become older ones here: EXIT
and CYCLE, RECURSIVE, INTENT and attributes of declarations, HUGE, MAXLOC, assignments to a few elements at once.
"""

import os
import re
import sys

MAXIMUM = {"D": "1.7976931348623157D308", "S": "3.40282347E38"}
#: Labels that we make start above those that LAPACK has.
FIRST_LABEL = 9000


def statements(text):
    """Statements with their continuation lines, each a list of lines; without comments."""
    found = []
    for line in text.split("\n"):
        if not line.strip() or line[0] in "*cC!":
            continue
        if "!" in line and "'" not in line:
            line = line[: line.index("!")].rstrip()
            if not line.strip():
                continue
        if re.match(r" {5}[^ 0]", line) and found:
            found[-1].append(line[6:])
        else:
            found.append([line])
    return found


def declaration(statement):
    """A declaration with `::` without its attributes, and the PARAMETER statement that one of them becomes."""
    match = re.match(r"(?i)(.*?)::(.*)$", statement)
    if not match:
        return None, None
    kind = re.sub(r"(?i),\s*INTENT\s*\([^)]*\)", "", match[1]).strip()
    is_parameter = re.search(r"(?i),\s*PARAMETER", kind)
    kind = re.sub(r"(?i),\s*PARAMETER", "", kind)
    if not is_parameter:
        return None, f"{kind} {match[2]}"
    names = (re.sub(r"\s*=.*", "", item) for item in re.split(r",(?![^()]*\))", match[2]))
    return f"{kind} {', '.join(names)}", f"PARAMETER ({match[2]})"


def convert(name, text):
    """The statements of one file, in the older dialect."""
    out, loops, label = [], [], FIRST_LABEL
    precision = "D" if name[0] in "dz" else "S"

    def emit(statement, number=""):
        out.append([f"{number:<6}{statement}"])

    for lines in statements(text):
        whole = "".join([lines[0].rstrip("\n"), *lines[1:]])
        statement, number = whole.strip(), whole[:5].strip()
        upper = re.sub(r"^\d+\s*", "", statement.upper())
        changed = None
        if re.match(r"RECURSIVE\b", upper):
            changed = re.sub(r"(?i)^RECURSIVE\s+", "", statement)
        if re.match(r"IMPLICIT\s+NONE", upper):
            continue
        is_declaration = re.match(r"(INTEGER|REAL|DOUBLE|COMPLEX|LOGICAL|CHARACTER|INTRINSIC|EXTERNAL|PARAMETER)", upper)
        if re.search(r"INTENT\s*\(", upper) or ("::" in upper and is_declaration):
            before, now = declaration(statement)
            if before:
                emit(before)
            changed = now or changed
        if upper.startswith("INTRINSIC"):
            names = re.sub(r"(?i)^INTRINSIC\s*(::)?", "", changed or statement).split(",")
            unknown = {"MAXLOC", "HUGE", "CEILING", *(["AIMAG"] if name[0] == "z" else [])}
            names = [item.strip() for item in names if item.strip().upper() not in unknown]
            if not names:
                continue
            changed = "INTRINSIC " + ", ".join(names)
        if "HUGE(" in upper:
            changed = re.sub(r"(?i)HUGE\(\s*\w+\s*\)", MAXIMUM[precision], changed or statement)
        if "MAXLOC(" in upper and "INTRINSIC" not in upper:
            rest = r"(?i)MAXLOC\(\s*WORK\(\s*\(?N\+J\)?\s*:\s*\(?2\*N\)?\s*\)\s*,\s*1\s*\)"
            changed = re.sub(rest, f"I{precision}MXLC(N-J+1, WORK(N+J))", changed or statement)
            changed = re.sub(r"(?i)MAXLOC\(\s*WORK\(\s*1:N\s*\)\s*,\s*1\s*\)", f"I{precision}MXLC(N, WORK(1))", changed)
        if name[0] == "z" and "AIMAG(" in upper and "DIMAG" not in upper:
            changed = re.sub(r"(?i)\bAIMAG\(", "DIMAG(", changed or statement)
        if match := re.match(r"(\w+)\((\d+):(\d+)\)\s*=\s*(.*)$", upper):
            for index in range(int(match[2]), int(match[3]) + 1):
                emit(f"{match[1]}({index}) = {match[4]}")
            continue
        # A loop: the label that ends it, the labels that EXIT and CYCLE jump to, once there are any.
        if re.match(r"DO\b(?!\s*\d)", upper):
            loops.append([None, None, None])
        elif match := re.match(r"DO\s*(\d+)", upper):
            loops.append([match[1], None, None])
        if match := re.search(r"(?:^|\))\s*(EXIT|CYCLE)$", upper):
            loop = loops[-1]
            if match[1] == "CYCLE" and loop[0]:
                target = loop[0]
            else:
                place = 1 if match[1] == "EXIT" else 2
                if loop[place] is None:
                    label += 1
                    loop[place] = str(label)
                target = loop[place]
            changed = re.sub(r"(?i)(EXIT|CYCLE)$", f"GO TO {target}", changed or statement)
        if re.match(r"END\s*DO\b", upper):
            _, leave, again = loops.pop()
            if again:
                emit("CONTINUE", again)
            out.append(lines)
            if leave:
                emit("CONTINUE", leave)
            continue
        if changed is not None:
            emit(re.sub(r"^\d+\s*", "", changed) if number else changed, number)
        else:
            out.append(lines)
        while number and loops and loops[-1][0] == number:
            leave = loops.pop()[1]
            if leave:
                emit("CONTINUE", leave)
    return out


def write(path, found):
    with open(path, "w") as file:
        for first, *more in found:
            file.write(first[:72] + "\n")
            rest = "" if more else first[72:]
            while rest:
                file.write(f"     ${rest[:66]}\n")
                rest = rest[66:]
            for line in more:
                file.write(f"     ${line[:66]}\n")


def main():
    directory, *files = sys.argv[1:]
    for path in files:
        name = os.path.basename(path)[:-2]
        with open(path, errors="replace") as file:
            found = convert(name, file.read())
        write(os.path.join(directory, f"{name}.f"), found)


main()
