"""The cost of a call of torch.compile(model, backend="fnz") beside that of an executable of the exported model and of eager
PyTorch, of a backend that computes nothing, alone and each time after the executable, whose data has taken its place in the
caches, and of torch.compile without PyTorch's guards. On one thread, in processor time of that thread; and how far results are
from eager PyTorch's. Needs torch, torchvision and transformers.

    FNZ_LIBRARY=build/libfnz.so.0.1 PYTHONPATH=python OMP_NUM_THREADS=1 python bench/torch_compile.py [NAME ...]
"""

import copy
import sys
import time
import warnings

import torch
import torchvision
import transformers
from torch._dynamo.backends.common import aot_autograd
from torch.utils import _pytree as pytree

import fnz
from fnz.pytorch import dynamo

TURNS, SECONDS = 4, 0.4  # of each call, in turns
SIZES = dict(hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128, vocab_size=100)
IMAGES = ("resnet18", "mobilenet_v3_small", "squeezenet1_1", "shufflenet_v2_x0_5", "efficientnet_b0", "densenet121", "vgg11",
          "convnext_tiny")
made = []
Compiled = dynamo._Compiled


class Watched(Compiled):
    """Keeps the arguments of its last call."""

    def __init__(self, *given):
        super().__init__(*given)
        made.append(self)

    def __call__(self, args):
        self.last = list(args)
        return super().__call__(args)


def models():
    """Name, module, arguments, named arguments."""
    t = transformers
    for name in IMAGES:
        yield name, getattr(torchvision.models, name)(), (torch.randn(1, 3, 96, 96),), {}
    words = (torch.randint(0, 100, (1, 16)),)
    yield "bert", t.BertModel(t.BertConfig(**SIZES)), words, {}
    named = {"use_cache": False}
    yield "gpt2", t.GPT2LMHeadModel(t.GPT2Config(n_embd=64, n_layer=2, n_head=4, vocab_size=100)), words, named
    for kind, sizes in ((t.LlamaForCausalLM, t.LlamaConfig), (t.Qwen2ForCausalLM, t.Qwen2Config)):
        yield kind.__name__, kind(sizes(**SIZES, num_key_value_heads=2)), words, named


def empty(module, inputs, **_):
    """A backend whose calls give the results of the first one, so that PyTorch's guards and wrappers alone take time."""
    def keep(graph, _examples):
        kept = []

        def call(args):
            if not kept:
                kept.append(graph(*args))
            args.clear()
            return kept[0]
        call._boxed_call = True
        return call
    return aot_autograd(fw_compiler=keep, inference_compiler=keep, keep_inference_input_mutations=True)(module, inputs)


def milliseconds(calls, before=None):
    """The least time of each, without that of `before`, which is called first."""
    best = [float("inf")] * len(calls)
    for _ in range(TURNS):
        for k, call in enumerate(calls):
            end = time.perf_counter() + SECONDS
            while time.perf_counter() < end:
                if before:
                    before()
                start = time.thread_time()
                call()
                best[k] = min(best[k], time.thread_time() - start)
    return [1e3 * one for one in best]


def measure(name, module, args, named):
    torch._dynamo.reset()
    made.clear()
    compiled = torch.compile(module, backend=dynamo.backend, options={"threads": 1})
    wanted = [one for one in pytree.tree_leaves(module(*args, **named)) if isinstance(one, torch.Tensor)]
    for _ in range(3):
        got = [one for one in pytree.tree_leaves(compiled(*args, **named)) if isinstance(one, torch.Tensor)]
    far = max((a - b).abs().max().item() for a, b in zip(got, wanted))
    executable = fnz.load(torch.export.export(module, args, named)).compile(threads=1)
    (graph,) = made
    last = graph.last
    hollow = torch.compile(copy.deepcopy(module), backend=empty)
    hollow(*args, **named)
    eager, whole, around, inner, own = milliseconds([
        lambda: module(*args, **named), lambda: compiled(*args, **named), lambda: hollow(*args, **named),
        lambda: Compiled.__call__(graph, list(last)), lambda: executable(*args, **named)])
    cold, = milliseconds([lambda: hollow(*args, **named)], lambda: executable(*args, **named))
    with torch.compiler.set_stance(skip_guard_eval_unsafe=True):
        compiled(*args, **named)
        bare, = milliseconds([lambda: compiled(*args, **named)])
    print(f"| {name} | {eager:.2f} | {own:.3f} | {inner:.3f} | {inner / own:.2f} | {around:.3f} | {cold:.3f} | {whole:.3f} | "
          f"{bare:.3f} | {far:.1e} |", flush=True)


def main():
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    dynamo._Compiled = Watched
    print("| model | eager, ms | executable | backend | backend / executable | empty backend | empty, after the executable | "
          "torch.compile | without guards | furthest |\n|---|---|---|---|---|---|---|---|---|---|")
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)  # a graph that eager PyTorch runs is no measurement
        for name, module, args, named in models():
            if not sys.argv[1:] or name in sys.argv[1:]:
                measure(name, module.eval(), args, named)


if __name__ == "__main__":
    main()
