"""DNA helpers as for a small bioinformatics task."""

from __future__ import annotations

import textwrap
from collections import Counter
from itertools import product
from pathlib import Path

import numpy as np

BASES = 'TCAG'
CODONS = dict(
    zip(
        map(''.join, product(BASES, repeat=3)),
        'FFLLSSSSYY**CC*WLLLLPPPPHHQQRRRRIIIMTTTTNNKKSSRRVVVVAAAADDEEGGGG',
        strict=True,
    )
)


def translate(dna: str, to_stop: bool = True) -> str:
    protein = ''.join(CODONS[dna[i : i + 3]] for i in range(0, len(dna) - len(dna) % 3, 3))
    return protein.split('*')[0] if to_stop else protein


def reverse_complement(dna: str) -> str:
    return dna.translate(str.maketrans('ACGT', 'TGCA'))[::-1]


def align(a: str, b: str, match: int = 1, mismatch: int = -1, gap: int = -2) -> tuple[int, str, str]:
    score = np.zeros((len(a) + 1, len(b) + 1), dtype=int)
    score[:, 0], score[0] = gap * np.arange(len(a) + 1), gap * np.arange(len(b) + 1)
    for i, j in product(range(1, len(a) + 1), range(1, len(b) + 1)):
        diagonal = score[i - 1, j - 1] + (match if a[i - 1] == b[j - 1] else mismatch)
        score[i, j] = max(diagonal, score[i - 1, j] + gap, score[i, j - 1] + gap)
    left, right, i, j = '', '', len(a), len(b)
    while i or j:
        if i and j and score[i, j] == score[i - 1, j - 1] + (match if a[i - 1] == b[j - 1] else mismatch):
            left, right, i, j = a[i - 1] + left, b[j - 1] + right, i - 1, j - 1
        elif i and score[i, j] == score[i - 1, j] + gap:
            left, right, i = a[i - 1] + left, '-' + right, i - 1
        else:
            left, right, j = '-' + left, b[j - 1] + right, j - 1
    return int(score[-1, -1]), left, right


rng = np.random.default_rng(42)
genes = {f'gene{i}': 'ATG' + ''.join(rng.choice(list('ACGT'), 57)) for i in range(3)}
Path('genes.fasta').write_text(''.join(f'>{name}\n{textwrap.fill(seq, 40)}\n' for name, seq in genes.items()))
records = {
    name: ''.join(lines)
    for name, *lines in (block.split('\n') for block in Path('genes.fasta').read_text().split('>')[1:])
}
for name, seq in records.items():
    print(
        name,
        len(seq),
        f'GC {100 * (seq.count("G") + seq.count("C")) / len(seq):.1f}%',
        translate(seq),
        dict(Counter(seq).most_common(2)),
    )
print(reverse_complement('ATGCC'), *align('GATTACA', 'GCATGCA'), sep='\n')
print(translate('ATGNNN'))
