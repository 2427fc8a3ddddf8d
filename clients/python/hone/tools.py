"""hone's command from Python: each function is a verb, and its options are keyword arguments."""
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


class HoneError(RuntimeError):
    """The command ended with an error; the message is what it said, code its exit code."""

    def __init__(self, message, code):
        super().__init__(message)
        self.code = code


def command():
    """The path of hone: HONE names it; else the one of the wheel, or of the PATH."""
    own = os.path.join(HERE, "tree", "bin", "hone")
    found = os.environ.get("HONE") or (own if os.access(own, os.X_OK) else shutil.which("hone"))
    if not found:
        raise FileNotFoundError("hone: not found; HONE says where it is")
    return found


def environment():
    """The variables that it runs with: a wheel has the libraries that it needs beside it."""
    libraries = os.path.join(HERE, "tree", "libraries")
    if not os.path.isdir(libraries):
        return None
    return {**os.environ, "LD_LIBRARY_PATH": os.pathsep.join(filter(None, [libraries, os.environ.get("LD_LIBRARY_PATH")]))}


def options(given):
    """{"set": {"batch": 1}, "no_kb": True, "pass": ["a", "b"]} as words: --set batch=1 --no-kb --pass a --pass b."""
    words = []
    for name, value in given.items():
        option = "--" + name.rstrip("_").replace("_", "-")
        if isinstance(value, dict):
            value = ",".join(f"{k}={v}" for k, v in value.items())
        for one in value if isinstance(value, (list, tuple)) else [value]:
            if one is True:
                words.append(option)
            elif one is not None and one is not False:
                words.append(f"{option}={one}")
    return words


def run(verb, *words):
    """Runs it and returns what it printed."""
    done = subprocess.run([command(), verb, *map(os.fspath, words)], env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          errors="replace", stdin=subprocess.DEVNULL)
    if done.returncode:
        raise HoneError(done.stderr.strip() or f"hone {verb} ended with {done.returncode}", done.returncode)
    return done.stdout


def build(model, stem, **given):
    """Compiles a model to STEM.so and loads it: build("net.onnx", "out/net", set={"batch": 1}). One of Keras goes through hone.keras."""
    from . import keras
    from .library import Model
    if keras.is_model(model):
        return keras.build(model, stem, **given)
    run("build", "--quiet", *options(given), "-o", stem, "--", model)
    return Model(os.fspath(stem) + ".so")


def simplify(model, to, **given):
    """Writes a smaller model that computes the same; returns the table that hone prints."""
    return run("simplify", *options(given), "--", model, to)


def quantize(model, to, data, **given):
    """Writes a model that computes nearly the same on bytes; data: samples as hone quantize --data takes them."""
    return run("quantize", *options({"data": data, **given}), "-o", to, "--", model)


def main():
    """The command `hone` that the wheel installs."""
    try:
        path = command()
        os.execve(path, ["hone", *sys.argv[1:]], environment() or os.environ)
    except OSError as e:
        sys.exit(str(e))
