"""Exceptions for an attack without a result. Any other failure of an attack's test means that the attack succeeded."""


class Inconclusive(Exception):
    """The attack neither succeeded nor was stopped; the runner runs the case again."""


class SetUpFailed(Inconclusive):
    """The attack could not be prepared, or it did not succeed outside a box."""


class WaitedTooLong(Inconclusive):
    """Something did not happen in time; it might only have been slow."""
