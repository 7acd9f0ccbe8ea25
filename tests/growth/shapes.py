"""Programs of the text form that are wide or deep in one way each, and of any size.

SHAPES maps a name to a function of n that gives the text of a program whose size goes up with n in
proportion. growth.py runs the command on them.
"""
import json
import math

SHAPES = {}
LINE = "\n"


def shape(function):
    SHAPES[function.__name__] = function
    return function


def program(inputs, nodes, outputs, head=(), tail=()):
    """The text of a program; each part is a list of lines."""
    lines = ["fnz 1", *head, "program("]
    lines += [",\n".join("  " + i for i in inputs) + ")", "{"]
    lines += ["  " + n for n in nodes]
    lines += ["  return " + ",\n    ".join(outputs), "}"]
    lines += tail
    return LINE.join(lines) + LINE


def body(name, inputs, nodes, outputs):
    """A graph of a region."""
    return [f"graph {name}({', '.join(inputs)})", "{", *nodes, "return " + ", ".join(outputs), "}"]


def at(i):
    return f'  at "model.py:{i}"'


def listed(pattern, n, first=0):
    return "[" + ", ".join(pattern.format(i=i) for i in range(first, n)) + "]"


# --- nodes in a row --------------------------------------------------------------------------------
@shape
def pointwise(n):
    nodes = [f"%v{i + 1}: f32[4] = relu(%v{i})" + at(i) for i in range(n)]
    return program(["%v0: f32[4]"], nodes, [f"%v{n}"])


@shape
def in_place(n):
    return program(["%x: f32[4]"], [f"%v{i}: f32[4] = add_.Scalar(%x, {i})" + at(i) for i in range(n)], ["%x"])


@shape
def same_node(n):
    """n nodes that compute the same."""
    return program(["%x: f32[4]"], [f"%v{i}: f32[4] = relu(%x)" for i in range(n)],
                   [f"%v{i}" for i in range(n)])


@shape
def dead(n):
    return program(["%x: f32[4]"], [f"%v{i}: f32[4] = relu(%x)" for i in range(n)], ["%x"])


@shape
def random(n):
    return program(["%x: f32[4]"], [f"%v{i}: f32[4] = rand_like(%x)" for i in range(n)], ["%x"])


@shape
def batch_norms(n):
    head, inputs, nodes = [], [], []
    for i in range(n):
        head += [f'weight "m{i}": f32[3]', f'weight "v{i}": f32[3]']
        inputs += [f'%m{i}: f32[3] buffer "m{i}" persistent', f'%v{i}: f32[3] buffer "v{i}" persistent']
        nodes += [f"%x{i + 1}: f32[2,3,4] = batch_norm(%x{i}, None, None, %m{i}, %v{i}, True, 0.1, 1e-05, False)"]
    return program(inputs + ["%x0: f32[2,3,4]"], nodes, [f"%x{n}"], head)


@shape
def effects(n):
    nodes = [f'%t{i + 1}: token = higher_order.with_effects(%t{i}, operator("my::log"), %x)' for i in range(n)]
    return program(["%x: f32[4]", "%t0: token"], nodes, ["%x", f"%t{n} token"],
                   ['operator "my::log(Tensor x) -> ()"'])


@shape
def collectives(n):
    nodes = []
    for i in range(n):
        nodes += [f'%a{i}: f32[4] = _c10d_functional::all_reduce_(%y, "sum", "0")',
                  f"%w{i}: f32[4] = _c10d_functional::wait_tensor(%y)"]
    return program(["%x: f32[4]"], ["%y: f32[4] = relu(%x)"] + nodes, ["%y"])


@shape
def asserts(n):
    nodes = [f'_assert_async.msg(%c, "line {i}")' for i in range(n)]
    return program(["%x: f32[4]"], ["%c: bool[] = all(%x)"] + nodes, ["%x"])


# --- views ----------------------------------------------------------------------------------------
@shape
def views_in_a_row(n):
    nodes = [f"%v{i + 1}: f32[{n - i}] offset({i + 1}) = slice.Tensor(%v{i}, 0, 1)" + at(i) for i in range(n)]
    return program([f"%v0: f32[{n + 1}]"], nodes + [f"%w: f32[1] offset({n}) = add_.Scalar(%v{n}, 1)"], ["%v0"])


@shape
def views_read_in_a_row(n):
    nodes = []
    for i in range(n):
        nodes += [f"%v{i + 1}: f32[{n - i}] offset({i + 1}) = slice.Tensor(%v{i}, 0, 1)",
                  f"%r{i}: f32[] = sum(%v{i + 1})"]
    return program([f"%v0: f32[{n + 1}]"], nodes, [f"%r{i}" for i in range(n)])


@shape
def views_written_in_a_row(n):
    nodes = []
    for i in range(n):
        nodes += [f"%v{i + 1}: f32[{n - i}] offset({i + 1}) = slice.Tensor(%v{i}, 0, 1)",
                  f"%w{i}: f32[{n - i}] offset({i + 1}) = add_.Scalar(%v{i + 1}, 1)"]
    return program([f"%v0: f32[{n + 1}]"], nodes, ["%v0"])


