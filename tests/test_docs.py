"""Examples of the documentation run, its commands parse, its tables agree, Sphinx builds it."""

import ast
import importlib.util
import os
import re
import shlex
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path

import pytest

from pyopencl_gbdt.cli import build_parser
from tests.conftest import TEST_DEVICE
from tests.processes import IMPORT_PATH

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md"))] if (DOCS / "conf.py").is_file() else []
MOST_LINES = 250

pytestmark = pytest.mark.skipif(not PAGES, reason="needs a checkout")


def blocks(page, language):
    """Return the fenced blocks of a language, also indented ones."""
    pattern = rf"^( *)```{language}\n(.*?)^\1```"
    found = re.findall(pattern, page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    return [re.sub(rf"^{indent}", "", text, flags=re.MULTILINE) for indent, text in found]


def with_python():
    return [page for page in PAGES if blocks(page, "python")]


@pytest.mark.thorough
@pytest.mark.parametrize("page", with_python(), ids=lambda page: page.name)
def test_examples_run(page, tmp_path, monkeypatch):
    """The examples of a page run one after the other, in one namespace."""
    text = "\n".join(blocks(page, "python"))
    peers = ("lightgbm", "catboost", "onnx", "onnxruntime", "treelite", "shap")
    for name in ("sklearn", "pandas", "scipy", "xgboost", *peers):
        if re.search(rf"^(import|from) {name}\b", text, re.MULTILINE):
            pytest.importorskip(name, reason=f"needs {name}")
    if "plot_" in text:
        mpl = pytest.importorskip("matplotlib", reason="needs matplotlib")
        mpl.use("Agg")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYOPENCL_GBDT_DEVICE", TEST_DEVICE)
    exec(compile(text, page.name, "exec"), {"__name__": "__main__"})


def test_commands_parse():
    lines = [
        line
        for page in PAGES
        for block in blocks(page, "sh")
        for line in block.replace("\\\n", " ").splitlines()
    ]
    own = [line.split("&& ")[-1] for line in lines if "pyopencl-gbdt " in line]
    assert len(own) > 8
    for line in own:
        words = shlex.split(line)
        assert words[0] == "pyopencl-gbdt"
        assert build_parser().parse_args(words[1:]).run is not None, line


def finding_codes():
    """Every code of a finding in the source of the checks."""
    codes = set()
    for name in ("checks", "surroundings"):
        source = (ROOT / f"pyopencl_gbdt/doctor/{name}.py").read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Finding":
                codes.add(ast.literal_eval(node.args[0]))
    return codes


def test_every_finding_is_explained():
    text = (DOCS / "doctor.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `([a-z-]+)` \|", text, flags=re.MULTILINE)) == finding_codes()


def test_every_module_has_its_room():
    rooms = (DOCS / "architecture.md").read_text(encoding="utf-8").split("## Rooms")[1]
    named = re.findall(r"`([^`]+)`", rooms.split("\n**")[0])
    package = ROOT / "pyopencl_gbdt"
    found = [file.name for file in package.glob("*.py") if not file.name.startswith("_")]
    found += [f"{file.parent.name}/" for file in package.glob("*/__init__.py")]
    missing = [name for name in found if not any(fnmatch(name, pattern) for pattern in named)]
    assert not missing, "add a room to the table in docs/architecture.md"


def test_rooms_are_described_in_their_order():
    """From the ground up, as ``tests/test_rooms.py`` holds them."""
    from tests.test_rooms import ROOMS

    rooms = (DOCS / "architecture.md").read_text(encoding="utf-8").split("## Rooms")[1]
    first = re.findall(r"^\| `(\w+)/` \|", rooms.split("\n**")[0], flags=re.MULTILINE)
    folders = [
        name for names in ROOMS for name in names if (ROOT / "pyopencl_gbdt" / name).is_dir()
    ]
    assert first == [name for name in folders if name]


def toctree(page):
    """Return the pages that the contents of a page list."""
    listed = re.findall(r"```\{toctree\}\n(.*?)```", page.read_text("utf-8"), flags=re.DOTALL)
    return set(re.findall(r"^(?:.*<)?([\w-]+)>?$", "\n".join(listed), flags=re.MULTILINE))


#: What the start page has to lead to.
WANTED = (
    "install", "quickstart", "choosing-parameters", "from-xgboost", "from-lightgbm",
    "from-catboost", "from-scikit-learn", "deploy", "explain", "troubleshooting", "developers",
)  # fmt: skip


def test_the_start_page_leads_to_what_users_want():
    """Pages for developers are apart, behind one line of it."""
    start = (DOCS / "index.md").read_text(encoding="utf-8").split("```")[0]
    assert set(WANTED) <= set(re.findall(r"\]\(([\w-]+)\.md\)", start))
    inside, listed = toctree(DOCS / "developers.md"), toctree(DOCS / "index.md")
    assert {"architecture", "extending", "adding-a-variant", "portability"} <= inside
    assert not inside & listed
    assert inside | listed | {"index"} == {page.stem for page in PAGES if page.parent == DOCS}


