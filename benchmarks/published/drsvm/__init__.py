"""DRSVM: tables 2 to 4, 7, 8 and figure 1, and the speed against generic solvers of today.

    python -m benchmarks.published.drsvm.tables       the paper's tables, by our methods
    python -m benchmarks.published.drsvm.figure       figure 1: gap over time of the methods
    python -m benchmarks.published.drsvm.batches      figure 1(e): sizes of mini-batches
    python -m benchmarks.published.drsvm.rivals       seconds of ECOS, Clarabel and HiGHS
    python -m benchmarks.published.drsvm.speed        auto and hybrid against the fastest of those
    python -m benchmarks.published.drsvm.dro_package  auto against the `dro` package
    python -m benchmarks.published.drsvm.large        covtype and 20 newsgroups

Each writes into benchmarks/published/drsvm/results. Data are looked for in $WIDEMARGIN_DATA, else
in ../shared/data; what is not there is left out. ECOS and HiGHS are found through cvxpy
(`pip install ecos highspy`). All runs use one thread; radius 0.1 and label cost 1 as in the paper.
"""
