"""What pages of the documentation say of their examples; that all code runs is checked by ``test_pages.py``."""

import json
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import torchclusteval as tce
from tests.support.pages import DOCS, blocks, names_after
from tests.support.processes import finish, start, start_group

pytestmark = pytest.mark.slow

TRAINING, MORE = DOCS / "guides" / "in_training.md", DOCS / "more.md"


def code(name: str) -> str:
    return next(block.code for block in blocks(TRAINING) if block.name == name)


def run(name: str, page: Path = TRAINING) -> dict[str, Any]:
    return names_after(page, name)


def test_every_example_is_tested() -> None:
    named = [block.name for page in (MORE, TRAINING) for block in blocks(page) if block.name]
    assert named == ["groups", "loop", "callback", "short", "ddp", "loss", "compiled", "metric"]


def test_groups_are_scored_pooled_and_averaged() -> None:
    names = run("groups", MORE)
    assert names["scores"].groups.tolist() == ["d1", "d2", "d3"]
    assert names["scores"]["bcubed_f"].tolist() == pytest.approx([1, 2 / 3, 1])
    assert names["scores"].macro()["bcubed_f"].item() == pytest.approx(8 / 9)
    assert tce.pooled(names["tables"], "bcubed_f")["bcubed_f"].item() == pytest.approx(10 / 11)


def test_the_loop_scores_all_restarts_of_each_epoch() -> None:
    names = run("loop")
    assert names["labels"].shape == (20, 1797)
    assert len(names["history"]) == 15
    last = names["history"][-1]
    assert last["adjusted_rand"] == max(tce.evaluate(names["digits"], names["labels"], "ari")["ari"].tolist())
    assert last["adjusted_rand"] > 0.3


def test_the_callback_logs_the_best_restart() -> None:
    """Driven by hand, in the order in which Lightning calls the hooks."""
    names = run("callback")
    logged: dict[str, Any] = {}
    module = SimpleNamespace(encoder=names["encoder"], log_dict=lambda found, sync_dist: logged.update(found))
    callback, trainer = names["KMeansScores"](restarts=5), SimpleNamespace(current_epoch=3)
    for _ in range(2):
        callback.on_validation_epoch_start(trainer, module)
        for i, batch in enumerate(zip(names["images"].split(500), names["digits"].split(500), strict=True)):
            callback.on_validation_batch_end(trainer, module, None, batch, i)
        callback.on_validation_epoch_end(trainer, module)
    with torch.no_grad():
        codes = torch.cat([names["encoder"](part) for part in names["images"].split(500)])
    labels = names["kmeans"](codes, 10, 5, torch.Generator().manual_seed(3))
    expected = tce.evaluate(names["digits"], labels, ["ari", "nmi", "vi"])
    best = expected.best("ari")
    assert {name: float(value) for name, value in logged.items()} == {
        f"val_{name}": float(expected[name][best]) for name in ("ari", "nmi", "vi")
    }


SHARDS = """
rank = int(os.environ.get("RANK", 0))
ranks = int(os.environ.get("WORLD_SIZE", 1))
if ranks > 1:
    dist.init_process_group("gloo")
logged = []
module = SimpleNamespace(encoder=encoder, log_dict=lambda found, sync_dist: logged.append(found))
callback = KMeansScores(restarts=5)
for epoch, cut in enumerate([700, 1797, 0]):
    shard = slice(None) if ranks == 1 else (slice(0, cut), slice(cut, None))[rank]
    callback.on_validation_epoch_start(None, module)
    for i, batch in enumerate(zip(images[shard].split(500), digits[shard].split(500))):
        if len(batch[0]):
            callback.on_validation_batch_end(None, module, None, batch, i)
    callback.on_validation_epoch_end(SimpleNamespace(current_epoch=epoch), module)
    print(json.dumps({name: value.item() for name, value in logged[-1].items()}))
if ranks > 1:
    dist.barrier()
    dist.destroy_process_group()
"""


