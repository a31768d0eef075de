"""The tag of the wheel: any Python 3, and the platform that PLATFORM names, as there are programs in it."""

import os

from setuptools import setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.dist import Distribution


class AnyPython(bdist_wheel):
    """A wheel for one kind of processor and every Python."""

    def get_tag(self):
        return "py3", "none", os.environ["PLATFORM"]


class WithPrograms(Distribution):
    """It is not pure Python, so it is installed where programs are."""

    def has_ext_modules(self):
        return True


setup(cmdclass={"bdist_wheel": AnyPython}, distclass=WithPrograms)
