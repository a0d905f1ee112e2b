"""Model files that cannot be written or read: one clear sentence each."""

import hashlib
import json
import pickle
import struct

import numpy as np
import pytest

from fitted_models import fitted
from widemargin.model_io import (
    LinearModel,
    ModelFormatError,
    load_model,
    save_model,
)
from widemargin.model_io.own import MAGIC, SCHEMA


@pytest.fixture
def path(tmp_path):
    return tmp_path / "a.model"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"coef": np.zeros(3)}, r"coef must have shape \(k, n_features\)"),
        ({"intercept": np.zeros(2)}, "coef has 1 rows"),
        ({"classes": np.array([1])}, "at least two classes"),
        ({"classes": np.array([1, 1])}, "named twice"),
        ({"classes": np.array([1, 2, 3])}, "3 classes do not go with 1 rows"),
        ({"coef": np.array([[np.nan, 1.0]])}, "not finite"),
        ({"intercept_kind": "some"}, "intercept_kind"),
        ({"intercept_scaling": 0.0}, "intercept_scaling"),
        ({"C": -1.0}, "C must be positive"),
        ({"primal": np.zeros(4)}, "primal has shape"),
        ({"feature_names": ("a",)}, "1 names for 2 features"),
        ({"loss": 3}, "must be strings"),
        ({"status": ("converged",) * 2}, "status has 2 entries for 1 problems"),
        ({"status": (3,)}, "status must be strings"),
    ],
)
def test_inconsistent_models_are_refused(changes, message):
    good = {"coef": np.ones((1, 2)), "intercept": np.zeros(1), "classes": [0, 1], "loss": "hinge"}
    LinearModel(**good)
    with pytest.raises(ValueError, match=message):
        LinearModel(**{**good, **changes})


def test_a_failed_write_leaves_the_old_file_and_nothing_else(path, monkeypatch):
    save_model(fitted(), path)
    before = path.read_bytes()

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(OSError, match="disk full"):
        save_model(fitted(C=2.0), path)
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_a_missing_directory_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no directory .*nowhere"):
        save_model(fitted(), tmp_path / "nowhere" / "a.model")


def with_checksum(content):
    return content + hashlib.sha256(content).digest()


def rebuilt(content, change):
    """Return a file of our format with another header, its checksum right."""
    length = struct.unpack_from("<I", content, 12)[0]
    header = json.loads(content[24 : 24 + length])
    change(header)
    text = json.dumps(header).encode()
    arrays = content[24 + length : -32]
    size = 24 + len(text) + len(arrays) + 32
    return with_checksum(struct.pack("<8sIIQ", MAGIC, SCHEMA, len(text), size) + text + arrays)


def flip(content, place):
    changed = bytearray(content)
    changed[place] ^= 1
    return bytes(changed)


DAMAGES = {
    "empty": (lambda c: b"", "this is not a widemargin model"),
    "foreign": (lambda c: b"solver_type L2R_LR\n", "this is not a widemargin model"),
    "pickle": (lambda c: pickle.dumps({"a": 1}), "this is not a widemargin model"),
    "newer": (
        lambda c: c[:8] + struct.pack("<I", 99) + c[12:],
        "the model has schema 99; this widemargin reads schema 1: install a newer one",
    ),
    "magic only": (lambda c: c[:8], "the file is truncated: it ends after 8 bytes"),
    "preamble cut": (lambda c: c[:20], "the file is truncated: it ends after 20 bytes"),
    "half": (lambda c: c[: len(c) // 2], "the file is truncated: it has"),
    "last byte gone": (lambda c: c[:-1], "the file is truncated: it has"),
    "too long": (lambda c: c + b"x", "the file is corrupt: it should have"),
    "header bit": (lambda c: flip(c, 40), "the file is corrupt: its checksum does not match"),
    "array bit": (lambda c: flip(c, -60), "the file is corrupt: its checksum does not match"),
    "checksum bit": (lambda c: flip(c, -1), "the file is corrupt: its checksum does not match"),
    "header length": (
        lambda c: c[:12] + struct.pack("<I", 2**31) + c[16:],
        "the file is corrupt: it should have",
    ),
    "no arrays": (
        lambda c: rebuilt(c, lambda h: h.pop("arrays")),
        "the file's content is invalid: 'arrays'",
    ),
    "huge array": (
        lambda c: rebuilt(c, lambda h: h["arrays"][0].update(shape=[2**40, 2**40])),
        "does not fit into the file",
    ),
    "object array": (
        lambda c: rebuilt(c, lambda h: h["arrays"][0].update(dtype="|O")),
        "is invalid: array 'coef' of '|O'",
    ),
    "unknown field": (
        lambda c: rebuilt(c, lambda h: h.update(colour="red")),
        "is invalid",
    ),
    "wrong type": (lambda c: rebuilt(c, lambda h: h.update(C="one")), "is invalid"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_what_cannot_be_read_is_refused_by_a_sentence(path, name):
    save_model(fitted(), path)
    damage, message = DAMAGES[name]
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(ModelFormatError) as caught:
        load_model(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("place", range(0, 300, 7))
def test_no_flipped_bit_passes(path, place):
    save_model(fitted(), path)
    content = path.read_bytes()
    path.write_bytes(flip(content, place % len(content)))
    with pytest.raises(ModelFormatError):
        load_model(path)


def test_mixed_classes_cannot_be_saved(path):
    model = LinearModel(np.ones((1, 2)), np.zeros(1), np.array([1, "a"], dtype=object), "hinge")
    with pytest.raises(ModelFormatError, match="all numbers or all strings"):
        save_model(model, path)
    assert not path.exists()
