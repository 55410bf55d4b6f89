"""Graph searches by hand and with networkx."""

import heapq
from collections import deque

import networkx as nx

EDGES = [
    ('a', 'b', 4),
    ('a', 'c', 2),
    ('b', 'c', 1),
    ('b', 'd', 5),
    ('c', 'd', 8),
    ('c', 'e', 10),
    ('d', 'e', 2),
    ('d', 'f', 6),
    ('e', 'f', 3),
]
near = {}
for one, two, weight in EDGES:
    near.setdefault(one, {})[two] = weight
    near.setdefault(two, {})[one] = weight


def dijkstra(start):
    best, queue = {start: 0}, [(0, start)]
    while queue:
        cost, node = heapq.heappop(queue)
        if cost > best[node]:
            continue
        for other, weight in near[node].items():
            if cost + weight < best.get(other, float('inf')):
                best[other] = cost + weight
                heapq.heappush(queue, (best[other], other))
    return best


def levels(start):
    seen, queue = {start: 0}, deque([start])
    while queue:
        node = queue.popleft()
        for other in sorted(near[node]):
            if other not in seen:
                seen[other] = seen[node] + 1
                queue.append(other)
    return seen


print(dijkstra('a'), levels('f'))
graph = nx.Graph()
graph.add_weighted_edges_from(EDGES)
print(nx.dijkstra_path(graph, 'a', 'f'), nx.shortest_path_length(graph, 'a', 'f', weight='weight'), nx.diameter(graph))
print(
    sorted(nx.minimum_spanning_tree(graph).edges(data='weight')),
    nx.maximum_flow_value(nx.DiGraph(graph), 'a', 'f', capacity='weight'),
)
print(
    {n: round(v, 4) for n, v in nx.betweenness_centrality(graph).items()},
    {n: round(v, 4) for n, v in nx.pagerank(graph).items()},
)
print(
    [sorted(c) for c in nx.community.greedy_modularity_communities(graph)],
    nx.is_bipartite(graph),
    nx.graph_clique_number(graph) if hasattr(nx, 'graph_clique_number') else max(map(len, nx.find_cliques(graph))),
)
order = nx.DiGraph(
    [('shirt', 'tie'), ('tie', 'jacket'), ('trousers', 'shoes'), ('trousers', 'belt'), ('belt', 'jacket')]
)
print(
    list(nx.lexicographical_topological_sort(order)),
    list(nx.topological_generations(order)),
    nx.dag_longest_path(order),
)
for bad in (
    lambda: nx.shortest_path(graph, 'a', 'z'),
    lambda: list(nx.topological_sort(nx.DiGraph([(1, 2), (2, 1)]))),
    lambda: nx.find_cycle(order),
):
    try:
        bad()
    except nx.NetworkXException as error:
        print(type(error).__name__, error)
