"""Weather events: background, tropical cyclone or atmospheric river? A small neural network, with numpy alone.

An ordinary training program. It knows nothing of Voyageur or Slurm and runs by itself:

    python train.py

Started several times by one job (once on every node, say), each process is a rank with its own share of the data.
After every epoch the ranks average their parameters through files in a folder that all of them see.

The data is generated: eight numbers as a detector would measure them around a point on the map. The classes overlap,
as they do in nature, so that no classifier is right every time.
"""

import argparse
import json
import os
import sys
import time
from pathlib import Path

import numpy as np

CLASSES = ("background", "tropical cyclone", "atmospheric river")
SHARES = (0.6, 0.15, 0.25)
HIDDEN = 128

#    name                                 at least  background     cyclone         river     (mean, spread)
FEATURES = (
    ("sea level pressure, hPa",            870, (1013.0, 11.0), (998.0, 16.0), (1007.0, 13.0)),
    ("wind at 850 hPa, m/s",               0,   (8.0, 6.0),     (20.0, 11.0),  (16.0, 8.0)),
    ("water vapour in the column, kg/m2",  0,   (22.0, 13.0),   (47.0, 13.0),  (34.0, 12.0)),
    ("rain, mm/h",                         0,   (0.6, 1.5),     (4.5, 4.5),    (2.4, 2.6)),
    ("vorticity at 850 hPa, 1e-5/s",       -60, (0.5, 4.5),     (10.0, 9.0),   (3.5, 6.0)),
    ("warm core at 300 hPa, K",            -9,  (0.0, 1.2),     (1.5, 1.9),    (0.3, 1.3)),
    ("distance from the equator, degrees", 0,   (35.0, 20.0),   (19.0, 9.0),   (41.0, 12.0)),
    ("length over width of moist region",  1,   (1.8, 0.9),     (1.5, 0.7),    (2.9, 1.5)),
)  # fmt: skip


def main():
    options = parse()
    rank, ranks = who_am_i()
    started = time.time()
    (x, y), test = make_data(options.examples, options.seed), make_data(options.examples // 5, options.seed + 1)
    x, y = x[rank::ranks], y[rank::ranks]
    say(f"rank {rank} of {ranks} on {node()}: {len(x)} of {options.examples} examples are mine")
    model = new_model(np.random.default_rng(options.seed))
    for epoch in range(1, options.epochs + 1):
        rate = options.rate * 0.5 * (1 + np.cos(np.pi * (epoch - 1) / options.epochs))
        model = train_one_epoch(model, x, y, rate, np.random.default_rng((options.seed, rank, epoch)))
        model = average(model, epoch, rank, ranks, options)
        if rank == 0:
            loss, accuracy = score(model, *test)
            say(f"epoch {epoch:2}/{options.epochs}   loss {loss:.4f}   accuracy {accuracy:.1%}")
    if rank == 0:
        publish(model, test, ranks, time.time() - started, options)


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default="results", help="folder for the result (default: results)")
    parser.add_argument("--exchange", default="results/exchange", help="folder where ranks meet; all must see it")
    parser.add_argument("--examples", type=int, default=240_000)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--rate", type=float, default=0.01, help="learning rate at the start")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


# ── who am I ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def who_am_i():
    """srun tells every process its number and how many there are; a process that nobody counted is alone."""
    if "SLURM_STEP_NUM_TASKS" not in os.environ:
        return 0, 1
    return int(os.environ["SLURM_PROCID"]), int(os.environ["SLURM_STEP_NUM_TASKS"])


def node():
    return os.environ.get("SLURMD_NODENAME") or os.uname().nodename


def say(text):
    print(text, flush=True)


# ── data ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def make_data(count, seed):
    """The same seed gives the same examples on every rank; each number is counted in spreads of the background."""
    random = np.random.default_rng(seed)
    y = random.choice(len(CLASSES), size=count, p=SHARES)
    noise = random.standard_normal((count, len(FEATURES)))
    noise[:, 1] = 0.8 * noise[:, 1] - 0.6 * noise[:, 0]  # deep pressure and strong wind go together
    noise[:, 3] = 0.7 * noise[:, 3] + 0.7 * noise[:, 2]  # so do moist air and rain
    x = np.empty_like(noise)
    for column, (_, least, *moments) in enumerate(FEATURES):
        means, spreads = np.array(moments).T
        value = np.maximum(means[y] + spreads[y] * noise[:, column], least)
        x[:, column] = (value - means[0]) / spreads[0]
    return x.astype(np.float32), y


# ── the network ──────────────────────────────────────────────────────────────────────────────────────────────────────


def new_model(random):
    def layer(rows, columns):
        return (random.standard_normal((rows, columns)) * np.sqrt(2 / rows)).astype(np.float32)

    inputs, outputs = len(FEATURES), len(CLASSES)
    return {
        "w1": layer(inputs, HIDDEN),
        "b1": np.zeros(HIDDEN, np.float32),
        "w2": layer(HIDDEN, HIDDEN),
        "b2": np.zeros(HIDDEN, np.float32),
        "w3": layer(HIDDEN, outputs),
        "b3": np.zeros(outputs, np.float32),
    }


