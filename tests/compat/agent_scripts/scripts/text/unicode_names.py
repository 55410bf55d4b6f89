"""Normalises names, sorts them and makes slugs."""

import unicodedata

from slugify import slugify
from text_unidecode import unidecode

NAMES = ['Zoë', 'Ångström', 'naïve café', 'Straße', 'İstanbul', 'Łódź', '東京', 'Ελλάδα', '🎉 party']
for name in NAMES:
    forms = [len(unicodedata.normalize(form, name)) for form in ('NFC', 'NFD', 'NFKC', 'NFKD')]
    print(f'{name!a:<30}', forms, name.casefold().encode().hex()[:16], unidecode(name), slugify(name, max_length=12))
print(sorted(NAMES), sorted(NAMES, key=lambda n: unicodedata.normalize('NFKD', n).casefold())[:3])
print(
    [unicodedata.name(c, '?') for c in 'ß½🎉\x07'],
    unicodedata.numeric('½'),
    unicodedata.category('€'),
    unicodedata.bidirectional('א'),
)
print('ß'.upper(), 'ŉ'.upper(), 'ﬁ'.title(), 'Σας'.lower(), 'ΑΣ'.lower(), 'i̇'.upper() == 'İ')
print('٣'.isdigit(), int('٣٤'), '²'.isdecimal(), '²'.isdigit(), 'Ⅷ'.isnumeric(), 'ª'.isalpha(), '_a1'.isidentifier())
print(
    unicodedata.unidata_version,
    unicodedata.east_asian_width('東'),
    unicodedata.combining('\u0301'),
    unicodedata.mirrored('('),
)
