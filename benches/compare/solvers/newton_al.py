"""Semismooth Newton augmented Lagrangian (after Sun, Toh, Yuan 2021) with preconditioned conjugate gradients."""
import numpy as np

from instance import apply, project
from solvers.admm_network_lasso import Admm

TITLE = "semismooth Newton AL, numpy"
LOSSES, PENALTIES = ("squared", "point", "logistic"), ("norm2",)
STEP_MIN = 1e-6


class Lagrangian:
    """`L(w) + envelope of the penalty at D w + U / sigma`, its slope and its generalised curvature."""

    def __init__(self, p, U, sigma):
        self.p, self.U, self.sigma = p, U, sigma

    def at(self, W):
        self.W, self.Y = W, self.U + self.sigma * (self.p.D @ W)
        self.norm = np.sqrt((self.Y**2).sum(1))
        self.flow = project(self.Y, self.p.a)
        outside = ((self.Y - self.flow)**2).sum()
        self.value = self.p.loss_value(W) + ((self.Y**2).sum() - outside) / (2 * self.sigma)
        return self

    def gradient(self):
        return self.p.gradient(self.W) + self.p.DT @ self.flow

    def direction(self, gradient):
        p, out = self.p, self.norm > self.p.a
        unit = self.Y[out] / self.norm[out][:, None]
        scale = self.sigma * np.where(out, p.a / np.maximum(self.norm, 1e-300), 1.0)
        H = p.hessian(self.W)

        def product(X):
            V = p.D @ X
            V[out] -= unit * (unit * V[out]).sum(1)[:, None]
            return apply(H, X) + p.DT @ (scale[:, None] * V)

        near = np.linalg.inv(H + (p.DT.power(2) @ scale)[:, None, None] * np.eye(p.d))
        return conjugate_gradients(product, near, -gradient)


def conjugate_gradients(product, near, r, steps=500):
    x, z = np.zeros_like(r), apply(near, r)
    q, rz, size = z, (r * z).sum(), np.sqrt((r * r).sum())
    enough = max(min(0.1, size**0.5) * size, 1e-13)
    for _ in range(steps):
        Aq = product(q)
        alpha = rz / (q * Aq).sum()
        x, r = x + alpha * q, r - alpha * Aq
        if np.sqrt((r * r).sum()) < enough:
            break
        z = apply(near, r)
        rz, before = (r * z).sum(), rz
        q = z + rz / before * q
    return x


def minimise(lagrangian, W, enough, steps=40):
    """Newton's method with halved steps."""
    here = lagrangian.at(W)
    for k in range(steps):
        gradient = here.gradient()
        if np.abs(gradient).max() < enough:
            break
        step, value, W, t = here.direction(gradient), here.value, here.W, 1.0
        slope = (gradient * step).sum()
        while here.at(W + t * step).value > value + 1e-4 * t * slope + 1e-14 * abs(value) and t >= STEP_MIN:
            t /= 2
        if t < STEP_MIN or (value - here.value <= 1e-15 * abs(value) and k > 3):
            break
    return here.W, here.flow


def solve(p, run, sigma=1.0, warm=100, outer=100, growth=(2, 2, 2, 3), sigma_max=5e3, tolerance=1e-9):
    run.start()
    start = Admm(p, sigma, 1.6)
    for _ in range(warm):
        start.iterate()
    W, U = start.W, p.project(sigma * start.U[:p.edges])
    for k in range(outer):
        W, U = minimise(Lagrangian(p, U, sigma), W, max(tolerance, 1e-2 * 0.2**k))
        if run.see(W, k + 1):
            return
        sigma = min(sigma * growth[min(k, len(growth) - 1)], sigma_max)
