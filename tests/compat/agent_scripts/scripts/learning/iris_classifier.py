import numpy as np
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, classification_report, confusion_matrix
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

X, y = load_iris(return_X_y=True, as_frame=True)
print(X.head(), X.shape, y.value_counts().to_dict())
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=42, stratify=y)
model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=500))
model.fit(X_train, y_train)
pred = model.predict(X_test)
print(model)
print(f'accuracy: {accuracy_score(y_test, pred):.4f}')
print(confusion_matrix(y_test, pred))
print(classification_report(y_test, pred, target_names=load_iris().target_names))
print(model[-1].coef_.round(3), model.classes_, model.n_features_in_)
flower = [[5.1, 3.5, 1.4, 0.2]]
print(load_iris().target_names[model.predict(flower)[0]], np.round(model.predict_proba(flower), 4))
model.predict([[1.0, 2.0]])