def test_links_lead_somewhere():
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for target in re.findall(r"\]\(([\w./-]+)(?:#[\w-]+)?\)", text):
            assert (page.parent / target).exists(), (page.name, target)


#: Pages that lead through the source.
INSIDE = ("README", "CONTRIBUTING", "docs/architecture", "docs/extending", "docs/adding-a-variant")


@pytest.mark.parametrize("name", INSIDE)
def test_files_that_a_page_names_exist(name):
    """By a path from the checkout's top or the package's; templates by their name too."""
    text = (ROOT / f"{name}.md").read_text(encoding="utf-8")
    files = set(re.findall(r"`([\w/.-]+\.(?:py|mako|h|md|json|svg)|[\w/.-]+/)`", text))
    assert files
    templates = {file.name for file in (ROOT / "templates").rglob("*.mako")}
    places = (ROOT, ROOT / "pyopencl_gbdt")
    lost = {file for file in files - templates if not any((at / file).exists() for at in places)}
    assert not lost - {"model.json"}
    for word, file in re.findall(r"`([\w.]+)`(?: of \w+)? in `([\w/.-]+\.\w+)`", text):
        (place,) = [at / file for at in places if (at / file).exists()]
        assert re.search(rf"\b{word.rsplit('.', 1)[-1]}\b", place.read_text("utf-8")), (word, file)


@pytest.fixture(scope="module")
def tables():
    spec = importlib.util.spec_from_file_location("docs_tables", DOCS / "tables.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_generated_tables_hold_what_the_code_knows(tables):
    from pyopencl_gbdt.cli import COMMANDS
    from pyopencl_gbdt.device.variants import TABLE as VARIANTS
    from pyopencl_gbdt.parameters.table import TABLE as PARAMETERS

    variants = tables.variants().splitlines()[2:]
    assert len(variants) == len(VARIANTS)
    for line, variant in zip(variants, VARIANTS, strict=True):
        assert all(need in line for need in variant.needs() or ["the baseline"]), line
    assert all(f"`{row.name}`" in tables.parameters() for row in PARAMETERS)
    assert tables.commands().count("## pyopencl-gbdt") == len(COMMANDS)
    assert "`--header {auto,yes,no}`" in tables.commands()
    assert "sudo apt install" in tables.repairs()
    marks = "<!-- generated: {0} -->\nold\n<!-- end: {0} -->"
    filled = tables.fill(f"a\n{marks.format('variants')}\nb")
    assert "`local_atomic`" in filled
    assert "\nold\n" not in filled
    assert tables.fill(filled) == filled == tables.fill("a\n<!-- generated: variants -->\nb")
    with pytest.raises(KeyError):
        tables.fill(marks.format("nonsense"))


def test_pages_hold_what_is_generated(tables):
    """As they stand in the repository, where most people read them."""
    texts = [page.read_text(encoding="utf-8") for page in PAGES]
    used = [found["name"] for text in texts for found in tables.MARK.finditer(text)]
    assert sorted(used) == sorted(tables.TABLES)
    assert sum(text.count("<!-- generated: ") for text in texts) == len(used)
    old = [p.name for p, text in zip(PAGES, texts, strict=True) if tables.fill(text) != text]
    assert not old, "run python docs/tables.py"


def test_pages_are_one_sitting(tables):
    for page in (page for page in PAGES if page.parent == DOCS):
        written = tables.MARK.sub("", page.read_text(encoding="utf-8"))
        assert len(written.splitlines()) <= MOST_LINES, page.name


@pytest.mark.thorough
def test_sphinx_builds_without_warnings(tmp_path):
    pytest.importorskip("sphinx", "7", reason="needs Sphinx")
    pytest.importorskip("myst_parser", reason="needs myst-parser")
    pytest.importorskip("furo", reason="needs furo")
    pytest.importorskip("sklearn", reason="needs scikit-learn")
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "-q", "-W", "-n", "-b", "html", "-d",
         str(tmp_path / "doctrees"), str(DOCS), str(tmp_path / "html")],
        cwd=ROOT, capture_output=True, text=True, timeout=300, check=False,
        env={**os.environ, "PYTHONPATH": IMPORT_PATH},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    devices = (tmp_path / "html" / "devices.html").read_text(encoding="utf-8")
    assert "bin_range_passes" in devices
    assert 'name="viewport"' in devices
    assert 'for="__navigation"' in devices  # on a phone, a button opens the contents
    style = (tmp_path / "html" / "_static" / "styles" / "furo.css").read_text(encoding="utf-8")
    assert "prefers-color-scheme:dark" in style.replace(" ", "")
