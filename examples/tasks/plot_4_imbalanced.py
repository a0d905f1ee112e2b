"""
Imbalanced data: find the few
=============================

One transaction in a hundred is fraud. A classifier that minimises the plain loss finds almost none
of them at its threshold of zero. There are two ways out: ``class_weight`` makes a missed fraud cost
more, and the decision values rank transactions, so that a lower threshold can be chosen.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_classification
from sklearn.metrics import average_precision_score, precision_recall_curve, recall_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from widemargin import LinearSVC

X, y = make_classification(
    40_000, 30, n_informative=8, weights=[0.99], class_sep=0.8, flip_y=0.001, random_state=1
)
X, X_test, y, y_test = train_test_split(X, y, stratify=y, random_state=0)
scaler = StandardScaler().fit(X)
X, X_test = scaler.transform(X), scaler.transform(X_test)
print(f"{y.sum()} of {len(y)} transactions are fraud")

# %%
models = {}
for name, class_weight in {"equal": None, "fraud x 10": {1: 10}, "balanced": "balanced"}.items():
    models[name] = LinearSVC(class_weight=class_weight).fit(X, y)
    predicted = models[name].predict(X_test)
    found = recall_score(y_test, predicted)
    print(f"{name:11} finds {found:.0%} of the frauds, with {(predicted == 1).sum():4} alarms")

# %%
# Each curve is one model at every threshold, the dot its own threshold of zero. Weights move the
# dot to the right. They do not improve the ranking here: at any number of alarms, the model with
# equal weights and a lower threshold finds at least as many frauds.
figure, axis = plt.subplots(figsize=(6.5, 4.5), layout="constrained")
for number, (name, model) in enumerate(models.items()):
    scores = model.decision_function(X_test)
    precision, recall, threshold = precision_recall_curve(y_test, scores)
    area = average_precision_score(y_test, scores)
    axis.plot(recall, precision, f"C{number}", label=f"{name}: average precision {area:.2f}")
    at_zero = int((threshold < 0).sum())
    axis.plot(recall[at_zero], precision[at_zero], f"C{number}o", markersize=9)
axis.set(
    xlabel="share of frauds found (recall)", ylabel="share of alarms that are fraud (precision)"
)
axis.legend()
plt.show()
