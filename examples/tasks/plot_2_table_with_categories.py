"""
A table with missing values and categories
==========================================

Rows of a customer table: numbers with gaps, categories, and the question who will cancel. The
columns are filled in, scaled and encoded by scikit-learn's transformers. `LinearSVCCV` fits them
within each fold, so that no held-out row leaks into the search.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from widemargin import LinearSVCCV

# %%
# A generated table. Short contracts and many calls to the hotline make customers leave; a tenth of
# the ages and fees is missing.
r = np.random.default_rng(0)
n = 3000
table = pd.DataFrame(
    {
        "age": r.integers(18, 80, n).astype(float),
        "monthly fee": r.gamma(4.0, 10.0, n),
        "hotline calls": r.poisson(1.5, n).astype(float),
        "contract": r.choice(["monthly", "one year", "two years"], n, p=[0.5, 0.3, 0.2]),
        "payment": r.choice(["card", "transfer", "invoice"], n),
    }
)
score = (
    0.8 * table["hotline calls"]
    + 0.02 * table["monthly fee"]
    + table["contract"].map({"monthly": 1.0, "one year": -0.5, "two years": -2.0})
)
y = np.where(score + r.logistic(size=n) > 2.5, "cancels", "stays")
for column in ("age", "monthly fee"):
    table.loc[r.random(n) < 0.1, column] = np.nan
print(table.head(4))

# %%
numbers = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
columns = make_column_transformer(
    (numbers, ["age", "monthly fee", "hotline calls"]),
    (OneHotEncoder(), ["contract", "payment"]),
    verbose_feature_names_out=False,
)
X, X_test, y, y_test = train_test_split(table, y, test_size=0.3, random_state=0)
model = LinearSVCCV(transformer=columns, cv=5).fit(X, y)
print(f"C = {model.C_:.3g}, accuracy on held-out rows {model.score(X_test, y_test):.3f}")
print(
    f"always answering '{pd.Series(y).mode()[0]}': {(y_test == pd.Series(y).mode()[0]).mean():.3f}"
)
print(model.certificate_)

# %%
# What speaks for staying, what for cancelling. Age and payment, which had no part in it, have
# weights near zero.
names = model.transformer_.get_feature_names_out()
weights = model.coef_[0]
order = np.argsort(weights)
figure, axis = plt.subplots(figsize=(7, 4), layout="constrained")
axis.barh(names[order], weights[order], color=np.where(weights[order] > 0, "#0b6e6e", "#c2571a"))
axis.axvline(0, color="black", linewidth=0.8)
axis.set(xlabel=f"weight (positive: {model.classes_[1]})")
plt.show()
