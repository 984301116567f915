"""Trains one seed with DGL. Variants (--variant), the first is the default:

    bolt           GraphBolt: sampling over CSC in C++, all threads, features fetched between batches
    bolt-ahead     GraphBolt with its prefetcher thread: the next batch is sampled while this one is computed
    classic        dgl.dataloading.NeighborSampler, the fused sampler for CPUs
    classic-plain  the same without fusing
`workers` > 0 samples in processes of its own.

DGL draws neighbours anew in every hop for every row of that hop, seeds included, as Frugal does.
"""
import peer

settings = peer.settings_from_command_line()

import dgl  # noqa: E402
import dgl.graphbolt as gb  # noqa: E402
import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402

import evaluate  # noqa: E402
import frgraph  # noqa: E402

VARIANT = settings["variant"] or "bolt"


class Gcn(torch.nn.Module):
    """Kipf and Welling's layer on a block, with degrees of the whole graph; drawn neighbours count degree / drawn times."""

    def __init__(self, n_in, n_out):
        super().__init__()
        self.linear = torch.nn.Linear(n_in, n_out)

    def forward(self, block, x, degree):
        n = block.num_dst_nodes()
        scale = (degree[:len(x)] + 1).rsqrt()
        drawn = block.in_degrees().clamp(min=1)
        project_first = self.linear.out_features < self.linear.in_features
        z = F.linear(x, self.linear.weight) if project_first else x
        total = dgl.ops.copy_u_sum(block, z * scale[:, None])
        y = total * (scale[:n] * degree[:n] / drawn)[:, None] + z[:n] * (scale[:n] ** 2)[:, None]
        return y + self.linear.bias if project_first else self.linear(y)


class Model(torch.nn.Module):
    def __init__(self, kind, widths, heads, dropout):
        super().__init__()
        self.kind, self.dropout = kind, dropout
        pairs = list(zip(widths[:-1], widths[1:]))
        if kind == "sage":
            layers = [dgl.nn.SAGEConv(a, b, "mean") for a, b in pairs]
        elif kind == "gcn":
            layers = [Gcn(a, b) for a, b in pairs]
        else:
            counts = [heads] * (len(pairs) - 1) + [1]
            layers = [dgl.nn.GATConv(a, b // h, h, allow_zero_in_degree=True) for (a, b), h in zip(pairs, counts)]
        self.layers = torch.nn.ModuleList(layers)

    def forward(self, blocks, x, degree):
        for number, (layer, block) in enumerate(zip(self.layers, blocks)):
            if self.kind == "sage":
                x = layer(block, x)
            elif self.kind == "gcn":
                x = layer(block, x, degree)
            else:
                x = layer(with_own_edges(block), x).flatten(1)
            if number + 1 < len(self.layers):
                x = F.dropout(F.elu(x) if self.kind == "gat" else F.relu(x), self.dropout, self.training)
        return x

    def canonical_layers(self):
        for layer in self.layers:
            if self.kind == "sage":
                yield {"neighbours": layer.fc_neigh.weight, "own": layer.fc_self.weight, "bias": layer.fc_self.bias}
            elif self.kind == "gcn":
                yield {"weight": layer.linear.weight, "bias": layer.linear.bias}
            else:
                yield {"weight": layer.fc.weight, "source": layer.attn_l[0], "target": layer.attn_r[0], "bias": layer.bias}


def with_own_edges(block):
    source, target = block.edges()
    own = torch.arange(block.num_dst_nodes(), dtype=source.dtype)
    return dgl.create_block((torch.cat([source, own]), torch.cat([target, own])), block.num_src_nodes(), block.num_dst_nodes())


def classic_batches(indptr, indices, features, labels, seeds):
    graph = dgl.graph(("csc", (indptr.int(), indices, torch.empty(0, dtype=torch.int32))))
    sampler = dgl.dataloading.NeighborSampler(settings["fanout"][::-1], fused=VARIANT == "classic")
    loader = dgl.dataloading.DataLoader(graph, seeds.int(), sampler, batch_size=settings["batch"], shuffle=True,
                                        num_workers=settings["workers"], persistent_workers=settings["workers"] > 0)
    for_all_epochs = lambda: ((blocks, features[inputs.long()], labels[outputs.long()], inputs)  # noqa: E731
                              for inputs, outputs, blocks in loader)
    if settings["workers"]:
        affinity = loader.enable_cpu_affinity(loader_cores=[0], compute_cores=list(range(settings["threads"])), verbose=False)
        affinity.__enter__()
    return for_all_epochs


def bolt_batches(indptr, indices, features, labels, seeds):
    graph = gb.fused_csc_sampling_graph(indptr, indices)
    store = gb.BasicFeatureStore({("node", None, "feat"): gb.TorchBasedFeature(features)})
    items = gb.ItemSet((seeds.int(), labels[seeds]), names=("seed_nodes", "labels"))
    pipe = gb.ItemSampler(items, batch_size=settings["batch"], shuffle=True)
    pipe = pipe.sample_neighbor(graph, settings["fanout"][::-1])
    pipe = pipe.fetch_feature(store, node_feature_keys=["feat"])
    if VARIANT == "bolt-ahead":
        pipe = pipe.copy_to(torch.device("cpu"))  # the prefetcher sits in front of this stage
    loader = gb.DataLoader(pipe, num_workers=settings["workers"])

    def batches():
        for batch in loader:
            yield batch.blocks, batch.node_features["feat"], batch.labels, batch.input_nodes
    return batches


def main():
    torch.manual_seed(settings["seed"])
    dgl.seed(settings["seed"])
    torch.set_num_threads(settings["threads"])
    graph = frgraph.open_folder(settings["graph"])
    indptr, indices = torch.from_numpy(graph.indptr.astype("int64")), torch.from_numpy(graph.indices.astype("int32"))
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
        blocks, x, y, inputs = batch
        optimizer.zero_grad()
        loss = loss_of(model(blocks, x, degree[inputs.long()] if settings["model"] == "gcn" else None), y)
        loss.backward()
        optimizer.step()
        return loss.detach(), len(inputs), sum(block.num_edges() for block in blocks)

    def exact():
        parts = {name: torch.from_numpy(graph.nodes(name)) for name in ("valid", "test")}
        layers = [{k: v.detach() for k, v in layer.items()} for layer in model.canonical_layers()]
        return evaluate.evaluate(settings["model"], layers, features, indptr, indices, labels, parts, graph.multilabel)

    make = bolt_batches if VARIANT.startswith("bolt") else classic_batches
    batches = make(indptr, indices, features, labels, seeds)
    versions = {"dgl": dgl.__version__, "torch": torch.__version__, "variant": VARIANT}
    peer.Trainer(settings, -(-len(seeds) // settings["batch"]), batches, step, exact, versions).run()


if __name__ == "__main__":
    main()
