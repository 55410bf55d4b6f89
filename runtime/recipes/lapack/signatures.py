"""signatures.py <directory of f2c's output> <output directory>: one WebAssembly signature per Fortran symbol.

f2c returns int from subroutines and passes the lengths of strings behind the other arguments. Callers in C declare neither:
here subroutines return nothing, and the lengths, which are 1 but for names, are taken away. `xerbla_` keeps its one.
"""

import glob
import os
import re
import sys

FUNCTION = re.compile(r"\b([a-z]\w*_)\s*\(")
LENGTH = re.compile(r"\s*(ftnlen(\s+\w+)?|\(\s*ftnlen\s*\)\s*\d+|\w+_len)\s*$")


def scan(text, start):
    """Characters from `start`, each with whether it is outside of quotes; an escaped one comes with its backslash."""
    quote, index = None, start
    while index < len(text):
        length = 1
        character = text[index]
        outside = quote is None
        if quote:
            if character == "\\":
                length = 2
            elif character == quote:
                quote = None
        elif character in "\"'":
            quote, outside = character, False
        yield index, text[index : index + length], outside
        index += length


def closing(text, start):
    """The index after the parenthesis that closes the one at `start`."""
    depth = 0
    for index, character, outside in scan(text, start):
        if outside and character == "(":
            depth += 1
        elif outside and character == ")":
            depth -= 1
            if depth == 0:
                return index + 1
    raise ValueError("a parenthesis is not closed")


def split(text):
    """Arguments, at the commas between them."""
    parts, depth, current = [], 0, ""
    for _, character, outside in scan(text, 0):
        if outside:
            depth += (character in "([") - (character in ")]")
            if character == "," and depth == 0:
                parts.append(current)
                current = ""
                continue
        current += character
    return [*parts, current]


def convert(name, text):
    text = re.sub(r"/\* Subroutine \*/\s+int\b", "/*S*/ void", text)
    text = re.sub(r"/\*(?!S\*/)[\s\S]*?\*/", "", text).replace("/*S*/ ", "")
    # f2c doubles the underscore of names that have one.
    text = re.sub(r"\b([a-z][a-z0-9]*_\w*[a-z0-9])__(?=\s*\()", r"\1_", text)
    lengths, position = set(), 0
    while match := FUNCTION.search(text, position):
        start, position = match.end() - 1, match.end()
        end = closing(text, start)
        if match[1] == "xerbla_":
            continue
        arguments = split(text[start + 1 : end - 1])
        count = len(arguments)
        while count and LENGTH.match(arguments[count - 1]):
            count -= 1
            if named := re.match(r"\s*ftnlen\s+(\w+)", arguments[count]):
                lengths.add(named[1])
        if count != len(arguments):
            text = text[: start + 1] + ",".join(arguments[:count]) + text[end - 1 :]
    for length in lengths:
        # Still used in the body: a name's own length.
        if re.search(rf"\b{length}\b", text):
            base = length[:-4]
            parameter = base if re.search(rf"char\s*\*{base}\b", text) else f"{base}__"
            head = re.search(rf"\b{re.escape(name)}_\s*\(", text)
            body = text.index("{", closing(text, head.end() - 1))
            text = f"{text[: body + 1]}\n    ftnlen {length} = (ftnlen) f2c_strlen({parameter});\n{text[body + 1 :]}"
    return text


def main():
    source, target = sys.argv[1:]
    os.makedirs(target, exist_ok=True)
    for path in sorted(glob.glob(f"{source}/*.c")):
        name = os.path.basename(path)[:-2]
        with open(path, errors="replace") as file:
            text = convert(name, file.read())
        with open(os.path.join(target, f"{name}.c"), "w") as file:
            file.write(text)


main()
