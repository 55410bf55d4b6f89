"""Wraps, indents and tabulates text."""

import textwrap

from prettytable import PrettyTable
from tabulate import tabulate
from wcwidth import wcswidth

TEXT = """    A paragraph that is rather long, with a very-long-hyphenated-word and a URL http://example.com/a/b/c.
    Another line."""
print(textwrap.fill(textwrap.dedent(TEXT), width=38, initial_indent='* ', subsequent_indent='  '))
print(textwrap.shorten(TEXT, 40, placeholder=' …'), textwrap.indent('a\n\nb', '> '), textwrap.wrap('', 10))
rows = [['tea', 3, 2.5], ['東京', None, 1234.5678], ['x', -1, float('nan')]]
for style in ('simple', 'github', 'grid', 'latex', 'html'):
    print(tabulate(rows, headers=['name', 'n', 'price'], tablefmt=style, floatfmt='.2f', missingval='?'))
table = PrettyTable(['City', 'Area'])
table.add_rows([['Adelaide', 1295], ['Brisbane', 5905]])
table.align['City'] = 'l'
table.sortby = 'Area'
table.reversesort = True
print(table, table.get_string(border=False))
print(
    wcswidth('東京ab'),
    'tab\there'.expandtabs(8),
    'a-b'.center(9, '*'),
    repr('x'.ljust(3)),
    'ab'.zfill(5),
    '-7'.zfill(4),
)
