"""The clock of a race: it stands still while the objective is evaluated."""
import time


class Run:
    """Seconds of one solver and the objectives it has reached."""

    def __init__(self, instance, target, limit):
        self.instance, self.target, self.limit = instance, target, limit
        self.trace = []
        self.best = None
        self.own_seconds = None
        self.seconds = self.cpu = 0.0

    def start(self):
        self._wall, self._cpu = time.perf_counter(), time.process_time()

    def pause(self):
        self.seconds += time.perf_counter() - self._wall
        self.cpu += time.process_time() - self._cpu

    def again(self):
        """An attempt with other settings: only the last one counts. Whoever watches is told that it begins."""
        self.trace, self.seconds, self.cpu = [], 0.0, 0.0
        print("ready", flush=True)
        self.start()

    def see(self, W, iteration):
        """Notes how good `W` is, off the clock; true if the race is over."""
        self.pause()
        value = float(self.instance.objective(W))
        self.trace.append((self.seconds, value, iteration))
        self.best = value if self.best is None else min(self.best, value)
        self.start()
        return self.reached or self.over

    @property
    def reached(self):
        return self.target is not None and self.best is not None and self.best <= self.target

    @property
    def over(self):
        return self.seconds > self.limit
