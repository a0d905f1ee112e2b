"""Replay policies over records: ``python -m benchmarks.atlas.replay``.

A policy is a pure function of a shape and of the course of a run, so its decisions can be replayed
over what `benchmarks.atlas.record` kept, in seconds instead of hours. A method that is handed the
run begins its record at the first step, though it would start from a better point, and one that
gets it back goes on where it was: what is predicted is a little more than what is measured.

``--known prices,sweeps`` lets the policy know what it can only predict: what a second-order method
costs, what sweeps still cost. The regret that is left is the price of finding out.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from . import record
from .design import JOINT, Cell, cell_at
from .record import ROW_SPACE, Record

SMALL_SECONDS = 0.005
LOST = 100.0


@dataclass
class Replayed:
    """What a policy would have done on one problem."""

    seconds: float
    course: list[str] = field(default_factory=list)
    lost: bool = False


@dataclass
class Outcome:
    """A cell: what auto takes, what the best method that a user could name takes."""

    cell: Cell
    seconds: float
    best: str
    best_seconds: float
    course: str
    lost: bool

    @property
    def regret(self) -> float:
        """Auto's seconds over those of the fastest, auto included."""
        return LOST if self.lost else max(1.0, self.seconds / self.best_seconds)


class Track:
    """A record on the way: the position in it."""

    def __init__(self, found: Record) -> None:
        self.record, self.at = found, 0
        self.best = np.minimum.accumulate(np.nan_to_num(found.steps[:, 0], nan=np.inf))

    @property
    def seconds(self) -> float:
        """CPU seconds up to the last step that was taken."""
        return float(self.record.steps[self.at - 1, 2]) if self.at else 0.0

    @property
    def at_end(self) -> bool:
        """Whether there are no more steps."""
        return self.at >= len(self.record.steps)


def shape_of(cell: Cell, facts: dict[str, Any]) -> Any:
    """Make the shape that the policy sees."""
    from widemargin.auto.multiclass import MulticlassShape
    from widemargin.auto.shape import BinaryShape
    from widemargin.data.work import Size
    from widemargin.linalg.spectrum import Spectrum

    kind = MulticlassShape if cell.kind in JOINT else BinaryShape
    found = {**facts, "size": Size(**facts["size"])}
    if found.get("spectrum") is not None:
        found["spectrum"] = Spectrum(**found["spectrum"])
    return kind(**found)


def policy_of(cell: Cell) -> Any:
    """Make the policy of a kind of problem."""
    from widemargin.auto.binary import BinaryPolicy
    from widemargin.auto.multiclass import MulticlassPolicy

    return MulticlassPolicy() if cell.kind in JOINT else BinaryPolicy()


def replay(policy: Any, shape: Any, records: dict[str, Record]) -> Replayed:
    """Let a policy decide over the records of one problem."""
    from widemargin.auto.decision import Leg, _worth_asking

    tracks: dict[str, Track] = {}
    done = Replayed(0.0)
    legs: list[Any] = []
    decision = policy.first(shape, "")
    while decision is not None:
        key = decision.method + (f" {ROW_SPACE}" if decision.in_row_space else "")
        if key not in records:
            done.lost = True
            return done
        track = tracks.setdefault(key, Track(records[key]))
        begun, first = track.seconds, track.at
        work = track.record.steps[first - 1, 1] if first else 0.0
        sorted_first = [leg.misplaced[0] for leg in legs if leg.misplaced and leg.misplaced[0] > 0]
        leg = Leg(decision.method, misplaced=sorted_first[:1])
        legs.append(leg)
        decision = None
        while decision is None:
            if track.at_end:
                done.course.append(f"{key} {track.at - first}")
                if track.record.converged:
                    done.seconds += track.record.seconds - begun
                    return done
                leg.finished = track.record.status == "STALLED"
                if not leg.finished:
                    done.lost = True
                    return done
                leg.gaps = leg.gaps or [math.inf]
                decision = policy.next(shape, legs, "")
                if decision is None:
                    done.lost = True
                    return done
                break
            step = track.record.steps[track.at]
            leg.active = int(step[3])
            leg.works.append(float(step[1] - work))
            leg.gaps.append(float(track.best[track.at]))
            leg.misplaced.append(float(step[4]) if len(step) > 4 else math.nan)
            track.at += 1
            if _worth_asking(len(leg.gaps)):
                decision = policy.next(shape, legs, "")
        else:
            done.course.append(f"{key} {track.at - first}")
        done.seconds += track.seconds - begun
    return done


