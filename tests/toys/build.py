"""Compiles the toy games: build.py DIRECTORY [--sanitize], run in the root of the checkout."""

import sys
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

directory, *options = sys.argv[1:]
SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"]
FLAGS = ["-O1", "-g", *SANITIZERS] if options else ["-O1", "-g0"]

setup(
    script_args=["--quiet", "build_ext", "--parallel=2", f"--build-lib={directory}", f"--build-temp={directory}/temp"],
    packages=[],
    ext_modules=cythonize(
        [
            Extension(
                f"tests.toys.{source.stem}", [str(source)], extra_compile_args=FLAGS, extra_link_args=SANITIZERS if options else []
            )
            for source in sorted(Path("tests/toys").glob("*.pyx"))
        ],
        nthreads=2,
        build_dir=f"{directory}/c",
        include_path=["."],
        compiler_directives={"language_level": 3, "boundscheck": bool(options), "wraparound": False, "cdivision": True},
        quiet=True,
    ),
)
