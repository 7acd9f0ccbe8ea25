#!/usr/bin/env python3
"""Models of real size, with random weights: fnz's engine beside eager PyTorch, Inductor and ONNX Runtime.

    bench/models/models.py --fnz build/fnz FOLDER [--threads 1,2] [--clock cpu] [--with inductor,ort] [--out PAGE.md] [NAME ...]

Needs torch, torchvision and transformers, and what --with names (ort: onnxruntime and onnxscript); fnz needs none of it. Writes
FOLDER/NAME/program.pt2 and inputs.safetensors; files that exist are kept. Large models and quantized ones (they need torchao)
run only by name, and so do `others`, ten models that were first measured after changes for the rest. Inductor freezes weights
with TORCHINDUCTOR_FREEZING=1 only, and finds quantized layers only then. All ways take turns in one process for each number of
threads, three rounds; of each the least time counts, as in bench/engine/engine.py. With --clock cpu that is processor time, of one
thread: for a machine that does other work too. Prints a Markdown page. Values are not compared here: tests and
scripts/check_with_torch.py do that.
"""
import argparse
import datetime
import json
import math
import os
import pathlib
import platform
import resource
import subprocess
import sys
import time
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "engine"))
import torch  # noqa: E402
from torch import nn  # noqa: E402

import engine  # noqa: E402
import programs  # noqa: E402
from programs import PROGRAMS, program  # noqa: E402

warnings.filterwarnings("ignore")
PROGRAMS.clear()  # of the engine's own benchmarks


# --- Images ---------------------------------------------------------------------------------------
def image(name):
    import torchvision
    return getattr(torchvision.models, name)(weights=None).eval(), {"x": torch.randn(1, 3, 224, 224)}


for _name in ("resnet50", "mobilenet_v3_large", "efficientnet_b0", "convnext_tiny", "vit_b_16"):
    program(_name)(lambda name=_name: image(name))


class UNet(nn.Module):
    """Three levels down and up again: pools, transposed convolutions, joins of channels."""

    def __init__(self, widths=(32, 64, 128, 256)):
        super().__init__()

        def twice(ins, outs):
            return nn.Sequential(*(layer for i in (ins, outs) for layer in
                                   (nn.Conv2d(i, outs, 3, padding=1, bias=False), nn.BatchNorm2d(outs), nn.ReLU())))
        self.down = nn.ModuleList(twice(i, o) for i, o in zip((3, *widths), widths))
        self.rise = nn.ModuleList(nn.ConvTranspose2d(i, o, 2, 2) for i, o in zip(widths[:0:-1], widths[-2::-1]))
        self.up = nn.ModuleList(twice(2 * o, o) for o in widths[-2::-1])
        self.last = nn.Conv2d(widths[0], 2, 1)

    def forward(self, x):
        kept = []
        for k, level in enumerate(self.down):
            x = level(nn.functional.max_pool2d(x, 2) if k else x)
            kept.append(x)
        for rise, level, beside in zip(self.rise, self.up, kept[-2::-1]):
            x = level(torch.cat([rise(x), beside], 1))
        return self.last(x)


@program("unet_128")
def _():
    return UNet().eval(), {"x": torch.randn(1, 3, 128, 128)}


# --- Text and sound, by transformers --------------------------------------------------------------
class Whole(nn.Module):
    """The first result of a model, which is called with named tensors."""

    def __init__(self, model, **fixed):
        super().__init__()
        self.model, self.fixed = model.eval(), fixed

    def forward(self, **inputs):
        return self.model(**inputs, **self.fixed)[0]


class Ids(Whole):
    def forward(self, input_ids):
        return self.model(input_ids=input_ids, **self.fixed)[0]


class Pair(Whole):
    def forward(self, input_ids, decoder_input_ids):
        return self.model(input_ids=input_ids, decoder_input_ids=decoder_input_ids, **self.fixed)[0]


class Sound(Whole):
    def forward(self, input_features):
        return self.model(input_features, **self.fixed)[0]


def words(*shape):
    return torch.randint(1000, shape)


@program("bert_base_128")
def _():
    from transformers import BertConfig, BertModel
    return Ids(BertModel(BertConfig()), return_dict=False).eval(), {"input_ids": words(1, 128)}


