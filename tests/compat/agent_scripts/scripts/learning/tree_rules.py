import matplotlib.pyplot as plt
import pandas as pd
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier, export_graphviz, export_text, plot_tree

weather = pd.DataFrame(
    {
        'outlook': [0, 0, 1, 2, 2, 2, 1, 0, 0, 2, 0, 1, 1, 2],
        'humidity': [85, 90, 86, 96, 80, 70, 65, 95, 70, 80, 70, 90, 75, 91],
        'windy': [0, 1, 0, 0, 0, 1, 1, 0, 0, 0, 1, 1, 0, 1],
        'play': ['no', 'no', 'yes', 'yes', 'yes', 'no', 'yes', 'no', 'yes', 'yes', 'yes', 'yes', 'yes', 'no'],
    }
)
X, y = weather.drop(columns='play'), weather['play']
tree = DecisionTreeClassifier(criterion='entropy', max_depth=3, random_state=0).fit(X, y)
print(export_text(tree, feature_names=list(X.columns), show_weights=True))
print(
    tree.get_depth(),
    tree.get_n_leaves(),
    dict(zip(X.columns, tree.feature_importances_.round(4).tolist(), strict=True)),
)
plt.figure(figsize=(6, 4))
print(len(plot_tree(tree, filled=True, class_names=list(tree.classes_))))
plt.savefig('tree.png')
print(export_graphviz(tree, feature_names=X.columns).splitlines()[:3])
path = tree.decision_path(X.iloc[[0]])
print(path.indices, tree.apply(X.iloc[[0]]), tree.cost_complexity_pruning_path(X, y).ccp_alphas.round(5))
base = [('lr', LogisticRegression()), ('dt', tree)]
for model in (
    BaggingClassifier(tree, 10, random_state=0),
    AdaBoostClassifier(n_estimators=10, random_state=0),
    ExtraTreesClassifier(20, random_state=0, n_jobs=2),
    VotingClassifier(base, voting='soft'),
    StackingClassifier(base, cv=2),
):
    print(type(model).__name__, round(model.fit(X, y).score(X, y), 4))
imp = permutation_importance(tree, X, y, n_repeats=5, random_state=0, n_jobs=-1)
print(imp.importances_mean.round(4))
try:
    import graphviz

    print(graphviz.Source(export_graphviz(tree)).render('tree_graph', format='png'))
except Exception as e:
    print(type(e).__name__, str(e).splitlines()[0])
DecisionTreeClassifier(max_depth=0).fit(X, y)
