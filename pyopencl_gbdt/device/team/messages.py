"""The messages of a team: what its members tell each other.

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
    """A kind of message, which has a type of values.

    ``name``: by which errors call it.
    """

    def __init__(self, name: str) -> None:
        self.name = name


# -- before the training: what every member has -------------------------------------------------
#: The error that ended a piece of work, or None.
Failure = Message[str | None]("Failure")
#: Facts that have to be the same in all members, and what the member read.
KnownFacts = Message[tuple[Mapping[str, Any], str]]("KnownFacts")
#: Whether the member has rows.
HasRows = Message[bool]("HasRows")
#: The number of the member's rows.
RowCount = Message[int]("RowCount")
#: The numbers of the member's rows and queries.
RowsAndQueries = Message[tuple[int, int]]("RowsAndQueries")
#: The number of columns of the member's rows.
ColumnCount = Message[int]("ColumnCount")
#: The levels of categorical columns, and whether all values of a column are text.
ColumnLevels = Message[Mapping[int, tuple[Any, bool]]]("ColumnLevels")
#: The name of the member's host.
HostName = Message[str]("HostName")
#: What tells a device of this process from others.
DeviceKey = Message[object]("DeviceKey")
#: The host and the bus address of the member's card; None where NCCL cannot join it.
CardOfMember = Message[tuple[str, str] | None]("CardOfMember")
#: By what the members' cards find each other, from member 0.
NcclName = Message[Any]("NcclName")
#: Whether NCCL joined the member's card with the others.
CardsJoined = Message[bool]("CardsJoined")

# -- labels and weights ---------------------------------------------------------------------------
#: One of the arrays of labels, weights, margins and sizes of queries.
RowValues = Message[npt.NDArray[Any]]("RowValues")
#: The sum of every target's labels, and that of weights, without rounding.
ExactLabelSums = Message[tuple[list[Fraction], Fraction]]("ExactLabelSums")
#: The sum of the weights of every class.
ClassWeights = Message[list[Fraction]]("ClassWeights")
#: The number of weights of every power of two.
WeightExponents = Message[_Integers]("WeightExponents")
#: The bits of the largest scaled weight.
WeightBits = Message[int]("WeightBits")
#: The largest weight of a row in its leaf's quantile.
LargestLeafShare = Message[float]("LargestLeafShare")
#: The sizes and facts of a ranking loss's queries.
QueryLabels = Message[Any]("QueryLabels")

# -- evaluation sets and checkpoints --------------------------------------------------------------
#: Whether an evaluation set is the training data.
IsTrainingData = Message[bool]("IsTrainingData")
#: Whether the rows of an evaluation set come in batches; None where there are none.
InBatches = Message[bool | None]("InBatches")
#: The member's rows of an evaluation set.
EvaluationRows = Message[Any]("EvaluationRows")
#: Whether the member's callbacks write checkpoints.
SavesCheckpoints = Message[bool]("SavesCheckpoints")
#: Sums of the digests of rows.
RowDigests = Message[npt.NDArray[np.uint64]]("RowDigests")
#: The checkpoint to resume from, or None.
NewestCheckpoint = Message[Any]("NewestCheckpoint")

# -- columns become codes -------------------------------------------------------------------------
#: Whether the member begins another pass over the batches.
BatchPass = Message[bool]("BatchPass")
#: The next batch, which member 0 has read.
BatchOfRows = Message[list[Any]]("BatchOfRows")
#: The member is done with a batch.
BatchDone = Message[None]("BatchDone")
#: The number of rows of each level of a column.
LevelCounts = Message[Any]("LevelCounts")
#: The columns that the member has cut, and their cut points.
ColumnCuts = Message[tuple[npt.NDArray[np.uint32], Any]]("ColumnCuts")
#: Rows, rows that count, and the exponent of the largest weight.
WholeWeights = Message[tuple[int, int, int | None]]("WholeWeights")
#: Which columns have missing values.
MissingValues = Message[_Integers]("MissingValues")
#: The number of columns that the member's memory allows at a time.
ColumnsAtATime = Message[int]("ColumnsAtATime")
#: The rows and weights of columns.
ColumnTotals = Message[_Integers]("ColumnTotals")
#: The numbers of distinct values of columns.
DistinctCounts = Message[_Integers]("DistinctCounts")
#: The rows and weights of parts of ranges.
RangeCounts = Message[_Integers]("RangeCounts")
#: The distinct values of ranges, with rows and weights.
DistinctValues = Message[Any]("DistinctValues")
#: The smallest values above those that a column's borders end at.
FollowingValues = Message[Any]("FollowingValues")
#: The signs of zeros of columns.
ZeroSigns = Message[Any]("ZeroSigns")

# -- sizes of a fit -------------------------------------------------------------------------------
#: The layout and codes that an earlier fit of the same rows has left.
CodesBefore = Message[Any]("CodesBefore")
#: The codes of the member's rows.
CodesOfPart = Message[Any]("CodesOfPart")
#: Whether the codes have found memory on the member's device.
IsQuantized = Message[bool]("IsQuantized")
#: Whether a fit of all rows fits the member's device.
FitsDevice = Message[bool]("FitsDevice")
#: The number of work-groups that go through rows.
RowGroups = Message[int]("RowGroups")
#: The most that the histograms of gathered columns may take of those of all, in percent.
PercentGathered = Message[int]("PercentGathered")
#: The same, of the columns that the levels of a tree draw together.
PercentOfLevels = Message[int]("PercentOfLevels")
#: The number of trees that grow at a time.
TreesAtATime = Message[int]("TreesAtATime")
#: The number of finished trees that wait on the device.
ForestBlock = Message[int]("ForestBlock")
#: The number of leaves that split in a step.
LeavesAtATime = Message[int]("LeavesAtATime")
#: Whether a kernel has taken another variant while steps were built.
VariantRefused = Message[int]("VariantRefused")
#: Whether there are evaluation sets, whether they are gathered, and the device's name.
FitLabels = Message[tuple[bool, bool, str]]("FitLabels")

# -- rounds ---------------------------------------------------------------------------------------
#: What member 0 asks for, and a learning rate; None from the others.
Request = Message[tuple[str, float] | None]("Request")
#: The member's device is idle.
DeviceIdle = Message[None]("DeviceIdle")
#: The margins of the member's rows.
Margins = Message[_F32]("Margins")
#: The gradients and Hessians of all rows, from member 0; those to split by, if any.
AllGradients = Message[tuple[_F32, ...] | None]("AllGradients")
#: The best splits among the member's own features.
BestSplits = Message[npt.NDArray[Any]]("BestSplits")
#: The digest of the member's trees.
TreesDigest = Message[str]("TreesDigest")
#: The model, or None where the member does not have it.
TrainedModel = Message[Any]("TrainedModel")
#: A hook of the user's callbacks, its round, and the metrics so far, from member 0.
HookCalled = Message[Any]("HookCalled")
#: Whether the member has callbacks of the user's.
OwnHooks = Message[bool]("OwnHooks")
#: What a function of the user's sends.
UserValue = Message[Any]("UserValue")

# -- sums and links -------------------------------------------------------------------------------
#: A part of a sum inside a tree.
SumPart = Message[_Integers]("SumPart")
#: Parts of a sum of which each member gets one.
OwnParts = Message[list[Any]]("OwnParts")
#: The member has added up its share.
SumDone = Message[None]("SumDone")
#: The member is ready to time its link.
LinkTimed = Message[None]("LinkTimed")
#: Whether the member's link is slow.
LinkIsSlow = Message[bool]("LinkIsSlow")


def by_all(error: _Error, *, raised: bool = True) -> _Error:
    """Mark an error that all members of a team raise, so that nobody waits for another."""
    setattr(error, _BY_ALL, raised)
    return error


def is_by_all(error: BaseException) -> bool:
    """Tell whether all members of a team raise an error."""
    return getattr(error, _BY_ALL, False)


def check_step(stamps: Sequence[Stamp], ranks: Sequence[int]) -> None:
    """Raise an error unless all members have sent the same message at the same position.

    ``stamps``: the stamp of every member.
    ``ranks``: the numbers by which errors call the members.

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
