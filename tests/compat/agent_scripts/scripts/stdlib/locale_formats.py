import locale
import os
import time

print(locale.getlocale(), locale.getpreferredencoding(), locale.getencoding())
print(locale.setlocale(locale.LC_ALL, ''))
for name in ('C', 'en_US.UTF-8', 'de_DE.UTF-8', 'C.UTF-8', 'POSIX', 'xx_YY'):
    try:
        print(name, '->', locale.setlocale(locale.LC_ALL, name))
        print('  ', locale.format_string('%.2f', 1234567.891, grouping=True), locale.localeconv()['decimal_point'])
    except locale.Error as e:
        print(name, 'error:', e)
try:
    locale.setlocale(locale.LC_ALL, 'en_US.UTF-8')
    print(locale.currency(1234.5, grouping=True))
except (locale.Error, ValueError) as e:
    locale.setlocale(locale.LC_ALL, 'C')
    print(f'falling back: {1234.5:,.2f}', type(e).__name__)
print(sorted(['b', 'A', 'a', 'B', 'ä'], key=locale.strxfrm))
print(f'{1234567:n} {3.25:n}', os.environ.get('LANG'))
print(time.strftime('%A %B %x %X %p %c', time.gmtime(86400 * 200)))
print(locale.nl_langinfo(locale.CODESET), locale.nl_langinfo(locale.DAY_1), locale.nl_langinfo(locale.RADIXCHAR))
print(locale.normalize('fr_FR'), locale.strcoll('abc', 'abd') < 0)
print(locale.atof('3.5'), locale.delocalize('1,5'), locale.LC_MESSAGES, locale.LC_COLLATE)
