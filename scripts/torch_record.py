"""The calls of eager PyTorch while a program runs, written as the model.json that torch.export would write: the
operators above autograd and composites, as export records them, on real tensors. A twentieth of the time of an export;
how far the two are the same, scripts/against_torch.py looks at every so many programs. For developers: needs torch."""
import json
import math

import torch
from torch._dispatch.python import enable_python_dispatcher
from torch._export.serde import schema, serialize
from torch.fx.experimental.proxy_tensor import ProxyTorchDispatchMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map_only

import torch_draws

VERSION = {"major": schema.SCHEMA_VERSION[0], "minor": schema.SCHEMA_VERSION[1]}
DTYPE_NUMBERS = {dtype: int(number) for dtype, number in serialize._TORCH_TO_SERIALIZE_DTYPE.items()}
FORMAT_NUMBERS = {f: int(number) for f, number in serialize._TORCH_TO_SERIALIZE_MEMORY_FORMAT.items()}
LAYOUT_NUMBERS = {f: int(number) for f, number in serialize._TORCH_TO_SERIALIZE_LAYOUT.items()}
LISTS = {bool: "as_bools", int: "as_ints", float: "as_floats", str: "as_strings"}


class Ended(Exception):
    """The last line was refused, and its node is recorded."""


class Unrecorded(Exception):
    """Something that has no place here: a tensor that no operator made, or an argument of another kind."""


def without_elements(tensor):
    """The same tensor on the device `meta`, its storage as large."""
    room = tensor.untyped_storage().nbytes() // tensor.element_size()
    return torch.empty(room, dtype=tensor.dtype, device="meta").as_strided(tensor.shape, tensor.stride(), tensor.storage_offset())


def number(value):
    return value if math.isfinite(value) else {"inf": "Infinity", "-inf": "-Infinity"}.get(str(value), "NaN")


