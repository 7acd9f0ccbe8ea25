"""Makes the wheel. `pip install ./python` makes a pure one, whose library is installed by itself. scripts/wheel.sh puts
libraries, and for `fnz` the command, into the package first; then the wheel is for one platform."""

from pathlib import Path

from setuptools import Distribution, setup

PACKAGE = Path(__file__).resolve().parent / "fnz"
LIBRARIES = sorted(PACKAGE.glob("lib*.so.*"))
COMMAND = PACKAGE / "bin" / "fnz"


class OfOnePlatform(Distribution):
    def has_ext_modules(self) -> bool:
        return True


options = {}
if LIBRARIES:
    options["distclass"] = OfOnePlatform
if COMMAND.is_file():
    options["entry_points"] = {"console_scripts": ["fnz = fnz._command:main"]}
setup(package_data={"fnz": ["py.typed", "lib*.so.*", "*.abi3.so", "bin/fnz", "licenses/*"]}, **options)
