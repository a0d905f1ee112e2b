"""
Classify text from raw documents
================================

Which library does a docstring come from? The documents are the docstrings of numpy, scipy and
scikit-learn, which are installed here anyway. TF-IDF turns them into sparse rows, `LinearSVCCV`
chooses C, and the weights say which words give a library away.
"""

import importlib
import inspect

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import train_test_split

from widemargin import LinearSVCCV

MODULES = {
    "numpy": ["numpy", "numpy.linalg", "numpy.fft", "numpy.ma", "numpy.random", "numpy.polynomial"],
    "scipy": ["linalg", "optimize", "signal", "special", "stats", "sparse", "ndimage", "spatial"],
    "scikit-learn": ["metrics", "linear_model", "ensemble", "preprocessing", "cluster", "datasets"],
}
PREFIXES = {"numpy": "", "scipy": "scipy.", "scikit-learn": "sklearn."}

# %%
# One document for each function or class. The names of the libraries themselves would be too easy,
# so they are removed.
texts, labels = [], []
for library, modules in MODULES.items():
    documents = set()
    for name in modules:
        for _, item in inspect.getmembers(importlib.import_module(PREFIXES[library] + name)):
            text = inspect.getdoc(item) if callable(item) else None
            if text and len(text) > 200:
                documents.add(text)
    texts += sorted(documents)
    labels += [library] * len(documents)
stop = ["numpy", "np", "scipy", "sklearn", "scikit", "learn"]
train, test, y_train, y_test = train_test_split(texts, labels, test_size=0.3, random_state=0)
vectorizer = TfidfVectorizer(
    sublinear_tf=True, min_df=3, stop_words=stop, token_pattern="[A-Za-z]{2,}"
)
X_train, X_test = vectorizer.fit_transform(train), vectorizer.transform(test)
print(f"{X_train.shape[0]} documents, {X_train.shape[1]} words")

# %%
# The search trains five folds over a grid of C, with warm starts.
model = LinearSVCCV(cv=5).fit(X_train, y_train)
print(f"C = {model.C_:.3g}, cross-validated accuracy {model.best_score_:.3f}")
print(f"accuracy on held-out documents {model.score(X_test, y_test):.3f}")
print(model.certificate_)

# %%
# The words with the largest weights. Each class has its own weight vector.
words = vectorizer.get_feature_names_out()
figure, axes = plt.subplots(1, 3, figsize=(10, 4), layout="constrained")
for axis, library, weights in zip(axes, model.classes_, model.coef_, strict=True):
    top = np.argsort(weights)[-12:]
    axis.barh(words[top], weights[top], color="#0b6e6e")
    axis.set_title(library)
figure.supxlabel("weight")
plt.show()
