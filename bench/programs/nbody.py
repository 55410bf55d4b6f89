"""Gravity between five bodies: float arithmetic on attributes of lists."""

PAIRS = [(i, j) for i in range(5) for j in range(i)]


def bodies():
    # mass, position, velocity: made-up numbers of the right magnitude for stable orbits.
    system = [[1000.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]]
    for index in range(1, 5):
        radius = 10.0 * index
        speed = (1000.0 / radius) ** 0.5
        system.append([1.0 / index, radius, 0.0, 0.1 * index, 0.0, speed, 0.05 * index])
    return system


def advance(system, steps, dt):
    for _ in range(steps):
        for i, j in PAIRS:
            a, b = system[i], system[j]
            dx, dy, dz = a[1] - b[1], a[2] - b[2], a[3] - b[3]
            squared = dx * dx + dy * dy + dz * dz
            factor = dt / (squared * squared**0.5)
            pull, push = b[0] * factor, a[0] * factor
            a[4] -= dx * pull
            a[5] -= dy * pull
            a[6] -= dz * pull
            b[4] += dx * push
            b[5] += dy * push
            b[6] += dz * push
        for body in system:
            body[1] += dt * body[4]
            body[2] += dt * body[5]
            body[3] += dt * body[6]


def energy(system):
    total = sum(0.5 * m * (vx * vx + vy * vy + vz * vz) for m, _, _, _, vx, vy, vz in system)
    for i, j in PAIRS:
        a, b = system[i], system[j]
        distance = ((a[1] - b[1]) ** 2 + (a[2] - b[2]) ** 2 + (a[3] - b[3]) ** 2) ** 0.5
        total -= a[0] * b[0] / distance
    return total


def run():
    system = bodies()
    advance(system, 4000, 0.001)
    return round(energy(system), 6)