@shape
def transposes_in_a_row(n):
    types = ["f32[3,4]", "f32[4,3] stride(1,4)"]
    nodes = [f"%v{i + 1}: {types[(i + 1) % 2]} = t(%v{i})" for i in range(n)]
    return program(["%v0: f32[3,4]"], nodes + [f"%w: {types[n % 2]} = add_.Scalar(%v{n}, 1)"], ["%v0"])


@shape
def dtype_views_in_a_row(n):
    types = ["f32[4]", "i32[4]"]
    nodes = [f"%v{i + 1}: {types[(i + 1) % 2]} = view.dtype(%v{i}, {types[(i + 1) % 2][:3]})" for i in range(n)]
    return program(["%v0: f32[4]"], nodes + [f"%w: {types[n % 2]} = add_.Scalar(%v{n}, 1)"], ["%v0"])


@shape
def t_in_place(n):
    types = ["f32[3,4]", "f32[4,3] stride(1,4)"]
    return program(["%x: f32[3,4]"], ["%y: f32[3,4] = clone(%x)"] +
                   [f"%v{i}: {types[(i + 1) % 2]} = t_(%y)" for i in range(n)], ["%y"])


@shape
def views_of_one(n):
    nodes = []
    for i in range(n):
        nodes += [f"%v{i}: f32[] offset({i}) = select.int(%x, 0, {i})", f"%r{i}: f32[] = relu(%v{i})"]
    return program([f"%x: f32[{n}]"], nodes, [f"%r{i}" for i in range(n)])


@shape
def views_of_a_written_one(n):
    nodes = [f"%v{i}: f32[] offset({i}) = select.int(%x, 0, {i})" for i in range(n)]
    nodes += [f"%w: f32[{n}] = add_.Scalar(%x, 1)"]
    nodes += [f"%r{i}: f32[] = relu(%v{i})" for i in range(n)]
    return program([f"%x: f32[{n}]"], nodes, [f"%r{i}" for i in range(n)])


@shape
def same_view(n):
    nodes = []
    for i in range(n):
        nodes += [f"%v{i}: f32[2] offset(1) = slice.Tensor(%x, 0, 1, 3)",
                  f"%w{i}: f32[2] offset(1) = add_.Scalar(%v{i}, 1)"]
    return program(["%x: f32[4]"], nodes, ["%x"])


@shape
def slice_writes(n):
    nodes = []
    for i in range(n):
        nodes += [f"%v{i}: f32[1] offset({i}) = slice.Tensor(%x, 0, {i}, {i + 1})",
                  f"%w{i}: f32[1] offset({i}) = add_.Scalar(%v{i}, 1)" + at(i)]
    return program([f"%x: f32[{n}]"], nodes, ["%x"])


@shape
def slices_then_writes(n):
    nodes = [f"%v{i}: f32[1] offset({i}) = slice.Tensor(%x, 0, {i}, {i + 1})" for i in range(n)]
    nodes += [f"%w{i}: f32[1] offset({i}) = add_.Scalar(%v{i}, 1)" + at(i) for i in range(n)]
    return program([f"%x: f32[{n}]"], nodes, ["%x"])


@shape
def slice_writes_with_gaps(n):
    nodes = []
    for i in range(n):
        nodes += [f"%v{i}: f32[1] offset({3 * i}) = slice.Tensor(%x, 0, {3 * i}, {3 * i + 1})",
                  f"%w{i}: f32[1] offset({3 * i}) = add_.Scalar(%v{i}, 1)" + at(i)]
    return program([f"%x: f32[{3 * n}]"], nodes, ["%x"])


@shape
def slice_writes_backwards(n):
    nodes = []
    for i in reversed(range(n)):
        nodes += [f"%v{i}: f32[1] offset({2 * i}) = slice.Tensor(%x, 0, {2 * i}, {2 * i + 1})",
                  f"%w{i}: f32[1] offset({2 * i}) = add_.Scalar(%v{i}, 1)"]
    return program([f"%x: f32[{2 * n}]"], nodes, ["%x"])


@shape
def slice_writes_shuffled(n):
    nodes = []
    for k in range(n):
        i = k * 7919 % n
        nodes += [f"%v{k}: f32[1] offset({2 * i}) = slice.Tensor(%x, 0, {2 * i}, {2 * i + 1})",
                  f"%w{k}: f32[1] offset({2 * i}) = add_.Scalar(%v{k}, 1)"]
    return program([f"%x: f32[{2 * n}]"], nodes, ["%x"])


@shape
def overlapping_slice_writes(n):
    nodes = []
    for i in range(n):
        nodes += [f"%v{i}: f32[2] offset({i}) = slice.Tensor(%x, 0, {i}, {i + 2})",
                  f"%w{i}: f32[2] offset({i}) = add_.Scalar(%v{i}, 1)"]
    return program([f"%x: f32[{n + 1}]"], nodes, ["%x"])


@shape
def rows_and_columns(n):
    """Each write overlaps all writes of the other direction, which are few."""
    nodes = []
    for i in range(n):
        k = i // 2 % 4
        if i % 2:
            nodes += [f"%v{i}: f32[4] stride(4) offset({k}) = select.int(%x, 1, {k})",
                      f"%w{i}: f32[4] stride(4) offset({k}) = add_.Scalar(%v{i}, 1)"]
        else:
            nodes += [f"%v{i}: f32[4] offset({4 * k}) = select.int(%x, 0, {k})",
                      f"%w{i}: f32[4] offset({4 * k}) = add_.Scalar(%v{i}, 1)"]
    return program(["%x: f32[4,4]"], nodes, ["%x"])


