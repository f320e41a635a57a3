"""Checkpoints that are damaged, planted, shared between trainings, or that cannot be written.

An edited one gets the digest that fits it: what lies behind the digest does not trust a file
either.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pyopencl_gbdt import Dataset, train
from pyopencl_gbdt.callbacks import EarlyStopping, TrainingCallback, TrainingCheckPoint
from pyopencl_gbdt.callbacks.checkpoint_files import read_checkpoint, sealed
from pyopencl_gbdt.errors import ModelFormatError, ParameterError
from tests.callbacks.test_checkpoint import DATA, PARAMS, TEST, X, Y, crash, names, text_of
from tests.device import strangers
from tests.full_disk import fill, small_disk
from tests.processes import IMPORT_PATH, QUICK_BUILDS

KEY = "pyopencl_gbdt.checkpoint"
EVALS = [(TEST, "test")]
STALE = ".pyopencl_gbdt-00000000deadbeef.partial"


def callbacks(folder):
    return [TrainingCheckPoint(folder, interval=2), EarlyStopping(9)]


@pytest.fixture(scope="module")
def whole():
    return text_of(train(PARAMS, DATA, 8, evals=EVALS, callbacks=[EarlyStopping(9)]))


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Checkpoints of rounds 4 and 6."""
    folder = tmp_path_factory.mktemp("saved")
    crash(folder, 7, EarlyStopping(9), evals=EVALS, n_rounds=8)
    assert names(folder) == ["model_4.json", "model_6.json"]
    return {path.name: path.read_text() for path in folder.iterdir()}


def resume(folder, saved, **edited):
    """Put the checkpoints into a folder, the newest edited; return the training that goes on."""
    for name, text in saved.items():
        document = json.loads(text)
        if name == "model_6.json":
            learner = document["learner"]
            facts = json.loads(learner["attributes"][KEY])
            edited.get("facts", lambda facts: None)(facts)
            learner["attributes"][KEY] = edited.get("text", json.dumps(facts))
            edited.get("learner", lambda learner: None)(learner)
        (folder / name).write_bytes(sealed(json.dumps(document).encode()))
    return train(PARAMS, DATA, 8, evals=EVALS, callbacks=callbacks(folder))


def damage(*path, value):
    def edit(facts):
        for key in path[:-1]:
            facts = facts[key]
        if value is None:
            del facts[path[-1]]
        else:
            facts[path[-1]] = value

    return edit


