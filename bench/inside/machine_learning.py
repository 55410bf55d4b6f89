"""Load, split, fit, plot, report: what a script with scikit-learn usually does."""

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import classification_report, confusion_matrix, roc_auc_score
from sklearn.model_selection import cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

bunch = load_breast_cancer(as_frame=True)
frame = bunch.frame.rename(columns=lambda name: name.replace(" ", "_"))
print(frame.groupby("target")[["mean_radius", "mean_texture"]].mean().round(3))

x, y = frame.drop(columns="target"), frame["target"]
x_train, x_test, y_train, y_test = train_test_split(x, y, test_size=0.25, random_state=0, stratify=y)

models = {
    "logistic regression": make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
    "random forest": RandomForestClassifier(100, random_state=0),
}
for name, model in models.items():
    scores = cross_val_score(model, x_train, y_train, cv=5)
    model.fit(x_train, y_train)
    print(f"{name}: {scores.mean():.4f}, AUC {roc_auc_score(y_test, model.predict_proba(x_test)[:, 1]):.4f}")
    print(confusion_matrix(y_test, model.predict(x_test)))

forest = models["random forest"]
order = np.argsort(forest.feature_importances_)[-10:]
figure, axes = plt.subplots(figsize=(6, 4))
axes.barh(x.columns[order], forest.feature_importances_[order])
axes.set_title("What the forest looks at")
figure.tight_layout()
figure.savefig("importances.png")
print(pd.Series(forest.feature_importances_, x.columns).nlargest(3).round(6).to_string())
print(classification_report(y_test, forest.predict(x_test)))
