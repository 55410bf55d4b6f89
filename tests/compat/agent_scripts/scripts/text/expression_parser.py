"""A tokenizer and a parser for arithmetic, and the same through ast."""

import ast
import operator
import re
import tokenize
from io import StringIO

TOKEN = re.compile(r'\s*(?:(?P<number>\d+\.?\d*(?:e[+-]?\d+)?)|(?P<op>\*\*|[-+*/()%]))')


def tokens(text):
    place = 0
    text = text.rstrip()
    while place < len(text):
        match = TOKEN.match(text, place)
        if not match:
            raise SyntaxError(f'unexpected {text[place]!r} at {place}')
        yield match.lastgroup, match[match.lastgroup]
        place = match.end()
    yield 'end', ''


class Parser:
    LEVELS = ({'+': operator.add, '-': operator.sub}, {'*': operator.mul, '/': operator.truediv, '%': operator.mod})

    def __init__(self, text):
        self.tokens = list(tokens(text))

    def parse(self):
        value = self.level(0)
        if self.tokens[0][0] != 'end':
            raise SyntaxError(f'left over: {self.tokens[0][1]}')
        return value

    def level(self, depth):
        if depth == 2:
            return self.power()
        value = self.level(depth + 1)
        while (step := self.LEVELS[depth].get(self.tokens[0][1])) is not None:
            self.tokens.pop(0)
            value = step(value, self.level(depth + 1))
        return value

    def power(self):
        kind, text = self.tokens.pop(0)
        if text == '-':
            return -self.power()
        if text == '(':
            value = self.level(0)
            if self.tokens.pop(0)[1] != ')':
                raise SyntaxError('missing )')
        elif kind == 'number':
            value = float(text) if '.' in text or 'e' in text else int(text)
        else:
            raise SyntaxError(f'unexpected {text or kind}')
        if self.tokens[0][1] == '**':
            self.tokens.pop(0)
            value **= self.power()
        return value


for text in ('1 + 2 * 3', '-(2 + 3) ** 2 / 4', '2 ** 3 ** 2', '10 % 4 - 1.5e1', '7 / 0', '2 +', '3 $ 4', '(1', '1 2'):
    try:
        print(f'{text:<20}', Parser(text).parse())
    except (SyntaxError, ZeroDivisionError) as error:
        print(f'{text:<20}', type(error).__name__, error)
print(ast.dump(ast.parse('a[1:2] if not x else -y', mode='eval'), indent=1))
print(
    ast.unparse(ast.parse('def f(a,*,b=1)->int:\n  return (a+b)*2')),
    ast.literal_eval("{'a': [1, (2.5, None)], 'b': {1}}"),
)
print(
    [
        (tokenize.tok_name[t.type], t.string)
        for t in tokenize.generate_tokens(StringIO('x = f"{y!r:>5}"  # c\n').readline)
    ]
)
