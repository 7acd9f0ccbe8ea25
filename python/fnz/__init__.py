"""fnz: traced PyTorch programs, rewritten so that nothing aliases and nothing is written in place; run, checked, saved.

    import fnz

    program = fnz.load("model.pt2")            # what torch.export.save wrote; or an ExportedProgram
    functional = program.functionalize()
    print(functional)                          # the text of `fnz show`
    assert functional.verify(program)          # equal for all values of these shapes
    functional.save("model.cbor")

    executable = functional.compile(threads=2)
    outputs = executable(x)                    # tensors of PyTorch, NumPy, JAX: whatever x is

The package calls the shared library libfnz through ctypes, and needs neither PyTorch nor NumPy. Failures are
fnz.Error. Programs may be used by any thread; an executable runs one call at a time, and Executable.another() gives
one more.
"""

from ._library import VERSION as __version__
from .errors import Error
from .executable import Executable, State
from .explanation import Explanation, Reason
from .graph import Input, Meta, Node, Output, Subgraph, Value
from .methods import Methods, load_methods
from .operators import Operator, op, ops
from .page import Page, view
from .program import Program, load
from .progress import Progress
from .reports import Cost, Difference, Finding, Findings, Report, Stats
from .running import run
from .tensors import Tensor
from .verbs import decompose, explain, functionalize, lint, verify

__all__ = ["Cost", "Difference", "Error", "Executable", "Explanation", "Finding", "Findings", "Input", "Meta",
           "Methods", "Node", "Operator", "Output", "Page", "Program", "Progress", "Reason", "Report", "State", "Stats",
           "Subgraph", "Tensor", "Value", "decompose", "explain", "functionalize", "lint", "load", "load_methods",
           "op", "ops", "run", "verify", "view", "__version__"]
