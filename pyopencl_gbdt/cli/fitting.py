"""Train as the options of ``pyopencl-gbdt train`` say, and save the model.

As a process of an MPI job, ``mpirun -n 4 pyopencl-gbdt train DATA``, read a part of the rows.
"""

from __future__ import annotations

import argparse
import contextlib
import socket
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyopencl_gbdt.callbacks.base import EvalsLog, TrainingCallback, TrainingModel
from pyopencl_gbdt.cli import side_files, tables
from pyopencl_gbdt.cli.data_path import DataPath
from pyopencl_gbdt.cli.output import (
    Progress,
    check_output,
    complain,
    kernel_lines,
    say,
    section,
)
from pyopencl_gbdt.data.files.batches import paths_of
from pyopencl_gbdt.errors import DataError, ParameterError
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.metrics import get_metric
from pyopencl_gbdt.model.formats.registry import formats_of_name
from pyopencl_gbdt.parameters.parameters import Parameters

if TYPE_CHECKING:
    from pyopencl_gbdt.data import TableData
    from pyopencl_gbdt.data.dataset import Dataset
    from pyopencl_gbdt.device import DeviceInfo
    from pyopencl_gbdt.prediction.model import Model


#: What stands for the rank in file names.
RANK = "{rank}"


class RankJob:
    """The process's place in an MPI job.

    Attributes
    ----------
    communicator : mpi4py.MPI.Intracomm or None
        None outside a job.
    """

    def __init__(self, communicator: Any = None) -> None:
        self.communicator = communicator
        self.rank: int = 0 if communicator is None else communicator.rank
        self.size: int = 1 if communicator is None else communicator.size

    @property
    def leads(self) -> bool:
        """Whether this process prints, and writes the model."""
        return self.rank == 0

    def place(self) -> int:
        """Return how many ranks before this one are processes of the same host."""
        if self.communicator is None:
            return 0
        hosts: list[str] = self.communicator.allgather(socket.gethostname())
        return hosts[: self.rank].count(hosts[self.rank])

    @contextlib.contextmanager
    def ended_by_errors(self) -> Iterator[None]:
        """End all ranks if the block fails in this one, or one gives no sign of life; say why."""
        from pyopencl_gbdt.device.team.mpi import end_job, watch

        watching = None if self.size == 1 else watch(self.communicator)
        try:
            yield
            if watching is not None:
                watching.end()
        except BaseException as error:
            if self.size > 1:
                end_job(self.communicator, f"rank {self.rank}: {error}")
            raise


def rank_job() -> RankJob:
    """Return the MPI job of this process, if a launcher started several.

    Raises
    ------
    ParameterError
        If mpi4py is not installed there.
    """
    from pyopencl_gbdt.device.team.mpi import job_communicator

    return RankJob(job_communicator())


def read_training(
    mine: RankJob, args: argparse.Namespace, objective: str, **options: Any
) -> tuple[Dataset, list[tuple[Dataset | None, str]]]:
    """Read this rank's rows; the first rank reads the evaluation sets too.

    Names of files with ``{rank}`` are those of this rank's own files. Of a folder or a pattern with
    a file or more for each rank, each rank reads its share of the files, unless a file has weights,
    query sizes or base margins of all rows. Otherwise all ranks read the same files, and each keeps
    an equal part of the rows; queries stay whole.
    """
    if mine.size == 1:
        data, sets = tables.read_training(args, objective, **options)
        return data, list(sets)
    own = argparse.Namespace(**vars(args))
    for name in ("data", "weight"):
        text = getattr(args, name)
        setattr(own, name, text if text is None else text.replace(RANK, str(mine.rank)))
    if (own.data == args.data) != (own.weight == args.weight) and own.weight is not None:
        raise ParameterError(
            f"--weight {args.weight}: expected {RANK} in both names or in none, as in "
            f"{args.data}; give weights of the same rows"
        )
    names = options.get("names") or tables.file_names(args.eval)
    if not mine.leads:
        own.eval, options = [], {**options, "names": []}
    share = None
    if own.data == args.data and _is_dealt(args, mine.size, beside=options.get("beside", False)):
        share = mine.rank, mine.size
    if own.data == args.data and share is None:
        data, sets = tables.read_training(own, objective, **options)
        data = data.part(*_bounds(data, mine))
    else:
        options["like_all"] = partial(_like_all, mine)
        data, sets = tables.read_training(own, objective, share=share, **options)
    return data, list(sets) if mine.leads else [(None, name) for name in names]


