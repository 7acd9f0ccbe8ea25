#!/usr/bin/env python3
"""Writes fixtures/torch: programs on which fnz and PyTorch were not of one mind, mostly found by
scripts/against_torch.py, with their inputs and what eager PyTorch makes of them. If there is no expected.safetensors,
eager refuses the last line. For developers: needs torch 2.15."""
import shutil

import torch

import against_torch
import libfnz
import torch_draws

FOLDER = libfnz.ROOT / "fixtures/torch"


def halves(*values):
    return torch.tensor(values, dtype=torch.bfloat16)


def numbers_take_the_dtype():
    inputs = {"x0": halves(-0.1, 0.3, 1.7, 0.0, -2.5, 1e-38), "x1": torch.tensor([5, 3, 0, 255], dtype=torch.uint8),
              "x2": torch.tensor([True, False, True]), "x3": torch.tensor([0.1, 1.001, 3.5], dtype=torch.float16), "x4": torch.tensor(-300),
              "x5": torch.tensor([1, 5, 2], dtype=torch.int8), "x6": torch.tensor([0, 2]), "x7": torch.tensor([True, True])}
    return inputs, ["torch.add(x0, -0.1)", "torch.sub(x0, 0.3)", "torch.rsub(x0, 1.7)", "torch.eq(x0, 1.7)", "torch.mul(x0, 0.3)",
                    "torch.div(x0, 0.3)", "torch.ne(x0, 1e-42)", "torch.add(x0, -0.1, alpha=2)", "torch.remainder(x1, -3)", "torch.fmod(x1, -3)",
                    "torch.floor_divide(x1, -300)", "torch.ge(x1, -300)", "torch.add(x2, x2, alpha=-1)", "torch.fmod(x3, 0.1)",
                    "torch.maximum(x1, x4)", "torch.gcd(x5, x4)", "torch.clamp_min(x1, -300)", "torch.clamp_min(x1, x4)",
                    "x2.index_add_(0, x6, x7, alpha=-1)", "x0.sub_(-0.1)"]


def filled_with_itself():
    inputs = {"x0": torch.tensor(2.5), "x1": torch.tensor(True), "x2": torch.tensor(3), "x3": torch.tensor([0])}
    return inputs, ["x0.masked_fill_(x1, x0)", "x2.index_fill_(0, x3, x2)", "x0.fill_(x0)"]


def out_overlaps_itself():
    inputs = {"x0": torch.tensor([1, -3, 4, 0]), "x1": torch.tensor([-6, 5, 0.5, -2]), "x2": torch.tensor([7, -3, 2, 5], dtype=torch.int8)}
    return inputs, ["x0.unfold(0, 2, 1)", "torch.abs(v1, out=v1)", "x1.unfold(0, 2, 1)", "torch.neg(v2, out=v2)", "torch.floor(v2, out=v2)",
                    "x2.unfold(0, 3, 1)", "torch.floor_divide(v3, v3, out=v3)"]


def masked_scatter_of_itself():
    square, mask = torch.arange(4.0).reshape(2, 2), torch.tensor([[True, False], [False, True]])
    inputs = {"x0": square.clone(), "x1": mask, "x2": torch.tensor(3), "x3": torch.tensor(True), "x4": torch.tensor([False, True, True]),
              "x5": torch.tensor([True, False, True])}
    return inputs, ["x0.t()", "v1.masked_scatter_(x1, v1)", "x2.masked_scatter_(x3, x2)", "x4.masked_scatter_(x4, x5)"]


def numbers_just_fit():
    inputs = {"x0": torch.zeros(2, dtype=torch.uint8), "x1": torch.zeros(2, dtype=torch.float16), "x2": torch.zeros(2, dtype=torch.bool)}
    return inputs, ["torch.full_like(x0, 255.0)", "torch.full_like(x0, -255)", "torch.full_like(x1, 65504.0)", "torch.full_like(x1, float('-inf'))",
                    "torch.full_like(x2, 1e39)", "torch.full((2,), 2**63 - 1, dtype=torch.int64)", "torch.full((2,), -2**63, dtype=torch.int64)"]