@shape
def writes_and_reads(n):
    """A write of a piece, then a read of all, and again."""
    nodes = []
    for i in range(n):
        nodes += [f"%v{i}: f32[1] offset({i}) = slice.Tensor(%x, 0, {i}, {i + 1})",
                  f"%w{i}: f32[1] offset({i}) = add_.Scalar(%v{i}, 1)", f"%r{i}: f32[] = sum(%x)"]
    return program([f"%x: f32[{n}]"], nodes, [f"%r{i}" for i in range(n)])


@shape
def copies_between_two_views(n):
    nodes = ["%a: f32[3] = slice.Tensor(%x, 0, 0, 3)", "%b: f32[3] offset(3) = slice.Tensor(%x, 0, 3, 6)"]
    for i in range(n):
        one, two, offset = ("a", "b", "") if i % 2 else ("b", "a", " offset(3)")
        nodes += [f"%v{i}: f32[3]{offset} = copy_(%{one}, %{two})",
                  f"%w{i}: f32[3]{offset} = add_.Scalar(%{one}, 1)"]
    return program(["%x: f32[6]"], nodes, ["%x"])


@shape
def copies_in_a_row(n):
    nodes = [f"%c{i}: f32[4] = copy_(%x{i + 1}, %x{i})" for i in range(n)]
    return program([f"%x{i}: f32[4]" for i in range(n + 1)], nodes, [f"%x{n}"])


@shape
def sets_in_turns(n):
    nodes = [f"%s{i}: f32[4] = set_.source_Tensor(%{'xy'[i % 2]}, %z)" for i in range(n)]
    return program(["%x: f32[4]", "%y: f32[4]", "%z: f32[4]"], nodes, ["%x"])


@shape
def unbind(n):
    pieces = ", ".join(f"%p{i}: f32[2] offset({2 * i})" for i in range(n))
    nodes = [f"[{pieces}] = unbind.int(%x)"]
    nodes += [f"%w{i}: f32[2] offset({2 * i}) = add_.Scalar(%p{i}, 1)" for i in range(n)]
    return program([f"%x: f32[{n},2]"], nodes, ["%x"])


@shape
def split(n):
    pieces = ", ".join(f"%p{i}: f32[2] offset({2 * i})" for i in range(n))
    nodes = [f"[{pieces}] = split.Tensor(%x, 2)"] + [f"%r{i}: f32[2] = relu(%p{i})" for i in range(n)]
    return program([f"%x: f32[{2 * n}]"], nodes, [f"%r{i}" for i in range(n)])


@shape
def split_with_sizes(n):
    pieces = ", ".join(f"%p{i}: f32[1] offset({i})" for i in range(n))
    nodes = [f"[{pieces}] = split_with_sizes(%x, [{', '.join(['1'] * n)}])", "%w: f32[1] = add_.Scalar(%p0, 1)"]
    nodes += [f"%r{i}: f32[1] = relu(%p{i})" for i in range(n)]
    return program([f"%x: f32[{n}]"], nodes, [f"%r{i}" for i in range(n)])


@shape
def columns(n):
    nodes = []
    for i in range(n):
        nodes += [f"%v{i}: f32[2] stride({n}) offset({i}) = select.int(%x, 1, {i})",
                  f"%w{i}: f32[2] stride({n}) offset({i}) = add_.Scalar(%v{i}, 1)"]
    return program([f"%x: f32[2,{n}]"], nodes, ["%x"])


@shape
def reads_between_writes_of_columns(n):
    nodes = []
    for i in range(n):
        nodes += [f"%v{i}: f32[2] stride({n}) offset({i}) = select.int(%x, 1, {i})",
                  f"%w{i}: f32[2] stride({n}) offset({i}) = add_.Scalar(%v{i}, 1)",
                  f"%r{i}: f32[2] = relu(%v{max(i - 3, 0)})"]
    return program([f"%x: f32[2,{n}]"], nodes, [f"%r{i}" for i in range(n)])


@shape
def windows(n):
    nodes = []
    for i in range(n):
        nodes += [f"%v{i}: f32[2,2] stride({i + 1},1) offset({i}) = as_strided(%x, [2, 2], [{i + 1}, 1], {i})",
                  f"%r{i}: f32[] = sum(%v{i})"]
    return program([f"%x: f32[{2 * n + 2}]"], nodes, [f"%r{i}" for i in range(n)])


# --- lists ----------------------------------------------------------------------------------------
@shape
def foreach(n):
    return program([f"%x{i}: f32[4]" for i in range(n)],
                   [f"_foreach_add_.Scalar({listed('%x{i}', n)}, 1)"], ["%x0"])


@shape
def foreach_of_slices(n):
    nodes = [f"%v{i}: f32[1] offset({i}) = slice.Tensor(%x, 0, {i}, {i + 1})" for i in range(n)]
    return program([f"%x: f32[{n}]"], nodes + [f"_foreach_add_.Scalar({listed('%v{i}', n)}, 1)"], ["%x"])


@shape
def foreach_of_columns(n):
    nodes = [f"%v{i}: f32[2] stride({n}) offset({i}) = select.int(%x, 1, {i})" for i in range(n)]
    return program([f"%x: f32[2,{n}]"], nodes + [f"_foreach_add_.Scalar({listed('%v{i}', n)}, 1)"], ["%x"])


