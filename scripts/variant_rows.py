"""Arguments of the calls of each operator, for make_variant_fixtures.py.

An operator without a row gets its arguments from its schema: every tensor is f32[2, 3], a number is 1.5, and arguments
with a default keep it. A row is a list of calls, each the arguments in the schema's order. DOMAIN says which numbers
an operator is for."""

from collections import namedtuple


class Tensor(namedtuple("Tensor", "sizes dtype kind layout share")):
    """A tensor to be made. layout: plain, transposed, slice, step, expanded, or roomy: with an element
    to spare behind it. share: which other tensor's memory it lies in, and how many elements further on."""


def T(*sizes, dt="f32", kind=None, layout="plain", share=None):
    return Tensor(tuple(sizes), dt, kind, layout, share)


Dtype = namedtuple("Dtype", "name")
Device = namedtuple("Device", "name")
Format = namedtuple("Format", "number")  # memory formats, by their numbers in .pt2 files
DEFAULT = "\0default"
CHANNELS_LAST = Format(2)
CONTIGUOUS = Format(1)


def I(*sizes, n=3, **more):
    """Indices below n."""
    return T(*sizes, dt="i64", kind=f"index{n}", **more)


def M(*sizes, **more):
    return T(*sizes, dt="bool", **more)


X = T(2, 3)
Y = T(4)
C = T(2, 3, dt="c64")
IMAGE = T(1, 4, 4, 4)
POOLED = [[T(1, 2, 6), [2]], [T(1, 2, 6), [3], [2], [1]]]
POOLED2 = [[T(1, 2, 4, 4), [2, 2]], [T(1, 2, 5, 5), [3], [2], [1]], [T(2, 4, 4, layout="slice"), [2, 2]]]
POOLED3 = [[T(1, 1, 4, 4, 4), [2]]]
LOSS = [[X, X], [X, X, 0], [X, X, 2]]
STATS = (T(3), T(3), T(3), T(3, kind="positive"))

