#!/usr/bin/env python3
"""Makes the wheel `hone` of an installed tree: wheel.py TREE -o FOLDER. The same tree gives the same bytes.

The wheel has the package and the tree: programs, headers, pages. Libraries that the programs need lie beside them, but for those of glibc and zlib,
which every system has, with their licences. The tag names the glibc that all of these want. It needs numpy to run models, and gcc to compile them."""
import argparse
import base64
import hashlib
import os
import re
import subprocess
import sys
import sysconfig
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
EVERYWHERE = re.compile(r"(linux-vdso|ld-linux|lib(c|m|dl|pthread|rt|z|gcc_s))[-.a-z0-9_]*\.so")
DATE = (1980, 1, 1, 0, 0, 0)  # the least that a zip has


def files_of(folder, into):
    for path, _, names in os.walk(folder):
        for name in names:
            full = os.path.join(path, name)
            if not full.endswith((".pyc", "kb-lock")) and not os.path.islink(full):
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


def licence_of(library):
    """The package of Debian that a library is of, and the file with its licence; None where dpkg does not know it."""
    for path in (library, os.path.realpath(library), os.path.realpath(library).removeprefix("/usr")):
        try:
            said = subprocess.run(["dpkg", "-S", path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
        except FileNotFoundError:
            return None
        notice = f"/usr/share/doc/{said.split(':')[0]}/copyright"
        if said and os.path.exists(notice):
            return said.split(":")[0], notice
    return None


def platform_of(files):
    """The tag of the platform: manylinux with the newest glibc that a program or library among the files wants, as PEP 600 has it."""
    system = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    binaries = [f for name, f in files.items() if name.startswith(("hone/tree/bin/", "hone/tree/libexec/", "hone/tree/libraries/"))]
    said = subprocess.run(["objdump", "-T", *binaries], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    wanted = [(int(a), int(b)) for a, b in set(re.findall(r"GLIBC_(\d+)\.(\d+)", said))]
    return system.replace("linux", "manylinux_%d_%d" % max(wanted), 1) if wanted else system


def version_of(tree):
    said = subprocess.run([os.path.join(tree, "bin", "hone"), "--version"], stdout=subprocess.PIPE, check=True, text=True).stdout
    return re.search(r"(\d\S*)\s*$", said).group(1)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("tree")
    p.add_argument("-o", dest="folder", default=".")
    a = p.parse_args()
    version = version_of(a.tree)
    info = f"hone-{version}.dist-info"
    files = {**dict(files_of(os.path.join(HERE, "hone"), "hone")), **dict(files_of(a.tree, "hone/tree"))}
    libraries = libraries_of(a.tree)
    files.update((f"hone/tree/libraries/{name}", path) for name, path in libraries.items())
    tag = f"py3-none-{platform_of(files)}"
    for name, path in libraries.items():
        licence = licence_of(path)
        if licence:
            files[f"{info}/licenses/{licence[0]}"] = licence[1]
        else:
            print(f"wheel.py: {name}: its licence is not found, and is not in the wheel", file=sys.stderr)
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
