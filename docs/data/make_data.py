"""Make the small files of the documentation, the same every time: ``python make_data.py`` in this folder."""

from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
rng = np.random.default_rng(7)


def write_table(name: str, columns: dict[str, object]) -> None:
    rows = zip(*columns.values(), strict=True)
    lines = [",".join(columns), *(",".join(map(str, row)) for row in rows)]
    (HERE / name).write_text("\n".join(lines) + "\n")


def kmeans(points: np.ndarray, k: int) -> np.ndarray:
    centres = points[rng.choice(len(points), k, replace=False)]
    for _ in range(20):
        labels = ((points[:, None] - centres) ** 2).sum(-1).argmin(1)
        centres = np.stack([points[labels == j].mean(0) if (labels == j).any() else centres[j] for j in range(k)])
    return labels


def grains_of_wheat() -> None:
    """150 grains of three varieties, k-means from 30 starting points, the last ten with four clusters."""
    centres = np.array([[0, 0, 0, 0], [3.0, 1, 0, 1], [4.2, 2.6, 1.5, 0]])
    variety = np.repeat([0, 1, 2], [60, 50, 40])
    points = centres[variety] + rng.normal(size=(150, 4))
    names = np.array(["Kama", "Rosa", "Canadian"])
    runs = {f"k3_{i:02d}": kmeans(points, 3) for i in range(20)} | {f"k4_{i:02d}": kmeans(points, 4) for i in range(10)}
    write_table("wheat.csv", {"grain": range(1, 151), "variety": names[variety], **runs})


def cells() -> None:
    """240 cells of three donors: types of very unequal sizes, some unknown, clusterings at five resolutions."""
    types = np.repeat(["T cell", "B cell", "monocyte", "NK cell", "dendritic", "platelet"], [110, 50, 40, 24, 10, 6])
    place = {"T cell": (0, 0), "B cell": (5, 0), "monocyte": (0, 6), "NK cell": (1.6, 1.2), "dendritic": (1, 4.6)}
    points = np.array([place.get(x, (6, 6)) for x in types]) + rng.normal(scale=0.8, size=(240, 2))
    columns = {}
    for resolution, k in (("0.2", 3), ("0.4", 4), ("0.6", 5), ("0.8", 6), ("1.0", 9)):
        best = min((kmeans(points, k) for _ in range(20)), key=lambda x: within(points, x))
        sizes = np.argsort(-np.bincount(best, minlength=k))
        columns[f"leiden_{resolution}"] = np.argsort(sizes)[best]
    order = rng.permutation(240)
    known = np.where(rng.random(240) < 0.06, "", types)
    donor = rng.choice(["d1", "d2", "d3"], 240, p=[0.5, 0.3, 0.2])
    barcodes = ["".join(rng.choice(list("ACGT"), 8)) for _ in range(240)]
    shuffled = {name: labels[order] for name, labels in columns.items()}
    write_table("cells.csv", {"": barcodes, "cell_type": known[order], "donor": donor, **shuffled})


def within(points: np.ndarray, labels: np.ndarray) -> float:
    return sum(((points[labels == j] - points[labels == j].mean(0)) ** 2).sum() for j in np.unique(labels))


def design() -> None:
    """Settings of a simulation: sizes of the classes, and the number of clusters that a bad method returns."""
    write_table(
        "design.csv",
        {
            "setting": ["balanced", "unequal", "very unequal"],
            "sizes": ["40 40 40 40", "100 30 20 10", "145 5 5 5"],
        },
    )


def conll(name: str, documents: dict[str, list[tuple[str, str]]]) -> None:
    lines = []
    for document, tokens in documents.items():
        lines.append(f"#begin document ({document}); part 000")
        lines += [f"{document}\t0\t{i}\t{word}\t{tag}" for i, (word, tag) in enumerate(tokens)]
        lines += ["", "#end document"]
    (HERE / name).write_text("\n".join(lines) + "\n")


def coreference() -> None:
    """Two short texts with the chains of an annotator and of two systems."""
    news = "The mayor said she will open the bridge . The bridge cost the city a lot and it blames her"
    story = "Ann met Bob . He told her a secret and she kept it"
    words = {"news": news.split(), "story": story.split()}
    key = {
        "news": {
            0: "(0",
            1: "0)",
            3: "(0)",
            6: "(1",
            7: "1)",
            9: "(1",
            10: "1)",
            12: "(2",
            13: "2)",
            17: "(2)",
            19: "(0)",
        },
        "story": {0: "(0)", 2: "(1)", 4: "(1)", 6: "(0)", 7: "(2", 8: "2)", 10: "(0)", 12: "(2)"},
    }
    careful = {
        "news": {0: "(0", 1: "0)", 3: "(0)", 6: "(1", 7: "1)", 9: "(1", 10: "1)", 19: "(0)"},
        "story": {0: "(0)", 2: "(1)", 4: "(1)", 6: "(0)", 10: "(0)"},
    }
    eager = {
        "news": {
            0: "(0",
            1: "0)",
            3: "(0)",
            6: "(1",
            7: "1)",
            9: "(1",
            10: "1)",
            12: "(0",
            13: "0)",
            17: "(1)",
            19: "(0)",
        },
        "story": {0: "(0)", 2: "(0)", 4: "(0)", 6: "(0)", 7: "(2", 8: "2)", 10: "(0)", 12: "(2)"},
    }
    for name, chains in (("key", key), ("careful", careful), ("eager", eager)):
        tokens = {doc: [(word, chains[doc].get(i, "-")) for i, word in enumerate(words[doc])] for doc in words}
        conll(f"{name}.conll", tokens)


