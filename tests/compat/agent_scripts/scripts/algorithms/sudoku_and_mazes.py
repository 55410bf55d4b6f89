"""Backtracking: a sudoku, a maze, words in a grid."""

import itertools

PUZZLE = '530070000600195000098000060800060003400803001700020006060000280000419005000080079'


def free(board, place):
    row, column = divmod(place, 9)
    used = set(board[row * 9 : row * 9 + 9]) | set(board[column::9])
    corner = row // 3 * 27 + column // 3 * 3
    used |= {board[corner + r * 9 + c] for r in range(3) for c in range(3)}
    return [digit for digit in '123456789' if digit not in used]


def solve(board):
    holes = [(len(free(board, place)), place) for place, digit in enumerate(board) if digit == '0']
    if not holes:
        return board
    _, place = min(holes)
    for digit in free(board, place):
        if found := solve(board[:place] + digit + board[place + 1 :]):
            return found
    return None


answer = solve(PUZZLE)
for row in itertools.batched(answer, 9):
    print(' '.join(row))
MAZE = """\
#########
#S..#...#
#.#.#.#.#
#.#...#E#
#########""".splitlines()
cells = {(r, c): x for r, line in enumerate(MAZE) for c, x in enumerate(line)}
start = next(p for p, x in cells.items() if x == 'S')
paths = [[start]]
seen = {start}
while paths:
    path = paths.pop(0)
    if cells[path[-1]] == 'E':
        print(len(path) - 1, path[-3:])
        break
    r, c = path[-1]
    for step in ((r + 1, c), (r - 1, c), (r, c + 1), (r, c - 1)):
        if cells.get(step, '#') != '#' and step not in seen:
            seen.add(step)
            paths.append([*path, step])
print(
    [''.join(p) for p in itertools.permutations('abc', 2)],
    list(itertools.pairwise('abcd')),
    list(itertools.accumulate([3, 1, 2], max)),
)
print(
    [(k, list(g)) for k, g in itertools.groupby('aabbbc')],
    list(itertools.islice(itertools.count(5, 3), 3)),
    list(itertools.product('ab', repeat=2))[:3],
)
