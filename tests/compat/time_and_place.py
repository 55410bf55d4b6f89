"""Clocks, time zones, locale, identity and what the platform says."""

import calendar
import datetime
import json
import locale
import os
import platform
import random
import signal
import site
import sys
import sysconfig
import tempfile
import threading
import time
import zoneinfo

from checks import equal, raises


def test_sleep_uses_no_processor_time():
    for sleep in (time.sleep, sleep_in_select):
        wall, cpu = time.monotonic(), time.process_time()
        sleep(0.5)
        wall, cpu = time.monotonic() - wall, time.process_time() - cpu
        assert wall >= 0.499, wall
        assert cpu < wall / 5, (cpu, wall)


def sleep_in_select(seconds):
    import select

    equal(select.select([], [], [], seconds), ([], [], []))


def test_processor_clocks_count_work():
    start, rounds = time.process_time(), 0
    assert start < 3600, "counted from the start of the process"
    while time.process_time() - start < 0.2:
        sum(range(1000))
        rounds += 1
    assert rounds > 10


def test_clocks_agree_and_never_go_back():
    assert time.time() > 1_700_000_000
    assert abs(time.time_ns() / 1e9 - time.time()) < 60
    equal(time.get_clock_info("monotonic").monotonic, True)
    marks = [time.monotonic_ns() for _ in range(10_000)]
    equal(marks, sorted(marks))
    marks = [time.perf_counter_ns() for _ in range(10_000)]
    equal(marks, sorted(marks))
    assert abs(datetime.datetime.now(datetime.UTC).timestamp() - time.time()) < 60


def in_zone(zone):
    os.environ["TZ"] = zone
    time.tzset()


def test_local_time_is_that_of_a_zone_that_is_set():
    summer, winter = 1_720_000_000, 1_700_000_000
    try:
        for zone, names, (standard, other), offsets in (
            ("Europe/Berlin", ("CET", "CEST"), (-3600, -7200), (7200, 3600)),
            (":America/New_York", ("EST", "EDT"), (18000, 14400), (-14400, -18000)),
            ("Australia/Sydney", ("AEST", "AEDT"), (-36000, -39600), (36000, 39600)),
            ("Asia/Tokyo", ("JST", "JST"), (-32400, -32400), (32400, 32400)),
            ("CET-1CEST,M3.5.0,M10.5.0/3", ("CET", "CEST"), (-3600, -7200), (7200, 3600)),
            ("<+0330>-3:30", ("+0330", "+0330"), (-12600, -12600), (12600, 12600)),
            ("Nowhere/None", ("Nowhere", "Nowhere"), (0, 0), (0, 0)),
        ):
            in_zone(zone)
            equal(
                (time.tzname, time.timezone, time.altzone, time.daylight),
                (names, standard, other, int(standard != other)),
            )
            for moment, offset in zip((summer, winter), offsets, strict=True):
                local = time.localtime(moment)
                equal((local.tm_gmtoff, local.tm_zone in names), (offset, True))
                equal(local[:6], time.gmtime(moment + offset)[:6])
                equal(time.mktime(local), moment)
                equal(datetime.datetime.fromtimestamp(moment).astimezone().utcoffset().total_seconds(), offset)
        in_zone("Europe/Berlin")
        equal(time.strftime("%H:%M %Z %z", time.localtime(summer)), "11:46 CEST +0200")
        equal(time.ctime(summer), "Wed Jul  3 11:46:40 2024")
        equal(datetime.datetime(2024, 7, 1).astimezone().tzname(), "CEST")
        # A skipped hour, one that there is twice, and the year 2500, as on Linux.
        for parts, known, moment in (
            ((2024, 3, 31, 2, 30), -1, 1711848600),
            ((2024, 10, 27, 2, 30), -1, 1729989000),
            ((2024, 10, 27, 2, 30), 0, 1729992600),
            ((2024, 1, 1, 12, 0), 1, 1704103200),
            ((2500, 7, 1, 12, 0), -1, 16740900000),
            ((1880, 1, 1, 0, 0), -1, -2840144008),
        ):
            equal(time.mktime((*parts, 0, 0, 0, known)), moment)
        equal(datetime.datetime(2024, 10, 27, 2, 30, fold=1).timestamp(), 1729992600)
    finally:
        in_zone("UTC")
    equal((time.tzname, time.localtime(summer).tm_gmtoff), (("UTC", "UTC"), 0))


