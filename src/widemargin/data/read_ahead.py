"""Items of an iterator, the next one made by a thread while one is being used."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

Item = TypeVar("Item")


def ahead(items: Iterator[Item]) -> Iterator[Item]:
    """Yield the same items; a thread makes the next one while one is being used."""
    end = object()
    with ThreadPoolExecutor(1) as pool:
        following: Future[Any] = pool.submit(next, items, end)
        while (item := following.result()) is not end:
            following = pool.submit(next, items, end)
            yield item
            del item  # not kept while the next one is waited for
