"""Trains one seed with PyG. Variants (--variant), the first is the default:

    native         NeighborSampler with pyg-lib; each layer gets a torch CSR matrix cut from the batch, so that no layer
                   computes rows the next does not need
    edges          the same with edge lists: gather, then scatter
    loader         NeighborLoader and trim_to_layer, as PyG's documentation has it
`workers` > 0 samples in processes of its own.

PyG draws a node's neighbours once a batch, and every layer uses those; DGL and Frugal draw anew in every hop.
"""
import peer

settings = peer.settings_from_command_line()

import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402
import torch_geometric  # noqa: E402
from torch_geometric.data import Data  # noqa: E402
from torch_geometric.loader import NeighborLoader  # noqa: E402
from torch_geometric.nn import GATConv, SAGEConv  # noqa: E402
from torch_geometric.sampler import NeighborSampler, NodeSamplerInput  # noqa: E402
from torch_geometric.utils import spmm, trim_to_layer  # noqa: E402

import evaluate  # noqa: E402
import frgraph  # noqa: E402

VARIANT = settings["variant"] or "native"


class Adjacency:
    """What one layer aggregates over: `n` rows, edges sorted by row, sources among the first `n_sources` nodes."""

    def __init__(self, row, col, n, n_sources):
        self.n, self.n_sources, self.row, self.col = n, n_sources, row, col

    def counts(self):
        return torch.bincount(self.row, minlength=self.n)

    def matrix(self):
        if VARIANT in ("edges", "loader"):
            return torch.stack([self.col, self.row])
        pointer = torch.zeros(self.n + 1, dtype=torch.int64)
        torch.cumsum(self.counts(), 0, out=pointer[1:])
        return torch.sparse_csr_tensor(pointer, self.col, torch.ones(len(self.col)), (self.n, self.n_sources))

    def edges_and_own(self):
        own = torch.arange(self.n)
        return torch.stack([torch.cat([self.col, own]), torch.cat([self.row, own])])


class Gcn(torch.nn.Module):
    """Kipf and Welling's layer with degrees of the whole graph; drawn neighbours count degree / drawn times."""

    def __init__(self, n_in, n_out):
        super().__init__()
        self.linear = torch.nn.Linear(n_in, n_out)

    def forward(self, adjacency, x, degree):
        n = adjacency.n
        scale = (degree[:len(x)] + 1).rsqrt()
        drawn = adjacency.counts().clamp(min=1)
        project_first = self.linear.out_features < self.linear.in_features
        z = F.linear(x, self.linear.weight) if project_first else x
        if VARIANT in ("edges", "loader"):
            total = torch.zeros(n, z.shape[1]).index_add(0, adjacency.row, (z * scale[:, None])[adjacency.col])
        else:
            total = spmm(adjacency.matrix(), z * scale[:, None], "sum")
        y = total * (scale[:n] * degree[:n] / drawn)[:, None] + z[:n] * (scale[:n] ** 2)[:, None]
        return y + self.linear.bias if project_first else self.linear(y)


