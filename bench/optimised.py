#!/usr/bin/env python3
"""optimised.py -o DIR [NAME...]: is what ONNX Runtime's optimisers save as fast, built by hone, as the model that they were given?

Twelve transformers with random weights (--layers, --width), as transformers exports them: DIR/NAME.onnx. This needs torch and transformers. A
file that is there is kept, so another Python may have made it (one without onnxruntime makes them and ends); a name with neither is left out,
with a word. Each goes through ONNX Runtime's graph optimiser at every level (basic, extended, all) and through its transformers optimiser
(fused). hone build --no-fallback makes a library of each: none of its steps is on the evaluator, or it is refused, and the line says why.
Batch 1, --tokens tokens. The libraries of one model run in turns (peers.py); each figure is the median of its times over those of the model
that was not optimised, and how far apart their numbers are, as a share of the largest. hone must be in PATH. Ends with 1 if a build fails for
another reason than an operator of ONNX Runtime's own layouts (com.microsoft.nchwc), which are for one machine, or if numbers differ by more
than 1e-3."""
import argparse
import contextlib
import importlib.util
import io
import os
import subprocess
import sys

import numpy as np

from native import Model

HEADS, VOCABULARY, IMAGE, APART = 4, 1000, 96, 1e-3
LEVELS = {"basic": "ORT_ENABLE_BASIC", "extended": "ORT_ENABLE_EXTENDED", "all": "ORT_ENABLE_ALL"}
# What transformers calls the sizes of a model; `kind`: the transformers optimiser's name of the family.
PLAIN = dict(hidden_size="width", num_hidden_layers="layers", num_attention_heads="heads", intermediate_size="inner")
TOKENS = dict(PLAIN, max_position_embeddings="longest", vocab_size="vocabulary")
PICTURES = dict(PLAIN, image_size="image")
BART = dict(d_model="width", encoder_layers="layers", encoder_attention_heads="heads", encoder_ffn_dim="inner", vocab_size="vocabulary")
MODELS = {
    "bert": ("bert", "Bert", TOKENS, {}), "roberta": ("bert", "Roberta", TOKENS, {}),
    "albert": ("bert", "Albert", TOKENS, dict(embedding_size=64)),
    "distilbert": ("bert", "DistilBert", dict(dim="width", n_layers="layers", n_heads="heads", hidden_dim="inner", vocab_size="vocabulary",
                                              max_position_embeddings="longest"), {}),
    "gpt2": ("gpt2", "GPT2LMHead", dict(n_embd="width", n_layer="layers", n_head="heads", n_positions="longest", vocab_size="vocabulary"),
             dict(use_cache=False)),
    "llama": ("gpt2", "Llama", TOKENS, dict(num_key_value_heads=2, use_cache=False)),
    "t5_encoder": ("t5", "T5Encoder",
                   dict(d_model="width", num_layers="layers", num_heads="heads", d_ff="inner", vocab_size="vocabulary"), {}),
    "bart_encoder": ("bart", "Bart", dict(BART, max_position_embeddings="longest"), dict(decoder_layers=1)),
    "whisper_encoder": ("bart", "Whisper", BART,
                        dict(decoder_layers=1, decoder_attention_heads=HEADS, num_mel_bins=80, max_source_positions=150, pad_token_id=0,
                             bos_token_id=1, eos_token_id=2, decoder_start_token_id=1)),
    "vit": ("vit", "ViT", PICTURES, dict(patch_size=16)), "clip_vision": ("clip", "CLIPVision", PICTURES, dict(patch_size=16)),
    "clip_text": ("clip", "CLIPText", TOKENS, dict(eos_token_id=2)),
}


def export(name, path, args):
    """By torch and transformers, if they are there."""
    import torch
    import transformers
    torch.manual_seed(0)
    torch.set_num_threads(1)
    _, family, sizes, more = MODELS[name]
    known = dict(width=args.width, layers=args.layers, heads=HEADS, inner=4 * args.width, longest=2 * args.tokens, vocabulary=VOCABULARY,
                 image=IMAGE)
    config = getattr(transformers, family.replace("LMHead", "").replace("T5Encoder", "T5") + "Config")
    config = config(**{k: known[v] for k, v in sizes.items()}, **more)
    model = getattr(transformers, family + "Model")(config).eval()
    if name in ("bart_encoder", "whisper_encoder"):
        model = model.encoder
    for at, p in model.named_parameters():
        if p.dim() == 1:
            torch.nn.init.normal_(p, 1.0 if at.endswith("weight") else 0.0, 0.1)
    if family == "Whisper":
        given = {"input_features": torch.randn(1, 80, 300)}
    elif "image" in sizes.values():
        given = {"pixel_values": torch.randn(1, 3, IMAGE, IMAGE)}
    else:
        ids = torch.randint(3, VOCABULARY, (1, args.tokens))
        given = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}

    class First(torch.nn.Module):
        """The first result, operands by position."""
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, *operands):
            return self.model(**dict(zip(given, operands)), return_dict=False)[0]
    axes = {n: {0: "batch", 1: "tokens"} if t.dtype == torch.int64 else {0: "batch"} for n, t in given.items()}
    torch.onnx.export(First(), tuple(given.values()), path, input_names=list(given), output_names=["y"], dynamic_axes=axes,
                      opset_version=16)


