"""Reads and writes `.frgraph` folders with numpy, so that every system gets the same input.

    g = frgraph.open_folder("products.frgraph")
    g.indptr, g.indices          row v lists the nodes whose messages v receives (memory-mapped)
    g.features()                 float32 [n_nodes, n_features], copied into memory
    g.labels, g.nodes("train")

    frgraph.write_folder("out.frgraph", indptr, indices, features, labels, split, n_classes)

The bytes are those of docs/formats.md: features.bin is one page of header and then pages of 4096 bytes with
`rows_per_page` rows each, so that no row straddles a page; a row longer than a page has its own stride.
meta.json holds an XXH3 checksum of each 16 MiB of each file; writing folders therefore needs the package xxhash.
"""
import json
import os
import struct

import numpy as np

PAGE_BYTES = 4096
CHUNK_BYTES = 16 << 20  # of one checksum
FILES = ("indptr.bin", "indices.bin", "features.bin", "labels.bin", "split.bin")
MAGIC = b"FRROWS1\0"
DTYPE_F32 = 1
PARTS = {"none": 0, "train": 1, "valid": 2, "test": 3}


def checksum(data):
    import xxhash  # only who writes needs it
    return xxhash.xxh3_64_intdigest(data)


class Graph:
    """One open folder. Arrays are views of the files; nothing large is in memory until it is used."""

    def __init__(self, path):
        self.path = path
        with open(os.path.join(path, "meta.json"), encoding="utf-8") as file:
            self.meta = json.load(file)
        if self.meta.get("format") != "frgraph":
            raise ValueError(f"{path}/meta.json: format is {self.meta.get('format')!r}, not 'frgraph'")
        self.n_nodes, self.n_edges = int(self.meta["n_nodes"]), int(self.meta["n_edges"])
        self.n_features, self.n_classes = int(self.meta["n_features"]), int(self.meta["n_classes"])
        self.multilabel = self.meta["task"] == "multilabel"
        index_type = "<u8" if int(self.meta["index_bytes"]) == 8 else "<u4"
        self.indptr = self._map("indptr.bin", "<u8", (self.n_nodes + 1,))
        self.indices = self._map("indices.bin", index_type, (self.n_edges,))
        if self.multilabel:
            self.labels = self._map("labels.bin", "u1", (self.n_nodes, self.n_classes))
        else:
            self.labels = self._map("labels.bin", "<i4", (self.n_nodes,))
        self.split = self._map("split.bin", "u1", (self.n_nodes,))

    def _map(self, name, dtype, shape):
        file = os.path.join(self.path, name)
        expected = int(np.prod(shape)) * np.dtype(dtype).itemsize
        if os.path.getsize(file) != expected:
            raise ValueError(f"{file}: {os.path.getsize(file)} bytes, meta.json asks for {expected}")
        return np.memmap(file, dtype=dtype, mode="r", shape=shape) if expected else np.zeros(shape, dtype)

    def nodes(self, part):
        """Nodes of one part of the split, ascending, int64."""
        return np.flatnonzero(np.asarray(self.split) == PARTS[part])

    def features(self, rows_at_once=1 << 16):
        """All feature rows as one contiguous float32 array in memory, read page by page."""
        file = os.path.join(self.path, "features.bin")
        with open(file, "rb") as head:
            magic, dtype, per_page, n_rows, width, row_bytes, stride = struct.unpack("<8sIIQQQQ", head.read(48))
        if magic != MAGIC or dtype != DTYPE_F32:
            raise ValueError(f"{file}: magic {magic!r} dtype {dtype}: only f32 rows are read here")
        out = np.empty((n_rows, width), np.float32)
        raw = np.memmap(file, dtype="u1", mode="r", offset=PAGE_BYTES)
        for first in range(0, n_rows, rows_at_once - rows_at_once % max(per_page, 1)):
            last = min(n_rows, first + rows_at_once - rows_at_once % max(per_page, 1))
            if per_page:
                begin, end = first // per_page, -(-last // per_page)
                block = raw[begin * PAGE_BYTES:end * PAGE_BYTES]
                block = np.pad(block, (0, (end - begin) * PAGE_BYTES - block.size)).reshape(end - begin, PAGE_BYTES)
                rows = np.ascontiguousarray(block[:, :per_page * row_bytes]).view("<f4").reshape(-1, width)
            else:
                block = raw[first * stride:last * stride]
                block = np.pad(block, (0, (last - first) * stride - block.size)).reshape(last - first, stride)
                rows = np.ascontiguousarray(block[:, :row_bytes]).view("<f4").reshape(-1, width)
            out[first:last] = rows[:last - first]
        return out


def open_folder(path):
    return Graph(path)


