"""The structures of the public headers, as ctypes has them. tests/test_headers.py holds them against the headers."""

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
SIDE_INPUT, SIDE_OUTPUT, SIDE_STATE = range(3)  # fnz_side
MEMORY_FORMATS = {1: "contiguous_format", 2: "channels_last", 3: "channels_last_3d", 4: "preserve_format"}

CPU, CUDA, CUDA_HOST, CUDA_MANAGED = 1, 2, 3, 13  # DLDeviceType
READ_ONLY = 1  # DLPACK_FLAG_BITMASK_READ_ONLY


def _structure(name: str, *fields: tuple) -> type[Structure]:
    return type(name, (Structure,), {"_fields_": list(fields), "__slots__": ()})


Error = _structure("fnz_error", ("status", c_int), ("kind", c_int), ("where", c_char * 192), ("message", c_char * 512))
Buffer = _structure("fnz_buffer", ("data", c_void_p), ("size", c_size_t), ("capacity", c_size_t))
DtypeInfo = _structure("fnz_dtype_info", ("name", c_char_p), ("bytes", c_size_t), ("category", c_char), ("pt2", c_int),
                       ("torch", c_char_p), ("safetensors", c_char_p))
Geometry = _structure("fnz_geometry", ("dtype", c_int), ("rank", c_uint32), ("is_conj", c_bool), ("is_neg", c_bool),
                      ("offset", c_int64), ("sizes", POINTER(c_int64)), ("strides", POINTER(c_int64)),
                      ("symbols", POINTER(c_uint32)))
Memory = _structure("fnz_memory", ("data", c_void_p), ("geometry", POINTER(Geometry)))
Array = _structure("fnz_array", ("name", c_char_p), ("dtype", c_int), ("rank", c_uint32), ("sizes", POINTER(c_int64)),
                   ("data", c_void_p), ("bytes", c_size_t))


class ArgUnion(Union):
    _fields_ = [("i", c_int64), ("f", c_double), ("value", c_uint64), ("tensor", c_void_p), ("s", c_char_p),
                ("list", c_void_p)]


Arg = _structure("fnz_arg", ("tag", c_uint8), ("flags", c_uint8), ("count", c_uint32), ("u", ArgUnion))

FunctionalizeOptions = _structure(
    "fnz_functionalize_options", ("size", c_size_t), ("views", c_int), ("state", c_int), ("deny", c_void_p),
    ("ndeny", c_size_t), ("check", c_void_p), ("check_types", c_void_p), ("origins", c_void_p))
DecomposeOptions = _structure(
    "fnz_decompose_options", ("size", c_size_t), ("set", c_char_p), ("decompose", c_void_p), ("ndecompose", c_size_t),
    ("keep", c_void_p), ("nkeep", c_size_t), ("views", c_int), ("origins", c_void_p))
Target = _structure("fnz_target", ("name", c_char_p), ("words", c_char_p), ("set", c_char_p), ("format", c_int),
                    ("views", c_int), ("state", c_int))
VerifyOptions = _structure("fnz_verify_options", ("size", c_size_t), ("trials", c_int), ("ignore_weights", c_bool),
                           ("allow_narrower", c_bool), ("ignore_memory", c_bool))
VerifyReport = _structure(
    "fnz_verify_report", ("size", c_size_t), ("trials", c_int), ("bodies", c_size_t), ("bodies_run", c_size_t),
    ("missed", c_char * 128), ("numbers", c_bool), ("sizes", c_size_t), ("no_numbers", c_char * 160), ("weights", c_size_t),
    ("weights_differing", c_size_t), ("weights_without", c_size_t), ("predicates", c_size_t),
    ("predicates_turned", c_size_t), ("not_compared", c_char * 160), ("narrower", c_char * 256))
RunOptions = _structure("fnz_run_options", ("size", c_size_t), ("original", c_bool), ("check_schemas", c_bool))
PlanOptions = _structure("fnz_plan_options", ("size", c_size_t), ("json", c_bool), ("device", c_char_p),
                         ("inputs", c_void_p))
PageOptions = _structure("fnz_page_options", ("size", c_size_t), ("title", c_char_p), ("json", c_bool), ("verify", c_bool))
DifferenceSide = _structure("fnz_difference_side", ("text", c_char_p), ("source", c_char_p), ("graph", c_size_t),
                            ("node", c_size_t))
Difference = _structure("fnz_difference", ("where", c_char_p), ("what", c_char_p), ("a", DifferenceSide),
                        ("b", DifferenceSide))
Finding = _structure(
    "fnz_finding", ("kind", c_int), ("error", c_int), ("graph", c_size_t), ("node", c_size_t), ("view", c_size_t),
    ("reader", c_size_t), ("output", c_size_t), ("where", c_char_p), ("what", c_char_p), ("remedy", c_char_p),
    ("view_graph", c_size_t), ("reader_graph", c_size_t))
