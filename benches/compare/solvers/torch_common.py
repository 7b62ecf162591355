"""The objective in PyTorch. A norm has no slope at zero: it is rounded off by `mu`, which falls in stages."""
import numpy as np


def objective(torch, p, mu):
    """A function of the models, and the tensor it is a function of."""
    tensor = lambda v: torch.tensor(np.ascontiguousarray(v), dtype=torch.float64)
    i, j, a = torch.tensor(p.i), torch.tensor(p.j), tensor(p.a)
    if p.quadratic:
        H, h, c = tensor(p.H), tensor(p.h), float(p.c.sum())
        loss = lambda W: (torch.bmm(H, W[:, :, None])[:, :, 0] * W).sum() - 2 * (h * W).sum() + c
    else:
        x, y, node, weight = tensor(p.x), tensor(p.y), torch.tensor(p.node), tensor(p.row_weight)

        def loss(W):
            z = (x * W[node]).sum(1)
            return (weight * (torch.nn.functional.softplus(z) - y * z)).sum() + p.ridge * (W**2).sum()

    def value(W):
        squared = ((W[i] - W[j])**2).sum(1)
        return loss(W) + (a * (squared if p.penalty == "squared" else torch.sqrt(squared + mu**2))).sum()
    return value


def stages(p, smallest):
    """One stage is enough where the penalty is smooth."""
    return [0.0] if p.penalty == "squared" else list(np.geomspace(0.1, smallest, 6))
