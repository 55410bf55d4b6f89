from __future__ import annotations

import sys

import numpy as np
import pandas as pd
from scipy.sparse import csr_matrix
from scipy.sparse.linalg import svds
from sklearn.metrics import pairwise_distances
from sklearn.metrics.pairwise import cosine_similarity
from sklearn.neighbors import NearestNeighbors

ratings = pd.DataFrame(
    [
        ('ann', 'Alien', 5),
        ('ann', 'Heat', 4),
        ('bob', 'Alien', 4),
        ('bob', 'Up', 1),
        ('cid', 'Up', 5),
        ('cid', 'Coco', 4),
        ('dee', 'Heat', 5),
        ('dee', 'Alien', 5),
        ('dee', 'Coco', 2),
        ('eve', 'Up', 4),
    ],
    columns=['user', 'film', 'stars'],
)
matrix = ratings.pivot(index='user', columns='film', values='stars').fillna(0)
print(matrix)
similarity = pd.DataFrame(cosine_similarity(matrix), index=matrix.index, columns=matrix.index)
print(similarity.round(4))


def recommend(user: str, k: int = 2) -> list[tuple[str, float]]:
    if user not in matrix.index:
        raise KeyError(f'unknown user {user!r}')
    weights = similarity[user].drop(user)
    scores = matrix.drop(user).T @ weights / weights.sum()
    unseen = matrix.columns[matrix.loc[user] == 0]
    return [(film, round(float(score), 4)) for film, score in scores[unseen].nlargest(k).items()]


for name in matrix.index:
    print(name, recommend(name))
u, s, vt = svds(csr_matrix(matrix.to_numpy()), k=2, random_state=0)
print(np.sort(s)[::-1].round(4), np.abs((u * s) @ vt).round(3)[0])
nn = NearestNeighbors(n_neighbors=2, metric='cosine').fit(matrix.T)
distances, index = nn.kneighbors(matrix.T[:1])
print(distances.round(4), [matrix.columns[i] for i in index[0]])
print(pairwise_distances(matrix[:2], metric='manhattan'))
try:
    recommend('zoe')
except KeyError as e:
    print('error:', e, file=sys.stderr)
    sys.exit('no such user')