def records() -> None:
    """80 records of persons: clusters of two linkers at two thresholds, and a hand-checked sample of persons."""
    person = np.sort(rng.integers(0, 34, 80))
    strict, loose = person.copy(), person.copy()
    for i in rng.choice(80, 16, replace=False):
        strict[i] = 100 + i
    for a, b in ((1, 2), (5, 6), (12, 13), (20, 21)):
        loose[loose == b] = a
    for i in rng.choice(80, 5, replace=False):
        loose[i] = 200 + i
    checked = np.isin(person, rng.choice(34, 14, replace=False))
    sample = [f"p{x:02d}" if ok else "" for x, ok in zip(person, checked, strict=True)]
    write_table("records.csv", {"record": range(1, 81), "checked": sample, "strict": strict, "loose": loose})


def images() -> None:
    """Three label images of 48 x 48 with nuclei, 0 for background, and the labels of two networks."""
    true, splits, merges = np.zeros((3, 3, 48, 48), dtype=np.uint8)
    y, x = np.mgrid[:48, :48]
    for n in range(3):
        for k in range(9):
            cy, cx = 8 + 16 * (k // 3) + rng.integers(-2, 3), 8 + 16 * (k % 3) + rng.integers(-2, 3)
            r = rng.integers(5, 8)
            disc, smaller = (y - cy) ** 2 + (x - cx) ** 2 <= r**2, (y - cy) ** 2 + (x - cx) ** 2 <= (r - 1) ** 2
            true[n][disc & (true[n] == 0)] = k + 1
            splits[n][smaller] = k + 1
            merges[n][disc & (merges[n] == 0)] = k + 1
            if k % 4 == n % 4:
                splits[n][smaller & (x > cx)] = 20 + k
        merges[n][merges[n] == 2] = 1
        merges[n][merges[n] == 9] = 8
        merges[n][(y < 3) & (x > 40)] = 30
    np.savez_compressed(HERE / "nuclei.npz", true=true, net_a=splits, net_b=merges)


def communities() -> None:
    """Members of a club and their circles, who may be in two, and what two algorithms find."""
    members = {
        "choir": ["ann", "bob", "cid", "dee", "eve", "fay", "gil"],
        "chess": ["gil", "hal", "ida", "jon", "kim", "lea"],
        "garden": ["lea", "mia", "ned", "ola", "pam", "quy", "ann"],
        "film": ["ron", "sue", "tom", "uma", "vic", "wes", "xia", "dee"],
    }
    found_a = {
        "0": ["ann", "bob", "cid", "dee", "eve", "fay", "gil"],
        "1": ["hal", "ida", "jon", "kim", "lea", "gil"],
        "2": ["mia", "ned", "ola", "pam", "quy"],
        "3": ["ron", "sue", "tom", "uma", "vic", "wes", "xia"],
    }
    found_b = {
        "0": ["ann", "bob", "cid", "dee", "eve", "fay", "gil", "hal", "ida", "jon", "kim", "lea"],
        "1": ["lea", "mia", "ned", "ola", "pam", "quy"],
        "2": ["ron", "sue", "tom", "uma"],
        "3": ["uma", "vic", "wes", "xia", "dee"],
    }
    for name, groups in (("circles", members), ("oslom", found_a), ("demon", found_b)):
        lines = [f"{person}\t{group}" for group, people in groups.items() for person in people]
        (HERE / f"{name}.tsv").write_text("\n".join(lines) + "\n")


def tracks() -> None:
    """Detections of four walkers in 30 frames: identities of two trackers, 0 where a tracker or the truth has none."""
    frame, person = np.divmod(np.arange(120), 4)
    person = person + 1
    steady, jumpy = person.copy(), person.copy()
    steady[rng.random(120) < 0.15] = 0
    swap = frame >= 15
    jumpy[swap & (person == 1)], jumpy[swap & (person == 2)] = 2, 1
    jumpy[(frame >= 20) & (person == 3)] = 7
    jumpy[rng.random(120) < 0.03] = 0
    ghost = np.arange(6)
    write_table(
        "tracks.csv",
        {
            "frame": [*frame, *(3 * ghost)],
            "person": [*person, *[0] * 6],
            "steady": [*steady, *[0] * 6],
            "jumpy": [*jumpy, *[9] * 6],
        },
    )


def speech() -> None:
    """Turns of a meeting: start, end and speaker, of a transcriber and of a program."""
    truth = [(0, 8.2, "Ada"), (8.6, 14, "Bo"), (14, 21.5, "Ada"), (22, 30, "Cy"), (30.4, 36, "Bo"), (36.5, 40, "Ada")]
    found = [(0.3, 8.4, "s1"), (8.4, 14.2, "s2"), (14.2, 19, "s1"), (19, 22, "s2"), (22, 29.5, "s3"), (30, 36, "s2")]
    for name, turns in (("turns_true", truth), ("turns_found", [*found, (36.5, 41, "s4")])):
        write_table(f"{name}.csv", dict(zip(("start", "end", "speaker"), zip(*turns, strict=True), strict=True)))


if __name__ == "__main__":
    for make in (grains_of_wheat, cells, design, coreference, records, images, communities, tracks, speech):
        make()