Stats = _structure(
    "fnz_stats", ("nodes", c_size_t), ("views", c_size_t), ("mutations", c_size_t), ("copies", c_size_t),
    ("mutated", c_size_t), ("inputs", c_size_t), ("outputs", c_size_t), ("graphs", c_size_t), ("weights", c_size_t),
    ("no_data", c_size_t), ("weight_bytes", c_uint64))
NodeInfo = _structure(
    "fnz_node_info", ("target", c_char_p), ("op", c_void_p), ("args", POINTER(Arg)), ("nargs", c_size_t),
    ("outputs", POINTER(Arg)), ("noutputs", c_size_t), ("source", c_char_p))
InputSpec = _structure("fnz_input_spec", ("kind", c_int), ("target", c_char_p), ("persistent", c_bool),
                       ("written", c_bool), ("shares", c_uint32))
OutputSpec = _structure(
    "fnz_output_spec", ("kind", c_int), ("target", c_char_p), ("metadata", c_bool), ("set", c_bool), ("sharing", c_int),
    ("of", c_uint32), ("window", POINTER(Geometry)), ("views", c_void_p), ("nviews", c_uint32))
Symbol = _structure("fnz_symbol", ("text", c_char_p), ("has_example", c_bool), ("example", c_int64), ("least", c_int64),
                    ("greatest", c_int64))
Weight = _structure("fnz_weight", ("name", c_char_p), ("geometry", POINTER(Geometry)), ("data", c_void_p),
                    ("bytes", c_size_t))
WeightLoan = _structure("fnz_weight_loan", ("name", c_char_p), ("geometry", POINTER(Geometry)), ("data", c_void_p),
                        ("bytes", c_size_t), ("release", c_void_p), ("owner", c_void_p))
Place = _structure("fnz_place", ("path", c_void_p), ("path_size", c_size_t), ("line", c_long), ("code", c_void_p),
                   ("code_size", c_size_t))
Module = _structure("fnz_module", ("path", c_void_p), ("path_size", c_size_t), ("type", c_void_p), ("type_size", c_size_t))
Origin = _structure(
    "fnz_origin", ("reason", c_int), ("graph", c_size_t), ("node", c_size_t), ("reader", c_size_t), ("output", c_size_t),
    ("view", c_size_t), ("reader_graph", c_size_t), ("view_graph", c_size_t))
Method = _structure("fnz_method", ("name", c_char_p), ("program", c_void_p))
MethodsWeight = _structure("fnz_methods_weight", ("name", c_char_p), ("bytes", c_uint64), ("users", c_size_t),
                           ("is_state", c_bool))
Param = _structure(
    "fnz_param", ("name", c_char_p), ("type", c_char_p), ("alias", c_char_p), ("default_text", c_char_p),
    ("is_list", c_bool), ("item_optional", c_bool), ("optional", c_bool), ("list_size", c_int), ("is_write", c_bool),
    ("keyword_only", c_bool), ("alias_set", c_uint32))

CompileOptions = _structure(
    "fnz_compile_options", ("size", c_size_t), ("threads", c_int), ("donated", c_void_p), ("ndonated", c_size_t),
    ("kernels", c_void_p), ("check", c_bool), ("unplanned", c_bool), ("device", c_char_p), ("cache", c_char_p),
    ("staging", c_bool), ("held", c_void_p), ("nheld", c_size_t), ("in_place", c_bool))
Slot = _structure("fnz_slot", ("name", c_char_p), ("geometry", POINTER(Geometry)), ("in_state", c_bool))
Execution = _structure(
    "fnz_execution", ("size", c_size_t), ("inputs", c_void_p), ("outputs", c_void_p), ("state", c_void_p),
    ("workspace", c_void_p), ("arena", c_void_p), ("arena_bytes", c_size_t), ("on_device", c_bool))

DLDevice = _structure("DLDevice", ("device_type", c_int), ("device_id", c_int32))
DLDataType = _structure("DLDataType", ("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16))
DLTensor = _structure(
    "DLTensor", ("data", c_void_p), ("device", DLDevice), ("ndim", c_int32), ("dtype", DLDataType),
    ("shape", POINTER(c_int64)), ("strides", POINTER(c_int64)), ("byte_offset", c_uint64))
DLPackVersion = _structure("DLPackVersion", ("major", c_uint32), ("minor", c_uint32))
DLManagedTensorVersioned = _structure(
    "DLManagedTensorVersioned", ("version", DLPackVersion), ("manager_ctx", c_void_p), ("deleter", c_void_p),
    ("flags", c_uint64), ("dl_tensor", DLTensor))
DlpackView = _structure(
    "fnz_dlpack_view", ("memory", Memory), ("geometry", Geometry), ("sizes", c_int64 * MAX_RANK),
    ("strides", c_int64 * MAX_RANK), ("device", DLDevice), ("read_only", c_bool))
DlpackOptions = _structure("fnz_dlpack_options", ("size", c_size_t), ("device", DLDevice), ("read_only", c_bool),
                           ("release", c_void_p), ("owner", c_void_p))

# DLPack before version 1, which some consumers still take.
DLManagedTensor = _structure("DLManagedTensor", ("dl_tensor", DLTensor), ("manager_ctx", c_void_p), ("deleter", c_void_p))
