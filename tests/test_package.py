"""What is installed, what importing costs, and that the project is described completely."""

import configparser
import email
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import textwrap
import zipfile
from pathlib import Path

import pytest

import pyopencl_gbdt
from pyopencl_gbdt._version import PIP_SOURCE
from pyopencl_gbdt.device.render import source_folder
from pyopencl_gbdt.messages import pip_install
from tests.processes import QUICK_BUILDS

ROOT = Path(__file__).resolve().parents[1]
#: Folders at the top level that are installed as subpackages.
MOVED = {"cl_kernels", "templates"}
MIB = 1024 * 1024


def run(code, *arguments, cwd=None, path=ROOT):
    """Run Python code in a new process that finds the package in ``path``; return its output."""
    places = os.pathsep.join(filter(None, [str(path), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)],
        env={**os.environ, **QUICK_BUILDS, "PYTHONPATH": places}, cwd=cwd, capture_output=True,
        text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def setup_cfg():
    if not (ROOT / "setup.cfg").is_file():
        pytest.skip("needs a checkout")
    parser = configparser.ConfigParser()
    parser.read(ROOT / "setup.cfg", encoding="utf-8")
    return parser


# -- importing ---------------------------------------------------------------------------------
def test_importing_touches_nothing_heavy():
    loaded = run("import pyopencl_gbdt, sys; print(*sys.modules)").split()
    assert "pyopencl_gbdt" in loaded
    heavy = ("cupy", "mako", "matplotlib", "numpy", "pandas", "pyopencl", "scipy", "sklearn")
    assert [name for name in heavy if name in loaded] == []


def test_listing_devices_and_training_need_no_scikit_learn():
    loaded = run(
        """
        import sys
        sys.modules["sklearn"] = None  # an import of it raises
        import numpy as np
        from pyopencl_gbdt import Dataset, Model, devices, train
        devices()
        X = np.arange(40, dtype=np.float32).reshape(20, 2)
        train({"device": sys.argv[1]}, Dataset(X, X[:, 0]), 2).predict(X)
        print(*(name for name, module in sys.modules.items() if module))
        """,
        os.environ.get("PYOPENCL_GBDT_DEVICE", "portable computing language"),
    ).split()
    assert [name for name in ("sklearn", "matplotlib", "pandas") if name in loaded] == []


def test_estimators_say_what_to_install(monkeypatch):
    name = "pyopencl_gbdt.estimators.sklearn_names"
    monkeypatch.setitem(sys.modules, "sklearn.base", None)
    monkeypatch.delitem(sys.modules, name, raising=False)
    with pytest.raises(ImportError, match=r'need scikit-learn: pip install ".*\[scikit-learn\]"'):
        importlib.import_module(name)


def test_public_names_exist():
    for name in pyopencl_gbdt.__all__:
        assert getattr(pyopencl_gbdt, name) is not None
    assert set(dir(pyopencl_gbdt)) == set(pyopencl_gbdt.__all__)
    with pytest.raises(AttributeError, match="no attribute 'gbdt'"):
        _ = pyopencl_gbdt.gbdt


def test_version():
    assert re.fullmatch(r"\d+\.\d+\.\d+", pyopencl_gbdt.__version__)


# -- metadata ----------------------------------------------------------------------------------
def test_the_list_of_packages_is_complete(setup_cfg):
    listed = set(setup_cfg["options"]["packages"].split())
    inside = {
        ".".join(file.parent.relative_to(ROOT).parts)
        for file in (ROOT / "pyopencl_gbdt").rglob("__init__.py")
    }
    assert listed == inside | {f"pyopencl_gbdt.{name}" for name in MOVED}


def test_every_module_is_in_a_package():
    for file in (ROOT / "pyopencl_gbdt").rglob("*.py"):
        assert (file.parent / "__init__.py").is_file(), f"{file.parent} has no __init__.py"


def test_required_dependencies_are_four(setup_cfg):
    required = setup_cfg["options"]["install_requires"].split()
    assert [re.split(r"[<>=]", name)[0] for name in required] == [
        "pyopencl", "numpy", "mako", "scipy",
    ]  # fmt: skip


def test_extras(setup_cfg):
    extras = setup_cfg["options.extras_require"]
    assert {
        "cpu", "intel-cpu", "sim", "cuda12", "cuda13", "scikit-learn", "plot", "test", "all",
    } <= set(extras)  # fmt: skip
    for name in ("test", "all"):
        (own,) = re.findall(r"pyopencl_gbdt\[([^]]*)\]", extras[name])
        assert set(own.split(",")) <= set(extras)
    assert "intel" not in extras["test"]


def test_the_oldest_python_is_the_same_everywhere(setup_cfg):
    assert setup_cfg["options"]["python_requires"] == ">=3.10"
    assert setup_cfg["mypy"]["python_version"] == "3.10"
    assert 'target-version = "py310"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")


def test_changelog_and_readme_know_the_version():
    changelog = ROOT / "CHANGELOG.md"
    if not changelog.is_file():
        pytest.skip("needs a checkout")
    assert f"## [{pyopencl_gbdt.__version__}]" in changelog.read_text(encoding="utf-8")


# -- the wheel ---------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def wheel(setup_cfg, tmp_path_factory):
    """A wheel, built from a copy of the sources without isolation, hence without a network."""
    if importlib.util.find_spec("wheel") is None:  # from 70.1 on setuptools needs it no more
        pytest.importorskip("setuptools", "70.1", reason="needs setuptools>=70.1 to build a wheel")
    pytest.importorskip("setuptools", "64", reason="needs setuptools to build a wheel")
    folder = tmp_path_factory.mktemp("wheel")
    for name in ("pyopencl_gbdt", *MOVED, "tests"):
        ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
        shutil.copytree(ROOT / name, folder / "source" / name, ignore=ignored)
    for name in ("setup.cfg", "pyproject.toml", "README.md", "LICENSE", "MANIFEST.in"):
        shutil.copy(ROOT / name, folder / "source")
    run(
        "import sys; from setuptools.build_meta import build_wheel; build_wheel(sys.argv[1])",
        folder, cwd=folder / "source", path=folder / "source",
    )  # fmt: skip
    (built,) = folder.glob("*.whl")
    return built


@pytest.mark.thorough
def test_the_wheel_is_pure_python_and_small(wheel):
    assert wheel.name == f"pyopencl_gbdt-{pyopencl_gbdt.__version__}-py3-none-any.whl"
    assert wheel.stat().st_size < 2.5 * MIB  # 0.4 of it are the demonstration's data


def test_the_wheel_holds_the_package_and_nothing_else(wheel):
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    expected = {
        file.relative_to(ROOT).as_posix()
        for file in (ROOT / "pyopencl_gbdt").rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }
    for name in MOVED:
        expected |= {
            f"pyopencl_gbdt/{file.relative_to(ROOT).as_posix()}"
            for file in (ROOT / name).rglob("*")
            if file.is_file() and "__pycache__" not in file.parts
        }
    assert names == expected


def test_the_wheel_describes_itself(wheel):
    archive = zipfile.ZipFile(wheel)
    (metadata,) = (n for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
    message = email.message_from_bytes(archive.read(metadata))
    assert message["Name"] in ("pyopencl_gbdt", "pyopencl-gbdt")
    assert message["Version"] == pyopencl_gbdt.__version__
    assert message["Requires-Python"] == ">=3.10"
    assert len(message.get_payload()) > 1000  # the README
    assert any(name.endswith("LICENSE") for name in archive.namelist())
    (entry_points,) = (n for n in archive.namelist() if n.endswith("/entry_points.txt"))
    assert b"pyopencl-gbdt = pyopencl_gbdt.cli:main" in archive.read(entry_points)


@pytest.mark.thorough
def test_an_unpacked_wheel_trains(wheel, tmp_path):
    """Templates are found inside the package, far from any checkout."""
    zipfile.ZipFile(wheel).extractall(tmp_path)
    output = run(
        """
        import sys
        import numpy as np
        from pyopencl_gbdt import Dataset, train
        from pyopencl_gbdt.device.render import source_folder
        import pyopencl_gbdt.cl_kernels, pyopencl_gbdt.templates
        print(source_folder("templates"), source_folder("cl_kernels"))
        X = np.arange(40, dtype=np.float32).reshape(20, 2)
        assert train({"device": sys.argv[1]}, Dataset(X, X[:, 0]), 2).predict(X).shape == (20,)
        """,
        os.environ.get("PYOPENCL_GBDT_DEVICE", "portable computing language"),
        cwd=tmp_path,
        path=tmp_path,
    )
    package = tmp_path.resolve() / "pyopencl_gbdt"
    assert output.split() == [str(package / "templates"), str(package / "cl_kernels")]


def test_the_tests_run_against_this_checkout():
    assert Path(pyopencl_gbdt.__file__).parent == ROOT / "pyopencl_gbdt"
    for name in MOVED:
        assert source_folder(name) in (ROOT / name, ROOT / "pyopencl_gbdt" / name)


# -- the README --------------------------------------------------------------------------------
def test_the_two_lines_of_the_readme(setup_cfg):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    lines = re.findall(r"```sh\n(.*?)\n```", text, flags=re.DOTALL)
    assert lines == [
        "pip install '.[cpu,scikit-learn]' && pyopencl-gbdt demo",
        "pip install '.[test]' && pytest",
    ]


def test_one_place_says_where_pip_finds_the_package(setup_cfg, monkeypatch):
    """Hints take it from ``_version``; pages have it in generated lines, or speak of a clone."""
    for extra in ("cpu", "cuda12", "plot"):
        assert pip_install(extra).startswith(f'pip install "{PIP_SOURCE}[{extra}]"')
    written = re.compile(r"pip install[^\n']*['\"]+[\w.]*\[")
    for file in (ROOT / "pyopencl_gbdt").rglob("*.py"):
        if file.name != "messages.py":
            assert not written.search(file.read_text(encoding="utf-8")), f"{file}: use pip_install"
    for page in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.[mp][dy]")):
        text = re.sub(r"<!-- generated: .*?<!-- end", "", page.read_text("utf-8"), flags=re.DOTALL)
        found = [match.group() for match in written.finditer(text)]
        assert all(match.endswith(("'.[", '".[')) for match in found), f"{page}: {found}"
    monkeypatch.setattr("pyopencl_gbdt.messages.PIP_SOURCE", "pyopencl_gbdt")
    monkeypatch.setattr("pyopencl_gbdt.messages.PIP_WHERE", "")
    assert pip_install("cpu", "mpi") == 'pip install "pyopencl_gbdt[cpu,mpi]"'


def test_the_readme_lists_every_extra(setup_cfg):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    table = text.split("| extra |")[1].split("\n\n")[0]
    cells = re.findall(r"^\| (`[^|]*) \|", table, flags=re.MULTILINE)
    listed = {extra for cell in cells for extra in re.findall(r"`([\w-]+)`", cell)}
    assert listed == set(setup_cfg["options.extras_require"])
