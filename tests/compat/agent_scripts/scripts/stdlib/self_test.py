"""Adds and multiplies.

>>> add(2, 3)
5
>>> add('a', 1)
Traceback (most recent call last):
TypeError: can only concatenate str (not "int") to str
>>> mul(2, 3)
7
"""

import doctest
import sys
import unittest
from unittest import mock


def add(a, b):
    return a + b


def mul(a, b):
    return a * b


class Tests(unittest.TestCase):
    def setUp(self):
        self.values = [1, 2, 3]

    def test_add(self):
        self.assertEqual(add(1, 2), 3)
        for n in self.values:
            with self.subTest(n=n):
                self.assertGreater(add(n, n), n)

    def test_fails(self):
        self.assertEqual(mul(2, 2), 5, 'multiplication')

    @unittest.skip('not ready')
    def test_later(self):
        pass

    @mock.patch('builtins.open', mock.mock_open(read_data='x=1'))
    def test_mock(self):
        with open('config') as f:
            self.assertIn('=', f.read())
        caller = mock.Mock(side_effect=[1, KeyError('k')])
        self.assertEqual(caller(5), 1)
        self.assertRaises(KeyError, caller)
        caller.assert_called_with()


if __name__ == '__main__':
    print(doctest.testmod())
    with open('results.txt', 'w') as stream:
        result = unittest.TextTestRunner(stream=stream, verbosity=2).run(
            unittest.defaultTestLoader.loadTestsFromTestCase(Tests)
        )
    print(
        [
            line
            for line in open('results.txt').read().splitlines()
            if line.startswith(('test_', 'FAILED', 'Ran', 'Assertion')) and ' in ' not in line
        ]
    )
    print(result.testsRun, len(result.failures), result.skipped[0][1], result.failures[0][1].splitlines()[-1])
    sys.exit(not result.wasSuccessful())
