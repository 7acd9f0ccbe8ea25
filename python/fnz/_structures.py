"""The structures of the public headers, as ctypes has them: the text of a class is the name in the headers, against which
tests/test_headers.py holds it."""

from __future__ import annotations

from ctypes import POINTER, Structure, Union, c_bool, c_char, c_char_p, c_double, c_int, c_int32, c_int64, c_long, c_size_t
from ctypes import c_uint8, c_uint16, c_uint32, c_uint64, c_void_p

# Sizes of arrays in structures.
MAX_RANK = 64
HASH_BYTES = 32

# FNZ_INPUT_KIND_ROWS and FNZ_OUTPUT_KIND_ROWS of <fnz/program.h>, in order.
INPUT_KINDS = ("user", "parameter", "buffer", "constant", "object", "literal", "token", "memory")
OUTPUT_KINDS = ("user", "loss", "buffer_mutation", "parameter_mutation", "input_mutation", "parameter_gradient",
                "input_gradient", "token", "memory_mutation")
RESULT_KINDS = ("user", "loss", "parameter_gradient", "input_gradient")  # of outputs: what "output.K" counts

# fnz_tag of <fnz/types.h>, in order.
TAGS = ("DEFAULT", "NONE", "VALUE", "SYMBOL", "TOKEN", "OBJECT", "INT", "FLOAT", "BOOL", "COMPLEX", "STRING", "DTYPE",
        "LAYOUT", "MEMORY_FORMAT", "DEVICE", "LIST", "GRAPH", "OPERATOR")

VIEWS = ("copy", "keep", "strided")  # fnz_views
STATES = ("outputs", "epilogue", "io", "buffers")  # fnz_state
READINGS = ("copy", "map", "map_late")  # fnz_reading
SIDE_INPUT, SIDE_OUTPUT, SIDE_STATE = range(3)  # fnz_side
MEMORY_FORMATS = {1: "contiguous_format", 2: "channels_last", 3: "channels_last_3d", 4: "preserve_format"}

CPU, CUDA, CUDA_HOST, CUDA_MANAGED = 1, 2, 3, 13  # DLDeviceType
READ_ONLY = 1  # DLPACK_FLAG_BITMASK_READ_ONLY


class Error(Structure):
    """fnz_error"""

    _fields_ = [("status", c_int), ("kind", c_int), ("where", c_char * 192), ("message", c_char * 512)]
    __slots__ = ()


class Buffer(Structure):
    """fnz_buffer"""

    _fields_ = [("data", c_void_p), ("size", c_size_t), ("capacity", c_size_t)]
    __slots__ = ()


class Progress(Structure):
    """fnz_progress"""

    _fields_ = [("size", c_size_t), ("what", c_char_p), ("unit", c_char_p), ("done", c_uint64), ("of", c_uint64),
                ("share", c_double)]
    __slots__ = ()


class DtypeInfo(Structure):
    """fnz_dtype_info"""

    _fields_ = [("name", c_char_p), ("bytes", c_size_t), ("category", c_char), ("pt2", c_int), ("torch", c_char_p),
                ("safetensors", c_char_p)]
    __slots__ = ()


class Geometry(Structure):
    """fnz_geometry"""

    _fields_ = [("dtype", c_int), ("rank", c_uint32), ("is_conj", c_bool), ("is_neg", c_bool), ("offset", c_int64),
                ("sizes", POINTER(c_int64)), ("strides", POINTER(c_int64)), ("symbols", POINTER(c_uint32))]
    __slots__ = ()


class Memory(Structure):
    """fnz_memory"""

    _fields_ = [("data", c_void_p), ("geometry", POINTER(Geometry))]
    __slots__ = ()


class Array(Structure):
    """fnz_array"""

    _fields_ = [("name", c_char_p), ("dtype", c_int), ("rank", c_uint32), ("sizes", POINTER(c_int64)), ("data", c_void_p),
                ("bytes", c_size_t)]
    __slots__ = ()


class ArgUnion(Union):
    _fields_ = [("i", c_int64), ("f", c_double), ("value", c_uint64), ("tensor", c_void_p), ("s", c_char_p),
                ("list", c_void_p)]


class Arg(Structure):
    """fnz_arg"""

    _fields_ = [("tag", c_uint8), ("flags", c_uint8), ("count", c_uint32), ("u", ArgUnion)]
    __slots__ = ()


class FunctionalizeOptions(Structure):
    """fnz_functionalize_options"""

    _fields_ = [("size", c_size_t), ("views", c_int), ("state", c_int), ("deny", c_void_p), ("ndeny", c_size_t),
                ("check", c_void_p), ("check_types", c_void_p), ("origins", c_void_p)]
    __slots__ = ()


class DecomposeOptions(Structure):
    """fnz_decompose_options"""

    _fields_ = [("size", c_size_t), ("set", c_char_p), ("decompose", c_void_p), ("ndecompose", c_size_t),
                ("keep", c_void_p), ("nkeep", c_size_t), ("views", c_int), ("origins", c_void_p)]
    __slots__ = ()


