"""How ``widemargin bench`` ends: well, with nothing to write, or by Ctrl-C."""

import signal

import pytest

ARGUMENTS = ("bench", "--data", "cancer.svm", "--no-figures", "--until", "1e-3")


def test_curves_are_written(run_json, folder):
    code, report = run_json(*ARGUMENTS, "--methods", "dual_cd,pragam", "--output", "deep/out")
    assert code == 0
    assert [one["method"] for one in report["runs"]] == ["dual_cd", "pragam"]
    assert all(one["gap"] <= 1e-3 for one in report["runs"])
    assert (folder / "deep/out/bench.csv").read_text().startswith("data,method,round,seconds")


def test_nothing_ran(run, folder):
    code, _, errors = run(*ARGUMENTS, "--problem", "squared_hinge", "--methods", "pragam")
    assert code == 2
    assert "supports the loss 'hinge'" in errors
    assert "no method ran" in errors
    assert not (folder / "bench").exists()


def test_the_output_folder_is_made_first(run, folder, monkeypatch):
    (folder / "taken").write_text("")

    def never(*arguments, **named):
        pytest.fail("it ran, though nothing can be written")

    monkeypatch.setattr("widemargin.benchmark.compare", never)
    assert run(*ARGUMENTS, "--output", "taken")[0] == 2


def test_ctrl_c(run, folder, monkeypatch):
    from widemargin.benchmark import compare

    def interrupted(*arguments, **named):
        def tell(data, method, round, record):
            if record is None and method == "pragam":
                signal.raise_signal(signal.SIGINT)

        return compare(*arguments, **{**named, "tell": tell})

    monkeypatch.setattr("widemargin.benchmark.compare", interrupted)
    code, _, errors = run(*ARGUMENTS, "--methods", "dual_cd,pragam,bmrm_qp")
    assert code == 1
    assert "interrupted" in errors
    text = (folder / "bench/bench.csv").read_text()
    assert "dual_cd" in text
    assert "bmrm_qp" not in text
