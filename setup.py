"""Build steps that pyproject.toml cannot express: protobuf stubs and Cython extensions."""

import os
import sys
import sysconfig
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py

EXTENSION_PACKAGES = ["bvb_core", "bvb_core/bears", "ai"]
DEBUG = os.environ.get("BVB_DEBUG") == "1"
MODE = "debug" if DEBUG else "release"

DIRECTIVES = {
    "language_level": 3,
    "boundscheck": DEBUG,
    "wraparound": False,
    "cdivision": not DEBUG,
    "initializedcheck": DEBUG,
    "embedsignature": True,
}
if DEBUG:
    SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"]
    COMPILE_ARGS = ["-O1", "-g", "-UNDEBUG", "-DBVB_DEBUG=1", "-fno-omit-frame-pointer", *SANITIZERS]
    LINK_ARGS = SANITIZERS
else:
    COMPILE_ARGS = ["-DCYTHON_WITHOUT_ASSERTIONS"]
    if "CFLAGS" not in os.environ:  # whoever sets it chooses the optimization too
        COMPILE_ARGS.append("-O3")
    LINK_ARGS = []

# What `bvb bench` names: flags that change the machine code, without the paths among them.
ALL_FLAGS = f"{sysconfig.get_config_var('CFLAGS') or ''} {os.environ.get('CFLAGS', '')}".split() + COMPILE_ARGS
TELLING_FLAGS = " ".join(
    dict.fromkeys(flag for flag in ALL_FLAGS if flag.startswith(("-O", "-m", "-f", "-DNDEBUG")) and "/" not in flag)
)


def extensions() -> list[Extension]:
    headers = sorted(str(pxd) for package in EXTENSION_PACKAGES for pxd in Path(package).glob("*.pxd"))
    return [
        Extension(
            ".".join(source.with_suffix("").parts),
            [str(source)],
            depends=headers,
            define_macros=[("BVB_FLAGS", f'"{TELLING_FLAGS}"')] if source.stem == "timing" else [],
            extra_compile_args=COMPILE_ARGS,
            extra_link_args=LINK_ARGS,
        )
        for package in EXTENSION_PACKAGES
        for source in sorted(Path(package).glob("*.pyx"))
    ]


def generate_stubs() -> None:
    """Write the Python modules and type stubs of proto/bvb/v1 into bvb/v1, when they are out of date."""
    protos = sorted(Path("proto/bvb/v1").glob("*.proto"))
    out = Path("bvb/v1")
    stamp = out / "__init__.py"
    newest = max(path.stat().st_mtime for path in [*protos, Path("setup.py")])
    if stamp.exists() and stamp.stat().st_mtime > newest:
        return
    import grpc_tools
    from grpc_tools import protoc

    out.mkdir(exist_ok=True)
    for stale in out.glob("*_pb2*"):
        stale.unlink()
    # The plugin is found beside the interpreter of an isolated build, which need not be on the PATH.
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    include = Path(grpc_tools.__file__).parent / "_proto"
    status = protoc.main(
        [
            "protoc",
            "-Iproto",
            f"-I{include}",
            "--python_out=.",
            "--grpc_python_out=.",
            "--mypy_out=.",
            "--mypy_grpc_out=.",
            *map(str, protos),
        ]
    )
    if status:
        raise SystemExit("protoc failed")
    stamp.write_text('"""Generated from proto/bvb/v1 by setup.py."""\n')


class BuildPy(build_py):
    def finalize_options(self) -> None:
        generate_stubs()  # before anything asks which files the package bvb.v1 has
        super().finalize_options()


class BuildExt(build_ext):
    """Compiles in parallel, and keeps its outputs between editable builds so that they are incremental."""

    def finalize_options(self) -> None:
        if self.editable_mode:
            self.build_lib = f"build/{MODE}/lib"
            self.build_temp = f"build/{MODE}/temp"
        super().finalize_options()
        self.parallel = self.parallel or os.cpu_count() or 1

    def build_extensions(self) -> None:
        from Cython.Build import cythonize

        translated = cythonize(
            self.extensions,
            nthreads=self.parallel,
            build_dir=f"build/{MODE}/c",
            compiler_directives=DIRECTIVES,
        )
        sources = {extension.name: extension.sources for extension in translated}
        for extension in self.extensions:
            extension.sources = sources[extension.name]
        super().build_extensions()

    def copy_extensions_to_source(self) -> None:
        self.force = True  # those of the other mode may be newer
        super().copy_extensions_to_source()


setup(ext_modules=extensions(), cmdclass={"build_py": BuildPy, "build_ext": BuildExt})
