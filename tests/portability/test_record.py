"""The record of compiled programs, with a compiler that writes down what it is asked."""

import datetime
from dataclasses import replace

import pytest

from tests.portability import __main__ as program
from tests.portability import matrix, offline, record, targets
from tests.portability.usage import CompileError, Made, Usage

pytestmark = pytest.mark.thorough
(TARGET,) = (target for target in targets.ALL["amd"] if target.chip == "gfx906")
PROGRAMS = [(f"KERNEL(64) k{number}() {{}}", 64) for number in range(23)]
DAY = datetime.date(2026, 11, 28)


class _Compiler:
    """Takes as many registers as a source has characters; an ``error`` does not compile."""

    def __init__(self):
        self.version, self.asked = "1", []

    def compile_many(self, programs, target):
        for source, wg_size in programs:
            self.asked.append(source)
            usage = Usage("move", len(source), 0, 8, 1024, wg_size, 2 / 3)
            usages = [replace(usage, kernel="sort", in_lanes=3), usage]
            yield CompileError("no such word") if "error" in source else Made(usages, 0.5)


@pytest.fixture
def compiler(monkeypatch, tmp_path):
    fake = _Compiler()
    monkeypatch.setattr(record, "FOLDER", tmp_path / "compiled")
    monkeypatch.setattr(record, "_today", lambda: DAY)
    of_row = offline.Compiler(
        lambda: "", lambda: fake.version, fake.compile_many, lambda target: fake.version
    )
    monkeypatch.setitem(offline.COMPILERS, "amd", of_row)
    return fake


def _recorded(compiler, programs=PROGRAMS):
    """Compile programs, write their record, and return their digests."""
    keys = [record.digest(one) for one in programs]
    found = record.compile_new(programs, TARGET)
    record.write(TARGET, {key: one.usages for key, one in zip(keys, found.made, strict=True)})
    compiler.asked.clear()
    return keys


def test_without_a_record_all_are_compiled(compiler):
    found = record.compile_new(PROGRAMS, TARGET)
    assert compiler.asked == [source for source, _ in PROGRAMS]
    assert found.says == "all compiled now: this chip has no record"
    assert found.gaps == []


def test_what_is_recorded_is_compiled_in_ten_days(compiler, monkeypatch):
    keys = _recorded(compiler)
    days = []
    for later in range(record.PARTS):
        monkeypatch.setattr(record, "_today", lambda n=later: DAY + datetime.timedelta(n))
        found = record.compile_new(PROGRAMS, TARGET)
        assert found.gaps == []
        assert [len(one.usages) for one in found.made] == [2] * len(keys)
        days.append(len(compiler.asked))
    assert {later - day for day, later in zip([0, *days], days, strict=False)} == {2, 3}
    assert sorted(compiler.asked) == sorted(source for source, _ in PROGRAMS)
    assert "of which" in found.says
    assert "recorded on 2026-11-28" in found.says


def test_a_changed_source_is_compiled(compiler):
    _recorded(compiler)
    for changed in [("changed", 64), (PROGRAMS[0][0], 256), ("an error", 64)]:
        found = record.compile_new([changed, *PROGRAMS[1:]], TARGET)
        assert compiler.asked[0] == changed[0]
        assert len(compiler.asked) <= 1 + 3
        compiler.asked.clear()
    assert isinstance(found.made[0], CompileError)


def test_a_wrong_usage_is_found_by_the_sample(compiler):
    keys = _recorded(compiler)
    file = record.file_of(TARGET)
    wrong = file.read_text(encoding="utf-8").replace(",1024,", ",1025,")
    file.write_text(wrong, encoding="utf-8")
    found = record.compile_new(PROGRAMS, TARGET)
    again = record.sample(keys, DAY)
    assert len(found.gaps) == len(again) > 0
    assert all(any(key in gap for key in again) for gap in found.gaps)
    assert "--anew --record" in found.gaps[0]
    assert record.compile_new(PROGRAMS, TARGET, anew=True).gaps == []


def test_another_compiler_compiles_all(compiler):
    _recorded(compiler)
    compiler.version = "2"
    found = record.compile_new(PROGRAMS, TARGET)
    assert len(compiler.asked) == len(PROGRAMS)
    assert found.says == "all compiled now: the record of 2026-11-28 has another compiler"


def test_what_was_written_is_read_and_what_is_stale_goes(compiler):
    keys = _recorded(compiler)
    first = record.read(TARGET)
    assert first.build == "1"
    assert sorted(first.usages) == sorted(keys)
    usages = first.usages[keys[0]]
    assert [(one.kernel, one.in_lanes, one.occupancy) for one in usages] == [
        ("move", 0, 0.667),
        ("sort", 3, 0.667),
    ]
    text = record.file_of(TARGET).read_text(encoding="utf-8")
    _recorded(compiler)
    assert record.file_of(TARGET).read_text(encoding="utf-8") == text
    _recorded(compiler, PROGRAMS[:3])
    assert sorted(record.read(TARGET).usages) == sorted(keys[:3])


def test_a_compiler_of_no_known_version_has_no_record(compiler):
    compiler.version = ""
    _recorded(compiler)
    assert record.read(TARGET) is None


@pytest.mark.parametrize("gaps", [[], ["it spills"]])
def test_only_a_chip_that_is_good_is_recorded(gaps, compiler, monkeypatch, capsys):
    usages = [Usage("move", 24, 0, 0, 0, 64, 1.0)]
    chip = matrix.Chip([matrix.Compiled(None, usages, digest="ab12")], gaps, "all compiled now")
    monkeypatch.setattr(program, "compile_all", lambda target, **how: chip)
    words = ["amd", "--chips", "gfx906", "--record"]
    assert program.main(words) == bool(gaps)
    assert "1 kernels in 1 programs, all compiled now; Instinct MI50" in capsys.readouterr().out
    recorded = record.read(TARGET)
    assert recorded is None if gaps else recorded.usages == {"ab12": usages}


def test_a_record_of_all_programs_is_refused(capsys):
    with pytest.raises(SystemExit):
        program.main(["amd", "--record", "--every"])
    assert "without --every" in capsys.readouterr().err


@pytest.mark.parametrize("row", program.RECORDED)
def test_compilers_name_themselves_with_their_options(row):
    if offline.COMPILERS[row].missing():
        pytest.skip(offline.COMPILERS[row].missing())
    builds = {offline.COMPILERS[row].build(target) for target in targets.ALL[row]}
    assert len(builds) == len(targets.ALL[row])
    assert all(any(character.isdigit() for character in build) for build in builds)
