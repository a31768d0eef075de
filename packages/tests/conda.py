"""Builds the recipe of conda, and installs what it makes: conda.py RECIPE FOLDER CHANNEL, which makes FOLDER/prefix.

If CHANNEL is `none`, the compilers that the recipe asks for are packages that only name those of this machine."""

import asyncio
import os
import pathlib
import shutil
import subprocess
import sys
import warnings

import rattler
import rattler_build

warnings.simplefilter("ignore", DeprecationWarning)
recipe, folder, channel = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3]
output = folder / "output"
# What conda-forge has for all recipes.
VARIANTS = {"c_compiler": ["gcc"], "rust_compiler": ["rust"], "c_stdlib": ["sysroot"], "c_stdlib_version": ["2.17"]}
STAND_IN = """
package:
  name: {name}
  version: "2.17"
build:
  script: mkdir -p "$PREFIX/bin" && ln -s {programs} "$PREFIX/bin"
about:
  summary: The names of programs of this machine
"""


def build(path, channels, test):
    """Builds a recipe into the local channel."""
    rattler_build.build_recipes(
        [path], output_dir=output, channel=channels, test=test, variant_overrides=VARIANTS, error_prefix_in_binary=True
    )


def stand_in(name, programs):
    """Makes a package of links to programs of this machine."""
    path = folder / name / "recipe.yaml"
    path.parent.mkdir()
    path.write_text(STAND_IN.format(name=name, programs=" ".join(programs)))
    build(path, [str(output)], "skip")


async def install():
    """Installs the package as a user does, without what it was built with."""
    records = await rattler.solve(sources=[str(output)], specs=["tributary-io"])
    await rattler.install(records, target_prefix=folder / "prefix", show_progress=False)


channels = [channel]
if channel == "none":
    channels = [str(output)]
    sysroot = subprocess.run(["rustc", "--print", "sysroot"], stdout=subprocess.PIPE, check=True, text=True).stdout.strip()
    stand_in("rust_linux-64", [f"{sysroot}/bin/cargo", f"{sysroot}/bin/rustc"])
    stand_in("gcc_linux-64", [shutil.which("cc"), shutil.which("gcc")])
    stand_in("sysroot_linux-64", [shutil.which("ldd")])
    stand_in("binutils", [shutil.which("objcopy"), shutil.which("nm")])
build(recipe, channels, "native")
(package,) = (output / "linux-64").glob("tributary-io-*.conda")
print(f"{package.name}: {package.stat().st_size} bytes")
asyncio.run(install())
# Threads of rattler would end the interpreter with an error.
sys.stdout.flush()
os._exit(0)