def numbers_are_cut_off():
    """A float takes part below the next integer above all of the type; no double is the largest of i64."""
    inputs = {"x0": torch.arange(3, dtype=torch.uint8), "x1": torch.arange(3, dtype=torch.int8), "x2": torch.arange(3)}
    return inputs, ["torch.full_like(x0, 255.9)", "torch.addcmul(x1, x1, x1, value=127.5)", "torch.clamp_min(x2, 2**63 - 1)",
                    "torch.nn.functional.hardtanh(x0, -0.9, -0.5)", "torch.scalar_tensor(70000, dtype=torch.float16)", "x1.fill_(127.5)"]


def bounds_round_to_halves():
    inputs = {"x0": torch.tensor([-0.0, 0.0, -1.5], dtype=torch.float16), "x1": torch.tensor([0.1, -0.1, 3.0], dtype=torch.bfloat16)}
    return inputs, ["torch.clamp(x0, 1e-42)", "torch.clamp_max(x0, -1e-42)", "torch.clamp(x1, -0.1, 0.1)",
                    "torch.nn.functional.hardtanh(x1, -0.1, 0.1)", "torch.nn.functional.hardshrink(x1, 0.1)"]


def lists_of_no_dimension():
    return {"x0": torch.tensor([[1, 0], [0, 0]])}, ["torch.any(x0, [])", "torch.all(x0, [], keepdim=True)", "torch.amax(x0, [])"]


def values_of_the_result():
    inputs = {"x0": torch.tensor([[-0.1, 2.5]], dtype=torch.float16), "x1": torch.tensor([0, 3, 250], dtype=torch.uint8),
              "x2": torch.tensor([1.5]), "x3": torch.tensor([4, 5]), "x4": torch.tensor([0.1, 2.003, 7.7])}
    return inputs, ["torch.prod(x0, dtype=torch.bool)", "torch.sum(x0, 0, dtype=torch.bool)", "torch.prod(x4, dtype=torch.bfloat16)", "torch.bucketize(-3, x1)", "torch.nn.utils.rnn.pad_sequence([x2, x3, x2], padding_value=0.5)"]


def gather_into_its_index():
    return {"x0": torch.tensor([5, 6, 7]), "x1": torch.tensor([2, 0, 1, 1])}, ["torch.gather(x0, 0, x1, out=x1)"]


def copies_of_lazy_bits():
    """Copies of parts of memory, so that a copy has another layout than its source."""
    inputs = {"x0": torch.tensor([[1 + 2j, 3 - 1j, 0.5j], [2, -1j, 4 + 4j]]), "x1": torch.tensor([1 - 1j, 2 + 3j])}
    return inputs, ["x0[:, ::2].conj()", "torch.resolve_conj(v1)", "x1.conj().imag", "torch.resolve_neg(v3)", "x1.mul_(2)", "torch.resolve_neg(v3)"]


def rms_norm_of_small_halves():
    """The default number that is added to the mean of squares is f32's."""
    inputs = {"x0": torch.full((2, 4), 2.0 ** -10, dtype=torch.float16), "x1": torch.full((2, 4), 2.0 ** -12, dtype=torch.bfloat16)}
    return inputs, ["torch.rms_norm(x0, (4,))", "torch.rms_norm(x1, (4,))"]


ROW, PLACES, FEW = torch.arange(4.0), torch.tensor([0, 1]), torch.tensor([0, 1], dtype=torch.int32)
ONE, FIRST = torch.tensor(2.0), torch.tensor(0)

PROGRAMS = [numbers_take_the_dtype, filled_with_itself, out_overlaps_itself, masked_scatter_of_itself, gather_into_its_index, numbers_just_fit, numbers_are_cut_off, bounds_round_to_halves,
            lists_of_no_dimension, values_of_the_result, copies_of_lazy_bits, rms_norm_of_small_halves]
