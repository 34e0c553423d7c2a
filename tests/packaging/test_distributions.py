"""The source distribution and the wheel, installed into empty environments."""

from __future__ import annotations

import json
import shutil
import tarfile
import zipfile
from pathlib import Path

import pytest

from penstock import __version__
from penstock.cli.exit_codes import ExitCode
from support.fixtures.distributions import (
    build_sdist,
    build_wheel,
    make_environment,
    once,
    only_file,
    run,
)
from support.fixtures.repository import NATIVE, ROOT, SOURCE, files_under, relative

EXAMPLE = ROOT / "examples" / "alerts"
DOCUMENT = EXAMPLE / "documents" / "01-flood-warning.xml"

MATCH = """
import penstock
paths, words = penstock.SubscriptionIndex(), penstock.KeywordIndex()
paths.add("p", "//b[@c = 'd']")
words.add("w", "some words")
document = b"<a><b c='d'>some words</b></a>"
print(paths.matcher().match(document).ids, words.matcher().match(document).ids)
"""

needs_rust = pytest.mark.skipif(shutil.which("cargo") is None, reason="needs a Rust toolchain")


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    """A folder that all processes of this test run share."""
    base = tmp_path_factory.getbasetemp()
    return base.parent if hasattr(request.config, "workerinput") else base


@pytest.fixture(scope="session")
def sdist(shared: Path) -> Path:
    return only_file(once(shared, "sdist", build_sdist), "*.tar.gz")


@pytest.fixture(scope="session")
def native_python(shared: Path, sdist: Path) -> Path:
    """The Python of an environment with a wheel that was built with Rust."""

    def make(folder: Path) -> None:
        done = build_wheel(sdist, folder, PENSTOCK_REQUIRE_NATIVE="1")
        assert done.code == 0, done.err

    wheel = only_file(once(shared, "native-wheel", make), "*.whl")
    return _environment(shared, "native-environment", wheel)


@pytest.fixture(scope="session")
def plain_python(shared: Path, sdist: Path) -> Path:
    """The Python of an environment with a wheel that was built without Rust."""

    def make(folder: Path) -> None:
        nothing = folder / "nothing"
        nothing.mkdir()
        done = build_wheel(sdist, folder, PATH=str(nothing))
        assert done.code == 0, done.err

    wheel = only_file(once(shared, "plain-wheel", make), "*.whl")
    return _environment(shared, "plain-environment", wheel)


def _environment(shared: Path, name: str, wheel: Path) -> Path:
    # Scripts name their environment by its path, so that it cannot be renamed as a whole.
    def make(folder: Path) -> None:
        make_environment(shared / name, wheel)
        (folder / "made").touch()

    once(shared, f"{name}-made", make)
    return shared / name / "bin" / "python"


def test_the_source_distribution_holds_package_and_crate(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        members = {name.partition("/")[2] for name in archive.getnames()}
    tracked = [NATIVE / "Cargo.toml", NATIVE / "Cargo.lock", NATIVE / "build.rs", ROOT / "setup.py"]
    tracked += files_under(NATIVE / "src") + files_under(SOURCE)
    assert [relative(path) for path in tracked if relative(path) not in members] == []
    assert [name for name in members if name.endswith((".so", ".pyd"))] == []
    assert [name for name in members if name.startswith(("native/target", "native/fuzz"))] == []


@needs_rust
def test_with_rust_the_native_core_is_built(native_python: Path) -> None:
    done = run(native_python, "-m", "penstock", "doctor", "--json")
    core = {each["part"]: each for each in json.loads(done.out)["findings"]}["native core"]
    assert (core["state"], core["version"]) == ("ok", __version__)
    assert done.code == 0
    assert done.err == ""


@needs_rust
def test_the_wheel_serves_every_python_from_311_on(native_python: Path, shared: Path) -> None:
    wheel = only_file(shared / "native-wheel", "*.whl")
    assert wheel.name.startswith(f"penstock-{__version__}-cp311-abi3-")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        extensions = [name for name in names if name.endswith((".so", ".pyd"))]
    assert len(extensions) == 1
    assert "abi3" in extensions[0] or extensions[0].endswith(".pyd")
    assert "penstock/py.typed" in names
    assert "penstock/_native.pyi" in names


@needs_rust
def test_the_installed_wheel_matches(native_python: Path) -> None:
    done = run(native_python, "-c", MATCH, environment={"PENSTOCK_REQUIRE_NATIVE": "1"})
    assert (done.out, done.err) == ("('p',) ('w',)\n", "")
    command = native_python.with_name("penstock")
    done = run(command, "match", EXAMPLE / "subscriptions.txt", DOCUMENT)
    assert done.code == 0
    assert "every-alert" in done.out


def test_without_rust_the_references_serve_with_a_warning(plain_python: Path) -> None:
    done = run(plain_python, "-m", "penstock", "doctor", "--json")
    core = {each["part"]: each for each in json.loads(done.out)["findings"]}["native core"]
    assert core["state"] == "absent"
    assert done.code == 0
    done = run(plain_python, "-c", MATCH)
    assert done.out == "('p',) ('w',)\n"
    assert "NativeMissingWarning" in done.err
    done = run(plain_python, "-m", "penstock", "match", EXAMPLE / "subscriptions.txt", DOCUMENT)
    assert done.code == 0
    assert "every-alert" in done.out
    assert "the native core cannot be imported" in done.err


def test_where_the_core_is_required_a_build_without_rust_fails(sdist: Path, tmp_path: Path) -> None:
    done = build_wheel(sdist, tmp_path, PATH=str(tmp_path), PENSTOCK_REQUIRE_NATIVE="1")
    assert done.code != 0
    assert "can't find Rust compiler" in done.err


@pytest.mark.parametrize(
    "arguments",
    [
        ("init", "workspace"),
        ("run",),
        ("publish", str(DOCUMENT)),
        ("status",),
        ("schema", "infer", "--spark", str(DOCUMENT)),
        ("bench", "pipeline", "--quick"),
    ],
    ids=lambda arguments: arguments[0],
)
def test_commands_that_need_the_spark_extra_name_it(
    plain_python: Path, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    done = run(plain_python, "-m", "penstock", *arguments, cwd=tmp_path)
    assert done.code == ExitCode.INPUT_REFUSED
    assert "[extra.spark]" in done.err
    assert "pip install 'penstock[spark]'" in done.err
    assert "Traceback" not in done.err


def test_plots_name_the_lab_extra(plain_python: Path, tmp_path: Path) -> None:
    done = run(plain_python, "-m", "penstock", "lab", "run", "kemb", cwd=tmp_path)
    assert done.code == ExitCode.INPUT_REFUSED
    assert "[lab.plots]" in done.err
    assert "pip install 'penstock[lab]'" in done.err


def test_the_library_names_the_extra_too(plain_python: Path) -> None:
    done = run(plain_python, "-c", "import penstock.pipeline")
    assert done.err.splitlines()[-2:] == [
        "penstock.errors.MissingPackageError:"
        " packages that are not installed: deltalake, pandas, pyspark [extra.spark]",
        "Hint: Install the extra: `pip install 'penstock[spark]'`.",
    ]