# Rows whose calls also make sense with other element types and layouts of the first argument.
ROWS = {
    # matrix products
    "mm": [[T(2, 3), T(3, 4)], [T(2, 3, dt="i64"), T(3, 4, dt="i64")]],
    "bmm": [[T(2, 2, 3), T(2, 3, 2)]],
    "mv": [[T(2, 3), T(3)]],
    "dot": [[T(4), T(4)]],
    "matmul": [[T(2, 3), T(3, 4)], [T(3), T(3)], [T(2, 2, 3), T(3)], [T(2, 1, 2, 3), T(2, 3, 2)]],
    "linalg_matmul": [[T(2, 3), T(3, 4)]],
    "outer": [[T(2), T(3)]],
    "ger": [[T(2), T(3)]],
    "addmm": [[T(2, 4), T(2, 3), T(3, 4)], [T(4), T(2, 3), T(3, 4), 2, 0.5], [T(2, 4), T(2, 3), T(3, 4), 0]],
    "addmv": [[T(2), T(2, 3), T(3)], [T(2), T(2, 3), T(3), 2, 0.5]],
    "baddbmm": [[T(2, 2, 2), T(2, 2, 3), T(2, 3, 2)]],
    "linear": [[T(2, 3), T(4, 3)], [T(2, 3), T(4, 3), T(4)]],
    "einsum": [["ij,jk->ik", [T(2, 3), T(3, 2)]]],
    "addbmm": [[T(2, 4), T(2, 2, 3), T(2, 3, 4)], [T(4), T(2, 2, 3), T(2, 3, 4), 2, 0.5]],
    "addr": [[T(2, 3), T(2), T(3)], [T(3), T(2), T(3), 2, 0.5], [T(2, 3), T(2), T(3), 0]],
    "vdot": [[T(4), T(4)], [T(4, dt="c64"), T(4, dt="c64")]],
    "cross": [[T(2, 3), T(2, 3)], [T(3, 3), T(3, 3)]],
    "linalg_cross": [[T(2, 3), T(2, 3)], [T(1, 3), T(2, 3)], [T(3, 2), T(3, 2), 0]],
    "tensordot": [[T(2, 3, 2), T(2, 3, 4), [1, 2], [1, 0]], [T(2, 3), T(3), [-1], [0]]],
    # convolutions
    "conv1d": [[T(1, 2, 5), T(3, 2, 3)], [T(1, 2, 5), T(3, 2, 3), T(3), [2], [1]]],
    "conv2d": [[T(1, 2, 4, 4), T(3, 2, 3, 3)], [T(1, 2, 4, 4), T(3, 2, 3, 3), T(3), [2, 2], [1, 1]]],
    "conv3d": [[T(1, 1, 3, 3, 3), T(2, 1, 2, 2, 2)]],
    "conv1d.padding": [[T(1, 2, 5), T(3, 2, 3), None, [1], "same"]],
    "conv2d.padding": [[T(1, 2, 4, 4), T(3, 2, 3, 3), None, [1], "valid"]],
    "conv3d.padding": [[T(1, 1, 3, 3, 3), T(2, 1, 2, 2, 2), None, [1], "same"]],
    "convolution": [[T(1, 2, 4, 4), T(3, 2, 3, 3), None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1]],
    "conv_transpose1d": [[T(1, 2, 4), T(2, 3, 3)]],
    "conv_transpose2d.input": [[T(1, 2, 3, 3), T(2, 1, 2, 2)]],
    "conv_transpose3d.input": [[T(1, 1, 2, 2, 2), T(1, 1, 2, 2, 2)]],
    # normalisations
    "batch_norm": [[T(2, 3, 2), T(3), T(3), T(3), T(3, kind="positive"), False, 0.1, 1e-5, False],
                   [T(2, 3, 2), T(3), T(3), T(3), T(3, kind="positive"), True, 0.1, 1e-5, False]],
    "native_batch_norm": [[T(2, 3, 2), *STATS, False, 0.1, 1e-5], [T(2, 3, 2), *STATS, True, 0.1, 1e-5]],
    "_native_batch_norm_legit": [[T(2, 3, 2), *STATS, True, 0.1, 1e-5]],
    "_native_batch_norm_legit.no_stats": [[T(2, 3, 2), T(3), T(3), True, 0.1, 1e-5]],
    "_native_batch_norm_legit_functional": [[T(2, 3, 2), *STATS, True, 0.1, 1e-5]],
    "_native_batch_norm_legit_no_training": [[T(2, 3, 2), *STATS, 0.1, 1e-5]],
    "_batch_norm_with_update": [[T(2, 3, 2), *STATS, 0.1, 1e-5]],
    "_batch_norm_with_update_functional": [[T(2, 3, 2), *STATS, 0.1, 1e-5]],
    "instance_norm": [[T(2, 3, 4), T(3), T(3), None, None, True, 0.1, 1e-5, False]],
    "layer_norm": [[X, [3]], [X, [3], T(3), T(3)]],
    "native_layer_norm": [[X, [3], None, None, 1e-5], [X, [3], T(3), T(3), 1e-5]],
    "rms_norm": [[X, [3]], [X, [3], T(3), 1e-6]],
    "_fused_rms_norm": [[X, [3], T(3), 1e-6]],
    "group_norm": [[T(2, 4, 2), 2], [T(2, 4, 2), 2, T(4), T(4)]],
    "native_group_norm": [[T(2, 4, 2), T(4), T(4), 2, 4, 2, 2, 1e-5]],
    "renorm": [[X, 2, 0, 1.5]],
    # along dimensions
    "softmax.int": [[X, 1], [X, 0, Dtype("f64")]],
    "log_softmax.int": [[X, 1], [T(2, 3, dt="f16"), 0, Dtype("f32")]],
    "_softmax": [[X, 1, False]],
    "_log_softmax": [[X, 1, False]],
    "_safe_softmax": [[X, 1]],
    "logsumexp": [[X, [1]], [X, [0], True]],
    "sum.dim_IntList": [[X, [1]], [X, [0, 1], True], [X, None], [X, [0], False, Dtype("f64")]],
    "sum": [[X], [X, Dtype("f64")], [T(2, 3, dt="bool")]],
    "mean.dim": [[X, [1]], [X, [0], True], [X, None], [X, [0], False, Dtype("f64")]],
    "prod.dim_int": [[X, 1], [X, 0, True]],
    "var.dim": [[X, [1]], [X, [0], False, True]],
    "std.dim": [[X, [1]]],
    "var_mean.dim": [[X, [1]]],
    "std_mean.dim": [[X, [1]]],
    "var.correction": [[X, [1]], [X]],
    "std.correction": [[X, [1]]],
    "linalg_vector_norm": [[X], [X, 1, [1]]],
    "norm.Scalar": [[X], [X, 1]],
    "norm.ScalarOpt_dim": [[X, 2, [1]]],
    "norm.ScalarOpt_dtype": [[X, 2, Dtype("f64")]],
    "norm.ScalarOpt_dim_dtype": [[X, 2, [1], False, Dtype("f64")]],
    "amax": [[X], [X, [1]], [X, [0], True]],
    "amin": [[X], [X, [1]]],
    "aminmax": [[X], [X, 1]],
    "max.dim": [[X, 1], [X, 0, True]],
    "min.dim": [[X, 1]],
    "all.dim": [[X, 1], [M(2, 3), 1, True]],
    "any.dim": [[X, 1], [M(2, 3), 1, True]],
    "all.dims": [[X, [0, 1]], [X, [1]], [X]],
    "any.dims": [[X, [0, 1]], [X, [1]]],
    "argmax": [[X], [X, 1], [X, 0, True]],
    "argmin": [[X], [X, 1]],
    "cumsum": [[X, 1], [X, 0, Dtype("f64")], [T(2, 3, dt="bool"), 0]],
    "cumprod": [[X, 1], [X, 0, Dtype("f64")]],
    "sort": [[X], [X, 0, True]],
    "median": [[T(5)], [T()]], "nanmedian": [[T(5)]],
    "median.dim": [[T(2, 3), 1], [T(2, 3), 0, True]], "nanmedian.dim": [[T(2, 3), 1]],
    "kthvalue": [[T(2, 3), 2], [T(2, 3), 1, 0, True]], "mode": [[T(2, 3)], [T(2, 3), 0, True]],
    "searchsorted.Tensor": [[T(4, dt="u8"), X], [T(2, 3), T(2, 2), True], [T(4), X, False, False, "right"]],
    "searchsorted.Scalar": [[T(4), 1], [T(4), 0.5, True]],
    "bucketize.Tensor": [[X, T(4)], [X, T(4), True, True]], "bucketize.Scalar": [[1, T(4)]],
    "cummax": [[X, 1], [X, 0]], "cummin": [[X, 1], [X, 0]], "logcumsumexp": [[X, 1], [X, 0]],
    "count_nonzero": [[X], [X, 1]], "count_nonzero.dim_IntList": [[X, [0, 1]], [X, [1]]],
    "nonzero": [[X], [T(2, 3, dt="bool")]], "trace": [[X]], "equal": [[X, X], [X, T(3, 2)]],
    "nansum": [[X], [X, [1], True], [T(2, 3, dt="i64")]],
    "cdist": [[T(2, 3), T(4, 3)], [T(2, 2, 3), T(1, 2, 3), 1.0]],
    "_cdist_forward": [[T(2, 3), T(4, 3), 2.0, None], [T(2, 3), T(4, 3), 1.0, None]],
    "_pdist_forward": [[T(3, 2), 2.0], [T(3, 2), 0.0]],
    "sort.stable": [[X, True], [X, False, 0, True]], "argsort.stable": [[X, True]],
    "argsort": [[X], [X, 0, True]],
    "topk": [[X, 2], [X, 1, 0, False]],
    "diff": [[X], [X, 1, 0]],
    # indices
    "gather": [[X, 1, I(2, 2)], [X, 0, I(2, 3, n=2)]],
    "index_select": [[X, 1, I(4)], [X, 0, I(2, n=2)]],
    "index_add": [[X, 1, I(2), T(2, 2)], [X, 0, I(2, n=2), T(2, 3)]],
    "index_copy": [[X, 1, I(2), T(2, 2)]],
    "index_fill.int_Scalar": [[X, 1, I(2), 7]],
    "index_fill.int_Tensor": [[X, 1, I(2), T()]],
    "index_put": [[X, [I(2, n=2), I(2)], T(2)], [X, [I(2, n=2)], T(3), True], [X, [M(2, 3)], T()]],
    "_unsafe_index_put": [[X, [I(2, n=2), I(2)], T(2)]],
    "index.Tensor": [[X, [I(2, n=2), I(2)]], [X, [None, I(2)]], [X, [M(2, 3)]]],
    "_unsafe_index.Tensor": [[X, [I(2, n=2), I(2)]]],
    "scatter.src": [[X, 1, I(2, 2), X]],
    "scatter.value": [[X, 1, I(2, 2), 7]],
    "scatter.reduce": [[X, 1, I(2, 2), X, "add"], [X, 1, I(2, 2), X, "multiply"]],
    "scatter.value_reduce": [[X, 1, I(2, 2), 7, "add"]],
    "scatter_add": [[X, 1, I(2, 2), X], [X, 0, I(2, 3, n=2), X]],
    "scatter_reduce.two": [[X, 1, I(2, 2), X, op] for op in ("sum", "prod", "amax", "mean")],
    "take": [[X, I(2, 2, n=6)]],
    "put": [[X, I(2, n=6), T(2)], [X, I(2, n=6), T(2), True]],
    "embedding": [[T(4, 3), I(2, 2, n=4)]],
    "one_hot": [[I(2, 2)], [I(2, 2), 4]],
    "masked_fill.Scalar": [[X, M(2, 3), 7], [X, M(3), 7]],
    "masked_fill.Tensor": [[X, M(2, 3), T()]],
    "masked_scatter": [[X, M(2, 3), X]],
    "where.self": [[M(2, 3), X, X], [M(2, 1), T(2, 3, dt="f64"), T(3, dt="i64")]],
    "where.Scalar": [[M(2, 3), 1, 2]],
    "where.ScalarOther": [[M(2, 3), X, 2]],
    "where.ScalarSelf": [[M(2, 3), 2, X]],
    # windows and images
    "max_pool1d": POOLED,
    "max_pool1d_with_indices": POOLED,
    "avg_pool1d": POOLED,
    "max_pool2d": POOLED2,
    "max_pool2d_with_indices": POOLED2,
    "avg_pool2d": POOLED2,
    "max_pool3d": POOLED3,
    "max_pool3d_with_indices": POOLED3,
    "avg_pool3d": POOLED3,
    "adaptive_avg_pool1d": [[T(1, 2, 6), [4]]],
    "adaptive_avg_pool2d": [[T(1, 2, 4, 4), [2, 3]]],
    "adaptive_avg_pool3d": [[T(1, 1, 4, 4, 4), [2, 2, 3]]],
    "_adaptive_avg_pool2d": [[T(1, 2, 4, 4), [2, 3]]],
    "_adaptive_avg_pool3d": [[T(1, 1, 4, 4, 4), [2, 2, 3]]],
    "upsample_nearest1d": [[T(1, 2, 3), [5]]],
    "upsample_linear1d": [[T(1, 2, 3), [5], False], [T(1, 2, 3), [5], True]],
    "upsample_linear1d.vec": [[T(1, 2, 3), None, False, [2.0]]],
    "upsample_bilinear2d": [[T(1, 2, 2, 3), [3, 4], False], [T(1, 2, 2, 3), [3, 4], True]],
    "upsample_bilinear2d.vec": [[T(1, 2, 2, 3), None, False, [2.0, 1.5]]],
    "upsample_trilinear3d": [[T(1, 1, 2, 2, 2), [3, 4, 2], False]],
    "upsample_trilinear3d.vec": [[T(1, 1, 2, 2, 2), None, True, [2.0, 2.0, 2.0]]],
    "upsample_bicubic2d": [[T(1, 2, 2, 3), [3, 4], False], [T(1, 2, 2, 3), [3, 4], True]],
    "upsample_bicubic2d.vec": [[T(1, 2, 2, 3), None, False, [2.0, 1.5]]],
    "grid_sampler": [[T(1, 2, 3, 3), T(1, 2, 2, 2), 0, 1, False]],
    "grid_sampler_2d": [[T(1, 2, 3, 3), T(1, 2, 2, 2), 0, 0, False], [T(1, 2, 3, 3), T(1, 2, 2, 2), 2, 2, True]],
    "reflection_pad1d": [[T(2, 3), [2, 1]]], "replication_pad1d": [[T(2, 3), [2, -1]]],
    "reflection_pad2d": [[T(1, 2, 3, 3), [1, 2, 0, 1]]], "replication_pad2d": [[T(1, 2, 3, 3), [1, 2, 0, 1]]],
    "reflection_pad3d": [[T(1, 1, 2, 2, 2), [1, 1, 1, 0, 0, 1]]],
    "replication_pad3d": [[T(1, 1, 2, 2, 2), [1, 2, 1, 0, 0, 1]]],
    "im2col": [[T(1, 2, 3, 3), [2, 2], [1, 1], [0, 0], [1, 1]]],
    "col2im": [[T(1, 8, 4), [3, 3], [2, 2], [1, 1], [0, 0], [1, 1]]],
    "channel_shuffle": [[T(1, 4, 2), 2]], "rot90": [[X], [X, 2], [X, 3], [X, 4]],
    "upsample_nearest2d": [[T(1, 2, 2, 2), [3, 4]]],
    "upsample_nearest3d": [[T(1, 1, 2, 2, 2), [3, 3, 3]]],
    "upsample_nearest1d.vec": [[T(1, 2, 3), [5], None]],
    "upsample_nearest2d.vec": [[T(1, 2, 2, 2), None, [2.0, 2.0]]],
    "upsample_nearest3d.vec": [[T(1, 1, 2, 2, 2), [3, 3, 3], None]],
    "pixel_shuffle": [[IMAGE, 2]],
    "pixel_unshuffle": [[IMAGE, 2]],
    "constant_pad_nd": [[X, [1, 0]], [X, [1, 1, -1, 2], 2]],
    "pad": [[X, [1, 0]], [T(1, 2, 3), [1, 1], "reflect"]],
    "scaled_dot_product_attention": [[T(1, 2, 3, 4), T(1, 2, 3, 4), T(1, 2, 3, 4)]],
    "_scaled_dot_product_flash_attention_for_cpu": [[T(1, 2, 3, 4), T(1, 2, 3, 4), T(1, 2, 3, 4)]],
    # losses
    "mse_loss": LOSS, "l1_loss": LOSS, "smooth_l1_loss": LOSS, "huber_loss": LOSS,
    "nll_loss": [[X, I(2)]], "nll_loss_nd": [[X, I(2)]],
    "nll_loss_forward": [[X, I(2), None, 1, -100], [X, I(2), T(3), 0, -100]],
    "nll_loss2d": [[T(1, 3, 2, 2), I(1, 2, 2)]],
    "cross_entropy_loss": [[X, I(2)], [X, I(2), T(3), 2]],
    "glu": [[T(2, 4)], [T(4, 3), 0]],
    # copies and moves
    "cat": [[[X, X], 0], [[X, T(2, 1)], 1], [[X, T(2, 3, dt="i64")], 0], [[X, T(0)], 0]],
    "concat": [[[X, X], 1]], "concatenate": [[[X, X], 1]],
    "stack": [[[X, X], 0], [[X, X], 2]],
    "repeat": [[X, [2, 1]], [X, [2, 1, 2]]],
    "repeat_interleave.self_int": [[X, 2], [X, 2, 1]],
    "flip": [[X, [0]], [X, [0, 1]]],
    "roll": [[X, [1], [1]], [X, [2]]],
    "narrow_copy": [[X, 1, 1, 2]],
    "tril": [[T(3, 3)], [X, 1]], "triu": [[T(3, 3)], [X, -1]],
    "copy": [[X, X], [X, T(3)], [X, T(2, 3, dt="i64")], [T(2, 3, dt="i64"), X], [X, T(4)]],
    "clone": [[X], [T(1, 2, 2, 2), CHANNELS_LAST], [T(2, 3, layout="transposed"), CONTIGUOUS]],
    "_to_copy": [[X], [X, Dtype("f64")], [X, Dtype("i64")], [T(2, 3, dt="i64"), Dtype("bf16")]],
    "fill.Scalar": [[X, 2], [T(2, 3, dt="i64"), 2.75], [T(2, 3, dt="bool"), 2]],
    "fill.Tensor": [[X, T()], [T(2, 3, dt="i64"), T()], [X, T(2)]],
    "resize": [[X, [3, 2]], [X, [2, 2]]],
    "dropout": [[X, 0.5, False]], "feature_dropout": [[X, 0.5, False]], "alpha_dropout": [[X, 0.5, False]],
    "native_dropout": [[X, 0.5, False]],
    "nan_to_num": [[X], [X, 1.0, 2.0, 3.0]],
    "round.decimals": [[X, 1]], "special_round": [[X], ],
    "polygamma": [[1, T(2, 3, kind="positive")]], "special_polygamma": [[2, T(2, 3, kind="positive")]],
    "clamp": [[X, -1], [X, -1, 0.5], [X, None, 1], [X]], "clip": [[X, -1, 1]],
    "clamp.Tensor": [[X, X, None], [X, T(3), T(2, 1)]], "clip.Tensor": [[X, X]],
    "lerp.Scalar": [[X, X, 0.3]],
    "threshold": [[X, 0.5, 2]], "softplus": [[X], [X, 2, 1]], "elu": [[X], [X, 2, 0.5, 1.5]],
    "div.Tensor_mode": [[X, X, mode] for mode in (None, "trunc", "floor")],
    "div.Scalar_mode": [[X, 1.5, mode] for mode in (None, "trunc", "floor")],
    "divide.Tensor_mode": [[X, X, "floor"]], "divide.Scalar_mode": [[X, 1.5, "trunc"]],
    "add.Tensor": [[X, X], [X, X, 2], [X, X, 0.5]], "sub.Tensor": [[X, X], [X, X, 2]],
    "add.Scalar": [[X, 1.5], [X, 2, 2], [T(2, 3, dt="i64"), 1.5], [T(2, 3, dt="bool"), 2],
                   [X, True], [X, 1 + 2j], [T(2, 3, dt="bool"), True]],
    "mul.Scalar": [[X, 1.5], [T(2, 3, dt="i64"), 1.5], [T(2, 3, dt="u8"), -1], [C, 1 + 2j]],
    "eq.Scalar": [[X, 2], [C, 1 + 2j], [T(2, 3, dt="bool"), True]],
    "gelu": [[X], [X, "tanh"]],
    "_foreach_addcdiv.ScalarList": [[[X, X], [X, X], [X, X], [1.5, 2]]],
    "_foreach_addcmul.ScalarList": [[[X, X], [X, X], [X, X], [1.5, 2]]],
    "_foreach_pow.ScalarAndTensor": [[2.0, [X, X]]],
    "_foreach_lerp.ScalarList": [[[X, Y], [X, Y], [0.25, 2.0]]],
    "_foreach_pow.ScalarList": [[[X, Y], [2, 1.5]]],
    "_foreach_mm": [[[T(2, 3), T(2, 2)], [T(3, 2), T(2, 2)]]],
    "_foreach_add.Tensor": [[[X, Y], T()]], "_foreach_mul.Tensor": [[[X, Y], T()]],
    "_foreach_div.Tensor": [[[X, Y], T()]],
    # tensors from numbers
    "zeros": [[[2, 3]], [[2], Dtype("i64")]], "ones": [[[2, 3]], [[2], Dtype("bool")]],
    "full": [[[2, 3], 1.5], [[2], 3], [[2], True], [[2], 3, Dtype("f16")]],
    "empty.memory_format": [[[2, 3]], [[1, 2, 2, 2], DEFAULT, DEFAULT, DEFAULT, DEFAULT, CHANNELS_LAST]],
    "empty_strided": [[[2, 3], [1, 2]]],
    "new_zeros": [[X, [2]], [X, [2], Dtype("i64")]], "new_ones": [[X, [2]]],
    "new_full": [[X, [2], 7], [T(2, dt="i64"), [2], 7]],
    "new_empty": [[X, [2, 2]]], "new_empty_strided": [[X, [2, 2], [1, 2]]],
    "zeros_like": [[X], [X, Dtype("i64")]], "ones_like": [[X], [X, Dtype("bool")]],
    "full_like": [[X, 1.5], [T(2, 3, dt="i64"), 2]], "empty_like": [[X]],
    "scalar_tensor": [[1.5], [2], [2, Dtype("i64")]],
    "eye": [[3], [2, Dtype("i64")]], "eye.m": [[2, 3]],
    "arange": [[4], [2.5], [4, Dtype("f32")]], "arange.start": [[1, 4]],
    "arange.start_step": [[1, 4], [0, 2, 0.5], [4, 0, -1]],
    "linspace": [[0, 1, 5], [1, 0, 1], [0, 10, 5, Dtype("i64")]],
    # views
    "_reshape_alias": [[X, [3, 2], [2, 1]]], "_reshape_alias_copy": [[X, [3, 2], [2, 1]]],
    "as_strided": [[X, [2, 2], [1, 2]], [X, [2], [3], 1], [T(2, 3, layout="slice"), [2], [1]]],
    "as_strided_copy": [[X, [2, 2], [1, 2]], [X, [2], [3], 1]],
    "as_strided_scatter": [[X, T(2, 2), [2, 2], [1, 2]]],
    "diagonal": [[X], [X, 1], [T(2, 3, 2), 0, 2, 0]], "diagonal_copy": [[X], [X, 1]],
    "diagonal_scatter": [[X, T(2)]], "linalg_diagonal": [[X]],
    "expand": [[T(3), [2, 3]], [T(2, 1), [-1, 3]]], "expand_copy": [[T(3), [2, 3]]],
    "permute": [[T(2, 3, 2), [2, 0, 1]]], "permute_copy": [[T(2, 3, 2), [2, 0, 1]]],
    "select.int": [[X, 1, 1], [X, 0, -1], [X, 0, 5]], "select_copy.int": [[X, 1, 1]],
    "select_scatter": [[X, T(2), 1, 1]],
    "slice.Tensor": [[X, 1, 1], [T(6), 0, 1, 6, 2], [X, 1, -2, 9]],
    "slice_copy.Tensor": [[X, 1, 1], [T(6), 0, 1, 6, 2]],
    "slice_scatter": [[X, T(2, 2), 1, 1]], "slice_inverse": [[T(2, 2), X, 1, 1]],
    "split.Tensor": [[T(5), 2], [X, 1, 1]], "split_copy.Tensor": [[T(5), 2]],
    "split_with_sizes": [[T(5), [2, 3]]], "split_with_sizes_copy": [[T(5), [2, 3]]],
    "split.sizes": [[T(5), [2, 3]]], "unsafe_split.Tensor": [[T(5), 2]],
    "unsafe_split_with_sizes": [[T(5), [2, 3]]],
    "squeeze": [[T(1, 3, 1)], [X]], "squeeze_copy": [[T(1, 3, 1)]],
    "squeeze.dim": [[T(1, 3), 0], [T(1, 3), 1]], "squeeze_copy.dim": [[T(1, 3), 0]],
    "squeeze.dims": [[T(1, 3, 1), [0, 2]]], "squeeze_copy.dims": [[T(1, 3, 1), [0, 2]]],
    "t": [[X], [Y]], "t_copy": [[X]],
    "transpose.int": [[T(2, 3, 2), 0, 2]], "transpose_copy.int": [[T(2, 3, 2), 0, 2]],
    "unbind.int": [[X], [X, 1]], "unbind_copy.int": [[X]],
    "unfold": [[T(6), 0, 3, 2], [T(6), 0, 3, 1], [X, 1, 2, 1]], "unfold_copy": [[T(6), 0, 3, 2]],
    "unsqueeze": [[X, 0], [X, -1]], "unsqueeze_copy": [[X, 1]],
    "view": [[X, [3, 2]], [X, [-1]], [T(2, 3, layout="transposed"), [6]]],
    "view_copy": [[X, [3, 2]], [T(2, 3, layout="transposed"), [6]]],
    "_unsafe_view": [[X, [6]], [T(2, 3, layout="transposed"), [6]]],
    "view.dtype": [[X, Dtype("i32")], [X, Dtype("u8")], [T(2, 4, dt="i16"), Dtype("i64")]],
    "view_copy.dtype": [[X, Dtype("i32")], [X, Dtype("u8")]],
    "view_as_complex": [[T(3, 2)]], "view_as_complex_copy": [[T(3, 2)]],
    "view_as_real": [[C]], "view_as_real_copy": [[C]],
    "_conj": [[C]], "_conj_copy": [[C]], "_neg_view": [[X]], "_neg_view_copy": [[X]],
    # aliases that depend on strides
    "reshape": [[X, [3, 2]], [T(2, 3, layout="transposed"), [6]], [T(2, 3, layout="slice"), [2, 3, 1]]],
    "reshape_as": [[X, T(6)], [T(2, 3, layout="transposed"), T(6)]],
    "contiguous": [[X], [T(2, 3, layout="transposed")], [T(1, 2, 2, 2), CHANNELS_LAST]],
    "flatten.using_ints": [[T(2, 3, 2)], [T(2, 3, layout="transposed")], [T(2, 3, 2), 1], [T()]],
    "ravel": [[X], [T(2, 3, layout="transposed")]],
    "to.dtype": [[X, Dtype("f32")], [X, Dtype("f64")], [X, Dtype("f32"), False, True]],
    "to.dtype_layout": [[X], [X, Dtype("i64")]], "to.device": [[X, Device("cpu"), Dtype("f32")], [X, Device("cpu"), Dtype("f16")]],
    "to.other": [[X, T(1)], [X, T(1, dt="i64")]], "type_as": [[X, T(1)], [X, T(1, dt="i64")]],
    "expand_as": [[T(3), X]], "broadcast_to": [[T(3), [2, 3]]], "view_as": [[X, T(3, 2)]],
    "broadcast_tensors": [[[T(3), T(2, 1)]]],
    "narrow": [[X, 1, 1, 2]], "chunk": [[T(5), 2], [X, 3, 1]], "unsafe_chunk": [[T(5), 2]],
    "tensor_split.sections": [[T(5), 3]], "tensor_split.indices": [[T(5), [1, 4]]],
    "hsplit.int": [[T(2, 4), 2]], "hsplit.array": [[T(2, 4), [1]]],
    "vsplit.int": [[T(2, 4), 2]], "vsplit.array": [[T(2, 4), [1]]],
    "dsplit.int": [[T(1, 2, 4), 2]], "dsplit.array": [[T(1, 2, 4), [1]]],
    "movedim.int": [[T(2, 3, 2), 0, 2]], "movedim.intlist": [[T(2, 3, 2), [0, 1], [1, 2]]],
    "moveaxis.int": [[T(2, 3, 2), 0, 2]], "moveaxis.intlist": [[T(2, 3, 2), [0, 1], [1, 2]]],
    "swapaxes": [[X, 0, 1]], "swapdims": [[X, 0, 1]], "unflatten.int": [[X, 1, [3, 1]]],
    "atleast_1d": [[T()], [X]], "atleast_2d": [[Y], [X]], "atleast_3d": [[X]],
    "atleast_1d.Sequence": [[[T(), X]]], "atleast_2d.Sequence": [[[Y, X]]], "atleast_3d.Sequence": [[[Y, X]]],
    "sum_to_size": [[X, [1, 3]], [X, [2, 3]]],
    "adjoint": [[X], [C]], "mH": [[X], [C]], "mT": [[X]], "matrix_H": [[X], [C]], "numpy_T": [[X]],
    "conj": [[X], [C]], "conj_physical": [[X], [C]], "real": [[X], [C]], "imag": [[C], [X]],
    "resolve_conj": [[X], [C]], "resolve_neg": [[X]], "positive": [[X]],
}