@shape
def foreach_out(n):
    return program([f"%x{i}: f32[4]" for i in range(n)] + [f"%y{i}: f32[4]" for i in range(n)],
                   [f"_foreach_add.Scalar_out({listed('%x{i}', n)}, 1, out={listed('%y{i}', n)})"], ["%y0"])


@shape
def split_out(n):
    return program([f"%x: f32[{n}]"] + [f"%y{i}: f32[1]" for i in range(n)],
                   [f"split_copy.Tensor_out(%x, 1, out={listed('%y{i}', n)})"], ["%y0"])


@shape
def foreach_of_one(n):
    return program(["%x: f32[4]"], [f"_foreach_add_.Scalar({listed('%x', n)}, 1)"], ["%x"])


@shape
def foreach_list(n):
    nodes = [f"%v{i}: f32[1] offset({i}) = slice.Tensor(%x, 0, {i}, {i + 1})" for i in range(n)]
    nodes += [f"%u{i}: f32[1] offset({i + 1}) = slice.Tensor(%x, 0, {i + 1}, {i + 2})" for i in range(n)]
    nodes += [f"_foreach_add_.List({listed('%v{i}', n)}, {listed('%u{i}', n)})"]
    return program([f"%x: f32[{n + 1}]"], nodes, ["%x"])


@shape
def foreach_functional(n):
    results = ", ".join(f"%y{i}: f32[4]" for i in range(n))
    return program([f"%x{i}: f32[4]" for i in range(n)],
                   [f"[{results}] = _foreach_add.Scalar({listed('%x{i}', n)}, 1)"], [f"%y{i}" for i in range(n)])


@shape
def cat(n):
    return program([f"%x{i}: f32[4]" for i in range(n)],
                   [f"%y: f32[{4 * n}] = cat({listed('%x{i}', n)})"], ["%y"])


@shape
def cat_of_slices(n):
    nodes = [f"%v{i}: f32[1] offset({i}) = slice.Tensor(%x, 0, {i}, {i + 1})" for i in range(n)]
    return program([f"%x: f32[{n}]"], nodes + [f"%y: f32[{n}] = cat({listed('%v{i}', n)})"], ["%y"])


@shape
def cats(n):
    """n nodes of one list."""
    nodes = [f"%y{i}: f32[8] = cat([%x, %x])" for i in range(n)]
    return program(["%x: f32[4]"], nodes, [f"%y{i}" for i in range(n)])


@shape
def index_puts(n):
    nodes = [f"%w{i}: f32[4,3] = index_put_(%x, [%i, None], %v)" for i in range(n)]
    return program(["%x: f32[4,3]", "%i: i64[2]", "%v: f32[3]"], nodes, ["%x"])


@shape
def integers(n):
    return program(["%x: f32[4]"], [f"%y: f32[4] = my::f(%x, {listed('{i}', n)})"], ["%y"],
                   ['operator "my::f(Tensor x, int[] numbers) -> Tensor"'])


@shape
def written_list(n):
    """A custom operator that writes each tensor of a list."""
    return program([f"%x{i}: f32[4]" for i in range(n)], [f"my::f({listed('%x{i}', n)})"], ["%x0"],
                   ['operator "my::f(Tensor(a!)[] x) -> ()"'])


# --- the boundary ---------------------------------------------------------------------------------
@shape
def inputs(n):
    return program([f"%x{i}: f32[4]" for i in range(n)], [f"%y{i}: f32[4] = relu(%x{i})" for i in range(n)],
                   [f"%y{i}" for i in range(n)])


@shape
def unused_inputs(n):
    return program([f"%x{i}: f32[4]" for i in range(n)], [], ["%x0"])


@shape
def written_inputs(n):
    return program([f"%x{i}: f32[4]" for i in range(n)],
                   [f"%y{i}: f32[4] = add_.Scalar(%x{i}, 1)" + at(i) for i in range(n)], ["%x0"])


@shape
def outputs_that_are_an_input(n):
    return program(["%x: f32[4]"], ["%y: f32[4] = add_.Scalar(%x, 1)"], ["%x"] * n)


@shape
def outputs_that_are_inputs(n):
    return program([f"%x{i}: f32[4]" for i in range(n)], [], [f"%x{i}" for i in range(n)])


@shape
def outputs_in_an_input(n):
    nodes = [f"%v{i}: f32[1] offset({i}) = slice.Tensor(%x, 0, {i}, {i + 1})" for i in range(n)]
    return program([f"%x: f32[{n}]"], nodes + [f"%w: f32[{n}] = add_.Scalar(%x, 1)"],
                   [f"%v{i}" for i in range(n)])


@shape
def outputs_in_an_output(n):
    nodes = [f"%y: f32[{n}] = relu(%x)"]
    nodes += [f"%v{i}: f32[1] offset({i}) = slice.Tensor(%y, 0, {i}, {i + 1})" for i in range(n)]
    return program([f"%x: f32[{n}]"], nodes, ["%y"] + [f"%v{i}" for i in range(n)])


@shape
def numbers_as_outputs(n):
    return program(["%x: f32[4]"], [], ["%x"] + [str(i) for i in range(n)])


