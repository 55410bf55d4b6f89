import numpy as np
from scipy import linalg, sparse
from scipy.cluster.hierarchy import dendrogram, fcluster, linkage
from scipy.sparse.csgraph import connected_components, dijkstra, minimum_spanning_tree
from scipy.sparse.linalg import cg, eigsh, spsolve
from scipy.spatial import ConvexHull, Delaunay, KDTree, Voronoi, distance
from scipy.spatial.transform import Rotation

A = sparse.diags_array([-1, 2, -1], offsets=[-1, 0, 1], shape=(50, 50), format='csr')
print(repr(A), A.nnz)
print(A[:2, :3].toarray(), sparse.coo_array(([1, 2], ([0, 1], [1, 0]))))
b = np.ones(50)
x = spsolve(A.tocsc(), b)
print(x[[0, 25]].round(6), np.allclose(A @ x, b), cg(A, b, rtol=1e-10)[1])
print(np.sort(eigsh(A, k=2, which='SM')[0]).round(5), sparse.linalg.norm(A).round(6))
graph = sparse.csr_array([[0, 7, 3, 0], [0, 0, 1, 2], [0, 0, 0, 8], [0, 0, 0, 0]])
print(
    dijkstra(graph, indices=0),
    minimum_spanning_tree(graph).toarray().astype(int).tolist(),
    connected_components(graph)[0],
)
points = np.random.default_rng(2).random((30, 2))
hull = ConvexHull(points)
print(round(hull.volume, 6), round(hull.area, 6), sorted(hull.vertices.tolist()))
tree = KDTree(points)
d, i = tree.query([0.5, 0.5], k=3)
print(d.round(6), i, len(tree.query_pairs(0.1)), len(Delaunay(points).simplices), len(Voronoi(points).vertices))
print(
    distance.cdist([[0, 0]], [[3, 4], [1, 1]], 'cityblock'),
    distance.cosine([1, 0], [0, 1]),
    distance.pdist([[0], [2], [5]]),
)
Z = linkage(points[:8], 'ward')
print(fcluster(Z, 3, 'maxclust'), dendrogram(Z, no_plot=True)['leaves'])
print(
    Rotation.from_euler('z', 90, degrees=True).apply([1, 0, 0]).round(6), Rotation.from_quat([0, 0, 0, 1]).magnitude()
)
M = np.array([[2.0, 1], [1, 3]])
print(
    linalg.expm(M).round(4),
    linalg.sqrtm(M).round(5),
    linalg.lu(M)[2].round(5),
    linalg.toeplitz([1, 2, 3]).tolist(),
    linalg.det(linalg.hilbert(3)).round(8),
)
try:
    ConvexHull([[0, 0], [1, 1], [2, 2]])
except Exception as e:
    print(type(e).__name__, str(e).splitlines()[0])
print(spsolve(sparse.csc_array([[1.0, 1], [1, 1]]), [1.0, 2]))
linalg.cholesky(-M)