class Target(Structure):
    """fnz_target"""

    _fields_ = [("name", c_char_p), ("words", c_char_p), ("set", c_char_p), ("format", c_int), ("views", c_int),
                ("state", c_int)]
    __slots__ = ()


class VerifyOptions(Structure):
    """fnz_verify_options"""

    _fields_ = [("size", c_size_t), ("trials", c_int), ("ignore_weights", c_bool), ("allow_narrower", c_bool),
                ("ignore_memory", c_bool)]
    __slots__ = ()


class VerifyReport(Structure):
    """fnz_verify_report"""

    _fields_ = [("size", c_size_t), ("trials", c_int), ("bodies", c_size_t), ("bodies_run", c_size_t),
                ("missed", c_char * 128), ("numbers", c_bool), ("sizes", c_size_t), ("no_numbers", c_char * 160),
                ("weights", c_size_t), ("weights_differing", c_size_t), ("weights_without", c_size_t),
                ("predicates", c_size_t), ("predicates_turned", c_size_t), ("not_compared", c_char * 160),
                ("narrower", c_char * 256)]
    __slots__ = ()


class RunOptions(Structure):
    """fnz_run_options"""

    _fields_ = [("size", c_size_t), ("original", c_bool), ("check_schemas", c_bool)]
    __slots__ = ()


class PlanOptions(Structure):
    """fnz_plan_options"""

    _fields_ = [("size", c_size_t), ("json", c_bool), ("device", c_char_p), ("inputs", c_void_p), ("sizes", c_char_p)]
    __slots__ = ()


class PageOptions(Structure):
    """fnz_page_options"""

    _fields_ = [("size", c_size_t), ("title", c_char_p), ("json", c_bool), ("verify", c_bool)]
    __slots__ = ()


class DifferenceSide(Structure):
    """fnz_difference_side"""

    _fields_ = [("text", c_char_p), ("source", c_char_p), ("graph", c_size_t), ("node", c_size_t)]
    __slots__ = ()


class Difference(Structure):
    """fnz_difference"""

    _fields_ = [("where", c_char_p), ("what", c_char_p), ("a", DifferenceSide), ("b", DifferenceSide)]
    __slots__ = ()


class Finding(Structure):
    """fnz_finding"""

    _fields_ = [("kind", c_int), ("error", c_int), ("graph", c_size_t), ("node", c_size_t), ("view", c_size_t),
                ("reader", c_size_t), ("output", c_size_t), ("where", c_char_p), ("what", c_char_p), ("remedy", c_char_p),
                ("view_graph", c_size_t), ("reader_graph", c_size_t), ("cost", c_void_p)]
    __slots__ = ()


class Cost(Structure):
    """fnz_cost"""

    _fields_ = [("kind", c_int), ("bytes", c_uint64), ("largest", c_uint64), ("times", c_size_t), ("graph", c_size_t),
                ("node", c_size_t), ("output", c_size_t), ("source", c_char_p), ("module", c_char_p),
                ("last_module", c_char_p), ("modules", c_size_t), ("rule", c_char_p), ("why", c_char_p),
                ("remedy", c_char_p)]
    __slots__ = ()


class CostsOptions(Structure):
    """fnz_costs_options"""

    _fields_ = [("size", c_size_t), ("original", c_void_p), ("origins", c_void_p), ("plan", c_void_p)]
    __slots__ = ()


class Stats(Structure):
    """fnz_stats"""

    _fields_ = [("nodes", c_size_t), ("views", c_size_t), ("mutations", c_size_t), ("copies", c_size_t),
                ("mutated", c_size_t), ("inputs", c_size_t), ("outputs", c_size_t), ("graphs", c_size_t),
                ("weights", c_size_t), ("no_data", c_size_t), ("weight_bytes", c_uint64)]
    __slots__ = ()


class NodeInfo(Structure):
    """fnz_node_info"""

    _fields_ = [("target", c_char_p), ("op", c_void_p), ("args", POINTER(Arg)), ("nargs", c_size_t),
                ("outputs", POINTER(Arg)), ("noutputs", c_size_t), ("source", c_char_p)]
    __slots__ = ()


class InputSpec(Structure):
    """fnz_input_spec"""

    _fields_ = [("kind", c_int), ("target", c_char_p), ("persistent", c_bool), ("written", c_bool), ("shares", c_uint32)]
    __slots__ = ()


class OutputSpec(Structure):
    """fnz_output_spec"""

    _fields_ = [("kind", c_int), ("target", c_char_p), ("metadata", c_bool), ("set", c_bool), ("sharing", c_int),
                ("of", c_uint32), ("window", POINTER(Geometry)), ("views", c_void_p), ("nviews", c_uint32)]
    __slots__ = ()


class Symbol(Structure):
    """fnz_symbol"""

    _fields_ = [("text", c_char_p), ("has_example", c_bool), ("example", c_int64), ("least", c_int64),
                ("greatest", c_int64)]
    __slots__ = ()