# name, inputs, lines, the line that eager refuses
REFUSED = [
    ("index_copy_by_i32", [ROW, FEW, ROW[:2]], [], "x0.index_copy_(0, x1, x2)"),
    ("index_fill_by_i32", [ROW, FEW], [], "x0.index_fill_(0, x1, 1)"),
    ("index_add_by_i16", [ROW, FEW.short(), ROW[:2]], [], "x0.index_add_(0, x1, x2)"),
    ("index_select_of_0d", [ONE, PLACES], [], "v1 = x0.index_select(0, x1)"),
    ("scatter_add_of_itself", [ONE, FIRST], [], "x0.scatter_add_(0, x1, x0)"),
    ("index_put_of_itself", [ONE.reshape(1), FIRST.reshape(1)], [], "x0.index_put_((x1,), x0)"),
    ("copy_by_other_strides", [ROW], ["x0.as_strided((1, 1), (2, 2), 0)"], "v1.copy_(x0[:1])"),
    ("full_like_beyond_u8", [ROW.byte()], [], "v1 = torch.full_like(x0, 1e39)"),
    ("full_like_negative_u8", [ROW.byte()], [], "v1 = torch.full_like(x0, -3.0)"),
    ("full_like_wraps_u8_too_far", [ROW.byte()], [], "v1 = torch.full_like(x0, -256)"),
    ("full_beyond_i16", [ROW], [], "v1 = torch.full((2,), 32768, dtype=torch.int16)"),
    ("fill_beyond_f16", [ROW.half()], [], "x0.fill_(65519.0)"),
    ("scatter_beyond_bf16", [ROW.bfloat16(), PLACES], [], "x0.scatter_(0, x1, 1e39)"),
    ("masked_fill_beyond_f32", [ROW, ROW > 1], [], "x0.masked_fill_(x1, -1e39)"),
    ("index_fill_beyond_c64", [ROW.cfloat(), PLACES], [], "x0.index_fill_(0, x1, 1e39)"),
    ("pad_beyond_i8", [ROW.char()], [], "v1 = torch.constant_pad_nd(x0, (1, 1), 128)"),
    ("alpha_beyond_i8", [ROW.char()], [], "x0.add_(x0, alpha=300)"),
    ("index_add_beyond_i8", [ROW.char(), PLACES, ROW[:PLACES.numel()].char()], [], "x0.index_add_(0, x1, x2, alpha=128)"),
    ("alpha_beyond_the_opposite", [ROW.char()], [], "x0.sub_(x0, alpha=-128)"),
    ("alpha_beyond_f16", [ROW.half()], [], "x0.add_(1, alpha=70000)"),
    ("value_beyond_f32", [ROW.half()], [], "x0.addcmul_(x0, x0, value=1e39)"),
    ("bound_above_i8", [ROW.char()], [], "x0.clamp_(300)"),
    ("bound_below_u8", [ROW.byte()], [], "x0.clamp_max_(-1)"),
    ("bound_beyond_bf16", [ROW.bfloat16()], [], "x0.clamp_(1e39)"),
    ("power_beyond_i8", [ROW.char()], [], "x0.pow_(300)"),
    ("choice_beyond_u8", [ROW.byte(), ROW > 1], [], "v1 = torch.where(x1, x0, 300)"),
    ("threshold_beyond_u8", [ROW.byte()], [], "torch.threshold_(x0, 1, -300)"),
    ("take_into_f32", [ROW.bfloat16(), PLACES, ROW[:2]], [], "torch.take(x0, x1, out=x2)"),
    ("sub_of_more_dimensions", [ROW], ["x0.unsqueeze(0)"], "v1.sub_(x0)"),
]


def program(inputs, lines, bad=None):
    """Results of lines that are no statements are v1, v2 ... and go out."""
    made = torch_draws.Program(0, 0)
    made.inputs, made.bad = inputs, bad
    for line in lines:
        is_value = torch_draws.assigned(line) is None and not line.split("(")[0].endswith("_") and "] " not in line and "out=" not in line
        if is_value:
            made.outputs.append(f"v{len(made.outputs) + 1}")
        made.lines.append(f"{made.outputs[-1]} = {line}" if is_value else line)
    made.outputs = made.outputs or list(inputs)[:1]
    if bad:
        made.error = refusal(made)
    return made


def refusal(made):
    env = made.copied_inputs()
    made.run(env)
    try:
        exec(made.bad, env)
    except Exception as error:
        return str(error).split("\n")[0]
    raise SystemExit(f"eager does not refuse {made.bad}")


def main():
    against_torch.make_export_quick()
    shutil.rmtree(FOLDER, ignore_errors=True)
    for make in PROGRAMS:
        against_torch.write_case(FOLDER / make.__name__, program(*make()))
    for name, inputs, lines, bad in REFUSED:
        named = {f"x{k}": tensor.clone() for k, tensor in enumerate(inputs)}
        against_torch.write_case(FOLDER / name, program(named, lines, bad))


if __name__ == "__main__":
    main()
