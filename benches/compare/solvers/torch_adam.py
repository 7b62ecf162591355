"""Adam of PyTorch on the smoothed objective, its rate falling with the stages."""
from solvers import torch_common

TITLE = "Adam, PyTorch"
PACKAGES = ("torch",)
LOSSES, PENALTIES = ("squared", "point", "logistic"), ("norm2", "squared")


def solve(p, run, smallest=1e-7, rate=0.05, per_stage=2000, every=50):
    import torch
    run.start()
    W = torch.zeros((p.n, p.d), dtype=torch.float64, requires_grad=True)
    done = 0
    for k, mu in enumerate(torch_common.stages(p, smallest) * (6 if p.penalty == "squared" else 1)):
        value, method = torch_common.objective(torch, p, mu), torch.optim.Adam([W], lr=rate * 0.3**k)
        for _ in range(per_stage):
            method.zero_grad()
            value(W).backward()
            method.step()
            done += 1
            if done % every == 0 and run.see(W.detach().numpy(), done):
                return
