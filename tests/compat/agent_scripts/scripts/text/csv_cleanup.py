"""Reads a messy CSV file, cleans it and writes it in another dialect."""

import csv
import io

RAW = '''Name ;Age; City;Note
"Smith, J." ;42; Berlin ;"said ""hi"""
 Ann;n/a;München;"two
lines"
;;;
Bob;37;Paris
'''
rows = list(csv.reader(io.StringIO(RAW), delimiter=';', skipinitialspace=True))
header = [name.strip().lower() for name in rows[0]]
people = []
for row in rows[1:]:
    if not any(cell.strip() for cell in row):
        continue
    person = dict(zip(header, (cell.strip() for cell in row), strict=False))
    person['age'] = int(person['age']) if person['age'].isdigit() else None
    people.append(person)
print(people)
out = io.StringIO()
writer = csv.DictWriter(out, header, restval='-', quoting=csv.QUOTE_NONNUMERIC, lineterminator='\n')
writer.writeheader()
writer.writerows(people)
print(out.getvalue())
print(csv.Sniffer().sniff('a|b|c\n1|2|3\n').delimiter, csv.list_dialects(), csv.Sniffer().has_header('n,v\na,1\nb,2\n'))
for bad in (
    lambda: writer.writerow({'nope': 1}),
    lambda: list(csv.reader(['a"b"c,"d'], strict=True)),
    lambda: csv.writer(out, delimiter='xx'),
):
    try:
        bad()
    except (ValueError, csv.Error, TypeError) as error:
        print(type(error).__name__, error)
print(list(csv.reader(['1.5,"2",3'], quoting=csv.QUOTE_NONNUMERIC)) if False else next(csv.reader(['a,b'])))