@shape
def inputs_that_share(n):
    nodes = [f"%w{i}: f32[1] offset({i}) = add_.Scalar(%x{i}, 1)" for i in range(n)]
    return program([f"%x: f32[{n}]"] + [f"%x{i}: f32[1] offset({i}) shares %x" for i in range(n)], nodes, ["%x"])


@shape
def weights(n):
    return program([f'%w{i}: f32[4] parameter "block.{i}.weight"' for i in range(n)] + ["%x0: f32[4]"],
                   [f"%x{i + 1}: f32[4] = add.Tensor(%x{i}, %w{i})" for i in range(n)], [f"%x{n}"],
                   [f'weight "block.{i}.weight": f32[4]' for i in range(n)])


@shape
def written_buffers(n):
    return program([f'%w{i}: f32[4] buffer "block.{i}.weight" persistent' for i in range(n)],
                   [f"%x{i}: f32[4] = add_.Scalar(%w{i}, 1)" for i in range(n)], ["%w0"],
                   [f'weight "block.{i}.weight": f32[4]' for i in range(n)])


# --- decode loops, unrolled ------------------------------------------------------------------------
STEPS = 4  # for each of n: of 2,000 steps a look at all before them is not yet most of the work


def decoded(rows, nodes, n, more=()):
    """Steps over a cache of so many rows; each gives %r of its own."""
    return program([f'%k: f32[{rows},8] buffer "k" persistent', "%x: f32[1,8]", *more], nodes,
                   [f"%r{i}" for i in range(n)], [f'weight "k": f32[{rows},8]'])


def row_write(i, row, of="x"):
    return [f"%s{i}: f32[1,8] offset({8 * row}) = slice.Tensor(%k, 0, {row}, {row + 1})",
            f"%w{i}: f32[1,8] offset({8 * row}) = copy_(%s{i}, %{of})"]


@shape
def decode_steps(n):
    """A row of a short cache is written, which is read as a whole: its rows are written again and again."""
    nodes = [line for i in range(STEPS * n) for line in [*row_write(i, i % 64), f"%r{i}: f32[] = sum(%k)"]]
    return decoded(64, nodes, STEPS * n)


@shape
def decode_steps_of_their_own(n):
    """Each step has a row, and a view of the one token that all of them write."""
    nodes = []
    for i in range(STEPS * n):
        nodes += [f"%v{i}: f32[8] = view(%x, [8])", f"%u{i}: f32[1,8] = unsqueeze(%v{i}, 0)", *row_write(i, i, f"u{i}"),
                  f"%r{i}: f32[] = sum(%k)"]
    return decoded(STEPS * n, nodes, STEPS * n)


@shape
def decode_steps_that_compute(n):
    """A step writes the row that the one before it has computed from the cache."""
    nodes = ["%t0: f32[1,8] = relu(%x)"]
    for i in range(n):
        row = i % 64
        nodes += [*row_write(i, row, f"t{i}"), f"%p{i}: f32[{row + 1},8] = slice.Tensor(%k, 0, 0, {row + 1})",
                  f"%m{i}: f32[1,8] = sum.dim_IntList(%p{i}, [0], True)", f"%t{i + 1}: f32[1,8] = tanh(%m{i})",
                  f"%r{i}: f32[] = sum(%t{i + 1})"]
    return decoded(64, nodes, n)


@shape
def decode_steps_by_index(n):
    nodes = []
    for i in range(n):
        nodes += [f"%p{i}: i64[1] = add.Tensor(%at, {i % 64})", f"%w{i}: f32[64,8] = index_copy_(%k, 0, %p{i}, %x)",
                  f"%r{i}: f32[] = sum(%k)"]
    return decoded(64, nodes, n, ["%at: i64[1]"])


@shape
def operators(n):
    return program(["%x: f32[4]"], [f"my::f{i}(%x)" for i in range(n)], ["%x"],
                   [f'operator "my::f{i}(Tensor(a!) x) -> ()"' for i in range(n)])


@shape
def operator_calls(n):
    return program(["%x: f32[4]"], ["my::f(%x)"] * n, ["%x"], ['operator "my::f(Tensor(a!) x) -> ()"'])


@shape
def parameters_of_an_operator(n):
    parameters = ", ".join(f"int p{i}=0" for i in range(n))
    return program(["%x: f32[4]"], [f"%y: f32[4] = my::f(%x, {', '.join(str(i) for i in range(n))})"], ["%y"],
                   [f'operator "my::f(Tensor x, {parameters}) -> Tensor"'])


# --- texts ----------------------------------------------------------------------------------------
@shape
def long_name(n):
    name = '%"' + "a" * n + '"'
    return program([f"{name}: f32[4]"], [f"%y: f32[4] = relu({name})"], ["%y", name])


@shape
def long_names_alike(n):
    """Names that differ at their ends; their lengths grow as their number does."""
    k = max(int(n ** 0.5), 1)
    return program(["%x: f32[4]"], [f"%{'a' * k}{i}: f32[4] = relu(%x)" for i in range(k)],
                   [f"%{'a' * k}{i}" for i in range(k)])


@shape
def long_string(n):
    return program(["%x: f32[4]"], [f'%y: f32[4] = my::f(%x, "{"a" * n}")'], ["%y"],
                   ['operator "my::f(Tensor x, str s) -> Tensor"'])


