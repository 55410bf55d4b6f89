import matplotlib.pyplot as plt
import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import (
    RocCurveDisplay,
    average_precision_score,
    balanced_accuracy_score,
    brier_score_loss,
    log_loss,
    matthews_corrcoef,
    precision_recall_curve,
    roc_auc_score,
    roc_curve,
)
from sklearn.model_selection import cross_val_predict, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import RobustScaler
from sklearn.svm import SVC

data = load_breast_cancer()
X_train, X_test, y_train, y_test = train_test_split(data.data, data.target, random_state=0)
model = make_pipeline(RobustScaler(), LogisticRegression(C=0.1, class_weight='balanced', max_iter=1000)).fit(
    X_train, y_train
)
score = model.predict_proba(X_test)[:, 1]
fpr, tpr, thresholds = roc_curve(y_test, score)
best = int(np.argmax(tpr - fpr))
print(
    f'AUC {roc_auc_score(y_test, score):.5f} AP {average_precision_score(y_test, score):.5f} log loss {log_loss(y_test, score):.5f}'
)
print(f'threshold {thresholds[best]:.4f} tpr {tpr[best]:.4f} fpr {fpr[best]:.4f} first {thresholds[0]}')
precision, recall, _ = precision_recall_curve(y_test, score)
print(precision[-3:], recall[:2], len(precision) > 10)
pred = (score > thresholds[best]).astype(int)
print(
    round(matthews_corrcoef(y_test, pred), 5),
    round(balanced_accuracy_score(y_test, pred), 5),
    round(brier_score_loss(y_test, score), 5),
)
RocCurveDisplay.from_estimator(model, X_test, y_test)
plt.savefig('roc.png')
dummy = DummyClassifier(strategy='most_frequent').fit(X_train, y_train)
print('dummy', round(dummy.score(X_test, y_test), 4))
oof = cross_val_predict(model, data.data, data.target, cv=3, method='decision_function', n_jobs=-1)
print(oof.shape, round(roc_auc_score(data.target, oof), 4))
svc = CalibratedClassifierCV(make_pipeline(RobustScaler(), SVC()), cv=3).fit(X_train, y_train)
print(round(svc.score(X_test, y_test), 4))
print(roc_auc_score([1, 1], [0.2, 0.4]))
roc_curve([0, 1, 2], [0.1, 0.2, 0.3])
