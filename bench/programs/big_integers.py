"""Integers of thousands of digits: digits of pi, powers, division, conversion to text."""


def pi_digits(count):
    # Machin's formula in fixed point.
    one = 10 ** (count + 10)

    def arctan_inverse(x):
        term = total = one // x
        square, divisor, sign = x * x, 3, -1
        while term:
            term //= square
            total += sign * (term // divisor)
            sign, divisor = -sign, divisor + 2
        return total

    return 4 * (4 * arctan_inverse(5) - arctan_inverse(239)) // 10**10


def run():
    pi = pi_digits(4000)
    text = str(pi)
    factorial = 1
    for number in range(2, 4000):
        factorial *= number
    remainder = factorial % (pi | 1)
    power = pow(pi, (1 << 2203) - 1, (1 << 2281) - 1)
    back = int(text[:4000]) * 3**5000
    return [text[-10:], remainder % 10**12, power % 10**12, back.bit_length(), factorial.bit_count()]