# Operators with a row that take tensors of any sizes nevertheless.
ANY_SIZES = ("add.Tensor", "sub.Tensor", "add.Scalar", "mul.Scalar", "eq.Scalar", "div.Tensor_mode",
             "lerp.Scalar", "clamp", "sum", "where.self", "fill.Scalar")

# Views in place have no functional twin to take a row from.
VIEWS_IN_PLACE = {
    "t_": "t", "transpose_": "transpose.int", "squeeze_": "squeeze", "squeeze_.dim": "squeeze.dim",
    "squeeze_.dims": "squeeze.dims", "unsqueeze_": "unsqueeze", "as_strided_": "as_strided",
    "swapaxes_": "swapaxes", "swapdims_": "swapdims", "detach_": "detach",
}

# By the name without its overload and without special_, arc or _foreach_.
DOMAIN = {
    **dict.fromkeys(("acos", "asin", "atanh", "arccos", "arcsin", "arctanh"), "unit"),
    **dict.fromkeys(("acosh", "arccosh"), "above1"),
    **dict.fromkeys(("log", "log2", "log10", "log1p", "sqrt", "rsqrt", "lgamma", "gammaln", "digamma",
                     "xlogy", "xlog1py", "entr", "pow", "float_power"), "positive"),
    "logit": "prob",
    **dict.fromkeys(("bitwise_left_shift", "bitwise_right_shift", "__lshift__", "__rshift__"), "small"),
}

# Operators whose element types start at integers, and numbers for arguments without a default.
INTEGRAL = ("bitwise_", "__", "gcd", "lcm")
NUMBERS = {"other": 2, "value": 1.5, "exponent": 2, "negative_slope": 0.1, "eps": 0.25, "max_val": 1,
           "min_val": -1, "threshold": 0.5, "lambd": 0.5, "dim": 1, "k": 1, "delta": 1.0,
           "scalars": [1.5, 2], "scalar": 1.5}

# Contents are what the memory happened to hold: only geometry is compared.
UNDEFINED = ("empty", "new_empty")

# No other layouts: PyTorch reads beside its memory when the last dimension is not dense, and what
# resize_ adds to memory is undefined.
DENSE = ("_scaled_dot_product_flash_attention_for_cpu", "resize")

# Other names for an operator, which get few calls: the one they stand for has the many.
OTHER_NAMES = ("absolute", "arc", "clip", "concat", "divide", "greater", "less", "multiply", "negative",
               "not_equal", "special_", "subtract", "true_divide", "__", "fix", "_foreach_", "moveaxis",
               "swapdims", "ger", "linalg_matmul", "concatenate")