def forward(model, x):
    h1 = np.maximum(x @ model["w1"] + model["b1"], 0)
    h2 = np.maximum(h1 @ model["w2"] + model["b2"], 0)
    logits = h2 @ model["w3"] + model["b3"]
    odds = np.exp(logits - logits.max(axis=1, keepdims=True))
    return h1, h2, odds / odds.sum(axis=1, keepdims=True)


def train_one_epoch(model, x, y, rate, random, batch=512):
    order = random.permutation(len(x))
    for start in range(0, len(x), batch):
        chosen = order[start : start + batch]
        for name, gradient in gradients(model, x[chosen], y[chosen]).items():
            model[name] -= rate * gradient
    return model


def gradients(model, x, y):
    h1, h2, error = forward(model, x)
    error[np.arange(len(y)), y] -= 1
    error /= len(y)
    back2 = (error @ model["w3"].T) * (h2 > 0)
    back1 = (back2 @ model["w2"].T) * (h1 > 0)
    return {
        "w1": x.T @ back1,
        "b1": back1.sum(axis=0),
        "w2": h1.T @ back2,
        "b2": back2.sum(axis=0),
        "w3": h2.T @ error,
        "b3": error.sum(axis=0),
    }


def score(model, x, y):
    *_, chances = forward(model, x)
    loss = -np.log(chances[np.arange(len(y)), y] + 1e-9).mean()
    return float(loss), float((chances.argmax(axis=1) == y).mean())


# ── the ranks meet ───────────────────────────────────────────────────────────────────────────────────────────────────


def average(model, epoch, rank, ranks, options):
    """The mean of all ranks' parameters. Whoever comes first waits for the others."""
    if ranks == 1:
        return model
    folder = Path(options.exchange)
    folder.mkdir(parents=True, exist_ok=True)
    is_last = epoch == options.epochs
    leave(folder / f"epoch{epoch}-rank{rank}.npz", model)
    if is_last and rank != 0:
        return model  # only rank 0 needs the last mean, and it cleans up
    files = [folder / f"epoch{epoch}-rank{other}.npz" for other in range(ranks)]
    models = [fetch(file) for file in files]
    # All have written this epoch's file, so all have read the one before.
    (folder / f"epoch{epoch - 1}-rank{rank}.npz").unlink(missing_ok=True)
    if is_last:
        clean(folder)
    return {name: sum(other[name] for other in models) / np.float32(ranks) for name in model}


def leave(file, model):
    """Written under another name first: nobody ever sees half a file."""
    partial = file.with_name(f".{file.name}")
    with open(partial, "wb") as target:
        np.savez(target, **model)
    os.replace(partial, file)


def fetch(file, patience=120):
    deadline = time.monotonic() + patience
    while not file.exists():
        if time.monotonic() > deadline:
            sys.exit(f"waited {patience} s for {file.name}: has another rank failed?")
        time.sleep(0.01)
    with np.load(file) as found:
        return dict(found)


def clean(folder):
    for file in folder.glob("epoch*-rank*.npz"):
        file.unlink(missing_ok=True)
    for left in (folder, folder.parent):
        try:
            left.rmdir()
        except OSError:
            return  # others are still there


# ── the result ───────────────────────────────────────────────────────────────────────────────────────────────────────


def publish(model, test, ranks, seconds, options):
    x, y = test
    loss, accuracy = score(model, x, y)
    table = confusion(model, x, y)
    out = Path(options.out)
    out.mkdir(parents=True, exist_ok=True)
    leave(out / "model.npz", model)
    facts = {
        "accuracy": round(accuracy, 4),
        "accuracy_of_always_background": round(float((y == 0).mean()), 4),
        "loss": round(loss, 4),
        "recall": {name: round(float(table[k, k] / table[k].sum()), 4) for k, name in enumerate(CLASSES)},
        "confusion": table.tolist(),
        "ranks": ranks,
        "examples": options.examples,
        "epochs": options.epochs,
        "seed": options.seed,
        "seconds": round(seconds, 1),
    }
    (out / "result.json").write_text(json.dumps(facts, indent=1) + "\n")
    (out / "confusion.txt").write_text(confusion_text(table, accuracy) + "\n")
    say(f"{accuracy:.1%} of {len(y)} new examples are right; always saying background: {(y == 0).mean():.1%}")
    say(f"results: {out}")


def confusion(model, x, y):
    *_, chances = forward(model, x)
    table = np.zeros((len(CLASSES), len(CLASSES)), int)
    np.add.at(table, (y, chances.argmax(axis=1)), 1)
    return table


def confusion_text(table, accuracy):
    lines = ["it was \\ it said   " + "".join(f"{name:>19}" for name in CLASSES)]
    lines += [f"{name:<19}" + "".join(f"{count:>19}" for count in table[k]) for k, name in enumerate(CLASSES)]
    return "\n".join([*lines, "", f"accuracy {accuracy:.1%}"])


if __name__ == "__main__":
    main()
