"""The messages of a team: what its members tell each other, one class each.

All members send the same messages in the same order. Each message carries its name, and how many
sums the member has run before it. So a member that takes another branch of the code is found at
its next message: ``check_step`` raises an error in all members, and names both messages. The sums
inside a tree carry no name; their position is checked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.errors import TeamError

Value = TypeVar("Value")
_Value_co = TypeVar("_Value_co", covariant=True)
_Error = TypeVar("_Error", bound=BaseException)
_F32 = npt.NDArray[np.float32]
_Integers = npt.NDArray[Any]
#: The name of a message, and the sums before it.
Stamp = tuple[str, int]
#: The attribute of an error that all members of a team raise.
_BY_ALL = "raised_by_all_members"
#: What a member sends in place of a message when it adds up arrays.
NUMBERS = "the numbers of a sum"
#: The stamp of a member that has sent nothing yet.
NOTHING: Stamp = ("nothing", 0)


class Message(Generic[_Value_co]):
    """A kind of message, and the type of its value."""


# -- before the training: what every member has -------------------------------------------------
class Failure(Message["str | None"]):
    """The error that ended a piece of work, or None."""


class KnownFacts(Message[tuple[Mapping[str, Any], str]]):
    """Facts that have to be the same in all members, and what the member read."""


class HasRows(Message[bool]):
    """Whether the member has rows."""


class RowCount(Message[int]):
    """The number of the member's rows."""


class RowsAndQueries(Message[tuple[int, int]]):
    """The numbers of the member's rows and queries."""


class ColumnCount(Message[int]):
    """The number of columns of the member's rows."""


class ColumnLevels(Message[Mapping[int, tuple[Any, bool]]]):
    """The levels of categorical columns, and whether all values of a column are text."""


class HostName(Message[str]):
    """The name of the member's host."""


class DeviceKey(Message[object]):
    """What tells a device of this process from others."""


class CardOfMember(Message["tuple[str, str] | None"]):
    """The host and the bus address of the member's card; None where NCCL cannot join it."""


class NcclName(Message[Any]):
    """By what the members' cards find each other, from member 0."""


class CardsJoined(Message[bool]):
    """Whether NCCL joined the member's card with the others."""


# -- labels and weights ---------------------------------------------------------------------------
class RowValues(Message[npt.NDArray[Any]]):
    """One of the arrays of labels, weights, margins and sizes of queries."""


class ExactLabelSums(Message[tuple[list[Fraction], Fraction]]):
    """The sum of every target's labels, and that of weights, without rounding."""


class ClassWeights(Message[list[Fraction]]):
    """The sum of the weights of every class."""


class WeightExponents(Message[_Integers]):
    """The number of weights of every power of two."""


class WeightBits(Message[int]):
    """The bits of the largest scaled weight."""


class LargestLeafShare(Message[float]):
    """The largest weight of a row in its leaf's quantile."""


class QueryLabels(Message[Any]):
    """The sizes and facts of a ranking loss's queries."""


# -- evaluation sets and checkpoints --------------------------------------------------------------
class IsTrainingData(Message[bool]):
    """Whether an evaluation set is the training data."""


class InBatches(Message["bool | None"]):
    """Whether the rows of an evaluation set come in batches; None where there are none."""


class EvaluationRows(Message[Any]):
    """The member's rows of an evaluation set."""


class SavesCheckpoints(Message[bool]):
    """Whether the member's callbacks write checkpoints."""


class RowDigests(Message[npt.NDArray[np.uint64]]):
    """Sums of the digests of rows."""


class NewestCheckpoint(Message[Any]):
    """The checkpoint to resume from, or None."""


# -- columns become codes -------------------------------------------------------------------------
class BatchPass(Message[bool]):
    """Whether the member begins another pass over the batches."""


class BatchOfRows(Message[list[Any]]):
    """The next batch, which member 0 has read."""


class BatchDone(Message[None]):
    """The member is done with a batch."""


class LevelCounts(Message[Any]):
    """The number of rows of each level of a column."""


class ColumnCuts(Message[tuple[npt.NDArray[np.uint32], Any]]):
    """The columns that the member has cut, and their cut points."""


class WholeWeights(Message["tuple[int, int, int | None]"]):
    """Rows, rows that count, and the exponent of the largest weight."""


class MissingValues(Message[_Integers]):
    """Which columns have missing values."""


class ColumnsAtATime(Message[int]):
    """The number of columns that the member's memory allows at a time."""


