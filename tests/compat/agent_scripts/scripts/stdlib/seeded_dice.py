import random
import secrets
import string
import time
import timeit
from collections import Counter

random.seed(42)
print([random.randint(1, 6) for _ in range(10)], random.random(), random.uniform(1, 2))
print(
    random.sample(range(100), 5),
    random.choices('abc', weights=[5, 1, 1], k=8),
    random.gauss(0, 1),
    random.betavariate(2, 3),
)
deck = [f'{rank}{suit}' for suit in '♠♥♦♣' for rank in '23456789TJQKA']
random.shuffle(deck)
print(' '.join(deck[:8]), random.getrandbits(70), random.randbytes(4).hex())
rng = random.Random('a string seed')
print(rng.triangular(0, 10, 3), rng.expovariate(0.5), rng.binomialvariate(20, 0.3), rng.vonmisesvariate(0, 4))
state = rng.getstate()
first = rng.random()
rng.setstate(state)
print(first == rng.random(), random.Random(1.5).randrange(10**30))
print(Counter(sum(rng.choices(range(1, 7), k=2)) for _ in range(1000)).most_common(3))
alphabet = string.ascii_letters + string.digits
password = ''.join(secrets.choice(alphabet) for _ in range(20))
print(len(password), set(password) <= set(alphabet), random.SystemRandom().randint(5, 5))
start = time.perf_counter()
time.sleep(0.05)
elapsed = time.perf_counter() - start
print(
    0.04 < elapsed < 5,
    time.monotonic_ns() > 0,
    time.process_time() >= 0,
    timeit.timeit('sum(range(10))', number=100) > 0,
)
print(
    time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime(1e9)),
    time.tzname,
    time.timezone,
    time.mktime((2024, 1, 1, 0, 0, 0, 0, 1, -1)),
)
print(time.get_clock_info('monotonic').monotonic, time.strptime('30 Nov 2023', '%d %b %Y')[:3], time.ctime(0))
for name in ('CLOCK_MONOTONIC', 'CLOCK_PROCESS_CPUTIME_ID', 'CLOCK_THREAD_CPUTIME_ID', 'CLOCK_BOOTTIME', 'CLOCK_TAI'):
    try:
        print(name, time.clock_gettime(getattr(time, name)) >= 0)
    except (AttributeError, OSError) as e:
        print(name, type(e).__name__, e)
try:
    time.sleep(-1)
except ValueError as e:
    print(e)
print(hash('stable') == hash('stable'), hash(1.5), hash(10**20), hash((1, 2, 3)), hash(-1), hash(float('inf')))
random.choice([])
