"""A small neural network in plain numpy, compared with sklearn."""

import numpy as np
from sklearn.neural_network import MLPClassifier, MLPRegressor

X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=float)
y = np.array([[0], [1], [1], [0]], dtype=float)


class Network:
    def __init__(self, hidden: int = 8, seed: int = 1) -> None:
        rng = np.random.default_rng(seed)
        self.w1, self.b1 = rng.normal(size=(2, hidden)), np.zeros(hidden)
        self.w2, self.b2 = rng.normal(size=(hidden, 1)), np.zeros(1)

    def forward(self, x: np.ndarray) -> np.ndarray:
        self.h = np.tanh(x @ self.w1 + self.b1)
        return 1 / (1 + np.exp(-(self.h @ self.w2 + self.b2)))

    def step(self, x: np.ndarray, target: np.ndarray, rate: float = 0.5) -> float:
        out = self.forward(x)
        delta = out - target
        back = (delta @ self.w2.T) * (1 - self.h**2)
        self.w2 -= rate * self.h.T @ delta
        self.b2 -= rate * delta.sum(0)
        self.w1 -= rate * x.T @ back
        self.b1 -= rate * back.sum(0)
        return float(-(target * np.log(out) + (1 - target) * np.log(1 - out)).mean())


net = Network()
for epoch in range(601):
    loss = net.step(X, y)
    if epoch % 200 == 0:
        print(f'epoch {epoch:4d} loss {loss:.4f}')
print(net.forward(X).round(2).ravel(), (net.forward(X) > 0.5).astype(int).ravel())
clf = MLPClassifier((6,), activation='tanh', solver='lbfgs', random_state=3, max_iter=500).fit(X, y.ravel())
print(clf.predict(X), clf.n_layers_, [w.shape for w in clf.coefs_], clf.out_activation_)
t = np.linspace(-1, 1, 60)[:, None]
reg = MLPRegressor(hidden_layer_sizes=(20,), solver='lbfgs', random_state=0, max_iter=2000).fit(
    t, np.sin(3 * t).ravel()
)
print(reg.score(t, np.sin(3 * t).ravel()) > 0.99)
clf.fit(X, y.ravel()[:3])
