import matplotlib.pyplot as plt
import networkx as nx

G = nx.karate_club_graph()
print(G, nx.density(G), nx.is_connected(G), nx.diameter(G), round(nx.average_clustering(G), 6))
rank = nx.pagerank(G)
for node in sorted(rank, key=rank.get, reverse=True)[:3]:
    print(
        f'{node:3d} pagerank {rank[node]:.5f} degree {G.degree[node]} betweenness {nx.betweenness_centrality(G)[node]:.5f}'
    )
communities = nx.community.greedy_modularity_communities(G)
print([len(c) for c in communities], round(nx.community.modularity(G, communities), 5))
print([sorted(c)[:3] for c in nx.community.louvain_communities(G, seed=1)][:2])
print(
    {k: round(v, 4) for k, v in list(nx.eigenvector_centrality(G).items())[:2]},
    round(nx.degree_assortativity_coefficient(G), 5),
)
roads = nx.DiGraph()
roads.add_weighted_edges_from([('A', 'B', 4), ('A', 'C', 2), ('C', 'B', 1), ('B', 'D', 5), ('C', 'D', 8)])
print(
    nx.shortest_path(roads, 'A', 'D', weight='weight'),
    nx.dijkstra_path_length(roads, 'A', 'D'),
    list(nx.topological_sort(roads)),
)
print(
    nx.maximum_flow_value(roads, 'A', 'D', capacity='weight'),
    list(nx.all_simple_paths(roads, 'A', 'D')),
    nx.to_pandas_adjacency(roads).loc['C'].tolist(),
)
print(
    nx.minimum_spanning_tree(roads.to_undirected()).edges(data='weight'),
    list(nx.bfs_edges(roads, 'A')),
    nx.is_directed_acyclic_graph(roads),
)
pos = nx.spring_layout(G, seed=42)
print(len(pos), pos[0].shape, nx.circular_layout(roads)['A'].round(6))
fig, ax = plt.subplots(figsize=(6, 6))
nx.draw_networkx(G, pos, node_color=[rank[n] for n in G], cmap='viridis', node_size=80, font_size=6, ax=ax)
fig.savefig('karate.png')
print(plt.imread('karate.png').shape, len(ax.texts), len(ax.collections))
nx.write_graphml(roads, 'roads.graphml')
print(
    nx.read_graphml('roads.graphml').number_of_edges(),
    nx.node_link_data(roads)['nodes'],
    nx.coloring.greedy_color(nx.cycle_graph(5)),
)
print(
    nx.erdos_renyi_graph(20, 0.2, seed=3).number_of_edges(),
    nx.barabasi_albert_graph(20, 2, seed=3).degree[0],
    '\n'.join(nx.generate_network_text(nx.path_graph(3))),
)
for action in (
    lambda: nx.find_cycle(roads),
    lambda: roads.add_edge('D', None),
    lambda: nx.shortest_path(roads, 'D', 'A'),
    lambda: nx.nx_agraph.graphviz_layout(roads),
):
    try:
        action()
    except Exception as e:
        print(type(e).__name__, e)
nx.shortest_path(roads, 'A', 'Z')
