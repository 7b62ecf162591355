"""L-BFGS of PyTorch on the smoothed objective."""
from solvers import torch_common

TITLE = "L-BFGS, PyTorch"
PACKAGES = ("torch",)
LOSSES, PENALTIES = ("squared", "point", "logistic"), ("norm2", "squared")


def solve(p, run, smallest=1e-7, per_stage=400, every=20, history=20):
    import torch
    run.start()
    W = torch.zeros((p.n, p.d), dtype=torch.float64, requires_grad=True)
    done = 0
    for mu in torch_common.stages(p, smallest):
        value = torch_common.objective(torch, p, mu)
        method = torch.optim.LBFGS([W], max_iter=every, history_size=history, tolerance_grad=1e-12,
                                   tolerance_change=0, line_search_fn="strong_wolfe")

        def closure():
            method.zero_grad()
            F = value(W)
            F.backward()
            return F

        for _ in range(per_stage // every):
            method.step(closure)
            done += every
            if run.see(W.detach().numpy(), done):
                return