class FeatureWriter:
    """features.bin, appended in blocks of rows: `with FeatureWriter(...) as w: w.append(rows)`."""

    def __init__(self, file, n_rows, width):
        self.row_bytes = width * 4
        self.per_page = PAGE_BYTES // self.row_bytes
        self.stride = 0 if self.per_page else -(-self.row_bytes // PAGE_BYTES) * PAGE_BYTES
        self.file = open(file, "wb")
        header = struct.pack("<8sIIQQQQ", MAGIC, DTYPE_F32, self.per_page, n_rows, width, self.row_bytes, self.stride)
        header += struct.pack("<Q", checksum(header))
        self.file.write(header.ljust(PAGE_BYTES, b"\0"))
        self.pending = np.empty((0, width), np.float32)

    def append(self, rows):
        rows = np.concatenate([self.pending, np.asarray(rows, np.float32)])
        whole = len(rows) - len(rows) % max(self.per_page, 1)
        self._write(rows[:whole])
        self.pending = rows[whole:].copy()

    def _write(self, rows):
        if len(rows) == 0:
            return
        lines = -(-len(rows) // self.per_page) if self.per_page else len(rows)
        line_rows, line_bytes = (self.per_page, PAGE_BYTES) if self.per_page else (1, self.stride)
        block = np.zeros((lines, line_bytes), np.uint8)
        flat = np.zeros((lines * line_rows, rows.shape[1]), np.float32)
        flat[:len(rows)] = rows
        block[:, :line_rows * self.row_bytes] = flat.view(np.uint8).reshape(lines, -1)
        block.tofile(self.file)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self._write(self.pending)
        self.file.close()


def write_meta(path, n_classes, multilabel=False, index_bytes=4):
    """meta.json from the other files, which must be there: counts, and checksums as `frugal data verify` computes them."""
    size = {name: os.path.getsize(os.path.join(path, name)) for name in FILES}
    with open(os.path.join(path, "features.bin"), "rb") as head:
        _, _, _, n_nodes, n_features, _, _ = struct.unpack("<8sIIQQQQ", head.read(48))
    split = np.fromfile(os.path.join(path, "split.bin"), np.uint8)
    labels = np.fromfile(os.path.join(path, "labels.bin"), "u1" if multilabel else "<i4")
    labelled = (labels.reshape(n_nodes, -1)[:, 0] != 255) if multilabel else labels >= 0
    meta = {"format": "frgraph", "version": 1, "n_nodes": n_nodes, "n_edges": size["indices.bin"] // index_bytes,
            "n_features": n_features, "n_classes": int(n_classes), "task": "multilabel" if multilabel else "multiclass",
            "index_bytes": index_bytes, "has_weights": False, "feature_dtype": "f32", "n_labelled": int(labelled.sum()),
            **{f"n_{part}": int((split == PARTS[part]).sum()) for part in ("train", "valid", "test")},
            "chunk_bytes": CHUNK_BYTES,
            "files": {name: {"bytes": size[name], "sums": checksums(os.path.join(path, name))} for name in FILES}}
    with open(os.path.join(path, "meta.json"), "w", encoding="utf-8") as file:
        json.dump(meta, file, indent=1)


def checksums(file):
    import xxhash  # only who writes needs it
    with open(file, "rb") as data:
        return [xxhash.xxh3_64_hexdigest(chunk) for chunk in iter(lambda: data.read(CHUNK_BYTES), b"")]


def write_folder(path, indptr, indices, features, labels, split, n_classes):
    """A small graph held in memory, as a folder (labels: [n] int, or [n, n_classes] of 0/1 for multilabel)."""
    os.makedirs(path, exist_ok=True)
    labels = np.asarray(labels)
    np.asarray(indptr, "<u8").tofile(os.path.join(path, "indptr.bin"))
    np.asarray(indices, "<u4").tofile(os.path.join(path, "indices.bin"))
    labels.astype("u1" if labels.ndim == 2 else "<i4").tofile(os.path.join(path, "labels.bin"))
    np.asarray(split, np.uint8).tofile(os.path.join(path, "split.bin"))
    with FeatureWriter(os.path.join(path, "features.bin"), len(features), features.shape[1]) as writer:
        writer.append(features)
    write_meta(path, n_classes, labels.ndim == 2)


def change_split(path, split):
    """Replaces the split of a folder that write_folder made."""
    with open(os.path.join(path, "meta.json"), encoding="utf-8") as file:
        meta = json.load(file)
    np.asarray(split, np.uint8).tofile(os.path.join(path, "split.bin"))
    write_meta(path, meta["n_classes"], meta["task"] == "multilabel", meta["index_bytes"])


def symmetric_csr(source, target, n_nodes):
    """Undirected edge list -> (indptr, indices): both directions, doubles and self-loops dropped, rows ascending."""
    source, target = np.asarray(source, np.int64), np.asarray(target, np.int64)
    keep = source != target
    source, target = source[keep], target[keep]
    key = np.unique(np.concatenate([target * n_nodes + source, source * n_nodes + target]))
    indptr = np.zeros(n_nodes + 1, np.uint64)
    np.cumsum(np.bincount(key // n_nodes, minlength=n_nodes), out=indptr[1:])
    return indptr, (key % n_nodes).astype(np.uint32)