def optimise(name, source, how, path, args):
    import onnxruntime as ort
    ort.set_default_logger_severity(4)
    if how in LEVELS:
        options = ort.SessionOptions()
        options.graph_optimization_level = getattr(ort.GraphOptimizationLevel, LEVELS[how])
        options.optimized_model_filepath = path
        ort.InferenceSession(source, options, providers=["CPUExecutionProvider"])
        return
    from onnxruntime.transformers import optimizer
    with contextlib.redirect_stdout(io.StringIO()):
        model = optimizer.optimize_model(source, model_type=MODELS[name][0], num_heads=HEADS, hidden_size=args.width, opt_level=0)
        model.save_model_to_file(path)


def build(path, stem, tokens):
    """Why not, or nothing."""
    command = ["hone", "build", "-q", "--no-fallback", path, "-o", stem, "--set"]
    p = subprocess.run([*command, f"batch=1,tokens={tokens}"], capture_output=True, text=True)
    if p.returncode == 64 and "tokens" in p.stderr:  # a picture has none
        p = subprocess.run([*command, "batch=1"], capture_output=True, text=True)
    return p.stderr.strip().split("\n")[-1] if p.returncode else ""


def compare(stems, rounds):
    """Of each library: its median time over the first's, and how far its numbers are from the first's."""
    import peers
    models, rng, feed, runs, got = {k: Model(s + ".so") for k, s in stems.items()}, np.random.default_rng(0), {}, {}, {}
    for how, m in models.items():
        for t in m.inputs:
            x = t.empty()
            if t.name not in feed:
                ids = rng.integers(3, VOCABULARY, x.shape) if b"ids" in t.name else 1
                x[...] = rng.standard_normal(x.shape) if x.dtype.kind == "f" else ids
                feed[t.name] = x
        got[how] = [t.empty() for t in m.outputs]
        runs[how] = m.bind([feed[t.name] for t in m.inputs], got[how])
        runs[how]()
    first = got["as it is"][0].copy()
    times = peers.in_turns(runs, rounds)
    apart = {k: float(np.abs(got[k][0] - first).max() / np.abs(first).max()) for k in stems}
    return {k: (float(np.median(times[k] / times["as it is"])), apart[k]) for k in stems}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
                                epilog="names: " + " ".join(MODELS))
    p.add_argument("-o", dest="out", metavar="DIR", required=True, help="where files and libraries go; made if missing")
    p.add_argument("--layers", type=int, default=3)
    p.add_argument("--width", type=int, default=256)
    p.add_argument("--tokens", type=int, default=64)
    p.add_argument("--rounds", type=int, default=12)
    p.add_argument("names", nargs="*", metavar="NAME")
    args = p.parse_args()
    if any(n not in MODELS for n in args.names):
        p.error("names: " + " ".join(MODELS))
    os.makedirs(args.out, exist_ok=True)
    has_runtime = importlib.util.find_spec("onnxruntime") is not None
    ratios, failed = {}, 0
    print(f"{'model':16}" + "".join(f"{how:>20}" for how in (*LEVELS, "fused")))
    for name in args.names or MODELS:
        source = os.path.join(args.out, name + ".onnx")
        try:
            os.path.exists(source) or export(name, source, args)
        except ImportError as e:
            print(f"{name:16}left out: {e}")
            continue
        if not has_runtime:
            print(f"{name:16}made; no onnxruntime here")
            continue
        stems, why = {"as it is": source[:-5]}, {}
        for how in (*stems, *LEVELS, "fused"):
            path = source if how == "as it is" else f"{source[:-5]}.{how}.onnx"
            try:
                os.path.exists(path) or optimise(name, source, how, path, args)
            except Exception as e:  # of onnxruntime: any
                why[how] = "not optimised: " + str(e).split("\n")[0]
                continue
            why[how] = build(path, path[:-5], args.tokens)
            if not why[how]:
                stems[how] = path[:-5]
        if why["as it is"]:
            print(f"{name:16}{why['as it is']}")
            failed += 1
            continue
        seen = compare(stems, args.rounds)
        cells = [f"{seen[how][0]:10.3f}{seen[how][1]:10.1e}" if how in seen else f"{'-':>20}" for how in (*LEVELS, "fused")]
        print(f"{name:16}" + "".join(cells), flush=True)
        for how in (*LEVELS, "fused"):
            if how in seen:
                ratios.setdefault(how, []).append(seen[how][0])
                failed += seen[how][1] > APART
            else:
                print(f"    {how}: {why[how]}")
                failed += "nchwc" not in why[how] and not why[how].startswith("not optimised")
    if not has_runtime:
        return
    if not ratios:
        sys.exit("optimised.py: nothing was built")
    means = [f"{np.exp(np.mean(np.log(ratios[h]))):10.3f}{len(ratios[h]):7} of" if h in ratios else f"{'-':>20}" for h in (*LEVELS, "fused")]
    print(f"{'geomean':16}" + "".join(means))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
