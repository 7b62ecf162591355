"""The clock of a race: it stands still while the objective is evaluated."""
import time


class Run:
    """Seconds of one solver and the objectives it has reached."""

    def __init__(self, instance, target, limit):
        self.instance, self.target, self.limit = instance, target, limit
        self.trace = []
        self.own_seconds = None
        self.spent = self.seconds = self.cpu = 0.0
        self._wall = None

    def start(self):
        self._wall, self._cpu = time.perf_counter(), time.process_time()

    def pause(self):
        wall = time.perf_counter() - self._wall
        self.seconds, self.spent = self.seconds + wall, self.spent + wall
        self.cpu += time.process_time() - self._cpu

    def again(self):
        """A new attempt with other settings: only the last one counts, but the limit is for all together."""
        self.trace, self.seconds, self.cpu = [], 0.0, 0.0
        self.start()

    def see(self, W, iteration):
        """Notes how good `W` is, off the clock; true if the race is over."""
        self.pause()
        self.trace.append((self.seconds, float(self.instance.objective(W)), iteration))
        over = self.reached or self.spent > self.limit
        self.start()
        return over

    @property
    def best(self):
        return min((f for _, f, _ in self.trace), default=None)

    @property
    def reached(self):
        return self.target is not None and self.trace and self.best <= self.target

    @property
    def left(self):
        return max(1.0, self.limit - self.spent)
