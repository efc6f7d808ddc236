"""Build the compiled kernels; everything else about the project is in pyproject.toml."""

import os
from pathlib import Path

import numpy
from Cython.Build import cythonize
from setuptools import Extension, setup

# COUNTWISE_CHECKED=1 builds kernels that check every index: for tests, not for speed.
CHECKED = os.environ.get("COUNTWISE_CHECKED", "") == "1"

# Kernels are built side by side: each is a file of its own.
WORKERS = os.cpu_count() or 1

SOURCES = sorted(source.as_posix() for source in Path("src").rglob("*.pyx"))

setup(
    ext_modules=cythonize(
        [
            Extension(
                source.removeprefix("src/").removesuffix(".pyx").replace("/", "."),
                [source],
                depends=[header.as_posix() for header in Path(source).parent.glob("*.h")],
                include_dirs=[numpy.get_include()],
                extra_compile_args=[] if os.name == "nt" else ["-O3"],
            )
            for source in SOURCES
        ],
        include_path=["src"],
        compiler_directives={
            "language_level": 3,
            "boundscheck": CHECKED,
            "wraparound": False,
            "initializedcheck": CHECKED,
            "cdivision": True,
            "freethreading_compatible": True,
        },
    ),
    options={"build_ext": {"parallel": WORKERS}},
)
