"""Compiles the toy games: build.py DIRECTORY [--sanitize], run in the root of the checkout."""

import sys
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

directory, *options = sys.argv[1:]
sanitize = options == ["--sanitize"]
flags = ["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"] if sanitize else []
optimize = "-O1" if sanitize else "-O2"

setup(
    script_args=["-q", "build_ext", "-j2", "--build-lib", directory, "--build-temp", f"{directory}/temp"],
    packages=[],
    ext_modules=cythonize(
        [
            Extension(
                f"tests.toys.{source.stem}",
                [str(source)],
                extra_compile_args=[optimize, *flags],
                extra_link_args=flags,
            )
            for source in sorted(Path("tests/toys").glob("*.pyx"))
        ],
        nthreads=2,
        build_dir=f"{directory}/c",
        include_path=["."],
        compiler_directives={"language_level": 3, "boundscheck": sanitize, "wraparound": False},
        quiet=True,
    ),
)
