"""What the driver adds for programs that expect Linux: beside native Python, which has all of it."""

import itertools
import math
import os
import platform
import random
import socket
import sys
import threading
import time
import unittest

import guest_path  # isort: split

from _brumate import dates, file_links, missing, random_numbers, system_calls
from support import run

GLIBC = platform.libc_ver()[0] == "glibc"


def outcome(function, *arguments):
    """What a call gives or raises."""
    try:
        return function(*arguments)
    except Exception as error:
        return type(error)


class Dates(unittest.TestCase):
    MOMENTS = tuple(map(time.gmtime, (0, 50_000, 951_782_400, 1_700_000_000, 2**33)))
    MOMENTS += tuple((year, 6, 1, 1, 2, 3, 0, 152, 0) for year in (5, 99, 999, 1000, 12345))

    @unittest.skipUnless(GLIBC, "compares with glibc")
    def test_as_glibc_writes_them(self):
        native, formats = time.strftime, []
        for flags, width, conversion in itertools.product(
            ("", "_", "-", "0", "^", "#", "_0"), ("", "3", "10"), "aAbBcCdDeFgGhHIjklmMnpPrRsStTuUVwWxXyYZ%fQ! "
        ):
            # A time zone never has "-" and "#"; what is unknown is in upper case for "^".
            if conversion == "Z" and flags in "-#" or conversion in "fQ! " and flags == "^":
                continue
            formats.append(f"x%{flags}{width}{conversion}y")
        formats += [
            f"%{modifier}{conversion}"
            for modifier in "EO"
            for conversion in "aAbBcCdDeFgGhHIjklmMnpPrRsStTuUVwWxXyYzZ%fQ! "
        ]
        formats += ["", "%", "%%", "a%", "%E", "%%%k", "%k%%l", "%%k", "é%k日本", "%k\n%l\t", "%I:%M%P", "%d %^b", "%z"]
        dates.install()
        try:
            for form, moment in itertools.product(formats, self.MOMENTS):
                self.assertEqual(time.strftime(form, moment), native(form, moment), form)
        finally:
            time.strftime = native

    def test_the_date_is_now_unless_it_is_given(self):
        code = (
            "import time\n[time.strftime('%k').strip() == str(time.localtime().tm_hour), time.strftime('%Y') > '2025']"
        )
        self.assertEqual(run(code, emulate=True).value, [True, True])

    def test_datetime_and_errors(self):
        code = (
            "import datetime, time\nd = datetime.datetime(2024, 2, 9, 13, 5)\n"
            "seen = [d.strftime('%-l:%M%P %^b %e'), f'{d:%k|%Q}', datetime.date(2024, 2, 9).strftime('%#A')]\n"
            "for arguments in ((b'%k',), ('%k', (1, 2)), ('%k', (2024, 13, 1, 0, 0, 0, 0, 1, 0)), (), ('%k', None, 1)):\n"
            "    try: time.strftime(*arguments)\n"
            "    except Exception as error: seen.append(type(error).__name__)\n"
            "seen"
        )
        expected = [
            "1:05pm FEB  9",
            "13|%Q",
            "FRIDAY",
            "TypeError",
            "TypeError",
            "ValueError",
            "TypeError",
            "TypeError",
        ]
        self.assertEqual(run(code, emulate=True).value, expected)


class RandomNumbers(unittest.TestCase):
    def test_hashes_of_floats(self):
        chosen = random.Random(1)
        numbers = [0.0, -0.0, 1.0, -1.0, 0.5, -1.5, math.inf, -math.inf, 5e-324, 1.7976931348623157e308, 2.0**61 - 1]
        numbers += [chosen.uniform(-1, 1) * 10.0 ** chosen.randint(-300, 300) for _ in range(2000)]
        for number in numbers:
            self.assertEqual(random_numbers.hash_of_float(number), hash(number), number)

    def test_lengths_of_ranges(self):
        for start, stop, step in itertools.product(range(-4, 5), range(-4, 5), (-3, -2, -1, 1, 2, 3)):
            self.assertEqual(random_numbers.length(range(start, stop, step)), len(range(start, stop, step)))
        self.assertEqual(random_numbers.length(range(-(2**70), 2**70, 2)), 2**70)
        self.assertEqual(random_numbers.length("abc"), 3)

    def test_streams(self):
        code = (
            "import random\nrandom.seed(1.5)\na = random.random()\nr = random.Random(42)\n"
            "[a, random.Random(-2.25).random(), r.choice(range(2**40)), r.sample(range(2**31), 2), r.choices(range(2**33), k=2)]"
        )
        expected = [0.551763726942059, random.Random(-2.25).random()]
        native = random.Random(42)
        expected += [
            native.choice(range(2**40)),
            native.sample(range(2**31), 2),
            native.choices(range(2**33), k=2),
        ]
        self.assertEqual(run(code, emulate=True).value, expected)


class Descriptors(unittest.TestCase):
    def test_inheritance(self):
        descriptor = os.dup(0)
        self.addCleanup(os.close, descriptor)
        for inheritable in (True, True, False):
            system_calls.set_inheritable(descriptor, inheritable)
            self.assertEqual(os.get_inheritable(descriptor), inheritable)
        with self.assertRaises(OSError):
            system_calls.set_inheritable(-1, True)

    def test_a_lock_wants_a_descriptor(self):
        self.assertEqual(outcome(file_links.flock, "name", 1), TypeError)


class Missing(unittest.TestCase):
    def test_what_is_there_stays(self):
        before = os.geteuid, time.thread_time, socket.inet_pton, threading.Thread.native_id
        missing.install()
        after = os.geteuid, time.thread_time, socket.inet_pton, threading.Thread.native_id
        self.assertEqual(before, after)

    def test_there_is_no_browser(self):
        code = (
            "import webbrowser\nseen = [webbrowser.open('https://a.example'), webbrowser.open_new('https://a.example')]\n"
            "try: webbrowser.get()\nexcept webbrowser.Error as error: seen.append(str(error))\nseen"
        )
        self.assertEqual(run(code, emulate=True).value, [False, False, "could not locate runnable browser"])


if __name__ == "__main__":
    unittest.main()