class Model(torch.nn.Module):
    def __init__(self, kind, widths, heads, dropout):
        super().__init__()
        self.kind, self.dropout = kind, dropout
        pairs = list(zip(widths[:-1], widths[1:]))
        if kind == "sage":
            layers = [SAGEConv(a, b) for a, b in pairs]
        elif kind == "gcn":
            layers = [Gcn(a, b) for a, b in pairs]
        else:
            counts = [heads] * (len(pairs) - 1) + [1]
            layers = [GATConv(a, b // h, h, add_self_loops=False) for (a, b), h in zip(pairs, counts)]
        self.layers = torch.nn.ModuleList(layers)

    def activate(self, number, x):
        if number + 1 == len(self.layers):
            return x
        return F.dropout(F.elu(x) if self.kind == "gat" else F.relu(x), self.dropout, self.training)

    def forward(self, adjacencies, x, degree):
        for number, (layer, adjacency) in enumerate(zip(self.layers, adjacencies)):
            x = x[:adjacency.n_sources]
            own = x[:adjacency.n]
            if self.kind == "sage":
                x = layer((x, own), adjacency.matrix())
            elif self.kind == "gcn":
                x = layer(adjacency, x, degree)
            else:
                x = layer((x, own), adjacency.edges_and_own())
            x = self.activate(number, x)
        return x

    def forward_trimmed(self, batch):
        """GraphSAGE on a NeighborLoader batch."""
        x, edges = batch.x, batch.edge_index
        for number, layer in enumerate(self.layers):
            x, edges, _ = trim_to_layer(number, batch.num_sampled_nodes, batch.num_sampled_edges, x, edges)
            x = self.activate(number, layer(x, edges))
        return x[:batch.batch_size]

    def canonical_layers(self):
        for layer in self.layers:
            if self.kind == "sage":
                yield {"neighbours": layer.lin_l.weight, "own": layer.lin_r.weight, "bias": layer.lin_l.bias}
            elif self.kind == "gcn":
                yield {"weight": layer.linear.weight, "bias": layer.linear.bias}
            else:
                yield {"weight": layer.lin.weight, "source": layer.att_src[0], "target": layer.att_dst[0], "bias": layer.bias}


def loader_batches(indptr, indices, features, labels, seeds):
    target = torch.repeat_interleave(torch.arange(len(indptr) - 1), indptr[1:] - indptr[:-1])
    data = Data(x=features, y=labels, edge_index=torch.stack([indices, target]))
    loader = NeighborLoader(data, settings["fanout"], seeds, batch_size=settings["batch"], shuffle=True, is_sorted=True,
                            num_workers=settings["workers"], persistent_workers=settings["workers"] > 0)
    return lambda: loader


def layer_batches(indptr, indices, features, labels, seeds):
    """(adjacency per layer, features of the deepest nodes, labels, nodes): the sampler's output cut by hop."""
    sampler = NeighborSampler(Data(edge_index=torch.empty((2, 0), dtype=torch.int64), num_nodes=len(indptr) - 1), settings["fanout"])
    sampler.colptr, sampler.row = indptr, indices  # the graph is in the sampler's own form already

    def sample(chosen):
        chosen = torch.stack(chosen)
        return sampler.sample_from_nodes(NodeSamplerInput(None, chosen))

    loader = torch.utils.data.DataLoader(seeds, batch_size=settings["batch"], shuffle=True, collate_fn=sample,
                                         num_workers=settings["workers"], persistent_workers=settings["workers"] > 0)

    def batches():
        for out in loader:
            if out.num_sampled_nodes is None:
                raise SystemExit("this sampler gives no counts per hop: install pyg-lib, see README.md")
            nodes_to, edges_to = [0], [0]
            for count in out.num_sampled_nodes:
                nodes_to.append(nodes_to[-1] + count)
            for count in out.num_sampled_edges:
                edges_to.append(edges_to[-1] + count)
            # Layer l of L computes the nodes within L - l hops, from edges of those hops: a prefix of both lists.
            hops = range(len(settings["fanout"]), 0, -1)
            adjacencies = [Adjacency(out.col[:edges_to[h]], out.row[:edges_to[h]], nodes_to[h], nodes_to[h + 1]) for h in hops]
            yield adjacencies, features[out.node], labels[out.node[:nodes_to[1]]], out.node
    return batches


def main():
    torch.manual_seed(settings["seed"])
    torch.set_num_threads(settings["threads"])
    graph = frgraph.open_folder(settings["graph"])
    indptr, indices = torch.from_numpy(graph.indptr.astype("int64")), torch.from_numpy(graph.indices.astype("int64"))
    features, labels = torch.from_numpy(graph.features()), torch.from_numpy(graph.labels.copy())
    labels = labels.float() if graph.multilabel else labels.long()
    seeds = torch.from_numpy(graph.nodes("train"))
    degree = (indptr[1:] - indptr[:-1]).float()
    widths = [graph.n_features] + [settings["hidden"]] * (settings["layers"] - 1) + [graph.n_classes]
    model = Model(settings["model"], widths, settings["heads"], settings["dropout"])
    optimizer = torch.optim.Adam(model.parameters(), lr=settings["lr"])
    loss_of = F.binary_cross_entropy_with_logits if graph.multilabel else F.cross_entropy

    def step(batch):
        model.train()
        optimizer.zero_grad()
        if VARIANT == "loader":
            loss = loss_of(model.forward_trimmed(batch), batch.y[:batch.batch_size])
            nodes, n_edges = batch.n_id, batch.num_edges
        else:
            adjacencies, x, y, nodes = batch
            loss = loss_of(model(adjacencies, x, degree[nodes] if settings["model"] == "gcn" else None), y)
            n_edges = sum(len(adjacency.col) for adjacency in adjacencies)
        loss.backward()
        optimizer.step()
        return loss.detach(), len(nodes), n_edges

    def exact():
        parts = {name: torch.from_numpy(graph.nodes(name)) for name in ("valid", "test")}
        layers = [{k: v.detach() for k, v in layer.items()} for layer in model.canonical_layers()]
        return evaluate.evaluate(settings["model"], layers, features, indptr, indices, labels, parts, graph.multilabel)

    make = loader_batches if VARIANT == "loader" else layer_batches
    batches = make(indptr, indices, features, labels, seeds)
    versions = {"torch_geometric": torch_geometric.__version__, "torch": torch.__version__, "variant": VARIANT,
                "sampler": "pyg-lib" if torch_geometric.typing.WITH_PYG_LIB else "torch-sparse"}
    peer.Trainer(settings, -(-len(seeds) // settings["batch"]), batches, step, exact, versions).run()


if __name__ == "__main__":
    main()
