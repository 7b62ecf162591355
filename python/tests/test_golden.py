"""Problems with known optima, and the same bits as the command line."""

import subprocess
import sys

import numpy as np
import pytest
from golden import FIVE, FOLDER, NAMES, flags, load, parameters, read_table


@pytest.mark.parametrize("name", NAMES)
def test_golden_problems_are_solved(name):
    golden = load(name)
    model = golden.fit()
    best = golden.optimum["objective"]
    scale = max(1.0, abs(best))
    assert model.status_ == "converged"
    assert -1e-8 * scale <= model.objective_ - best <= 1e-5 * scale
    assert model.certified_gap_ is None or model.certified_gap_ >= model.objective_ - best - 1e-8 * scale
    known = golden.optimum["w"]
    size = max(np.linalg.norm(w) for w in known.values())
    found = dict(zip(model.nodes_, parameters(model)))
    assert sorted(found) == sorted(known)
    for node in set(known) - set(golden.optimum["nonunique_nodes"]):
        sign = np.ones(len(known[node]))
        if golden.problem["loss"] == "squared_hinge":
            sign[-1] = -1.0  # the golden predictor is <w, x> - b
        assert np.linalg.norm(found[node] * sign - known[node]) <= 1e-2 * size


@pytest.mark.parametrize("name", FIVE)
def test_models_equal_those_of_the_command_line_to_the_last_bit(name, tmp_path):
    golden = load(name)
    command = [sys.executable, "-m", "fedweave", "fit", str(FOLDER / name / "nodes.csv"), "--edges", str(golden.edges)]
    subprocess.run([*command, *flags(golden), "--out", str(tmp_path / "run")], check=True, capture_output=True)
    table = read_table(tmp_path / "run" / "parameters.csv")
    model = golden.fit()
    there = table.set_index("node").loc[model.nodes_.tolist()].to_numpy()
    assert there.tobytes() == np.ascontiguousarray(parameters(model)).tobytes()


def test_the_number_of_threads_does_not_matter():
    golden = load("p23_knn400_d10_sq_norm2")
    one, two = (parameters(golden.fit(n_jobs=n)) for n in (1, 2))
    assert one.tobytes() == two.tobytes()
