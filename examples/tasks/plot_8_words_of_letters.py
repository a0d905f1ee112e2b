"""
Reading words: letters help each other
======================================

A letter that is hard to read alone is easy inside a word. `SequenceSVC` labels all letters of a
word at once: it learns how each letter looks, and which letters follow each other. The pictures are
drawn here from fonts, shifted and spoilt by noise; `load_letters` reads the handwritten words of
the OCR data set in the same form. On those, with products of neighbouring pixels as features and C
chosen by folds, 85.1 % of the test letters are right (``python -m benchmarks.structures search``).
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import TextPath

from widemargin import LinearSVC, SequenceSVC

TEXT = """about after again air all along also always animal another answer any around back because
been before began being below between both boy call came change city close come could country cut
different does each early earth end enough even every example eye face family far father feet few
find first follow food form found four from girl give good great group grow hand hard have head hear
help here high home house important keep kind know land large last later learn leave left letter
life light line list little live long made make many mean might mile most mother mountain move much
must name near need never new next night number often old once only open order other over own page
paper part people picture place plant play point press quick quite read right river run same school
second see seem sentence set should show side small song sound spell stand start state still stop
story study such take talk tell than their them then there these they thing think those thought
three through time together took tree try turn under until use very walk want watch water way
well went were what when where which while white why will with without word work world would write
year young zero jazz fox"""
WORDS = TEXT.split()

random = np.random.default_rng(0)
HEIGHT, WIDTH = 16, 8
FONTS = [
    FontProperties(family=family, style=style, weight=weight)
    for family in ("DejaVu Sans", "DejaVu Serif", "DejaVu Sans Mono")
    for style in ("normal", "italic")
    for weight in ("normal", "bold")
]
rows, columns = np.mgrid[HEIGHT - 1 : -1 : -1, 0:WIDTH]
GRID = np.column_stack([columns.ravel() + 0.5, rows.ravel() - 3.5])


def picture(letter, font):
    """Return the pixels of a letter, shifted a little and spoilt by noise."""
    outline = TextPath((0, 0), letter, size=14, prop=font)
    box = outline.get_extents()
    shift = random.normal(scale=[0.4, 0.6])
    middle = (0.5 * (box.x0 + box.x1) - 0.5 * WIDTH, 0.0)
    pixels = outline.contains_points(GRID + middle + shift)
    return np.logical_xor(pixels, random.random(pixels.size) < 0.08).astype(float)


def written(word):
    font = FONTS[random.integers(len(FONTS))]
    return np.array([picture(letter, font) for letter in word])


texts = [WORDS[place] for place in random.integers(len(WORDS), size=700)]
X = [written(word) for word in texts]
y = [np.array(list(word)) for word in texts]
X_train, y_train, X_test, y_test = X[:500], y[:500], X[500:], y[500:]

# %%
# The same features, with and without the letters around.
alone = LinearSVC("hinge", multi_class="crammer_singer", C=0.1)
alone.fit(np.vstack(X_train), np.concatenate(y_train))
chain = SequenceSVC(C=0.1).fit(X_train, y_train)
single = alone.predict(np.vstack(X_test))
joint = chain.predict(X_test)
truth = np.concatenate(y_test)
print(f"letters right, one by one:  {np.mean(single == truth):.3f}")
print(f"letters right, whole words: {np.mean(np.concatenate(joint) == truth):.3f}")
print(chain.certificate_)

# %%
# Words that the chain reads and single letters do not. Above each letter: what it is read as alone
# and in its word.
ends = np.cumsum([len(word) for word in y_test])
pieces = np.split(single, ends[:-1])
gains = [np.sum(b == t) - np.sum(a == t) for a, b, t in zip(pieces, joint, y_test, strict=True)]
shown = np.argsort(gains)[::-1][:4]
longest = max(len(y_test[place]) for place in shown)
figure, axes = plt.subplots(4, longest, figsize=(0.9 * longest, 7), layout="constrained")
for line, place in zip(axes, shown, strict=True):
    for axis in line:
        axis.axis("off")
    for t, axis in enumerate(line[: len(y_test[place])]):
        axis.imshow(X_test[place][t].reshape(HEIGHT, WIDTH), cmap="gray_r")
        right = pieces[place][t] == y_test[place][t]
        axis.set_title(f"{pieces[place][t]} → {joint[place][t]}", color="k" if right else "C3")
plt.show()

# %%
# Which letters follow which: the transitions that were learned.
figure, axis = plt.subplots(figsize=(6, 5), layout="constrained")
image = axis.imshow(chain.transition_, cmap="RdBu_r", vmin=-0.5, vmax=0.5)
axis.set_xticks(range(chain.classes_.size), chain.classes_)
axis.set_yticks(range(chain.classes_.size), chain.classes_)
axis.set(xlabel="next letter", ylabel="letter")
figure.colorbar(image, label="weight")
plt.show()
