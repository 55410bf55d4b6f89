import bisect
import heapq
from functools import cmp_to_key
from graphlib import CycleError, TopologicalSorter
from queue import LifoQueue, PriorityQueue
from types import MappingProxyType

tasks = [(3, 'write'), (1, 'plan'), (2, 'design'), (1, 'ask')]
heapq.heapify(tasks)
heapq.heappush(tasks, (0, 'coffee'))
print([heapq.heappop(tasks) for _ in range(len(tasks))])
print(
    heapq.nlargest(2, [5, 1, 9, 3]),
    heapq.nsmallest(2, ['pear', 'fig', 'apple'], key=len),
    list(heapq.merge([1, 4], [2, 3], reverse=False)),
)
if hasattr(heapq, 'heapify_max'):
    numbers = [3, 1, 4, 1, 5]
    heapq.heapify_max(numbers)
    print(heapq.heappop_max(numbers), numbers[0])
grades = [60, 70, 80, 90]
print(
    [('FDCBA'[bisect.bisect(grades, s)]) for s in (33, 60, 77, 89, 100)],
    bisect.bisect_left([{'k': 1}, {'k': 5}], 3, key=lambda d: d['k']),
)
ordered: list[float] = []
for value in (2.5, -1, 9, 0):
    bisect.insort(ordered, value)
print(
    ordered, sorted('b2 A10 a9'.split(), key=cmp_to_key(lambda a, b: (a.lower() > b.lower()) - (a.lower() < b.lower())))
)
graph = {'deploy': {'test', 'build'}, 'test': {'build'}, 'build': {'fetch'}}
print(list(TopologicalSorter(graph).static_order()))
sorter = TopologicalSorter({'a': ['b'], 'b': ['c'], 'c': ['a']})
try:
    sorter.prepare()
except CycleError as e:
    print(e.args[0], len(e.args[1]))
queue: PriorityQueue = PriorityQueue(maxsize=2)
queue.put((2, 'b'))
queue.put((1, 'a'))
print(queue.full(), queue.get(), queue.qsize(), LifoQueue().empty())
settings = MappingProxyType({'debug': True})
try:
    settings['debug'] = False
except TypeError as e:
    print(e)
try:
    heapq.heappush([(1, {})], (1, {}))
except TypeError as e:
    print(e)
print(*sorted([3, 'a', None]))
