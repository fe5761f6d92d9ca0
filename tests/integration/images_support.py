# SPDX-License-Identifier: Apache-2.0
"""Images made in the test: layers by tarfile, around them an OCI layout or a docker-archive."""
import bz2
import gzip
import hashlib
import io
import json
import lzma
import os
import shutil
import subprocess
import tarfile

import support

MSP = os.path.join(support.BIN, "msp")


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def zstd(data):
    return subprocess.run(["zstd", "-q", "-c"], input=data, capture_output=True, check=True).stdout


COMPRESSORS = {"": lambda data: data, "+gzip": lambda data: gzip.compress(data, mtime=0), "+xz": lzma.compress,
               "+bzip2": bz2.compress, "+zstd": zstd}


def entry(name, content=None, type=None, **fields):
    """(TarInfo, content) of a file, or of what the fields say."""
    info = tarfile.TarInfo(name)
    data = content.encode() if isinstance(content, str) else content
    if type is not None:
        info.type = type
    elif data is None:
        info.type, info.mode = tarfile.DIRTYPE, 0o755
    info.size = len(data or b"")
    info.mtime = 1_000_000_000
    for key, value in fields.items():
        setattr(info, key, value)
    return info, data


def symlink(name, target):
    return entry(name, type=tarfile.SYMTYPE, linkname=target)


def hard_link(name, target):
    return entry(name, type=tarfile.LNKTYPE, linkname=target)


def device(name, major, minor, type=tarfile.CHRTYPE):
    return entry(name, type=type, devmajor=major, devminor=minor)


def layer(*entries, **options):
    """A layer's archive of these entries."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", **options) as tar:
        for info, data in entries:
            tar.addfile(info, io.BytesIO(data) if data is not None else None)
    return out.getvalue()


class Image:
    """Layers and a configuration, as files around them: {path: bytes} of `oci()` or `docker()`."""

    def __init__(self, *layers, compression="+gzip", platform=("linux", "amd64"), **config):
        self.layers = list(layers)
        self.compression = compression
        self.platform = platform
        self.config = config

    def configuration(self):
        return json.dumps({
            "os": self.platform[0], "architecture": self.platform[1], "config": self.config,
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{sha256(data)}"
                                                      for data in self.layers]}}).encode()

    def blobs(self, compress=None):
        """({path: bytes}, descriptor of the manifest)."""
        files = {}

        def add(data, kind):
            files[f"blobs/sha256/{sha256(data)}"] = data
            return {"mediaType": f"application/vnd.oci.image.{kind}",
                    "digest": f"sha256:{sha256(data)}", "size": len(data)}

        compress = compress or COMPRESSORS[self.compression]
        manifest = {"schemaVersion": 2, "config": add(self.configuration(), "config.v1+json"),
                    "layers": [add(compress(data), f"layer.v1.tar{self.compression}")
                               for data in self.layers]}
        return files, add(json.dumps(manifest).encode(), "manifest.v1+json")

    def oci(self, name=None):
        files, descriptor = self.blobs()
        if name:
            descriptor["annotations"] = {"org.opencontainers.image.ref.name": name}
        return layout(files, descriptor)

    def docker(self, *names):
        config = self.configuration()
        files = {f"{sha256(data)}/layer.tar": data for data in self.layers}
        files[f"{sha256(config)}.json"] = config
        files["manifest.json"] = json.dumps([{
            "Config": f"{sha256(config)}.json", "RepoTags": list(names),
            "Layers": [f"{sha256(data)}/layer.tar" for data in self.layers]}]).encode()
        return files


def layout(files, *descriptors):
    """An OCI layout with these manifests."""
    return {"oci-layout": b'{"imageLayoutVersion":"1.0.0"}',
            "index.json": json.dumps({"schemaVersion": 2,
                                      "manifests": list(descriptors)}).encode(), **files}


def write_archive(path, files):
    with tarfile.open(path, "w") as tar:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return path


def write_directory(path, files):
    for name, data in files.items():
        os.makedirs(os.path.dirname(os.path.join(path, name)), exist_ok=True)
        with open(os.path.join(path, name), "wb") as file:
            file.write(data)
    return path


class Store:
    """A state directory of its own, and `msp image` in it."""

    def __init__(self, folder):
        self.folder = folder
        self.state = os.path.join(folder, "state")
        self.images = os.path.join(self.state, "images")
        os.mkdir(self.state, 0o700)

    def msp(self, *words, **options):
        options.setdefault("env", {**os.environ, "MSP_STATE_DIR": self.state})
        return subprocess.run([MSP, "image", *words], **{"capture_output": True, "timeout": 120,
                                                         **options})

    def import_files(self, files, *words):
        """Import an archive of these files."""
        path = write_archive(os.path.join(self.folder, "image.tar"), files)
        return self.msp("import", path, *words)

    def path(self, *parts):
        return os.path.join(self.images, *parts)

    def layer(self, data, *parts):
        """Where a layer's archive is unpacked."""
        return self.path("layers", sha256(data), *parts)

    def contents(self):
        """{relative path: bytes or kind} of the whole store but its lock."""
        found = {}
        for top, folders, names in os.walk(self.images):
            for name in folders + names:
                path = os.path.join(top, name)
                key = os.path.relpath(path, self.images)
                if os.path.islink(path):
                    found[key] = os.readlink(path)
                elif os.path.isfile(path):
                    with open(path, "rb") as file:
                        found[key] = file.read()
                else:
                    found[key] = None
        found.pop("lock", None)
        return found

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)