class Weight(Structure):
    """fnz_weight"""

    _fields_ = [("name", c_char_p), ("geometry", POINTER(Geometry)), ("data", c_void_p), ("bytes", c_size_t)]
    __slots__ = ()


class WeightLoan(Structure):
    """fnz_weight_loan"""

    _fields_ = [("name", c_char_p), ("geometry", POINTER(Geometry)), ("data", c_void_p), ("bytes", c_size_t),
                ("release", c_void_p), ("owner", c_void_p)]
    __slots__ = ()


class Place(Structure):
    """fnz_place"""

    _fields_ = [("path", c_void_p), ("path_size", c_size_t), ("line", c_long), ("code", c_void_p), ("code_size", c_size_t)]
    __slots__ = ()


class Module(Structure):
    """fnz_module"""

    _fields_ = [("path", c_void_p), ("path_size", c_size_t), ("type", c_void_p), ("type_size", c_size_t)]
    __slots__ = ()


class Origin(Structure):
    """fnz_origin"""

    _fields_ = [("reason", c_int), ("graph", c_size_t), ("node", c_size_t), ("reader", c_size_t), ("output", c_size_t),
                ("view", c_size_t), ("reader_graph", c_size_t), ("view_graph", c_size_t)]
    __slots__ = ()


class Method(Structure):
    """fnz_method"""

    _fields_ = [("name", c_char_p), ("program", c_void_p)]
    __slots__ = ()


class MethodsWeight(Structure):
    """fnz_methods_weight"""

    _fields_ = [("name", c_char_p), ("bytes", c_uint64), ("users", c_size_t), ("is_state", c_bool)]
    __slots__ = ()


class Param(Structure):
    """fnz_param"""

    _fields_ = [("name", c_char_p), ("type", c_char_p), ("alias", c_char_p), ("default_text", c_char_p),
                ("is_list", c_bool), ("item_optional", c_bool), ("optional", c_bool), ("list_size", c_int),
                ("is_write", c_bool), ("keyword_only", c_bool), ("alias_set", c_uint32)]
    __slots__ = ()


class CompileOptions(Structure):
    """fnz_compile_options"""

    _fields_ = [("size", c_size_t), ("threads", c_int), ("donated", c_void_p), ("ndonated", c_size_t),
                ("kernels", c_void_p), ("check", c_bool), ("unplanned", c_bool), ("device", c_char_p), ("cache", c_char_p),
                ("staging", c_bool), ("held", c_void_p), ("nheld", c_size_t), ("in_place", c_bool)]
    __slots__ = ()


class Slot(Structure):
    """fnz_slot"""

    _fields_ = [("name", c_char_p), ("geometry", POINTER(Geometry)), ("in_state", c_bool)]
    __slots__ = ()


class Execution(Structure):
    """fnz_execution"""

    _fields_ = [("size", c_size_t), ("inputs", c_void_p), ("outputs", c_void_p), ("state", c_void_p),
                ("workspace", c_void_p), ("arena", c_void_p), ("arena_bytes", c_size_t), ("on_device", c_bool)]
    __slots__ = ()


class DLDevice(Structure):
    """DLDevice"""

    _fields_ = [("device_type", c_int), ("device_id", c_int32)]
    __slots__ = ()


class DLDataType(Structure):
    """DLDataType"""

    _fields_ = [("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16)]
    __slots__ = ()


class DLTensor(Structure):
    """DLTensor"""

    _fields_ = [("data", c_void_p), ("device", DLDevice), ("ndim", c_int32), ("dtype", DLDataType),
                ("shape", POINTER(c_int64)), ("strides", POINTER(c_int64)), ("byte_offset", c_uint64)]
    __slots__ = ()


class DLPackVersion(Structure):
    """DLPackVersion"""

    _fields_ = [("major", c_uint32), ("minor", c_uint32)]
    __slots__ = ()


class DLManagedTensorVersioned(Structure):
    """DLManagedTensorVersioned"""

    _fields_ = [("version", DLPackVersion), ("manager_ctx", c_void_p), ("deleter", c_void_p), ("flags", c_uint64),
                ("dl_tensor", DLTensor)]
    __slots__ = ()


class DlpackView(Structure):
    """fnz_dlpack_view"""

    _fields_ = [("memory", Memory), ("geometry", Geometry), ("sizes", c_int64 * MAX_RANK), ("strides", c_int64 * MAX_RANK),
                ("device", DLDevice), ("read_only", c_bool)]
    __slots__ = ()


class DlpackOptions(Structure):
    """fnz_dlpack_options"""

    _fields_ = [("size", c_size_t), ("device", DLDevice), ("read_only", c_bool), ("release", c_void_p), ("owner", c_void_p)]
    __slots__ = ()


# DLPack before version 1, which some consumers still take.
class DLManagedTensor(Structure):
    """DLManagedTensor"""

    _fields_ = [("dl_tensor", DLTensor), ("manager_ctx", c_void_p), ("deleter", c_void_p)]
    __slots__ = ()
