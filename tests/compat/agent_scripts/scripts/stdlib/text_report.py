import difflib
import string
import textwrap
import unicodedata

PARAGRAPH = """The sandbox runs    your code. It has no network,
and   it starts in milliseconds; every file you write is private.

A second paragraph with a verylongwordthatdoesnotfitinanyline_at_all and trailing-hyphen-ated-words."""
for part in PARAGRAPH.split('\n\n'):
    print(textwrap.fill(part, width=32, initial_indent='* ', subsequent_indent='  '))
print(textwrap.shorten(PARAGRAPH, 40, placeholder=' [...]'), textwrap.indent('a\n\nb', '> '), sep='\n')
print(textwrap.dedent('    def f():\n        return 1\n'))
template = string.Template('$who owes $$${amount} to ${to}')
print(template.substitute(who='Tim', amount=5, to='Ann'), template.safe_substitute(who='X'), template.get_identifiers())
try:
    template.substitute(who='Tim')
except KeyError as e:
    print('missing', e)
old = ['alpha', 'beta', 'gamma', 'delta']
new = ['alpha', 'betta', 'gamma', 'epsilon', 'delta']
print('\n'.join(difflib.unified_diff(old, new, 'old.txt', 'new.txt', lineterm='')))
print('\n'.join(difflib.ndiff(old[:2], new[:2])))
print(
    difflib.get_close_matches('appel', ['ape', 'apple', 'peach']),
    round(difflib.SequenceMatcher(None, 'abcd', 'bcde').ratio(), 3),
)
print(len(difflib.HtmlDiff().make_file(old, new).splitlines()))
for c in 'é€ñ½Ω😀Ⅷ':
    print(
        c,
        f'U+{ord(c):04X}',
        unicodedata.name(c),
        unicodedata.category(c),
        unicodedata.numeric(c, None),
        unicodedata.bidirectional(c),
    )
print([len(unicodedata.normalize(f, 'Åﬁ')) for f in ('NFC', 'NFD', 'NFKC', 'NFKD')], unicodedata.unidata_version)
print('straße'.casefold(), 'ǆ'.title(), 'İ'.lower().encode(), 'ﬁ'.upper(), '٣'.isdigit(), '²'.isdecimal(), 'x'.zfill(5))
print(
    '{:*^20}|{:>+8.3e}|{:#x}|{:_b}|{!r:>6}'.format('mid', 12345.678, 255, 1023, 'q'), '%-8s|%05d|%#o' % ('left', 42, 8)
)
print(string.capwords('hello wORLD'), str.maketrans('abc', 'xyz', 'd'), 'a\tb'.expandtabs(4), 'tEST'.swapcase())
print(unicodedata.lookup('NO SUCH CHARACTER'))
