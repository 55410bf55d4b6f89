"""Building, splitting, searching and formatting text."""

WORDS = "the quick brown fox jumps over the lazy dog while nobody is watching it run".split()


def run():
    lines = []
    for number in range(6000):
        word = WORDS[number % len(WORDS)]
        lines.append(f"{number:06d} {word.upper():>12} {number / 7:.3f} {word[::-1]}" + "!" * (number % 5))
    text = "\n".join(lines)
    total = 0
    for line in text.splitlines():
        number, word, share, rest = line.split()
        total += int(number) + len(word) + rest.count("!") + int(float(share))
        if rest.startswith("xof") or "eht" in rest:
            total += 1
    built = ""
    for line in lines[:3000]:
        built += line.replace("0", "zero").strip().title()
    letters = "".join(letter for letter in built if letter.isalpha())
    return [total, len(built), len(letters.casefold().encode()), text.find("005999")]
