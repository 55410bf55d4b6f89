"""Packing and unpacking archives. Members stay below the directory they are unpacked into."""

from ..pristine import __builtins__

import os

from . import options
from .interpreter import Refused


def unzip(arguments, streams):
    """unzip [-lqo] archive [-d directory]: unpacks a zip archive, or lists it"""
    import zipfile

    found, operands = options.parse(arguments, flags="lqonv", values="d")
    if not operands:
        raise Refused("say which archive", 2)
    try:
        with zipfile.ZipFile(operands[0]) as archive:
            if "l" in found:
                for member in archive.infolist():
                    streams.out.write(f"{member.file_size:9}  {member.filename}\n")
                return 0
            members = operands[1:] or archive.namelist()
            for member in members:
                archive.extract(member, found.get("d", "."))
                if "q" not in found:
                    streams.out.write(f"  inflating: {os.path.join(found.get('d', ''), member)}\n")
    except (zipfile.BadZipFile, KeyError, RuntimeError) as error:
        raise Refused(str(error)) from None
    return 0


def zip_(arguments, streams):
    """zip [-rqj] archive path...: packs into a zip archive"""
    import zipfile

    found, operands = options.parse(arguments, flags="rqj0123456789")
    if len(operands) < 2:
        raise Refused("an archive and files are needed", 2)
    name = operands[0] if operands[0].endswith(".zip") else operands[0] + ".zip"
    paths = []
    for path in operands[1:]:
        paths.append(path)
        if "r" in found and os.path.isdir(path):
            paths += [os.path.join(base, one) for base, _, files in sorted(os.walk(path)) for one in sorted(files)]
    with zipfile.ZipFile(name, "a" if os.path.exists(name) else "w", zipfile.ZIP_DEFLATED) as archive:
        for path in paths:
            inside = os.path.basename(path) if "j" in found else path
            if os.path.isdir(path) and "j" in found or os.path.realpath(path) == os.path.realpath(name):
                continue
            archive.write(path, inside)
            if "q" not in found:
                streams.out.write(f"  adding: {inside}\n")


def tar(arguments, streams):
    """tar c|x|t[zjJvf] archive [path...] [-C directory]: packs, unpacks, lists"""
    import tarfile

    if arguments and arguments[0][:1] != "-":
        arguments = ["-" + arguments[0], *arguments[1:]]
    found, operands = options.parse(arguments, flags="cxtzjJvp", values="fC", long={"directory": "C", "file": "f"})
    name = found.get("f")
    modes = [letter for letter in "cxt" if letter in found]
    if not name or len(modes) != 1:
        raise Refused("one of c, x, t, and f with the archive's name are needed", 2)
    try:
        if modes[0] == "c":
            kind = (
                "gz"
                if "z" in found or name.endswith(("gz", "tgz"))
                else "bz2"
                if "j" in found
                else "xz"
                if "J" in found
                else ""
            )
            with tarfile.open(name, f"w:{kind}") as archive:
                for path in operands:
                    archive.add(os.path.join(found.get("C", ""), path), path)
            return 0
        with tarfile.open(name) as archive:
            if modes[0] == "t" or "v" in found:
                streams.out.write("".join([f"{member}\n" for member in archive.getnames()]))
            if modes[0] == "x":
                members = [archive.getmember(member) for member in operands] or None
                archive.extractall(found.get("C", "."), members, filter="data")
    except (tarfile.TarError, KeyError, ValueError) as error:
        raise Refused(str(error)) from None
    return 0
