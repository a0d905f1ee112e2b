"""
Chunking sentences with a conditional random field
==================================================

Chunking finds the phrases of a sentence: ``B-NP`` begins a noun phrase, ``I-NP`` continues it.
Words are ambiguous (*plants*, *saw* and *run* are nouns and verbs), so labels depend on their
neighbours. The sentences come from a small grammar; `load_conll` reads files of
real ones, such as CoNLL-2000.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import ConfusionMatrixDisplay

from widemargin import SequenceCRF, span_f1

LEXICON = {
    "DT": "the a this that every some",
    "JJ": "old fast light green open little long kind",
    "NN": "plant saw run light dog house watch story river walk answer start",
    "NNS": "plants runs lights dogs walks answers stories starts",
    "PRP": "she he they we that this",
    "VBD": "saw ran watched answered lit left",
    "VBZ": "plants runs walks answers starts lights",
    "VB": "plant run walk answer start open light watch",
    "MD": "will can may must",
    "RB": "fast often never long still",
    "IN": "in on after before near that",
}
LEXICON = {tag: words.split() for tag, words in LEXICON.items()}
random = np.random.default_rng(0)


def noun_phrase():
    if random.random() < 0.25:
        return ["PRP"]
    front = ["DT"] if random.random() < 0.6 else []
    adjectives = ["JJ"] * int(random.integers(0, 3))
    return front + adjectives + [str(random.choice(["NN", "NNS"]))]


def verb_phrase():
    front = ["MD", "VB"] if random.random() < 0.3 else [str(random.choice(["VBD", "VBZ"]))]
    return (["RB"] if random.random() < 0.3 else []) + front


def sentence():
    """Return the words of a sentence and their labels."""
    phrases = [("NP", noun_phrase()), ("VP", verb_phrase())]
    if random.random() < 0.7:
        phrases.append(("NP", noun_phrase()))
    while random.random() < 0.5:
        phrases += [("PP", ["IN"]), ("NP", noun_phrase())]
    if random.random() < 0.2:
        phrases.append(("ADVP", ["RB"]))
    words = [random.choice(LEXICON[tag]) for _, tags in phrases for tag in tags]
    labels = [f"{'I' if t else 'B'}-{kind}" for kind, tags in phrases for t in range(len(tags))]
    return words, labels


def features(words):
    """Return a dictionary for each word; what stands around it comes in by the labels alone."""
    return [{"word": word, "ending": word[-1]} for word in words]


data = [sentence() for _ in range(800)]
X = [features(words) for words, _ in data]
y = [labels for _, labels in data]
X_train, y_train, X_test, y_test = X[:400], y[:400], X[400:], y[400:]

# %%
# The transitions are what makes labels depend on each other.
crf = SequenceCRF(C=1.0).fit(X_train, y_train)
found = crf.predict(X_test)
print(f"token accuracy {crf.score(X_test, y_test):.3f}, span F1 {span_f1(y_test, found):.3f}")
print(crf.certificate_)

# %%
# Which labels are taken for which.
figure, axis = plt.subplots(figsize=(6, 5), layout="constrained")
ConfusionMatrixDisplay.from_predictions(
    np.concatenate(y_test),
    np.concatenate(found),
    normalize="true",
    values_format=".2f",
    xticks_rotation=45,
    cmap="Blues",
    ax=axis,
)
plt.show()

# %%
# Probabilities say where the model is in doubt: the marginals of one sentence.
marginals = crf.predict_marginals(X_test)
doubt = int(np.argmin([table.max(axis=1).min() for table in marginals]))
words = data[400 + doubt][0]
figure, axis = plt.subplots(figsize=(1.0 + 0.7 * len(words), 3.2), layout="constrained")
image = axis.imshow(marginals[doubt].T, cmap="Blues", vmin=0.0, vmax=1.0, aspect="auto")
axis.set_xticks(range(len(words)), words, rotation=45)
axis.set_yticks(range(crf.classes_.size), crf.classes_)
figure.colorbar(image, label="probability")
plt.show()
