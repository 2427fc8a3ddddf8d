#!/usr/bin/env python3
"""Makes the wheel `hone` of an installed tree: wheel.py TREE -o FOLDER. The same tree gives the same bytes.

The wheel has the package and the tree: programs, headers, pages. Libraries that the programs need lie beside them, but for those of glibc and zlib,
which every system has. It needs numpy to run models, and gcc to compile them."""
import argparse
import base64
import hashlib
import os
import re
import subprocess
import sysconfig
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
EVERYWHERE = re.compile(r"(linux-vdso|ld-linux|lib(c|m|dl|pthread|rt|z|gcc_s))[-.a-z0-9_]*\.so")
DATE = (1980, 1, 1, 0, 0, 0)  # the least that a zip has


def files_of(folder, into):
    for path, _, names in os.walk(folder):
        for name in names:
            full = os.path.join(path, name)
            if not full.endswith(".pyc") and not os.path.islink(full):
                yield os.path.join(into, os.path.relpath(full, folder)), full


def libraries_of(tree):
    """The shared libraries that its programs are linked with and that are not everywhere."""
    found = {}
    programs = [full for name, full in files_of(tree, "") if name.startswith(("bin/", "libexec/"))]
    for line in subprocess.run(["ldd", *programs], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout.splitlines():
        words = line.split()
        if len(words) >= 3 and words[1] == "=>" and not EVERYWHERE.match(words[0]):
            found[words[0]] = words[2]
    return found


def version_of(tree):
    said = subprocess.run([os.path.join(tree, "bin", "hone"), "--version"], stdout=subprocess.PIPE, check=True, text=True).stdout
    return re.search(r"(\d\S*)\s*$", said).group(1)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("tree")
    p.add_argument("-o", dest="folder", default=".")
    a = p.parse_args()
    version, platform = version_of(a.tree), sysconfig.get_platform().replace("-", "_").replace(".", "_")
    tag, info = f"py3-none-{platform}", f"hone-{version}.dist-info"
    files = {**dict(files_of(os.path.join(HERE, "hone"), "hone")), **dict(files_of(a.tree, "hone/tree"))}
    files.update((f"hone/tree/libraries/{name}", path) for name, path in libraries_of(a.tree).items())
    texts = {
        "METADATA": f"Metadata-Version: 2.1\nName: hone\nVersion: {version}\nSummary: A compiler for neural networks: ONNX models to native CPU libraries\n"
                    "License: Apache-2.0\nRequires-Python: >=3.8\nRequires-Dist: numpy\n",
        "WHEEL": f"Wheel-Version: 1.0\nGenerator: hone\nRoot-Is-Purelib: false\nTag: {tag}\n",
        "entry_points.txt": "[console_scripts]\nhone = hone.tools:main\n\n[torch_dynamo_backends]\nhone = hone.dynamo:backend\n",
    }
    os.makedirs(a.folder, exist_ok=True)
    to = os.path.join(a.folder, f"hone-{version}-{tag}.whl")
    record = []
    with zipfile.ZipFile(to + ".part", "w", zipfile.ZIP_DEFLATED) as z:
        def put(name, data, mode):
            entry = zipfile.ZipInfo(name, DATE)
            entry.external_attr, entry.compress_type = (0o100000 | mode) << 16, zipfile.ZIP_DEFLATED
            z.writestr(entry, data)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record.append(f"{name},sha256={digest},{len(data)}\n")

        for name, full in sorted(files.items()):
            with open(full, "rb") as f:
                put(name, f.read(), 0o755 if os.access(full, os.X_OK) else 0o644)
        for name, text in texts.items():
            put(f"{info}/{name}", text.encode(), 0o644)
        record.append(f"{info}/RECORD,,\n")
        put(f"{info}/RECORD", "".join(record).encode(), 0o644)
    os.rename(to + ".part", to)
    print(to)


if __name__ == "__main__":
    main()
