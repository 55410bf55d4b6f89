"""Pancake flips over all permutations of eight: list slices, indexing, integer loops."""


def flips_of(order):
    count = 0
    while first := order[0]:
        order[: first + 1] = order[first::-1]
        count += 1
    return count


def run(size=8):
    order = list(range(size))
    stack = [0] * size
    checksum, most, index, sign = 0, 0, 1, 1
    # Heap's algorithm, without recursion.
    while index < size:
        if stack[index] < index:
            other = 0 if index % 2 == 0 else stack[index]
            order[other], order[index] = order[index], order[other]
            flips = flips_of(order[:])
            most = max(most, flips)
            checksum += sign * flips
            sign = -sign
            stack[index] += 1
            index = 1
        else:
            stack[index] = 0
            index += 1
    return [checksum, most]