def test_early_and_late_years_are_written_as_on_linux():
    for year, written in (
        (5, "5 0 5-06-01"),
        (99, "99 0 99-06-01"),
        (999, "999 9 999-06-01"),
        (12345, "12345 123 12345-06-01"),
    ):
        moment = (year, 6, 1, 1, 2, 3, 0, 152, 0)
        equal(time.strftime("%Y %C %F", moment), written)
        equal(time.strftime("%c", moment), f"Mon Jun  1 01:02:03 {year}")
    equal(
        (time.strftime("%G", (999, 6, 1, 0, 0, 0, 0, 152, 0)), time.strftime("%5Y", (99, 6, 1, 0, 0, 0, 0, 152, 0))),
        ("999", "00099"),
    )
    equal(datetime.date(99, 6, 1).strftime("%Y"), "0099")


def test_the_local_time_zone_is_utc():
    equal((time.tzname, time.timezone, time.daylight, time.altzone), (("UTC", "UTC"), 0, 0, 0))
    equal(time.localtime(1_700_000_000)[:9], (2023, 11, 14, 22, 13, 20, 1, 318, 0))
    equal(time.mktime((2023, 11, 14, 22, 13, 20, 0, 0, -1)), 1_700_000_000.0)
    equal(time.strftime("%Y-%m-%d %H:%M:%S %z %Z", time.gmtime(0)), "1970-01-01 00:00:00 +0000 GMT")
    equal(datetime.datetime(2024, 7, 1).astimezone().utcoffset(), datetime.timedelta())
    for moment in (-(2**31), -1, 0, 2**31, 2**33):
        equal(calendar.timegm(time.gmtime(moment)), moment)
        equal(time.mktime(time.localtime(moment)), moment)
    with raises(OverflowError):
        time.gmtime(2**64)


def test_other_time_zones_are_there():
    oslo = zoneinfo.ZoneInfo("Europe/Oslo")
    summer, winter = (datetime.datetime(2024, month, 1, 12, tzinfo=oslo) for month in (7, 1))
    equal((summer.isoformat(), winter.tzname()), ("2024-07-01T12:00:00+02:00", "CET"))
    assert {"UTC", "Asia/Tokyo", "America/New_York"} <= zoneinfo.available_timezones()
    with raises(zoneinfo.ZoneInfoNotFoundError):
        zoneinfo.ZoneInfo("Atlantis/Capital")


def test_dates_are_parsed_and_printed():
    equal(time.strptime("Thu, 29 Feb 2024", "%a, %d %b %Y")[:3], (2024, 2, 29))
    equal(
        datetime.datetime.strptime("2024-02-29T01:02:03.456789+0530", "%Y-%m-%dT%H:%M:%S.%f%z").isoformat(),
        "2024-02-29T01:02:03.456789+05:30",
    )
    equal(datetime.datetime(1, 1, 1).strftime("%A %d %B %j"), "Monday 01 January 001")


def test_dates_are_written_as_in_linux():
    moment = time.gmtime(1_707_483_900)
    equal(time.strftime("%k|%l|%P|%^b|%#p|%-d|%5d|%Q|%", moment), "13| 1|pm|FEB|pm|9|00009|%Q|%")
    equal(datetime.datetime(2024, 2, 9, 13, 5).strftime("%A, %-d. %B, %-l:%M%P"), "Friday, 9. February, 1:05pm")
    with raises(TypeError):
        time.strftime("%k", "now")


def test_locale():
    equal((sys.getfilesystemencoding(), sys.getdefaultencoding(), locale.getencoding().lower()), ("utf-8",) * 3)
    equal((sys.stdout.encoding.lower(), open(os.devnull).encoding.lower()), ("utf-8",) * 2)
    equal(locale.setlocale(locale.LC_ALL, "C"), "C")
    equal(locale.localeconv()["decimal_point"], ".")
    equal(locale.setlocale(locale.LC_ALL, "C.UTF-8").count("C.UTF-8") > 0, True)
    equal((f"{1234567.5:n}", locale.format_string("%.1f", 1.5)), ("1.23457e+06", "1.5"))
    equal(sorted(["b", "B", "a", "é"], key=locale.strxfrm), ["B", "a", "b", "é"])
    locale.setlocale(locale.LC_ALL, "C")