def _like_all(mine: RankJob, table: TableData) -> TableData:
    """Return a rank's rows with the columns and levels that the rows of all ranks have."""
    from pyopencl_gbdt.categories.common_columns import common_data
    from pyopencl_gbdt.data.dataset import Dataset
    from pyopencl_gbdt.device.foreign import DeviceMatrix
    from pyopencl_gbdt.device.team.mpi import joined_team

    team = joined_team(mine.communicator)
    rows = common_data(team, Dataset(table.features))
    team.leave()
    if rows is None:
        return table
    own = rows.checked
    assert not isinstance(own.values, DeviceMatrix)  # it comes from files
    return replace(table, X=own.values, categories=own.categories)


def _is_dealt(args: argparse.Namespace, size: int, *, beside: bool) -> bool:
    """Tell whether there is a file or more for each of so many ranks, and none for all rows."""
    where = DataPath.parse(args.data)
    if not where.in_batches or len(paths_of(where.file)) < size or args.weight is not None:
        return False
    return not (beside and any(side_files.find(where.file, what) for what in side_files.ENDINGS))


def _bounds(data: Dataset, mine: RankJob) -> Sequence[int]:
    """Return the first row of a rank, and the row behind its last one."""
    from pyopencl_gbdt.training.division import row_bounds

    return row_bounds(data, [1.0] * mine.size)[mine.rank]


@dataclass(frozen=True)
class Extras:
    """What only a configuration file can ask for.

    Attributes
    ----------
    model_option : str
        How errors call the name of the model.
    eval_names : tuple of str or None
        Names of the evaluation sets; None takes those of their files.
    eval_train : bool
        Whether to evaluate the training rows too, as ``train``.
    model_in : str or None
        A model to continue.
    save_period : int
        Write a model to ``model_dir`` every so many rounds; 0 never.
    side_files : bool
        Whether to read files with weights and so on beside data files.
    """

    model_option: str = "--model"
    eval_names: tuple[str, ...] | None = None
    eval_train: bool = False
    model_in: str | None = None
    save_period: int = 0
    model_dir: str = "."
    side_files: bool = False


class SaveRounds(TrainingCallback):
    """Write the model every so many rounds, under XGBoost's names."""

    saves = True

    def __init__(self, folder: str, period: int) -> None:
        self.folder, self.period = Path(folder), period

    def after_iteration(self, model: TrainingModel, epoch: int, evals_log: EvalsLog) -> bool:
        """Write after every ``period`` rounds."""
        if (epoch + 1) % self.period == 0:
            model.current().save_model(self.folder / model_name(epoch + 1))
        return False


def model_name(n_rounds: int) -> str:
    """Return the name of a model file without a name: ``0002.model``."""
    return f"{n_rounds:04d}.model"


def chosen_variants(info: DeviceInfo, p: Parameters) -> dict[str, str]:
    """Return every kernel's variant, as far as it is known before the data are read."""
    from pyopencl_gbdt.device.variants import LOCAL_HEADROOM, choose
    from pyopencl_gbdt.primitives.histogram_kernel import ANY_CODES

    assert info.caps is not None
    histogram = choose("histogram", info.caps, p.histogram).name
    fits = (info.caps.local_bytes - LOCAL_HEADROOM) // 8  # two 32-bit accumulators per code
    if histogram not in ("cpu", ANY_CODES) and p.max_bin + 1 > fits:
        histogram += " (one by ranges of bins if the data need so many)"
    return {**info.variants(), "histogram": histogram}


def fit(args: argparse.Namespace, given: dict[str, Any], extras: Extras | None = None) -> None:
    """Train and save, as one process or as one of an MPI job; see ``_fit``."""
    job = rank_job()
    with job.ended_by_errors():
        _fit(args, given, extras, job)


