#!/usr/bin/env python3
"""Makes cases of decoders over static caches: transformers' families, tiny and with random weights. For developers.

    make_static_caches.py DIR [FAMILY...]

DIR/FAMILY_decode is a step of one token, with four steps in a row, each with the token that PyTorch chose before;
DIR/FAMILY_prefill takes four tokens at once. Both are exported as transformers.integrations.executorch does it. A case
that is there is left as it is. Needs torch, transformers and safetensors.
"""
import json
import pathlib
import sys
import warnings

ROOM, STEPS = 16, 4
SIZES = {"vocab_size": 48, "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 2,
         "num_key_value_heads": 1, "head_dim": 8, "max_position_embeddings": 32, "pad_token_id": 0, "bos_token_id": 1,
         "eos_token_id": 2, "tie_word_embeddings": False}
# Family -> what its configuration needs besides. Windows are no shorter than the cache.
FAMILIES = {
    "llama": {}, "mistral": {"sliding_window": None}, "qwen2": {}, "qwen3": {}, "gemma": {},
    "gemma2": {"sliding_window": 32}, "gemma3_text": {"sliding_window": 32}, "phi": {"num_key_value_heads": 2},
    "phi3": {"sliding_window": None}, "gpt_neox": {"num_key_value_heads": 2}, "granite": {}, "olmo2": {}, "smollm3": {},
    "cohere": {}, "stablelm": {}, "starcoder2": {"sliding_window": None},
}


def module_of(family):
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM
    from transformers.integrations.executorch import TorchExportableModuleWithStaticCache

    torch.manual_seed(7)
    config = AutoConfig.for_model(family, **{**SIZES, **FAMILIES[family]})
    model = AutoModelForCausalLM.from_config(config).eval()
    for weight in model.parameters():  # as large as in trained models, so that tokens differ
        weight.data.add_(torch.randn_like(weight) * 0.3)
    model.generation_config.use_cache, model.generation_config.cache_implementation = True, "static"
    return TorchExportableModuleWithStaticCache(model, batch_size=1, max_cache_len=ROOM).eval()


def write(folder, family, inputs):
    """A case of a family; `inputs` says what a step gets, by its number and the logits of the step before."""
    import torch
    from safetensors.torch import save_file

    module, result = module_of(family), None
    given = inputs(0, None)
    with torch.no_grad():
        program = torch.export.export(module, (), dict(given), strict=False)
        folder.mkdir(parents=True)
        torch.export.save(program, folder / "program.pt2")
        for step in range(STEPS if given["input_ids"].numel() == 1 else 1):
            given = inputs(step, result)
            result = module(**given)
            end = "safetensors" if step == 0 else "%d.safetensors" % (step + 1)
            kept = {"buffer." + name: value.detach().clone() for name, value in program.constants.items()}
            save_file(dict(given), folder / ("inputs." + end))
            save_file({"output.0": result.clone(), **kept}, folder / ("expected." + end))
    (folder / "case.json").write_text(json.dumps({"name": folder.name, "error": None, "torch": torch.__version__}) + "\n")


def decoded(step, logits):
    import torch

    token = torch.tensor([[5]]) if logits is None else logits[:, -1:].argmax(-1)
    return {"input_ids": token, "cache_position": torch.tensor([step])}


def prefilled(step, logits):
    import torch

    return {"input_ids": torch.tensor([[5, 9, 11, 3]]), "cache_position": torch.arange(4)}


def main():
    warnings.filterwarnings("ignore")
    folder, failed = pathlib.Path(sys.argv[1]), 0
    for family in sys.argv[2:] or FAMILIES:
        for kind, inputs in (("decode", decoded), ("prefill", prefilled)):
            case = folder / ("%s_%s" % (family, kind))
            if (case / "case.json").exists():
                continue
            try:
                write(case, family, inputs)
            except Exception as error:
                failed += 1
                print("%s: %s: %s" % (case.name, type(error).__name__, (str(error).splitlines() or [""])[0][:200]))
    print("%d cases not made" % failed)


if __name__ == "__main__":
    main()