def test_the_process():
    assert os.getpid() > 0 and os.getppid() > 0 and os.getuid() == 0
    equal(
        (platform.system(), platform.machine(), platform.python_implementation()), ("Emscripten", "wasm32", "CPython")
    )
    equal((os.cpu_count(), sys.flags.utf8_mode, sys.dont_write_bytecode), (1, 1, True))
    equal((os.geteuid(), os.getegid(), os.getgroups()), (os.getuid(), os.getgid(), [0]))
    equal((os.sched_getaffinity(0), threading.current_thread().native_id), ({0}, os.getpid()))
    assert 0 < time.thread_time() <= time.process_time() + 1
    equal((time.get_clock_info("thread_time").monotonic, time.get_clock_info("monotonic").monotonic), (True, True))
    assert os.environ["HOME"] == os.path.expanduser("~") == os.getcwd()
    os.environ["NEW"] = "value"
    equal(os.getenv("NEW"), "value")
    assert sys.executable is not None and sys.version_info >= (3, 14)


def test_signals_within_the_process():
    seen = []
    before = signal.signal(signal.SIGUSR1, lambda number, frame: seen.append(number))
    os.kill(os.getpid(), signal.SIGUSR1)
    signal.raise_signal(signal.SIGUSR1)
    signal.signal(signal.SIGUSR1, before)
    equal(seen, [signal.SIGUSR1] * 2)
    with raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


def test_seeded_random_is_the_documented_stream():
    equal([random.Random(1).randrange(1000) for _ in range(2)], [137, 137])
    equal(random.Random("text").random(), 0.8711565613554825)
    # As on a platform whose hashes and lengths have 64 bits.
    equal([random.Random(seed).random() for seed in (1.5, 3.14159)], [0.551763726942059, 0.6031876876175948])
    equal(random.Random(42).choice(range(2**40)), 247559453085)
    equal(random.Random(42).sample(range(2**31), 4), [478163327, 107420369, 1181241943, 1051802512])
    assert random.SystemRandom().random() != random.SystemRandom().random()


def test_recursion_ends_in_an_error():
    def deeper():
        return deeper()

    with raises(RecursionError):
        deeper()
    nested = []
    for _ in range(100_000):
        nested = [nested]
    with raises(RecursionError):
        repr(nested)


def test_the_prefix_holds_the_libraries_and_nothing_of_the_users():
    stdlib = os.path.dirname(os.__file__)
    equal((sysconfig.get_path("stdlib"), os.path.dirname(json.__file__)), (stdlib, stdlib + "/json"))
    equal((os.path.realpath(stdlib), sys._stdlib_dir), (stdlib, stdlib))
    equal({sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix}, {sys.prefix})
    for path in sysconfig.get_paths().values():
        assert path.startswith(sys.prefix) and "//" not in path, path
    for path in [*site.getsitepackages(), *site.PREFIXES]:
        assert path.startswith(sys.prefix), path
    assert sysconfig.get_path("purelib") in site.getsitepackages()
    assert set(site.getsitepackages()) <= set(sys.path) | {sysconfig.get_path("purelib")}
    for path in (os.getcwd(), tempfile.gettempdir(), os.path.expanduser("~"), os.path.abspath(sys.argv[0])):
        assert not path.startswith(sys.prefix + "/"), path
    if sys.platform == "emscripten":
        equal((sys.prefix, sysconfig.get_path("data")), ("/usr", "/usr"))
        equal((os.path.realpath("/lib"), os.path.samefile("/lib/python3.14/os.py", os.__file__)), ("/usr/lib", True))
        with raises(OSError, error="EROFS"):
            os.mkdir("/usr/own")
        for name, module in list(sys.modules.items()):
            file = getattr(module, "__file__", None)
            assert not file or file.startswith("/usr/") or name == "__main__" or file.startswith("/compat"), file


def test_the_main_module_says_how_it_was_loaded():
    main = sys.modules["__main__"]
    equal((type(main.__loader__).__name__, main.__spec__), ("SourceFileLoader", None))
    equal((main.__loader__.name, main.__loader__.path), ("__main__", main.__file__))
    assert "def main" in main.__loader__.get_source("__main__")
