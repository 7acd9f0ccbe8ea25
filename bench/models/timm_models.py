#!/usr/bin/env python3
"""Models of timm that fnz was never tuned for, beside eager PyTorch on one thread.

    FNZ_LIBRARY=build/libfnz.so.0.1 PYTHONPATH=python bench/models/timm_models.py [NAME ...]

Needs torch and timm. Weights are random, the batch is one image. Both take turns; of each the least processor time of
six calls counts. Prints a line for each model with the largest difference of the results, relative to the largest
result, then the geometric mean and the models that take longest.
"""
import math
import sys
import time
import warnings

import timm
import torch

import fnz

NAMES = """
bat_resnext26ts beit_base_patch16_224 botnet26t_256 cait_xxs24_224 coatnet_0_rw_224 convit_tiny convmixer_768_32
crossvit_tiny_240 davit_tiny dla34 dpn68 eca_botnext26ts_256 edgenext_small efficientformer_l1 efficientvit_b0
efficientvit_m0 ese_vovnet19b_dw eva02_tiny_patch14_224 fasternet_t0 fastvit_t8 focalnet_tiny_srf gernet_s ghostnet_100
gmlp_s16_224 halonet26t hardcorenas_a hiera_tiny_224 hrnet_w18_small inception_next_atto inception_v3 lambda_resnet26t
lcnet_050 levit_128s maxvit_tiny_rw_224 mixer_b16_224 mnasnet_100 mobilenetv4_conv_small mobileone_s0 mobilevit_s
mvitv2_tiny nest_tiny nfnet_l0 pit_ti_224 poolformer_s12 pvt_v2_b0 regnetx_002 repghostnet_050 repvgg_a0 res2net50_26w_4s
resmlp_12_224 resnetv2_50 resnext50_32x4d rexnet_100 selecsls42 semnasnet_100 sequencer2d_s seresnet18 skresnet18
spnasnet_100 starnet_s1 swinv2_cr_tiny_224 tf_efficientnetv2_b0 tiny_vit_5m_224 tinynet_a twins_svt_small vgg11
visformer_tiny volo_d1_224 vovnet39a xception41 xcit_nano_12_p16_224
""".split()
ROUNDS = 6


def timed(call, x):
    start = time.thread_time()
    call(x)
    return time.thread_time() - start


def measure(name):
    model = timm.create_model(name, pretrained=False).eval()
    x = torch.randn(1, *model.default_cfg["input_size"])
    with torch.no_grad():
        executable = fnz.load(torch.export.export(model, (x,))).functionalize().compile(threads=1)
    with torch.inference_mode():
        wanted = model(x)
        apart = (executable(x) - wanted).abs().max() / wanted.abs().max()
        times = [(timed(executable, x), timed(model, x)) for _ in range(ROUNDS)]
    ours, theirs = (min(column) for column in zip(*times))
    return ours * 1e3, theirs * 1e3, float(apart)


def main():
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    ratios = {}
    print("| model | fnz ms | eager ms | ratio | difference |\n|---|---|---|---|---|")
    for name in sys.argv[1:] or NAMES:
        ours, theirs, apart = measure(name)
        ratios[name] = ours / theirs
        print(f"| {name} | {ours:.1f} | {theirs:.1f} | {ratios[name]:.2f} | {apart:.0e} |", flush=True)
    mean = math.exp(sum(map(math.log, ratios.values())) / len(ratios))
    worst = sorted(ratios, key=ratios.get)[-5:]
    print(f"\n{len(ratios)} models, geometric mean {mean:.2f}; most: " + ", ".join(f"{n} {ratios[n]:.2f}" for n in worst))


if __name__ == "__main__":
    main()
