import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import NMF, PCA, FastICA, TruncatedSVD
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.manifold import MDS, TSNE, Isomap
from sklearn.preprocessing import StandardScaler

digits = load_digits(n_class=4)
X, y = digits.data, digits.target
print(X.shape, digits.images.shape, np.bincount(y), X.dtype)
Z = StandardScaler().fit_transform(X)
pca = PCA(n_components=10, svd_solver='full').fit(Z)
print(pca.explained_variance_ratio_.round(5), pca.explained_variance_ratio_.cumsum()[-1].round(5))
print('components for 90%:', PCA(0.9, svd_solver='full').fit(Z).n_components_)
back = pca.inverse_transform(pca.transform(Z))
print('reconstruction error', round(float(((Z - back) ** 2).mean()), 5))
print(TruncatedSVD(3, algorithm='arpack', random_state=0).fit(X).singular_values_.round(2))
embedded = TSNE(n_components=2, perplexity=20, init='pca', max_iter=300, random_state=0, n_jobs=1).fit_transform(
    X[:150]
)
print(embedded.shape, embedded.dtype, np.isfinite(embedded).all())
centers = np.array([embedded[y[:150] == k].mean(axis=0) for k in range(4)])
closest = ((embedded[:, None] - centers) ** 2).sum(-1).argmin(1)
print('t-SNE separates the digits:', (closest == y[:150]).mean() > 0.9)
print(
    LinearDiscriminantAnalysis(n_components=2).fit_transform(X, y).shape,
    Isomap(n_components=2).fit(X[:100]).embedding_.shape,
)
print(NMF(4, init='nndsvda', max_iter=400, random_state=0).fit(X).components_.shape)
print(FastICA(3, random_state=0, whiten='unit-variance').fit_transform(Z).std(axis=0).round(4))
TSNE(perplexity=30).fit_transform(X[:10])
