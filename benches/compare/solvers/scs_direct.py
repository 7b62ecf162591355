"""SCS (first-order cone solver with a sparse factorisation) called directly, without a modelling layer."""
from solvers import conic

TITLE = "SCS, direct"
PACKAGES = ("scs",)
LOSSES, PENALTIES = ("squared", "point"), ("norm2",)


def solve(p, run, tolerances=(1e-4, 1e-5, 1e-6, 1e-7)):
    import scs
    for tolerance in tolerances:
        run.again()
        P, q, A, b, sizes = conic.program(p)
        data = {"P": P, "A": A, "b": b, "c": q}
        solver = scs.SCS(data, {"q": sizes}, eps_abs=tolerance, eps_rel=tolerance, max_iters=1_000_000,
                         time_limit_secs=run.limit, verbose=False)
        answer = solver.solve()
        run.own_seconds = (answer["info"]["setup_time"] + answer["info"]["solve_time"]) / 1e3
        run.used = {"tolerance": tolerance}
        if run.see(conic.models(p, answer["x"]), answer["info"]["iter"]):
            return