DAMAGED = {
    "n_rounds gone": damage("n_rounds", value=None),
    "n_rounds of text": damage("n_rounds", value="6"),
    "n_rounds true": damage("n_rounds", value=True),
    "n_rounds of more": damage("n_rounds", value=10**9),
    "n_rounds of fewer": damage("n_rounds", value=4),
    "n_rounds huge": damage("n_rounds", value=10**400),
    "fingerprint list": damage("fingerprint", value=[]),
    "fingerprint of numbers": damage("fingerprint", "evals", value=3),
    "rate of text": damage("learning_rate", value="0.3"),
    "rate below 0": damage("learning_rate", value=-1.0),
    "rate NaN": damage("learning_rate", value=float("nan")),
    "rate infinite": damage("learning_rate", value=float("inf")),
    "history gone": damage("history", value=None),
    "history empty": damage("history", value={}),
    "history of another set": damage("history", "other", value={"rmse": [0.0] * 6}),
    "history too short": damage("history", "test", "rmse", value=[0.1] * 5),
    "history of text": damage("history", "test", "rmse", value=["x"] * 6),
    "history null": damage("history", "test", value={"rmse": [None] * 6}),
    "callbacks object": damage("callbacks", value={}),
    "callbacks of no pair": damage("callbacks", value=[["EarlyStopping"]]),
    "state null": damage("callbacks", 0, 1, value=[]),
    "state without progress": damage("callbacks", 0, 1, "progress", value=None),
    "progress short": damage("callbacks", 0, 1, "progress", value=[0, 0.5]),
    "progress of text": damage("callbacks", 0, 1, "progress", value=["0", 0.5, 0, 0]),
    "progress below 0": damage("callbacks", 0, 1, "progress", value=[0, 0.5, -3, 0]),
    "best round before the first": damage("callbacks", 0, 1, "progress", value=[3, 0.5, 0, 0]),
    "progress beyond": damage("callbacks", 0, 1, "progress", value=[0, 0.5, 0, 9]),
    "settings short": damage("callbacks", 0, 1, "settings", value=[]),
    "attributes list": damage("attributes", value=[]),
    "attributes of numbers": damage("attributes", "a", value=3),
    "best round": damage("attributes", "best_iteration", value="x"),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_facts(name, saved, whole, tmp_path):
    """The checkpoint is named, and the one before it is used."""
    with pytest.warns(UserWarning, match=r"model_6\.json is damaged: using the previous"):
        model = resume(tmp_path, saved, facts=DAMAGED[name])
    assert text_of(model) == whole


@pytest.mark.parametrize("text", ["", "x", "[]", "3", "null", "[" * 100_000, '{"n_rounds": 6'])
def test_damaged_text(text, saved, whole, tmp_path):
    with pytest.warns(UserWarning, match=r"model_6\.json is damaged"):
        assert text_of(resume(tmp_path, saved, text=text)) == whole


def test_the_model_of_another_training(saved, whole, tmp_path):
    def fewer_trees(learner):
        model = learner["gradient_booster"]["model"]
        model["gbtree_model_param"]["num_trees"] = "5"
        for name in ("trees", "tree_info", "iteration_indptr"):
            del model[name][-1]

    def another_start(learner):
        learner["learner_model_param"]["base_score"] = "[2.5E-1]"
        learner["attributes"]["pyopencl_gbdt.base_margin"] = "0x1.0p-2"

    def another_loss(learner):
        learner["attributes"]["pyopencl_gbdt.objective"] = "fair"

    def no_checkpoint(learner):
        del learner["attributes"][KEY]

    def more_features(learner):
        learner["learner_model_param"]["num_feature"] = "9"

    for number, edit in enumerate(
        (fewer_trees, another_start, another_loss, no_checkpoint, more_features)
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        with pytest.warns(UserWarning, match=r"model_6\.json is damaged"):
            assert text_of(resume(folder, saved, learner=edit)) == whole


def test_a_whole_one_is_used(saved, whole, tmp_path):
    """Test the helper."""
    assert text_of(resume(tmp_path, saved)) == whole


def other_digit(data, place):
    """Return the bytes with another digit at a place."""
    return data[:place] + b"%d" % ((int(data[place : place + 1]) + 1) % 10) + data[place + 1 :]


@pytest.mark.few(1)
@pytest.mark.more(9)
@pytest.mark.parametrize("first", range(30))
def test_every_changed_digit_is_noticed(first, saved, tmp_path):
    data, path = saved["model_4.json"].encode(), tmp_path / "model_4.json"
    places = [place for place, byte in enumerate(data) if chr(byte).isdigit()]
    assert len(places) > 1500
    path.write_bytes(data)
    read_checkpoint(path, 4, {})
    for place in places[first::30]:
        path.write_bytes(other_digit(data, place))
        with pytest.raises((ModelFormatError, ParameterError), match=r"model_4\.json"):
            read_checkpoint(path, 4, {})


@pytest.mark.parametrize(
    "behind",
    [
        b'"split_conditions":', b'"base_weights":', b'"base_score":', b"checkpoint_digest",
        rb"learning_rate\": ", rb"rmse\": ", rb"progress\": ", rb"fingerprint\": ",
    ],
)  # fmt: skip
def test_a_changed_digit_resumes_to_the_same_bytes(behind, saved, whole, tmp_path):
    """The checkpoint before it is used."""
    data = saved["model_6.json"].encode()
    place = next(i for i in range(data.index(behind), len(data)) if chr(data[i]).isdigit())
    (tmp_path / "model_4.json").write_text(saved["model_4.json"])
    (tmp_path / "model_6.json").write_bytes(other_digit(data, place))
    with pytest.warns(UserWarning, match=r"model_6\.json is damaged: using the previous"):
        model = train(PARAMS, DATA, 8, evals=EVALS, callbacks=callbacks(tmp_path))
    assert text_of(model) == whole


def test_one_without_a_digest_is_refused(saved, tmp_path):
    """As version 0.1 wrote them."""
    document = json.loads(saved["model_6.json"])
    del document["learner"]["attributes"][f"{KEY}_digest"]
    (tmp_path / "model_6.json").write_text(json.dumps(document))
    with pytest.raises(ParameterError, match=r"model_6\.json has no digest, .*resume=False"):
        train(PARAMS, DATA, 8, evals=EVALS, callbacks=callbacks(tmp_path))
    assert names(tmp_path) == ["model_6.json"]


@strangers.only_root_gives_away
def test_one_that_another_user_has_planted_is_refused(saved, whole, tmp_path):
    tmp_path.chmod(0o1777)
    planted = tmp_path / "model_6.json"
    planted.write_text(saved["model_6.json"])
    os.chown(planted, strangers.STRANGER, strangers.STRANGER)
    words = rf"model_6\.json belongs to user {strangers.STRANGER}: expected .*copy it into a folder"
    with pytest.raises(ParameterError, match=words):
        train(PARAMS, DATA, 8, evals=EVALS, callbacks=callbacks(tmp_path))
    os.chown(planted, 0, 0)
    assert text_of(train(PARAMS, DATA, 8, evals=EVALS, callbacks=callbacks(tmp_path))) == whole


@strangers.only_root_gives_away
def test_the_folder_is_not_another_users_link(tmp_path):
    shared = strangers.shared_folder(tmp_path / "shared")
    (tmp_path / "mine").mkdir()
    strangers.link(shared / "checkpoints", tmp_path / "mine")
    with pytest.raises(ParameterError, match=r"checkpoints is a link that belongs to user"):
        train(PARAMS, DATA, 2, callbacks=[TrainingCheckPoint(shared / "checkpoints", interval=1)])
    assert names(tmp_path / "mine") == []


def test_errors_of_a_users_own_callback_are_the_users(saved, tmp_path):
    class Mine(TrainingCallback):
        def state(self):
            return 1

        def restore(self, state):
            raise KeyError("mine")

    crash(tmp_path, 3, Mine())
    with pytest.raises(KeyError, match="mine"):
        train(PARAMS, DATA, 8, callbacks=[TrainingCheckPoint(tmp_path, interval=2), Mine()])


def test_planted_links_are_not_followed(whole, tmp_path):
    folder, victim = tmp_path / "shared", tmp_path / "victim"
    folder.mkdir()
    victim.write_text("mine")
    for name in (".model.partial", "model_2.json", "model_8.json", STALE):
        (folder / name).symlink_to(victim)
    model = train(PARAMS, DATA, 8, evals=EVALS, callbacks=callbacks(folder))
    assert text_of(model) == whole
    assert victim.read_text() == "mine"
    assert not (folder / "model_8.json").is_symlink()


def test_a_folder_of_a_checkpoints_name(whole, tmp_path):
    (tmp_path / "model_6.json").mkdir()
    (tmp_path / "model_7.json").mkdir()
    os.mkfifo(tmp_path / "model_3.json")
    with pytest.warns(UserWarning, match=r"no checkpoint of round 6: .*model_6\.json: is a folder"):
        model = train(PARAMS, DATA, 8, evals=EVALS, callbacks=callbacks(tmp_path))
    assert text_of(model) == whole
    with pytest.warns(UserWarning, match="no checkpoint of round 6"):
        train(PARAMS, DATA, 7, evals=EVALS, callbacks=callbacks(tmp_path))
    assert (tmp_path / "model_7.json").is_dir()


@pytest.mark.filterwarnings("ignore:no checkpoint of round [468]")
def test_a_full_disk(whole, tmp_path):
    """Training goes on, and what could not be written leaves nothing behind."""
    with small_disk(tmp_path / "disk") as disk:
        fill(disk, leave=4096)
        with pytest.warns(UserWarning, match=r"no checkpoint of round 2: .*free some space"):
            model = train(PARAMS, DATA, 8, evals=EVALS, callbacks=callbacks(disk))
        assert text_of(model) == whole
        assert names(disk) == ["filler"]


def test_directories_that_cannot_be_used(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    for saver, words in (
        (TrainingCheckPoint(tmp_path / "file"), "directory=.*cannot be made or written"),
        (TrainingCheckPoint(tmp_path, name="x" * 250), "name=.*too long"),
        (TrainingCheckPoint(tmp_path, name=3), "name=3: expected"),
    ):
        with pytest.raises(ParameterError, match=words):
            train(PARAMS, DATA, 3, callbacks=[saver])
    monkeypatch.setattr("os.access", lambda *_: False)
    with pytest.raises(ParameterError, match="it cannot be written"):
        train(PARAMS, DATA, 3, callbacks=[TrainingCheckPoint(tmp_path)])


def test_what_killed_trainings_left_is_removed(tmp_path):
    (tmp_path / STALE).write_text("half")
    train(PARAMS, DATA, 1, callbacks=[TrainingCheckPoint(tmp_path)])
    assert names(tmp_path) == []


TRAINING = """
import sys
from tests.callbacks.test_checkpoint import DATA, PARAMS, text_of
from pyopencl_gbdt import train
from pyopencl_gbdt.callbacks import TrainingCallback, TrainingCheckPoint

class Ready(TrainingCallback):
    def before_training(self, model):
        print("ready", flush=True)

saver = TrainingCheckPoint(sys.argv[1], interval=1, keep=2)
sys.stdout.write(text_of(train(PARAMS, DATA, 8, callbacks=[saver, Ready()])))
"""


@pytest.mark.thorough
def test_two_trainings_share_a_folder_with_one_that_is_killed(tmp_path):
    """One of three is killed; the others end with the right model, and nothing partial stays."""
    expected = text_of(train(PARAMS, DATA, 8))
    root = Path(__file__).resolve().parents[2]
    everyone = [
        subprocess.Popen(
            [sys.executable, "-c", TRAINING, str(tmp_path)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=root, text=True,
            env={**os.environ, **QUICK_BUILDS, "PYTHONPATH": IMPORT_PATH},
        )
        for _ in range(3)
    ]  # fmt: skip
    killed, *others = everyone
    try:
        assert killed.stdout.readline() == "ready\n"
        killed.kill()
        for process in others:
            text, errors = process.communicate(timeout=240)
            assert process.returncode == 0, errors
            assert text.removeprefix("ready\n") == expected
    finally:
        for process in everyone:
            process.kill()
            process.communicate()
    left = names(tmp_path)
    assert [name for name in left if not name.startswith("model_")] == []
    again = train(PARAMS, DATA, 8, callbacks=[TrainingCheckPoint(tmp_path, interval=1)])
    assert text_of(again) == expected


def test_another_models_rounds_come_first(tmp_path):
    first, other = train(PARAMS, DATA, 3), train(PARAMS, Dataset(X, Y), 3)
    crash(tmp_path, 5, model=first)
    newest = tmp_path / "model_4.json"
    document = json.loads(newest.read_text())
    trees = document["learner"]["gradient_booster"]["model"]["trees"]
    trees[0] = json.loads(text_of(other))["learner"]["gradient_booster"]["model"]["trees"][0]
    newest.write_bytes(sealed(json.dumps(document).encode()))
    with pytest.warns(UserWarning, match="begin with those of the model to continue"):
        model = train(
            PARAMS, DATA, 8, model=first, callbacks=[TrainingCheckPoint(tmp_path, interval=2)]
        )
    assert text_of(model) == text_of(train(PARAMS, DATA, 11))


def test_long_values_of_states_are_cut(saved, tmp_path):
    long = "\x1b[2J" + "x" * 10_000

    def other_setting(facts):
        facts["callbacks"][0][1]["settings"][1] = long

    def other_kind(facts):
        facts["callbacks"][0][0] = long

    for edit in (other_setting, other_kind):
        with pytest.raises(ParameterError, match="expected") as caught:
            resume(tmp_path, saved, facts=edit)
        assert len(str(caught.value)) < 500
        assert "\x1b" not in str(caught.value)


def test_long_and_many_names_of_a_fingerprint_are_cut(saved, tmp_path):
    def edit(facts):
        facts["fingerprint"] |= {"\x1b[2J" + "x" * 10_000: "1"}
        facts["fingerprint"] |= {f"other{number}": "1" for number in range(1000)}
        facts["fingerprint"]["parameters.max_depth"] = "\x1b[2J"

    with pytest.raises(ParameterError, match=r"max_depth differs; .*more\. Give what") as caught:
        resume(tmp_path, saved, facts=edit)
    assert len(str(caught.value)) < 1500
    assert "\x1b" not in str(caught.value)
