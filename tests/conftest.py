"""Shared by all tests; its folder is on the path, so that they can import `oracle`."""

from __future__ import annotations

import os
import signal
import tempfile

import hypothesis
import pytest

pytest.register_assert_rewrite("oracle", "robust_oracle")

# Derandomised: a failure found once is found again; no deadline, since the machine is shared.
hypothesis.settings.register_profile(
    "widemargin",
    deadline=None,
    derandomize=True,
    max_examples=40,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "widemargin"))


def pytest_configure(config: pytest.Config) -> None:
    """Let SIGINT mean Ctrl-C, here and in children, where tests run in the background too.

    Caches go to a folder that is deleted in the end.
    """
    if "WIDEMARGIN_CACHE" not in os.environ:
        folder = tempfile.TemporaryDirectory(prefix="widemargin-cache-")
        os.environ["WIDEMARGIN_CACHE"] = folder.name
        config.add_cleanup(folder.cleanup)
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the slow tests out unless a marker expression asks for them."""
    if config.option.markexpr:
        return
    slow = [item for item in items if item.get_closest_marker("slow")]
    if slow:
        config.hook.pytest_deselected(items=slow)
        items[:] = [item for item in items if not item.get_closest_marker("slow")]
