"""A few steps of Conway's game of life."""

import sys

import numpy as np


def step(board: np.ndarray) -> np.ndarray:
    neighbours = sum(
        np.roll(board, (dy, dx), axis=(0, 1)) for dy in (-1, 0, 1) for dx in (-1, 0, 1) if (dy, dx) != (0, 0)
    )
    return ((neighbours == 3) | ((board == 1) & (neighbours == 2))).astype(np.uint8)


def show(board: np.ndarray) -> str:
    return '\n'.join(''.join('█' if cell else '·' for cell in row) for row in board)


def main() -> int:
    board = np.zeros((8, 8), dtype=np.uint8)
    board[1:4, 1:4] = [[0, 1, 0], [0, 0, 1], [1, 1, 1]]
    for generation in range(5):
        print(f'generation {generation}: {board.sum()} alive')
        print(show(board))
        board = step(board)
    soup = np.random.default_rng(0).integers(0, 2, (64, 64), dtype=np.uint8)
    history = []
    for _ in range(100):
        soup = step(soup)
        history.append(int(soup.sum()))
    print(history[::10], soup.dtype)
    assert history[-1] > 0, 'all dead'
    return 0 if board.sum() == 5 else 1


if __name__ == '__main__':
    sys.exit(main() or 3)
