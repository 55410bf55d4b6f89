import os
import sys

QUESTIONS = [('2 + 2', '4'), ('capital of France', 'Paris')]


def ask(prompt: str, default: str | None = None) -> str | None:
    try:
        return input(f'{prompt}? ')
    except EOFError as e:
        print(f'[no input: {e}]')
        return default


score = 0
for question, answer in QUESTIONS:
    score += ask(question, answer) == answer
print(f'{score}/{len(QUESTIONS)}')
print(repr(sys.stdin.readline()), repr(sys.stdin.read()), list(sys.stdin), sys.stdin.closed, sys.stdin.isatty())
try:
    print(os.get_terminal_size())
except OSError as e:
    print(type(e).__name__, e.errno)
try:
    import readline

    print('readline', bool(readline.backend))
except ImportError as e:
    print('ImportError', e)
try:
    import termios
    import tty

    tty.setcbreak(sys.stdin.fileno())
except Exception as e:
    print(type(e).__name__, e)
sys.stdout.write('no newline')
sys.stdout.flush()
sys.stderr.write('done\n')
choice = input('\nContinue? [y/n] ')
print('unreachable', choice)