def knowing(policy: Any, records: dict[str, Record], known: Collection[str]) -> Any:
    """Give a policy that knows what is otherwise predicted: `prices`, `sweeps` or both."""

    class Knowing(type(policy)):  # type: ignore[misc]
        """Looks things up in the records; what did not converge there costs half as much more."""

        def offers(self, shape: Any, leg: Any = None) -> Any:
            offers = super().offers(shape, leg)
            return sorted((self._priced(each) for each in offers), key=lambda each: each.price)

        def _priced(self, offer: Any) -> Any:
            key = offer.method + (f" {ROW_SPACE}" if offer.in_row_space else "")
            if "prices" not in known or key not in records:
                return offer
            seconds, over = 1e9 * records[key].seconds, not records[key].converged
            return replace(offer, price=max(offer.price, 1.5 * seconds) if over else seconds)

        def _to_go(self, shape: Any, leg: Any) -> float:
            predicted = super()._to_go(shape, leg)
            if "sweeps" not in known or predicted == 0.0 or self.sweeps not in records:
                return float(predicted)
            sweeps = records[self.sweeps]
            whole = float(sweeps.steps[-1, 1])
            return max(whole - leg.work, 1.0) if sweeps.converged else max(predicted, 1.5 * whole)

    return Knowing()


def outcome(
    cell: Cell, facts: dict[int, dict], found: Sequence[Record], known: Collection[str] = ()
) -> Outcome | None:
    """Replay the problems of a cell; None if no method reached the tolerance."""
    total, courses, lost = 0.0, [], False
    named: dict[str, float] = {}
    for place, about in facts.items():
        records = {r.method: r for r in found if r.place == place}
        policy = policy_of(cell)
        policy = knowing(policy, records, known) if known else policy
        done = replay(policy, shape_of(cell, about), records)
        total, lost = total + done.seconds, lost or done.lost
        courses.append(" -> ".join(done.course))
        for name, each in records.items():
            if ROW_SPACE not in name:
                seconds = each.seconds if each.converged else math.inf
                named[name] = named.get(name, 0.0) + seconds
    best = min(named, key=lambda name: named[name])
    if math.isinf(named[best]):
        return None
    return Outcome(cell, total, best, named[best], "; ".join(courses), lost)


def outcomes(seeds: Iterable[int], known: Collection[str] = ()) -> list[Outcome]:
    """Replay every cell that was recorded."""
    found = []
    for path in sorted(record.folder().glob("*-*.npz")):
        seed, index = map(int, path.stem.split("-"))
        if seed in seeds:
            each = outcome(cell_at(seed, index), *record.read(path), known)
            if each is not None:
                found.append(each)
    return found


def summary(found: Sequence[Outcome], name: str) -> str:
    """Describe the regret of the cells above the small ones."""
    regrets = np.array([o.regret for o in found if o.seconds >= SMALL_SECONDS])
    if not regrets.size:
        return f"{name}: no cells"
    mean = math.exp(np.log(regrets).mean())
    shares = ", ".join(f"{100 * (regrets <= r).mean():.1f} % <= {r:g}" for r in (1.2, 1.5, 2.0))
    return f"{name}: {regrets.size} cells, mean {mean:.3f}, {shares}, worst {regrets.max():.3g}"


def main() -> None:
    """Replay and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.atlas.replay", description=__doc__)
    parser.add_argument("--seeds", default="101,202")
    parser.add_argument("--worst", type=int, default=25, help="cells to list")
    parser.add_argument("--known", default="", help="what the policy knows: prices,sweeps")
    options = parser.parse_args()
    known = [each for each in options.known.split(",") if each]
    found = outcomes({int(seed) for seed in options.seeds.split(",")}, known)
    kinds = {"all": found} | {
        "binary": [o for o in found if o.cell.kind == "binary"],
        "ovr": [o for o in found if o.cell.kind == "ovr"],
        "joint": [o for o in found if o.cell.kind in JOINT],
    }
    for name, some in kinds.items():
        print(summary(some, name))
    worst = sorted((o for o in found if o.seconds >= SMALL_SECONDS), key=lambda o: -o.regret)
    for o in worst[: options.worst]:
        cell = o.cell
        print(
            f"{cell.seed}-{cell.index} {cell.name}, {cell.shape}, C={cell.C:g} tol={cell.tol:g}: "
            f"{o.regret:.2f}, {o.seconds:.3g} s, {o.best} {o.best_seconds:.3g} s: {o.course}"
        )


if __name__ == "__main__":
    main()
