"""Compares two versions of a file in several ways."""

import difflib

OLD = """alpha
beta
gamma
delta
""".splitlines(keepends=True)
NEW = """alpha
betta
gamma
epsilon
delta
zeta""".splitlines(keepends=True)
print(''.join(difflib.unified_diff(OLD, NEW, 'old.txt', 'new.txt', n=1)))
print(''.join(difflib.ndiff(OLD, NEW)))
print(''.join(difflib.context_diff(OLD, NEW, n=0)))
matcher = difflib.SequenceMatcher(None, 'private Thread currentThread;', 'private volatile Thread currentThread;')
print(round(matcher.ratio(), 4), matcher.get_opcodes(), matcher.find_longest_match())
print(difflib.get_close_matches('appel', ['ape', 'apple', 'peach', 'puppy'], n=2, cutoff=0.5))
table = difflib.HtmlDiff(wrapcolumn=20).make_table(OLD, NEW, context=True, numlines=1)
print(table.count('<tr>'), 'diff_chg' in table, ''.join(difflib.restore(difflib.ndiff(OLD, NEW), 2)) == ''.join(NEW))