@shape
def clashing_names(n):
    """Nodes that all want the same name in the result."""
    nodes = [f"%relu_{i}: f32[4] = add_.Scalar(%x, 1)" for i in range(n)]
    return program(["%x: f32[4]"], nodes, ["%x"])


@shape
def long_sources(n):
    k = max(int(n ** 0.5), 1)
    return program(["%x: f32[4]"],
                   [f'%y{i}: f32[4] = relu(%x)  at "{"".join(f"a/b.py:{j} " for j in range(k))}{i}"'
                    for i in range(k)], [f"%y{i}" for i in range(k)])


@shape
def deep_module_stack(n):
    stack = ";".join(f"m{i},block.{i},Layer{i}" for i in range(n))
    return program(["%x: f32[4]"],
                   [f"%y: f32[4] = relu(%x)  at \"m.py:1\"  meta '{{\"nn_module_stack\": \"{stack}\"}}'"], ["%y"])


@shape
def module_stacks(n):
    nodes = [f"%y{i}: f32[4] = add_.Scalar(%x, 1)  meta '{{\"nn_module_stack\": \"m,block.{i // 4},Layer;k,b.{i},L\"}}'"
             for i in range(n)]
    return program(["%x: f32[4]"], nodes, ["%x"])


# --- regions --------------------------------------------------------------------------------------
@shape
def conds(n):
    """n regions, each with its bodies."""
    nodes, tail = [], []
    for i in range(n):
        nodes += [f"%y{i}: f32[4] = higher_order.cond(%p, @t{i}, @f{i}, [%x])"]
        tail += body(f"t{i}", ["%a: f32[4]"], ["%w: f32[4] = add_.Scalar(%a, 1)", "%r: f32[4] = relu(%w)"], ["%r"])
        tail += body(f"f{i}", ["%a: f32[4]"], ["%r: f32[4] = exp(%a)"], ["%r"])
    return program(["%x: f32[4]", "%p: bool[]"], nodes, ["%x"], (), tail)


@shape
def conds_of_one_body(n):
    nodes = [f"%y{i}: f32[4] = higher_order.cond(%p, @t, @f, [%x])" for i in range(n)]
    tail = body("t", ["%a: f32[4]"], ["%r: f32[4] = add_.Scalar(%a, 1)", "%s: f32[4] = relu(%r)"], ["%s"])
    tail += body("f", ["%a: f32[4]"], ["%r: f32[4] = exp(%a)"], ["%r"])
    return program(["%x: f32[4]", "%p: bool[]"], nodes, ["%x"] + [f"%y{i}" for i in range(n)], (), tail)


@shape
def nested_conds(n):
    """Regions nested 32 deep, which is half of the limit, n altogether."""
    args, nodes, tail = ["%a: f32[4]", "%p: bool[]"], [], []
    for i in range(n):
        inner = ["%r: f32[4] = add_.Scalar(%a, 1)", "%s: f32[4] = relu(%r)"]
        if i % 32 != 31 and i + 1 < n:
            inner = [f"%s: f32[4] = higher_order.cond(%p, @t{i + 1}, @e, [%a, %p])"]
        if i % 32 == 0:
            nodes.append(f"%y{i}: f32[4] = higher_order.cond(%p, @t{i}, @e, [%x, %p])")
        tail += body(f"t{i}", args, inner, ["%s"])
    tail += body("e", args, ["%r: f32[4] = exp(%a)"], ["%r"])
    return program(["%x: f32[4]", "%p: bool[]"], nodes, ["%x"], (), tail)


def wide_cond(n, written):
    args = [f"%a{i}: f32[4]" for i in range(n)]
    op = "add_" if written else "add"
    yes = [f"%r{i}: f32[4] = {op}.Scalar(%a{i}, 1)" for i in range(n)]
    no = [f"%r{i}: f32[4] = exp(%a{i})" for i in range(n)]
    results = [f"%r{i}" for i in range(n)]
    if written:
        yes, no, results = yes + ["%s: f32[4] = relu(%a0)"], ["%s: f32[4] = exp(%a0)"], ["%s"]
    tail = body("t", args, yes, results) + body("f", args, no, results)
    out = ", ".join(f"%y{i}: f32[4]" for i in range(len(results)))
    nodes = [f"{out} = higher_order.cond(%p, @t, @f, {listed('%x{i}', n)})"]
    return program([f"%x{i}: f32[4]" for i in range(n)] + ["%p: bool[]"], nodes,
                   [f"%y{i}" for i in range(len(results))], (), tail)


@shape
def wide_region(n):
    return wide_cond(n, False)


@shape
def wide_region_that_writes(n):
    return wide_cond(n, True)


@shape
def region_that_writes_slices(n):
    """A branch whose operands are written and lie in one memory, each in a piece of its own."""
    args = [f"%a{i}: f32[1]" for i in range(n)]
    yes = [f"%r{i}: f32[1] = add_.Scalar(%a{i}, 1)" for i in range(n)] + ["%s: f32[1] = relu(%a0)"]
    tail = body("t", args, yes, ["%s"]) + body("f", args, ["%s: f32[1] = exp(%a0)"], ["%s"])
    nodes = [f"%v{i}: f32[1] offset({i}) = slice.Tensor(%x, 0, {i}, {i + 1})" for i in range(n)]
    nodes += [f"%y: f32[1] = higher_order.cond(%p, @t, @f, {listed('%v{i}', n)})"]
    return program([f"%x: f32[{n}]", "%p: bool[]"], nodes, ["%y", "%x"], (), tail)


