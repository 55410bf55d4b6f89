import csv
import io
import statistics
from collections import defaultdict
from itertools import groupby
from operator import itemgetter

RAW = 'region;product;units;price\nNorth;"Widget; large";10;2,50\nSouth;Gadget;3;19,99\nNorth;Gadget;1;19,99\nEast;"5"" pipe";7;4,00\n'
csv.register_dialect('euro', delimiter=';', quoting=csv.QUOTE_MINIMAL)
rows = list(csv.DictReader(io.StringIO(RAW), dialect='euro'))
for row in rows:
    row['total'] = int(row['units']) * float(row['price'].replace(',', '.'))
totals: dict[str, float] = defaultdict(float)
for region, group in groupby(sorted(rows, key=itemgetter('region')), key=itemgetter('region')):
    totals[region] = sum(r['total'] for r in group)
width = max(map(len, totals))
for region, total in sorted(totals.items(), key=lambda kv: -kv[1]):
    print(f'{region:<{width}} {total:>10.2f} {"#" * round(total / 5)}')
values = [r['total'] for r in rows]
print(statistics.mean(values), statistics.median(values), round(statistics.stdev(values), 6))
print(statistics.quantiles(values, n=4), statistics.fmean(values, weights=[1, 2, 3, 4]))
print(statistics.linear_regression([1, 2, 3, 4], [2.1, 3.9, 6.2, 7.8]), statistics.correlation([1, 2, 3], [3, 2, 1.5]))
print(
    statistics.NormalDist.from_samples(values).cdf(30),
    statistics.mode('abracadabra'),
    statistics.multimode([1, 1, 2, 2]),
)
with open('totals.csv', 'w', newline='') as f:
    writer = csv.DictWriter(f, ['region', 'total'], extrasaction='raise', lineterminator='\n')
    writer.writeheader()
    writer.writerows({'region': k, 'total': v} for k, v in totals.items())
print(open('totals.csv').read(), end='')
print(csv.Sniffer().sniff(RAW).delimiter, csv.Sniffer().has_header(RAW), csv.list_dialects())
try:
    writer.writerow({'region': 'x', 'oops': 1})
except ValueError as e:
    print('ValueError:', e)
print(statistics.mean([]))
