"""Reading files of several machines, and files that are something else."""

import json

import pytest

from pyopencl_gbdt.comparison import schema
from pyopencl_gbdt.comparison.schema import document, merge
from pyopencl_gbdt.errors import DataError
from tests.comparison.samples import make_document, make_failure, make_machine, make_result, save


def test_machines_come_in_order_and_once(tmp_path):
    one = save(tmp_path / "1.json", make_document(make_result("a:0"), make_failure("b:0")))
    two = save(tmp_path / "2.json", document([make_machine([make_result("c:0")], name="other")]))
    merged = merge([two, one, two])
    assert [machine["name"] for machine in merged["machines"]] == ["other", "Some processor"]
    assert schema.check(merged) == ""
    again = save(tmp_path / "3.json", merged)
    assert merge([again, one]) == merged


def test_machines_of_one_name_are_numbered(tmp_path):
    paths = [
        save(tmp_path / f"{day}.json", document([make_machine([], date=f"day {day}")]))
        for day in range(3)
    ]
    merged = merge(paths)
    expected = ["Some processor", "Some processor #2", "Some processor #3"]
    assert [machine["name"] for machine in merged["machines"]] == expected
    again = save(tmp_path / "again.json", merged)
    assert merge([paths[0], again]) == merged


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "not JSON"),
        ("{", "not JSON"),
        ("[" * 100_000, "not JSON"),
        (b"\xff\xfe\x00", "not JSON"),
        ("[1, 2]", "not a comparison"),
        ('{"learner": {}}', "not a comparison"),
        ('{"format": "pyopencl_gbdt comparison"}', "format_version=None: expected 1"),
        ('{"format": "pyopencl_gbdt comparison", "format_version": 2}', "expected 1"),
        ('{"format": "pyopencl_gbdt comparison", "format_version": 1}', "expected a list"),
    ],
)  # fmt: skip
def test_foreign_files(tmp_path, text, words):
    path = tmp_path / "foreign.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(DataError, match=words) as caught:
        merge([str(path)])
    assert str(path) in str(caught.value)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(DataError, match="cannot be read"):
        merge([str(tmp_path / "absent.json")])
    with pytest.raises(DataError, match="cannot be read"):
        merge([str(tmp_path)])


@pytest.mark.parametrize(
    ("place", "value", "words"),
    [
        (("results", 0, "round_ms"), "fast", r"results\[0\].round_ms: expected int or float"),
        (("results", 0, "round_ms"), float("nan"), "round_ms: expected a finite number"),
        (("results", 0, "round_ms"), 10**400, "round_ms: expected a finite .* <integer of 1329 b"),
        (("results", 0, "round_ms"), 0, "round_ms: expected a number >= 1e-30, found 0"),
        (("results", 0, "round_ms"), 5e-324, "round_ms: expected a number >= 1e-30, found 5e-324"),
        (("results", 0, "predicted_rows_per_second"), 0.0, "second: expected a number >= 1e-30"),
        (("results", 0, "setup_seconds"), 5e-324, "setup_seconds: expected 0 or a number >= 1e-30"),
        (("results", 0, "kernels", 0, "ms"), 1e308, r"kernels\[0\].ms: .*1e\+18 at most"),
        (("results", 0, "model_digest"), "\ud800", "model_digest: half of a character"),
        (("results", 0, "variants"), {"\ud800": "x"}, "variants: half of a character in a name"),
        (("memory_bytes",), 10**400, "memory_bytes: expected a finite number"),
        (("devices", 0, "copy_bytes_per_second"), 10**400, "second: expected a finite number"),
        (("results", 0, "peak_bytes"), True, "peak_bytes: expected int"),
        (("results", 0, "setup_seconds"), -1.0, "setup_seconds: expected a finite number >= 0"),
        (("results", 0, "model_digest"), None, "model_digest: expected str"),
        (("results", 0, "kernels", 1, "ms"), None, r"kernels\[1\].ms: expected"),
        (("results", 0, "variants"), {"histogram": 1}, "variants.histogram: expected str"),
        (("results", 0, "device"), "x:0", "its device or shape is not listed"),
        (("results", 0, "shape"), "x", "its device or shape is not listed"),
        (("devices", 0, "capabilities"), {}, "api is missing"),
        (("shapes", 0), 3, r"shapes\[0\]: expected an object"),
        (("options",), {"repeats": 1, "quick": False}, "seed is missing"),
        (("finished",), "no", "finished: expected bool"),
    ],
)
def test_damage_is_named_by_its_place(tmp_path, place, value, words):
    written = json.loads(json.dumps(make_document(make_result("a:0"))))
    target = written["machines"][0]
    for key in place[:-1]:
        target = target[key]
    target[place[-1]] = value
    with pytest.raises(DataError, match=f"damaged.json: .*{words}"):
        merge([save(tmp_path / "damaged.json", written)])


def test_a_missing_measurement_is_found_and_more_keys_are_not_minded(tmp_path):
    written = make_document(make_result("a:0"))
    written["machines"][0]["results"][0]["later"] = [1]
    assert schema.check(written) == ""
    del written["machines"][0]["results"][0]["round_ms"]
    assert "round_ms is missing" in schema.check(written)
