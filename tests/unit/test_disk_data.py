"""Examples on disk: parsed once, read back as they were, refused if damaged, within a limit."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.preprocessing import StandardScaler

from widemargin import (
    DataFormatError,
    DiskData,
    LinearSVC,
    LinearSVCCV,
    LogisticRegression,
    LogisticRegressionCV,
    dump_svmlight,
)
from widemargin.data import blocks, disk_data
from widemargin.data.parquet_tables import write_parquet
from widemargin.problems import threaded
from widemargin.problems.multiclass import RULES

COUNT, WIDTH = 1500, 6


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(blocks, "FEWEST_ROWS", 64)
    monkeypatch.setattr(blocks, "DENSE_VALUES", 2**10)
    monkeypatch.setattr(blocks, "SPARSE_VALUES", 2**9)
    monkeypatch.setattr(blocks, "MATRIX_ROWS", 1)
    monkeypatch.setattr(threaded, "CHUNK", 256)
    monkeypatch.setenv("WIDEMARGIN_CACHE", str(tmp_path / "cache"))


def examples(layout: str = "float64") -> tuple[Any, Any]:
    random = np.random.default_rng(11)
    X = random.standard_normal((COUNT, WIDTH))
    y = np.where(X @ random.standard_normal(WIDTH) + random.standard_normal(COUNT) > 0.3, 1, -1)
    if layout == "csr":
        return sp.csr_array(X * (random.random(X.shape) < 0.5)), y
    return X.astype(layout), y


def chunks(X: Any, y: Any, step: int = 217) -> Any:
    return ((X[begin : begin + step], y[begin : begin + step]) for begin in range(0, COUNT, step))


def bits(model: Any) -> tuple[bytes, ...]:
    dual = model.dual_coef_.toarray() if sp.issparse(model.dual_coef_) else model.dual_coef_
    kept = model.coef_, model.intercept_, model.primal_, model.dual_, dual
    return tuple(np.ascontiguousarray(numbers).tobytes() for numbers in kept)


@pytest.mark.parametrize("layout", ["float64", "float32", "csr"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
def test_the_same_bits_from_disk_as_from_memory(loss: str, layout: str) -> None:
    X, y = examples(layout)

    def make(jobs: int) -> Any:
        if loss == "logistic":
            return LogisticRegression(solver="newton", n_jobs=jobs)
        return LinearSVC(
            loss, solver="proximal_newton" if loss == "hinge" else "newton", n_jobs=jobs
        )

    data = DiskData(chunks(X, y), memory_limit="8GB")
    assert data.shape == X.shape
    assert data.dtype == X.dtype
    memory, disk, two = make(1).fit(X, y), make(1).fit(data), make(2).fit(data)
    assert bits(memory) == bits(disk) == bits(two)
    assert disk.certificate_.relative_gap <= 1e-4
    np.testing.assert_array_equal(disk.predict(data), memory.predict(X))
    if loss == "logistic":
        np.testing.assert_array_equal(disk.predict_proba(data), memory.predict_proba(X))


def test_samples_and_blocks_that_memory_has_no_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = examples()
    data = DiskData(chunks(X, y))
    expected = LinearSVC(n_jobs=1, solver="newton").fit(data)
    monkeypatch.setattr(DiskData, "_free", lambda self, threads, kept: 0)
    before = data.bytes_read
    fitted = LinearSVC(n_jobs=1, solver="newton").fit(data)
    assert (data.bytes_read - before) % data.nbytes == 0
    assert data.bytes_read - before >= 3 * data.nbytes
    # Other samples, another way; the same answer to within the tolerance.
    assert fitted.certificate_.primal == pytest.approx(expected.certificate_.primal, rel=1e-4)


def test_columns_far_from_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = examples()
    X = X + 1.7e9 * (np.arange(WIDTH) == 2)
    memory, disk = (
        LinearSVC(n_jobs=1, solver="newton").fit(given, y) for given in (X, DiskData(chunks(X, y)))
    )
    assert bits(memory) == bits(disk)


def test_parquet_files_and_their_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyarrow")
    X, y = examples()
    names = [f"f{j}" for j in range(WIDTH)]
    write_parquet(X[:700], y[:700], tmp_path / "a.parquet", names)
    write_parquet(X[700:], y[700:], tmp_path / "b.parquet", names)
    told: list[int] = []
    pattern = str(tmp_path / "*.parquet")
    data = DiskData(pattern, "label", told=told.append)
    assert told
    assert told == sorted(told)
    np.testing.assert_array_equal(np.concatenate([m.copy() for m in data.matrices()]), X)
    np.testing.assert_array_equal(data.y, y)
    model = LinearSVC().fit(pattern, label="label")
    assert list(model.feature_names_in_) == names
    # The cache is used again, until the source changes.
    monkeypatch.setattr(disk_data, "chunks_of_files", lambda *given: pytest.fail("parsed again"))
    assert DiskData(pattern, "label").shape == X.shape
    monkeypatch.undo()
    monkeypatch.setenv("WIDEMARGIN_CACHE", str(tmp_path / "cache"))
    write_parquet(X[700:1000], y[700:1000], tmp_path / "b.parquet", names)
    assert DiskData(pattern, "label").shape == (1000, WIDTH)


def test_arrays_and_libsvm_files(tmp_path: Path) -> None:
    X, y = examples()
    np.save(tmp_path / "x0.npy", X[:900])
    np.save(tmp_path / "x1.npy", X[900:])
    np.save(tmp_path / "y0.npy", y[:900])
    np.save(tmp_path / "y1.npy", y[900:])
    np.save(tmp_path / "both.npy", np.column_stack([y, X]))
    files = [tmp_path / "x0.npy", tmp_path / "x1.npy"]
    for data in (
        DiskData(files, [tmp_path / "y0.npy", tmp_path / "y1.npy"]),
        DiskData(tmp_path / "both.npy", 0),
    ):
        np.testing.assert_array_equal(np.concatenate([m.copy() for m in data.matrices()]), X)
        np.testing.assert_array_equal(data.y, y)
    S = examples("csr")[0]
    dump_svmlight(S, y, tmp_path / "s.svm.gz")
    read = DiskData(tmp_path / "s.svm.gz")
    assert (sp.vstack([m.copy() for m in read.matrices()]) != S).nnz == 0
    np.testing.assert_array_equal(read.y, y)


def test_libsvm_text_cut_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    S, y = examples("csr")
    dump_svmlight(S, y, tmp_path / "s.svm")
    monkeypatch.setattr("widemargin.data.chunks.TEXT_BYTES", 100)
    monkeypatch.setattr("widemargin.data.block_file.HEAD", 64)
    read = DiskData(tmp_path / "s.svm")
    assert (sp.vstack([m.copy() for m in read.matrices()]) != S).nnz == 0
    text = (tmp_path / "s.svm").read_text().splitlines()
    text[1200] = "1 3:x"
    (tmp_path / "bad.svm").write_text("\n".join(text))
    with pytest.raises(DataFormatError, match=r"bad\.svm:1201:"):
        DiskData(tmp_path / "bad.svm")


def test_weights_and_several_classes() -> None:
    X, _ = examples()
    y = np.array(["a", "b", "c"])[np.argmax(X[:, :3], axis=1)]
    weight = np.random.default_rng(0).random(COUNT)
    given = ((X[k : k + 300], y[k : k + 300], weight[k : k + 300]) for k in range(0, COUNT, 300))
    disk = LinearSVC(solver="newton").fit(DiskData(given))
    memory = LinearSVC(solver="newton").fit(X, y, weight)
    assert list(disk.classes_) == ["a", "b", "c"]
    assert disk.certificate_.primal == pytest.approx(memory.certificate_.primal, rel=2e-4)


@pytest.mark.parametrize("layout", ["float32", "csr"])
def test_all_classes_at_once(layout: str) -> None:
    X, _ = examples(layout)
    y = np.argmax(X[:, :3] + np.random.default_rng(1).standard_normal((COUNT, 3)), axis=1)
    disk = LogisticRegression(n_jobs=2).fit(DiskData(chunks(X, y)))
    assert disk.solver_.startswith("newton (the data are not in memory")
    assert bits(disk) == bits(LogisticRegression(solver="newton", n_jobs=1).fit(X, y))


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("layout", ["float32", "csr"])
def test_joint_hinges(layout: str, rule: str) -> None:
    X, _ = examples(layout)
    y = np.argmax(X[:, :3] + np.random.default_rng(1).standard_normal((COUNT, 3)), axis=1)
    disk = LinearSVC("hinge", multi_class=rule, n_jobs=2).fit(DiskData(chunks(X, y)))
    assert disk.solver_.startswith("proximal_newton (the data are not in memory")
    memory = LinearSVC("hinge", multi_class=rule, solver="proximal_newton", n_jobs=1).fit(X, y)
    assert bits(disk) == bits(memory)
    assert disk.status_ == ["converged"]


def test_a_joint_hinge_that_is_too_wide() -> None:
    X = sp.random_array((60, 2500), density=0.02, format="csr", rng=0)
    data = DiskData([(X, np.arange(60) % 3)])
    with pytest.raises(ValueError, match=r"2500 features and 3 classes needs .* multi_class='ovr'"):
        LinearSVC("hinge", multi_class="crammer_singer").fit(data)


def test_the_memory_of_a_joint_hinge_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk_data, "_resident", lambda: 200 * 2**20)
    y = np.arange(400) % 4
    data = DiskData([(np.random.default_rng(0).random((400, 250)), y)], memory_limit="350MB")
    LinearSVC(max_iter=1, tol=1.0).fit(data)
    with pytest.raises(MemoryError, match="250 features and 4 classes at once need"):
        LinearSVC("hinge", multi_class="crammer_singer").fit(data)


SEARCHES = {
    "joint": lambda **given: LinearSVCCV("hinge", multi_class="weston_watkins", **given),
    "hinge": lambda **given: LinearSVCCV("hinge", **given),
    "squared_hinge": lambda **given: LinearSVCCV(**given),
    "logistic": lambda **given: LogisticRegressionCV(use_legacy_attributes=False, **given),
}


@pytest.mark.parametrize(
    ("loss", "classes"),
    [
        ("joint", 3),
        ("hinge", 2),
        ("squared_hinge", 2),
        ("squared_hinge", 3),
        ("logistic", 2),
        ("logistic", 3),
    ],
)
def test_searches_over_C(loss: str, classes: int) -> None:
    X, _ = examples("float32")
    scores = X[:, :classes] + np.random.default_rng(1).standard_normal((COUNT, classes))
    y, weight = np.argmax(scores, axis=1), np.random.default_rng(2).random(COUNT)
    make, given = SEARCHES[loss], {"Cs": [1e-3, 0.1], "cv": 3, "search_tol": 1e-5}
    fits = [make(n_jobs=n, **given).fit(DiskData(chunks(X, y)), None, weight) for n in (1, 2)]
    kept = [(*bits(m), m.path_["scores"].tobytes(), m.fold_coef_.tobytes()) for m in fits]
    assert kept[0] == kept[1]
    memory = make(**given).fit(X, y, weight)
    assert fits[0].C_ == memory.C_
    np.testing.assert_allclose(fits[0].path_["scores"], memory.path_["scores"], atol=2e-3)
    assert fits[0].certificate_.primal == pytest.approx(memory.certificate_.primal, rel=2e-4)


def test_a_search_from_files_and_one_that_goes_on(tmp_path: Path) -> None:
    X, y = examples()
    np.save(tmp_path / "x.npy", np.column_stack([X, y]))
    file, order = str(tmp_path / "x.npy"), np.random.default_rng(0).permutation(COUNT)
    splits = [(order[:1000], order[1000:]), (order[500:], order[:500])]
    given = {"Cs": [0.01, 0.1], "scoring": "roc_auc", "probability": True, "cv": splits}
    model = LinearSVCCV(**given).fit(file, label=WIDTH)
    memory = LinearSVCCV(**given).fit(X, y)
    np.testing.assert_allclose(model.path_["scores"], memory.path_["scores"], atol=1e-2)
    assert model.predict_proba(DiskData(file, WIDTH)).shape == (COUNT, 2)
    model.set_params(Cs=[0.01, 0.1, 1.0]).continue_search(file, None, label=WIDTH, tol=1e-3)
    assert list(model.Cs_) == [0.01, 0.1, 1.0]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"penalty": "l1"}, "the 1-norm needs data in memory"),
        ({"scoring": lambda *_: 0.0}, "a callable scoring needs data in memory"),
        ({"certify": 0.1, "fit_intercept": False}, "a certified choice needs data in memory"),
        ({"transformer": StandardScaler()}, "a transformer needs data in memory"),
    ],
)
def test_what_searches_refuse(settings: Any, message: str) -> None:
    X, y = examples()
    with pytest.raises(ValueError, match=message):
        LinearSVCCV(**settings).fit(DiskData(chunks(X, y)))


def test_damage_is_seen(tmp_path: Path) -> None:
    X, y = examples()
    np.save(tmp_path / "x.npy", np.column_stack([X, y]))
    DiskData(tmp_path / "x.npy", WIDTH)
    (folder,) = (tmp_path / "cache").iterdir()
    file = folder / "blocks.bin"
    damaged = bytearray(file.read_bytes())
    damaged[5000] ^= 1
    file.write_bytes(damaged)
    with pytest.raises(DataFormatError, match="another checksum"):
        LinearSVC().fit(DiskData(tmp_path / "x.npy", WIDTH))
    # What is cut short, or of another version, is made anew.
    file.write_bytes(damaged[:-8])
    assert LinearSVC().fit(DiskData(tmp_path / "x.npy", WIDTH)).status_ == ["converged"]
    about = json.loads((folder / "about.json").read_text())
    (folder / "about.json").write_text(json.dumps({**about, "version": 0}))
    assert LinearSVC().fit(DiskData(tmp_path / "x.npy", WIDTH)).status_ == ["converged"]
    assert [path.name for path in (tmp_path / "cache").iterdir()] == [folder.name]


def test_an_iterable_leaves_nothing_behind(tmp_path: Path) -> None:
    X, y = examples()
    data = DiskData(chunks(X, y))
    assert len(list((tmp_path / "cache").iterdir())) == 1
    del data
    assert list((tmp_path / "cache").iterdir()) == []

    def broken() -> Any:
        yield X, y
        raise RuntimeError("the source is gone")

    with pytest.raises(RuntimeError, match="the source is gone"):
        DiskData(broken())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: DiskData("nothing*.parquet"), "no file matches"),
        (lambda: DiskData([np.ones((2, 2))], memory_limit="much"), "memory_limit must be bytes"),
        (lambda: DiskData([np.ones((2, 2))], memory_limit=-1), "memory_limit must be bytes"),
        (lambda: DiskData(iter(())), "no examples"),
        (lambda: DiskData([(np.ones((2, 2)), [1])]), "2 rows, but labels of shape"),
        (lambda: DiskData([np.full((2, 2), np.nan)]), "row 0 of the data contains NaN"),
        (lambda: DiskData([np.ones((2, 2)), np.ones((2, 3))]), "a block has 3 features"),
        (lambda: LinearSVC().fit(DiskData([np.ones((2, 2))])), "the data have no labels"),
        (lambda: LinearSVC().fit(np.ones((2, 2)), [0, 1], label="y"), "label is for files"),
        (
            lambda: LinearSVC(solver="dual_cd").fit(DiskData([(np.eye(2), [0, 1])])),
            "needs data in memory; the nearest solver",
        ),
        (lambda: DiskData(chunks), "function cannot be iterated over: call it"),
        (lambda: DiskData(5), r"int cannot be iterated over$"),
    ],
)
def test_what_is_refused(make: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError, FileNotFoundError), match=message):
        make()


def test_a_limit_that_is_too_small() -> None:
    X, y = examples()
    with pytest.raises(MemoryError, match="memory_limit is 10 MB, but 1500 rows"):
        LinearSVC().fit(DiskData(chunks(X, y), memory_limit="10MB"))


_CHILD = """
import resource, sys
import numpy as np
from widemargin import DiskData, LinearSVC
random = np.random.default_rng(0)
w = random.standard_normal(1000, dtype=np.float32)
def blocks():
    for _ in range(int(sys.argv[1])):
        X = random.standard_normal((4000, 1000), dtype=np.float32)
        yield X, np.where(X @ w + 18.0 * random.standard_normal(4000) > 0, 1, -1)
data = DiskData(blocks(), memory_limit="400MB")
model = LinearSVC(n_jobs=2).fit(data)
print(model.certificate_.relative_gap <= 1e-4, data.nbytes,
      resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
"""


@pytest.mark.slow
def test_memory_stays_within_the_limit(tmp_path: Path) -> None:
    child = subprocess.run(
        [sys.executable, "-c", _CHILD, "120"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "WIDEMARGIN_CACHE": str(tmp_path)},
    )
    certified, size, peak = child.stdout.split()
    assert certified == "True"
    assert int(size) > 4 * 400 * 2**20
    assert int(peak) <= 1.3 * 400 * 2**20
