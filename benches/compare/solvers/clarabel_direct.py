"""Clarabel (interior point) called directly, without a modelling layer."""
from solvers import conic

TITLE = "Clarabel, direct"
PACKAGES = ("clarabel",)
LOSSES, PENALTIES = ("squared", "point"), ("norm2", "squared")


def solve(p, run, tolerances=(2e-7, 1e-8, 1e-10)):
    import clarabel
    for tolerance in tolerances:
        run.again()
        P, q, A, b, sizes = conic.program(p)
        settings = clarabel.DefaultSettings()
        settings.verbose, settings.time_limit = False, run.limit
        settings.tol_gap_rel = settings.tol_gap_abs = settings.tol_feas = tolerance
        answer = clarabel.DefaultSolver(P, q, A, b, [clarabel.SecondOrderConeT(k) for k in sizes], settings).solve()
        run.own_seconds, run.used = answer.solve_time, {"tolerance": tolerance}
        if run.see(conic.models(p, answer.x), answer.iterations):
            return
