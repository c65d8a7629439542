"""Says how far each suite is: a bar for each on a terminal, elsewhere a line now and then."""
import shutil
import sys
import threading
import time

TERMINAL_SECONDS = 0.5
PLAIN_SECONDS = 30
BAR_WIDTH = 10


class Task:
    """One suite that runs: how many of its cases are done, of how many."""

    def __init__(self, name, budget):
        self.name, self.budget, self.done, self.total = name, budget, 0, 0
        self.start = time.monotonic()

    @property
    def seconds(self):
        return time.monotonic() - self.start

    def words(self):
        total = f' of {self.total}' if self.total else ''
        budget = f' of {self.budget}' if self.budget else ''
        return f'{self.name} {self.done}{total} cases, {self.seconds:.0f}{budget} s'

    def bar(self):
        full = min(BAR_WIDTH, BAR_WIDTH * self.done // self.total) if self.total else 0
        budget = f'/{self.budget}' if self.budget else ''
        return f'{self.name} [{"#" * full}{"." * (BAR_WIDTH - full)}] {self.seconds:.0f}{budget} s'


class Progress:
    """The suites that run now. Lines of results are printed through it, so that they do not mix with its own."""

    def __init__(self):
        self.tasks, self.lock, self.over = [], threading.Lock(), threading.Event()
        self.terminal = sys.stdout.isatty()
        self.thread = threading.Thread(target=self._watch, daemon=True)
        self.thread.start()

    def begin(self, name, budget):
        task = Task(name, budget)
        self.tasks.append(task)
        return task

    def end(self, task):
        self.tasks.remove(task)

    def say(self, text):
        with self.lock:
            print(f'\r\033[K{text}' if self.terminal else text, flush=True)

    def close(self):
        self.over.set()
        self.thread.join()
        if self.terminal:
            print('\r\033[K', end='', flush=True)

    def _watch(self):
        while not self.over.wait(TERMINAL_SECONDS if self.terminal else PLAIN_SECONDS):
            tasks = list(self.tasks)
            if not tasks:
                continue
            with self.lock:
                if self.terminal:
                    width = shutil.get_terminal_size().columns - 1
                    print('\r\033[K' + '  '.join(task.bar() for task in tasks)[:width], end='', flush=True)
                else:
                    print('  ' + '; '.join(task.words() for task in tasks), flush=True)
