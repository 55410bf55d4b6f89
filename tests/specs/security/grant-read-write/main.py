"""A writable grant at /data: changes inside it, and none outside. See the runner for what it holds."""

import errno
import os
import sys


def refused(function, *arguments, **options):
    try:
        result = function(*arguments, **options)
    except (OSError, ValueError):
        return
    raise AssertionError(f"{function.__name__}{arguments} gave {result!r}")


def writing():
    with open("/data/new.txt", "w") as file:
        file.write("made by the guest\n")
    os.mkdir("/data/made")
    os.rename("/data/new.txt", "/data/made/moved.txt")
    assert open("/data/made/moved.txt").read() == "made by the guest\n"
    os.remove("/data/made/moved.txt")
    os.rmdir("/data/made")
    print("ok")


def planted_links():
    # Links that the guest makes, if it may make any, lead nowhere else than in the guest.
    for number, target in enumerate(["../outside/secret.txt", "../outside", "/etc/passwd", "/", "/proc/self/root"]):
        link = f"/data/planted{number}"
        try:
            os.symlink(target, link)
        except OSError:
            continue
        for way in [link, f"{link}/secret.txt", f"{link}/etc/passwd"]:
            try:
                content = open(way, "rb").read()
            except OSError:
                continue
            raise AssertionError((way, content))
    if hasattr(os, "link"):
        refused(os.link, "/data/absolute", "/data/hard")
        refused(os.link, "/data/../outside/secret.txt", "/data/hard")
    print("ok")


def writes_out():
    for way in [
        "absolute",
        "parent",
        "dangling",
        "absolute-dir/inside.txt",
        "parent-dir/inside.txt",
        "absolute-dir/new",
        "parent-dir/new",
        "../outside/writable.txt",
        "directory/../../outside/new",
        "root/tmp/brumate-escaped",
    ]:
        for flags in [
            os.O_WRONLY,
            os.O_WRONLY | os.O_TRUNC,
            os.O_WRONLY | os.O_CREAT,
            os.O_RDWR | os.O_CREAT | os.O_EXCL,
        ]:
            try:
                descriptor = os.open(f"/data/{way}", flags)
            except OSError:
                continue
            # What opened is a file of the guest.
            os.write(descriptor, b"overwritten by the guest")
            os.close(descriptor)
    for way in ["absolute-dir", "parent-dir", "../outside", "root/tmp", "parent-dir/..", "directory/../../outside"]:
        for function, arguments in [
            (os.mkdir, (f"/data/{way}/made",)),
            (os.remove, (f"/data/{way}/secret.txt",)),
            (os.remove, (f"/data/{way}/inside.txt",)),
            (os.rename, ("/data/executable", f"/data/{way}/moved")),
            (os.rename, (f"/data/{way}/secret.txt", "/data/stolen")),
            (os.rename, (f"/data/{way}/inside.txt", "/data/stolen")),
            (os.rmdir, (f"/data/{way}",)),
            (os.symlink, ("x", f"/data/{way}/link")),
            (os.chmod, (f"/data/{way}", 0o777)),
            (os.utime, (f"/data/{way}", (1, 1))),
        ]:
            try:
                function(*arguments)
            except OSError:
                pass
    assert not os.path.exists("/data/stolen")
    print("ok")


def changes_through_links():
    # `chmod` and `utime` follow links; these lead out.
    for name in ["absolute", "parent", "absolute-dir", "parent-dir", "dangling"]:
        refused(os.chmod, f"/data/{name}", 0o777)
        refused(os.utime, f"/data/{name}", (1, 1))
        refused(os.truncate, f"/data/{name}", 0)
    print("ok")


def set_user_id():
    # A program that others may run as its owner must not come out of a sandbox.
    with open("/data/program", "w") as file:
        file.write("#!/bin/sh\n")
    os.chmod("/data/program", 0o6755)
    assert os.stat("/data/program").st_mode & 0o7000 == 0, oct(os.stat("/data/program").st_mode)
    descriptor = os.open("/data/program2", os.O_CREAT | os.O_RDWR, 0o7777)
    assert os.fstat(descriptor).st_mode & 0o7000 == 0, oct(os.fstat(descriptor).st_mode)
    os.mkdir("/data/sticky", 0o7777)
    assert os.stat("/data/sticky").st_mode & 0o7000 == 0, oct(os.stat("/data/sticky").st_mode)
    print("ok")


def devices():
    for kind in [0o020666, 0o060666, 0o140666]:
        if hasattr(os, "mknod"):
            refused(os.mknod, "/data/device", kind, os.makedev(1, 1))
    print("ok")


def replaced_root():
    for path in ["/data", "/data/.", "/data/..", "/data/directory/.."]:
        refused(os.rmdir, path)
        refused(os.rename, path, "/data/elsewhere")
        refused(os.rename, "/data/directory", path)
    print("ok")


globals()[sys.argv[1]]()
