"""Makes the wheel. `pip install ./python` makes a pure one, whose library is installed by itself. scripts/wheel.sh puts
libraries, and for `fnz` the command, into the package first; then the wheel is for one platform. PyTorch's compiler finds
its backend by an entry point, which `fnz-core`, that computes nothing, has not."""

from pathlib import Path

from setuptools import Distribution, setup

PACKAGE = Path(__file__).resolve().parent / "fnz"
LIBRARIES = sorted(PACKAGE.glob("lib*.so.*"))
COMMAND = PACKAGE / "bin" / "fnz"


class OfOnePlatform(Distribution):
    def has_ext_modules(self) -> bool:
        return True


options = {}
entry_points = {}
if LIBRARIES:
    options["distclass"] = OfOnePlatform
if COMMAND.is_file():
    entry_points["console_scripts"] = ["fnz = fnz._command:main"]
if not any(path.name.startswith("libfnz_core") for path in LIBRARIES):
    entry_points["torch_dynamo_backends"] = ["fnz = fnz.pytorch.dynamo:backend"]
FILES = ["py.typed", "lib*.so.*", "*.abi3.so", "bin/fnz", "licenses/*"]
setup(package_data={"fnz": FILES}, entry_points=entry_points, **options)
