#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""golden_test.py FURROW GOLDEN_DEVICES: devices of format version 1 are read as they were when they were made.

NAME.tar.xz beside this file is an emulated device, NAME.json says what is on it. Never replace one: a test that fails here
says that devices of users would be read differently. New ones: golden_test.py FURROW GOLDEN_DEVICES --write NAME.
"""

import hashlib
import json
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
FURROW = sys.argv.pop(1)
GOLDEN_DEVICES = sys.argv.pop(1)


def run(*words):
    return subprocess.run([FURROW, *words], check=True, capture_output=True).stdout


def sha256(content):
    return hashlib.sha256(content).hexdigest()


def log_of(uri):
    """Lines of the journal, without what depends on where the device lies."""
    lines = [json.loads(line) for line in run("log", uri).splitlines()]
    del lines[0]["device"]
    for line in lines:
        line.pop("detail", None)
    return lines


def contents(uri):
    """What there is, by path as the listing has it, with checksums of what the files hold."""
    text = run("ls", "-R", uri, "/").decode().splitlines()
    found = []
    for entry, shown in zip(json.loads(run("ls", "-R", "--format=json", uri, "/"))["files"], text):
        entry["path"] = shown
        if not entry["is_directory"]:
            raw = shown.encode().decode("unicode_escape").encode("latin-1") if "\\" in shown else shown.encode()
            entry["sha256"] = sha256(run("cat", uri, raw))
        found.append(entry)
    return found


def manifest_of(uri):
    lines = log_of(uri)
    counts = {}
    for line in lines:
        for key in ("type", "record", "object"):
            if key in line and isinstance(line[key], str):
                counts[f"{key} {line[key]}"] = counts.get(f"{key} {line[key]}", 0) + 1
    text = "\n".join(json.dumps(line, sort_keys=True) for line in lines)
    return {"files": contents(uri), "end": lines[-1]["end"], "lines": counts, "log_sha256": sha256(text.encode())}


def pack(directory, archive):
    def plain(member):
        member.uid = member.gid = member.mtime = 0
        member.uname = member.gname = ""
        return member

    with tarfile.open(archive, "w:xz", preset=9) as out:
        for path in sorted(directory.rglob("*")):
            if path.is_file() and path.name != "furrow.lock":
                out.add(path, path.relative_to(directory), filter=plain)


def write(name):
    archive = HERE / f"{name}.tar.xz"
    if archive.exists():
        sys.exit(f"{archive} is there; golden devices are never replaced")
    with tempfile.TemporaryDirectory(prefix="furrow-golden-") as root:
        device = pathlib.Path(root) / "device"
        subprocess.run([GOLDEN_DEVICES, "make", name, device], check=True)
        manifest = manifest_of(f"furrow://dir:{device}")
        pack(device, archive)
    (HERE / f"{name}.json").write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")


class GoldenTest(unittest.TestCase):
    maxDiff = None

    def each(self, look):
        """Calls look(manifest, uri) for each device, on a copy of its own."""
        names = sorted(path.stem for path in HERE.glob("*.json"))
        self.assertEqual(["everything", "large_checkpoint", "power_cut"], names)
        for name in names:
            with self.subTest(device=name), tempfile.TemporaryDirectory(prefix="furrow-golden-") as root:
                with tarfile.open(HERE / f"{name}.tar.xz") as archive:
                    archive.extractall(root)
                look(json.loads((HERE / f"{name}.json").read_text(encoding="utf-8")), f"furrow://dir:{root}")

    def test_reading(self):
        self.each(lambda manifest, uri: self.assertEqual(manifest, manifest_of(uri)))

    def test_reading_after_a_mount_that_writes(self):
        def look(manifest, uri):
            subprocess.run([GOLDEN_DEVICES, "mount", uri], check=True)
            self.assertEqual(manifest["files"], contents(uri))
            self.assertEqual("clean", log_of(uri)[-1]["end"])
            run("check", "--deep", uri)  # exits 5 if it finds anything wrong

        self.each(look)

    def test_they_hold_what_they_are_for(self):
        manifests = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in HERE.glob("*.json")}
        lines = manifests["everything"]["lines"]
        for kind in ("directory", "file", "zone", "global", "stage"):
            self.assertIn(f"object {kind}", lines)
        for kind in ("link", "extents", "create_file", "content", "zone", "totals", "stage"):
            self.assertIn(f"record {kind}", lines)
        self.assertEqual("clean", manifests["everything"]["end"])
        self.assertEqual("torn", manifests["power_cut"]["end"])
        self.assertGreater(manifests["large_checkpoint"]["lines"]["type object"], 70)


if __name__ == "__main__":
    if "--write" in sys.argv:
        write(sys.argv[-1])
    else:
        unittest.main()