@pytest.mark.distributed
def test_every_rank_logs_the_same_restart(tmp_path: Path) -> None:
    """That of one process, although its batches differ, and one rank has none at times."""
    script = tmp_path / "validate.py"
    quiet = code("loop").replace("    print(", "    (").replace("range(15)", "range(1)")
    imports = "import json, os\nfrom types import SimpleNamespace\n"
    script.write_text("\n".join([imports, quiet, code("callback"), SHARDS]))
    alone, (first, second) = start(str(script)), start_group(2, str(script))
    found = [[list(line.values()) for line in printed(process)] for process in (alone, first, second)]
    assert len(found[0]) == 3
    assert found[1] == found[2]
    assert torch.tensor(found[1]) == pytest.approx(torch.tensor(found[0]), abs=1e-6)


@pytest.mark.filterwarnings("ignore")  # Lightning's own
def test_lightning_takes_callback_and_metric() -> None:
    lightning = pytest.importorskip("pytorch_lightning")
    from torchclusteval.torchmetrics import AdjustedRandScore, ClusteringMetric

    names = run("callback")

    class Model(lightning.LightningModule):  # type: ignore[name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.encoder = nn.Linear(64, 10)
            self.several = ClusteringMetric(["ari", "nmi"], num_classes=10, num_clusters=10)
            self.single = AdjustedRandScore()

        def training_step(self, batch: Any, _: int) -> Any:
            return nn.functional.cross_entropy(self.encoder(batch[0]), batch[1])

        def validation_step(self, batch: Any, _: int) -> None:
            preds = self.encoder(batch[0]).argmax(1)
            self.several.update(preds, batch[1])
            self.single.update(preds, batch[1])
            self.log("single", self.single, on_epoch=True)

        def on_validation_epoch_end(self) -> None:
            self.log_dict(self.several.compute())
            self.several.reset()

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), 0.1)

    loader = DataLoader(TensorDataset(names["images"], names["digits"]), batch_size=500)
    quiet = {f"enable_{x}": False for x in ("checkpointing", "progress_bar", "model_summary")}
    trainer = lightning.Trainer(
        max_epochs=2, logger=False, accelerator="cpu", callbacks=[names["KMeansScores"](restarts=3)], **quiet
    )
    model = Model()
    trainer.fit(model, loader, loader)
    expected = tce.evaluate(names["digits"], model.encoder(names["images"]).argmax(1), ["ari", "nmi"])
    logged = trainer.callback_metrics
    assert torch.equal(logged["single"], expected["ari"])
    assert torch.equal(logged["nmi_arithmetic"], expected["nmi"])
    assert logged["val_ari"] > 0


def printed(process: subprocess.Popen[str]) -> list[dict[str, Any]]:
    status, output, errors = finish(process)
    assert status == 0, errors
    return [json.loads(line) for line in output.splitlines()]


@pytest.mark.distributed
def test_two_processes_log_what_one_logs(tmp_path: Path) -> None:
    """To the bit, although the second has a sixth of the items in odd epochs and none in even ones."""
    script = tmp_path / "train.py"
    script.write_text(code("ddp"))
    alone, (first, second) = start(str(script)), start_group(2, str(script))
    expected = printed(alone)
    assert [line["items"] for line in expected] == [1797] * 6
    assert len({line["adjusted_rand"] for line in expected}) > 1  # training changes what is logged
    assert printed(first) == expected
    assert printed(second) == []


def test_the_loss_improves_the_hard_score() -> None:
    names = run("loss")
    for name in ("nmi", "ari"):
        assert float(names["after"][name]) - float(names["before"][name]) > 0.3


def test_the_loss_compiles_into_one_graph() -> None:
    names = run("compiled")
    torch._dynamo.reset()
    compiled = torch.compile(names["nmi_loss"], fullgraph=True, backend="aot_eager")
    logits = [names["head"](names["images"]).detach().requires_grad_() for _ in range(2)]
    for function, x in zip((names["nmi_loss"], compiled), logits, strict=True):
        function(names["truth"], x).backward()
    torch.testing.assert_close(logits[1].grad, logits[0].grad, rtol=1e-5, atol=1e-9)
    assert logits[0].grad.abs().max() > 0


def test_the_metric_counts_every_item() -> None:
    names = run("metric")
    assert int(names["metric"].tables().n_items) == 1797
    assert set(names["metric"].compute()) == {"adjusted_rand", "nmi_arithmetic", "bcubed_f"}
    short = names["ClusteringMetric"](names["short"])
    short.update(torch.tensor([0, 1, 1]), torch.tensor([0, 0, 1]))
    assert list(short.compute()) == ["ari", "nmi"]
