"""Counts the words of a text and prints a small bar chart."""

import collections
import re
import string

TEXT = """It was the best of times, it was the worst of times, it was the age of wisdom, it was the age of
foolishness, it was the epoch of belief, it was the epoch of incredulity. Don't panic: it's only 1859's text!"""
words = re.findall(r"[a-z]+(?:'[a-z]+)?", TEXT.lower())
counts = collections.Counter(words)
width = max(map(len, counts))
for word, count in counts.most_common(7):
    print(f'{word:>{width}} {"#" * count} {count / len(words):.2%}')
print(len(words), len(counts), counts.total(), sorted(w for w, c in counts.items() if c == 1)[:5])
table = str.maketrans('', '', string.punctuation)
print(TEXT.translate(table).split()[-4:], TEXT.count('it'), TEXT.title()[:30], TEXT.swapcase()[:10])
bigrams = collections.Counter(zip(words, words[1:], strict=False))
print(bigrams.most_common(3))
print(collections.Counter('mississippi') - collections.Counter('miss'), +collections.Counter(a=1, b=-1))
print(counts['nothing'], counts.most_common()[-1])
