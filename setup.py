"""Declares the native core, the one part of the build that pyproject.toml cannot express.

``PENSTOCK_CARGO_FEATURES`` adds cargo features to the build: ``make setup`` asks for ``baselines``,
the engines of other papers that the benchmarks and the laboratory compare with. A plain build,
and so every wheel, leaves them out. With ``PENSTOCK_REQUIRE_NATIVE=1`` the build fails where the
native core does not compile.
"""

from __future__ import annotations

import os

from setuptools import setup
from setuptools_rust import Binding, RustExtension

setup(
    # One wheel for every Python from 3.11 on.
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
    rust_extensions=[
        RustExtension(
            "penstock._native",
            path="native/Cargo.toml",
            binding=Binding.PyO3,
            features=["python", *os.environ.get("PENSTOCK_CARGO_FEATURES", "").split()],
            # Builds use exactly the versions of native/Cargo.lock.
            cargo_manifest_args=["--locked"],
            py_limited_api=True,
            debug=False,
            # Without a Rust toolchain the package still installs: the Python reference
            # implementations take over, with a warning.
            optional=os.environ.get("PENSTOCK_REQUIRE_NATIVE") != "1",
        )
    ],
)