def _fit(
    args: argparse.Namespace, given: dict[str, Any], extras: Extras | None, job: RankJob
) -> None:
    """Check everything that can be checked beforehand; read, train, save.

    ``given``: the training parameters, without ``device``.
    ``job``: the first process of an MPI job writes the model.
    """
    from pyopencl_gbdt.device import find, open_device
    from pyopencl_gbdt.device.bandwidth import device_bandwidth
    from pyopencl_gbdt.device.selection import find_several, name_in_turn, names_several
    from pyopencl_gbdt.training.train import Model, train

    extras = extras or Extras()
    p = Parameters.from_dict({**given, "device": args.device})
    _check_options(args, extras)
    before = None if extras.model_in is None else Model.load_model(extras.model_in)
    if before is not None and args.n_features is None:
        args.n_features = before.ensemble.n_features
    several = find_several(p.device) if names_several(p.device) else []
    named = p.device if job.size == 1 else name_in_turn(p.device, job.place())
    info = several[0].info if several else find(named)
    assert info.caps is not None
    variants = chosen_variants(info, p)
    open_device(info.device_id).warm_up()
    data, evals = read_training(
        job, args, p.objective, names=extras.eval_names, beside=extras.side_files
    )
    if extras.eval_train:
        evals.insert(0, (data, "train"))  # early stopping watches the last one
    tell = _nothing if p.verbosity == 0 or not job.leads else section
    tell("Data", f"{args.data}: {data.n_rows} rows, {data.n_features} features")
    labels = [one.info.caps.label for one in several if one.info.caps is not None]
    tell("Devices" if several else "Device", *(labels or [info.caps.label]))
    tell("Kernels", *kernel_lines(variants, info.caps, verbose=args.verbose))

    def show(number: int, metrics: list[str]) -> None:
        say("  ".join([f"  round {number:>5}", *metrics]))

    if args.profile:  # measure the copy bandwidth before, not during, the timed rounds
        device_bandwidth(open_device(info.device_id))
    silent = p.verbosity == 0 or not evals or args.verbose_every == 0 or not job.leads
    progress = Progress(
        None if silent else show,
        n_rounds=p.n_estimators,
        every=max(1, args.verbose_every),
        waits=bool(evals),
    )
    model = train(
        {**given, "device": p.device if several else info.device_id},
        data,
        evals=evals,
        eval_metric=args.eval_metric,
        early_stopping_rounds=args.early_stopping_rounds,
        callbacks=_savers(extras),
        model=before,
        verbose=True,
        report=progress.report,
        profile=args.profile,
        communicator=job.communicator,
    )
    if not job.leads:
        return
    progress.finish()
    model.save_model(args.model)
    tell("Time", progress.summary())
    if "devices" in model.variants:
        tell("Rows", model.variants["devices"])
    tell("Saved", f"{args.model}: {len(model.ensemble.trees)} trees{_best(model)}")
    if model.profile is not None:
        say(f"\n{model.profile.table()}")


def _savers(extras: Extras) -> list[TrainingCallback]:
    return [SaveRounds(extras.model_dir, extras.save_period)] if extras.save_period else []


def _best(model: Model) -> str:
    """Describe the best round, after early stopping."""
    from pyopencl_gbdt.prediction.model import BEST_ITERATION

    if BEST_ITERATION not in model.ensemble.attributes:
        return ""
    best = model.best_iteration + 1
    return f"; predictions use those up to round {best}, the best one: {model.best_score:g}"


def _nothing(title: str, *paragraphs: str) -> None:
    """Replace `section` if nothing is to be printed."""


def _check_options(args: argparse.Namespace, extras: Extras) -> None:
    for name in args.eval_metric or ():
        get_metric(name)
    option = extras.model_option
    if extras.save_period:
        check_output(str(Path(extras.model_dir) / model_name(extras.save_period)), "model_dir")
    check_output(args.model, option)
    formats = formats_of_name(args.model)
    if Path(args.model).exists() and not Path(args.model).is_file():
        raise DataError(f"{option} {args.model}: expected a regular file; give another name")
    if formats[0].suffixes[0] == ".json" and Path(args.model).suffix != ".json":
        complain(f"note: XGBoost reads {args.model} only if its name ends in .json")
    if args.verbose_every < 0:
        raise ParameterError(f"--verbose-every {args.verbose_every}: expected 0 or more")
    if args.n_features is not None and args.n_features < 1:
        raise ParameterError(f"--n-features {args.n_features}: expected 1 or more")
