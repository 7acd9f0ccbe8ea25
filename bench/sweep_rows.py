"""Arguments of bench/sweep.py at the sizes that models have, in the form of scripts/variant_rows.py: for operators whose
arguments do not follow from those small ones by more elements alone."""

import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "scripts"))
from variant_rows import CONTIGUOUS, DEFAULT, Dtype, I, M, T  # noqa: E402

X, ROW = T(1000, 1000), T(1000)
LINE = T(1000000)
IMAGE = T(1, 64, 125, 125)
SMALL = T(1, 64, 64, 64)
AT = I(1000, 1000, n=1000)
SQUARE = T(128, 128)

WIDE, HALF = T(1, 64, 250, 250), T(1, 64, 63, 63)
SAME = [[3, 3], [2, 2], [1, 1]]
BITS, EDGES = [True, True, True], I(20000, 50, n=20000, layout="columns")
VOLUME = T(1, 8, 50, 50, 50)

ROWS = {
    # reductions and scans
    **{name: [[X, [1]], [X, [0]], [LINE], [IMAGE, [2, 3]]] for name in ("amax", "amin")},
    **{name: [[LINE]] for name in ("max", "min", "prod", "argmax", "argmin", "median", "nanmedian", "any", "all", "std",
                                   "var", "norm.Scalar", "linalg_vector_norm", "count_nonzero", "nansum", "aminmax",
                                   "mean", "sum", "trace")},
    "trace": [[X]],
    **{name: [[X, [1]], [X, [0]], [IMAGE, [2, 3]]]
       for name in ("sum.dim_IntList", "mean.dim", "var.dim", "std.dim", "logsumexp", "nansum", "count_nonzero.dim_IntList")},
    **{name: [[X, 1], [X, 0]]
       for name in ("max.dim", "min.dim", "prod.dim_int", "cumsum", "cumprod", "cummax", "cummin", "logcumsumexp", "argmax",
                    "argmin", "softmax.int", "log_softmax.int", "any.dim", "all.dim", "median.dim", "sort", "argsort",
                    "mode", "unsqueeze_copy", "unbind_copy.int")},
    "linalg_vector_norm": [[LINE], [X, 2, [1]], [X, 1, [0]]],
    "norm.ScalarOpt_dim": [[X, 2, [1]]],
    "topk": [[X, 10], [X, 100, 1], [LINE, 50]],
    "kthvalue": [[X, 500]],
    # indices
    "gather": [[X, 1, AT], [X, 0, AT], [T(20000, 50), 0, EDGES]],
    "index_select": [[X, 1, I(1000, n=1000)], [X, 0, I(1000, n=1000)]],
    "index_add": [[X, 1, I(1000, n=1000), X], [X, 0, I(1000, n=1000), X]],
    "index_copy": [[X, 1, I(1000, n=1000), X], [X, 0, I(1000, n=1000), X]],
    "index_fill.int_Scalar": [[X, 1, I(500, n=1000), 7], [X, 0, I(500, n=1000), 7]],
    "index_put": [[X, [I(500, n=1000)], T(500, 1000)], [X, [I(100000, n=1000), I(100000, n=1000)], T(100000), True]],
    "index.Tensor": [[X, [I(1000, n=1000)]], [X, [None, I(1000, n=1000)]],
                     [X, [I(100000, n=1000), I(100000, n=1000)]], [X, [M(1000, 1000)]]],
    "scatter.src": [[X, 1, AT, X], [X, 0, AT, X]],
    "scatter.value": [[X, 1, AT, 7], [X, 0, AT, 7]],
    "scatter.reduce": [[X, 1, AT, X, "add"]],
    "scatter_add": [[X, 1, AT, X], [X, 0, AT, X], [T(20000, 50), 0, EDGES, T(20000, 50)]],
    "scatter_reduce.two": [[X, 1, AT, X, op] for op in ("sum", "amax", "mean")] + [
        [T(20000, 50), 0, EDGES, T(20000, 50), op] for op in ("sum", "amax", "mean")],
    "take": [[X, I(1000, 1000, n=1000000)]],
    "take_along_dim": [[X, AT, 1]],
    "put": [[X, I(1000, n=1000000), ROW]],
    "embedding": [[T(50000, 64), I(16, 1000, n=50000)]],
    "embedding_bag": [[T(50000, 64), I(16000, n=50000), T(1000, dt="i64", kind="every16"), False, mode] for mode in (0, 1)],
    "one_hot": [[I(10000, n=100), 100]],
    "masked_select": [[X, M(1000, 1000)]],
    "masked_fill.Scalar": [[X, M(1000, 1000), 7], [X, M(1000), 7]],
    "masked_scatter": [[X, M(1000, 1000), X]],
    "nonzero": [[X], [M(1000, 1000)]],
    "where.self": [[M(1000, 1000), X, X], [M(1000, 1), X, ROW]],
    "repeat_interleave.self_int": [[T(1000, 500), 2], [T(1000, 500), 2, 1], [T(500, 1000), 2, 0]],
    "searchsorted.Tensor": [[T(1000, kind="positive"), X]],
    "bucketize.Tensor": [[X, T(100)]],
    "bincount": [[I(1000000, n=1000)]],
    "_unique2": [[I(1000000, n=1000)]],
    "unique_consecutive": [[I(1000000, n=2)]],
    "histc": [[LINE]],
    "isin.Tensor_Tensor": [[LINE, T(10)]],
    # images and windows
    **{f"upsample_{kind}2d": [[SMALL, [128, 128], *more]] for kind, more in
       (("nearest", ()), ("bilinear", (False,)), ("bicubic", (False,)))},
    "_upsample_nearest_exact2d": [[SMALL, [128, 128]]],
    "upsample_nearest2d.vec": [[SMALL, None, [2.0, 2.0]]],
    "upsample_bilinear2d.vec": [[SMALL, None, False, [2.0, 2.0]], [T(1, 3, 480, 640), [224, 224], False, None]],
    "upsample_nearest1d": [[T(1, 64, 8000), [16000]]],
    "upsample_linear1d": [[T(1, 64, 8000), [16000], False]],
    "upsample_nearest3d": [[T(1, 8, 25, 25, 25), [50, 50, 50]]],
    "upsample_trilinear3d": [[T(1, 8, 25, 25, 25), [50, 50, 50], False]],
    "_upsample_bilinear2d_aa": [[T(1, 3, 480, 640), [224, 224], False]],
    "adaptive_avg_pool2d": [[IMAGE, [1, 1]], [IMAGE, [7, 7]]],
    "_adaptive_avg_pool2d": [[IMAGE, [7, 7]]],
    "adaptive_avg_pool1d": [[T(1, 64, 16000), [10]]],
    "adaptive_max_pool2d": [[IMAGE, [7, 7]]],
    "avg_pool2d": [[IMAGE, [3, 3], [2, 2], [1, 1]], [IMAGE, [2, 2]]],
    "avg_pool1d": [[T(1, 64, 16000), [3], [2], [1]]],
    "max_pool2d": [[IMAGE, [3, 3], [2, 2], [1, 1]], [IMAGE, [2, 2]]],
    "max_pool2d_with_indices": [[IMAGE, [3, 3], [2, 2], [1, 1]]],
    "max_pool1d": [[T(1, 64, 16000), [3], [2], [1]]],
    "max_pool3d": [[T(1, 8, 50, 50, 50), [2]]],
    "avg_pool3d": [[T(1, 8, 50, 50, 50), [2]]],
    "reflection_pad2d": [[IMAGE, [2, 2, 2, 2]]], "replication_pad2d": [[IMAGE, [2, 2, 2, 2]]],
    "reflection_pad1d": [[T(64, 16000), [2, 2]]], "replication_pad1d": [[T(64, 16000), [2, 2]]],
    "constant_pad_nd": [[IMAGE, [2, 2, 2, 2]], [X, [1, 0]]],
    "pad": [[IMAGE, [2, 2, 2, 2]], [IMAGE, [2, 2, 2, 2], "reflect"], [IMAGE, [2, 2, 2, 2], "circular"]],
    "im2col": [[T(1, 16, 80, 80), [3, 3], [1, 1], [1, 1], [1, 1]]],
    "col2im": [[T(1, 144, 6400), [80, 80], [3, 3], [1, 1], [1, 1], [1, 1]]],
    "pixel_shuffle": [[T(1, 64, 124, 124), 2]], "pixel_unshuffle": [[T(1, 64, 124, 124), 2]],
    "channel_shuffle": [[IMAGE, 4]],
    "grid_sampler_2d": [[SMALL, T(1, 64, 64, 2), 0, 0, False]],
    "affine_grid_generator": [[T(1, 2, 3), [1, 3, 500, 500], False]],
    **{f"upsample_{kind}2d_backward": [[T(1, 64, 128, 128), [128, 128], [1, 64, 64, 64], *more]] for kind, more in
       (("nearest", ()), ("bilinear", (False,)), ("bicubic", (False,)))},
    "_upsample_nearest_exact2d_backward": [[T(1, 64, 128, 128), [128, 128], [1, 64, 64, 64]]],
    "_upsample_nearest_exact2d.vec": [[SMALL, None, [2.0, 2.0]]],
    "upsample_nearest1d_backward": [[T(1, 64, 16000), [16000], [1, 64, 8000]]],
    "upsample_linear1d_backward": [[T(1, 64, 16000), [16000], [1, 64, 8000], False]],
    "upsample_nearest3d_backward": [[VOLUME, [50, 50, 50], [1, 8, 25, 25, 25]]],
    "upsample_trilinear3d_backward": [[VOLUME, [50, 50, 50], [1, 8, 25, 25, 25], False]],
    "_upsample_bilinear2d_aa_backward": [[T(1, 3, 224, 224), [224, 224], [1, 3, 480, 640], False]],
    "_upsample_bicubic2d_aa": [[T(1, 3, 480, 640), [224, 224], False]],
    "_upsample_bicubic2d_aa_backward": [[T(1, 3, 224, 224), [224, 224], [1, 3, 480, 640], False]],
    "_adaptive_avg_pool2d_backward": [[T(1, 64, 7, 7), IMAGE], [T(1, 64, 1, 1), IMAGE]],
    "_adaptive_avg_pool3d_backward": [[T(1, 8, 7, 7, 7), VOLUME]],
    "adaptive_max_pool3d": [[VOLUME, [7, 7, 7]]],
    "adaptive_max_pool2d_backward": [[T(1, 64, 7, 7), IMAGE, I(1, 64, 7, 7, n=15625)]],
    "avg_pool2d_backward": [[HALF, IMAGE, *SAME, False, True, None],
                            [T(1, 64, 62, 62), IMAGE, [2, 2], [2, 2], [0, 0], False, True, None]],
    "avg_pool3d_backward": [[T(1, 8, 25, 25, 25), VOLUME, [2] * 3, [2] * 3, [0] * 3, False, True, None]],
    "max_pool2d_with_indices_backward": [[HALF, IMAGE, *SAME, [1, 1], False, I(1, 64, 63, 63, n=15625)]],
    "max_pool3d_with_indices_backward": [[T(1, 8, 25, 25, 25), VOLUME, [2] * 3, [2] * 3, [0] * 3, [1] * 3, False,
                                          I(1, 8, 25, 25, 25, n=125000)]],
    "max_unpool2d": [[HALF, I(1, 64, 63, 63, n=15625), [125, 125]]],
    "_pad_circular": [[IMAGE, [2, 2, 2, 2]]], "_pad_enum": [[IMAGE, [2, 2, 2, 2], 1]],
    **{f"{kind}_pad2d_backward": [[T(1, 64, 129, 129), IMAGE, [2, 2, 2, 2]]] for kind in ("reflection", "replication")},
    **{f"{kind}_pad1d_backward": [[T(1, 64, 16004), T(1, 64, 16000), [2, 2]]] for kind in ("reflection", "replication")},
    **{f"{kind}_pad3d_backward": [[T(1, 8, 54, 54, 54), VOLUME, [2] * 6]] for kind in ("reflection", "replication")},
    "grid_sampler": [[SMALL, T(1, 64, 64, 2, kind="unit"), 0, 0, False]],
    "grid_sampler_2d_backward": [[SMALL, SMALL, T(1, 64, 64, 2, kind="unit"), 0, 0, False, [True, True]]],
    "grid_sampler_3d": [[VOLUME, T(1, 25, 25, 25, 3, kind="unit"), 0, 0, False]],
    "affine_grid_generator_backward": [[T(1, 500, 500, 2), [1, 3, 500, 500], False]],
    # gradients of moves
    "embedding_dense_backward": [[T(16, 1000, 64), I(16, 1000, n=50000), 50000, -1, False],
                                 [T(16, 1000, 64), I(16, 1000, n=1000), 1000, -1, False]],
    "_embedding_bag": [[T(50000, 64), I(16000, n=50000), T(1000, dt="i64", kind="every16"), False, mode] for mode in (0, 1)],
    "_embedding_bag_forward_only": [[T(50000, 64), I(16000, n=50000), T(1000, dt="i64", kind="every16")]],
    "select_backward": [[ROW, [1000, 1000], 1, 1], [ROW, [1000, 1000], 0, 1]],
    "slice_backward": [[T(1000, 500), [1000, 1000], 1, 0, 1000, 2], [T(500, 1000), [1000, 1000], 0, 0, 500, 1]],
    "diagonal_backward": [[ROW, [1000, 1000], 0, 0, 1]], "trace_backward": [[T(), [1000, 1000]]],
    "unfold_backward": [[T(250000, 4), [1000000], 0, 4, 4], [T(1000, 499, 4), [1000, 1000], 1, 4, 2]],
    "index_select_backward": [[X, [1000, 1000], 0, I(1000, n=1000)], [X, [1000, 1000], 1, I(1000, n=1000)]],
    "value_selecting_reduction_backward": [[ROW, 1, I(1000, n=1000), [1000, 1000], False]],
    "masked_scatter_backward": [[X, M(1000, 1000), [1000, 1000]]], "cummaxmin_backward": [[X, X, AT, 1]],
    "index_reduce": [[X, 0, I(1000, n=1000), X, op] for op in ("amax", "mean", "prod")],
    "_unsafe_masked_index": [[X, M(1000), [I(1000, n=1000)], 0]],
    "repeat_interleave.self_Tensor": [[X, T(1000, dt="i64", kind="index3"), 0]],
    "repeat_interleave.Tensor": [[T(100000, dt="i64", kind="index10")]],
    "pad_sequence": [[[T(100, 64), T(50, 64), T(75, 64)] * 20, True]],
    "view_copy": [[X, [1000000]]], "view_as_complex_copy": [[T(1000, 500, 2)]],
    "_reshape_alias_copy": [[X, [1000000], [1]]], "hstack": [[[X, X]]], "dstack": [[[X, X]]],
    # convolutions and products
    "conv2d": [[T(1, 32, 28, 28), T(32, 32, 3, 3), None, [1, 1], [1, 1]], [T(1, 64, 56, 56), T(64, 64, 1, 1)],
               [T(1, 96, 56, 56), T(96, 1, 3, 3), None, [1, 1], [1, 1], [1, 1], 96]],
    "conv1d": [[T(1, 64, 1000), T(64, 64, 3)], [T(1, 256, 1000), T(256, 1, 31), None, [1], [15], [1], 256]],
    "conv3d": [[T(1, 8, 16, 16, 16), T(8, 8, 3, 3, 3)]],
    "conv_transpose2d.input": [[T(1, 64, 32, 32), T(64, 32, 2, 2), None, [2, 2]]],
    "conv_transpose1d": [[T(1, 64, 1000), T(64, 32, 4), None, [2]]],
    **{name: [[*arguments, *more] for arguments in (
        [T(1, 32, 28, 28), T(32, 32, 3, 3), None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1],
        [T(1, 96, 56, 56), T(96, 1, 3, 3), None, [1, 1], [1, 1], [1, 1], False, [0, 0], 96])]
       for name, more in (("_convolution", [False, False, True, True]), ("_convolution.deprecated", [False, False, True]))},
    "convolution_backward": [
        [T(1, 32, 28, 28), T(1, 32, 28, 28), T(32, 32, 3, 3), [32], [1, 1], [1, 1], [1, 1], False, [0, 0], 1, BITS],
        [T(1, 64, 56, 56), T(1, 64, 56, 56), T(64, 64, 1, 1), [64], [1, 1], [0, 0], [1, 1], False, [0, 0], 1, BITS],
        [T(1, 96, 56, 56), T(1, 96, 56, 56), T(96, 1, 3, 3), [96], [1, 1], [1, 1], [1, 1], False, [0, 0], 96, BITS],
        [T(1, 64, 998), T(1, 64, 1000), T(64, 64, 3), [64], [1], [0], [1], False, [0], 1, BITS]],
    "_scaled_dot_product_flash_attention_for_cpu_backward": [
        [*[T(1, 8, 128, 64)] * 5, T(1, 8, 128), 0.0, causal] for causal in (False, True)],
    "bilinear": [[T(128, 64), T(128, 64), T(32, 64, 64), T(32)]], "chain_matmul": [[[T(128, 128)] * 3]],
    "conv_tbc": [[T(100, 8, 64), T(3, 64, 64), T(64)]],
    "_pdist_backward": [[T(124750), T(500, 64), 2.0, T(124750, kind="positive")]],
    "_weight_int8pack_mm": [[T(64, 512, dt="bf16"), T(512, 512, dt="i8"), T(512, dt="bf16")]],
    "_int_mm": [[T(256, 256, dt="i8"), T(256, 256, dt="i8")], [T(16, 1024, dt="u8"), T(1024, 256, dt="i8")]],
    "mm": [[T(256, 256), T(256, 256)]], "bmm": [[T(8, 128, 64), T(8, 64, 128)]],
    "addmm": [[T(256), T(128, 256), T(256, 256)]], "linear": [[T(128, 256), T(256, 256), T(256)]],
    "mv": [[X, ROW]], "dot": [[LINE, LINE]], "vdot": [[LINE, LINE]], "outer": [[ROW, ROW]], "addr": [[X, ROW, ROW]],
    "kron": [[T(50, 50), T(20, 20)]], "cross": [[T(300000, 3), T(300000, 3)]], "linalg_cross": [[T(300000, 3), T(300000, 3)]],
    "matmul": [[T(256, 256), T(256, 256)], [T(8, 128, 64), T(64, 64)]], "addmv": [[ROW, X, ROW]],
    "baddbmm": [[T(8, 128, 128), T(8, 128, 64), T(8, 64, 128)]],
    "cdist": [[T(1000, 64), T(1000, 64)], [T(500, 64), T(500, 64), 1.0]],
    "_cdist_forward": [[T(500, 64), T(500, 64), 2.0, None]], "_pdist_forward": [[T(500, 64), 2.0]],
    "scaled_dot_product_attention": [[T(1, 8, 128, 64)] * 3],
    # normalisations and losses
    "layer_norm": [[X, [1000], ROW, ROW], [T(20000, 50), [50], T(50), T(50)]],
    "native_layer_norm": [[X, [1000], ROW, ROW, 1e-5]], "rms_norm": [[X, [1000], ROW]],
    "group_norm": [[IMAGE, 8, T(64), T(64)]],
    "batch_norm": [[IMAGE, T(64), T(64), T(64), T(64, kind="positive"), training, 0.1, 1e-5, False]
                   for training in (False, True)],
    "instance_norm": [[IMAGE, T(64), T(64), None, None, True, 0.1, 1e-5, False]],
    "_native_batch_norm_legit_no_training": [[image, *[T(n)] * 3, T(n, kind="positive"), 0.1, 1e-5]
                                             for image, n in ((IMAGE, 64), (T(100, 100, 100), 100), (T(10000, 100), 100))],
    "renorm": [[X, 2, 0, 1.5]],
    "cross_entropy_loss": [[X, I(1000, n=1000)], [T(100000, 10), I(100000, n=10)]],
    "nll_loss_nd": [[X, I(1000, n=1000)]], "nll_loss_forward": [[X, I(1000, n=1000), None, 1, -100]],
    "nll_loss2d": [[T(4, 19, 100, 100), I(4, 100, 100, n=19)]],
    "glu": [[T(1000, 2000)], [T(2000, 1000), 0]],
    **{name: [[X, X, dim, Dtype("f32")] for dim in (1, 0)]
       for name in ("_softmax_backward_data", "_log_softmax_backward_data")},
    "native_layer_norm_backward": [[X, X, [1000], T(1000, 1), T(1000, 1), ROW, ROW, BITS]],
    "native_group_norm": [[IMAGE, T(64), T(64), 1, 64, 15625, 8, 1e-5]],
    "native_group_norm_backward": [[IMAGE, IMAGE, T(1, 8), T(1, 8), T(64), 1, 64, 15625, 8, BITS]],
    "native_batch_norm_backward": [[image, image, T(n), T(n), T(n, kind="positive"), T(n), T(n), training, 1e-5, BITS]
                                   for image, n in ((IMAGE, 64), (T(16, 1000, 64), 1000)) for training in (True, False)],
    "_weight_norm_interface": [[X, T(1000, 1)], [X, T(1, 1000), 1]], "_weight_norm": [[X, T(1000, 1)], [X, T(1, 1000), 1]],
    "_weight_norm_interface_backward": [[X, X, T(1000, 1), T(1000, 1), 0], [X, X, T(1, 1000), T(1, 1000), 1]],
    "nll_loss_backward": [[T(), X, I(1000, n=1000), None, 1, -100, T()]],
    "nll_loss2d_forward": [[T(4, 19, 100, 100), I(4, 100, 100, n=19), None, 1, -100]],
    "nll_loss2d_backward": [[T(), T(4, 19, 100, 100), I(4, 100, 100, n=19), None, 1, -100, T()]],
    "binary_cross_entropy": [[T(1000, 1000, kind="prob"), T(1000, 1000, kind="prob")]],
    "binary_cross_entropy_backward": [[T(), T(1000, 1000, kind="prob"), T(1000, 1000, kind="prob")]],
    **{name: [[T(), X, X, 1]] for name in ("mse_loss_backward", "soft_margin_loss_backward")},
    "smooth_l1_loss_backward": [[T(), X, X, 1, 1.0]], "huber_loss_backward": [[T(), X, X, 1, 1.0]],
    "cosine_embedding_loss": [[X, X, T(1000, kind="positive")]],
    "multi_margin_loss": [[X, I(1000, n=1000)]],
    "multi_margin_loss_backward": [[T(), X, I(1000, n=1000), 1, 1, None, 1]],
    "multilabel_margin_loss": [[T(1000, 100), I(1000, 100, n=100)]],
    "_ctc_loss": [[T(100, 16, 50), I(16, 20, n=49), [100] * 16, [20] * 16]],
    "ctc_loss.IntList": [[T(100, 16, 50), I(16, 20, n=49), [100] * 16, [20] * 16]],
    "glu_backward": [[T(1000, 1000), T(1000, 2000), 1], [T(1000, 1000), T(2000, 1000), 0]],
    "prelu": [[X, ROW], [X, T(1)]], "native_channel_shuffle": [[IMAGE, 4]],
    "_masked_softmax": [[X, M(1000, 1000), 1]], "_masked_softmax_backward": [[X, X, M(1000, 1000), 1]],
    "_is_all_true": [[M(1000, 1000)]], "_is_any_true": [[M(1000, 1000)]],
    "quantile.scalar": [[T(1000, 100), 0.5, 1], [T(100000), 0.5]], "nanquantile.scalar": [[T(1000, 100), 0.5, 1]],
    "sum_to_size": [[X, [1, 1000]], [X, [1000, 1]], [T(64, 100, 100), [100, 1]]],
    # recurrent cells
    "gru_cell": [[T(64, 256), T(64, 256), T(768, 256), T(768, 256), T(768), T(768)]],
    "lstm_cell": [[T(64, 256), [T(64, 256), T(64, 256)], T(1024, 256), T(1024, 256), T(1024), T(1024)]],
    "lstm.input": [[T(32, 64, 128), [T(1, 64, 128), T(1, 64, 128)], [T(512, 128), T(512, 128), T(512), T(512)],
                    True, 1, 0.0, False, False, False]],
    "gru.input": [[T(32, 64, 128), T(1, 64, 128), [T(384, 128), T(384, 128), T(384), T(384)],
                   True, 1, 0.0, False, False, False]],
    # moves
    "clone": [[X], [T(1000, 1000, layout="transposed"), CONTIGUOUS], [T(2000, 2000, layout="transposed"), CONTIGUOUS]],
    "flip": [[X, [0]], [X, [1]], [X, [0, 1]]], "roll": [[X, [100], [1]], [X, [100]]], "rot90": [[X]],
    "cat": [[[X, X], 0], [[X, X], 1], [[T(1000, 10)] * 50, 1]], "stack": [[[X, X], 0], [[X, X], 2]],
    "repeat": [[T(500, 1000), [2, 1]], [T(1000, 10), [1, 100]]], "tile": [[T(1000, 10), [1, 100]]],
    "tril": [[X]], "triu": [[X]], "diag_embed": [[ROW]], "diagonal_copy": [[X]],
    "permute_copy": [[T(100, 100, 100), [2, 0, 1]]], "transpose_copy.int": [[X, 0, 1]], "t_copy": [[X]],
    "expand_copy": [[ROW, [1000, 1000]]], "slice_copy.Tensor": [[X, 1, 0, 1000, 2]], "select_copy.int": [[X, 1, 1]],
    "unfold_copy": [[LINE, 0, 4, 1]], "as_strided_copy": [[X, [1000, 1000], [1, 1000]]],
    "split_copy.Tensor": [[X, 10, 1]], "split_with_sizes_copy": [[X, [300, 700], 1]],
    "_to_copy": [[T(1000, 1000, dt=one), Dtype(other)] for one, other in
                 (("f32", "bf16"), ("f32", "f16"), ("f32", "f64"), ("bf16", "f32"), ("f16", "f32"), ("f32", "i64"),
                  ("i64", "f32"), ("u8", "f32"), ("f32", "u8"), ("bool", "f32"), ("i32", "i64"), ("i64", "i32"))],
    "view_copy.dtype": [[X, Dtype("i32")]], "select_scatter": [[X, ROW, 1, 1]], "slice_scatter": [[X, T(1000, 500), 1, 0, 500]],
    # made from numbers, drawn
    "zeros": [[[1000, 1000]]], "ones": [[[1000, 1000]]], "full": [[[1000, 1000], 1.5]], "eye": [[1000]],
    "arange": [[1000000]], "linspace": [[0, 1, 1000000]], "logspace": [[0, 1, 1000000]],
    "randn": [[[1000, 1000]]], "rand": [[[1000, 1000]]], "randint": [[100, [1000, 1000]]], "randperm": [[100000]],
    "bernoulli.p": [[X, 0.5]], "native_dropout": [[X, 0.5, True]], "dropout": [[X, 0.5, True]],
    "multinomial": [[T(1000, 100, kind="positive"), 1]],
    # spectra and factors
    **{name: [[T(100, 10000)]] for name in ("fft_rfft", "fft_fft", "fft_ifft")},
    "stft": [[T(4, 64000), 400, 160, 400, None, False, True, True]],
    "_fft_r2c": [[T(100, 10000), [1], 0, True]],
    "fft_fft2": [[T(4, 256, 256)]],
    **{name: [[SQUARE]] for name in ("linalg_eigh", "linalg_inv_ex", "linalg_qr", "linalg_svd", "linalg_det", "linalg_lu",
                                     "linalg_slogdet", "linalg_pinv", "linalg_matrix_exp", "linalg_eigvalsh")},
    "linalg_solve": [[SQUARE, SQUARE]], "linalg_solve_ex": [[SQUARE, SQUARE]],
    "linalg_cholesky_ex": [], "cholesky": [],  # of positive matrices only
}

# In every element type that both have, and on strided tensors: operators that work on each element alone are found by
# their schemas, these are the others.
TYPED = set("""amax amin max min prod sum.dim_IntList mean.dim argmax cumsum gather index_select scatter_add scatter.src
masked_select where.self cat clone flip repeat_interleave.self_int topk sort conv2d mm upsample_nearest2d
upsample_bilinear2d adaptive_avg_pool2d max_pool2d reflection_pad2d im2col glu cross_entropy_loss cdist layer_norm
softmax.int linalg_vector_norm nonzero index.Tensor masked_fill.Scalar""".split())