class Recorder(ProxyTorchDispatchMode):
    """Only this kind of mode is let in above autograd, but nothing of it is used."""

    def __init__(self, inputs):
        TorchDispatchMode.__init__(self, _dispatch_key=torch._C.DispatchKey.PreDispatch)
        self.names, self.kept, self.nodes, self.values, self.used, self.made = {}, [], [], {}, {}, []
        self.inputs = [self.name(t, n) for n, t in inputs.items()]
        self.last, self.refused = False, None

    def __enter__(self):
        return TorchDispatchMode.__enter__(self)

    def __exit__(self, *error):
        return TorchDispatchMode.__exit__(self, *error)

    def run(self, program, env):
        """The program's outputs, and the model that made them."""
        with torch.no_grad(), enable_python_dispatcher(), self:
            outputs = program.run(env)
            if program.bad:
                self.last = True
                try:
                    exec(torch_draws.compiled(program.bad), env)
                    raise Unrecorded("a line that eager does not refuse this time")
                except Ended:
                    pass
        return outputs, self.model(outputs + (self.refused or []))

    def name(self, tensor, wish):
        """A new name for a tensor, as it is now."""
        count = self.used[wish] = self.used.get(wish, -1) + 1
        name = f"{wish}_{count}" if count else wish
        if name in self.values:
            return self.name(tensor, name + "_")
        self.names[id(tensor)] = name
        self.kept.append(tensor)  # so that no other one gets its id
        self.values[name] = {"dtype": DTYPE_NUMBERS[tensor.dtype], "sizes": [{"as_int": n} for n in tensor.shape], "requires_grad": False,
                             "device": {"type": "cpu", "index": None}, "strides": [{"as_int": n} for n in tensor.stride()],
                             "storage_offset": {"as_int": tensor.storage_offset()}, "layout": 7}
        return name

    def of(self, tensor):
        if id(tensor) not in self.names:
            self.adopt(tensor)
        return {"name": self.names[id(tensor)]}

    def adopt(self, tensor):
        """Python gets another object for what zeros() has made: one of the same memory."""
        for other in self.made:
            if other.untyped_storage()._cdata == tensor.untyped_storage()._cdata and bool(other.shape == tensor.shape):
                self.kept.append(tensor)
                self.names[id(tensor)] = self.names[id(other)]
                return
        raise Unrecorded("a tensor that no operator made")

    def argument(self, value, kind):
        if value is None:
            return {"as_none": True}
        if isinstance(value, torch.Tensor):
            return {"as_tensor": self.of(value)}
        if isinstance(value, (list, tuple)):
            return self.list(list(value), kind)
        if isinstance(value, bool):
            return {"as_bool": value}
        if isinstance(value, int):
            return {"as_float": float(value)} if kind == "float" else {"as_int": value}
        if isinstance(value, float):
            return {"as_float": number(value)}
        return self.constant(value)

    def constant(self, value):
        if isinstance(value, torch.dtype):
            return {"as_scalar_type": DTYPE_NUMBERS[value]}
        if isinstance(value, torch.device):
            return {"as_device": {"type": value.type, "index": value.index}}
        if isinstance(value, torch.memory_format):
            return {"as_memory_format": FORMAT_NUMBERS[value]}
        if isinstance(value, torch.layout):
            return {"as_layout": LAYOUT_NUMBERS[value]}
        if isinstance(value, str):
            return {"as_string": value}
        raise Unrecorded(f"an argument {value!r}")

    def list(self, values, kind):
        if "Optional[Tensor]" in kind:
            return {"as_optional_tensors": [{"as_none": True} if v is None else {"as_tensor": self.of(v)} for v in values]}
        if "Tensor" in kind:
            return {"as_tensors": [self.of(v) for v in values]}
        if not values:
            return {"as_ints": []}
        if type(values[0]) not in LISTS or any(type(v) is not type(values[0]) for v in values):
            raise Unrecorded(f"an argument {values!r}")
        return {LISTS[type(values[0])]: [number(v) if isinstance(v, float) else v for v in values]}

    def arguments(self, op, args, kwargs):
        out = []
        for k, arg in enumerate(op._schema.arguments):
            if arg.name in kwargs:
                out.append({"name": arg.name, "arg": self.argument(kwargs[arg.name], str(arg.type)), "kind": 2})
            elif k < len(args) and not arg.kwarg_only:
                out.append({"name": arg.name, "arg": self.argument(args[k], str(arg.type)), "kind": 1})
        return out

    def results(self, op, got):
        """In the order of the schema; a list is one result, or all of them."""
        wish = op._schema.name.split("::")[1]
        if got is None:
            return []
        if not isinstance(got, (torch.Tensor, list, tuple)):
            raise Unrecorded("a number as result")
        if isinstance(got, torch.Tensor):
            return [{"as_tensor": {"name": self.name(got, wish)}}]
        named = [{"name": self.name(t, "getitem")} for t in got]
        if "List" in str(op._schema.returns[0].type):
            return [{"as_tensors": named}]
        return [{"as_tensor": n} for n in named]

    def __torch_dispatch__(self, op, types, args=(), kwargs=None):
        given = self.arguments(op, args, kwargs or {})
        try:
            got = op(*args, **(kwargs or {}))
        except Exception:
            got = self.asked(op, args, kwargs or {})
        outputs = self.results(op, got)
        self.made += [] if types else [t for t in [got] if isinstance(t, torch.Tensor)]
        self.nodes.append({"target": f"torch.ops.{str(op)}", "inputs": given, "outputs": outputs, "metadata": {}, "is_hop_single_tensor_return": None,
                           "name": f"node_{len(self.nodes)}"})
        if self.refused is not None:
            raise Ended
        return got

    def asked(self, op, args, kwargs):
        """For an operator that has refused its arguments: its answer for tensors without elements, as in tracing."""
        if not self.last:
            raise
        self.refused = []
        args, kwargs = tree_map_only(torch.Tensor, without_elements, (args, kwargs))
        with torch.no_grad():
            got = op(*args, **kwargs)
        self.refused = [t for t in (got if isinstance(got, (list, tuple)) else [got]) if isinstance(t, torch.Tensor)]
        return got

    def model(self, outputs):
        """The bytes of a model.json that returns these tensors."""
        inputs, results = [{"as_tensor": {"name": n}} for n in self.inputs], [{"as_tensor": self.of(t)} for t in outputs]
        graph = {"inputs": inputs, "outputs": results, "nodes": self.nodes, "tensor_values": self.values, "sym_int_values": {}, "sym_bool_values": {},
                 "is_single_tensor_return": False, "custom_obj_values": {}, "sym_float_values": {}}
        signature = {"input_specs": [{"user_input": {"arg": a}} for a in inputs], "output_specs": [{"user_output": {"arg": a}} for a in results]}
        module = {"graph": graph, "signature": signature, "module_call_graph": [], "metadata": {}, "treespec_namedtuple_fields": {}}
        return json.dumps({"graph_module": module, "opset_version": {"aten": 10}, "range_constraints": {}, "schema_version": VERSION,
                           "verifiers": ["TRAINING"], "torch_version": torch.__version__, "guards_code": []}).encode()
