"""The same request through the command line and through Python, and where it applies through three processes: the same numbers to the
last bit, and the same words."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import same
from same import EDGES, FEATURES, NODES, PARTITION

from fedweave import (
    ActiveSampling,
    ConvexClustering,
    FedRelax,
    GTVClassifier,
    GTVRegressor,
    TunedClassifier,
    TunedRegressor,
    attack,
    compare,
    knn,
)

# Words of the summary that are about the clock.
CLOCK = ("seconds",)

# What `compare` shows beside local, global, networked and shuffled.
RIVALS = ["node effects", "mixed model", "learnt coupling", "boosted trees", "k-means", "mixture", "spectral", "ifca"]

# For each request: flags of `fedweave fit`, the column to predict, the estimator, and what goes to its `fit`.
FITS = {
    "lambda auto": ("--target y", "y", GTVRegressor, {}, {}),
    "lambda auto, other seed": ("--target y --seed 7 --validation 4", "y", GTVRegressor, {"random_state": 7, "validation": 4}, {}),
    "one standard error": ("--target y --lambda-rule one-se", "y", GTVRegressor, {"lam_rule": "one-se"}, {}),
    "last rows held out": ("--target y --split last", "y", GTVRegressor, {"split": "last"}, {}),
    "groups held out": ("--target y --split-by groups", "y", GTVRegressor, {}, {"groups": "groups"}),
    "values to choose from": ("--target y --lambda-grid 0.01,0.1,1", "y", GTVRegressor, {"lam": [0.01, 0.1, 1.0]}, {}),
    "lambda fixed": ("--target y --lambda 0.1", "y", GTVRegressor, {"lam": 0.1}, {}),
    "held-out rows, lambda fixed": ("--target y --lambda 0.1 --validation 0.3", "y", GTVRegressor, {"lam": 0.1, "validation": 0.3}, {}),
    "standardize": ("--target y --standardize --ridge 0.01", "y", GTVRegressor, {"standardize": True, "ridge": 0.01}, {}),
    "no intercept": ("--target y --lambda 0.1 --no-intercept", "y", GTVRegressor, {"lam": 0.1, "fit_intercept": False}, {}),
    "huber": ("--target y --loss huber --huber-delta 0.5", "y", GTVRegressor, {"loss": "huber", "huber_delta": 0.5}, {}),
    "absolute": ("--target y --loss absolute --lambda 0.05", "y", GTVRegressor, {"loss": "absolute", "lam": 0.05}, {}),
    "quantile": (
        "--target y --loss quantile --quantile 0.8 --lambda 0.05",
        "y",
        GTVRegressor,
        {"loss": "quantile", "quantile": 0.8, "lam": 0.05},
        {},
    ),
    "poisson": ("--target count --loss poisson --ridge 0.01", "count", GTVRegressor, {"loss": "poisson", "ridge": 0.01}, {}),
    "logistic": ("--target yes --loss logistic --ridge 0.01", "yes", GTVClassifier, {"ridge": 0.01}, {}),
    "squared hinge": (
        "--target yes --loss squared-hinge --ridge 0.01 --lambda 0.1",
        "yes",
        GTVClassifier,
        {"loss": "squared-hinge", "ridge": 0.01, "lam": 0.1},
        {},
    ),
    "multinomial": ("--target class --loss multinomial --ridge 0.01", "class", GTVClassifier, {"ridge": 0.01}, {}),
    "norm1": ("--target y --penalty norm1", "y", GTVRegressor, {"penalty": "norm1"}, {}),
    "norminf": ("--target y --penalty norminf --lambda 0.2", "y", GTVRegressor, {"penalty": "norminf", "lam": 0.2}, {}),
    "squared penalty": ("--target y --penalty squared", "y", GTVRegressor, {"penalty": "squared"}, {}),
    "quadratic": (
        "--target y --penalty quadratic --penalty-matrix matrix.csv --lambda 0.3",
        "y",
        GTVRegressor,
        {"penalty": "quadratic", "penalty_matrix": same.MATRIX, "lam": 0.3},
        {},
    ),
    "blocks": (
        "--target y --penalty blocks --block norm2:1:a,b --block norm1:0.5:c --lambda 0.2 --ridge 0.01",
        "y",
        GTVRegressor,
        {"penalty": "blocks", "blocks": [("norm2", 1.0, ["a", "b"]), ("norm1", 0.5, [2])], "lam": 0.2, "ridge": 0.01},
        {},
    ),
    "losses by node": (
        "--target y --loss-column kind --lambda 0.1",
        "y",
        GTVRegressor,
        {"loss": {"s4": "huber", "s20": "huber"}, "lam": 0.1},
        {},
    ),
    "row weights": ("--target y --weight w --lambda 0.1", "y", GTVRegressor, {"lam": 0.1}, {"sample_weight": "w"}),
    "every row counts": ("--target y --node-weight rows --lambda 0.1", "y", GTVRegressor, {"node_weight": "rows", "lam": 0.1}, {}),
    "primal-dual": (
        "--target y --solver primal-dual --lambda 0.1 --tolerance 1e-8",
        "y",
        GTVRegressor,
        {"solver": "primal-dual", "lam": 0.1, "tol": 1e-8},
        {},
    ),
    "fedgd": (
        "--target y --penalty squared --solver fedgd --rounds 40 --lambda 0.1",
        "y",
        GTVRegressor,
        {"penalty": "squared", "solver": "fedgd", "options": {"rounds": 40}, "lam": 0.1},
        {},
    ),
    "pdmm": (
        "--target y --solver pdmm --rounds 30 --users 0.5 --lambda 0.1",
        "y",
        GTVRegressor,
        {"solver": "pdmm", "options": {"rounds": 30, "users": 0.5}, "lam": 0.1},
        {},
    ),
    "a common mean": ("--target y --penalty squared --hub 0.5", "y", GTVRegressor, {"penalty": "squared", "options": {"hub": 0.5}}, {}),
    "learnt coupling": ("--target y --coupling learnt", "y", GTVRegressor, {"options": {"coupling": "learnt"}}, {}),
    "learnt coupling, huber": (
        "--target y --coupling learnt --loss huber --huber-delta 0.5",
        "y",
        GTVRegressor,
        {"loss": "huber", "huber_delta": 0.5, "options": {"coupling": "learnt"}},
        {},
    ),
    "learnt coupling, multinomial": (
        "--target class --coupling learnt --loss multinomial",
        "class",
        GTVClassifier,
        {"options": {"coupling": "learnt"}},
        {},
    ),
    "a norm in the learnt metric": (
        "--target y --coupling learnt --coupling-penalty norm",
        "y",
        GTVRegressor,
        {"options": {"coupling": "learnt", "coupling_penalty": "norm"}},
        {},
    ),
    "folds": ("--target y --folds 4 --repeats 2 --seed 3", "y", GTVRegressor, {"options": {"folds": 4, "repeats": 2}, "random_state": 3}, {}),
    "folds by group": ("--target y --folds 3 --split-by groups", "y", GTVRegressor, {"options": {"folds": 3}}, {"groups": "groups"}),
    "whole nodes held out": ("--target y --folds 3 --split nodes", "y", GTVRegressor, {"options": {"folds": 3}, "split": "nodes"}, {}),
    "fedavg": ("--target y --solver fedavg --rounds 5", "y", GTVRegressor, {"solver": "fedavg", "options": {"rounds": 5}}, {}),
}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return same.write(tmp_path_factory.mktemp("same"))


def words(summary):
    """A summary without the clock."""
    return {key: words(value) if isinstance(value, dict) else value for key, value in summary.items() if key not in CLOCK}


def parameters(model):
    """Models as `parameters.csv` has them, by name."""
    full = np.concatenate([model._coef, model._intercept[:, :, None]], axis=2) if model.fit_intercept else model._coef
    return {str(node): w.ravel().tolist() for node, w in zip(model.nodes_, full)}


@pytest.mark.filterwarnings("ignore:stopped before the tolerance")
@pytest.mark.parametrize("name", FITS)
def test_fits(name, files):
    flags, target, estimator, settings, more = FITS[name]
    rows = files.rows
    settings = {"graph": EDGES, **settings}
    model = estimator(**settings).fit(rows[FEATURES], rows[target], nodes=rows["node"], **{k: rows[v] for k, v in more.items()})
    summary, run = files.told("fit", flags, codes=(0, 1))
    assert same.cells(run / "parameters.csv") == parameters(model)
    assert words(summary) == words(model.summary_)
    assert model.nodes_.tolist() == NODES
    clusters = same.cells(run / "clusters.csv")
    assert [clusters[node][0] - 1 for node in NODES] == model.labels_.tolist()
    facts, shown = json.loads((run / "report.json").read_text()), json.loads(model._report)
    for key in ("command", "outcome"):  # how it was started, and seconds
        facts.pop(key), shown.pop(key)
    assert facts == shown


def test_predictions(files):
    rows = files.rows
    for name in ("lambda fixed", "poisson", "logistic", "multinomial"):
        flags, target, estimator, settings, _ = FITS[name]
        files.told("fit", flags)
        lines = files.run("predict", "run", "rows.csv").stdout.splitlines()
        said = [line.split(",") for line in lines[1:]]
        model = estimator(EDGES, **settings).fit(rows[FEATURES], rows[target], nodes=rows["node"])
        ours = model.predict(rows[FEATURES], nodes=rows["node"])
        if name in ("lambda fixed", "poisson"):
            assert [float(cells[1]) for cells in said] == ours.tolist()
        else:
            proba = model.predict_proba(rows[FEATURES], nodes=rows["node"])
            numbers = [[float(cell) for cell in cells[2:]] for cells in said]
            assert numbers == (proba[:, 1:] if name == "logistic" else proba).tolist()
            assert [cells[1] for cells in said] == [str(int(v)) if name == "logistic" else v for v in ours]


PATHS = {
    "path": ("--target y --count 8", {"count": 8}),
    "path with held-out rows": ("--target y --count 6 --validation 0.25", {"count": 6}),
    "path, down": ("--target y --lambda-grid 0.5,0.1,0.02 --direction down", {"lams": [0.02, 0.1, 0.5], "direction": "down"}),
    "path with breakpoints": ("--target y --count 6 --breakpoints 0.01", {"count": 6, "breakpoints": 0.01}),
    "path of a partition": ("--target y --count 6 --partition partition.csv", {"count": 6, "partition": dict(zip(NODES, PARTITION))}),
}


@pytest.mark.parametrize("name", PATHS)
def test_paths(name, files):
    flags, asked = PATHS[name]
    summary, run = files.told("path", flags)
    model = GTVRegressor(EDGES, validation=0.25 if "held-out" in name else None)
    path = model.path(files.rows[FEATURES], files.rows["y"], nodes=files.rows["node"], **asked)
    there, here = words(summary), words(path.summary)
    if "partition" not in name:
        # The command line asks about the partition it found; Python about none.
        there["path"].pop("recovery"), here["path"].pop("recovery")
    assert there == here
    table = pd.read_csv(run / "membership.csv", dtype=str)
    labels = {(float(r.lam), r.node): int(r.cluster) - 1 for r in table.rename(columns={"lambda": "lam"}).itertuples()}
    assert all(labels[lam, node] == path.labels[k, i] for k, lam in enumerate(path.lams) for i, node in enumerate(NODES))
    assert summary["lambda"] == path.lams[path.chosen] and path.nodes.tolist() == NODES


def test_clusters_of_points(files):
    summary, run = files.told("path", "--loss point")
    model = ConvexClustering(EDGES).fit(files.rows[FEATURES], nodes=files.rows["node"])
    assert same.cells(run / "parameters.csv") == {str(node): w.tolist() for node, w in model.coef_.items()}
    there, here = words(summary), words(model.summary_)
    there["path"].pop("recovery"), here["path"].pop("recovery")
    assert there == here and model.path_.chosen_because == summary["path"]["chosen_because"]


@pytest.mark.parametrize(
    ("flags", "asked", "settings"),
    [
        ("--target y --splits 2 --seed 3", {"splits": 2, "random_state": 3}, {}),
        ("--target y --lambda 0.1 --test 3 --ridge 0.001,0.1", {"test_size": 3, "ridges": [0.001, 0.1]}, {"lam": 0.1}),
        ("--target y --split-by groups --standardize", {"groups": "groups"}, {"standardize": True}),
    ],
)
def test_comparisons(flags, asked, settings, files):
    summary, run = files.told("compare", flags)
    asked = {k: files.rows[v] if k == "groups" else v for k, v in asked.items()}
    frame, _ = compare(
        GTVRegressor(EDGES, **settings), files.rows[FEATURES], files.rows["y"], nodes=files.rows["node"], figure=False, **asked
    )
    there, here = words(summary), words(frame.attrs["summary"])
    # Rows in memory have no command that fits them.
    assert there.pop("fit_commands")[0].startswith("to fit the network: fedweave fit ") and here.pop("fit_commands") == []
    assert there == here
    methods = ["local", "global", "networked", "shuffled", *RIVALS]
    assert frame["error"].to_dict() == {method: summary[method]["test_error"] for method in methods}
    assert frame.index.tolist() == methods == frame.attrs["by_node"].columns.tolist()
    there = pd.read_csv(run / "compare.csv", index_col="node", dtype=str)
    assert there.loc["s33", "networked"] == repr(float(frame.attrs["by_node"].loc["s33", "networked"]))


@pytest.mark.parametrize("how", ["regression", "classification"])
def test_models_of_any_class(how, files):
    target = "y" if how == "regression" else "class"
    told = f"--target {target} --task {how} --rounds 3 --seed 2"
    summary, run = files.told("fit", told + " --model tree")
    model = FedRelax(EDGES, "tree", lam="auto", rounds=3, task=how, public="moments", random_state=2)
    model.fit(files.rows[FEATURES], files.rows[target], nodes=files.rows["node"])
    assert model.lam_ == summary["lambda"] and model.objective_ == summary["objective"] and model.status_ == summary["status"]
    history = pd.read_csv(run / "history.csv", dtype=str)
    assert [float(cell) for cell in history["objective"]] == model.history_["objective"].tolist()
    held = model.held_out_errors_
    assert np.nanmean(held["networked"]) == pytest.approx(summary["validation_error"], rel=1e-14)
    assert np.nanmean(held["local"]) == pytest.approx(summary["local_error"], rel=1e-14)
    search = pd.read_csv(run / "lambda.csv", dtype=str)
    assert [float(cell) for cell in search["lambda"]] == model.lam_search_["lams"].tolist()


def test_asking(files):
    rows = files.rows
    for flags, asking in (("", {}), (" --model tree --candidates 2", {"model": "tree", "candidates": 2, "public": "moments"})):
        _, run = files.told("ask", "--target y --rounds 6 --asker s2 --asker s10" + flags)
        model = ActiveSampling(["s2", "s10"], rounds=6, **asking).fit(rows[FEATURES], rows["y"], nodes=rows["node"])
        assert model.nodes_.tolist() == [node for node in dict.fromkeys(rows["node"]) if node in ("s2", "s10")]
        choices = pd.read_csv(run / "choices.csv", dtype=str)
        for node in ("s2", "s10"):
            mine = choices[choices["node"] == node]
            there = [(r.candidate, float(r.reward)) for r in mine.itertuples()]
            assert there == [pair for asked in model.rewards_[node] for pair in asked.items()]
            assert mine[mine["taken"] == "1"]["candidate"].tolist() == model.history_[node]["candidate"].tolist()
    # Parameters of the linear models.
    _, run = files.told("ask", "--target y --rounds 6 --asker s2 --asker s10")
    model = ActiveSampling(["s2", "s10"], rounds=6).fit(rows[FEATURES], rows["y"], nodes=rows["node"])
    full = {node: [*model.coef_[node].tolist(), model.intercept_[node]] for node in ("s2", "s10")}
    assert same.cells(run / "parameters.csv") == full


RACES = {
    "numbers": ("--target y", "y", TunedRegressor, {}, {}),
    "counts": ("--target count --loss poisson --folds 3 --seed 2", "count", TunedRegressor, {"loss": "poisson", "folds": 3, "random_state": 2}, {}),
    "two classes": ("--target yes --loss logistic", "yes", TunedClassifier, {}, {}),
    "by group": ("--target y --split-by groups --folds 4", "y", TunedRegressor, {"folds": 4}, {"groups": "groups"}),
    "whole nodes": ("--target y --split nodes --folds 3", "y", TunedRegressor, {"split": "nodes", "folds": 3}, {}),
    "times": ("--target y --time hour", "y", TunedRegressor, {}, {"times": "hour"}),
    "the next rows": ("--target y --time hour --split last --folds 3", "y", TunedRegressor, {"split": "last", "folds": 3}, {"times": "hour"}),
    "dates": ("--target y --time date", "y", TunedRegressor, {}, {"times": "date"}),
}


@pytest.mark.parametrize("name", RACES)
def test_races(name, files):
    """The same candidates, errors, winners and predictions; also intervals, and rows observed since."""
    flags, target, estimator, settings, more = RACES[name]
    rows, x, ids = files.rows, files.rows[FEATURES], files.rows["node"]
    model = estimator(EDGES, **settings).fit(x, rows[target], nodes=ids, **{k: rows[v] for k, v in more.items()})
    summary, run = files.told("fit", flags + " --tune")
    assert words(summary) == words(model.summary_)
    raced = pd.read_csv(run / "race.csv", dtype=str, keep_default_na=False)
    assert raced.iloc[:, 0].tolist() == model.candidates_["name"].tolist()
    assert raced["error"].astype(float).tolist() == model.candidates_["error"].tolist()
    assert summary["recipe"] == model.recipe_ and summary["validation_error"] == model.cv_error_
    facts, shown = json.loads((run / "report.json").read_text()), json.loads(model._report)
    for key in ("command", "outcome", "notices"):  # how it was started, seconds, and how to start it again
        facts.pop(key), shown.pop(key)
    assert facts == shown
    times = {"times": rows[more["times"]]} if "times" in more else {}
    seen = {"observed": (x, rows[target], ids, times["times"])} if times else {}
    lines = files.run("predict", "run", "rows.csv", "--interval", "0.9", *(["--observed", "rows.csv"] if seen else [])).stdout
    said = [line.split(",")[1:] for line in lines.splitlines()[1:]]
    if estimator is TunedClassifier:
        ours, sets = model.predict(x, nodes=ids, interval=0.9)
        assert [float(cells[1]) for cells in said] == model.predict_proba(x, nodes=ids)[:, 1].tolist()
        assert [float(cells[0]) for cells in said] == ours.tolist()
        assert [cells[2].split("|") for cells in said] == [[str(k) for k in (0, 1) if inside[k]] or [""] for inside in sets]
    else:
        ours = np.column_stack(model.predict(x, nodes=ids, interval=0.9, **times, **seen))
        assert [[float(cell) for cell in cells] for cells in said] == ours.tolist()


def test_a_race_over_places(tmp_path):
    """Neighbours on a map, as in `data/sacramento.csv`; the recipe gives the same models without a race."""
    table = Path(__file__).parents[2] / "data" / "sacramento.csv"
    rows = pd.read_csv(table)
    new = rows.sample(50, random_state=0)
    new.to_csv(tmp_path / "new.csv", index=False)
    here = same.Files(tmp_path, rows)
    flags = "--by latitude,longitude --knn 5 --target log10_price --tune --json --out run"
    summary = json.loads(here.run("fit", str(table), *flags.split()).stdout)
    model = TunedRegressor(knn(5, by=["latitude", "longitude"]), node="node")
    model.fit(rows.drop(columns="log10_price"), rows["log10_price"])
    assert words(summary) == words(model.summary_)
    lines = here.run("predict", "run", "new.csv", "--interval", "0.9").stdout.splitlines()[1:]
    ours = np.column_stack(model.predict(new.drop(columns="log10_price"), interval=0.9))
    assert [[float(cell) for cell in line.split(",")[1:]] for line in lines] == ours.tolist()
    again = TunedRegressor(model.graph, node="node", recipe=model.recipe_).fit(rows.drop(columns="log10_price"), rows["log10_price"])
    np.testing.assert_allclose(again.predict(new.drop(columns="log10_price")), ours[:, 0], atol=1e-4)


def test_three_processes(files):
    """Rounds of a federation are those of the solver on one machine."""
    flags = "--target y --penalty squared --solver fedgd --rounds 40 --lambda 0.1 --parts 3 --loopback-plaintext"
    summary, run = files.told("up", flags, codes=(1,))
    _, _, _, settings, _ = FITS["fedgd"]
    with pytest.warns(UserWarning, match="stopped before the tolerance"):
        model = GTVRegressor(EDGES, **settings).fit(files.rows[FEATURES], files.rows["y"], nodes=files.rows["node"])
    assert same.cells(run / "parameters.csv") == parameters(model)
    for word in ("objective", "certified_gap", "kkt_residual", "clusters", "loss", "penalty", "train_error", "error", "status"):
        assert summary[word] == model.summary_[word], word


ATTACKS = {
    "labels of neighbours": ("--kind label --shift 10 --victim s2 --penalty squared", {"kind": "label", "shift": 10, "victim": "s2"}),
    "a backdoor": ("--kind backdoor --trigger a=5 --penalty squared", {"kind": "backdoor", "trigger": ("a", 5)}),
    "one lie in rounds": (
        "--kind model --lie sign-flip --rounds 30 --budget 2 --penalty squared",
        {"kind": "model", "lie": "sign-flip", "rounds": 30, "budget": 2},
    ),
}


@pytest.mark.parametrize("flags, asked", ATTACKS.values(), ids=ATTACKS)
def test_attacks(flags, asked, files):
    said = f"--features {','.join(FEATURES)} --edges edges.csv --json --target y --lambda 0.1 {flags}"
    done = files.run("attack", "rows.csv", *said.split())
    assert done.returncode == 0, done.stderr
    there = json.loads(done.stdout)
    model = GTVRegressor(EDGES, lam=0.1, penalty="squared")
    found = attack(model, files.rows[FEATURES], files.rows["y"], nodes=files.rows["node"], **asked)
    assert there == found.summary and there["attackers"] == found.attackers
    assert there["smallest_budget"] == found.smallest and "attack on" in repr(found)
