"""How an attack ends that decided nothing. Every other failure of an attack means that the attack succeeded."""


class Inconclusive(Exception):
    """Neither did the attack succeed nor was it stopped; the runner runs the case again."""


class SetUpFailed(Inconclusive):
    """What the attack needs could not be made, or it did not succeed outside a box."""


class WaitedTooLong(Inconclusive):
    """Something did not happen in time, and nothing says that it never would have."""