@program("gpt2_prefill_64")
def _():
    from transformers import GPT2Config, GPT2LMHeadModel
    return Ids(GPT2LMHeadModel(GPT2Config()), return_dict=False, use_cache=False).eval(), {"input_ids": words(1, 64)}


@program("whisper_tiny_encoder")
def _():
    from transformers import WhisperConfig
    from transformers.models.whisper.modeling_whisper import WhisperEncoder
    config = WhisperConfig(d_model=384, encoder_layers=4, encoder_attention_heads=6, encoder_ffn_dim=1536)
    return Sound(WhisperEncoder(config), return_dict=False).eval(), {"input_features": torch.randn(1, 80, 3000)}


@program("t5_small_128_32")
def _():
    from transformers import T5Config, T5ForConditionalGeneration
    config = T5Config(d_model=512, d_ff=2048, num_layers=6, num_heads=8)
    return (Pair(T5ForConditionalGeneration(config), return_dict=False, use_cache=False).eval(),
            {"input_ids": words(1, 128), "decoder_input_ids": words(1, 32)})


# --- A decoder of 130 million weights with a static cache: a step, in three types -------------------
def decoder(dtype):
    model = programs.Llama(512, dim=1024, heads=16, hidden=2816, layers=8, words=32000)
    return model.to(dtype).eval(), {"ids": words(1, 1), "pos": torch.tensor([200])}


for _type in ("float32", "bfloat16", "float16"):
    program(f"decoder_step_{_type}")(lambda dtype=_type: decoder(getattr(torch, dtype)))


# --- Decoders of 0.5 and 1.2 billion weights, only by name; bytes: of eight bits, scaled behind the product ----
LARGE = {"decoder_500m": dict(dim=1024, heads=16, hidden=4096, layers=24, words=32000),
         "decoder_1200m": dict(dim=2048, heads=32, hidden=5632, layers=20, words=32000)}


class Bytes(nn.Module):
    """A linear layer whose weights are converted when it is called."""

    def __init__(self, rows, columns):
        super().__init__()
        self.register_buffer("weight", torch.randint(-127, 128, (rows, columns), dtype=torch.int8))
        self.register_buffer("scale", torch.rand(rows) / columns)

    def forward(self, x):
        return nn.functional.linear(x, self.weight.to(x.dtype)) * self.scale


def with_bytes(module):
    for name, child in module.named_children():
        if isinstance(child, nn.Linear):
            setattr(module, name, Bytes(child.out_features, child.in_features))
        else:
            with_bytes(child)
    return module


def large_decoder(name, dtype):
    model = programs.Llama(512, **LARGE[name])
    model = with_bytes(model) if dtype == "bytes" else model.to(getattr(torch, dtype))
    return model.eval(), {"ids": words(1, 1), "pos": torch.tensor([200])}


# --- Others, first measured after changes for those above: only by name, `others` for all of them -----------------
OTHERS = ("resnet18", "densenet121", "shufflenet_v2_x1_0", "regnet_y_400mf", "swin_t", "squeezenet1_1", "googlenet")
for _name in OTHERS:
    program(_name)(lambda name=_name: image(name))