class ColumnTotals(Message[_Integers]):
    """The rows and weights of columns."""


class DistinctCounts(Message[_Integers]):
    """The numbers of distinct values of columns."""


class RangeCounts(Message[_Integers]):
    """The rows and weights of parts of ranges."""


class DistinctValues(Message[Any]):
    """The distinct values of ranges, with rows and weights."""


class FollowingValues(Message[Any]):
    """The smallest values above those that a column's borders end at."""


class ZeroSigns(Message[Any]):
    """The signs of zeros of columns."""


# -- sizes of a fit -------------------------------------------------------------------------------
class CodesBefore(Message[Any]):
    """The layout and codes that an earlier fit of the same rows has left."""


class CodesOfPart(Message[Any]):
    """The codes of the member's rows."""


class IsQuantized(Message[bool]):
    """Whether the codes have found memory on the member's device."""


class FitsDevice(Message[bool]):
    """Whether a fit of all rows fits the member's device."""


class RowGroups(Message[int]):
    """The number of work-groups that go through rows."""


class PercentGathered(Message[int]):
    """The most that the histograms of gathered columns may take of those of all, in percent."""


class PercentOfLevels(Message[int]):
    """The same, of the columns that the levels of a tree draw together."""


class TreesAtATime(Message[int]):
    """The number of trees that grow at a time."""


class ForestBlock(Message[int]):
    """The number of finished trees that wait on the device."""


class LeavesAtATime(Message[int]):
    """The number of leaves that split in a step."""


class VariantRefused(Message[int]):
    """Whether a kernel has taken another variant while steps were built."""


class FitLabels(Message[tuple[bool, bool, str]]):
    """Whether there are evaluation sets, whether they are gathered, and the device's name."""


# -- rounds ---------------------------------------------------------------------------------------
class Request(Message["tuple[str, float] | None"]):
    """What member 0 asks for, and a learning rate; None from the others."""


class DeviceIdle(Message[None]):
    """The member's device is idle."""


class Margins(Message[_F32]):
    """The margins of the member's rows."""


class AllGradients(Message["tuple[_F32, ...] | None"]):
    """The gradients and Hessians of all rows, from member 0; those to split by, if any."""


class BestSplits(Message[npt.NDArray[Any]]):
    """The best splits among the member's own features."""


class TreesDigest(Message[str]):
    """The digest of the member's trees."""


class TrainedModel(Message[Any]):
    """The model, or None where the member does not have it."""


class HookCalled(Message[Any]):
    """A hook of the user's callbacks, its round, and the metrics so far, from member 0."""


class OwnHooks(Message[bool]):
    """Whether the member has callbacks of the user's."""


class UserValue(Message[Any]):
    """What a function of the user's sends."""


# -- sums and links -------------------------------------------------------------------------------
class SumPart(Message[_Integers]):
    """A part of a sum inside a tree."""


class OwnParts(Message[list[Any]]):
    """Parts of a sum of which each member gets one."""


class SumDone(Message[None]):
    """The member has added up its share."""


class LinkTimed(Message[None]):
    """The member is ready to time its link."""


class LinkIsSlow(Message[bool]):
    """Whether the member's link is slow."""


def by_all(error: _Error, *, raised: bool = True) -> _Error:
    """Mark an error that all members of a team raise, so that nobody waits for another."""
    setattr(error, _BY_ALL, raised)
    return error


def is_by_all(error: BaseException) -> bool:
    """Tell whether all members of a team raise an error."""
    return getattr(error, _BY_ALL, False)


def check_step(stamps: Sequence[Stamp], ranks: Sequence[int]) -> None:
    """Raise an error unless all members have sent the same message at the same position.

    Parameters
    ----------
    stamps : sequence of (str, int)
        Of every member.
    ranks : sequence of int
        The numbers by which errors call the members.

    Raises
    ------
    TeamError
        In all members that see the same stamps.
    """
    for rank, stamp in zip(ranks, stamps, strict=True):
        if stamp != stamps[0]:
            raise by_all(other_step(ranks[0], stamps[0], rank, stamp))


def other_step(rank: int, sent: Stamp, other: int, theirs: Stamp) -> TeamError:
    """Return the error of two members that take different branches."""
    return TeamError(
        f"rank {rank} sends {sent[0]} after {sent[1]} sums, rank {other} sends {theirs[0]} after "
        f"{theirs[1]} sums: expected the same message on all ranks; give all ranks the same "
        "arguments, files and version of the library"
    )
