"""Exact evaluation for every peer: layer by layer over all nodes and all edges, in chunks of rows.

A peer hands over its layers in one canonical form, so that PyG and DGL are judged by the same code:

    sage   {"neighbours": W [out, in], "own": W [out, in], "bias": b}         mean over u of x_u  W^T + x_v own^T + b
    gcn    {"weight": W [out, in], "bias": b}                                 sum over u and v of x_u / sqrt(d_u d_v)
    gat    {"weight": W [heads * width, in], "target": a [heads, width], "source": a [heads, width], "bias": b}

It is not timed, and works with every torch since 2.0. Degrees of GCN count the node itself.
"""
import torch


def evaluate(kind, layers, features, indptr, indices, labels, parts, multilabel=False, chunk_edges=2_000_000):
    """Accuracy (multilabel: micro F1) for each entry of parts = {"valid": node ids, ...}."""
    with torch.no_grad():
        logits = all_logits(kind, layers, features, indptr, indices, chunk_edges)
        return {name: score(logits[nodes], labels[nodes], multilabel) for name, nodes in parts.items()}


def score(logits, labels, multilabel):
    if multilabel:
        guess, truth = logits > 0, labels > 0
        hit = (guess & truth).sum().item()
        return 2 * hit / max(1, guess.sum().item() + truth.sum().item())
    return (logits.argmax(1) == labels).float().mean().item()


def all_logits(kind, layers, features, indptr, indices, chunk_edges):
    combine = {"sage": combine_sage, "gcn": combine_gcn, "gat": combine_gat}[kind]
    x = features
    for number, layer in enumerate(layers):
        context = prepare(kind, layer, x, indptr)
        out = None
        for first, last in row_chunks(indptr, chunk_edges):
            begin, end = int(indptr[first]), int(indptr[last])
            rows = (indptr[first:last + 1] - begin, indices[begin:end].long())
            y = combine(layer, context, x, rows, first, last)
            if number + 1 < len(layers):
                y = torch.nn.functional.elu(y) if kind == "gat" else torch.relu(y)
            if out is None:
                out = torch.empty((len(indptr) - 1, y.shape[1]))
            out[first:last] = y
        x = out
    return x


def row_chunks(indptr, chunk_edges):
    """Runs of rows with about chunk_edges edges each, and never more than as many rows."""
    n, first = len(indptr) - 1, 0
    while first < n:
        last = int(torch.searchsorted(indptr, indptr[first] + chunk_edges, right=True)) - 1
        last = min(max(last, first + 1), n, first + chunk_edges)
        yield first, last
        first = last


def prepare(kind, layer, x, indptr):
    """What a layer computes once for all nodes."""
    if kind == "gcn":
        return {"scale": (indptr[1:] - indptr[:-1] + 1).float().rsqrt()}
    if kind == "gat":
        heads, width = layer["source"].shape
        z = x @ layer["weight"].t()
        by_head = z.view(-1, heads, width)
        return {"z": z, "source": (by_head * layer["source"]).sum(-1), "target": (by_head * layer["target"]).sum(-1)}
    return {}


def rows_times(rows, values, x):
    pointer, source = rows
    return torch.sparse_csr_tensor(pointer, source, values, (len(pointer) - 1, len(x))) @ x


def combine_sage(layer, context, x, rows, first, last):
    degree = (rows[0][1:] - rows[0][:-1]).clamp(min=1).float()
    mean = rows_times(rows, torch.ones(len(rows[1])), x) / degree[:, None]
    return mean @ layer["neighbours"].t() + x[first:last] @ layer["own"].t() + layer["bias"]


def combine_gcn(layer, context, x, rows, first, last):
    scale = context["scale"]
    total = rows_times(rows, scale[rows[1]], x) + scale[first:last, None] * x[first:last]
    return (total * scale[first:last, None]) @ layer["weight"].t() + layer["bias"]


def combine_gat(layer, context, x, rows, first, last):
    n = last - first
    heads, width = layer["source"].shape
    degree = rows[0][1:] - rows[0][:-1]
    own = torch.arange(n)
    target = torch.cat([torch.repeat_interleave(own, degree), own])
    source = torch.cat([rows[1], own + first])
    raw = torch.nn.functional.leaky_relu(context["target"][first:last][target] + context["source"][source], 0.2)
    top = torch.full((n, heads), -torch.inf).scatter_reduce(0, target[:, None].expand_as(raw), raw, "amax")
    share = (raw - top[target]).exp()
    total = torch.zeros((n, heads)).index_add(0, target, share)
    share = share / total[target]
    y = torch.zeros((n, heads * width))
    for h in range(heads):  # one head at a time bounds the memory of the messages
        part = context["z"][:, h * width:(h + 1) * width]
        y[:, h * width:(h + 1) * width].index_add_(0, target, share[:, h:h + 1] * part[source])
    return y + layer["bias"]