class Decoder(nn.Module):
    """An image from features, by transposed convolutions."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.ConvTranspose2d(256, 128, 4, 2, 1), nn.BatchNorm2d(128), nn.ReLU(), nn.ConvTranspose2d(128, 64, 4, 2, 1),
            nn.BatchNorm2d(64), nn.ReLU(), nn.ConvTranspose2d(64, 32, 2, 2), nn.ReLU(), nn.Conv2d(32, 3, 3, padding=1), nn.Tanh())

    def forward(self, x):
        return self.layers(x)


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm, self.last = nn.LSTM(128, 256, 2, batch_first=True), nn.Linear(256, 64)

    def forward(self, x):
        return self.last(self.lstm(x)[0])


program("image_decoder")(lambda: (Decoder().eval(), {"x": torch.randn(1, 256, 16, 16)}))
program("lstm_64")(lambda: (Recurrent().eval(), {"x": torch.randn(1, 64, 128)}))


@program("distilbert_64")
def _():
    from transformers import DistilBertConfig, DistilBertModel
    return Whole(DistilBertModel(DistilBertConfig(attn_implementation="sdpa"))).eval(), {"input_ids": words(1, 64)}


OTHERS += ("image_decoder", "lstm_64", "distilbert_64")


def is_large(name):
    return name.rsplit("_", 1)[0] in LARGE


for _name in LARGE:
    for _type in ("float32", "bfloat16", "float16", "bytes"):
        program(f"{_name}_{_type}")(lambda name=_name, dtype=_type: large_decoder(name, dtype))


def read_by(name):
    """Bytes that a step of a large decoder reads. It reads one row of the table."""
    model, _ = programs.make(name)
    return sum(t.nbytes for key, t in model.state_dict().items() if not key.startswith("table"))


def speed_of_reading():
    """Bytes in a second that a sum reads of memory that no cache holds."""
    x = torch.ones(1 << 27)
    return x.nbytes / engine.least(x.sum) * 1e6


# --- Weights of eight bits, dequantized in the program ---------------------------------------------
class Quantized(nn.Module):
    def __init__(self, rows, columns):
        super().__init__()
        self.register_buffer("weight", torch.randint(-127, 128, (rows, columns), dtype=torch.int8))
        self.register_buffer("scale", torch.rand(rows, 1) / columns)
        self.bias = nn.Parameter(torch.randn(rows))

    def forward(self, x):
        return nn.functional.linear(x, self.weight.to(x.dtype) * self.scale, self.bias)


@program("int8_mlp_64")
def _():
    layers = [layer for _ in range(6) for layer in (Quantized(3072, 768), nn.GELU(), Quantized(768, 3072))]
    return nn.Sequential(*layers).eval(), {"input": torch.randn(64, 768)}


# --- Quantized by torchao, which these need ---------------------------------------------------------
TORCHAO = ("encoder_pt2e", "encoder_dynamic_int8")


def encoder():
    torch.backends.mha.set_fastpath_enabled(False)
    layer = nn.TransformerEncoderLayer(512, 8, 2048, batch_first=True, activation="gelu")
    return nn.TransformerEncoder(layer, 4, enable_nested_tensor=False).eval(), {"src": torch.randn(1, 128, 512)}


@program("encoder_pt2e")
def _():
    """Static: products of f32 between quantized values, as the X86 quantizer leaves them."""
    from torchao.quantization.pt2e import quantize_pt2e
    from torchao.quantization.pt2e.quantizer import x86_inductor_quantizer as x86
    model, inputs = encoder()
    quantizer = x86.X86InductorQuantizer().set_global(x86.get_default_x86_inductor_quantization_config())
    with torch.no_grad():
        prepared = quantize_pt2e.prepare_pt2e(torch.export.export(model, tuple(inputs.values())).module(), quantizer)
        for _ in range(3):
            prepared(*inputs.values())
    return quantize_pt2e.convert_pt2e(prepared), inputs


@program("encoder_dynamic_int8")
def _():
    """Products of bytes; the weights are plain tensors, for a file has no others."""
    from torchao import quantization, utils
    model, inputs = encoder()
    quantization.quantize_(model, quantization.Int8DynamicActivationInt8WeightConfig())
    return utils.unwrap_tensor_subclass(model), inputs


# --- Processor time ---------------------------------------------------------------------------------
def least_of_processor(call):
    """Microseconds of processor time of the fastest call; engine.least() takes the clock."""
    best, end, count = math.inf, time.perf_counter() + engine.SECONDS, 0
    while count < 3 or time.perf_counter() < end:
        start = time.process_time()
        call()
        best, count = min(best, time.process_time() - start), count + 1
    return best * 1e6


class FnzOfProcessor(engine.Fnz):
    """The difference between two numbers of rounds, so that loading and compiling do not count."""

    def used(self, rounds):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.least_of(rounds)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    def measure(self):
        rounds = max(3, int(engine.SECONDS * 1e6 / self.least_of(3)))
        return max(self.used(2 * rounds) - self.used(rounds), 0) / rounds * 1e6


# --- The page --------------------------------------------------------------------------------------
def processor():
    for line in open("/proc/cpuinfo"):
        if line.startswith("model name"):
            return line.split(":")[1].strip()
    return platform.processor()


def row(name, by_threads, ways):
    cells = [name]
    for times in by_threads.values():
        ours = times.get(name, {}).get("fnz")
        cells.append(f"{ours / 1000:.1f}" if isinstance(ours, float) else "-")
        ratios = [engine.ratio(times.get(name, {}), way) for way in ways]
        cells += [f"{r:.2f}" if r else "-" for r in ratios]
    return "| " + " | ".join(cells) + " |"


def page(args, by_threads):
    ways, names = ["eager", *args.ways], [n for n in PROGRAMS if any(n in t for t in by_threads.values())]
    titles = [{"ort": "ONNX Runtime", "inductor": "Inductor", "iree": "IREE"}.get(way, way) for way in ways]
    columns = [column for threads in by_threads for column in (f"fnz ms, threads {threads}", *titles)]
    said = subprocess.run([args.fnz, "--version"], capture_output=True, text=True).stdout.splitlines()[0]
    clock = "processor time" if args.clock == "cpu" else "time"
    lines = ["# Models of real size", "",
             "`bench/models/models.py` writes and times them: random weights, batch 1, all ways in turns in one run for each number of",
             f"threads, of each the least {clock}. {said}, PyTorch {torch.__version__.split('+')[0]} in inference mode.",
             f"{processor()}, {os.cpu_count()} cores, {datetime.date.today():%d %B %Y}. Ratios are fnz's time divided by the other's,",
             "below 1 where fnz is faster.", *(["", *args.note] if args.note else []), "",
             "| model | " + " | ".join(columns) + " |", "|---" + "|---" * len(columns) + "|",
             *(row(n, by_threads, ways) for n in names)]
    means = ["geometric mean"]
    for times in by_threads.values():
        means += ["", *(engine.mean([engine.ratio(t, way) for t in times.values()]) for way in ways)]
    lines += ["| " + " | ".join(means) + " |", ""]
    for threads, times in by_threads.items():
        lines += [f"- {name}, threads {threads}: {t['bytes'] / t['fnz'] / 1e3:.1f} GB/s; a sum reads {t['speed'] / 1e9:.1f}."
                  for name, t in times.items() if "bytes" in t and isinstance(t["fnz"], float)]
        lines += [f"- {name}, {way}, threads {threads}: {text}" for name, all_ in times.items()
                  for way, text in all_.items() if isinstance(text, str)]
    return "\n".join(lines) + "\n"


def measure(args):
    """In a process for one number of threads."""
    engine.FNZ, engine.SECONDS, engine.programs = os.path.abspath(args.fnz), args.seconds, programs
    if args.clock == "cpu":
        engine.least, engine.Fnz = least_of_processor, FnzOfProcessor
    args.threads = int(args.threads)
    torch.set_num_threads(args.threads)
    saved = json.load(open(args.save)) if os.path.exists(args.save) else {}
    of = [os.stat(args.fnz).st_mtime, sorted(args.ways), args.seconds, args.clock]  # another run goes on only with these
    results = saved["results"] if saved.get("of") == of else {}
    names = OTHERS if args.names == ["others"] else args.names
    for name in names or [n for n in PROGRAMS if not is_large(n) and n not in OTHERS + TORCHAO]:
        if name in results:
            continue
        programs.write(name, args.folder)
        with torch.inference_mode():
            results[name] = engine.measure(args, name)
            if is_large(name):
                results[name] |= {"bytes": read_by(name), "speed": speed_of_reading()}
        print(name, results[name], file=sys.stderr, flush=True)
        json.dump({"of": of, "results": results}, open(args.save, "w"), indent=1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--fnz", required=True)
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--with", dest="ways", default="", type=engine.listed)
    parser.add_argument("--seconds", type=float, default=1, help="of each way in a round")
    parser.add_argument("--clock", choices=["wall", "cpu"], default="wall")
    parser.add_argument("--out", help="the page; standard output")
    parser.add_argument("--note", action="append", default=[], help="a line for the page")
    parser.add_argument("--save", help="used by the process for one number of threads")
    parser.add_argument("folder")
    parser.add_argument("names", nargs="*")
    args = parser.parse_intermixed_args()
    if args.save:
        measure(args)
        return
    by_threads = {}
    for threads in args.threads.split(","):
        saved = os.path.join(args.folder, f"times_{threads}.json")
        subprocess.run([sys.executable, __file__, *sys.argv[1:], "--threads", threads, "--save", saved], check=True)
        by_threads[threads] = json.load(open(saved))["results"]
    text = page(args, by_threads)
    if args.out:
        pathlib.Path(args.out).write_text(text)
    else:
        print(text, end="")


if __name__ == "__main__":
    main()