@shape
def long_body(n):
    nodes = [f"%v{i}: f32[4] = add_.Scalar(%a, 1)" for i in range(n)] + ["%r: f32[4] = relu(%a)"]
    tail = body("t", ["%a: f32[4]"], nodes, ["%r"]) + body("f", ["%a: f32[4]"], ["%r: f32[4] = exp(%a)"], ["%r"])
    return program(["%x: f32[4]", "%p: bool[]"], ["%y: f32[4] = higher_order.cond(%p, @t, @f, [%x])"],
                   ["%y"], (), tail)


@shape
def wide_loop(n):
    args = ["%i: i64[]"] + [f"%a{i}: f32[4]" for i in range(n)]
    nodes = ["%j: i64[] = add.Tensor(%i, 1)"] + [f"%r{i}: f32[4] = add.Scalar(%a{i}, 1)" for i in range(n)]
    tail = body("test", args, ["%l: bool[] = lt.Scalar(%i, 3)"], ["%l"])
    tail[2 + 1] = "return single %l"
    tail += body("turn", args, nodes, ["%j"] + [f"%r{i}" for i in range(n)])
    out = ", ".join(f"%y{i}: f32[4]" for i in range(n))
    return program([f"%x{i}: f32[4]" for i in range(n)],
                   ["%k: i64[] = full([], 0, dtype=i64)",
                    f"%m: i64[], {out} = higher_order.while_loop(@test, @turn, [%k, "
                    + ", ".join(f"%x{i}" for i in range(n)) + "], [])"],
                   [f"%y{i}" for i in range(n)], (), tail)


# --- symbolic sizes -------------------------------------------------------------------------------
@shape
def symbols(n):
    return program([f"%x{i}: f32[{{s{i}}}]" for i in range(n)],
                   [f"%y{i}: f32[{{s{i}}}] = add_.Scalar(%x{i}, 1)" for i in range(n)], ["%x0"],
                   [f"symbol s{i} = {4 + i}" for i in range(n)])


@shape
def unused_symbols(n):
    return program(["%x: f32[4]"], ["%y: f32[4] = relu(%x)"], ["%y"], [f"symbol s{i} = {4 + i}" for i in range(n)])


@shape
def nodes_of_one_symbol(n):
    nodes = [f"%v{i}: f32[{{s0}}] = add_.Scalar(%x, {i})" for i in range(n)]
    return program(["%x: f32[{s0}]"], nodes, ["%x"], ["symbol s0 = 8"])


