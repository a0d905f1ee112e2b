"""Frozen dataclasses whose fields are written at once behave as others do."""

import inspect
import pickle
from dataclasses import FrozenInstanceError, dataclass, field, replace

import pytest

from widemargin.data.quick_init import quick_init, replaced


@quick_init
@dataclass(frozen=True)
class Quick:
    first: int
    second: list = field(default_factory=list)
    third: str = "c"
    fourth: float = field(default=4.0, kw_only=True)


@dataclass(frozen=True)
class Slow:
    first: int
    second: list = field(default_factory=list)
    third: str = "c"
    fourth: float = field(default=4.0, kw_only=True)


@quick_init
@dataclass(frozen=True)
class Derived(Quick):
    fifth: int = 5


@pytest.mark.parametrize(
    ("given", "named"),
    [((1,), {}), ((1, [2]), {}), ((1,), {"third": "x", "fourth": 2.0}), ((), {"first": 3})],
)
def test_fields_are_those_that_dataclass_sets(given, named):
    assert vars(Quick(*given, **named)) == vars(Slow(*given, **named))


def test_what_dataclass_refuses_is_refused():
    for wrong in ({}, {"first": 1, "sixth": 2}):
        with pytest.raises(TypeError):
            Quick(**wrong)
    with pytest.raises(TypeError):
        Quick(1, [], "c", 4.0)  # the last one has to be named
    with pytest.raises(FrozenInstanceError):
        Quick(1).first = 2


def test_defaults_are_made_anew_and_signatures_stay():
    assert Quick(1).second is not Quick(1).second
    of_quick, of_slow = inspect.signature(Quick), inspect.signature(Slow)
    assert list(of_quick.parameters) == list(of_slow.parameters)
    assert [p.kind for p in of_quick.parameters.values()] == [
        p.kind for p in of_slow.parameters.values()
    ]


def test_copies_pickles_and_derived_classes():
    made = Derived(1, fifth=6)
    assert vars(made) == {"first": 1, "second": [], "third": "c", "fourth": 4.0, "fifth": 6}
    assert replace(made, first=2).fifth == 6
    assert pickle.loads(pickle.dumps(made)) == made
    assert Quick(1) == Quick(1)
    assert hash(Quick(1, (2,))) == hash(Quick(1, (2,)))


def test_a_class_that_sets_more_is_refused():
    @dataclass(frozen=True)
    class More:
        first: int

        def __post_init__(self):
            pass

    with pytest.raises(TypeError, match="more than it is given"):
        quick_init(More)


def test_a_changed_copy_has_the_other_fields_and_nothing_else():
    """As `dataclasses.replace` makes it: what was computed from the fields stays behind."""

    @dataclass(frozen=True)
    class Square:
        side: float
        name: str = "square"

    first = Square(2.0, "own")
    first.__dict__["area"] = 4.0  # as a cached property keeps it
    found = replaced(first, side=3.0)
    assert found == Square(3.0, "own")
    assert "area" not in found.__dict__
    with pytest.raises(TypeError, match="width"):
        replaced(first, width=1.0)