@shape
def cached_layers(n):
    """Attention over caches of a symbolic length and the rows appended to them."""
    layers = max(n // 50, 2)
    sizes, row = "[1,2,{s0},8]", "[1,2,{s0 + s1},8]"
    nodes, last = [], "x"
    for i in range(layers):
        nodes += [f"%k{i}: f32{row} = cat([%c{i}, %{last}], 2)",
                  f"%a{i}: f32{sizes} = scaled_dot_product_attention(%{last}, %k{i}, %k{i})"]
        last = f"a{i}"
    return program([f"%x: f32{sizes}"] + [f"%c{i}: f32[1,2,{{s1}},8]" for i in range(layers)], nodes, [f"%{last}"],
                   ["symbol s0 = 3", "symbol s1 = 5"])


@shape
def guards(n):
    return program(["%x: f32[{s0}]"], ["%y: f32[{s0}] = relu(%x)"], ["%y"],
                   ["symbol s0 = 8"] + [f'guard "s0 < {i + 100}"' for i in range(n)])


@shape
def sum_of_symbols(n):
    """A size that is the sum of k symbols, of k tensors: with one of n symbols, most would be over the
    limit of an expression."""
    k = max(int(n ** 0.5), 2)
    names = [f"s{i:03}" for i in range(k)]
    total = " + ".join(names)
    nodes = [f"%y{i}: f32[{{{total}}}] = {'relu' if i else 'cat'}({f'%y{i - 1}' if i else listed('%x{i}', k)})"
             for i in range(k)]
    return program([f"%x{i}: f32[{{{name}}}]" for i, name in enumerate(names)], nodes, [f"%y{k - 1}"],
                   [f"symbol {name} = 2" for name in names])


@shape
def sums_of_symbols(n):
    """Sums of some symbols each, all of them different."""
    names = [f"s{i:05}" for i in range(n + 3)]
    nodes = [f"%y{i}: f32[{{{' + '.join(names[i:i + 3])}}}] = cat([%x{i}, %x{i + 1}, %x{i + 2}])" for i in range(n)]
    return program([f"%x{i}: f32[{{{name}}}]" for i, name in enumerate(names)], nodes,
                   [f"%y{i}" for i in range(n)], [f"symbol {name} = 2" for name in names])


# --- what torch.export.save writes ----------------------------------------------------------------
def tensor(name):
    return {"as_tensor": {"name": name}}


def meta(*sizes, strides=None, offset=0):
    strides = strides or [math.prod(sizes[d + 1:]) for d in range(len(sizes))]
    return {"dtype": 7, "sizes": [{"as_int": s} for s in sizes], "requires_grad": False,
            "device": {"type": "cpu", "index": None}, "strides": [{"as_int": s} for s in strides],
            "storage_offset": {"as_int": offset}, "layout": 7}


def exported_node(target, args, out):
    """A node whose arguments are given by name; "" is the name of arguments without one."""
    return {"target": target, "inputs": [{"name": n, "arg": a, "kind": 1} for n, a in args],
            "outputs": [tensor(out) if out else {"as_none": True}], "metadata": {},
            "is_hop_single_tensor_return": None, "name": out or target.split(".")[-1]}


def exported(inputs, nodes, outputs, values, guards=()):
    """The model.json of a .pt2 file; each of `values` is what meta() gives, `guards` are Python."""
    graph = {"inputs": [tensor(i) for i in inputs], "outputs": [tensor(o) for o in outputs], "nodes": nodes,
             "tensor_values": values, "sym_int_values": {}, "sym_bool_values": {}, "is_single_tensor_return": False,
             "custom_obj_values": {}, "sym_float_values": {}}
    signature = {"input_specs": [{"user_input": {"arg": tensor(i)}} for i in inputs],
                 "output_specs": [{"user_output": {"arg": tensor(o)}} for o in outputs]}
    module = {"graph": graph, "signature": signature, "module_call_graph": [], "metadata": {},
              "treespec_namedtuple_fields": {}}
    return json.dumps({"graph_module": module, "opset_version": {"aten": 10}, "range_constraints": {},
                       "schema_version": {"major": 8, "minor": 20}, "verifiers": ["TRAINING"],
                       "torch_version": "2.15.0", "guards_code": list(guards)})


@shape
def exported_guards(n):
    """Guards of torch.export on a size, n times."""
    size = {"as_expr": {"expr_str": "Symbol('s0', positive=True, integer=True)", "hint": {"as_int": 8}}}
    values = {name: dict(meta(8), sizes=[size]) for name in ("x", "y")}
    nodes = [exported_node("torch.ops.aten.relu.default", [("self", tensor("x"))], "y")]
    return exported(["x"], nodes, ["y"], values, [f"L['x'].size()[0] < {i + 100}" for i in range(n)])


@shape
def exported_writes(n):
    """Slices of a clone that are written in place, as torch.export.save has them."""
    nodes, values = [exported_node("torch.ops.aten.clone.default", [("self", tensor("x"))], "c")], {}
    values["x"] = values["c"] = meta(n)
    for i in range(n):
        ends = [("dim", {"as_int": 0}), ("start", {"as_int": i}), ("end", {"as_int": i + 1})]
        nodes += [exported_node("torch.ops.aten.slice.Tensor", [("self", tensor("c")), *ends], f"v{i}"),
                  exported_node("torch.ops.aten.add_.Tensor", [("self", tensor(f"v{i}")), ("other", tensor(f"v{i}"))],
                                f"w{i}")]
        values[f"v{i}"] = values[f"w{i}"] = meta(1, offset=i)
    return exported(["x"], nodes, ["c"], values)


PREDISPATCH = "torch._functorch.predispatch."


def number(i):
    return "", {"as_int": i}


def mapped(inputs, nodes, values, levels=1):
    """The nodes in so many torch.vmap, one in the other; inputs and `values` of `nodes` are without their
    dimensions. The last node's result goes out."""
    before, after, names = [], [], {}
    for k in range(1, levels + 1):
        before.append(exported_node(PREDISPATCH + "_vmap_increment_nesting",
                                    [number(2), ("", {"as_string": "error"})], None))
        for i in inputs:
            out = f"{i}_in{k}"
            before.append(exported_node(PREDISPATCH + "_add_batch_dim",
                                        [("", tensor(names.get(i, i))), number(0), number(k)], out))
            values[out] = meta(*[2] * (levels - k), 4)
            names[i] = out
    last = nodes[-1]["outputs"][0]["as_tensor"]["name"]
    for k in range(levels, 0, -1):
        out = f"{last}_out{k}"
        after += [exported_node(PREDISPATCH + "_remove_batch_dim",
                                [("", tensor(f"{last}_out{k + 1}" if k < levels else last)), number(k), number(2),
                                 number(0)], out),
                  exported_node(PREDISPATCH + "_vmap_decrement_nesting", [], None)]
        values[out] = meta(*[2] * (levels - k + 1), 4)
    for i in inputs:
        values[i] = meta(*[2] * levels, 4)
    lazy = exported_node(PREDISPATCH + "lazy_load_decompositions", [], None)
    return exported(inputs, [lazy] + before + nodes + after, [f"{last}_out1"], values)


@shape
def long_vmap(n):
    """A region of torch.vmap with n nodes."""
    relu = "torch.ops.aten.relu.default"
    nodes = [exported_node(relu, [("self", tensor(f"v{i - 1}" if i else "x_in1"))], f"v{i}") for i in range(n)]
    return mapped(["x"], nodes, {f"v{i}": meta(4) for i in range(n)})


@shape
def wide_vmap(n):
    """A region of torch.vmap over n tensors."""
    add = "torch.ops.aten.add.Tensor"
    nodes = [exported_node(add, [("self", tensor(f"v{i - 1}" if i else "x0_in1")), ("other", tensor(f"x{i}_in1"))],
                           f"v{i}") for i in range(n)]
    return mapped([f"x{i}" for i in range(n)], nodes, {f"v{i}": meta(4) for i in range(n)})
